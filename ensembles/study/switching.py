"""Elements of a model switched on and off by path: assemblies, bodies, joints, forces, constraints, drivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from shiftjax.errors import ModelError, nearest
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child, listed, shortened, split
from shiftjax.mechanism.records import Assembly, walk

KINDS = ("bodies", "joints", "restraints", "force_modules", "constraints", "drivers")


def elements(model: Model) -> Iterator[str]:
    """The path of every element that can be switched, on or off now; two kinds may share a path."""
    for path, assembly, _ in walk(model.assemblies):
        yield path
        yield from (child(path, item.name) for kind in KINDS for item in getattr(assembly, kind))


def element(model: Model, path: str, where: str) -> str:
    """The full path of an element; the leading assemblies may be left out where that is unique.

    Raises:
        ModelError: no such element, several, or the path of a number.
    """
    known = list(elements(model))
    target, field = split(path)
    matches = [target] if target in known else [full for full in known if shortened(full, target, 1)]
    if field or not matches:
        allowed = "assemblies, bodies, joints, forces, constraints and drivers"
        todo = nearest(target, [*known, *(full.rpartition(":")[2] for full in known)])
        raise ModelError(where, f"{path!r}", allowed, todo or f"There are {listed(known)}.")
    if len(matches) > 1:
        what = f"{len(matches)} elements of this name"
        todo = "Write the path in full." if len(set(matches)) > 1 else "Give one of them another name."
        raise ModelError(where, what, listed(dict.fromkeys(matches)), todo)
    return matches[0]


def switched(model: Model, states: Mapping[str, bool]) -> Model:
    """The model with elements, by their full paths, on or off; the one that it comes from likewise."""
    if not states:
        return model

    def of(path: str, items: tuple[Any, ...]) -> tuple[Any, ...]:
        paths = [child(path, item.name) for item in items]
        return tuple(
            replace(item, active=states[full]) if full in states else item
            for full, item in zip(paths, items, strict=True)
        )

    def change(assembly: Assembly, path: str) -> Assembly:
        inside = {kind: of(path, getattr(assembly, kind)) for kind in KINDS}
        return replace(assembly, active=states.get(path, assembly.active), **inside)

    origin = None if model.origin is None else switched(model.origin, states)
    return replace(model, assemblies=rebuilt(model.assemblies, change), origin=origin)

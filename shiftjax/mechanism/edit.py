"""Elements and assemblies with some of their numbers replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.paths import Steps, child, steps
from shiftjax.mechanism.records import STARTS, Assembly, Body, Joint

LISTS = ("joints", "restraints", "force_modules", "constraints", "drivers")  # of an assembly, beside its bodies


def with_number(value: Any, where: Steps, number: Any) -> Any:
    """The element with the number at the steps `where` replaced, by one or by (B,) of them."""
    if not where:
        return number
    head, rest = where[0], where[1:]
    if isinstance(head, int):
        return (*value[:head], with_number(value[head], rest, number), *value[head + 1 :])
    if isinstance(value, FrozenJson):  # of the coordinates of a joint
        return FrozenJson({**value, head: with_number(value[head], rest, number)})
    if head in getattr(value, "values", ()):  # of its kind; a table has a field that is called values
        return replace(value, values=FrozenJson({**value.values, head: with_number(value.values[head], rest, number)}))
    return replace(value, **{head: with_number(getattr(value, head), rest, number)})


def changed(element: Any, path: str, values: Mapping[str, Mapping[str, float]]) -> Any:
    """The element called `path` with its numbers in `values` {path: {field: number}} replaced."""
    for text, number in values.get(path, {}).items():
        where = steps(text)
        if hasattr(element, str(where[0])) or where[0] in getattr(element, "values", ()):  # else of another kind
            element = with_number(element, where, number)
            if where[0] in STARTS:
                element = replace(element, stated=_stated(element, where))
    return element


def _stated(joint: Joint, where: Steps) -> tuple[str, ...]:
    """What a joint states of its start once the number at `where` is named."""
    start = str(where[0])
    numbers = getattr(joint, start)
    named = {*joint.stated, f"{start}.{where[1]}" if isinstance(numbers, FrozenJson) else start}
    names = [f"{key}.{name}" for key in STARTS for name in (numbers if isinstance(numbers, FrozenJson) else ())]
    return tuple(key for key in (*STARTS, *names) if key in named)


def changed_body(body: Body, path: str, values: Mapping[str, Mapping[str, float]]) -> Body:
    """The body and its frames with their numbers replaced."""
    frames = tuple(changed(frame, child(path, frame.name), values) for frame in body.frames)
    return changed(body if frames == body.frames else replace(body, frames=frames), path, values)


def changed_assembly(assembly: Assembly, path: str, values: Mapping[str, Mapping[str, float]]) -> Assembly:
    """The assembly with its numbers replaced, except in nested assemblies."""
    bodies = tuple(changed_body(body, child(path, body.name), values) for body in assembly.bodies)
    others = {
        kind: tuple(changed(item, child(path, item.name), values) for item in getattr(assembly, kind)) for kind in LISTS
    }
    return replace(assembly, bodies=bodies, **others)


def everything_on(assemblies: tuple[Assembly, ...]) -> tuple[Assembly, ...]:
    """The assemblies with nothing switched off."""

    def on(assembly: Assembly, _: str) -> Assembly:
        bodies = tuple(replace(body, active=True) for body in assembly.bodies)
        lists: dict[str, Any] = {
            kind: tuple(replace(item, active=True) for item in getattr(assembly, kind)) for kind in LISTS
        }
        return replace(assembly, active=True, bodies=bodies, **lists)

    return rebuilt(assemblies, on)


def rebuilt(
    assemblies: tuple[Assembly, ...], change: Callable[[Assembly, str], Assembly], prefix: str = ""
) -> tuple[Assembly, ...]:
    """Applies `change` to every assembly of the tree; without recursion, leaves first."""
    order: list[tuple[Assembly, str, list[int]]] = []
    roots: list[int] = []
    stack: list[tuple[Assembly, str, list[int]]] = [(a, child(prefix, a.name), roots) for a in reversed(assemblies)]
    while stack:
        assembly, path, siblings = stack.pop()
        siblings.append(len(order))
        inside: list[int] = []
        order.append((assembly, path, inside))
        stack.extend((a, child(path, a.name), inside) for a in reversed(assembly.assemblies))
    done: dict[int, Assembly] = {}
    for i in reversed(range(len(order))):
        assembly, path, inside = order[i]
        done[i] = replace(change(assembly, path), assemblies=tuple(done[k] for k in inside))
    return tuple(done[i] for i in roots)

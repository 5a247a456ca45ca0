"""The numbers of the elements by field, and elements with some of them replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from shiftjax.joints import KINDS
from shiftjax.mechanism.paths import child, steps
from shiftjax.mechanism.records import Assembly, Body, Frame, Inertia, Joint, Placement, Restraint

NUMERIC: dict[type, tuple[str, ...]] = {
    Body: ("mass", "inertia", "center_of_mass"),
    Inertia: ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx"),
    Frame: ("T", "rotation"),
    Placement: ("T", "rotation"),
    Joint: ("initial_displacement", "initial_velocity", "stiffness", "damping", "axis"),
    Restraint: ("coefficients", "knot_points"),
}


def leaves(value: Any, prefix: str) -> Iterator[tuple[str, float]]:
    """Path and value of every number inside an element, in the order of `NUMERIC`."""
    if isinstance(value, float):
        yield prefix, value
    elif isinstance(value, tuple):
        for k, item in enumerate(value):
            yield from leaves(item, f"{prefix}[{k}]")
    elif isinstance(value, Joint) and KINDS[value.type].displacement == "rotation":
        for path, number in _of_record(value, prefix):
            if not path.startswith(f"{prefix}.initial_displacement.T"):
                yield path, number
    elif type(value) in NUMERIC:
        yield from _of_record(value, prefix)


def _of_record(value: Any, prefix: str) -> Iterator[tuple[str, float]]:
    for name in NUMERIC[type(value)]:
        yield from leaves(getattr(value, name), f"{prefix}.{name}")


def with_number(value: Any, where: tuple[str | int, ...], number: float) -> Any:
    """The element with the number at the field `where` replaced."""
    if not where:
        return number
    head, rest = where[0], where[1:]
    if isinstance(head, int):
        return (*value[:head], with_number(value[head], rest, number), *value[head + 1 :])
    return replace(value, **{head: with_number(getattr(value, head), rest, number)})


def changed(element: Any, path: str, values: Mapping[str, Mapping[str, float]]) -> Any:
    """The element called `path` with those of `values` {path: {field: number}} that are its own fields."""
    for field, number in values.get(path, {}).items():
        where = steps(field)
        if where[0] in NUMERIC[type(element)]:
            element = with_number(element, where, number)
    return element


def changed_body(body: Body, path: str, values: Mapping[str, Mapping[str, float]]) -> Body:
    """The body and its frames with their numbers replaced."""
    frames = tuple(changed(frame, child(path, frame.name), values) for frame in body.frames)
    return changed(body if frames == body.frames else replace(body, frames=frames), path, values)


def changed_assembly(assembly: Assembly, path: str, values: Mapping[str, Mapping[str, float]]) -> Assembly:
    """The assembly, without those inside it, with its numbers replaced."""
    return replace(
        assembly,
        bodies=tuple(changed_body(body, child(path, body.name), values) for body in assembly.bodies),
        joints=tuple(changed(joint, child(path, joint.name), values) for joint in assembly.joints),
        restraints=tuple(changed(item, child(path, item.name), values) for item in assembly.restraints),
    )


def rebuilt(
    assemblies: tuple[Assembly, ...], change: Callable[[Assembly, str], Assembly], prefix: str = ""
) -> tuple[Assembly, ...]:
    """Every assembly of the tree passed through `change`; without recursion, leaves first."""
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

"""The numbers of an element by field: their values, units and meanings, and elements with some of them replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from shiftjax.constraints import CONSTRAINTS
from shiftjax.field import Field, Role
from shiftjax.forces import FORCES
from shiftjax.joints import KINDS
from shiftjax.mechanism import fields
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.paths import child, steps
from shiftjax.mechanism.records import Assembly, Body, Element, Frame, Joint, Placement, Restraint

Steps = tuple[str | int, ...]  # way from a record to a number: ("inertia", "Ixx"), ("T", 2)

LABELS: dict[type, str] = {
    Body: "a body",
    Frame: "a frame",
    Placement: "a placement",
    Joint: "a joint",
    Restraint: "a restraint",
}


def numeric_fields(item: Any) -> tuple[Field, ...]:
    """The fields of a record whose leaves are numbers of the model."""
    if isinstance(item, Joint):
        return _of_joint(item.type)
    if isinstance(item, Element):
        kind = FORCES.get(item.type) or CONSTRAINTS.get(item.type)
        return kind.numbers() if kind is not None and kind.listed else ()
    return _numeric(LABELS[type(item)])


@cache
def _numeric(label: str) -> tuple[Field, ...]:
    return tuple(field for field in fields.element(label) if field.numeric)


def _of_joint(kind: str) -> tuple[Field, ...]:
    return (*_numeric("a joint"), *KINDS[kind].fields)


def value_of(item: Any, name: str) -> Any:
    """The value of a field: a number, or tuples of them, or a placement; None where it has none."""
    head, _, rest = name.partition(".")
    if not hasattr(item, head):
        return getattr(item, "values", {}).get(name)
    found = getattr(item, head)
    return value_of(found, rest) if rest else found


def leaves(value: Any, way: Steps = ()) -> Iterator[tuple[Steps, float]]:
    """Way and value of every number inside a field's value."""
    if isinstance(value, float):
        yield way, value
    elif isinstance(value, tuple):
        for k, item in enumerate(value):
            yield from leaves(item, (*way, k))
    elif isinstance(value, Placement):
        for name in ("T", "rotation"):
            yield from leaves(getattr(value, name), (*way, name))


def numbers_of(item: Any) -> Iterator[tuple[Field, Steps, float]]:
    """Field, way from the record and value of every number of a record, in the order of the table."""
    for field in numeric_fields(item):
        head: Steps = tuple(field.name.split("."))
        for way, number in leaves(value_of(item, field.name)):
            if not (field.shape == "displacement" and "T" in way and KINDS[item.type].displacement == "rotation"):
                yield field, (*head, *way), number


def text_of(way: Steps) -> str:
    """The text of a way in a path: `.T[2]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)


def role_of(field: Field, way: Steps, item: Any) -> Role:
    """What a number means; the displacement of a joint that does not move is part of the shape."""
    if field.shape == "displacement" and len(way) > 1 and not KINDS[item.type].nv:
        return Role.LENGTH if way[1] == "T" else Role.ANGLE
    assert field.role is not None
    return field.role


def unit_of(field: Field, way: Steps, item: Any, joint_type: str = "") -> str:
    """The unit of a number as stores write it: "kg", "N m s/rad".

    Args:
        joint_type: of the joint that a restraint acts on, nothing between frames.
    """
    if isinstance(item, Joint):
        return _unit_at_joint(field, way, KINDS[item.type])
    x = KINDS[joint_type].unit if joint_type else "m"
    unit = field.unit
    power = 0
    if isinstance(item, Restraint):
        rate = item.type != "spring"
        if field.name == "knot_points":
            return f"{x}/s" if rate else x
        piece, place = (int(k) for k in way[-2:])
        power = len(item.coefficients[piece]) - 1 - place  # the highest power first
        unit = fields.DAMPER if rate else fields.SPRING
    return filled(unit, x, power)


def _unit_at_joint(field: Field, way: Steps, kind: Any) -> str:
    if field.shape == "displacement" and len(way) > 1:
        return "m" if way[1] == "T" else "rad"
    if field.shape == "velocity" and len(way) > 1:
        *_, speed = way
        return f"{kind.units[int(speed)]}/s"
    *_, last = way
    return filled(field.unit, kind.unit, int(last) if field.shape == "ascending" else 0)


def filled(unit: str, x: str, power: int) -> str:
    """A unit with its words filled in; see `field.SPRING`.

    Args:
        x: unit of the displacement, "rad" or "m". power: k of the coefficient of x^k, a rate in dampers.
    """
    if "{" not in unit:
        return unit
    force = "N" if x == "m" else "N m"
    if "^k" in unit and power == 0:
        return force
    exponent = f"^{power}" if power > 1 else ""
    return unit.replace("{x}", x).replace("{f}", force).replace("^k", exponent)


def with_number(value: Any, where: Steps, number: float) -> Any:
    """The element with the number at the way `where` replaced."""
    if not where:
        return number
    head, rest = where[0], where[1:]
    if isinstance(head, int):
        return (*value[:head], with_number(value[head], rest, number), *value[head + 1 :])
    if hasattr(value, head):
        return replace(value, **{head: with_number(getattr(value, head), rest, number)})
    return replace(value, values=FrozenJson({**value.values, head: with_number(value.values[head], rest, number)}))


def changed(element: Any, path: str, values: Mapping[str, Mapping[str, float]]) -> Any:
    """The element called `path` with those of `values` {path: {field: number}} that are its own fields."""
    own = {field.name.split(".")[0] for field in numeric_fields(element)} if path in values else ()
    for text, number in values.get(path, {}).items():
        where = steps(text)
        if where[0] in own:
            element = with_number(element, where, number)
    return element


def changed_body(body: Body, path: str, values: Mapping[str, Mapping[str, float]]) -> Body:
    """The body and its frames with their numbers replaced."""
    frames = tuple(changed(frame, child(path, frame.name), values) for frame in body.frames)
    return changed(body if frames == body.frames else replace(body, frames=frames), path, values)


def changed_assembly(assembly: Assembly, path: str, values: Mapping[str, Mapping[str, float]]) -> Assembly:
    """The assembly, without those inside it, with its numbers replaced."""
    bodies = tuple(changed_body(body, child(path, body.name), values) for body in assembly.bodies)
    others = {
        kind: tuple(changed(item, child(path, item.name), values) for item in getattr(assembly, kind))
        for kind in ("joints", "restraints", "force_modules", "constraints")
    }
    return replace(assembly, bodies=bodies, **others)


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

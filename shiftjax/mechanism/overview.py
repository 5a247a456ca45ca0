"""The bodies and joints of a model, and what acts between them, as rows of tables a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shiftjax.constraints import CONSTRAINTS
from shiftjax.field import filled
from shiftjax.forces import FORCES
from shiftjax.joints import KINDS
from shiftjax.mechanism.events import events_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.parameters import NamedNumbers, asking, name_of_path
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.posing import PosedContents, posed_in
from shiftjax.mechanism.records import Body, Element, FrameRef, Joint, Placement, Restraint, WantedValue
from shiftjax.mechanism.sublinkages import Sublinkage

BODY_HEAD = ("body", "mass [kg]", "centre of mass [m]", "inertia xx yy zz [kg m^2]", "frames")
JOINT_HEAD = ("joint", "type", "parent", "child", "starts at, in the file")
ACTING_HEAD = ("what acts", "type", "of", "numbers, in SI, defaults left out")
NAMED_HEAD = ("parameter or point", "value", "unit", "from", "to", "meaning", "acts on")
EVENT_HEAD = ("event of every run", "where this comes to zero", "direction", "what is done there")
POSED_HEAD = ("posed", "unit", "from", "to", "locked", "target", "posture")
SUBLINKAGE_HEAD = ("sublinkage", "is", "within", "joints")
MOST = 6  # numbers of one entry that a line has room for

Row = tuple[str, ...]


def body_rows(bodies: Iterable[tuple[str, Body]]) -> Iterator[Row]:
    """A row for each path and body, under `BODY_HEAD`."""
    for path, body in bodies:
        inertia = body.inertia
        moments = _numbers((inertia.Ixx, inertia.Iyy, inertia.Izz))
        more = " (and products)" if any((inertia.Ixy, inertia.Iyz, inertia.Izx)) else ""
        frames = ", ".join(frame.name for frame in body.frames)
        yield path, f"{body.mass:.6g}", _numbers(body.center_of_mass), moments + more, frames


def joint_rows(joints: Iterable[tuple[str, Joint]]) -> Iterator[Row]:
    """A row for each path and joint, under `JOINT_HEAD`."""
    for path, joint in joints:
        yield path, joint.type, _end(joint.parent), _end(joint.child), _start(joint)


def acting_rows(items: Iterable[tuple[str, Restraint | Element]], units: Mapping[str, str]) -> Iterator[Row]:
    """A row for each path and restraint, force module, constraint or driver, under `ACTING_HEAD`.

    Args:
        units: of coordinates, "rad" or "m", by path.
    """
    for path, item in items:
        if isinstance(item, Restraint):
            of = [item.joint] if item.joint is not None else [_end(ref) for ref in item.frames or ()]
            yield path, item.type, ", ".join(of), f"along {item.distance_type}" if item.distance_type else ""
        else:
            of = [*item.joints, *(_end(ref) for ref in item.frames)]
            yield path, item.type, ", ".join(of), _stated_numbers(item, units.get(item.joint or "", "m"))


def named_rows(blocks: Iterable[tuple[str, NamedNumbers]], expressions: Mapping[str, str]) -> Iterator[Row]:
    """A row for each parameter and each coordinate of a point, under `NAMED_HEAD`."""
    for block, numbers in blocks:
        for field, steps, value in numbers.numbers():
            name = ".".join(map(str, steps))
            path = f"{block}.{name}"
            bounds = ("" if bound is None else f"{bound:.6g}" for bound in (field.least, field.most))
            follows = [name_of_path(other) or other for other in asking(expressions, path)]
            doc = f"{field.doc}; {expressions[path]}" if path in expressions else field.doc
            yield name, f"{value:.9g}", field.unit, *bounds, doc, listed(follows, 3) or "nothing"


def posed_rows(model: PosedContents) -> Iterator[Row]:
    """A row for each coordinate, joint and body of which a model states something of posing, under `POSED_HEAD`."""
    for one in posed_in(model):
        ends = ("" if end is None else f"{end:.6g}" for end in one.limits)
        yield one.path, one.unit, *ends, "locked" if one.lock else "", _wanted(one.target), _wanted(one.posture)


def sublinkage_rows(sublinkages: Iterable[Sublinkage]) -> Iterator[Row]:
    """A row for each sublinkage, under `SUBLINKAGE_HEAD`."""
    for one in sublinkages:
        yield one.name, one.disposition, one.within or "the whole linkage", listed(one.joints) or "none"


def _wanted(value: WantedValue | None) -> str:
    """A value with what is not usual of its weight and level."""
    if value is None:
        return ""
    weight = "" if value.weight == 1.0 else f", weight {value.weight:g}"
    return f"{value.value:.6g}{weight}" + ("" if value.level is None else f", level {value.level:g}")


def event_rows(definitions: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each event of a model, under `EVENT_HEAD`."""
    for name, event in events_of(definitions).items():
        values = (
            f"{path} = {value if isinstance(value, str) else f'{value:.6g}'}" for path, value in event.values.items()
        )
        yield name, event.of, event.direction, " ".join(filter(None, (event.action, ", ".join(values))))


def _stated_numbers(item: Element, x: str) -> str:
    """The numbers and words of an element that differ from their defaults, the first ones of many.

    Args:
        x: unit of its first coordinate.
    """
    kind = FORCES.get(item.type) or CONSTRAINTS.get(item.type)
    texts = []
    for field in (*kind.numbers(), *kind.words) if kind else ():
        value: Any = item.values.get(field.name)
        if value is None or value == field.default:
            continue
        unit = filled(field.unit, x, 0)
        after = f" {unit}" if field.numeric and unit != "1" else ""
        if isinstance(value, list | tuple):
            few = len(value) <= MOST and not any(isinstance(row, list | tuple) for row in value)
            count = sum(map(len, value)) if field.shape == "rows" else len(value)
            texts.append(f"{field.name} {_numbers(value)}{after}" if few else f"{count} {field.name}")
        else:
            texts.append(f"{field.name} {value:.6g}{after}" if field.numeric else f"{field.name} {value}")
    return ", ".join([*texts[:MOST], *(["..."] if len(texts) > MOST else [])])


def _start(joint: Joint) -> str:
    """Where a joint starts as the model has it, with its unit; what it does not state, a loop may move."""
    place, coordinates = joint.initial_displacement, KINDS[joint.type].coordinates
    whole = _stated("initial_displacement" in joint.stated or not coordinates)
    if isinstance(place, Placement):
        return ("a placement" if place != Placement() else "0") + whole
    if isinstance(place, float):
        return f"{place:.6g} {coordinates[0].unit}" + whole
    assert isinstance(place, FrozenJson)
    return ", ".join(
        f"{coordinate.name} {place[coordinate.name]:.6g} {coordinate.unit}"
        + _stated(joint.states("initial_displacement", coordinate.name))
        for coordinate in coordinates
    )


def _stated(stated: bool) -> str:
    return "" if stated else " (not stated)"


def _end(ref: FrameRef) -> str:
    return ref.path.removesuffix(":origin")


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.4g}" for value in values)

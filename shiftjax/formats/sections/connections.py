"""What acts on joints and bodies, or ties them together, in every notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.constraints import ANY, CONSTRAINTS, ConstraintKind
from shiftjax.forces import FORCES, ForceKind
from shiftjax.formats.sections.ends import check_possible, ends_of
from shiftjax.formats.sections.older_forces import controller, tyre
from shiftjax.formats.values.entry import Entry, opened
from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.joints import KINDS
from shiftjax.joints.primitives import Rotation, Translation
from shiftjax.mechanism.fields import DAMPER, label_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.paths import listed, split
from shiftjax.mechanism.records import (
    FIXED,
    Element,
    FrameRef,
    Restraint,
)

DOES = {"rad": "turns", "m": "slides"}
BALL = ("rad", "rad", "rad")
SEATS = {  # units of the speeds of a seat -> what it is
    ("rad",): "a joint that turns about one axis, as Rz and revolute do, or one of the turns of a universal joint",
    ("m",): "a joint that slides along one axis, as Tz and prismatic do",
    ("rad", "m"): "the angle, then the slide of one cylindrical joint",
    ("rad", "m", "m"): "the angle, then x and y of one planar joint",
    BALL: "a ball joint, spherical or spherical_vector",
}
ORDINALS = ("first", "second", "third")


def restraint(node: Node, name: str, names: Names, local: str, units: Units) -> Restraint:
    """A spring, damper or friction on a joint or between two frames."""
    type_ = Entry(node, "a restraint", units)("type")
    joint_path, ends, unit = None, None, "m"
    pair = node.has("body_frame_pair")
    if node.has("joint") == pair:
        fault = "both 'joint' and 'body_frame_pair'" if pair else "neither 'joint' nor 'body_frame_pair'"
        node.refuse("one of them", "Name a joint, or two frames.", fault)
    if pair:
        ends = ends_of(node, "body_frame_pair", names, local)
    else:
        joint_path, unit = names.coordinate(node["joint"], local, type_)
        if node.has("distance_type"):
            node["distance_type"].refuse("none: it belongs to a body_frame_pair", "Remove it.")
    entry = RateEntry(node, units, unit) if type_ != "spring" else Entry(node, "a restraint", units, unit)
    knots = entry("knot_points")
    distance_type = entry("distance_type")
    _check_pieces(node["coefficients"], len(knots))
    pieces = entry("coefficients")
    flags = entry("active"), entry("comment")
    record = Restraint(name, type_, joint_path, ends, distance_type, knots, pieces, *flags)
    check_possible(node, record)
    return record


class RateEntry(Entry):
    """A restraint whose x is a rate: a damper or friction."""

    def __init__(self, node: Node, units: Units, x: str) -> None:
        super().__init__(node, "a restraint", units, x)

    def _scale(self, field: Any, power: int = 0) -> float:
        if field.name == "knot_points":
            return self.units.factor("{x}/s", self.x)
        return self.units.factor(DAMPER, self.x, power)


def _check_pieces(node: Node, knots: int) -> None:
    some = list(node.items())
    if flat := next((item for item in some if not isinstance(item.value, (list, tuple))), None):
        node.refuse("a list of lists, one for each piece", "Write [[k, c]] for k x + c.", f"{flat.value!r} in it")
    pieces = len(some)
    if pieces != knots + 1:
        node.refuse(
            f"{knots + 1} lists for {knots} knots (one more than knots)",
            "Add or remove a list.",
            f"{pieces} lists of coefficients",
        )


def joint_label(node: Node) -> str:
    """The label of a joint; its type is checked later."""
    return label_of("a joint", node.value) if isinstance(node.value, Mapping) else "a joint"


def module_label(node: Node) -> str:
    """The label of a force module, its type checked before its keys."""
    known = {"tire", "pid", *(name for name, kind in FORCES.items() if kind.listed)}
    return _label(node, "a force module", known)


def constraint_label(node: Node) -> str:
    """The label of a constraint, its type checked before its keys."""
    return _label(node, "a constraint", {name for name, kind in CONSTRAINTS.items() if kind.listed == "constraints"})


def driver_label(node: Node) -> str:
    """The label of a driver, its type checked before its keys."""
    return _label(node, "a driver", {name for name, kind in CONSTRAINTS.items() if kind.listed == "drivers"})


def _label(node: Node, what: str, known: set[str]) -> str:
    if not isinstance(node.value, Mapping):
        node.refuse(f"an object ({what})", "Write { ... }.")
    node["type"].choice(known)
    return label_of(what, node.value)


def force_module(node: Node, name: str, names: Names, local: str, units: Units) -> Element:
    """A force of a registered kind."""
    kind = node["type"].text()
    if kind == "pid":
        for key in ("input", "output"):
            if not node.has(key):
                node.refuse("an input and an output", f"Add {key!r}: {{...}}.", f"no {key!r}")
        source, sink = (opened(node[key], f"a pid's {key}") for key in ("input", "output"))
        return controller(node, source, sink, name, names, local)
    if kind == "tire":
        node, units = tyre(node, names, local), Units()
    return element(node, name, names, local, units, "a force module", FORCES[node["type"].text()])


def constraint(node: Node, name: str, names: Names, local: str, units: Units) -> Element:
    """A constraint of a registered kind."""
    return element(node, name, names, local, units, "a constraint", CONSTRAINTS[node["type"].text()])


def driver(node: Node, name: str, names: Names, local: str, units: Units) -> Element:
    """A driver of a registered kind."""
    return element(node, name, names, local, units, "a driver", CONSTRAINTS[node["type"].text()])


def element(
    node: Node, name: str, names: Names, local: str, units: Units, what: str, kind: ForceKind | ConstraintKind
) -> Element:
    """What a kind of force or constraint declares: its joints, frames and numbers."""
    if isinstance(kind, ForceKind) and kind.seat == BALL:
        named = [(names.joint(node["joint"], local), "rad")]
    else:
        named = [names.coordinate(item, local) for item in _several(node, "joint", kind.joints)]
    if isinstance(kind, ConstraintKind):
        _check_joints(node, kind, named)
    elif kind.seat:
        _check_seat(node, kind.seat, [path for path, _ in named], names)
    frames = [names.frame(item, local) for item in _several(node, "frame", kind.frames)]
    _check_bodies(node, what, frames)
    if isinstance(kind, ForceKind) and kind.order and frames[0].body == FIXED:
        next(iter(node["frames"].items())).refuse(kind.order, "Change their order.", "a frame of ground first")
    x = named[0][1] if named else "m"
    entry = Entry(node, label_of(what, node.value), units, x)
    values = FrozenJson(entry.values((*kind.numbers(), *kind.words)))
    flags = entry("active"), entry("comment")
    record = Element(name, node["type"].text(), tuple(path for path, _ in named), tuple(frames), values, *flags)
    check_possible(node, record)
    return record


def _check_joints(node: Node, kind: ConstraintKind, named: list[tuple[str, str]]) -> None:
    """Refuses a joint that slides where one that turns is asked for, or the other way round, and one named twice."""
    places = [node["joint"]] if kind.joints == 1 else list(node["joints"].items())
    for k, (place, (path, _)) in enumerate(zip(places, named, strict=True)):
        if kind.joints != ANY and path in (other for other, _ in named[:k]):
            place.refuse(f"{kind.joints} joints", "Name each joint once.", f"{path} again")
    for place, (path, unit), wanted in zip(places, named, kind.joint_units, strict=False):
        if unit != wanted:
            todo = (
                "Name joints of which "
                + ", ".join(
                    f"the {ordinal} {DOES[each]}" for ordinal, each in zip(ORDINALS, kind.joint_units, strict=False)
                )
                + "."
            )
            place.refuse(f"a joint that {DOES[wanted]}", todo, f"{path}, which {DOES[unit]}")


def _check_seat(node: Node, seat: tuple[str, ...], paths: Sequence[str], names: Names) -> None:
    """Refuses joints other than those of a seat (`ForceKind.seat`): others have no such surfaces."""
    joint, _ = split(paths[0])
    type_ = names.joints[joint].type
    motions = {KINDS[type_].path_of(joint, k): one.primitive for k, one in enumerate(KINDS[type_].coordinates)}
    acting = [motions[path] for path in dict.fromkeys(paths) if path in motions]
    plain = {type(motion) for motion in motions.values()} <= {Rotation, Translation}
    axes = len({motion.axis for motion in acting})
    if seat == ("rad",):  # others at its point do not change what it bears
        fits = {type(motion) for motion in motions.values()} == {Rotation}
    elif seat == BALL:
        fits = len(motions) == 1 and not plain
    else:
        fits = plain and len(acting) == len(motions) and axes == (3 if len(seat) == 3 else 1)
    if not fits or tuple(unit for motion in acting for unit in motion.units) != seat:
        place = node["joint"] if len(paths) == 1 else node["joints"]
        fault = f"{listed(paths)} of a joint of type {type_}"
        place.refuse(SEATS[seat], "Name such a joint, or write friction of a constant level, coulomb_friction.", fault)


def _check_bodies(node: Node, what: str, frames: Sequence[FrameRef]) -> None:
    """Refuses frames of which none can move, or none against the other."""
    todo = "Name a frame that can move." if len(frames) == 1 else "Name frames of two bodies, or of a body and ground."
    bodies = {ref.body for ref in frames}
    if bodies == {FIXED}:
        node.refuse("a frame of a body", todo, f"ground, which no {what.split()[1]} moves")
    if len(frames) == 2 and len(bodies) == 1:
        node.refuse("frames of two bodies", todo, f"two frames of {frames[0].body}, which never move apart")


def _several(node: Node, key: str, count: int) -> list[Node]:
    """The references under `joint` or `joints`, `frame` or `frames`."""
    if not count:
        return []
    if count == 1:
        return [node[key]]
    references = list(node[f"{key}s"].items())
    if count == ANY:
        if not references:
            node[f"{key}s"].refuse("a list of one at least", "Name them all.", "none of them")
        return references
    if len(references) != count:
        node[f"{key}s"].refuse(f"a list of {count}", "Name them all.", f"{len(references)} of them")
    return references

"""Joints and restraints of a document: what connects bodies, in every notation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from shiftjax.formats.names import Names
from shiftjax.formats.node import Node
from shiftjax.formats.units import Units
from shiftjax.joints import KINDS, JointKind
from shiftjax.mechanism.records import FIXED, IDENTITY, ZERO, FrameRef, Joint, Placement, Restraint, Vector

LETTERS: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
RESTRAINTS = {"spring", "damper", "friction"}
ALONG = {"Tx", "Ty", "Tz"}
MAX_COEFFICIENTS = 50


def joint(node: Node, name: str, names: Names, local: str, units: Units) -> Joint:
    """A joint in the notation of v0.2 (body_frame_pairs, parent first) or v2.0 (parent, child)."""
    type_ = node["type"].choice(KINDS)
    kind = KINDS[type_]
    parent, child = _ends(node, "body_frame_pairs", names, local)
    if node.has("damping") and node.has("damping_coefficients"):
        node.refuse("one of them", "Remove one.", "both 'damping' and 'damping_coefficients'")
    damping = "damping_coefficients" if node.has("damping_coefficients") else "damping"
    return Joint(
        name,
        type_,
        parent,
        child,
        _axis(node["axis"], type_, kind),
        _displacement(node["initial_displacement"], kind, units),
        _velocity(node["initial_velocity"], kind, units),
        _polynomial(node["stiffness"], type_, kind, units, rate=False),
        _polynomial(node[damping], type_, kind, units, rate=True),
        node["active"].flag(True),
        node["comment"].comment(),
    )


def _ends(node: Node, pair_key: str, names: Names, local: str) -> tuple[FrameRef, FrameRef]:
    """The two frames an element connects, refused where they are on one body."""
    if node.has(pair_key):
        if node.has("parent") or node.has("child"):
            node.refuse("one of them", "Remove one.", f"both {pair_key!r} and 'parent', 'child'")
        pair = list(node[pair_key].items())
        if len(pair) != 2:
            node[pair_key].refuse("two frames, the parent's first", "Name two frames.")
        first, second = pair
    else:
        first, second = node["parent"], node["child"]
        for end, key in ((first, "parent"), (second, "child")):
            if end.value is None:
                node.refuse("'parent' and 'child'", f"Add {key!r}: [[path], frame].", f"no {key!r}")
    parent, child = names.frame(first, local), names.frame(second, local)
    if parent.body == child.body:
        ground = "both ends on ground" if parent.body == FIXED else f"both ends on body {parent.body}"
        node.refuse("ends on two bodies, or on a body and ground", "Correct one end.", ground)
    return parent, child


def _axis(node: Node, type_: str, kind: JointKind) -> Vector | None:
    if isinstance(node.value, str):
        axis = LETTERS[node.choice(set(LETTERS))]
    elif node.value is not None:
        axis = node.vector3()
    elif kind.needs_axis:
        node.refuse(f"an axis for {type_}: [x, y, z] or one of x, y, z", "Add 'axis'.", "none")
    else:
        return None
    if not kind.needs_axis:
        if type_[:1] in "RT" and LETTERS.get(type_[-1]) == axis:
            return None
        node.refuse(f"no axis for {type_}", "Remove it, or use revolute or prismatic.")
    if sum(x * x for x in axis) < 1e-24 or max(map(abs, axis)) > 1e12:
        node.refuse("an axis of length between 1e-12 and 1e12", "Give a direction.")
    return axis


def _nothing(node: Node) -> bool:
    """Null or the number 0, which files write for joints of several coordinates too."""
    return node.value is None or (type(node.value) in (int, float) and node.value == 0)


def _displacement(node: Node, kind: JointKind, units: Units) -> float | Placement:
    if kind.displacement == "scalar":
        return node.number(0.0, units.displacement(kind.unit))
    if _nothing(node):
        return Placement()
    block = node.object("a placement")
    T = block["T"].vector3(ZERO, units.length)
    if kind.displacement == "rotation" and T != ZERO:
        block["T"].refuse("R only, for a spherical joint", "Move its frames instead.")
    R = block["R"].rotation() if block.has("R") else IDENTITY
    return Placement(T, R, block["rotation"].vector3(ZERO, units.angle))


def _velocity(node: Node, kind: JointKind, units: Units) -> float | tuple[float, ...]:
    per_time = 1.0 / units.time
    if kind.displacement == "scalar":
        return node.number(0.0, units.displacement(kind.unit) * per_time)
    if _nothing(node):
        return (0.0,) * kind.nv
    found = node.vector(kind.nv)
    return _scaled(node, found, [units.length * per_time] * (kind.nv - 3) + [units.angle * per_time] * min(3, kind.nv))


def _polynomial(node: Node, type_: str, kind: JointKind, units: Units, *, rate: bool) -> tuple[float, ...]:
    """Ascending coefficients of a joint's own spring or damper."""
    if node.value is None:
        return ()
    if isinstance(node.value, (int, float)):
        node.refuse("a list of ascending coefficients", "Write [0, k] for k times the displacement or speed.")
    found = node.vector()
    if found and kind.displacement != "scalar":
        node.refuse(f"none for {type_}: it has not one displacement", "Use a restraint between two frames.")
    return _scaled(node, found, _factors(node, len(found), kind.unit, units, rate=rate))


def _factors(node: Node, count: int, unit: str, units: Units, *, rate: bool) -> list[float]:
    """Factors to SI of ascending coefficients."""
    if count > MAX_COEFFICIENTS:
        node.refuse(
            f"at most {MAX_COEFFICIENTS} coefficients", "Use pieces of a lower degree.", f"{count} coefficients"
        )
    return [units.coefficient(unit, k, rate=rate) for k in range(count)]


def _scaled(node: Node, found: Sequence[float], factors: Sequence[float]) -> tuple[float, ...]:
    """The numbers in SI units."""
    out = tuple(x * factor for x, factor in zip(found, factors, strict=True))
    if not all(map(math.isfinite, out)):
        node.refuse("numbers that are finite in SI units", "Correct them.")
    return out


def restraint(node: Node, name: str, names: Names, local: str, units: Units) -> Restraint:
    """A spring, damper or friction on a joint or between two frames."""
    type_ = node["type"].choice(RESTRAINTS)
    rate = type_ != "spring"
    joint_path, ends, unit = None, None, "m"
    pair = node.has("body_frame_pair")
    if node.has("joint") == pair:
        found = "both 'joint' and 'body_frame_pair'" if pair else "neither 'joint' nor 'body_frame_pair'"
        node.refuse("one of them", "Name a joint, or two frames.", found)
    if pair:
        ends = _ends(node, "body_frame_pair", names, local)
    else:
        joint_path = names.joint(node["joint"], local)
        kind = KINDS[names.joints[joint_path].type]
        if kind.displacement != "scalar":
            node["joint"].refuse(
                "a joint of one displacement (Rx Ry Rz Tx Ty Tz revolute prismatic)",
                "Use two frames: 'body_frame_pair'.",
                f"{type_} on joint {joint_path} of type {names.joints[joint_path].type}",
            )
        unit = kind.unit
        if node.has("distance_type"):
            node["distance_type"].refuse("none: it belongs to a body_frame_pair", "Remove it.")
    x = units.displacement(unit) / (units.time if rate else 1.0)
    knots = node["knot_points"].vector(scale=x) if node.has("knot_points") else ()
    if any(not b > a for a, b in pairwise(knots)):
        node["knot_points"].refuse("increasing numbers", "Sort the knots, with their coefficients.")
    distance_type = node["distance_type"].choice(ALONG, None)
    return Restraint(
        name,
        type_,
        joint_path,
        ends,
        distance_type,
        knots,
        _pieces(node["coefficients"], len(knots), unit, units, rate=rate),
        node["active"].flag(True),
        node["comment"].comment(),
    )


def _pieces(node: Node, knots: int, unit: str, units: Units, *, rate: bool) -> tuple[tuple[float, ...], ...]:
    """Descending coefficients of every piece."""
    pieces = list(node.items())
    if len(pieces) != knots + 1:
        node.refuse(
            f"{knots + 1} lists for {knots} knots (one more than knots)",
            "Add or remove a list.",
            f"{len(pieces)} lists of coefficients",
        )
    out = []
    for piece in pieces:
        found = piece.vector()
        if not found:
            piece.refuse("at least one coefficient, highest power first", "Write [0].")
        out.append(_scaled(piece, found, _factors(piece, len(found), unit, units, rate=rate)[::-1]))
    return tuple(out)

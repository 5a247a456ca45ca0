"""A `joint` of MJCF: its kind, frames, limits, and what acts along it.

Coordinates are those of MuJoCo: where a file is drawn, a joint stands at its `ref`. Of several joints of one body each
moves a body without mass, which carries the next.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftjax.formats.robots.mjcf.compiler import REMEDY, Compiler, choice, range_of
from shiftjax.formats.robots.mjcf.document import ALONG_ONE, MjcfDocument, MjcfJoint
from shiftjax.formats.robots.mjcf.orientation import BodyPlace, about, unit
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.mechanism.records import FIXED, ORIGIN, ZERO

KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "float"}
READ = (
    "name", "class", "type", "pos", "axis", "range", "limited", "ref", "springref", "stiffness", "damping",
    "frictionloss", "armature", "springdamper", "springyield", "actuatorfrcrange", "actuatorfrclimited",
)  # fmt: skip
OF_SOLVER = ("margin", "solreflimit", "solimplimit", "solreffriction", "solimpfriction")
OTHERS = ("group", "user", "align", "actuatorgravcomp")
OUTSIDE = "the pose that is drawn is outside of the limits of {}"
OF_BALLS = "left out: limits of ball joints, of {}"


def joint(element: XmlElement, name: str, compiler: Compiler) -> MjcfJoint:
    """What one joint states, without what acts along it.

    Args:
        element: complete by its class. name: of the joint here.

    Raises:
        ModelError: an attribute or a number that it cannot have, or that is not read.
    """
    element.only((*READ, *OF_SOLVER, *OTHERS))
    type = "free" if element.tag == "freejoint" else choice(element, "type", tuple(KINDS), "hinge")
    for key in ("springdamper", "springyield"):
        if any(element.several(key, 3)):
            element.refuse(f"{key}={element.word(key)[:LONGEST]!r}", "stiffness and damping", REMEDY)
    entry: dict[str, Any] = {}
    ref = 0.0
    if type in ALONG_ONE:
        axis = element.numbers("axis", 3, (0.0, 0.0, 1.0))
        if "axis" in element.attributes:
            unit(element, "axis", axis)
        entry["axis"] = list(axis)
        ref = angle(element, "ref", type, compiler)
        if ref:
            entry["initial_displacement"] = ref
    bounds = range_of(element, "actuatorfrcrange", "actuatorfrclimited", compiler)
    springref = angle(element, "springref", type, compiler) if type in ALONG_ONE else 0.0
    return MjcfJoint(element, name, type, ref, springref, entry, bounds)


def angle(element: XmlElement, name: str, type: str, compiler: Compiler) -> float:
    """A coordinate that is stated, in rad or m."""
    return scale(type, compiler) * element.number(name, 0.0)


def scale(type: str, compiler: Compiler) -> float:
    """Of what files state of a joint of a type."""
    return math.pi / 180.0 if compiler.degrees and type in ("hinge", "ball") else 1.0


def place_joint(one: MjcfJoint, parent: str, child: str, current: BodyPlace, document: MjcfDocument) -> None:
    """Puts a joint between two bodies.

    Args:
        current: where the child stands in the parent while the joint is at its `ref`.
    """
    element = one.element
    if one.type == "free":
        start = {"T": [float(x) for x in current.p], "R": [[float(x) for x in row] for row in current.R]}
        ends = [[FIXED], ORIGIN], [[child], ORIGIN]
        document.add_joint(one.name, KINDS["free"], *ends, initial_displacement=start)
        return
    pos = np.array(element.numbers("pos", 3, ZERO))
    stand = BodyPlace(current.p + current.R @ pos, current.R)
    if one.ref:
        axis = np.array(one.entry["axis"]) / np.linalg.norm(one.entry["axis"])
        if one.type == "hinge":
            stand = BodyPlace(stand.p, stand.R @ about(axis, -one.ref))
        else:
            stand = BodyPlace(stand.p - one.ref * (stand.R @ axis), stand.R)
    on_parent = document.frame(parent, one.name, stand)
    on_child = document.frame(child, one.name, BodyPlace(pos, np.eye(3)))
    document.add_joint(one.name, KINDS[one.type], on_parent, on_child, **one.entry)


def act_along(one: MjcfJoint, compiler: Compiler, document: MjcfDocument) -> None:
    """Limits, springs, dampers, dry friction and armature of a joint that is placed.

    Raises:
        ModelError: a law that joints of its type do not have here.
    """
    element = one.element
    entry = document.joint_entries[one.name]
    numbers = {key: element.several(key, 3) for key in ("stiffness", "damping", "frictionloss", "armature")}
    for key, values in numbers.items():
        if any(values[1:]):
            element.refuse(f"{key}={element.word(key)[:LONGEST]!r}", "one number", REMEDY)
        if values and values[0] < 0.0:
            element.refuse(f"{key} {values[0]:g}", "0 or more", "Correct it.")
    stiffness, damping, friction, armature = (values[0] if values else 0.0 for values in numbers.values())
    stiffness = 0.0 if "spring" in compiler.off else stiffness
    damping = 0.0 if "damper" in compiler.off else damping
    friction = 0.0 if "frictionloss" in compiler.off else friction
    _limits(one, entry, compiler, document)
    if one.type not in ALONG_ONE:
        for key, value in (("stiffness", stiffness), ("frictionloss", friction), ("armature", armature)):
            if value:
                allowed = f"{key} of joints of type {' or '.join(ALONG_ONE)}"
                element.refuse(f"{key} {value:g} of a joint of type {one.type}", allowed, REMEDY)
        if damping:
            _brake(one, damping, document)
        return
    if damping:
        entry["damping"] = [0.0, damping]
    if stiffness:
        entry["stiffness"] = [-stiffness * one.springref if one.springref else 0.0, stiffness]
    if friction:
        document.rub(one.name, friction, joint=one.name)
    if armature:
        document.rotor(one, armature)


def _brake(one: MjcfJoint, damping: float, document: MjcfDocument) -> None:
    """Damping of a ball against its angular velocity, of a free body against both velocities."""
    entry, none, all_ways = document.joint_entries[one.name], [0.0] * 3, [damping] * 3
    moving = {"damping": all_ways} if one.type == "free" else {}
    document.add_force(
        f"{one.name}_damping", "bushing", frames=[entry["parent"], entry["child"]],
        stiffness=none, turning_stiffness=none, turning_damping=all_ways, **moving,
    )  # fmt: skip


def _limits(one: MjcfJoint, entry: dict[str, Any], compiler: Compiler, document: MjcfDocument) -> None:
    ends = None if "limit" in compiler.off else range_of(one.element, "range", "limited", compiler)
    if ends is None or one.type == "free":
        return
    if one.type == "ball":
        document.notes.add(OF_BALLS, one.name)
        return
    low, high = (end * scale(one.type, compiler) for end in ends)
    entry["limits"] = [low, high]
    if not one.ref and not low <= one.ref <= high:
        document.notes.add(OUTSIDE, one.name)

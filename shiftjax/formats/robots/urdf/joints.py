"""A `joint` of URDF: its kind, frames, limits, friction and what it follows, as elements of a document of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.errors import nearest
from shiftjax.formats.robots.notes import SLIP_SPEED, ReaderNotes
from shiftjax.formats.robots.placing import axes_of_plane, direction, origin, placed
from shiftjax.formats.robots.xml_tree import XmlElement
from shiftjax.mechanism.records import ORIGIN
from shiftjax.record import record

KINDS_OF_JOINTS = {
    "fixed": "rigid",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "float",
}
ALONG_ONE = ("revolute", "continuous", "prismatic")
CHILDREN = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
KEPT_AS_DATA = {  # element -> its attributes, which no run of ours reads
    "safety_controller": ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"),
    "calibration": ("rising", "falling", "reference_position"),
}
HARMLESS = ("hardwareInterface", "sensor", "verbose")

UNLIMITED = "no limits are stated of {}, which URDF asks for: it turns or slides freely"
ONE_PLACE = "the lower limit is the upper one: posing leaves {} there, a run with hold= does"
ELSEWHERE = "{} is locked where it follows another joint, not in the one place of its limits"
OUTSIDE = "the pose that is drawn is that of all zeros, outside of the limits of {}"
DRY = f"dry friction fades below {SLIP_SPEED:g} rad/s or m/s, which URDF does not state: slip_speed of {{}}"
STILL = "what is stated of the motion of fixed joints says nothing: {}"
PLANE = "planar joints slide along two axes and turn about the normal: {}"


@record
class StatedMimic:
    """What a joint follows: q = multiplier q_leader + offset."""

    element: XmlElement
    leader: str
    multiplier: float
    offset: float


@record
class StatedJoint:
    """A joint while its file is read.

    Attributes:
        on_parent, on_child: frames beside the origins of both links; None where the origin is meant.
        entry: of a document, without its ends.
    """

    element: XmlElement
    name: str
    type: str
    parent: str
    child: str
    on_parent: dict[str, Any] | None
    on_child: dict[str, Any] | None
    entry: dict[str, Any]
    friction: float
    mimic: StatedMimic | None


def joint(element: XmlElement, name: str, notes: ReaderNotes) -> StatedJoint:
    """What one `joint` states.

    Raises:
        ModelError: an element or a number that it cannot have.
    """
    element.only(element.attributes, (*CHILDREN, *KEPT_AS_DATA, *HARMLESS))
    type = element.word("type")
    if type not in KINDS_OF_JOINTS:
        element.refuse(f"type={type[:60]!r}", ", ".join(KINDS_OF_JOINTS), "Choose one of them.")
    ends = {}
    for end in ("parent", "child"):
        element.needed(end).only(("link",))
        ends[end] = element.needed(end).word("link")
    T, R = origin(element)
    entry: dict[str, Any] = {"name": name, "type": KINDS_OF_JOINTS[type]}
    plane = np.eye(3)
    if type in ALONG_ONE:
        entry["axis"] = list(direction(element))
    elif type == "planar":
        plane = axes_of_plane(direction(element))
        notes.add(PLANE, name)
    _limits(element, name, type, entry, notes)
    friction = _dynamics(element, type, entry)
    notes.leave_others(element, ("name", "type"), (*CHILDREN, *KEPT_AS_DATA))
    if type == "fixed" and any(element.child(tag) is not None for tag in ("dynamics", "mimic", "limit")):
        notes.add(STILL, name)
    return StatedJoint(
        element,
        name,
        type,
        ends["parent"],
        ends["child"],
        _frame(name, T, R @ plane),
        _frame(name, (0.0, 0.0, 0.0), plane),
        entry,
        friction,
        _mimic(element, type),
    )


def _frame(name: str, T: tuple[float, ...], R: np.ndarray) -> dict[str, Any] | None:
    """A frame at a place of a link; None at its origin."""
    place = placed(T, R)
    return {"name": name if name != ORIGIN else f"{ORIGIN}_joint", **place} if place else None


def _limits(element: XmlElement, name: str, type: str, entry: dict[str, Any], notes: ReaderNotes) -> None:
    """Ends of the coordinate as limits of posing, all else as data."""
    data: dict[str, Any] = {}
    limit = element.child("limit")
    if limit is not None:
        limit.only(limit.attributes)
        for key in limit.attributes:
            if key not in ("lower", "upper") and (todo := nearest(key, ("lower", "upper"))):
                limit.refuse(f"attribute {key[:60]!r}", "lower, upper, and what moves nothing here", todo)
        data |= {key: limit.number(key) for key in limit.attributes}
    for tag, attributes in KEPT_AS_DATA.items():
        if (inner := element.child(tag)) is not None:
            inner.only(attributes)
            data[tag] = {key: inner.number(key) for key in inner.attributes}
    if type in ("revolute", "prismatic"):
        ends = [data.pop("lower", 0.0), data.pop("upper", 0.0)]
        if limit is None:
            notes.add(UNLIMITED, name)
        elif ends[0] > ends[1]:
            limit.refuse(f"limits {ends[0]:g} and {ends[1]:g}", "a lower one up to the upper one", "Exchange them.")
        elif ends[0] == ends[1]:
            entry |= {"lock": True, "initial_displacement": ends[0]}
            notes.add(ONE_PLACE, name)
        else:
            entry["limits"] = ends
    if data:
        entry["data"] = data
        for what in dict.fromkeys(key if key in KEPT_AS_DATA else "limits of effort and velocity" for key in data):
            notes.keep(what, name)


def note_start(joint: StatedJoint, start: float, notes: ReaderNotes) -> None:
    """Says where limits do not leave a joint where it begins [rad or m]; one that begins elsewhere than at zero our
    format speaks of."""
    low, high = joint.entry.get("limits", (start, start))
    if start == 0.0 and not low <= start <= high:
        notes.add(OUTSIDE, joint.name)
    if joint.entry.get("lock") and start != joint.entry["initial_displacement"]:
        notes.add(ELSEWHERE, joint.name)


def _dynamics(element: XmlElement, type: str, entry: dict[str, Any]) -> float:
    """Damping into the entry; returns the dry friction [N m or N]."""
    dynamics = element.child("dynamics")
    if dynamics is None or type == "fixed":
        return 0.0
    stated = {key: dynamics.number(key) for key in dynamics.attributes}
    if other := [key for key, value in stated.items() if value and key not in ("damping", "friction")]:
        fault, todo = f"{other[0]}={dynamics.word(other[0])!r}", "Say it by these, or remove it and add its force."
        dynamics.refuse(fault, "damping and friction, all that URDF defines", todo)
    dynamics.only((*stated,))
    for key, value in stated.items():
        if value < 0.0:
            dynamics.refuse(f"{key} {value:g}", "0 or more", "Correct it.")
        if value and type not in ALONG_ONE:
            allowed = f"{key} of joints that are {', '.join(ALONG_ONE)}"
            dynamics.refuse(f"{key} {value:g} of a {type} joint", allowed, "Remove it; add its force to the model.")
    if stated.get("damping"):
        entry["damping"] = [0.0, stated["damping"]]
    return stated.get("friction", 0.0)


def _mimic(element: XmlElement, type: str) -> StatedMimic | None:
    mimic = element.child("mimic")
    if mimic is None or type == "fixed":
        return None
    mimic.only(("joint", "multiplier", "offset"))
    if type not in ALONG_ONE:
        mimic.refuse(f"a {type} joint that follows another", f"joints that are {', '.join(ALONG_ONE)}", "Remove it.")
    return StatedMimic(mimic, mimic.word("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))

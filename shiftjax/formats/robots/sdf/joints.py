"""A `joint` of SDFormat: its kind, its ends, where it stands, its axes.

SDFormat is a graph: nothing tells a joint that closes a loop from others, and here it is a joint as all are.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.sdf.axes import SdfAxis, axis
from shiftjax.formats.robots.sdf.scopes import WORLD, FrameScope, SdfLink
from shiftjax.formats.robots.sdf.values import check, number, text, word
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.record import record

KINDS_OF_JOINTS = {
    "fixed": "rigid",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "screw": "screw",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "gearbox": "gear",
}
ALONG_ONE = ("revolute", "continuous", "prismatic", "screw")
ALONG_TWO = ("universal", "revolute2")
OF_GEARBOXES = ("gearbox_ratio", "gearbox_reference_body")
OF_SCREWS = ("thread_pitch", "screw_thread_pitch")
READ = ("parent", "child", "pose", "axis", "axis2", "physics", *OF_GEARBOXES, *OF_SCREWS)
OF_ENGINES = (
    "cfm_damping",
    "implicit_spring_damper",
    "fudge_factor",
    "cfm",
    "erp",
    "bounce",
    "limit",
    "provide_feedback",
)
SQUARE = 1e-6  # cosine between two axes that are meant to be perpendicular, of a file of few digits
SQUARE_EXACTLY = 1e-10  # of two axes in series, which need not be so
PARALLEL = 1e-3  # length of the difference of two directions that are meant to be one, of a file of few digits
LEAST_ANGLE = 1e-3  # sine between two axes of which a body turns about both

STILL = "what is stated of the motion of fixed joints says nothing: {}"
ENGINES = "numbers of how a simulator holds joints are left out: those of {}"
PITCH = "no pitch is stated of {}: SDFormat has 1 m for a turn"


@record
class SdfJoint:
    """A joint while its file is read.

    Attributes:
        parent, child: links; None is ground.
        X: (4, 4) in the world.
        axes: one or two where the kind has them.
        pitch: of a screw [m/rad].
    """

    element: XmlElement
    scope: FrameScope
    name: str
    type: str
    parent: SdfLink | None
    child: SdfLink | None
    X: np.ndarray
    axes: tuple[SdfAxis, ...]
    pitch: float

    @property
    def apart(self) -> bool:
        """Whether both axes need joints of their own: they are not perpendicular, or what acts needs one coordinate."""
        if self.type not in ALONG_TWO:
            return False
        first, second = self.axes
        limit = SQUARE if self.type == "universal" else SQUARE_EXACTLY
        if abs(first.unit @ second.unit) > limit or any(one.friction or one.mimic for one in self.axes):
            return True
        return any(low is not None and low == high for low, high in (one.limits for one in self.axes))


def joint(element: XmlElement, scope: FrameScope, notes: ReaderNotes) -> SdfJoint:
    """What one `joint` states.

    Raises:
        ModelError: an element or a number that it cannot have.
    """
    name, type = element.word("name"), element.word("type")
    check(element, ("name", "type"), READ, notes, harmless=("sensor", "plugin"))
    if type not in KINDS_OF_JOINTS:
        element.refuse(f"type={type[:LONGEST]!r}", ", ".join(KINDS_OF_JOINTS), "Choose one of them.")
    parent, child = (_end(element, end, scope) for end in ("parent", "child"))
    if parent is child:
        body = "ground" if parent is None else f"link {parent.path[-1]!r}"
        element.refuse(f"both ends on {body}", "ends on two links, or on a link and the world", "Correct one end.")
    _engine(element, name, notes)
    of_joint = scope.pose(name, element)
    tags = ("axis", "axis2") if type in ALONG_TWO or type == "gearbox" else ("axis",)
    for tag in ("axis", "axis2"):
        stated = element.child(tag)
        if stated is not None and tag not in tags:
            stated.refuse(f"an <{tag}> of a {type} joint", f"joints that are {', '.join(ALONG_TWO)}", "Remove it.")
        if stated is None and tag in tags and type not in ("fixed", "ball"):
            element.refuse(f"no <{tag}>", f"a {type} joint with one", "Add it.")
    axes = tuple(axis(element, tag, scope, of_joint, name, notes) for tag in tags)
    if type == "fixed" and element.child("axis") is not None:
        notes.add(STILL, name)
    if type in ("ball", "gearbox"):
        _without_forces(element, axes, type)
    if type in ALONG_TWO:
        _check_angle(element, axes, type)
    pitch = _pitch(element, name, notes) if type == "screw" else 0.0
    return SdfJoint(element, scope, name, type, parent, child, scope.in_world() @ of_joint, axes, pitch)


def _end(element: XmlElement, end: str, scope: FrameScope) -> SdfLink | None:
    """The link of an end; None is ground."""
    name, inner = word(element, end), element.needed(end)
    if end == "parent" and name == WORLD:
        return None
    return scope.body(name, inner)


def _without_forces(element: XmlElement, axes: tuple[SdfAxis, ...], type: str) -> None:
    for one in axes:
        if one.element is not None and (one.acts or one.limits != (None, None)):
            todo = "Remove it; add its force to the model."
            one.element.refuse(f"limits or dynamics of a {type} joint", "none: it has no coordinate of an axis", todo)


def _check_angle(element: XmlElement, axes: tuple[SdfAxis, ...], type: str) -> None:
    """Two axes must not be parallel, and those of a universal joint are perpendicular."""
    first, second = axes
    cosine = float(first.unit @ second.unit)
    if type == "universal" and abs(cosine) > SQUARE:
        fault = f"axes at {math.degrees(math.acos(max(-1.0, min(1.0, cosine)))):.6g} degrees"
        todo = "Correct them; two joints in series at any angle are of type revolute2."
        element.refuse(fault, "perpendicular axes of a universal joint", todo)
    if float(np.linalg.norm(np.cross(first.unit, second.unit))) < LEAST_ANGLE:
        element.refuse("two axes along one line", "axes at an angle", "Correct one, or make it a revolute joint.")


def _pitch(element: XmlElement, name: str, notes: ReaderNotes) -> float:
    """[m/rad], above 0 of a right-handed thread.

    `thread_pitch`, which the other one supersedes, is in rad/m, above 0 of a left-handed thread.
    """
    if element.child("screw_thread_pitch") is None and element.child("thread_pitch") is not None:
        stated = number(element, "thread_pitch", 1.0)
        if not stated or not math.isfinite(1.0 / stated):
            element.needed("thread_pitch").refuse(f"{stated:g}", "rad/m other than 0", "Give screw_thread_pitch.")
        return -1.0 / stated
    if element.child("screw_thread_pitch") is None:
        notes.add(PITCH, name)
    return number(element, "screw_thread_pitch", 1.0) / (2.0 * math.pi)


def _engine(element: XmlElement, name: str, notes: ReaderNotes) -> None:
    """Notes numbers of simulators; refuses a motor and a soft suspension among them."""
    physics = element.child("physics")
    if physics is None:
        return
    check(physics, (), ("ode",), notes, harmless=("simbody", "provide_feedback"))
    ode = physics.child("ode")
    if ode is None:
        return
    check(ode, (), ("max_force", "velocity", "suspension", *OF_ENGINES), notes)
    if number(ode, "max_force", 0.0):
        ode.needed("max_force").refuse("a motor of a simulator", "none", "Remove it; add a driver, or a force.")
    suspension = ode.child("suspension")
    if suspension is not None and number(suspension, "cfm", 0.0):
        suspension.refuse("a soft suspension of a simulator", "none", "Remove it; add a spring.")
    if any(ode.child(tag) is not None for tag in ("cfm_damping", "implicit_spring_damper", "cfm", "erp", "limit")):
        notes.add(ENGINES, name)


def reference_body(joint: SdfJoint) -> SdfLink | None:
    """The body in which a gearbox measures its angles; None is ground."""
    element = joint.element.needed("gearbox_reference_body")
    name = text(element)
    return None if name == WORLD else joint.scope.body(name, element)

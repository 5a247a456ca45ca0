"""An `axis` or `axis2` of a joint of SDFormat: direction, limits, damping, friction, spring, what it follows."""

from __future__ import annotations

import math

import numpy as np

from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.placing import SHORTEST
from shiftjax.formats.robots.sdf.scopes import MODEL, FrameScope
from shiftjax.formats.robots.sdf.values import FARTHEST, check, flag, inverse, number, vector
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.record import record

IN_AXES = ("xyz", "use_parent_model_frame", "dynamics", "limit", "mimic", "initial_position")
DYNAMICS = ("damping", "friction", "spring_reference", "spring_stiffness")
OF_STOPS = ("effort", "velocity", "stiffness", "dissipation")
ENDLESS = 1e16  # rad or m: what older versions write for no limit
ELSEWHERE = "initial_position is left out, as simulators do: {} begin where poses say"


@record
class StatedFollower:
    """What a coordinate follows: q = multiplier (q_leader - reference) + offset."""

    element: XmlElement
    leader: str
    axis: str
    multiplier: float
    offset: float


@record
class SdfAxis:
    """An axis while its joint is read.

    Attributes:
        direction: along the axes of the joint, not of length 1.
        limits: None on a side without one.
        stops: what else is stated of them.
    """

    element: XmlElement | None
    direction: tuple[float, float, float]
    limits: tuple[float | None, float | None]
    stops: dict[str, float]
    damping: float
    friction: float
    stiffness: float
    rest: float
    mimic: StatedFollower | None

    @property
    def unit(self) -> np.ndarray:
        """(3,) of length 1."""
        return np.array(self.direction) / math.hypot(*self.direction)

    def polynomials(self) -> dict[str, list[float]]:
        """Damping and spring as coefficients of a joint of ours."""
        out = {} if not self.damping else {"damping": [0.0, self.damping]}
        if self.stiffness:
            out["stiffness"] = [-self.stiffness * self.rest if self.rest else 0.0, self.stiffness]
        return out

    @property
    def acts(self) -> bool:
        """Whether a force or a constraint acts along it."""
        return bool(self.damping or self.friction or self.stiffness or self.mimic)


def axis(
    joint: XmlElement, tag: str, scope: FrameScope, of_joint: np.ndarray, name: str, notes: ReaderNotes
) -> SdfAxis:
    """What an axis of a joint states; along z, without limits and forces, where it is left out.

    Args:
        of_joint: (4, 4) pose of the joint in its scope.

    Raises:
        ModelError: an element or a number that it cannot have.
    """
    element = joint.child(tag)
    if element is None:
        return SdfAxis(None, (0.0, 0.0, 1.0), (None, None), {}, 0.0, 0.0, 0.0, 0.0, None)
    check(element, (), IN_AXES, notes)
    if number(element, "initial_position", 0.0):
        notes.add(ELSEWHERE, name)
    limits, stops = _limits(element, notes)
    dynamics = _dynamics(element, notes)
    return SdfAxis(element, _direction(element, scope, of_joint), limits, stops, *dynamics, _mimic(element, notes))


def _direction(axis: XmlElement, scope: FrameScope, of_joint: np.ndarray) -> tuple[float, float, float]:
    """Along the axes of the joint; before 1.5 it is stated along those of the model, until 1.6 it may be."""
    stated = axis.child("xyz")
    frame = ""
    if stated is not None:
        frame = stated.word("expressed_in", "")
    if scope.version == (1, 4) or flag(axis, "use_parent_model_frame", default=False):
        frame = frame or MODEL
    xyz = vector(axis, "xyz", (0.0, 0.0, 1.0), ("expressed_in",))
    if not SHORTEST <= math.hypot(*xyz) <= FARTHEST:
        axis.needed("xyz").refuse(f"{axis.needed('xyz').text[:LONGEST]!r}", "a direction", "Give one, as 0 0 1.")
    if not frame:
        return (xyz[0], xyz[1], xyz[2])
    turned = inverse(of_joint)[:3, :3] @ scope.pose(frame, axis)[:3, :3] @ np.array(xyz)
    return (float(turned[0]), float(turned[1]), float(turned[2]))


def _limits(axis: XmlElement, notes: ReaderNotes) -> tuple[tuple[float | None, float | None], dict[str, float]]:
    limit = axis.child("limit")
    if limit is None:
        return (None, None), {}
    check(limit, (), ("lower", "upper", *OF_STOPS), notes)
    low = number(limit, "lower", -math.inf, infinite=True)
    high = number(limit, "upper", math.inf, infinite=True)
    if low > high or low == math.inf or high == -math.inf:
        fault = f"limits {low:g} and {high:g}"
        limit.refuse(fault, "a lower one up to the upper one", "Exchange them.")
    stops = {key: number(limit, key, 0.0, infinite=True) for key in OF_STOPS if limit.child(key) is not None}
    stops = {key: value for key, value in stops.items() if math.isfinite(value)}
    return (None if low <= -ENDLESS else low, None if high >= ENDLESS else high), stops


def _dynamics(axis: XmlElement, notes: ReaderNotes) -> tuple[float, float, float, float]:
    """Damping, dry friction, stiffness of the spring and where it is at rest."""
    dynamics = axis.child("dynamics")
    if dynamics is None:
        return 0.0, 0.0, 0.0, 0.0
    check(dynamics, (), DYNAMICS, notes)
    damping, friction, rest, stiffness = (number(dynamics, key, 0.0) for key in DYNAMICS)
    for key, value in (("damping", damping), ("friction", friction), ("spring_stiffness", stiffness)):
        if value < 0.0:
            dynamics.needed(key).refuse(f"{key} {value:g}", "0 or more", "Correct it.")
    return damping, friction, stiffness, rest


def _mimic(axis: XmlElement, notes: ReaderNotes) -> StatedFollower | None:
    mimic = axis.child("mimic")
    if mimic is None:
        return None
    check(mimic, ("joint", "axis"), ("multiplier", "offset", "reference"), notes)
    along = mimic.word("axis", "axis")
    if along not in ("axis", "axis2"):
        mimic.refuse(f"axis={along[:LONGEST]!r}", "axis or axis2", "Correct it.")
    multiplier, reference = number(mimic, "multiplier", 1.0), number(mimic, "reference", 0.0)
    offset = number(mimic, "offset", 0.0) - (multiplier * reference if reference else 0.0)
    return StatedFollower(mimic, mimic.word("joint"), along, multiplier, offset)

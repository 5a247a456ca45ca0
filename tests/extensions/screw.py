"""A screw: turning by q [rad] about an axis and sliding by pitch q along it."""

from __future__ import annotations

from shiftjax.algebra import matvec, scale
from shiftjax.field import Role, number
from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.primitives import Rotation
from shiftjax.record import record


@record
class Helix(Rotation):
    """A rotation that takes its frame along."""

    def motion(self, q, n):
        R, _ = Rotation.motion(self, q, n)
        return R, scale(n["pitch"] * q[0], n["axis"])

    def screws(self, R_before, R_after, n):
        ((line, _),) = Rotation.screws(self, R_before, R_after, n)
        return [(line, scale(n["pitch"], matvec(R_before, n["axis"])))]


PITCH = number(
    "pitch",
    "m/rad",
    "way along the axis for a turn of one radian",
    role=Role.LENGTH,
)
KINDS["my_screw"] = JointKind((Helix("axis"),), "screw", fields=(PITCH,))

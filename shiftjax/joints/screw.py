"""Screw (helical) joint: a turn about an axis takes the child along it, by the pitch for every radian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Mat, Scalar, Vec, matvec, scale
from shiftjax.field import Role, number
from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Rotation
from shiftjax.record import record
from shiftjax.rotations import along


@record
class Helix(Rotation):
    """Rotation by q [rad] about an axis, with a translation by pitch q [m] along it."""

    def motion(self, q: Sequence[Scalar], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
        R, _ = Rotation.motion(self, q, n)
        return R, scale(n["pitch"] * q[0], along(self.axis, n.get("axis")))

    def screws(self, R_before: Mat, R_after: Mat, n: Mapping[str, Any]) -> list[tuple[Vec, Vec]]:
        ((line, _),) = Rotation.screws(self, R_before, R_after, n)
        return [(line, scale(n["pitch"], matvec(R_before, along(self.axis, n.get("axis")))))]


PITCH = number("pitch", "m/rad", "way along the axis for a turn of one radian", role=Role.LENGTH)
SCREW = JointKind((Helix("axis"),), "screw", fields=(PITCH,), doc="turns about the axis, which takes it along")

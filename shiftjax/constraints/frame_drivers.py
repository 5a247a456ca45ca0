"""Drivers of a frame: a coordinate of its origin in the world, or an angle, is prescribed as a function of time.

The angles are those of the turns Rz(yaw) Ry(pitch) Rx(roll): roll about the frame's x axis, pitch of that axis, from
the world's x-y plane down to -z, and yaw of it about the world's z (Cardan angles; Diebel 2006, section 5.6.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Mat, Scalar, atan2, cos, norm_squared, sin, sqrt
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.field import Field
from shiftjax.plan_elements import RowGroup
from shiftjax.time_laws import Law

COMPONENT = Field("component", "of the frame's origin in the world", "choice", required=True, choices=("x", "y", "z"))


class FrameDriver(DerivedConstraint):
    """x, y or z of a frame's origin follows a law in time."""

    frames, row_names, time_dependent, listed = 1, ("driven",), True, "drivers"

    def __init__(self, law: Law) -> None:
        self.law, self.fields, self.words = law, law.fields("m"), (COMPONENT, *law.words)

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        n: dict[str, Any] = {**motion.values(group.numbers), **dict(group.words)}
        (frame,) = group.frames
        return [motion.point(frame)["xyz".index(n["component"])] - self.law.at(n, motion.t)[0]]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return self.law.faults(n)


ANGLE = Field("angle", "of the frame in the world, of Rz(yaw) Ry(pitch) Rx(roll)", "choice", required=True,
              choices=("roll", "pitch", "yaw"))  # fmt: skip


class FrameAngleDriver(DerivedConstraint):
    """Roll, pitch or yaw of a frame follows a law in time, over any number of turns."""

    frames, row_names, units, time_dependent, listed = 1, ("driven",), ("rad",), True, "drivers"

    def __init__(self, law: Law) -> None:
        self.law, self.fields, self.words = law, law.fields("rad"), (ANGLE, *law.words)

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        n: dict[str, Any] = {**motion.values(group.numbers), **dict(group.words)}
        R, _ = motion.pose(group.frames[0])
        y, x = directed(R, n["angle"])
        wanted, _, _ = self.law.at(n, motion.t)
        c, s = cos(wanted), sin(wanted)
        return [atan2(y * c - x * s, x * c + y * s)]  # the difference of the angles, from -pi to pi

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return self.law.faults(n)


def directed(R: Mat, angle: str) -> tuple[Scalar, Scalar]:
    """A sine and cosine of an angle, times something above 0; of pitch both 0 where the x axis is upright."""
    if angle == "roll":
        return R[2][1], R[2][2]
    if angle == "yaw":
        return R[1][0], R[0][0]
    return -R[2][0], sqrt(norm_squared([R[0][0], R[1][0]]))

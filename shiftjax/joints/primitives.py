"""The three elementary motions every joint is a short sequence of.

Each moves a frame: it takes the pose of the frame before it and gives the pose after it, and the screws of its speeds.
Run-time code on lane scalars, except for the counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    identity,
    matvec,
    quaternion_product,
    rotation_about,
    rotation_of_quaternion,
    scale,
    transpose,
    zeros,
)
from shiftjax.record import record


@record
class Rotation:
    """Turning by q [rad] about an axis fixed in the frames on both sides."""

    axis: str  # "x", "y", "z", or "axis": the joint's own numbers
    nq: int = 1
    nv: int = 1
    quaternion: bool = False
    linear: bool = False

    def motion(self, q: Sequence[Scalar], axis: Vec) -> tuple[Mat, Vec]:
        return rotation_about(axis, q[0]), zeros()

    def screws(self, R_before: Mat, R_after: Mat, axis: Vec) -> list[tuple[str, Vec]]:
        return [("angular", matvec(R_before, axis))]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return list(v)


@record
class Translation:
    """Sliding by q [m] along an axis fixed in the frames on both sides."""

    axis: str
    nq: int = 1
    nv: int = 1
    quaternion: bool = False
    linear: bool = True

    def motion(self, q: Sequence[Scalar], axis: Vec) -> tuple[Mat, Vec]:
        return identity(), scale(q[0], axis)

    def screws(self, R_before: Mat, R_after: Mat, axis: Vec) -> list[tuple[str, Vec]]:
        return [("linear", matvec(R_before, axis))]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return list(v)


@record
class Ball:
    """Turning by a unit quaternion (w first, parent to child); speeds: angular velocity in child axes [rad/s]."""

    axis: str = ""
    nq: int = 4
    nv: int = 3
    quaternion: bool = True
    linear: bool = False

    def motion(self, q: Sequence[Scalar], axis: Vec) -> tuple[Mat, Vec]:
        return rotation_of_quaternion(q), zeros()

    def screws(self, R_before: Mat, R_after: Mat, axis: Vec) -> list[tuple[str, Vec]]:
        return [("angular", column) for column in transpose(R_after)]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """q' = 1/2 q (0, v) (Shabana, Computational Dynamics, section on Euler parameters)."""
        return scale(0.5, quaternion_product(q, [0.0, *v]))


Primitive = Rotation | Translation | Ball
AXES: dict[str, Vec] = {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "z": [0.0, 0.0, 1.0]}

"""The elementary motions of which built-in joints are sequences. Lane code, except for the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    atan2,
    cross,
    dot,
    identity,
    is_zero,
    matvec,
    scale,
    total,
    transpose,
    zeros,
)
from shiftjax.errors import ModelError
from shiftjax.record import record
from shiftjax.rotations import (
    along,
    quaternion_of_rotation,
    quaternion_product,
    rotation_about,
    rotation_of_quaternion,
    rotation_of_vector,
    vector_of_rotation,
    vector_rate,
)


@record
class Rotation:
    """Rotation by q [rad] about an axis fixed in the frames on both sides."""

    axis: str  # "x", "y", "z", or "axis": the joint's `axis` field
    nq: int = 1
    units: tuple[str, ...] = ("rad",)
    quaternion: bool = False
    vector: bool = False

    def motion(self, q: Sequence[Scalar], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
        return rotation_about(along(self.axis, n.get("axis")), q[0]), zeros()

    def screws(self, R_before: Mat, R_after: Mat, n: Mapping[str, Any]) -> list[tuple[Vec, Vec]]:
        return [(matvec(R_before, along(self.axis, n.get("axis"))), zeros())]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return list(v)

    def measured(self, R: Mat, p: Vec, n: Mapping[str, Any], rest: Sequence[Any] = ()) -> Vec:
        axis = along(self.axis, n.get("axis"))
        turning = [primitive for primitive in rest if "rad" in primitive.units]
        if len(turning) > 2 or any(primitive.quaternion or primitive.vector for primitive in turning):
            fault, todo = f"{len(turning)} turning motions after one another turning one", "Use a ball joint."
            raise ModelError("the coordinates of a pose", fault, "at most two", todo)
        if len(turning) == 2:
            return [_first_of_three(R, [axis, *(along(primitive.axis, n.get("axis")) for primitive in turning)])]
        if turning:  # the direction of the other's axis is turned by this motion alone
            other = along(turning[0].axis, n.get("axis"))
            there = matvec(R, other)
            cosine = dot(other, there) - dot(axis, other) * dot(axis, there)
            return [atan2(dot(cross(axis, other), there), cosine)]
        twice = [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]]
        cosine = 0.5 * (total([R[0][0], R[1][1], R[2][2]]) - 1.0)
        return [atan2(0.5 * dot(twice, axis), cosine)]


@record
class Translation:
    """Translation by q [m] along an axis fixed in the frames on both sides."""

    axis: str
    nq: int = 1
    units: tuple[str, ...] = ("m",)
    quaternion: bool = False
    vector: bool = False

    def motion(self, q: Sequence[Scalar], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
        return identity(), scale(q[0], along(self.axis, n.get("axis")))

    def screws(self, R_before: Mat, R_after: Mat, n: Mapping[str, Any]) -> list[tuple[Vec, Vec]]:
        return [(zeros(), matvec(R_before, along(self.axis, n.get("axis"))))]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return list(v)

    def measured(self, R: Mat, p: Vec, n: Mapping[str, Any], rest: Sequence[Any] = ()) -> Vec:
        return [dot(p, along(self.axis, n.get("axis")))]


@record
class Ball:
    """Rotation by a unit quaternion (w first, parent to child); speeds: angular velocity in child axes [rad/s]."""

    axis: str = ""
    nq: int = 4
    units: tuple[str, ...] = ("rad", "rad", "rad")
    quaternion: bool = True
    vector: bool = False

    def motion(self, q: Sequence[Scalar], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
        return rotation_of_quaternion(q), zeros()

    def screws(self, R_before: Mat, R_after: Mat, n: Mapping[str, Any]) -> list[tuple[Vec, Vec]]:
        return [(column, zeros()) for column in transpose(R_after)]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """q' = 1/2 q (0, v) (Shabana, Computational Dynamics, section on Euler parameters)."""
        return scale(0.5, quaternion_product(q, [0.0, *v]))

    def measured(self, R: Mat, p: Vec, n: Mapping[str, Any], rest: Sequence[Any] = ()) -> Vec:
        return quaternion_of_rotation(R)


@record
class RotationVector:
    """Rotation by a rotation vector [rad], parent to child; speeds: angular velocity in child axes [rad/s].

    The chart of the exponential map. It ends at 2 pi: steps that end beyond pi go on with the other vector of the same
    rotation (`kinematics.retract`).
    """

    axis: str = ""
    nq: int = 3
    units: tuple[str, ...] = ("rad", "rad", "rad")
    quaternion: bool = False
    vector: bool = True

    def motion(self, q: Sequence[Scalar], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
        return rotation_of_vector(q), zeros()

    def screws(self, R_before: Mat, R_after: Mat, n: Mapping[str, Any]) -> list[tuple[Vec, Vec]]:
        return [(column, zeros()) for column in transpose(R_after)]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return vector_rate(q, v)

    def measured(self, R: Mat, p: Vec, n: Mapping[str, Any], rest: Sequence[Any] = ()) -> Vec:
        return vector_of_rotation(R)


def _first_of_three(R: Mat, axes: Sequence[Vec]) -> Scalar:
    """The first angle of three turns about axes each across the one before (Diebel, Representing Attitude, 2006).

    R leads the third axis to where the first two turns do: the first turn is read off in the plane across its own
    axis, where the second one left the third axis at a positive sine (of proper Euler angles) or cosine.

    Raises:
        ModelError: axes that are not across each other.
    """
    first, second, third = axes
    around = cross(second, first)
    proper = not any(not is_zero(x) for x in cross(first, third))
    if not all(is_zero(x) for x in (dot(first, second), dot(second, third))) or not (
        proper or is_zero(dot(first, third))
    ):
        fault, todo = "axes of three turns that are not across each other", "Choose letters, or use a ball joint."
        raise ModelError("the coordinates of a pose", fault, "each axis across the one before", todo)
    there, start = matvec(R, third), around if proper else third
    return atan2(dot(cross(first, start), there), dot(start, there))

"""What a joint kind declares: its motion, its numbers, and how it is written in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shiftjax.algebra import Mat, Scalar, Vec
from shiftjax.field import Field
from shiftjax.record import record
from shiftjax.rotations import along, quaternion_of_rotation


class Primitive(Protocol):
    """An elementary motion between two frames, before and after it.

    Attributes:
        axis: "x", "y", "z", "axis" for the joint's `axis` field, "" where it has none. nq: coordinates.
        units: of the displacement of each speed, "rad" or "m". quaternion: whether the coordinates are one.
    """

    @property
    def axis(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def units(self) -> tuple[str, ...]: ...
    @property
    def quaternion(self) -> bool: ...

    def motion(self, q: Sequence[Scalar], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
        """Rotation and translation [m] of the frame after it in the frame before it; n: the joint's numbers."""
        ...

    def screws(self, R_before: Mat, R_after: Mat, n: Mapping[str, Any]) -> list[tuple[Vec, Vec]]:
        """For a unit of each speed the angular velocity, and the velocity of the moving frame's origin."""
        ...

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """Time derivatives of the coordinates."""
        ...

    def measured(self, R: Mat, p: Vec, n: Mapping[str, Any]) -> Vec:
        """Inverse of `motion`: the coordinates of a rotation and translation; angles from -pi to pi."""
        ...


@record
class JointKind:
    """A joint kind: a sequence of primitive motions from the parent's frame to the child's.

    Attributes:
        primitives: the motions in order; a rigid joint has none.
        displacement: "scalar" (one number), "placement" (T and R) or "rotation" (R only).
        drawing: hint for the viewer: "hinge", "slider", "screw", "ball", "weld" or "free".
        fields: further numeric fields, beside those of every joint.
        free: whether it has all six degrees of freedom, so that a mechanism on it alone floats.
    """

    primitives: tuple[Primitive, ...]
    displacement: str
    drawing: str
    fields: tuple[Field, ...] = ()
    free: bool = False

    @property
    def nq(self) -> int:
        return sum(p.nq for p in self.primitives)

    @property
    def nv(self) -> int:
        return len(self.units)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of the displacement of every speed."""
        return tuple(unit for p in self.primitives for unit in p.units)

    @property
    def needs_axis(self) -> bool:
        return any(p.axis == "axis" for p in self.primitives)

    def direction(self, n: Mapping[str, Any]) -> Vec | None:
        """The unit axis of its first motion in the joint's frames; None where it has none. n: the joint's numbers."""
        return next((along(p.axis, n.get("axis")) for p in self.primitives if p.axis), None)

    def measured(self, R: Mat, p: Vec, n: Mapping[str, Any]) -> Vec:
        """(nq,) coordinates of a child frame at this pose in the parent's frame; angles from -pi to pi."""
        if self.displacement == "placement":
            return [*p, *quaternion_of_rotation(R)] if self.primitives else []
        return self.primitives[0].measured(R, p, n)

    @property
    def unit(self) -> str:
        """Unit of the displacement of a one-coordinate joint; rad for the others."""
        return self.units[0] if len(self.units) == 1 else "rad"

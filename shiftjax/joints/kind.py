"""What a joint kind declares: its motion, its numbers, and how it is written in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shiftjax.algebra import Mat, Scalar, Vec, matmul, matvec, minus, transpose
from shiftjax.errors import ModelError
from shiftjax.field import Field
from shiftjax.record import record
from shiftjax.rotations import along


class Primitive(Protocol):
    """An elementary motion between two frames, before and after it.

    Attributes:
        axis: "x", "y", "z", "axis" for the joint's `axis` field, "" where it has none. nq: coordinates.
        units: of the displacement of each speed, "rad" or "m". quaternion, vector: whether the coordinates
            are a quaternion, or a rotation vector: the motions of several numbers that there may be.
    """

    @property
    def axis(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def units(self) -> tuple[str, ...]: ...
    @property
    def quaternion(self) -> bool: ...
    @property
    def vector(self) -> bool: ...

    def motion(self, q: Sequence[Scalar], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
        """Rotation and translation [m] of the frame after it in the frame before it; n: the joint's numbers."""
        ...

    def screws(self, R_before: Mat, R_after: Mat, n: Mapping[str, Any]) -> list[tuple[Vec, Vec]]:
        """For a unit of each speed the angular velocity, and the velocity of the moving frame's origin."""
        ...

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """Time derivatives of the coordinates."""
        ...

    def measured(self, R: Mat, p: Vec, n: Mapping[str, Any], rest: Sequence[Primitive] = ()) -> Vec:
        """Inverse of `motion`: the coordinates of a rotation and translation; angles from -pi to pi.

        Args:
            rest: the motions that come after it in the joint, which the rotation and translation contain, too.
        """
        ...


INDEXED = re.compile(r"\.q\[(\d+)\]")  # one coordinate, by its place in the joint
TAKEN = ("q", "v", "a")  # what follows a joint's path for all of its coordinates, speeds, accelerations


@record
class Coordinate:
    """One coordinate of a kind of joint: the motion of one primitive. That of a quaternion is four numbers, of a
    rotation vector three.

    Attributes:
        name: by which paths and files call it. primitive: its motion.
        q, v: its first number and first speed, counted in the joint.
    """

    name: str
    primitive: Primitive
    q: int
    v: int

    @property
    def nq(self) -> int:
        return self.primitive.nq

    @property
    def nv(self) -> int:
        return len(self.primitive.units)

    @property
    def unit(self) -> str:
        """Of the displacement of its speeds, "rad" or "m"."""
        return self.primitive.units[0]


@record
class JointKind:
    """A joint kind: a sequence of primitive motions from the parent's frame to the child's.

    Attributes:
        primitives: the motions in order, a coordinate each; a rigid joint has none.
        drawing: hint for the viewer: "hinge", "slider", "screw", "ball", "cylinder", "cross",
            "plate", "slot", "ball_slider", "ball_plate", "weld" or "free".
        names: of the coordinates, where there are several: `JOINT.NAME`; a sole one goes by the joint's own path.
        fields: further numeric fields, beside those of every joint.
        free: whether it has all six degrees of freedom, so that a mechanism on it alone floats.
        doc: what it lets the child do, for tables.
    """

    primitives: tuple[Primitive, ...]
    drawing: str
    names: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    free: bool = False
    doc: str = ""

    def __post_init__(self) -> None:
        if len(self.primitives) > 1 and (len({*self.names} - {*TAKEN}) != len(self.primitives)):
            allowed = f"{len(self.primitives)} names, one for each, other than {', '.join(TAKEN)}"
            todo = "Write names=('angle', 'slide'), one for each primitive."
            raise ModelError("a joint kind of several coordinates", f"the names {self.names}", allowed, todo)
        if several := [p for p in self.primitives if (p.nq, len(p.units)) != (1, 1) and not (p.quaternion or p.vector)]:
            fault, allowed = f"a motion of {several[0].nq} numbers", "one number, a quaternion, or a rotation vector"
            raise ModelError("a joint kind", fault, allowed, "Use one motion for each number, in their order.")
        shifts = [(axis, ("m",)) for axis in "xyz"[: len(self.primitives) - 1]]
        if self.primitives and self.placed and [(p.axis, p.units) for p in self.primitives[:-1]] != shifts:
            allowed = "translations along x, then y, then z before it: its placement {T, R} says where they stand"
            todo = "Order them so, or use three rotations in place of the one that turns any way."
            raise ModelError("a joint kind with a quaternion or rotation vector", "other motions", allowed, todo)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Its coordinates, in order."""
        coordinates: list[Coordinate] = []
        q = v = 0
        for primitive, name in zip(self.primitives, self.names or ("q",), strict=False):
            coordinates.append(Coordinate(name, primitive, q, v))
            q, v = q + primitive.nq, v + len(primitive.units)
        return tuple(coordinates)

    @property
    def sole(self) -> bool:
        """Whether it has one coordinate, of one number: the joint's path is the coordinate's, too."""
        return len(self.primitives) == 1 and not self.placed

    @property
    def placed(self) -> bool:
        """Whether a placement (T, R) says where it stands: of a weld, and where one of its motions turns any way."""
        return not self.primitives or any(p.quaternion or p.vector for p in self.primitives)

    @property
    def shifts(self) -> int:
        """How many entries its placement's T has: all of a weld and of a free joint, none of a ball, x of a rail."""
        return sum(p.units == ("m",) for p in self.primitives) if self.primitives else 3

    def path_of(self, joint: str, index: int) -> str:
        """The path of a coordinate of the joint with this path."""
        return joint if len(self.primitives) == 1 else f"{joint}.{self.names[index]}"

    def paths(self, joint: str) -> tuple[str, ...]:
        """The paths of all coordinates of the joint with this path."""
        return tuple(self.path_of(joint, k) for k in range(len(self.primitives)))

    def named(self, field: str) -> tuple[int, ...]:
        """Which coordinates the text after a joint's path names: all for "" and ".q"; none where there is none such."""
        if field in ("", ".q"):
            return tuple(range(len(self.primitives)))
        if match := INDEXED.fullmatch(field):
            return (int(match[1]),) if not self.placed and int(match[1]) < len(self.primitives) else ()
        return tuple(k for k, coordinate in enumerate(self.coordinates) if field == f".{coordinate.name}")

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
        """(nq,) coordinates of a child frame at this pose in the parent's frame; angles from -pi to pi.

        From the parent's side each motion is measured and taken off, so that the others are left. This inverts
        `motion` where at most three primitives turn, of three each about an axis across the one before, and where no
        motion slides across an axis after a turn about it. Of the two sets of three angles that each turn the child
        alike it gives the one whose second angle is from -pi/2 to pi/2, or from 0 to pi where the first axis is the
        third one, too.

        Raises:
            ModelError: more than three rotations, or axes of three that are not across each other.
        """
        out: Vec = []
        for k, primitive in enumerate(self.primitives):
            q = primitive.measured(R, p, n, self.primitives[k + 1 :])
            rotation, shift = primitive.motion(q, n)
            p, R = matvec(transpose(rotation), minus(p, shift)), matmul(transpose(rotation), R)
            out += q
        return out

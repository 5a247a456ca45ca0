"""Drivers of all of a frame: its place and orientation, or its orientation alone, as another frame sees them.

Orientations are rotations of the second frame in the first. Laws say them by quaternions e(t), of any length, whose
derivatives give the angular velocity 2 e' e* / |e|^2 and acceleration in the axes of the first frame (Shabana,
Computational Dynamics, section on Euler parameters). Rows are along these axes, or those of the second frame, at its
origin: so multipliers are the force and moment that move it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shiftjax.algebra import Mat, Scalar, Vec, cross, dot, is_zero, matmul, matvec, minus, plus, scale, transpose
from shiftjax.constraints.kind import ConstraintKind, FrameWrench, Rows
from shiftjax.constraints.pose_laws import ZERO, HarmonicPoseLaw, PoseLaw, TabulatedPoseLaw, UniformPoseLaw
from shiftjax.field import Field
from shiftjax.plan_elements import MotionView, RowGroup
from shiftjax.rotations import (
    conjugate,
    normalized,
    quaternion_product,
    rotation_of_quaternion,
    vector_of_rotation,
)

UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
AXES = Field("axes", "of the rows, and so of the force and moment: those of the first or of the second frame", "choice",
             default="first", choices=("first", "second"))  # fmt: skip
MOVING, TURNING = ("x", "y", "z"), ("rotation x", "rotation y", "rotation z")


class LedPose(NamedTuple):
    """What a law asks for, along the axes of the first frame: a pose, and the rates of what is driven."""

    R: Mat
    phi: Vec  # of the rows: places missed [m], and rotations [rad] by the antisymmetric part of R R_wanted^T
    rates: Vec
    accelerations: Vec


class PoseDriver(ConstraintKind):
    """A frame moves and turns as a law says, as another frame sees it.

    Args:
        law: the motion. whole: whether places are driven, too, not orientations alone. doc: a sentence.
    """

    frames, time_dependent, has_wrenches, listed = 2, True, True, "drivers"

    def __init__(self, law: PoseLaw, *, whole: bool, doc: str) -> None:
        self.law, self.whole, self.doc = law, whole, doc
        self.fields = (*law.shared, *(law.moves if whole else ()), *law.turns)
        self.words = (AXES, *law.words)
        self.row_names = (*MOVING, *TURNING) if whole else TURNING  # type: ignore[misc]

    def row_units(self, group: RowGroup) -> tuple[str, ...]:
        return (*("m",) * (3 * self.whole), *("rad",) * 3)

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        """J a = gamma is the difference of accelerations at any state; Phi of rotations is exact to third order."""
        first, second = group.frames
        wanted = self._wanted(group, motion)
        kinds = [(motion.jacobian, motion.bias)] * self.whole + [(motion.angular_jacobian, motion.angular_bias)]
        rows = Rows(unit=[*self.row_units(group)])
        for k, (jacobian, bias) in enumerate(kinds):
            part = slice(3 * k, 3 * k + 3)
            turned = self._turned(group, wanted)
            columns = {speed: turned(column) for speed, column in jacobian(second, relative=first).items()}
            rows.J += [{speed: c[i] for speed, c in columns.items() if not is_zero(c[i])} for i in range(3)]
            rows.phi += turned(wanted.phi[part])
            rows.nu += turned(wanted.rates[part])
            if motion.v is None:
                rows.gamma += [0.0] * 3
            else:
                rows.gamma += turned(minus(wanted.accelerations[part], bias(second, relative=first)))
        return rows

    def residual(self, group: RowGroup, motion: MotionView, rows: Rows) -> Vec:
        """Rotation logarithms: the antisymmetric part vanishes at half a turn, too."""
        wanted, (first, second) = self._wanted(group, motion), group.frames
        R, _ = motion.pose(second, relative=first)
        turned = self._turned(group, wanted)
        return [*rows.phi[:-3], *turned(vector_of_rotation(matmul(R, transpose(wanted.R))))]

    def wrenches(self, group: RowGroup, motion: MotionView) -> list[list[FrameWrench]]:
        """A unit force or moment at the second frame."""
        first, second = group.frames
        axes = transpose(self._wanted(group, motion).R) if self._on_second(group) else [list(e) for e in UNITS]
        still = list(ZERO)
        forces = [[FrameWrench(second, first, still, e)] for e in axes] if self.whole else []
        return [*forces, *([FrameWrench(second, first, e, still)] for e in axes)]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return self.law.faults(n)

    def pose(self, group: RowGroup, motion: MotionView) -> tuple[Mat, Vec | None]:
        """Where the second frame shall be in the first: its rotation, and its origin [m] where that is driven."""
        n: dict[str, Any] = {**motion.values(group.numbers), **dict(group.words)}
        R = rotation_of_quaternion(normalized(self.law.orientation(n, motion.t)))
        return R, self.law.place(n, motion.t)[0] if self.whole else None

    def _wanted(self, group: RowGroup, motion: MotionView) -> LedPose:
        first, second = group.frames
        n: dict[str, Any] = {**motion.values(group.numbers), **dict(group.words)}
        R, p = motion.pose(second, relative=first)
        R_wanted, w, alpha = _turning(*self.law.quaternion(n, motion.t))
        off = list(ZERO)
        for there, here in zip(transpose(R_wanted), transpose(R), strict=True):
            off = plus(off, cross(there, here))
        off = scale(0.5, off)
        if not self.whole:
            return LedPose(R_wanted, off, w, alpha)
        place, rate, acceleration = self.law.place(n, motion.t)
        return LedPose(R_wanted, [*minus(p, place), *off], [*rate, *w], [*acceleration, *alpha])

    def _turned(self, group: RowGroup, wanted: LedPose) -> Callable[[Sequence[Scalar]], Vec]:
        """From the axes of the first frame to those of the rows."""
        if not self._on_second(group):
            return list
        to_second = transpose(wanted.R)
        return lambda x: matvec(to_second, list(x))

    def _on_second(self, group: RowGroup) -> bool:
        return dict(group.words)["axes"] == "second"


def _turning(e: Vec, rate: Vec, second: Vec) -> tuple[Mat, Vec, Vec]:
    """Rotation matrix, angular velocity and acceleration in the reference axes of a quaternion of any length."""
    back = scale(1.0 / dot(e, e), conjugate(e))
    w = scale(2.0, quaternion_product(rate, back)[1:])
    growth = 2.0 * dot(e, rate) / dot(e, e)
    return (
        rotation_of_quaternion(normalized(e)),
        w,
        minus(scale(2.0, quaternion_product(second, back)[1:]), scale(growth, w)),
    )


_MOTIONS = {
    "uniform": (UniformPoseLaw(), "with constant acceleration"),
    "harmonic": (HarmonicPoseLaw(), "by sines about a pose"),
    "table": (TabulatedPoseLaw(), "through poses at times"),
}
POSE_DRIVERS = {
    f"{what}_{name}": PoseDriver(law, whole=whole, doc=f"The second frame {doc} {how}, as the first one sees it.")
    for what, whole, doc in (("pose", True, "moves and turns"), ("orientation", False, "turns"))
    for name, (law, how) in _MOTIONS.items()
}

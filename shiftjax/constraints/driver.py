"""A coordinate prescribed as a function of time: one row q_j - f(t) = 0."""

from __future__ import annotations

from typing import Protocol

from shiftjax.algebra import Scalar, add, cos, mul, sin, sub
from shiftjax.constraints.kind import ConstraintKind, Rows
from shiftjax.plan_elements import MotionView, RowGroup
from shiftjax.record import record


class TimeFunction(Protocol):
    """A function of time on lane scalars with its two derivatives [rad or m, per second, per second squared]."""

    def position(self, t: Scalar) -> Scalar: ...

    def velocity(self, t: Scalar) -> Scalar: ...

    def acceleration(self, t: Scalar) -> Scalar: ...


@record
class Harmonic:
    """f(t) = offset + rate t + amplitude sin(frequency t + phase), in rad or m, rad/s."""

    offset: float = 0.0
    rate: float = 0.0
    amplitude: float = 0.0
    frequency: float = 0.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        for name in ("offset", "rate", "amplitude", "frequency", "phase"):  # the algebra folds floats, not ints
            object.__setattr__(self, name, float(getattr(self, name)))

    def _angle(self, t: Scalar) -> Scalar:
        return add(mul(self.frequency, t), self.phase)

    def position(self, t: Scalar) -> Scalar:
        sine = mul(self.amplitude, sin(self._angle(t))) if self.amplitude else 0.0
        return add(add(self.offset, mul(self.rate, t)), sine)

    def velocity(self, t: Scalar) -> Scalar:
        cosine = mul(self.amplitude * self.frequency, cos(self._angle(t))) if self.amplitude else 0.0
        return add(self.rate, cosine)

    def acceleration(self, t: Scalar) -> Scalar:
        return mul(-self.amplitude * self.frequency**2, sin(self._angle(t))) if self.amplitude else 0.0


class Driver(ConstraintKind):
    """One driven coordinate."""

    joints, row_names = 1, ("driven",)
    time_dependent, prescribes, listed = True, True, False

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        (joint,), function = group.joints, motion.functions[group.function]
        return Rows(
            phi=[sub(motion.coordinate(joint), function.position(motion.t))],
            J=[{motion.first_speed(joint): 1.0}],
            nu=[function.velocity(motion.t)],
            gamma=[function.acceleration(motion.t)],
            unit=[group.units[0]],
        )

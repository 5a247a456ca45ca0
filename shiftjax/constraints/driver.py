"""A coordinate prescribed as a function of time: one row q_j - f(t) = 0."""

from __future__ import annotations

from shiftjax.algebra import Scalar, add, cos, mul, sin, sub
from shiftjax.constraints.rows import Rows
from shiftjax.record import record


@record
class Harmonic:
    """f(t) = offset + rate t + amplitude sin(frequency t + phase), in rad or m, rad/s.

    Any object with `position`, `velocity` and `acceleration` of t on lane scalars serves in its place.
    """

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
        swing = mul(self.amplitude, sin(self._angle(t))) if self.amplitude else 0.0
        return add(add(self.offset, mul(self.rate, t)), swing)

    def velocity(self, t: Scalar) -> Scalar:
        swing = mul(self.amplitude * self.frequency, cos(self._angle(t))) if self.amplitude else 0.0
        return add(self.rate, swing)

    def acceleration(self, t: Scalar) -> Scalar:
        return mul(-self.amplitude * self.frequency**2, sin(self._angle(t))) if self.amplitude else 0.0


def driver_row(q: Scalar, speed: int, unit: float, function: Harmonic, t: Scalar) -> Rows:
    """Row of one driven coordinate; `speed` is its column, `unit` the length for a sliding joint."""
    return Rows(
        phi=[sub(q, function.position(t))],
        J=[{speed: 1.0}],
        nu=[function.velocity(t)],
        gamma=[function.acceleration(t)],
        unit=[unit],
    )

"""The motion within a step, from both of its ends alone (lane code).

Rates follow the cubic through rates and their derivatives at both ends, coordinates its integral. What that misses of
the way is laid over it as s^2 (1 - s)^2, which makes the quintic through q, q', q'' at both ends (Hairer, Norsett,
Wanner, Solving Ordinary Differential Equations I, II.6): in a step of h coordinates are off by h^6, speeds by h^5, as
the step itself, accelerations by h^4; loops are open by no more.
"""

from __future__ import annotations

import numpy as np

from shiftjax.algebra import Scalar, Vec, norm_squared, plus, scale, select
from shiftjax.dynamics.kinematics import (
    coordinate_rates,
    quaternion_places,
    quaternions_of,
    vectors_of,
    with_quaternions,
)
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.rotations import conjugate, normalized, quaternion_product
from shiftjax.topology.plan import Plan

# In roundings of a coordinate: what is missed of the way and smaller is rounding. Divided by the square of a short step
# it would be an acceleration.
MISSED = 8.0


class StepPath:
    """Of the mechanism of a plan.

    Args:
        precision: of the numbers.

    Attributes:
        size: numbers of an end: coordinates; speeds and states of forces; the derivatives of these.
    """

    def __init__(self, plan: Plan, precision: str) -> None:
        self.given, self.plan, self.nx = plan, with_quaternions(plan), plan.nv + plan.ns
        self.size = plan.nq + 2 * self.nx
        self.rounding = MISSED * float(np.finfo(DTYPES[precision]).eps)

    def between(self, begin: Vec, end: Vec, share: float, span: Scalar) -> Vec:
        """The numbers at a share of the step.

        Args:
            begin, end: (size,) numbers of both ends. span: of the step [s].
        """
        first = self.given.nq
        begun = quaternions_of(self.given, begin[:first])
        begin, end = [*begun, *begin[first:]], [*quaternions_of(self.given, end[:first], begun), *end[first:]]
        rows = zip(self._rates(begin), self._rates(end), strict=True)
        moved = [self._moved(a, b, share, span) for a, b in rows]
        q, speeds, accelerations = map(list, zip(*moved, strict=True))
        for at, _ in reversed(quaternion_places(self.plan)):
            here = slice(at, at + 4)
            speeds[here], accelerations[here] = _turning(q[here], speeds[here], accelerations[here])
            q[here] = normalized(q[here])
        nq, nv, nx = self.plan.nq, self.plan.nv, self.nx
        states = [
            _cubic(*of_state, share, span)
            for of_state in zip(
                begin[nq + nv : nq + nx],
                begin[nq + nx + nv :],
                end[nq + nv : nq + nx],
                end[nq + nx + nv :],
                strict=True,
            )
        ]
        return [
            *vectors_of(self.given, q),
            *speeds,
            *(value for value, _ in states),
            *accelerations,
            *(rate for _, rate in states),
        ]

    def _rates(self, numbers: Vec) -> list[tuple[Scalar, Scalar, Scalar]]:
        """Every coordinate with its first and second derivative."""
        nq, nv = self.plan.nq, self.plan.nv
        q, v, a = numbers[:nq], numbers[nq : nq + nv], numbers[nq + self.nx : nq + self.nx + nv]
        first, second = coordinate_rates(self.plan, q, v), coordinate_rates(self.plan, q, a)
        turning = coordinate_rates(self.plan, first, v)
        for at, _ in quaternion_places(self.plan):
            second[at : at + 4] = plus(second[at : at + 4], turning[at : at + 4])
        return list(zip(q, first, second, strict=True))

    def _moved(
        self, a: tuple[Scalar, Scalar, Scalar], b: tuple[Scalar, Scalar, Scalar], s: float, span: Scalar
    ) -> tuple[Scalar, Scalar, Scalar]:
        """A coordinate and its derivatives at a share s, from those of both ends."""
        (y0, r0, c0), (y1, r1, c1) = a, b

        def way(of_rates: tuple[float, float], of_bends: tuple[float, float]) -> Scalar:
            rates, bends = (x * y0 + y * y1 for (x, y), (y0, y1) in ((of_rates, (r0, r1)), (of_bends, (c0, c1))))
            return span * (rates + span * bends)

        missed = y1 - y0 - way((1 / 2, 1 / 2), (1 / 12, -1 / 12))
        missed = select(self.rounding * (abs(y0) + abs(y1)) < abs(missed), missed, 0.0)
        of_rates, of_bends = (
            (s - s**3 + s**4 / 2, s**3 - s**4 / 2),
            (s**2 / 2 - 2 * s**3 / 3 + s**4 / 4, s**4 / 4 - s**3 / 3),
        )
        value = y0 + way(of_rates, of_bends) + (10 * s**3 - 15 * s**4 + 6 * s**5) * missed
        rate, bend = _cubic(r0, c0, r1, c1, s, span)
        pace = missed / span
        return value, rate + 30 * s**2 * (1 - s) ** 2 * pace, bend + 60 * s * (1 - s) * (1 - 2 * s) * (pace / span)


def _cubic(a: Scalar, rate_a: Scalar, b: Scalar, rate_b: Scalar, s: float, span: Scalar) -> tuple[Scalar, Scalar]:
    """The cubic through values and rates at both ends, and its rate."""
    rates = s * (1 - s) ** 2 * rate_a + s**2 * (s - 1) * rate_b
    value = (1 + 2 * s) * (1 - s) ** 2 * a + s**2 * (3 - 2 * s) * b + span * rates
    slope = 6 * s * (1 - s) * ((b - a) / span)
    return value, slope + (3 * s - 1) * (s - 1) * rate_a + s * (3 * s - 2) * rate_b


def _turning(q: Vec, rate: Vec, bend: Vec) -> tuple[Vec, Vec]:
    """Angular velocity and acceleration in child axes of a quaternion that need not be of length 1."""
    back, twice = conjugate(q), 2.0 / norm_squared(q)
    stretch, *turn = scale(twice, quaternion_product(back, rate))
    _, *gain = scale(twice, quaternion_product(back, bend))
    return turn, [x - stretch * y for x, y in zip(gain, turn, strict=True)]

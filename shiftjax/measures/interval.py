"""What a metric sees of a step: some instants from its beginning to its end, and the curve through them. Lane code.

Steps of one size are short: between their ends, which are all that is seen, an expression is taken for straight. Steps
that a tolerance chooses are long: five instants are seen, and a polynomial of degree four goes through them, so that
integrals, extremes and crossings are as exact as the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shiftjax.algebra import Scalar, Vec, dot, larger, minus, norm_squared, select, sqrt

# Lobatto's rule of five points, exact to degree seven (Abramowitz, Stegun, Handbook of Mathematical Functions,
# 25.4.32): places from -1, the beginning, to 1, the end, and weights.
NODES = (-1.0, -((3 / 7) ** 0.5), 0.0, (3 / 7) ** 0.5, 1.0)
WEIGHTS = (1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10)
POLISH = 3  # steps of Newton's method, from a place between two nodes
_powers = np.linalg.inv(np.vander(NODES, increasing=True))  # values at the nodes -> coefficients
POWERS = np.where(np.abs(_powers) < 1e-12, 0.0, _powers).tolist()


class Instant(NamedTuple):
    """An instant of a step: time [s], and the value of the expression."""

    t: Scalar
    value: Vec


class Interval(NamedTuple):
    """A step of one member.

    Attributes:
        instants: beginning and end, or one at each of the `NODES`.
    """

    instants: tuple[Instant, ...]

    @property
    def begin(self) -> Instant:
        return self.instants[0]

    @property
    def end(self) -> Instant:
        return self.instants[-1]

    @property
    def straight(self) -> bool:
        """Whether only both ends are known."""
        return len(self.instants) == 2

    def pairs(self) -> Iterator[tuple[Instant, Instant]]:
        """Each instant but the last, with the next one."""
        return pairwise(self.instants)

    def integral(self, density: Callable[[Vec], Scalar]) -> Scalar:
        """Of a function of the value over the time [s]."""
        half = 0.5 * (self.end.t - self.begin.t)
        if self.straight:
            return half * (density(self.end.value) + density(self.begin.value))
        return half * dot(WEIGHTS, [density(instant.value) for instant in self.instants])

    def at(self, time: Scalar) -> Vec:
        """The value at a time of the step."""
        (before, a), (now, b) = self.begin, self.end
        share = (time - now) / (now - before)  # from the end backwards
        if self.straight:
            return [y + share * (y - x) for x, y in zip(a, b, strict=True)]
        return [self._curve(k).value(1.0 + 2.0 * share) for k in range(len(b))]

    def reached(self, k: int, share: Scalar, level: Scalar) -> Scalar:
        """When the first number comes to a level [s], between the instants k and k + 1, about at this share."""
        before, now = self.instants[k].t, self.instants[k + 1].t
        if self.straight:
            return before + (now - before) * share
        low, high, curve = NODES[k], NODES[k + 1], self._curve()
        guess = clamped(low + (high - low) * share, low, high)
        return self._time(_newton(guess, low, high, lambda s: curve.value(s) - level, curve.slope))

    def passed(self, k: int, share: Scalar, level: Scalar, way: Scalar) -> Scalar:
        """When the first number passes a level [s], as `reached`, also near to where it turns.

        By Euler's iteration, which takes the curve for the parabola that touches it twice: Newton's, from the chord,
        was off by 1e-6 of a step where a mass thrown up passed a height a fortieth of its way below its highest point.

        Args:
            way: 1 upwards, -1 downwards.
        """
        if self.straight:
            return self.reached(k, share, level)
        low, high, curve = NODES[k], NODES[k + 1], self._curve()
        s = clamped(low + (high - low) * share, low, high)
        for _ in range(POLISH):
            off, slope = curve.value(s) - level, curve.slope(s)
            square = slope * slope - 2.0 * off * curve.bend(s)
            root = select(0.0 < square, sqrt(select(0.0 < square, square, 1.0)), 0.0)
            s = clamped(s - 2.0 * off / moving(slope + way * root), low, high)
        return self._time(s)

    def highest(self) -> Instant:
        """The largest first number after the beginning, and when it is first reached."""
        return self._extreme(sign=1)

    def lowest(self) -> Instant:
        """The smallest first number after the beginning, and when it is first reached."""
        return self._extreme(sign=-1)

    def nearest(self, point: Vec) -> Scalar:
        """The squared distance of a point from the path of the value."""
        shortest, at = self._to_line(0, point)
        if self.straight:
            return shortest
        for k in range(1, len(self.instants) - 1):
            distance, place = self._to_line(k, point)
            nearer = distance < shortest
            shortest, at = select(nearer, distance, shortest), select(nearer, place, at)
        curves = [self._curve(k) for k in range(len(point))]

        def off(s: Scalar) -> Vec:
            return minus([curve.value(s) for curve in curves], point)

        def slope(s: Scalar) -> Scalar:
            return dot(off(s), [curve.slope(s) for curve in curves])

        def bend(s: Scalar) -> Scalar:
            way = norm_squared([curve.slope(s) for curve in curves])
            return way + dot(off(s), [curve.bend(s) for curve in curves])

        # Where the distance bends downwards Newton's method goes to where it is largest.
        return smaller(norm_squared(off(at)), norm_squared(off(_newton(at, NODES[0], NODES[-1], slope, bend))))

    def _to_line(self, k: int, point: Vec) -> tuple[Scalar, Scalar]:
        """The squared distance of a point from the line between the instants k and k + 1, and where on the step."""
        a, b = self.instants[k].value, self.instants[k + 1].value
        way, off = minus(b, a), minus(point, a)
        length = norm_squared(way)
        share = dot(off, way) / select(0.0 < length, length, 1.0)
        share = clamped(share, 0.0, 1.0)
        distance = norm_squared([x - share * y for x, y in zip(off, way, strict=True)])
        return distance, share if self.straight else NODES[k] + (NODES[k + 1] - NODES[k]) * share

    def _extreme(self, *, sign: int) -> Instant:
        if self.straight:
            return self.end
        values = [instant.value[0] if sign > 0 else -instant.value[0] for instant in self.instants]
        best, at = values[1], NODES[1]
        for value, node in zip(values[2:], NODES[2:], strict=True):
            higher = best < value
            best, at = select(higher, value, best), select(higher, node, at)
        curve = Quartic(values)
        top = _newton(at, NODES[0], NODES[-1], curve.slope, curve.bend)
        value = curve.value(top)
        beyond = best < value
        best, at = select(beyond, value, best), select(beyond, top, at)
        return Instant(self._time(at), [best if sign > 0 else -best])

    def _curve(self, number: int = 0) -> Quartic:
        return Quartic([instant.value[number] for instant in self.instants])

    def _time(self, place: Scalar) -> Scalar:
        return self.begin.t + 0.5 * (self.end.t - self.begin.t) * (1.0 + place)


class Quartic:
    """The polynomial through values at the `NODES`."""

    def __init__(self, values: Vec) -> None:
        self.powers = [dot(row, values) for row in POWERS]

    def value(self, s: Scalar) -> Scalar:
        return _horner(self.powers, s)

    def slope(self, s: Scalar) -> Scalar:
        return _horner([float(k) * c for k, c in enumerate(self.powers)][1:], s)

    def bend(self, s: Scalar) -> Scalar:
        return _horner([float(k * (k - 1)) * c for k, c in enumerate(self.powers)][2:], s)


def _horner(powers: Vec, s: Scalar) -> Scalar:
    out = powers[-1]
    for c in reversed(powers[:-1]):
        out = c + s * out
    return out


def _newton(
    s: Scalar, low: float, high: float, residual: Callable[[Scalar], Scalar], slope: Callable[[Scalar], Scalar]
) -> Scalar:
    for _ in range(POLISH):
        s = clamped(s - residual(s) / moving(slope(s)), low, high)
    return s


def clamped(s: Scalar, low: float, high: float) -> Scalar:
    """The nearest number between two."""
    return smaller(larger(s, low), high)


def smaller(a: Scalar, b: Scalar) -> Scalar:
    """The smaller of two."""
    return select(b < a, b, a)


def moving(change: Scalar) -> Scalar:
    """A change to divide by: 1 for 0, where a value rests and the quotient is not chosen, but would be derived."""
    return select(0.0 < abs(change), change, change + 1.0)

"""Extremes of an expression and their instants: those of cubics through four steps, or what steps show.

Problem: the step with the largest value has a value and an instant that are off by the order of the step. Derivatives
are those of both: of the instant 0, of the value off by as much as it would still have risen in the rest of the step.
Used: in steps of fixed size the vertex of the cubic through four instants, where it lies between the inner two, or in
the first or last step of the run: value and instant of one formula, off by the fourth and the third order of the step,
their slopes by one order less. (The vertex of a parabola through three has slopes of the instant off by the first.) In
long steps, as `Interval.highest`.
Left out: what no such curve describes, as a jump, a kink, a peak of one step. All second differences beside it must
be alike, by `ALIKE`; else the extreme is that of the steps and counts as unresolved, which gradients tell.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shiftjax.algebra import Scalar, Vec, select, sqrt
from shiftjax.measures.interval import Instant, Interval
from shiftjax.measures.metric import MetricKind, Options

ALIKE = 3.0  # how many times as large as one beside it a second difference may be
ROUNDING = 1 / 64  # what bends by fewer than 64 roundings of the value rests
BEGUN = 0.01  # of the first step: an extreme so near to the start is the start's
OVERLAP = 0.01  # of a step, by which steps overlap, so that rounding at an instant loses no extreme


class _Extreme(NamedTuple):
    """The largest value so far, when it was, 1 where only a step shows it; the smallest with its sign changed."""

    value: Scalar
    at: Scalar
    unresolved: Scalar

    def better(self, other: _Extreme) -> _Extreme:
        """The larger one of both."""
        return self._chosen(select(self.value < other.value, 1.0, 0.0), other)

    def refined(self, top: _Extreme, counts: Scalar, steps: tuple[Scalar, Scalar]) -> _Extreme:
        """The vertex of a curve if it counts and is larger, or is what this one is that of a step of.

        Args:
            steps: times of both ends of its step; at one of them this one may be as large, but for rounding.
        """
        here = select(self.at < steps[0], 0.0, select(steps[1] < self.at, 0.0, 1.0))
        return self._chosen(counts * select(self.value < top.value, 1.0, here), top)

    def _chosen(self, new: Scalar, other: _Extreme) -> _Extreme:
        return _Extreme(*(select(0.0 < new, b, a) for a, b in zip(self, other, strict=True)))


SIZE = len(_Extreme._fields)


class _Vertex(NamedTuple):
    """Of the cubic through four instants: its largest value, and 1 where that is in the first, second, third step."""

    top: _Extreme
    first: Scalar
    middle: Scalar
    last: Scalar


def _vertex(sign: float, points: list[Instant], earlier: Instant | None) -> _Vertex:
    """That of four instants; lane code.

    Args:
        earlier: the instant before them; at the time of the first one where there is none.
    """
    times, values = [point.t for point in points], [sign * point.value[0] for point in points]
    spans = [later - t for t, later in pairwise(times)]
    k0, k1, k2 = (select(0.0 < span, span, 1.0) for span in spans)
    rates = [(b - a) / k for (a, b), k in zip(pairwise(values), (k0, k1, k2), strict=True)]
    bend, bend_after = ((rates[1] - rates[0]) / (k0 + k1), (rates[2] - rates[1]) / (k1 + k2))
    third = (bend_after - bend) / (k0 + k1 + k2)
    # From the third instant on: value + u (rate + u (half + u third)).
    half = bend_after + (k1 - k2) * third
    rate = rates[2] - k2 * (bend_after + k1 * third)
    root = half * half - 3.0 * third * rate
    size = abs(values[2])
    # Of two numbers that are alike in this sense both are below 0.
    good = _all((ALIKE * bend, bend_after), (ALIKE * bend_after, bend), (half, 0.0), (0.0, root), (0.0, spans[0]))
    good = good * _all((size, size - ROUNDING * (bend * (k1 * k2))))
    if earlier is not None:
        before = times[0] - earlier.t
        k = select(0.0 < before, before, 1.0)
        bend_before = (rates[0] - (values[0] - sign * earlier.value[0]) / k) / (k + k0)
        alike = _all((ALIKE * bend, bend_before), (ALIKE * bend_before, bend))
        good = good * select(0.0 < before, alike, 1.0)
    down = half - sqrt(select(0.0 < good, root, 1.0))
    u = -rate / select(0.0 < good, down, 1.0)
    first = _all((BEGUN * k0, u + k1 + k0), (u, OVERLAP * k0 - k1))
    middle = _all((-(1.0 + OVERLAP) * k1, u), (u, OVERLAP * k1))
    last = _all((-OVERLAP * k2, u), (u, k2))
    top = _Extreme(values[2] + u * (rate + u * (half + u * third)), times[2] + u, 0.0)
    return _Vertex(top, good * first, good * middle, good * last)


def _all(*pairs: tuple[Scalar, Scalar]) -> Scalar:
    """1 where the first of each pair is the smaller one, else 0."""
    out: Scalar = 1.0
    for low, high in pairs:
        out = select(low < high, out, 0.0)
    return out


def _jumped(sign: float, extreme: _Extreme, begin: Instant) -> _Extreme:
    """The extreme where a step begins: the end of the one before, unless the expression has jumped in between, as where
    an event sets numbers; lane code.

    Of two that are alike but for rounding the earlier one counts: which one is better by the last bit changes with the
    numbers, and slopes of its instant would be those of one and of the other. Only what events set makes it jump
    between steps, and slopes tell how such an instant moves: it counts as resolved.
    """
    value = sign * begin.value[0]
    size = abs(value)
    larger = _all((size, size + ROUNDING * (value - extreme.value)))
    return extreme._chosen(larger, _Extreme(value, begin.t, 0.0))


def _followed(sign: float, extreme: _Extreme, interval: Interval, history: list[Instant]) -> _Extreme:
    """The extreme after a step; lane code."""
    seen = interval.highest() if sign > 0 else interval.lowest()
    value = sign * seen.value[0]
    extreme = _jumped(sign, extreme, interval.begin)
    if not interval.straight:  # before the end of such a step its curve is level at an extreme
        top = _Extreme(value, seen.t, select(0.0 < abs(interval.end.t - seen.t), 0.0, 1.0))
        way = abs(seen.t - interval.begin.t)  # the parameter of a path may fall
        return extreme._chosen(_all((extreme.value, value), (0.0, way)), top)
    extreme = extreme.better(_Extreme(value, seen.t, 1.0))
    earlier, *before = history
    vertex = _vertex(sign, [*before, interval.begin, interval.end], earlier)
    early = select(earlier.t < before[0].t, 0.0, vertex.first)
    extreme = extreme.refined(vertex.top, early, (before[0].t, before[1].t))
    return extreme.refined(vertex.top, vertex.middle, (before[1].t, interval.begin.t))


def _begin(signs: tuple[float, ...], start: Instant) -> list[np.ndarray]:
    """An extreme for every sign, and three instants before the start, which are the start."""
    t, value = start.t, start.value[0]
    extremes = [part for sign in signs for part in (sign * value, t, np.zeros(np.shape(t)))]
    return [np.array(part, copy=True) for part in (*extremes, *(t, value) * 3)]


def _split(signs: tuple[float, ...], accumulators: Vec) -> tuple[list[_Extreme], list[Instant]]:
    extremes = [_Extreme(*accumulators[SIZE * k :][:SIZE]) for k in range(len(signs))]
    rest = accumulators[SIZE * len(signs) :]
    return extremes, [Instant(t, [value]) for t, value in zip(rest[::2], rest[1::2], strict=True)]


def _update(signs: tuple[float, ...], accumulators: Vec, interval: Interval) -> Vec:
    extremes, history = _split(signs, accumulators)
    out = [
        part
        for sign, extreme in zip(signs, extremes, strict=True)
        for part in _followed(sign, extreme, interval, history)
    ]
    if interval.straight:  # long steps need none, and leave it at the start
        history = [*history[1:], interval.begin]
    return [*out, *(part for instant in history for part in (instant.t, instant.value[0]))]


@np.errstate(all="ignore")  # of values of 1e300 the cubic overflows: then it is no extreme
def _last(signs: tuple[float, ...], accumulators: Vec, end: Instant) -> list[_Extreme]:
    """The extremes of a run, those in its last step among them."""
    extremes, history = _split(signs, accumulators)
    out = []
    for sign, extreme in zip(signs, extremes, strict=True):
        vertex = _vertex(sign, [*history, end], None)
        out.append(extreme.refined(vertex.top, vertex.last, (history[-1].t, end.t)))
    return out


def _unresolved(signs: tuple[float, ...], accumulators: Vec, end: Instant) -> np.ndarray:
    """(B,) whether an extreme before the end is that of a step."""
    last = _last(signs, accumulators, end)
    return np.any([(extreme.unresolved > 0.0) & (extreme.at < end.t) for extreme in last], axis=0)


def _kind(meaning: str, *signs: float, time: bool = False) -> MetricKind:
    """Of the largest value (1.0), of the smallest one (-1.0), or the first less the second of both."""

    def value(accumulators: list[np.ndarray], start: Instant, end: Instant, options: Options) -> np.ndarray:
        last = _last(signs, accumulators, end)
        if time:
            return np.asarray(last[0].at)
        values = [np.asarray(extreme.value) for extreme in last]
        with np.errstate(all="ignore"):  # from -1e308 to 1e308, or of members that have none
            return signs[0] * values[0] if len(values) == 1 else values[0] + values[1]

    return MetricKind(
        begin=lambda start, _: _begin(signs, start),
        update=lambda acc, interval, _: _update(signs, acc, interval),
        value=value,
        unit=(lambda _: "s") if time else lambda unit: unit,
        past_jumps=True,  # an extreme at one is unresolved
        unresolved=lambda acc, end: _unresolved(signs, acc, end),
        meaning=meaning,
    )


EXTREMES = {
    "minimum": _kind("the smallest value", -1.0),
    "maximum": _kind("the largest value", 1.0),
    "peak_to_peak": _kind("the largest less the smallest value", 1.0, -1.0),
}
TIMES = {
    "time_of_minimum": _kind("when the smallest value is reached first", -1.0, time=True),
    "time_of_maximum": _kind("when the largest value is reached first", 1.0, time=True),
}

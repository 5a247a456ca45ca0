"""Metrics: figures of a run over all its accepted steps, such as `rms(tip.velocity[0])`. A new one is an entry here.

Between the ends of two steps an expression is taken for straight: integrals follow the trapezoidal rule, crossings
linear interpolation, both with errors of the order of the step squared; integrals are summed with compensation (Kahan,
Pracniques: Further remarks on reducing truncation errors, CACM 8, 1965).
"""

from __future__ import annotations

import numpy as np

from shiftjax.algebra import Scalar, Vec, dot, larger, minus, norm_squared, select
from shiftjax.measures.expression_units import MIXED
from shiftjax.measures.metric import Instant, MetricKind, Option, Options
from shiftjax.registry import Registry

NEVER = 1e30  # s; above it a time is not a time, in both precisions


def _none(start: Instant) -> np.ndarray:
    return np.full(np.shape(start.t), np.nan)


def _first(start: Instant) -> np.ndarray:
    return np.array(start.value[0], copy=True)


def _smaller(a: Scalar, b: Scalar) -> Scalar:
    return select(b < a, b, a)


def _added(accumulators: Vec, term: Scalar) -> Vec:
    """A compensated sum: the sum, and what rounding has taken from it."""
    total, lost = accumulators
    term = term - lost
    fresh = total + term
    return [fresh, fresh - total - term]


def _area(accumulators: Vec, now: Instant, before: Instant, _: Options) -> Vec:
    step = 0.5 * (now.t - before.t)
    return _added(accumulators, step * (now.value[0] + before.value[0]))


def _square(accumulators: Vec, now: Instant, before: Instant, _: Options) -> Vec:
    step = 0.5 * (now.t - before.t)
    squares = now.value[0] * now.value[0] + before.value[0] * before.value[0]
    return _added(accumulators, step * squares)


def _empty(start: Instant, _: Options) -> list[np.ndarray]:
    return [np.zeros(np.shape(start.t)) for _ in range(2)]


def _times_seconds(unit: str) -> str:
    for per, left in (("/s^2", "/s"), ("/s", "")):
        if unit.endswith(per):
            return unit.removesuffix(per) + left
    return "s" if unit == "1" else MIXED if unit == MIXED else f"{unit} s"


def _mean(total: np.ndarray, start: Instant, end: Instant) -> np.ndarray:
    """A mean over the time; over none, the value of the only instant has no weight, so that it is not a number."""
    with np.errstate(all="ignore"):
        return total / (end.t - start.t)


def _extreme(better: str) -> MetricKind:
    """The time of the first extreme."""

    def update(accumulators: Vec, now: Instant, before: Instant, _: Options) -> Vec:
        best, value = accumulators[0], now.value[0]
        new = best < value if better == "largest" else value < best
        return [select(new, value, best), select(new, now.t, accumulators[1])]

    return MetricKind(
        begin=lambda start, _: [_first(start), np.array(start.t, copy=True)],
        update=update,
        value=lambda acc, start, end, _: acc[1],
        unit=lambda _: "s",
        meaning=f"when the {better} value is reached first",
    )


def _crossing(accumulators: Vec, now: Instant, before: Instant, options: Options) -> Vec:
    level = options["level"]
    a, b = before.value[0] - level, now.value[0] - level
    at = before.t + (now.t - before.t) * (a / _moving(a - b))
    first = accumulators[0]
    up = select(a < 0.0, select(b < 0.0, first, _unless_found(first, at)), first)
    down = select(0.0 < a, select(0.0 < b, first, _unless_found(first, at)), first)
    if options["direction"] == "up":
        return [up]
    if options["direction"] == "down":
        return [down]
    return [select(a < 0.0, up, down)]


def _sign_changes(accumulators: Vec, now: Instant, before: Instant, _: Options) -> Vec:
    """A value that reaches 0 has crossed it; one that leaves it has not, so that no crossing counts twice."""
    a, b = before.value[0], now.value[0]
    up = select(a < 0.0, select(b < 0.0, 0.0, 1.0), 0.0)
    down = select(0.0 < a, select(0.0 < b, 0.0, 1.0), 0.0)
    return [accumulators[0] + (up + down)]


def _moving(change: Scalar) -> Scalar:
    """A change to divide by: 1 for 0, where a value rests and the quotient is not chosen, but would be derived."""
    return select(0.0 < abs(change), change, change + 1.0)


def _unless_found(first: Scalar, at: Scalar) -> Scalar:
    """The first of two times, of which the earlier may be none (not a number)."""
    return select(first < NEVER, first, at)


def _settling(accumulators: Vec, now: Instant, before: Instant, options: Options) -> Vec:
    """The last instant at which the value enters the band; now, as long as it is outside."""
    within = options["within"]
    a, b = (abs(instant.value[0] - options["target"]) for instant in (before, now))
    entered = before.t + (now.t - before.t) * ((a - within) / _moving(a - b))
    inside = select(within < a, entered, accumulators[0])
    return [select(within < b, now.t, inside)]


def _settled(acc: list[np.ndarray], start: Instant, end: Instant, options: Options) -> np.ndarray:
    outside = np.abs(end.value[0] - options["target"]) > options["within"]
    return np.where(outside, np.nan, acc[0])


def _values_at(times: list[float], accumulators: Vec, now: Instant, before: Instant) -> Vec:
    """The values at some times, all numbers of the first time first; exact where a step ends there."""
    count, found = len(now.value), []
    for k, time in enumerate(times):
        passed, ahead = before.t < time, now.t < time
        share = (time - now.t) / (now.t - before.t)
        for old, a, b in zip(accumulators[k * count :], before.value, now.value, strict=False):
            between = b + share * (b - a)
            found.append(select(passed, select(ahead, old, between), old))
    return found


def _begin_values(times: list[float], start: Instant) -> list[np.ndarray]:
    """The values at those times that the start has passed."""
    return [np.where(start.t >= time, value, np.nan) for time in times for value in start.value]


def _points(options: Options) -> list[tuple[float, ...]]:
    return [tuple(point) if isinstance(point, tuple) else (point,) for point in options["points"]]


def _nearest(accumulators: Vec, now: Instant, before: Instant, options: Options) -> Vec:
    """Squared distances of the target points to the path so far: to the straight lines between the ends of steps."""
    way = minus(now.value, before.value)
    length = norm_squared(way)
    moves = 0.0 < length
    found = []
    for point, old in zip(_points(options), accumulators, strict=True):
        off = minus(point, before.value)
        share = dot(off, way) / select(moves, length, 1.0)
        share = _smaller(larger(share, 0.0), 1.0)
        found.append(_smaller(old, norm_squared([a - share * b for a, b in zip(off, way, strict=True)])))
    return found


def _begin_nearest(start: Instant, options: Options) -> list[np.ndarray]:
    return [np.asarray(norm_squared(minus(start.value, point))) for point in _points(options)]


def _root(square: np.ndarray) -> np.ndarray:
    """A square root that has no slope at 0, on complex numbers too."""
    with np.errstate(all="ignore"):
        return np.where(np.real(square) <= 0.0, 0.0, np.sqrt(square))


def _root_mean(squares: list[np.ndarray]) -> np.ndarray:
    return _root(np.mean(np.stack(squares), axis=0))


def _tracked(acc: list[np.ndarray], start: Instant, end: Instant, options: Options) -> np.ndarray:
    wanted = [x for point in _points(options) for x in point]
    squares = [(value - x) ** 2 for value, x in zip(acc, wanted, strict=True)]
    points = len(options["times"])
    return _root(np.sum(np.stack(squares), axis=0) / points)


POINTS = Option("points of the target curve [unit of the expression]", kind="point list")
METRICS: Registry[MetricKind] = Registry(
    "metric",
    {
        "final": MetricKind(
            begin=lambda start, _: [],
            update=lambda acc, now, before, _: [],
            value=lambda acc, start, end, _: np.array(end.value[0], copy=True),
            meaning="the value at the end",
            of_an_instant=True,
        ),
        "minimum": MetricKind(
            begin=lambda start, _: [_first(start)],
            update=lambda acc, now, before, _: [_smaller(acc[0], now.value[0])],
            value=lambda acc, start, end, _: acc[0],
            meaning="the smallest value",
        ),
        "maximum": MetricKind(
            begin=lambda start, _: [_first(start)],
            update=lambda acc, now, before, _: [larger(acc[0], now.value[0])],
            value=lambda acc, start, end, _: acc[0],
            meaning="the largest value",
        ),
        "peak_to_peak": MetricKind(
            begin=lambda start, _: [_first(start), _first(start)],
            update=lambda acc, now, before, _: [_smaller(acc[0], now.value[0]), larger(acc[1], now.value[0])],
            value=lambda acc, start, end, _: acc[1] - acc[0],
            meaning="the largest less the smallest value",
        ),
        "integral": MetricKind(
            begin=_empty,
            update=_area,
            value=lambda acc, start, end, _: acc[0],
            unit=_times_seconds,
            meaning="the integral over time",
        ),
        "mean": MetricKind(
            begin=_empty,
            update=_area,
            value=lambda acc, start, end, _: _mean(acc[0], start, end),
            meaning="the mean over time",
        ),
        "rms": MetricKind(
            begin=_empty,
            update=_square,
            value=lambda acc, start, end, _: _root(_mean(acc[0], start, end)),
            meaning="the root of the mean square over time",
        ),
        "time_of_minimum": _extreme("smallest"),
        "time_of_maximum": _extreme("largest"),
        "first_crossing": MetricKind(
            begin=lambda start, _: [_none(start)],
            update=_crossing,
            value=lambda acc, start, end, _: acc[0],
            unit=lambda _: "s",
            options=(
                ("level", Option("that is crossed [unit of the expression]", 0.0)),
                ("direction", Option("of the crossing", "any", "word", ("any", "up", "down"))),
            ),
            meaning="when a level is crossed first; not a number where it never is",
        ),
        "sign_changes": MetricKind(
            begin=lambda start, _: [np.zeros(np.shape(start.t))],
            update=_sign_changes,
            value=lambda acc, start, end, _: acc[0],
            unit=lambda _: "1",
            meaning="how often the sign changes from the end of one step to the next",
        ),
        "settling_time": MetricKind(
            begin=lambda start, _: [np.array(start.t, copy=True)],
            update=_settling,
            value=_settled,
            unit=lambda _: "s",
            options=(
                ("target", Option("middle of the band [unit of the expression]")),
                ("within", Option("half its width [unit of the expression]")),
            ),
            meaning="when the value enters a band that it does not leave again; not a number where it ends outside",
        ),
        "value_at": MetricKind(
            begin=lambda start, options: _begin_values([options["time"]], start),
            update=lambda acc, now, before, options: _values_at([options["time"]], acc, now, before),
            value=lambda acc, start, end, _: acc[0],
            options=(("time", Option("[s]")),),
            meaning="the value at a time",
        ),
        "path_distance": MetricKind(
            begin=_begin_nearest,
            update=_nearest,
            value=lambda acc, start, end, _: _root_mean(acc),
            options=(("points", POINTS),),
            vector=True,
            meaning="the root of the mean square distance of the points of a target curve from the path",
        ),
        "tracking_error": MetricKind(
            begin=lambda start, options: _begin_values([*options["times"]], start),
            update=lambda acc, now, before, options: _values_at([*options["times"]], acc, now, before),
            value=_tracked,
            options=(("times", Option("at which the points are due [s]", kind="point list")), ("points", POINTS)),
            vector=True,
            meaning="the root of the mean square distance from target points at their times",
        ),
    },
)

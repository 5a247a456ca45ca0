"""Metrics: figures of a run over all its accepted steps, such as `rms(tip.velocity[0])`. A new one is an entry here.

What a metric makes of a step follows from its `Interval`. In a step of fixed size an expression is straight: integrals
follow the trapezoidal rule, crossings linear interpolation, both with errors of the order of the step squared; extremes
are those of cubics (`extremes`). In one that a tolerance chose it is a curve. Integrals are summed with compensation
(Kahan, Pracniques: Further remarks on reducing truncation errors, CACM 8, 1965).
"""

from __future__ import annotations

import numpy as np

from shiftjax.algebra import Scalar, Vec, minus, norm_squared, select
from shiftjax.measures.expression_units import MIXED
from shiftjax.measures.extremes import EXTREMES, TIMES
from shiftjax.measures.interval import Instant, Interval, moving, smaller
from shiftjax.measures.metric import MetricKind, Option, Options
from shiftjax.registry import Registry

LARGE = 1e38  # in both precisions; a larger sum of squares goes on without compensation
NEVER = 1e30  # s; above it a time is not a time, in both precisions


def _none(start: Instant) -> np.ndarray:
    return np.full(np.shape(start.t), np.nan)


def _first(start: Instant) -> np.ndarray:
    return np.array(start.value[0], copy=True)


def _added(accumulators: Vec, term: Scalar) -> Vec:
    """A compensated sum: the sum, and what rounding has taken from it."""
    total, lost = accumulators
    term = term - lost
    fresh = total + term
    return [fresh, fresh - total - term]


def _value(value: Vec) -> Scalar:
    return value[0]


def _area(accumulators: Vec, interval: Interval, _: Options) -> Vec:
    return _added(accumulators, interval.integral(_value))


def _square_of(value: Vec) -> Scalar:
    return value[0] * value[0]


def _square(accumulators: Vec, interval: Interval, _: Options) -> Vec:
    """Where it overflows the compensation would be infinity less infinity, and nothing would tell what happened."""
    squares, lost = _added(accumulators, interval.integral(_square_of))
    return [squares, select(squares < LARGE, lost, 0.0)]


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


def _crossing(accumulators: Vec, interval: Interval, options: Options) -> Vec:
    level, (first, *_) = options["level"], accumulators
    for k, (before, now) in enumerate(interval.pairs()):
        a, b = before.value[0] - level, now.value[0] - level
        at = interval.passed(k, a / moving(a - b), level, select(a < 0.0, 1.0, -1.0))
        up = select(a < 0.0, select(b < 0.0, first, _unless_found(first, at)), first)
        down = select(0.0 < a, select(0.0 < b, first, _unless_found(first, at)), first)
        either = options["direction"] == "any"
        first = select(a < 0.0, up, down) if either else up if options["direction"] == "up" else down
    return [first]


def _sign_changes(accumulators: Vec, interval: Interval, _: Options) -> Vec:
    """A value that reaches 0 has crossed it; one that leaves it has not, so that no crossing counts twice."""
    count = accumulators[0]
    for before, now in interval.pairs():
        a, b = before.value[0], now.value[0]
        up = select(a < 0.0, select(b < 0.0, 0.0, 1.0), 0.0)
        down = select(0.0 < a, select(0.0 < b, 0.0, 1.0), 0.0)
        count = count + (up + down)
    return [count]


def _passings(accumulators: Vec, interval: Interval, options: Options) -> Vec:
    """The times of the first passings, the last of them first, and how many there were."""
    level, (*latest, count) = options["level"], accumulators
    times = latest[::-1]
    for k, (before, now) in enumerate(interval.pairs()):
        a, b = before.value[0] - level, now.value[0] - level
        known = select(abs(b) < NEVER, 1.0, 0.0)  # what is not a number from there on has passed nothing
        up = select(a < 0.0, select(b < 0.0, 0.0, known), 0.0)
        down = select(0.0 < a, select(0.0 < b, 0.0, known), 0.0)
        passed = {"up": up, "down": down, "any": up + down}[options["direction"]]
        if times:
            at = interval.passed(k, a / moving(a - b), level, select(a < 0.0, 1.0, -1.0))
        for number, time in enumerate(times):
            here = select(abs(count - float(number)) < 0.5, passed, 0.0)
            times[number] = select(0.5 < here, at, time)
        count = count + passed
    return [*times[::-1], count]


def _passing_kind(meaning: str, *, counts: bool) -> MetricKind:
    """Of how often a level is passed, or of when it is for a number of times."""
    options = (
        ("level", Option("that is passed [unit of the expression]", 0.0)),
        ("direction", Option("in which it is", "any", "word", ("any", "up", "down"))),
    )
    if counts:
        return MetricKind(
            begin=lambda start, _: [np.zeros(np.shape(start.t))],
            update=_passings,
            value=lambda acc, start, end, _: acc[0],
            unit=lambda _: "1",
            options=options,
            past_jumps=True,
            dense=True,
            meaning=meaning,
        )
    return MetricKind(
        begin=lambda start, o: [*(_none(start) for _ in range(round(o["number"]))), np.zeros(np.shape(start.t))],
        update=_passings,
        value=lambda acc, start, end, _: acc[0],
        unit=lambda _: "s",
        options=(*options, ("number", Option("of the passing, 1 for the first", 1.0, "count"))),
        level=lambda o: o["level"],
        dense=True,
        meaning=meaning,
    )


def _unless_found(first: Scalar, at: Scalar) -> Scalar:
    """The first of two times, of which the earlier may be none (not a number)."""
    return select(first < NEVER, first, at)


def _settling(accumulators: Vec, interval: Interval, options: Options) -> Vec:
    """The last instant at which the value enters the band; now, as long as it is outside."""
    target, within, last = options["target"], options["within"], accumulators[0]
    for k, (before, now) in enumerate(interval.pairs()):
        a, b = (abs(instant.value[0] - target) for instant in (before, now))
        edge = select(before.value[0] < target, target - within, target + within)
        entered = interval.reached(k, (a - within) / moving(a - b), edge)
        last = select(within < b, now.t, select(within < a, entered, last))
    return [last]


def _settled(acc: list[np.ndarray], start: Instant, end: Instant, options: Options) -> np.ndarray:
    outside = np.abs(end.value[0] - options["target"]) > options["within"]
    return np.where(outside, np.nan, acc[0])


def _values_at(times: list[float], accumulators: Vec, interval: Interval) -> Vec:
    """The values at some times, all numbers of the first time first; exact where a step ends there."""
    count, values = len(interval.end.value), []
    for k, time in enumerate(times):
        passed, ahead = interval.begin.t < time, interval.end.t < time
        for old, between in zip(accumulators[k * count :], interval.at(time), strict=False):
            values.append(select(passed, select(ahead, old, between), old))
    return values


def _begin_values(times: list[float], start: Instant) -> list[np.ndarray]:
    """The values at those times that the start has passed."""
    return [np.where(start.t >= time, value, np.nan) for time in times for value in start.value]


def _points(options: Options) -> list[tuple[float, ...]]:
    return [tuple(point) if isinstance(point, tuple) else (point,) for point in options["points"]]


def _nearest(accumulators: Vec, interval: Interval, options: Options) -> Vec:
    """Squared distances of the target points to the path so far."""
    points = zip(_points(options), accumulators, strict=True)
    return [smaller(old, interval.nearest(list(point))) for point, old in points]


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
            update=lambda acc, interval, _: [],
            value=lambda acc, start, end, _: np.array(end.value[0], copy=True),
            meaning="the value at the end",
            of_an_instant=True,
            past_jumps=True,
        ),
        **EXTREMES,
        "integral": MetricKind(
            begin=_empty,
            update=_area,
            density=_value,
            value=lambda acc, start, end, _: acc[0],
            unit=_times_seconds,
            meaning="the integral over time",
        ),
        "mean": MetricKind(
            begin=_empty,
            update=_area,
            density=_value,
            value=lambda acc, start, end, _: _mean(acc[0], start, end),
            meaning="the mean over time",
        ),
        "rms": MetricKind(
            begin=_empty,
            update=_square,
            density=_square_of,
            value=lambda acc, start, end, _: _root(_mean(acc[0], start, end)),
            meaning="the root of the mean square over time; infinite where squares overflow, of 1e154, in f32 1e19",
        ),
        **TIMES,
        "first_crossing": MetricKind(
            begin=lambda start, _: [_none(start)],
            update=_crossing,
            value=lambda acc, start, end, _: acc[0],
            unit=lambda _: "s",
            options=(
                ("level", Option("that is crossed [unit of the expression]", 0.0)),
                ("direction", Option("of the crossing", "any", "word", ("any", "up", "down"))),
            ),
            level=lambda options: options["level"],
            meaning="when a level is crossed first; not a number where it never is",
        ),
        "sign_changes": MetricKind(
            begin=lambda start, _: [np.zeros(np.shape(start.t))],
            update=_sign_changes,
            value=lambda acc, start, end, _: acc[0],
            unit=lambda _: "1",
            past_jumps=True,
            meaning="how often the sign changes from the end of one step to the next",
        ),
        "passing_time": _passing_kind(
            "when a level is passed for a number of times, within the step; not a number where it never is",
            counts=False,
        ),
        "passings": _passing_kind("how often a level is passed, also within a step", counts=True),
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
            update=lambda acc, interval, options: _values_at([options["time"]], acc, interval),
            value=lambda acc, start, end, _: acc[0],
            options=(("time", Option("[s]")),),
            past_jumps=True,
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
            update=lambda acc, interval, options: _values_at([*options["times"]], acc, interval),
            value=_tracked,
            options=(("times", Option("at which the points are due [s]", kind="point list")), ("points", POINTS)),
            vector=True,
            past_jumps=True,
            meaning="the root of the mean square distance from target points at their times",
        ),
    },
)

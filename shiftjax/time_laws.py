"""Laws in time with numbers of a model: constant, of constant rate, harmonic, polynomial, a table.

A driver prescribes a coordinate by one of them, a load a force or torque. Their numbers are fields: constants of the
program, or lane values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, cos, floor, sin
from shiftjax.field import Field, Role, number
from shiftjax.splines import Derivatives, Piece, cubic, end_of, evaluated, straight

MAX_TIMES = 1000  # of a table: constants compile in 5 s for 200 knots and in 22 s for 1000, varied values in 14 and 71
OUTSIDE = Field(
    "outside", "before and after the table: refused, its end held, the line of its end, or the table once more",
    "choice", default="refuse", choices=("refuse", "hold", "linear", "repeat"),
)  # fmt: skip
INTERPOLATION = Field(
    "interpolation", "a cubic spline, or straight lines", "choice", default="cubic", choices=("cubic", "linear")
)
TIMES = Field("times", "of the knots, rising", "numbers", Role.NUMBER, "s", required=True, rising=True)


class Law:
    """A law in time.

    Attributes:
        words: its fields that hold words.
    """

    words: tuple[Field, ...] = ()

    def fields(self, unit: str) -> tuple[Field, ...]:
        """Its numbers, for values of a unit."""
        raise NotImplementedError

    def at(self, n: Mapping[str, Any], t: Scalar) -> Derivatives:
        """Value, first and second derivative; lane code.

        Args:
            n: its numbers and words.
        """
        raise NotImplementedError

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        """What its numbers together must not be, as of `ForceKind.faults`."""
        return {}


class Constant(Law):
    """f = value."""

    def fields(self, unit: str) -> tuple[Field, ...]:
        return (number("load", unit, "the value"),)

    def at(self, n: Mapping[str, Any], t: Scalar) -> Derivatives:
        return n["load"], 0.0, 0.0


class ConstantRate(Law):
    """f = offset + speed t."""

    def fields(self, unit: str) -> tuple[Field, ...]:
        return (number("speed", f"{unit}/s", "the rate"), _start(unit))

    def at(self, n: Mapping[str, Any], t: Scalar) -> Derivatives:
        return n["offset"] + n["speed"] * t, n["speed"], 0.0


class Harmonic(Law):
    """f = offset + rate t + amplitude sin(frequency t + phase)."""

    def __init__(self, *, from_start: bool) -> None:
        self.from_start = from_start

    def fields(self, unit: str) -> tuple[Field, ...]:
        return (
            number("amplitude", unit, "of the sine"),
            number("frequency", "rad/s", "angular frequency of the sine"),
            number("phase", "rad", "of the sine at time 0", default=0.0),
            _start(unit) if self.from_start else number("offset", unit, "value about which it swings", default=0.0),
            number("rate", f"{unit}/s", "by which that value grows", default=0.0),
        )

    def at(self, n: Mapping[str, Any], t: Scalar) -> Derivatives:
        amplitude, frequency = n["amplitude"], n["frequency"]
        angle = frequency * t + n["phase"]
        sine, cosine = amplitude * sin(angle), amplitude * frequency * cos(angle)
        value = n["offset"] + n["rate"] * t + sine
        return value, n["rate"] + cosine, -(amplitude * (frequency * frequency)) * sin(angle)


class Polynomial(Law):
    """f = c_0 + c_1 (t - origin) + c_2 (t - origin)^2 + ..."""

    def fields(self, unit: str) -> tuple[Field, ...]:
        doc = "c_k of c_0 + c_1 t + c_2 t^2 + ..., t from the origin"
        return (
            Field("coefficients", doc, "ascending", Role.NUMBER, f"{unit}/s^k", required=True),
            number("origin", "s", "time from which t counts", default=0.0),
        )

    def at(self, n: Mapping[str, Any], t: Scalar) -> Derivatives:
        value: Scalar = 0.0
        rate: Scalar = 0.0
        half: Scalar = 0.0  # of the second derivative
        t = t - n["origin"]
        for c in reversed(n["coefficients"]):  # Horner, with derivatives (Knuth, section 4.6.4)
            half, rate, value = half * t + rate, rate * t + value, value * t + c
        return value, rate, 2.0 * half

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return {"no coefficient": not len(n["coefficients"])}


class Table(Law):
    """Values at times, with a cubic spline between them; of a load straight lines, too.

    A driver that holds its end stands still there: its rates at the ends are zero.
    """

    def __init__(self, *, of_load: bool) -> None:
        self.of_load = of_load
        self.words = (OUTSIDE, INTERPOLATION) if of_load else (OUTSIDE,)

    def fields(self, unit: str) -> tuple[Field, ...]:
        doc = "at the {} time; left out, the second derivative is zero there"
        return (
            TIMES,
            Field("values", "at the times", "numbers", Role.NUMBER, unit, required=True),
            Field("first_rate", f"derivative {doc.format('first')}", "number", Role.NUMBER, f"{unit}/s"),
            Field("last_rate", f"derivative {doc.format('last')}", "number", Role.NUMBER, f"{unit}/s"),
        )

    def at(self, n: Mapping[str, Any], t: Scalar) -> Derivatives:
        ends = [n.get(name) for name in ("first_rate", "last_rate")]
        if n["outside"] == "hold" and not self.of_load:
            ends = [0.0 if rate is None else rate for rate in ends]
        return tabulated(n, n["values"], t, *ends)

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        rates = any(n.get(name) is not None for name in ("first_rate", "last_rate"))
        straight_lines = n.get("interpolation") == "linear"
        return faults_of_table(n, values=n["values"]) | {
            "a rate at the end of a table that repeats": rates and n["outside"] == "repeat",
            "a rate at the end of straight lines": rates and straight_lines,
            "a rate at the end of a table that holds its end": rates and n["outside"] == "hold" and not self.of_load,
        }


class AccelerationTable(Law):
    """The second integral of accelerations at times, with straight lines between them."""

    words = (
        Field("outside", "before and after the table: refused, or the acceleration of its end goes on", "choice",
              default="refuse", choices=("refuse", "hold")),
    )  # fmt: skip

    def fields(self, unit: str) -> tuple[Field, ...]:
        return (
            TIMES,
            Field("accelerations", "at the times", "numbers", Role.NUMBER, f"{unit}/s^2", required=True),
            number("speed", f"{unit}/s", "at time 0", default=0.0),
            _start(unit),
        )

    def at(self, n: Mapping[str, Any], t: Scalar) -> Derivatives:
        pieces = _twice_integrated(n["times"], n["accelerations"])
        knots = list(n["times"][1:-1]) if n["outside"] == "refuse" else list(n["times"])
        if n["outside"] == "hold":
            ends: list[Piece] = []
            for k, piece in ((0, pieces[0]), (-1, pieces[-1])):
                place, speed = end_of(piece, n["times"][k])
                ends.append([n["times"][k], place, speed, 0.5 * n["accelerations"][k], 0.0])
            pieces = [ends[0], *pieces, ends[1]]
        place, speed, acceleration = evaluated(knots, pieces, t)
        first_place, first_speed, _ = evaluated(knots, pieces, 0.0)
        speed = n["speed"] + (speed - first_speed)
        return n["offset"] + (n["speed"] - first_speed) * t + (place - first_place), speed, acceleration

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return faults_of_table(n, accelerations=n["accelerations"])


def _twice_integrated(times: Sequence[Scalar], accelerations: Sequence[Scalar]) -> list[Piece]:
    """Places of straight lines of acceleration, from rest at 0 at the first time."""
    pieces: list[Piece] = []
    place: Scalar = 0.0
    speed: Scalar = 0.0
    for start, acceleration, jerk, _, _ in straight(times, accelerations):
        piece = [start, place, speed, 0.5 * acceleration, 1.0 / 6.0 * jerk]
        place, speed = end_of(piece, times[len(pieces) + 1])
        pieces.append(piece)
    return pieces


def tabulated(
    n: Mapping[str, Any],
    values: Sequence[Scalar],
    t: Scalar,
    first_rate: Scalar | None = None,
    last_rate: Scalar | None = None,
    sign: Scalar | None = None,
) -> Derivatives:
    """One column of a table at a time, with what it says of times outside; lane code.

    Args:
        n: its times and words. values: (n,) of the column. sign: of a column that repeats, 1 or -1: its last value is
            the first times that, of which any power may stand before what is returned; None where it is moved by what
            it gained.
    """
    times, outside = n["times"], n["outside"]
    repeats = outside == "repeat"
    gain: Scalar = 0.0
    if repeats:
        period = times[-1] - times[0]
        turns = floor((t - times[0]) / period)
        gain, t = 0.0 if sign is not None else turns * (values[-1] - values[0]), t - turns * period
    if n.get("interpolation") == "linear":
        pieces = straight(times, values)
    else:
        pieces = cubic(
            times, values, first_rate, last_rate, periodic=(1.0 if sign is None else sign) if repeats else None
        )
    knots = list(times[1:-1])
    if outside in ("hold", "linear"):
        slopes = [end_of(pieces[0], times[0])[1], end_of(pieces[-1], times[-1])[1]]
        slopes = slopes if outside == "linear" else [0.0, 0.0]
        ends: list[Piece] = [[times[k], values[k], slopes[k], 0.0, 0.0] for k in (0, -1)]
        knots, pieces = list(times), [ends[0], *pieces, ends[1]]
    value, rate, second = evaluated(knots, pieces, t)
    return value + gain, rate, second


def faults_of_table(n: Mapping[str, Any], **columns: Sequence[Any]) -> dict[str, Any]:
    """What the times and columns of a table together must not be."""
    times = n["times"]
    lengths = {f"{len(column)} {name} for {len(times)} times": len(column) != len(times)
               for name, column in columns.items()}  # fmt: skip
    return {
        "fewer than two times": len(times) < 2,
        f"more than {MAX_TIMES} times": len(times) > MAX_TIMES,
        **lengths,
    }


def _start(unit: str) -> Field:
    doc = "value at time 0; left out, the joint's initial_displacement"
    return Field("offset", doc, "number", Role.NUMBER, unit)

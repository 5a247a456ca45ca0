"""Laws in time of the pose of one frame before another one: a place, and an orientation by a quaternion of any length.

Numbers are fields, as those of `time_laws`: constants of the program, or lane values. Lane code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.algebra import Scalar, Vec, dot, plus, scale, select, sin
from shiftjax.field import Field, Role, number
from shiftjax.lanes.outside import UserFunction
from shiftjax.rotations import quaternion_of_vector, quaternion_product
from shiftjax.splines import Derivatives
from shiftjax.time_laws import TIMES, Harmonic, Polynomial, faults_of_table, tabulated

Derived = tuple[Vec, Vec, Vec]  # a vector, and its first and second derivatives in time
ZERO = (0.0, 0.0, 0.0)
OUTSIDE = Field("outside", "before and after the table: refused, its end held, at rest, or the table once more",
                "choice", default="refuse", choices=("refuse", "hold", "repeat"))  # fmt: skip
MEET = 1e-6  # rad, or parts of how far places go: ends of a table that repeats, in files of seven digits


def _vector(name: str, unit: str, doc: str) -> Field:
    return Field(name, doc, "vector", Role.NUMBER, unit, ZERO)


class PoseLaw:
    """A motion of one frame before another one in time.

    Attributes:
        words: its fields that hold words. moves, turns: its numbers of places and of orientations. shared: of both.
    """

    words: tuple[Field, ...] = ()
    moves: tuple[Field, ...] = ()
    turns: tuple[Field, ...] = ()
    shared: tuple[Field, ...] = ()

    def place(self, n: Mapping[str, Any], t: Scalar) -> Derived:
        """Of the second frame's origin along the axes of the first [m, per second, per second squared]; lane code."""
        raise NotImplementedError

    def quaternion(self, n: Mapping[str, Any], t: Scalar) -> Derived:
        """Of the orientation, w first, of any length above 0; lane code."""
        raise NotImplementedError

    def orientation(self, n: Mapping[str, Any], t: Scalar) -> Vec:
        """That quaternion alone; lane code."""
        return self.quaternion(n, t)[0]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        """What its numbers together must not be, as of `ForceKind.faults`."""
        return {}


class TurnedPoseLaw(PoseLaw):
    """Orientations R exp(r(t)) of a rotation R, and a rotation vector r along the axes of what turns."""

    def turn(self, n: Mapping[str, Any], t: Scalar) -> Vec:
        """The rotation vector r [rad]; lane code."""
        raise NotImplementedError

    def orientation(self, n: Mapping[str, Any], t: Scalar) -> Vec:
        return quaternion_product(quaternion_of_vector(n["rotation"]), quaternion_of_vector(self.turn(n, t)))

    def quaternion(self, n: Mapping[str, Any], t: Scalar) -> Derived:
        parts = [UserFunction(lambda x, k=k: quaternion_of_vector(self.turn(n, x[0]))[k], 1) for k in range(4)]
        turned = (
            [f.value([t]) for f in parts],
            [f.slope([t], [1.0]) for f in parts],
            [f.bend([t], [1.0]) for f in parts],
        )
        start = quaternion_of_vector(n["rotation"])
        value, rate, second = (quaternion_product(start, components) for components in turned)
        return value, rate, second


class UniformPoseLaw(TurnedPoseLaw):
    """A constant acceleration; turned by R exp(w t + a t^2 / 2) of a rotation R, in the axes of what turns."""

    moves = (
        _vector("position", "m", "of the second frame's origin in the first, at the origin of time"),
        _vector("velocity", "m/s", "of it, then"),
        _vector("acceleration", "m/s^2", "of it, at all times"),
    )
    turns = (
        _vector("rotation", "rad", "rotation vector of the second frame in the first, at the origin of time"),
        _vector("angular_velocity", "rad/s", "then, in the axes of the second frame"),
        _vector("angular_acceleration", "rad/s^2", "then, in the axes of the second frame"),
    )
    shared = (number("origin", "s", "time from which t counts", default=0.0),)
    law = Polynomial()

    def place(self, n: Mapping[str, Any], t: Scalar) -> Derived:
        columns = zip(*(n[name] for name in ("position", "velocity", "acceleration")), strict=True)
        return _columns(self.law.at({"coefficients": (c, v, 0.5 * a), "origin": n["origin"]}, t) for c, v, a in columns)

    def turn(self, n: Mapping[str, Any], t: Scalar) -> Vec:
        t = t - n["origin"]
        return plus(scale(t, n["angular_velocity"]), scale(0.5 * (t * t), n["angular_acceleration"]))


class HarmonicPoseLaw(TurnedPoseLaw):
    """About a pose by sines of one frequency: position + amplitude sin, and R exp(amplitude sin) of a rotation R."""

    moves = (
        _vector("position", "m", "of the second frame's origin in the first, about which it swings"),
        _vector("position_amplitude", "m", "of the sine"),
    )
    turns = (
        _vector("rotation", "rad", "rotation vector of the second frame in the first, about which it swings"),
        _vector("rotation_amplitude", "rad", "of the sine, along the axes of that mean orientation"),
    )
    shared = (
        number("frequency", "rad/s", "angular frequency of the sine"),
        number("phase", "rad", "of the sine at time 0", default=0.0),
    )
    law = Harmonic(from_start=False)

    def place(self, n: Mapping[str, Any], t: Scalar) -> Derived:
        pairs = zip(n["position"], n["position_amplitude"], strict=True)
        return _columns(self.law.at({**n, "offset": mean, "rate": 0.0, "amplitude": size}, t) for mean, size in pairs)

    def turn(self, n: Mapping[str, Any], t: Scalar) -> Vec:
        return scale(sin(n["frequency"] * t + n["phase"]), n["rotation_amplitude"])


class TabulatedPoseLaw(PoseLaw):
    """Poses at times, with cubic splines between: of places, and of quaternions that are then made units.

    Of the two quaternions of an orientation the one nearer to that before it is taken, so that rotation vectors may be
    given in any way; it goes the shorter way, and rows must be within half a turn of each other. A table that repeats
    ends where it began, with the rates and accelerations that it began with: its last row is taken for the first.
    """

    moves = (Field("positions", "of the second frame's origin in the first, at the times", "points", Role.NUMBER, "m",
                   required=True),)  # fmt: skip
    turns = (Field("rotations", "rotation vectors of the second frame in the first, at the times", "points",
                   Role.NUMBER, "rad", required=True),)  # fmt: skip
    shared, words = (TIMES,), (OUTSIDE,)

    def place(self, n: Mapping[str, Any], t: Scalar) -> Derived:
        rows = list(n["positions"])
        return self._splines(n, [*rows[:-1], rows[0]] if n["outside"] == "repeat" else rows, t, 1.0)

    def quaternion(self, n: Mapping[str, Any], t: Scalar) -> Derived:
        rows = [quaternion_of_vector(row) for row in n["rotations"]]
        for k in range(1, len(rows)):
            rows[k] = scale(select(dot(rows[k - 1], rows[k]) < 0.0, -1.0, 1.0), rows[k])
        if n["outside"] != "repeat":
            return self._splines(n, rows, t)
        sign = select(dot(rows[0], rows[-1]) < 0.0, -1.0, 1.0)  # -1 after an odd number of turns
        return self._splines(n, [*rows[:-1], scale(sign, rows[0])], t, sign)

    def _splines(
        self, n: Mapping[str, Any], rows: Sequence[Sequence[Scalar]], t: Scalar, sign: Scalar | None = None
    ) -> Derived:
        end = 0.0 if n["outside"] == "hold" else None  # it comes to rest where it is held
        return _columns(tabulated(n, column, t, end, end, sign) for column in zip(*rows, strict=True))

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        columns = {name: n[name] for name in ("positions", "rotations") if name in n}
        out = faults_of_table(n, **columns)
        if n["outside"] == "repeat" and all(len(rows) > 1 for rows in columns.values()):
            for name, rows in columns.items():
                out[f"last {name} other than the first, in a table that repeats"] = _ends_apart(name, rows)
        return out


def _ends_apart(name: str, rows: Sequence[Sequence[Any]]) -> Any:
    """Whether the last of some rows differs from the first, of each member."""
    if name == "rotations":
        first, last = quaternion_of_vector(rows[0]), quaternion_of_vector(rows[-1])
        return np.abs(dot(first, last)) < np.cos(0.5 * MEET)
    ways = [
        np.max(np.broadcast_arrays(*(abs(x - start) for x, start in zip(row, rows[0], strict=True))), axis=0)
        for row in rows
    ]
    return ways[-1] > MEET * np.max(np.broadcast_arrays(*ways), axis=0)


def _columns(components: Iterable[Derivatives]) -> Derived:
    value, rate, second = (list(column) for column in zip(*components, strict=True))
    return value, rate, second

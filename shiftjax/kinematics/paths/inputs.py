"""What drivers say along a path of poses: places, and rates by the parameter of the path.

Problem: each driven coordinate has a place at each of n poses, for all designs or for each; rates are by time where
times are given, by the driven coordinate itself where it is the only one, else from pose to pose. Between two poses
a driver moves along a straight line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from shiftjax.constraints import CONSTRAINTS, DriverByLaw, Polynomial
from shiftjax.constraints.drives import TYPES, Drive, type_of
from shiftjax.errors import ModelError, need_mapping, shown
from shiftjax.joints import KINDS
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.numerics.real_arrays import real_array
from shiftjax.run.start.driven.drives import begins

DEGREE = 3  # of the polynomial of a driver at a pose of an uneven path, for jerks; along an even one it is 2
COMPLEX_STEP = 1e-30  # s: nothing is subtracted, so that any small one will do
EVEN = 1e-12  # of the largest place: places that a straight line misses by rounding alone
ARRAYS = "an array with one value a pose, (n,) or (B, n); a tuple of places, speeds and accelerations of these shapes"
LAWS = "or, at `times`, a ConstantSpeed, Harmonic, Polynomial, Table or AccelerationTable"


@dataclass(frozen=True)
class Inputs:
    """Drivers along a path.

    Attributes:
        places, rates, bends, turns: coordinate -> (B, n) [rad or m] and their derivatives by the parameter; B is 1
            where all designs have the same. parameter: (n,) of the path; name, unit: of the parameter. even: whether
            one straight line a driver is the whole path, and the parameter rises evenly.
    """

    places: dict[str, np.ndarray]
    rates: dict[str, np.ndarray]
    bends: dict[str, np.ndarray]
    turns: dict[str, np.ndarray]
    parameter: np.ndarray
    name: str
    unit: str
    even: bool

    @property
    def count(self) -> int:
        """n."""
        return len(self.parameter)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Of the polynomial of a driver."""
        degree = 2 if self.even else DEGREE
        return (*(f"coefficients[{k}]" for k in range(degree + 1)), "origin")

    @property
    def step(self) -> float:
        """The parameter between two poses of an even path, else 1: from pose to pose."""
        return float(self.parameter[1] - self.parameter[0]) if self.even and self.count > 1 else 1.0

    @property
    def unit_of_rates(self) -> str:
        """What stands for the second in units of rates: "rad/s" is "rad/rad", or "rad/pose"."""
        return "pose" if self.unit == "1" else self.unit

    def change_place(self, path: str, members: int, member: int, pose: int, place: float) -> None:
        """Gives one of B members another place at a pose."""
        places = self.places[path]
        self.places[path] = places if len(places) > 1 else np.repeat(places, members, axis=0)
        self.places[path][member, pose] = place

    def texts(self) -> dict[str, str]:
        """What the drivers do, in words."""
        return {
            path: f"{x.shape[1]} places from {x[:, 0].min():g} to {x[:, -1].max():g}" for path, x in self.places.items()
        }

    def line(self, k: int) -> dict[str, np.ndarray]:
        """Coordinate -> (coefficients, B) of its way from pose k - 1 to pose k, by the parameter before pose k.

        The path itself from pose 0 on where k is 0: a straight line of an even one, else its first place.
        """
        out: dict[str, np.ndarray] = {}
        for name, place in self.places.items():
            out[name] = np.zeros((len(self.numbers) - 1, len(place)))
            out[name][0] = place[:, k]
            if k == 0 and self.even:
                out[name][1] = self.rates[name][:, 0]
            elif k:
                out[name][1] = place[:, k] - place[:, k - 1]
        return out

    def at_pose(self, k: int) -> dict[str, np.ndarray]:
        """Coordinate -> (coefficients, B) that have the rates of pose k, at its own parameter."""
        out = self.line(k)
        for name, polynomial in out.items():
            polynomial[1], polynomial[2] = self.rates[name][:, k], 0.5 * self.bends[name][:, k]
            polynomial[3:] = self.turns[name][:, k] / 6.0
        return out


def inputs_of(model: Model, drive: Mapping[str, Any], times: Any) -> Inputs:
    """What a call says of its drivers.

    Raises:
        ModelError: no driver; one that is no motion, or of no joint; arrays of several lengths; times that do not rise.
    """
    need_mapping("drive", drive)
    if not drive:
        raise ModelError("drive", "no driven joint", "a dict of joint -> places, one a pose", "Give at least one.")
    seconds = None if times is None else _times(times)
    given: dict[str, tuple[np.ndarray, ...]] = {}
    for name, motion in drive.items():
        path, where = plain_coordinate(model, name, "drive"), f"drive {name}"
        if path in given:
            raise ModelError(where, f"two motions of {path}", "one a joint", "Leave one of them out.")
        law = isinstance(motion, tuple(TYPES.values()))
        given[path] = _of_law(model, path, motion, seconds, where) if law else _of_arrays(motion, where)
    _refuse_lengths(given, seconds)
    n = next(iter(given.values()))[0].shape[1]
    alone = next(iter(given)) if len(given) == 1 and seconds is None else None
    numbered = np.arange(n, dtype=float)
    parameter, name, unit = numbered, "pose", "1"
    if seconds is not None:
        parameter, name, unit = seconds, "time", "s"
    elif alone is not None and len(given[alone][0]) == 1:
        parameter, name, unit = given[alone][0][0], f"{alone}.q", units_of(model)[alone]
    return _with_rates(given, parameter, name, unit)


def units_of(model: Model) -> dict[str, str]:
    """Coordinate -> rad or m, of joints whose coordinates can be driven."""
    out: dict[str, str] = {}
    for path, joint in model.joints():
        kind = KINDS[joint.type]
        out |= {kind.path_of(path, k): one.unit for k, one in enumerate(kind.coordinates)}
    return out


def _times(times: Any) -> np.ndarray:
    seconds = real_array(times)
    if seconds is None or seconds.ndim != 1 or not np.isfinite(seconds).all() or not (np.diff(seconds) > 0.0).all():
        raise ModelError("times", shown(times), "finite seconds that rise, one a pose", "Give (n,) of them.")
    return seconds


def _of_arrays(motion: Any, where: str) -> tuple[np.ndarray, ...]:
    """(B, n) places, or places, rates and bends."""
    group = motion if isinstance(motion, tuple) and len(motion) == 3 and all(map(np.ndim, motion)) else (motion,)
    arrays: list[np.ndarray] = []
    for one in group:
        array = real_array(one)
        if array is None or array.ndim not in (1, 2) or not array.size:
            raise ModelError(where, shown(one), f"{ARRAYS}; {LAWS}", "Give one of them, as np.linspace(0, 6.28, 100).")
        arrays.append(np.atleast_2d(array))
    if len({array.shape for array in arrays}) > 1:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ModelError(
            where, f"shapes {shapes}", "the same shape for places, speeds and accelerations", "Match them."
        )
    return tuple(arrays)


def _of_law(model: Model, path: str, motion: Drive, seconds: np.ndarray | None, where: str) -> tuple[np.ndarray, ...]:
    """(B, n) places, rates, bends and third derivatives of a law in time."""
    if seconds is None:
        raise ModelError(where, f"a {type(motion).__name__} without times", "times=, (n,) seconds", "Give them, too.")
    kind = CONSTRAINTS[type_of(motion)]
    assert isinstance(kind, DriverByLaw)
    joint, coordinate = split(path)
    numbers: dict[str, Any] = {field.name: _numbers(getattr(motion, field.name)) for field in kind.numbers()}
    numbers |= {field.name: getattr(motion, field.name) for field in kind.words}
    if numbers.get("offset", 0.0) is None:
        numbers["offset"] = begins(dict(model.joints())[joint], coordinate)
    return tuple(np.moveaxis(np.array([_at(kind, numbers, t) for t in seconds]), 0, -1))


def _numbers(given: Any) -> Any:
    """A number of a law, or (B,) of them, as an array; lists of such as lists."""
    if given is None or np.ndim(np.asarray(given, dtype=object)) == 0:
        return given
    return [np.asarray(one, float) for one in given] if _ragged(given) else np.asarray(given, float)


def _ragged(given: Any) -> bool:
    """Whether a list has entries of several shapes, some of which are arrays."""
    return any(np.ndim(one) for one in given)


def _at(kind: DriverByLaw, numbers: Mapping[str, Any], t: float) -> np.ndarray:
    """(4, B) place and rates of a law whose numbers may be (B,); the third one by a complex step, exact to rounding."""
    place, rate, bend = kind.law.at(numbers, np.complex128(complex(t, COMPLEX_STEP)))
    turn = np.imag(bend) / COMPLEX_STEP
    return np.atleast_2d(np.array(np.broadcast_arrays(*map(np.real, (place, rate, bend)), turn)).T).T


def _refuse_lengths(given: Mapping[str, tuple[np.ndarray, ...]], seconds: np.ndarray | None) -> None:
    lengths = {name: arrays[0].shape[1] for name, arrays in given.items()}
    lengths |= {} if seconds is None else {"times": len(seconds)}
    if len(set(lengths.values())) > 1:
        raise ModelError("drive", f"lengths {lengths}", "as many places as poses", "Give all arrays one value a pose.")
    for name, arrays in given.items():
        if not np.isfinite(arrays).all():
            raise ModelError(f"drive {name}", "a place or rate that is no number", "finite numbers", "Correct it.")


def _with_rates(given: Mapping[str, tuple[np.ndarray, ...]], parameter: np.ndarray, name: str, unit: str) -> Inputs:
    """The inputs: rates that are not given are those of a spline through the places, by the parameter."""
    steps = np.diff(parameter)
    regular = len(steps) > 0 and steps[0] != 0.0 and bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0.0))
    straight = all(len(arrays) == 1 and _straight(arrays[0]) for arrays in given.values())
    even = regular and straight
    rates: dict[str, np.ndarray] = {}
    bends: dict[str, np.ndarray] = {}
    turns: dict[str, np.ndarray] = {}
    for path, arrays in given.items():
        place, stated = arrays[0], arrays[1:]
        alone = name == f"{path}.q"
        if stated:
            rates[path], bends[path] = stated[0], stated[1]
        elif alone:
            rates[path], bends[path] = np.ones_like(place), np.zeros_like(place)
        else:
            rates[path], bends[path] = _spline(parameter, place)
        of_law = stated[2:]
        turns[path] = of_law[0] if of_law else 0.0 * place if alone else _spline(parameter, bends[path])[0]
    return Inputs({path: arrays[0] for path, arrays in given.items()}, rates, bends, turns, parameter, name, unit, even)


def _straight(places: np.ndarray) -> bool:
    """Whether (B, n) places are those of straight lines."""
    n = places.shape[1]
    if n == 1:
        return True
    line = places[:, :1] + np.arange(n) * ((places[:, -1:] - places[:, :1]) / (n - 1))
    return bool((np.abs(line - places) <= EVEN * np.abs(places).max()).all())


def _spline(parameter: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivatives (B, n) of the cubic splines through places; of two poses of the line."""
    if places.shape[1] == 1:
        return np.zeros_like(places), np.zeros_like(places)
    spline = CubicSpline(parameter, places, axis=1)
    return spline(parameter, 1), spline(parameter, 2)


def as_drives(inputs: Inputs, members: int) -> dict[str, Polynomial]:
    """The drivers at the first pose, their numbers one a member."""

    def whole(values: np.ndarray) -> np.ndarray:
        return np.broadcast_to(values, members).copy()

    return {path: Polynomial([whole(row) for row in line], whole(np.zeros(1))) for path, line in inputs.line(0).items()}

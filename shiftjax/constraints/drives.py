"""Drives as Python writes them: one record for every type of driver in files, with the same numbers.

A number may be a (B,) array, one value a member of an ensemble.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, one_of, refuse_traced, shown
from shiftjax.record import record
from shiftjax.time_laws import OUTSIDE

Number = float | np.ndarray  # () for all members, or (B,) one a member
Numbers = Sequence[Number] | np.ndarray  # (n,), or (n, B)
NO_LISTS = (str, bytes, bytearray, Mapping, Set)  # of things that have a length


def number_of(given: Any, where: str) -> float | np.ndarray:
    """A finite float, or (B,) of floats; what is not finite in an array ends a member by itself."""
    key = where.rpartition(".")[2]
    refuse_traced(where, given, f"Write a known one, and use vary={{'JOINT_drive.{key}': values}} of `simulate`.")
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, MemoryError):  # rows of several lengths; `range(10**12)`
        array = np.asarray(None)
    real = array.dtype.kind in "iuf"
    if not real or array.ndim > 1 or not array.size or (array.ndim == 0 and not np.isfinite(array)):
        fault = f"shape {array.shape}" if real and isinstance(given, np.ndarray) else shown(given)
        raise ModelError(where, fault, "a finite number, or (B,) of them, one a member", "Give one.")
    return array.astype(float) if array.ndim else float(array)


def rows_of(given: Any, where: str) -> list[Any]:
    """The entries of a list of numbers, each of which may be an array."""
    key = where.rpartition(".")[2]
    refuse_traced(where, given, f"Write known ones, and use vary={{'JOINT_drive.{key}[k]': values}} of `simulate`.")
    try:
        rows = None if isinstance(given, NO_LISTS) or not hasattr(given, "__len__") else list(given)
    except (TypeError, MemoryError):  # an array without dimensions; `range(10**12)`
        rows = None
    if rows is None:
        raise ModelError(where, shown(given), "a list of numbers", "Give one.")
    return rows


def _check(motion: Drive) -> None:
    """Raises where a field is of a wrong kind; None stands only where it is the default."""
    for field in fields(motion):
        given, where = getattr(motion, field.name), f"{type(motion).__name__}.{field.name}"
        if field.name == OUTSIDE.name:
            one_of(where, given, ("refuse", "hold") if isinstance(motion, AccelerationTable) else OUTSIDE.choices)
        elif field.name in LISTS:
            for k, row in enumerate(rows_of(given, where)):
                number_of(row, f"{where}[{k}]")
        elif given is not None or field.default is not None:
            number_of(given, where)


@record
class ConstantSpeed:
    """f(t) = offset + speed t, in rad or m, per second.

    Attributes:
        speed: of the joint.
        offset: at time 0; the joint's `initial_displacement` where None.
    """

    speed: Number
    offset: Number | None = None

    def __post_init__(self) -> None:
        _check(self)


@record
class Harmonic:
    """f(t) = offset + rate t + amplitude sin(frequency t + phase), in rad or m, rad/s.

    Attributes:
        offset: about which it swings; the joint's `initial_displacement` where None.
        rate: by which the offset grows. amplitude, frequency, phase: of the sine; frequency in rad/s, phase in rad.
    """

    offset: Number | None = None
    rate: Number = 0.0
    amplitude: Number = 0.0
    frequency: Number = 0.0
    phase: Number = 0.0

    def __post_init__(self) -> None:
        _check(self)


@record
class Polynomial:
    """f(t) = c_0 + c_1 t + c_2 t^2 + ..., in rad or m, seconds.

    Attributes:
        coefficients: (n,) the constant first.
        origin: the time from which t counts [s].
    """

    coefficients: Numbers
    origin: Number = 0.0

    def __post_init__(self) -> None:
        _check(self)


@record
class Table:
    """A cubic spline through values at times, its second derivative continuous, in rad or m, seconds.

    Attributes:
        times: (n,) rising, the same for all members. values: (n,).
        first_rate, last_rate: derivatives at the ends; where None the second derivative is zero there.
        outside: what holds before and after the table: "refuse" (a run that leaves it is refused), "hold" (the end, at
            rest), "linear" (the line of the end), "repeat" (the table again, moved by what it gained).
    """

    times: Sequence[float] | np.ndarray
    values: Numbers
    first_rate: Number | None = None
    last_rate: Number | None = None
    outside: str = "refuse"

    def __post_init__(self) -> None:
        _check(self)


@record
class AccelerationTable:
    """Accelerations at times, with straight lines between: it is their second integral, in rad or m, seconds.

    Attributes:
        times: (n,) rising, the same for all members. accelerations: (n,).
        speed: at time 0. offset: at time 0; the joint's `initial_displacement` where None.
        outside: what holds before and after the table: "refuse" (a run that leaves it is refused), "hold" (the
            acceleration of the end goes on).
    """

    times: Sequence[float] | np.ndarray
    accelerations: Numbers
    speed: Number = 0.0
    offset: Number | None = None
    outside: str = "refuse"

    def __post_init__(self) -> None:
        _check(self)


TYPES = {
    "constant_speed": ConstantSpeed,
    "harmonic": Harmonic,
    "polynomial": Polynomial,
    "table": Table,
    "acceleration_table": AccelerationTable,
}
LISTS = ("coefficients", "times", "values", "accelerations")  # fields that hold a list of numbers
Drive = ConstantSpeed | Harmonic | Polynomial | Table | AccelerationTable


def type_of(motion: Drive) -> str:
    """The type of the driver that a file would state."""
    return next(name for name, record in TYPES.items() if isinstance(motion, record))

"""Drives as Python writes them: one record for every type of driver in files, with the same numbers.

A number may be a (B,) array, one value a member of an ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.record import record

Number = float | np.ndarray  # () for all members, or (B,) one a member
Numbers = Sequence[Number] | np.ndarray  # (n,), or (n, B)


@record
class ConstantSpeed:
    """f(t) = offset + speed t, in rad or m, per second.

    Attributes:
        speed: of the joint.
        offset: at time 0; the joint's `initial_displacement` where None.
    """

    speed: Number
    offset: Number | None = None


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


@record
class Polynomial:
    """f(t) = c_0 + c_1 t + c_2 t^2 + ..., in rad or m, seconds.

    Attributes:
        coefficients: (n,) the constant first.
    """

    coefficients: Numbers


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


TYPES = {"constant_speed": ConstantSpeed, "harmonic": Harmonic, "polynomial": Polynomial, "table": Table}
Drive = ConstantSpeed | Harmonic | Polynomial | Table

"""Motions of balls and floating bodies as Python writes them: one record for every law of a pose, with its numbers.

A number may be a (B,) array, one value a member of an ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from shiftjax.constraints.drives import TYPES, Number, Numbers, number_of, rows_of
from shiftjax.constraints.pose_laws import OUTSIDE
from shiftjax.errors import ModelError, one_of, refuse_traced, shown
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record
from shiftjax.rotations import normalized, vector_of_quaternion

Vector = Sequence[Number] | np.ndarray  # (3,), or (3, B)
STILL = (0.0, 0.0, 0.0)
NUMBERS = ("origin", "frequency", "phase")
ROWS = ("positions", "rotations")


@record
class PoseUniform:
    """A motion of constant acceleration: p + v t + a t^2 / 2, turned by R exp(w t + b t^2 / 2).

    Attributes:
        position, velocity, acceleration: (3,) of the child's frame along the axes of the parent's [m, per second, per
            second squared]; left out of a ball.
        rotation: (3,) rotation vector of the child's frame in the parent's at the origin of time [rad].
        angular_velocity, angular_acceleration: (3,) then, in the axes of the child's frame [rad/s, rad/s^2].
        origin: the time from which t counts [s].
    """

    position: Vector = STILL
    velocity: Vector = STILL
    acceleration: Vector = STILL
    rotation: Vector = STILL
    angular_velocity: Vector = STILL
    angular_acceleration: Vector = STILL
    origin: Number = 0.0

    def __post_init__(self) -> None:
        _check(self)


@record
class PoseHarmonic:
    """A motion about a pose by sines: position + amplitude sin(frequency t + phase), R exp(amplitude sin(...)).

    Attributes:
        frequency, phase: of the sine [rad/s, rad].
        position, position_amplitude: (3,) along the axes of the parent's frame [m]; left out of a ball.
        rotation: (3,) rotation vector of the mean orientation [rad]; rotation_amplitude: (3,) along its axes [rad].
    """

    frequency: Number
    phase: Number = 0.0
    position: Vector = STILL
    position_amplitude: Vector = STILL
    rotation: Vector = STILL
    rotation_amplitude: Vector = STILL

    def __post_init__(self) -> None:
        _check(self)


@record
class PoseTable:
    """A motion through poses at times by cubic splines, of places and of quaternions that are then made units.

    Attributes:
        times: (n,) rising [s].
        rotations: (n, 3) rotation vectors [rad], or (n, 4) quaternions, w first, of either sign and any length, of the
            child's frame in the parent's. Any of them names an orientation, not a way there: from one to the next it
            goes the shorter way, so that rows must be within half a turn of each other.
        positions: (n, 3) of the child's frame along the axes of the parent's [m]; None of a ball.
        outside: what holds before and after the table: "refuse" (a run that leaves it is refused), "hold" (the end, at
            rest), "repeat" (the table again; its last row is the first, to 1e-6 rad and of the way of places).
    """

    times: Sequence[float] | np.ndarray
    rotations: Sequence[Vector] | np.ndarray
    positions: Sequence[Vector] | np.ndarray | None = None
    outside: str = "refuse"

    def __post_init__(self) -> None:
        _check(self)


PoseDrive = PoseUniform | PoseHarmonic | PoseTable
POSE_TYPES = {"uniform": PoseUniform, "harmonic": PoseHarmonic, "table": PoseTable}
MOTIONS = {**TYPES, **{f"pose_{law}": motion for law, motion in POSE_TYPES.items()}}  # by the words of a text


def numbers_of_pose(motion: PoseDrive, where: str) -> dict[str, Any]:
    """The numbers of a motion as kinds of drivers call them, as lists; rotations as rotation vectors.

    Raises:
        ModelError: what is no number, or of another shape.
    """
    values: dict[str, Any] = {}
    for field in fields(motion):
        given, at = getattr(motion, field.name), f"{where}.{field.name}"
        if field.name == OUTSIDE.name or given is None:
            continue
        if field.name in NUMBERS:
            values[field.name] = number_of(given, at)
        elif field.name == "times":
            values[field.name] = [number_of(row, f"{at}[{k}]") for k, row in enumerate(rows_of(given, at))]
        elif field.name in ROWS:
            rows = _vectors(given, at) if field.name == "rotations" else rows_of(given, at)
            values[field.name] = [_vector(row, f"{at}[{k}]") for k, row in enumerate(rows)]
        else:
            values[field.name] = _vector(given, at)
    return values


def _check(motion: Any) -> None:
    """Raises where a field is of a wrong kind."""
    where = type(motion).__name__
    if hasattr(motion, OUTSIDE.name):
        one_of(f"{where}.{OUTSIDE.name}", motion.outside, OUTSIDE.choices)
    numbers_of_pose(motion, where)


def _vector(given: Any, where: str) -> list[Any]:
    entries: Numbers = rows_of(given, where)
    if len(entries) != 3:
        raise ModelError(where, f"{len(entries)} numbers", "three numbers", "Give x, y and z.")
    return [number_of(entry, f"{where}[{k}]") for k, entry in enumerate(entries)]


def _vectors(given: Any, where: str) -> list[Any]:
    """Rows of rotation vectors, of quaternions where the rows have four numbers."""
    refuse_traced(where, given, "Give known ones.")
    rows = rows_of(given, where)
    if not rows or len(rows_of(rows[0], f"{where}[0]")) != 4:
        return rows
    array = real_array(given)
    if array is None or array.ndim != 2 or not (np.isfinite(array).all() and (array**2).sum(1).all()):
        raise ModelError(where, shown(given), "(n, 4) finite quaternions, none of them 0", "Give w, x, y, z.")
    return np.stack(vector_of_quaternion(normalized(list(array.T))), 1).tolist()

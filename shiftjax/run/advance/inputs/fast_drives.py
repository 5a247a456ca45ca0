"""Drives that change faster than the steps: tables, and functions of the user's. Host code.

A drive moves its coordinate exactly, however it changes; what is left to forces is pushed by its acceleration, and sees
its place and speed, at the stages of the steps alone. Over a step Simpson's rule of the acceleration is to give the
change of speed, that of the speed the change of place, both of which are known, and that of the place is compared with
one of finer steps. What is missed of a change of speed is put right at the end of the step, as by an impulse, so that
it moves the rest wrongly for a step at most; measured on a pendulum on a driven slide, angles were off by up to 8 times
that. A table is a cubic between its knots, for which the rule is exact: only steps with knots inside are looked at,
of functions all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.constraints import CONSTRAINTS, DriverKind, scales
from shiftjax.constraints.coordinate_function import FunctionOfCoordinates
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.plan_elements import RowGroup
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.inputs.between_stages import (
    ALLOWED,
    PARTS,
    ErrorsOnTheWay,
    Integral,
    IntervalExtremes,
    by_parts,
    by_stages,
    in_equal_steps,
    parts_of,
    seen_in_steps,
)
from shiftjax.run.closing.host_functions import evaluate
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.plan import numbers_read

INSTANTS = 65536  # of a run, where that makes more parts of a step
FINER, FEW = 64, 100  # parts of steps of a table, where so few have knots inside
MISSED = 0.01  # of the limit of angles: what may be missed, in rad or parts of the model's length
PER, CHANGE = (" s", "", "/s"), ("integral", "place", "speed")


def places_of(group: RowGroup) -> list[int]:
    """Places of all numbers of a constraint in the plan's."""
    return sorted(numbers_read([group]))


class Drive:
    """What a drive, or a function of coordinates and time at the start's coordinates, is at any time.

    Args:
        numbers: those of `places_of`, of one member.
    """

    def __init__(self, prepared: Prepared, group: RowGroup, numbers: list[float]) -> None:
        self.prepared, self.group, self.numbers, self.places = prepared, group, numbers, places_of(group)

    def at(self, t: np.ndarray) -> np.ndarray:
        """(3, n) place, speed and acceleration at times (n,)."""
        lane = self.prepared.file_lane()
        out = np.zeros((3, len(t)))

        def motion(values: Vec) -> dict[int, Scalar]:
            numbers = list(lane.params.numbers)
            for place, value in zip(self.places, values, strict=False):
                numbers[place] = value
            valued = replace(lane, params=Parameters(numbers, lane.params.matrices), t=values[-1])
            kind = CONSTRAINTS[self.group.kind]
            if isinstance(kind, DriverKind):
                return dict(enumerate(kind.motion(self.group, valued.motion([], None))))
            rows = kind.rows(self.group, valued.motion(self.prepared.file_start.q[:, 0].tolist(), None))
            return {0: rows.phi[0], 1: -rows.nu[0]}

        owners = (self.prepared.plan, self.prepared.setup)
        with np.errstate(all="ignore"):
            evaluate([*self.numbers, t], ("drive", self.group.name), owners, motion, lambda row: out[row])
        return out


def missed(drive: Drive, begin: float, h: float, steps: np.ndarray, parts: int) -> np.ndarray:
    """(3,) the largest errors of the integrals of place, speed and acceleration from `begin` on.

    Args:
        steps: (n,) numbers of the steps that are looked at, rising. parts: of a step, for the finer rule.
    """
    errors = ErrorsOnTheWay(3)
    for f in in_equal_steps(drive.at, begin, h, steps, parts):
        f[0] -= f[0, :, :1]  # of the step alone: less rounding
        exact = np.stack([by_parts(f[0], h), f[0, :, -1], f[1, :, -1] - f[1, :, 0]])
        errors.add(by_stages(f, h) - exact)
    return errors.worst


def functions(prepared: Prepared) -> Iterator[RowGroup]:
    """The constraints that are functions of the user's."""
    for group in prepared.plan.constraints:
        kind = CONSTRAINTS[group.kind]
        if group.function >= 0 and isinstance(kind, DriverKind | FunctionOfCoordinates):
            yield group


def of_function(prepared: Prepared, lanes: Ensemble, group: RowGroup) -> str:
    """What is said of a function of the user's that changes within steps; nothing where it does not."""
    settings, drive = lanes.settings, Drive(prepared, group, [])
    errors = missed(drive, settings.t0, settings.h, np.arange(settings.end), parts_of(settings.end, INSTANTS))
    if not isinstance(CONSTRAINTS[group.kind], DriverKind):
        errors[2] = 0.0  # its acceleration depends on the motion
    return _sentence(errors, lanes, group)


def of_table(drive: Drive, lanes: Ensemble, knots: np.ndarray, inside: float) -> str:
    """What is said of a table of a drive with knots (n,) inside of steps, of one member.

    Args:
        inside: parts of a step: nearer to its ends a knot is at the end.
    """
    settings = lanes.settings
    place = (knots - settings.t0) / settings.h
    place = place[(np.abs(place - np.rint(place)) > inside) & (place > 0.0) & (place < settings.end)]
    if not len(place):
        return ""
    steps = np.unique(np.floor(place))
    parts = FINER if len(steps) <= FEW else PARTS
    return _sentence(missed(drive, settings.t0, settings.h, steps, parts), lanes, drive.group)


def _sentence(errors: np.ndarray, lanes: Ensemble, group: RowGroup) -> str:
    h, limit = lanes.settings.h, MISSED * lanes.settings.angle_limit
    driven = isinstance(CONSTRAINTS[group.kind], DriverKind)
    unit = group.units[0] if driven else lanes.setup.functions[group.function].unit
    (size,) = scales([unit], lanes.setup.length)
    parts = np.nan_to_num(errors) * [1.0 / h, 1.0, h] / size
    if parts.max() <= limit:
        return ""
    k = int(np.argmax(parts))
    wrong = f"{errors[k]:.2g} {unit}{PER[k]} of its {CHANGE[k]}"
    return f"changes within steps, whose stages miss {wrong}, {parts[k]:.2g} rad or parts of the size (limit {limit:g})"


def in_long_steps(prepared: Prepared, lanes: Ensemble, group: RowGroup) -> Iterator[tuple[int, str]]:
    """Member and what is said of a function of the user's that changes within steps that a tolerance chose.

    The change of place that the stages of a step make of the speeds, that of speed times the step, and by how much
    times the step the speed goes beyond those at the stages, but for the largest acceleration there times the step.
    """
    settings, drive = lanes.settings, Drive(prepared, group, [])
    assert settings.tolerance is not None
    driven = isinstance(CONSTRAINTS[group.kind], DriverKind)
    unit = group.units[0] if driven else lanes.setup.functions[group.function].unit
    (size,) = scales([unit], lanes.setup.length)
    off = np.zeros(len(lanes.status))
    integral = Integral(drive.at, lanes, INSTANTS)
    speeds = IntervalExtremes(integral.values[1], integral.begin, 0.5 * integral.width)
    for seen in seen_in_steps(drive.at, integral, lanes, lanes.status <= 0):
        _, of_place, of_speed = seen.integrals - np.roll(seen.stages[..., -1] - seen.stages[..., 0], 1, axis=0)
        low, high = speeds.over(seen.begins, seen.sizes)
        beyond = np.maximum(seen.stages[1].min(1) - low, high - seen.stages[1].max(1))
        beyond -= np.abs(seen.stages[2]).max(1) * seen.sizes
        wrong = np.maximum(np.abs(of_place), np.maximum(beyond, 0.0) * seen.sizes)
        if driven:  # the acceleration of what is tied depends on the motion
            wrong = np.maximum(wrong, np.abs(of_speed) * seen.sizes)
        np.maximum.at(off, seen.members, wrong / size)
    limit = max(MISSED * settings.angle_limit, ALLOWED * settings.tolerance)
    for k in np.flatnonzero(off > limit):
        yield (
            int(k),
            f"changes within steps that the tolerance chose, whose stages miss {off[k]:.2g} rad or parts of the size "
            f"of it (limit {limit:g}): write it as a table, whose knots end steps, or take steps of a fixed size",
        )

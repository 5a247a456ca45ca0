"""What channels should be: a table of measurements, an instant or a pose a line. Host only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from shiftjax.ensembles.study.design_table import columns
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.optimization_words import Wanted
from shiftjax.errors import ModelError, nearest
from shiftjax.kinematics.paths.inputs import inputs_of

TIME, WHERE = "time", "optimize.data"
ROUNDING = 1e-6  # of an output step, by which instants may be off


class Recorded(Protocol):
    """Runs with what they record: `sizes` has the shape of every channel, instants first, in their order."""

    sizes: Mapping[str, tuple[int, ...]]

    @property
    def time(self) -> np.ndarray: ...


class Data:
    """The columns of a .csv file that residuals name: channels of one number, at instants in a column `time` [s]; along
    a path at places of its parameter, in a column of that name.

    Raises:
        ModelError: no such file, no such column.
    """

    def __init__(self, path: Path, wanted: Wanted, group: MemberGroup) -> None:
        self._columns, (parameter, self._unit) = columns(path, WHERE), _parameter(group)
        self._parameter = next((name for name in self._columns if _named(group, name) == parameter), parameter)
        for name in (self._parameter, *wanted.residuals):
            if name not in self._columns:
                todo = nearest(name, self._columns) or "Name the columns as the channels."
                raise ModelError(WHERE, f"{path.name} without {name!r}", ", ".join(self._columns), todo)
        self._names = wanted.residuals
        self.paths = tuple(group.model.resolve(name) for name in wanted.residuals)

    def target(self, runs: Recorded) -> np.ndarray:
        """What the recorded channels should be, NaN at instants that are not in the file.

        Raises:
            ModelError: instants at which nothing is recorded, channels of several numbers.
        """
        times, instants = self._columns[self._parameter], runs.time
        places = np.abs(instants[:, None] - times).argmin(axis=0)
        step = np.abs(np.diff(instants)).min() if len(instants) > 1 else 1.0
        off = np.flatnonzero(np.abs(instants[places] - times) > ROUNDING * step)
        if len(off):
            fault = f"{times[off[0]]} {self._unit}, at which nothing is recorded"
            first, last = (f"{value:.6g} {self._unit}" for value in (instants[0], instants[-1]))
            todo = "Set output_step and span of the study." if self._parameter == TIME else "Set drive of the study."
            raise ModelError(WHERE, fault, f"from {first} to {last} in steps of {step:.6g}", todo)
        columns = []
        for name, shape in zip(self._names, runs.sizes.values(), strict=True):
            if int(np.prod(shape)) != len(instants):
                todo = "Make a metric of each number."
                raise ModelError(WHERE, f"{name}, a channel of several numbers", "channels of one number", todo)
            values = np.full(len(instants), np.nan)
            values[places] = self._columns[name]
            columns.append(values)
        return np.concatenate(columns)


def _parameter(group: MemberGroup) -> tuple[str, str]:
    """What tells the lines from each other, and its unit: the time, or the parameter of the path."""
    if not group.led:
        return TIME, "s"
    inputs = inputs_of(group.model, group.settings["drive"], None)
    return inputs.name, inputs.unit


def _named(group: MemberGroup, column: str) -> str:
    """The full path of what a column is of, or its name."""
    try:
        return group.model.resolve(column)
    except ModelError:
        return column

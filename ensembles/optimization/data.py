"""What channels should be: a table of measurements, an instant a line. Host only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from shiftjax.ensembles.study.design_table import columns
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.optimization_words import Wanted
from shiftjax.errors import ModelError, nearest

TIME, WHERE = "time", "optimize.data"
ROUNDING = 1e-6  # of an output step, by which instants may be off


class Recorded(Protocol):
    """Runs with what they record: `sizes` has the shape of every channel, instants first, in their order."""

    sizes: Mapping[str, tuple[int, ...]]

    @property
    def time(self) -> np.ndarray: ...


class Data:
    """The columns of a .csv file that residuals name: channels of one number, at instants in a column `time` [s].

    Raises:
        ModelError: no such file, no such column.
    """

    def __init__(self, path: Path, wanted: Wanted, group: MemberGroup) -> None:
        self._columns = columns(path, WHERE)
        for name in (TIME, *wanted.residuals):
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
        times, instants = self._columns[TIME], runs.time
        places = np.abs(instants[:, None] - times).argmin(axis=0)
        step = np.diff(instants).min() if len(instants) > 1 else 1.0
        off = np.flatnonzero(np.abs(instants[places] - times) > ROUNDING * step)
        if len(off):
            fault = f"{times[off[0]]} s, at which nothing is recorded"
            raise ModelError(WHERE, fault, f"whole multiples of {step:.6g} s up to {instants[-1]:.6g} s",
                             "Set output_step and span of the study.")  # fmt: skip
        columns = []
        for name, shape in zip(self._names, runs.sizes.values(), strict=True):
            if int(np.prod(shape)) != len(instants):
                todo = "Make a metric of each number."
                raise ModelError(WHERE, f"{name}, a channel of several numbers", "channels of one number", todo)
            values = np.full(len(instants), np.nan)
            values[places] = self._columns[name]
            columns.append(values)
        return np.concatenate(columns)

"""Instants at which a run is looked at for its accuracy, and what is added up there."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from shiftjax.kernels.workers import in_portions

FIRST = 250  # steps between two samples at the beginning of a run
GROWTH = 8  # later an eighth of the steps done: 22 samples in 10 000 steps, 61 in a million
_grid = [FIRST]


@dataclass
class Samples:
    """What samples of B members add up to since the start.

    Attributes:
        at: (B,) clock of the last one [steps since the start of the first run]; path: (B,) integral of |v| dt [rad];
        slowness: (B,) integral of dt / T [s/J]; lag: (B,) integral of slowness over path [rad s/J];
        action: (B,) integral of T dt [J s]; variation: (B,) integral of |a| dt, of the largest coordinate [rad/s];
        doubt: (B,) sum of relative speed changes at singular poses.
        drift: (B,) sum of what the steps did wrong to a coordinate; rate: (B,) that of the last step looked at, not a
            number before the first [rad, or parts of the model's length].
    """

    at: np.ndarray
    path: np.ndarray
    slowness: np.ndarray
    lag: np.ndarray
    action: np.ndarray
    variation: np.ndarray
    doubt: np.ndarray
    drift: np.ndarray
    rate: np.ndarray

    @classmethod
    def none(cls, members: int) -> Samples:
        """Before the first sample."""
        return cls(**{**{field.name: np.zeros(members) for field in fields(cls)}, "rate": np.full(members, np.nan)})

    def of(self, members: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(figures, K) those of some members."""
        every = [getattr(self, field.name) for field in fields(self)]
        which = np.arange(len(self.at))[members]
        out = np.empty((len(every), len(which)))

        def take(portion: slice) -> None:
            for line, figures in zip(out, every, strict=True):
                line[portion] = figures[which[portion]]

        in_portions(take, len(which))
        return out


def next_samples(clock: np.ndarray) -> np.ndarray:
    """The first instants of samples after some clocks, in steps; they are the same in every run."""
    while _grid[-1] <= clock.max(initial=0):
        _grid.append(_grid[-1] + max(FIRST, _grid[-1] // GROWTH))
    return np.asarray(_grid)[np.searchsorted(_grid, clock, side="right")]

"""What every machine that runs lane programs does, and what its callers may rely on.

Words. A *lane* is one member of an ensemble, a column of a table (`Layout.columns`). A *trip* is a step that is not
accepted: the lane keeps the state before it, `trip` says what was wrong, and the machine does not touch the lane again
until the host has cleared it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from shiftjax.kernels.lane_program import LaneProgram

# What each phase writes: rows of the table, or, for what has no rows, what `evaluate` returns.
WRITES = {
    "drift": ("qdot",),
    "accelerate": ("dx", "mon"),
    "project": ("q", "x", "dx", "mon", "rep"),
    "observe": ("chan",),
    "accumulate": ("acc",),
}


class Group(NamedTuple):
    """Lanes that run one program.

    Attributes:
        table: (rows, B), C-contiguous, changed in place.
        out: (K, ticks, channels), C-contiguous, receives the channels at clock k every; None for nothing.
        rows: (B,) rows of `out`, negative for lanes that are not recorded.
    """

    program: LaneProgram
    table: np.ndarray
    out: np.ndarray | None
    rows: np.ndarray


class Kernel(Protocol):
    """A machine for lane programs. One object serves all programs of a run.

    Attributes:
        compiled: pieces really compiled so far. compile_s: wall time spent on it.
    """

    compiled: int
    compile_s: float

    def prepare(self, program: LaneProgram) -> object:
        """Compiles what `program` needs and is not there yet."""
        ...

    def advance(self, groups: Sequence[Group], until: float, *, h: float, t0: float = 0.0, every: int = 0) -> None:
        """Steps all lanes to clock `until` [steps], or to their trip, in place.

        Args:
            h: step [s]. t0: time of clock 0 [s]. every: steps between two output ticks, 0 for none.
        """
        ...

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """Runs one phase on every lane at t0 + clock h, whatever its trip.

        Results go to the rows of the table that `WRITES` names; returned are the channels (nc, B) of observe and the
        rates (nq, B) of drift.
        """
        ...

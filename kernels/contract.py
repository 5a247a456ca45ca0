"""What every machine that runs lane programs does, and what its callers may rely on.

A *lane* is one member of an ensemble, a column of a table whose groups of rows `Layout.columns` names:

    q, x, dx        coordinates; speeds, states and quadratures; their derivatives at the last accepted state
    p               parameters, which nothing changes
    clock           time in steps of h; the time is t0 + clock h, without rounding that adds up on a grid of whole steps
    fraction        size of the next step in steps of h; a lane whose fraction is not above 0 does not run
    limit, armed    of every monitor: the largest value it may take, and whether that is checked (not 0)
    mon             the largest value of every monitor over the stages and the end of the last step that was tried
    acc, rep        accumulators, and figures of the last accepted step
    event           values of the event functions at the last accepted state
    trip            0, or why the lane is frozen

A *trip* is a step that is not accepted: the lane keeps the state before it and is frozen, which means that no machine
changes any of its rows until the host has set `trip` to 0 again. Its value is

    1 + k           monitor k was armed and above its limit, or NaN; the smallest such k
    nm + 1          q, x or dx of the end is not finite
    nm + 2          the error estimate asks for a step that no longer moves the clock
    nm + 3 + k      event k changes its sign, or reaches zero, within the step; the smallest such k

Monitors go before finiteness, finiteness before events. A monitor that is not armed arms itself in the first accepted
step in which it is within its limit.

Where an error estimate controls the step size (`Layout.controlled`), a step whose error norm is above 1 or NaN is
rejected: the lane tries again with its size times the proposed factor, and nothing but `fraction` and `mon` changes. A
step is cut to end exactly at the next output tick or where the lane stops.
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
    "events": ("event",),
}
SMALLEST = 0.1  # factor of the step size after a step whose error, or whose factor, is not a number
LARGEST_RETRY = 0.9  # factor of the step size with which a rejected step is tried again, at most


class Group(NamedTuple):
    """Lanes that run one program.

    Attributes:
        table: (rows, B), C-contiguous, changed in place.
        until: (B,) clocks at which the lanes stop.
        out: (K, ticks, channels), C-contiguous, receives the channels at clock k every; None for nothing.
        rows: (B,) rows of `out`, negative for lanes that are not recorded.
    """

    program: LaneProgram
    table: np.ndarray
    until: np.ndarray
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

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0) -> None:
        """Steps every lane until its clock is at least its `until`, or to its trip, in place.

        What happens to a lane depends on nothing but its column: not on the other lanes, nor on how the way is cut into
        calls. To the last bit, but for machines whose code is compiled for a number of lanes, as XLA's.

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

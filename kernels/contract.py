"""The interface of every backend that runs lane programs, and what it guarantees.

A *lane* is one member of an ensemble, a column of a table whose groups of rows `Layout.columns` names:

    q, x, dx        coordinates; speeds, states and quadratures; their derivatives at the last accepted state
    p               parameters, constant
    clock           time in steps of h; the time is t0 + clock h, without accumulated rounding on a grid of whole steps
    fraction        size of the next step in steps of h; a lane whose fraction is not above 0 does not run
    limit, armed    of every monitor: the largest value it may take, and whether that is checked (not 0)
    mon             the largest value of every monitor over the stages and the end of the last attempted step
    acc, rep        accumulators, and residuals of the last accepted step
    event           values of the event functions at the last accepted state
    event_rate      how fast they change there, a second; 0 where that is not known
    watched         whether every event is looked at (not 0)
    trip            0, or why the lane is frozen

A *trip* is a step that is not accepted: the lane keeps the state before it and is frozen, which means that no backend
changes any of its rows until the host has reset `trip` to 0. What is tested, in which order of precedence, and what
happens then is the table `guards.GUARDS`; the codes are

    1 + k           monitor k was armed and above its limit, or NaN; the smallest such k
    nm + 1          q, x or dx of the end is not finite
    nm + 2          the error estimate requires a step too small to advance the clock
    nm + 3 + k      event k is watched and changes its sign, or reaches zero, within the step, or its
                    cubic goes through zero and back; the smallest such k

A monitor that is not armed becomes armed in the first
accepted step in which it is within its limit.

Where an error estimate controls the step size (`Layout.controlled`), a step whose error norm is above 1 or NaN is
rejected: the lane tries again with its size times the proposed factor, and only `fraction` and `mon` change. A step is
shortened to end exactly where the lane stops; its size is the difference of the clocks at its ends, to the last bit.
Such lanes know no output ticks: `Group.out` gets the channels at the end of every accepted step, one after the other,
and a lane stops where it is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.lane_program import WRITES, LaneProgram
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.step_program import Method


class Group(NamedTuple):
    """Lanes that run one program.

    Attributes:
        table: (rows, B), C-contiguous, changed in place.
        until: (B,) clocks at which the lanes stop.
        out: (K, ticks, channels), C-contiguous, gets the channels at clock origin + k every, or of controlled lanes
            those after their k-th step; None without recording.
        rows: (B,) rows of `out`, negative for lanes that are not recorded.
        resident: the same lanes in a memory of the kernel that runs them (`HasMemory`); of `table` then
            only the shape counts, and no number of it changes.
    """

    program: LaneProgram
    table: np.ndarray
    until: np.ndarray
    out: np.ndarray | None
    rows: np.ndarray
    resident: LaneTable | None = None


class Leg(NamedTuple):
    """Lanes that go back over some steps of one program.

    Attributes:
        table: (rows, B) lanes at the beginning of the leg; not changed.
        bars: (rows of `AdjointLayout.rows`, B) cotangents at its end, which become those at its beginning; the row
            "steps" has how many steps each lane goes back.
        seeds: (K, ticks, channels) cotangents of what is recorded; None for none.
        rows: (B,) rows of `seeds`, negative for lanes that have none.
    """

    adjoint: AdjointProgram
    table: np.ndarray
    bars: np.ndarray
    seeds: np.ndarray | None
    rows: np.ndarray


class Kernel(Protocol):
    """A backend for lane programs. One object serves all programs of a run.

    Attributes:
        batch: lanes that keep it busy: a driver may run more of them in batches.
    """

    batch: int

    @property
    def compiled(self) -> int:
        """Pieces compiled so far, cache hits not counted."""
        ...

    @property
    def compile_s(self) -> float:
        """Wall time spent on it [s]."""
        ...

    def prepare(self, program: LaneProgram) -> object:
        """Compiles those parts of `program` that are not yet compiled."""
        ...

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """Steps every lane until its clock is at least its `until`, or to its trip, in place.

        An exception that a signal raises, as KeyboardInterrupt, comes through soon; no lane is changed after it, and
        each stands at some step on its way, its ticks up to there recorded.
        The result of a lane depends on its column only: not on the other lanes, nor on the division of the time span
        into calls. It is bitwise reproducible, except on backends that compile for a number of lanes, as XLA.

        Args:
            h: step [s]. t0: time of clock 0 [s]. every: steps between two output ticks, 0 for none.
            origin: clock of the first output tick.
        """
        ...

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """Runs one phase on every lane at t0 + clock h, whatever its trip.

        Results go to the rows of the table that `WRITES` names; returned are the channels (nc, B) of observe and the
        rates (nq, B) of drift.
        """
        ...


def callers(kernel: object) -> int:
    """How many threads may call a kernel at once, each for lanes of its own: one, where it has no number of them."""
    return getattr(kernel, "callers", 1)


@runtime_checkable
class HasMemory(Protocol):
    """A kernel with a memory of its own, where tables stay between two calls of it."""

    def resident(self, table: LaneTable) -> LaneTable:
        """A table of the same numbers that stays there, or this one where it does not fit."""
        ...

    def evaluate_there(
        self, program: LaneProgram, phase: str, table: LaneTable, t0: float, h: float
    ) -> np.ndarray | None:
        """As `Kernel.evaluate`, of a resident table."""
        ...


def evaluated(
    kernel: Kernel, program: LaneProgram, phase: str, table: LaneTable, t0: float, h: float
) -> np.ndarray | None:
    """Runs one phase on every lane of a table, where its numbers are; see `Kernel.evaluate`."""
    if table.resident is not None and isinstance(kernel, HasMemory):
        return kernel.evaluate_there(program, phase, table, t0, h)
    return kernel.evaluate(program, phase, table.changing(WRITES[phase]), t0, h)


def placed(kernel: object, table: LaneTable) -> LaneTable:
    """A new table where a kernel has its numbers at hand."""
    return kernel.resident(table) if isinstance(kernel, HasMemory) else table


class Backward(Protocol):
    """What carries cotangents back over the steps of a kernel."""

    def longest(self, adjoint: AdjointProgram) -> int:
        """Steps that a leg may have."""
        ...

    def longest_of(self, layout: AdjointLayout, method: Method) -> int:
        """The same of a layout and a method."""
        ...

    def sweep(self, legs: Sequence[Leg], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """Carries cotangents over legs in place, those of recorded channels added at each tick after the beginning.

        Args:
            h: step [s]. t0: time of clock 0 [s]. every: steps between two output ticks, 0 for none.
            origin: clock of the first output tick.
        """
        ...

    def touch(
        self, leg: Leg, phase: str, ends: np.ndarray | None = None, *, h: float, t0: float = 0.0, every: int = 1,
        origin: int = 0,
    ) -> None:  # fmt: skip
        """Reverses one phase in place, at the clocks of the table.

        Args:
            phase: of `lane_program.REVERSED`; "observe" adds the cotangents of the tick of each lane's clock.
            ends: (rows, B) lanes at the end of the projection that "project" reverses.
        """
        ...


@runtime_checkable
class Reversible(Protocol):
    """A kernel over whose steps cotangents are carried back, so that its runs have derivatives."""

    def backward(self, memory: float | None = None) -> Backward:
        """What carries them.

        Args:
            memory: bytes that the stacks of legs may take in a memory of the kernel's own; its choice where left out.
        """
        ...

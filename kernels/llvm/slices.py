"""Compiled code in calls so short that an interrupt need not wait for them: of few blocks of lanes, or of few steps.

What a lane computes does not depend on how its way is divided (`contract.Kernel.advance`).
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from shiftjax.kernels.workers import Stop

SLICE = 0.02  # s of one call
FIRST = 32  # steps of the first call, whose time is unknown; 2 ms each in mechanisms of a thousand bodies
GROWTH = 8  # of a call beside the one before, at most


class Pace:
    """How many steps of one block make a slice, learnt from the calls before."""

    def __init__(self) -> None:
        self.steps = FIRST

    def took(self, steps: float, seconds: float) -> None:
        """Learns from a call; one that ended early tells nothing unless it was slow."""
        if steps * GROWTH >= self.steps or seconds > SLICE:
            fitting = SLICE * max(steps, 1.0) / max(seconds, 1e-9)
            self.steps = max(1, int(min(fitting, GROWTH * self.steps)))


class Span(NamedTuple):
    """Where the lanes of a table are, and how far they run.

    Attributes:
        clock, trip, fraction: (B,) rows of the table. until: (B,) clocks. stops: (B,) that the compiled code reads.
        whole: whether a stop on the way would change the size of steps, so that there must be none.
    """

    clock: np.ndarray
    trip: np.ndarray
    fraction: np.ndarray
    until: np.ndarray
    stops: np.ndarray
    whole: bool

    def left(self, lanes: slice) -> float:
        """Steps left to the slowest of some lanes, 0 where none runs."""
        clock, until = self.clock[lanes], self.until[lanes]
        running = (self.trip[lanes] == 0) & (clock < until) & (self.fraction[lanes] > 0)
        return float((until - clock)[running].max(initial=0.0))

    def stop_after(self, lanes: slice, steps: float) -> None:
        self.stops[lanes] = np.minimum(self.until[lanes], self.clock[lanes] + steps)


class Chunk(NamedTuple):
    """Blocks first <= k < last of some lanes, for one thread.

    Attributes:
        code: the compiled function. job: its argument. arrays: all those whose addresses are in the job.
        width: lanes of a block. slots: its workspace.
        pace: of these calls. span: of `advance`; None for one phase.
    """

    code: Any
    job: np.ndarray
    arrays: tuple[Any, ...]
    first: int
    last: int
    width: int
    slots: int
    pace: Pace
    span: Span | None

    def run(self, workspace: int, stopped: Stop) -> None:
        """Runs the chunk, or as much of it as is done when `stopped` is set; a lane then stands at some step."""
        first = self.first
        while first < self.last and not stopped.is_set():
            first = (
                self._evaluate(workspace, first) if self.span is None else self._advance(self.span, workspace, first)
            )

    def _evaluate(self, workspace: int, first: int) -> int:
        last = min(self.last, first + self.pace.steps)
        begun = time.perf_counter()
        self.code(self.job.ctypes.data, workspace, first, last)
        self.pace.took(last - first, time.perf_counter() - begun)
        return last

    def _advance(self, span: Span, workspace: int, first: int) -> int:
        """One call; returns the first block that is not done."""
        left = span.left(slice(first * self.width, self.last * self.width))
        if left == 0.0:
            return self.last
        whole = span.whole or left <= self.pace.steps
        steps = max(left, 1.0)  # a lane may stop right behind its clock
        last = min(self.last, first + max(1, int(self.pace.steps // steps)))
        lanes = slice(first * self.width, last * self.width)
        span.stop_after(lanes, np.inf if whole else self.pace.steps)
        before, begun = span.clock[lanes].copy(), time.perf_counter()
        self.code(self.job.ctypes.data, workspace, first, last)
        took = time.perf_counter() - begun
        self.pace.took(float((span.clock[lanes] - before).max()) * (last - first), took)
        return last if whole or span.left(lanes) == 0.0 else first

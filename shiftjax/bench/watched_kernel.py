"""Kernels of a backend that are watched: how long they step lanes, and which lanes these were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from shiftjax.bench.timing import Stopwatch
from shiftjax.errors import ModelError
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Group, Kernel, evaluated, placed
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.pivoting.search import MatrixCode, PivotSets, SearchedLanes, SearchesThere


class Watch:
    """What is seen of the kernels of a backend.

    Attributes:
        backend: the name under which runs take them.
        stepping: time spent in `advance`.
        kernels: those that were made, in their order.
        program, table: of the first group of lanes, as they were before its first step; the table is a copy.
        lanes: how many those were.
    """

    program: LaneProgram
    table: np.ndarray

    def __init__(self, backend: str, copied: int) -> None:
        self.backend, self._copied = f"{backend}, watched", copied
        self.kernels: list[Any] = []
        self.forget()

    @property
    def devices(self) -> int:
        """Over how many devices the run has divided its lanes: GPUs of the backend gpu, 1 of all others."""
        return max((getattr(kernel, "devices_used", 1) for kernel in self.kernels), default=1)

    def forget(self) -> None:
        """Begins again, with the next run."""
        self.stepping, self.lanes = Stopwatch(), 0
        self.kernels.clear()

    def check(self, name: str, why: str) -> None:
        """Raises where a run of the model of that name has stepped no lane.

        Args:
            why: what is said of its first member.

        Raises:
            ModelError: it has not.
        """
        if not self.lanes:
            raise ModelError(f"bench {name}", f"no member that runs: {why}", "one that does", "Try `shiftjax check`.")

    def note(self, groups: Sequence[Group]) -> None:
        """Looks at lanes that are about to be stepped."""
        if not self.lanes and groups:
            self.program, table = groups[0].program, groups[0].table
            self.lanes = table.shape[1]
            first = np.arange(min(self._copied, self.lanes))
            resident = groups[0].resident
            self.table = table[:, first] if resident is None else resident.take(first).on_host().array


class WatchedKernel:
    """See `contract.Kernel`: one that does what another does, and is watched."""

    def __init__(self, kernel: Kernel, watch: Watch) -> None:
        self.kernel, self.watch, self.batch = kernel, watch, kernel.batch

    @property
    def compiled(self) -> int:
        """See `contract.Kernel`."""
        return self.kernel.compiled

    @property
    def compile_s(self) -> float:
        """See `contract.Kernel`."""
        return self.kernel.compile_s

    def prepare(self, program: LaneProgram) -> object:
        """See `contract.Kernel`."""
        return self.kernel.prepare(program)

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel`; programs that are not compiled yet are so before the clock runs."""
        self.watch.note(groups)
        for group in groups:
            self.kernel.prepare(group.program)
        with self.watch.stepping:
            self.kernel.advance(groups, h=h, t0=t0, every=every, origin=origin)

    def resident(self, table: LaneTable) -> LaneTable:
        """See `contract.HasMemory`: as the other one has it."""
        return placed(self.kernel, table)

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel`."""
        return self.kernel.evaluate(program, phase, table, t0, h)

    def evaluate_there(
        self, program: LaneProgram, phase: str, table: LaneTable, t0: float, h: float
    ) -> np.ndarray | None:
        """See `contract.HasMemory`."""
        return evaluated(self.kernel, program, phase, table, t0, h)

    def searched(self, code: MatrixCode, lanes: SearchedLanes) -> PivotSets | None:
        """See `pivoting.search.SearchesThere`."""
        return self.kernel.searched(code, lanes) if isinstance(self.kernel, SearchesThere) else None


@contextmanager
def watched(backend: str, *, copied: int = 64) -> Iterator[Watch]:
    """Enters a backend that is watched, for runs inside of the block.

    Args:
        backend: a name of `BACKENDS`. copied: lanes of the first group that are copied.
    """
    watch = Watch(backend, copied)

    def made(precision: str, threads: int | None) -> WatchedKernel:
        kernel = BACKENDS[backend](precision, threads)
        watch.kernels.append(kernel)
        return WatchedKernel(kernel, watch)

    BACKENDS[watch.backend] = made
    try:
        yield watch
    finally:
        del BACKENDS[watch.backend]

"""Backward sweeps on the processor's vector units: cotangents of lanes over legs of steps, divided over threads."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.lane_program import PHASES, REVERSED
from shiftjax.kernels.llvm.cpu import CHUNKS_PER_THREAD, CODE, CpuKernel
from shiftjax.kernels.llvm.ir_builder import JOB
from shiftjax.kernels.llvm.slices import Chunk, Pace
from shiftjax.kernels.llvm.sweeper import longest_leg, sweep_slots, sweeper_identity, sweeper_text
from shiftjax.kernels.step_program import Method
from shiftjax.record import record


@record
class LoadedSweep:
    """An adjoint program loaded into this process."""

    sweep: Any  # compiled functions
    touch: Any
    lists: dict[str, np.ndarray]  # addresses of the pieces, by field of the job
    slots: int  # workspace of one block
    paces: tuple[Pace, Pace]


class CpuBackward:
    """Runs adjoint programs with the compiler and the threads of a kernel."""

    def __init__(self, kernel: CpuKernel) -> None:
        self.kernel = kernel
        self._ready: dict[int, tuple[AdjointProgram, LoadedSweep]] = {}

    def prepare(self, adjoint: AdjointProgram) -> LoadedSweep:
        """Compiles and loads everything of `adjoint` that is not yet."""
        known = self._ready.get(id(adjoint))
        if known is not None:
            return known[1]
        kernel, program = self.kernel, adjoint.program
        identity = sweeper_identity(adjoint)
        name = "back_" + hashlib.sha256(identity.encode()).hexdigest()[:32]
        pieces = (*program.pieces(), *adjoint.pieces())
        kernel.load(name, identity, lambda: sweeper_text(adjoint, name, kernel.target), pieces)
        lists = {phase: program.phase(phase) for phase in PHASES} | {"measure": adjoint.metrics}
        lists |= {f"back_{phase}": getattr(adjoint, phase) for phase in REVERSED}
        ready = LoadedSweep(
            CODE(kernel.loader.address(f"{name}_sweep")),
            CODE(kernel.loader.address(f"{name}_touch")),
            {phase: kernel.addresses(pieces) for phase, pieces in lists.items()},
            sweep_slots(adjoint.layout, program.method, kernel.target),
            (Pace(), Pace()),
        )
        self._ready[id(adjoint)] = (adjoint, ready)
        return ready

    def longest(self, adjoint: AdjointProgram) -> int:
        """Steps that a leg may have."""
        return self.longest_of(adjoint.layout, adjoint.method)

    def longest_of(self, layout: AdjointLayout, method: Method) -> int:
        """The same of a layout and a method."""
        return longest_leg(layout, method, self.kernel.target)

    def sweep(self, legs: Sequence[Leg], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Backward.sweep`."""
        kernel, work = self.kernel, deque[Chunk]()
        width = kernel.target.lanes
        total = sum(-(-leg.table.shape[1] // width) for leg in legs)
        chunk = max(1, -(-total // (kernel.threads * CHUNKS_PER_THREAD)))
        for leg in legs:
            ready = self.prepare(leg.adjoint)
            steps = leg.bars[leg.adjoint.layout.rows("steps").start]
            if steps.max(initial=0) > self.longest(leg.adjoint):
                raise ValueError(f"a leg of {steps.max():g} steps, its stack holds {self.longest(leg.adjoint)}")
            job, arrays = self._job(leg, ready, h=h, t0=t0, every=every, origin=origin)
            blocks = -(-leg.table.shape[1] // width)
            work.extend(
                Chunk(ready.sweep, job, arrays, k, min(k + chunk, blocks), width, ready.slots, ready.paces[0], None)
                for k in range(0, blocks, chunk)
            )
        kernel.run(work)

    def touch(
        self, leg: Leg, phase: str, ends: np.ndarray | None = None, *, h: float, t0: float = 0.0, every: int = 1,
        origin: int = 0,
    ) -> None:  # fmt: skip
        """See `contract.Backward.touch`."""
        ready = self.prepare(leg.adjoint)
        leg = leg if phase == "observe" else leg._replace(seeds=None)
        job, arrays = self._job(leg, ready, h=h, t0=t0, every=every, origin=origin)
        job[JOB.index("ends")] = (leg.table if ends is None else ends).ctypes.data
        name = f"back_{phase}" if phase != "observe" else "error"  # `seeds` runs that list itself; this one is empty
        job[JOB.index("list_phase")] = ready.lists[name].ctypes.data
        width = self.kernel.target.lanes
        blocks = -(-leg.table.shape[1] // width)
        chunk = Chunk(ready.touch, job, (*arrays, ends), 0, blocks, width, ready.slots, ready.paces[1], None)
        self.kernel.run(deque([chunk]))

    def checked(self, leg: Leg) -> np.ndarray:
        """Refuses arrays that compiled code would read wrongly; returns the rows of the lanes' seeds."""
        kernel, layout, bars = self.kernel, leg.adjoint.layout, leg.bars
        member = kernel.check(leg.adjoint.program, leg.table, leg.rows, leg.seeds)
        if bars.shape != (layout.row_count, leg.table.shape[1]) or bars.dtype != kernel.dtype:
            raise ValueError(f"cotangents are {kernel.dtype} of shape {(layout.row_count, leg.table.shape[1])}")
        if not bars.flags.c_contiguous:
            raise ValueError("cotangents are C-contiguous")
        return member

    def _job(self, leg: Leg, ready: LoadedSweep, **numbers: float) -> tuple[np.ndarray, tuple[Any, ...]]:
        """The argument of compiled code, and the arrays to which it points."""
        kernel, bars, member = self.kernel, leg.bars, self.checked(leg)
        job = kernel.job(leg.table, kernel.template(ready.lists), **numbers)
        job[JOB.index("bars")], job[JOB.index("member")] = bars.ctypes.data, member.ctypes.data
        if leg.seeds is not None:
            places = [JOB.index(name) for name in ("out", "ticks", "channels")]
            job[places] = leg.seeds.ctypes.data, *leg.seeds.shape[1:]
        return job, (leg.table, bars, leg.seeds, member, ready)


class ReversibleCpuKernel(CpuKernel):
    """The kernel of the backend `cpu`, with its way back."""

    def backward(self, memory: float | None = None) -> CpuBackward:
        """See `contract.Reversible`."""
        return CpuBackward(self)

"""The kernel of the processor's vector units: lane programs as LLVM code, lanes divided over threads."""

from __future__ import annotations

import ctypes
import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from shiftjax.kernels import object_cache as disk
from shiftjax.kernels.contract import Group
from shiftjax.kernels.forks import Threads, cores
from shiftjax.kernels.lane_program import DTYPES, PHASES, WRITES, LaneProgram, Piece
from shiftjax.kernels.llvm.array_function import ArrayFunction
from shiftjax.kernels.llvm.ir_builder import JOB, WorkspaceLayout
from shiftjax.kernels.llvm.long_wait import LongWait
from shiftjax.kernels.llvm.objects import Loader, compile_text, object_key
from shiftjax.kernels.llvm.payne_hanek import NO_OP
from shiftjax.kernels.llvm.piece_code import piece_name, piece_text, support_text
from shiftjax.kernels.llvm.slices import Chunk, Pace, Span
from shiftjax.kernels.llvm.stepper import stepper_identity, stepper_text
from shiftjax.kernels.llvm.target import host
from shiftjax.kernels.workers import Stop, share_out, submitted, threads_for
from shiftjax.lanes.compilers import COMPILERS
from shiftjax.record import record

CHUNKS_PER_THREAD = 8  # for load balance, since lanes stop at different times
EVALUATED = 256  # blocks of a chunk of one phase, at least: 0.1 ms and more, so that a second thread pays
BATCH_PER_THREAD = 4 * CHUNKS_PER_THREAD  # blocks that keep the threads busy, four in a chunk
CODE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
COMPILERS.append(ArrayFunction)  # for the host, beside its kernels


@record
class LoadedProgram:
    """A program loaded into this process."""

    advance: Any  # compiled functions
    evaluate: Any
    lists: dict[str, np.ndarray]  # addresses of the pieces of each phase, ended by 0
    template: np.ndarray  # the argument of compiled code with those lists
    slots: int  # workspace of one block
    paces: tuple[Pace, Pace]  # of steps and of single phases


class CpuKernel:
    """Compiles what is missing, runs lanes. One object serves all partitions of a run.

    Attributes:
        compiled: pieces compiled so far, cache hits not counted.
        compile_s: wall time spent in `prepare`.
        batch: lanes that keep all threads busy.
        callers: threads that may call it at once, once a program is prepared; each call then runs in its own.
    """

    def __init__(self, precision: str = "f64", threads: int | None = None, *, cache: bool = True) -> None:
        self.target = host(precision)
        self.dtype = np.dtype(DTYPES[precision])
        self.threads = self.callers = threads or cores()
        self.cache = cache
        self.compiled, self.compile_s = 0, 0.0
        self.batch = BATCH_PER_THREAD * self.threads * self.target.lanes
        self.loader = Loader(self.target)
        self.loaded: set[str] = set()
        self._ready: dict[int, tuple[LaneProgram, LoadedProgram]] = {}
        self._threads = Threads(self.threads)
        self._of_thread = threading.local()

    # -- compiling ---------------------------------------------------------------------------------------------------

    def prepare(self, program: LaneProgram) -> LoadedProgram:
        """Compiles and loads everything for `program`; pieces of equal key only once."""
        known = self._ready.get(id(program))
        if known is not None:
            return known[1]
        identity = stepper_identity(program)
        name = "step_" + hashlib.sha256(identity.encode()).hexdigest()[:32]
        self.load(name, identity, lambda: stepper_text(program, name, self.target), program.pieces())
        ready = self._link(program, name)
        self._ready[id(program)] = (program, ready)
        return ready

    def load(self, loop: str, identity: str, text: Callable[[], str], pieces: Sequence[Piece]) -> None:
        """Compiles and loads what is missing of a loop and of the pieces that it runs.

        Args:
            loop: the name of its module; identity, text: what decides it, and what it is.
        """
        start, target = time.perf_counter(), self.target
        wanted: dict[str, tuple[str, Any, bool]] = {
            "support": ("support", lambda: support_text(target), False),
            loop: (identity, text, True),
        }
        for piece in pieces:
            if self.cache:
                piece.code.remember()
            wanted[piece_name(piece)] = (piece.identity(), lambda piece=piece: piece_text(piece, target), False)
        self._load({k: v for k, v in wanted.items() if k not in self.loaded})
        self.compile_s += time.perf_counter() - start

    def _load(self, wanted: dict[str, tuple[str, Any, bool]]) -> None:
        """Objects from the disk cache, else compiled in one thread while this one emits the next text."""
        keys = {symbol: object_key(symbol, wanted[symbol][0], self.target) for symbol in wanted}
        cached = {symbol: disk.read(key) for symbol, key in keys.items()} if self.cache else {}
        codes: dict[str, bytes | Future[bytes]] = {symbol: code for symbol, code in cached.items() if code is not None}
        missing = [symbol for symbol in wanted if symbol not in codes]
        report = LongWait(sum(symbol.startswith("piece_") for symbol in missing))
        compiler = ThreadPoolExecutor(1)
        try:
            for symbol in missing:
                _, text, optimize = wanted[symbol]
                codes[symbol] = submitted(compiler, self._compile, keys[symbol], text(), optimize=optimize)
                if symbol.startswith("piece_"):
                    self.compiled += 1
                    report.written()
            for symbol, code in codes.items():
                self.loader.add(code.result() if isinstance(code, Future) else code)
                self.loaded.add(symbol)
        finally:  # nobody waits for a piece that is compiled in vain
            compiler.shutdown(wait=False, cancel_futures=True)
        self.loader.finish()

    def _compile(self, key: str, text: str, *, optimize: bool) -> bytes:
        code = compile_text(text, self.target, optimize=optimize)
        if self.cache:
            disk.write(key, code)
        return code

    def _link(self, program: LaneProgram, name: str) -> LoadedProgram:
        lists = {phase: self.addresses(program.phase(phase)) for phase in PHASES}
        advance = CODE(self.loader.address(f"{name}_advance"))
        evaluate = CODE(self.loader.address(f"{name}_evaluate"))
        slots = WorkspaceLayout(program.layout, program.method).size
        return LoadedProgram(advance, evaluate, lists, self.template(lists), slots, (Pace(), Pace()))

    def addresses(self, pieces: Sequence[Piece]) -> np.ndarray:
        """Where loaded pieces are, ended by 0."""
        addresses = [self.loader.address(piece_name(piece)) for piece in pieces]
        return np.array([*(addresses or [self.loader.address(NO_OP)]), 0], np.uint64)

    # -- running -----------------------------------------------------------------------------------------------------

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel.advance`."""
        work: deque[Chunk] = deque()
        width = self.target.lanes
        total = sum(-(-group.table.shape[1] // width) for group in groups)
        threads = threads_for(self.threads)
        chunk = max(1, -(-total // (threads * CHUNKS_PER_THREAD if threads > 1 else 1)))
        for program, table, until, out, rows in (group[:5] for group in groups):
            ready = self.prepare(program)
            member, until = self.check(program, table, rows, out), self.stops(table, until)
            stops = until.copy()  # written between the calls of compiled code
            job = self.job(table, ready.template, h=h, t0=t0, every=every if out is not None else 0, origin=origin)
            job[JOB.index("member")], job[JOB.index("until")] = member.ctypes.data, stops.ctypes.data
            if out is not None:
                for name, value in (("out", out.ctypes.data), ("ticks", out.shape[1]), ("channels", out.shape[2])):
                    job[JOB.index(name)] = value
            place = (table[program.layout.rows(name)[0]] for name in ("clock", "trip", "fraction"))
            span = Span(*place, until=until, stops=stops, whole=program.layout.controlled)
            blocks, arrays = -(-table.shape[1] // width), (table, out, member, stops)
            work.extend(
                Chunk(ready.advance, job, arrays, k, min(k + chunk, blocks), width, ready.slots, ready.paces[0], span)
                for k in range(0, blocks, chunk)
            )
        self.run(work)

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel.evaluate`."""
        ready = self.prepare(program)
        self.check(program, table, None, None)
        job = self.job(table, ready.template, h=h, t0=t0, every=0, origin=0)
        layout, lanes = program.layout, table.shape[1]
        names = WRITES[phase]
        slots = np.array([slot for name in names for slot in layout.slots(name)], np.int64)
        fresh = None
        if names[0] in layout.columns():
            targets = [table[row].ctypes.data for name in names for row in layout.rows(name)]
        else:
            fresh = np.empty((len(slots), lanes), self.dtype)
            targets = [row.ctypes.data for row in fresh]
        addresses = np.array(targets, np.uint64)
        for name, value in (("count", len(slots)), ("slots", slots.ctypes.data), ("targets", addresses.ctypes.data)):
            job[JOB.index(name)] = value
        job[JOB.index("list_phase")] = ready.lists[phase].ctypes.data
        width, arrays = self.target.lanes, (table, fresh, slots, addresses)
        blocks, pace = -(-lanes // width), ready.paces[1]
        chunk = max(EVALUATED, -(-blocks // (self.threads * CHUNKS_PER_THREAD)))
        work = deque(
            Chunk(ready.evaluate, job, arrays, k, min(k + chunk, blocks), width, ready.slots, pace, None)
            for k in range(0, blocks, chunk)
        )
        while work:  # also where a signal comes
            self.run(work, Stop())
        return fresh

    def template(self, lists: Mapping[str, np.ndarray]) -> np.ndarray:
        """What all arguments of compiled code have in common that runs lists of pieces, by the field of each."""
        job = np.zeros(len(JOB), np.int64)
        for phase, addresses in lists.items():
            job[JOB.index(f"list_{phase}")] = addresses.ctypes.data
        return job

    def job(self, table: np.ndarray, template: np.ndarray, **numbers: float) -> np.ndarray:
        """The argument of compiled code: h, t0, every and origin as numbers."""
        job = template.copy()
        job[JOB.index("table")], job[JOB.index("lanes")] = table.ctypes.data, table.shape[1]
        for name in ("h", "t0"):
            job.view(np.float64)[JOB.index(name)] = numbers[name]
        for name in ("every", "origin"):
            job[JOB.index(name)] = int(numbers[name])
        return job

    def stops(self, table: np.ndarray, until: np.ndarray) -> np.ndarray:
        """The clocks at which the lanes stop, as the compiled code reads them."""
        if np.shape(until) != (table.shape[1],):
            raise ValueError(f"until has one entry a lane, {table.shape[1]}, found shape {np.shape(until)}")
        if self.dtype == np.float32 and np.max(until, initial=0.0) >= 2**24:
            raise ValueError(f"a clock of {np.max(until):g} steps does not fit float32: restart it, increasing t0")
        return np.ascontiguousarray(until, self.dtype)

    def check(
        self, program: LaneProgram, table: np.ndarray, member: np.ndarray | None, out: np.ndarray | None
    ) -> np.ndarray:
        """Refuses arrays that compiled code would read wrongly; returns `member`, of -1 where left out."""
        rows, nc = program.layout.row_count, program.layout.nc
        if table.dtype != self.dtype or table.ndim != 2 or table.shape[0] != rows or not table.flags.c_contiguous:
            raise ValueError(
                f"a table is C-contiguous {self.dtype} of {rows} rows, found {table.dtype} of shape {table.shape}"
            )
        members = np.full(table.shape[1], -1, np.int64) if member is None else np.ascontiguousarray(member, np.int64)
        if members.shape != (table.shape[1],):
            raise ValueError(f"member has one entry a lane, {table.shape[1]}, found shape {members.shape}")
        if out is not None:
            if out.dtype != self.dtype or out.ndim != 3 or out.shape[2] != nc or not out.flags.c_contiguous:
                raise ValueError(f"out is C-contiguous {self.dtype} (members, ticks, {nc}), found {out.shape}")
            if members.size and members.max() >= out.shape[0]:
                raise ValueError(f"member {members.max()} has no row in out, which has {out.shape[0]}")
        return members

    def run(self, work: deque[Chunk], never: Stop | None = None) -> None:
        """Runs all chunks with all threads; ctypes releases the GIL while a slice of one runs.

        Args:
            never: what stops a chunk in place of a signal.
        """

        def step(chunk: Chunk, stopped: Stop) -> None:
            chunk.run(self._workspace(chunk.slots), never or stopped)

        share_out(self._threads.pool, self.threads, work, step, here=False)

    def _workspace(self, slots: int) -> int:
        """The address of this thread's own workspace, at least so large."""
        room = self._of_thread.__dict__
        if room.get("slots", -1) < slots:
            width = self.target.lanes
            room["slots"], room["workspace"] = slots, np.zeros((slots + 1) * width, self.dtype)
            slot = width * self.target.bytes  # a power of two, the alignment of slots that LLVM assumes
            room["address"] = -(-room["workspace"].ctypes.data // slot) * slot
        return room["address"]

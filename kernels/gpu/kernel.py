"""The kernel of the backend `gpu`: lanes are stepped in short launches on a device.

The table of a run stays there (`device_table`). Others, those of more lanes than one device should have among them, go
there with each call and come back; these are divided over all GPUs of the host, each with a thread of its own. Single
phases run where the table is, those of few lanes on the host's vector units, with the same bits.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kernels.contract import Group
from shiftjax.kernels.forks import Threads, cores
from shiftjax.kernels.gpu.cuda_device import cuda_device, other_devices
from shiftjax.kernels.gpu.device import Device
from shiftjax.kernels.gpu.device_search import DeviceSearch
from shiftjax.kernels.gpu.device_table import DeviceColumns, DeviceTable
from shiftjax.kernels.gpu.devices import FULL, SHARE, Devices, LaunchPace, LoadedKernel
from shiftjax.kernels.gpu.kernel_module import LaneModule
from shiftjax.kernels.gpu.lane_loop import ENTRY, lane_module, program_identity, program_places
from shiftjax.kernels.gpu.moves import Moves
from shiftjax.kernels.gpu.on_device import CallNumbers, DeviceLanes, OnDevice, standing_lanes
from shiftjax.kernels.gpu.phase_module import ENTRY as PHASE
from shiftjax.kernels.gpu.phase_module import fresh_rows, phase_identity, phase_module
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.lane_program import WRITES, LaneProgram
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.llvm.cpu import CpuKernel
from shiftjax.kernels.pivoting.search import MatrixCode, PivotSets, SearchedLanes
from shiftjax.kernels.workers import Stop, submitted
from shiftjax.shield import shielded

BATCH = 8 * FULL
THERE = 512  # lanes from which single phases run on the device; a module of a phase takes 0.1 s to assemble, once
ASSEMBLERS = 4  # threads that assemble programs, at most: seconds each, of which a run needs few
STAYING = 0.1  # of its free memory that a table may have which stays there: copies and recordings stand beside it


class GpuKernel:
    """Compiles what is missing, runs lanes. See `contract.Kernel`.

    Args:
        threads: of the host, for single phases. device: the first GPU of this machine where left out.
        tuning: of the code. others: opens more GPUs of the kind of the first, when there are lanes for them; left out
            those of this machine, beside a `device` that is given none.

    Attributes:
        device: the first. devices: all over which lanes may be divided.

    Raises:
        ModelError: no GPU, or no bindings of its driver.
    """

    def __init__(
        self,
        precision: str = "f64",
        threads: int | None = None,
        device: Device | None = None,
        tuning: Tuning = Tuning(),  # noqa: B008 - frozen
        others: Callable[[Device], Sequence[Device]] | None = None,
    ) -> None:
        self.tuning, self.device = tuning, device or cuda_device()
        self.target = gpu(precision, self.device.arch)
        self.host = CpuKernel(precision, threads)
        self.dtype = self.host.dtype
        self.batch = BATCH
        self.devices = Devices(self.device, others or (other_devices if device is None else lambda first: ()))
        self._written, self._written_s, self._counting = 0, 0.0, threading.Lock()
        self._ready: dict[tuple[int, int], tuple[LaneProgram, LoadedKernel]] = {}
        self._phases: dict[tuple[int, str], tuple[LaneProgram, LoadedKernel]] = {}
        self._begun: dict[int, tuple[LaneProgram, Future[LoadedKernel]]] = {}
        self._assembling = Threads(min(cores(), ASSEMBLERS))

    @property
    def devices_used(self) -> int:
        """Over how many devices a call has divided its lanes, at most."""
        return self.devices.used

    @property
    def compiled(self) -> int:
        """Pieces compiled so far, for the device and for the host."""
        return self._written + self.host.compiled

    @property
    def compile_s(self) -> float:
        """Wall time that was waited for it; programs are assembled in threads, too, while lanes run."""
        return self._written_s + self.host.compile_s

    @property
    def launched_s(self) -> float:
        """Seconds in which devices stepped lanes, of all of them together."""
        return sum(ready.pace.launched for _, ready in self._ready.values())

    def prepare(self, program: LaneProgram, number: int = 0) -> LoadedKernel:
        """See `contract.Kernel.prepare`; for a device by its number."""
        known = self._ready.get((id(program), number))
        if known is not None:
            return known[1]
        begun = self._begun.pop(id(program), None) if number == 0 else None
        with self._waiting():
            ready = self._loaded(program, number) if begun is None else begun[1].result()
        self._ready[id(program), number] = (program, ready)
        return ready

    def begin(self, program: LaneProgram) -> None:
        """Starts to prepare a program for the first device in a thread, for lanes that will run it soon."""
        if (id(program), 0) not in self._ready and id(program) not in self._begun:
            self._begun[id(program)] = program, submitted(self._assembling.pool(), self._loaded, program, 0)

    def _loaded(self, program: LaneProgram, number: int) -> LoadedKernel:
        target, tuning = self.target, self.tuning
        return self._load(
            ENTRY, program_identity(program, target, tuning), lambda: lane_module(program, target, tuning), number,
            len(program.pieces()), program_places(program, target, tuning).bytes(target),
        )  # fmt: skip

    def load(
        self, entry: str, identity: str, module: Callable[[], LaneModule], number: int, *, pieces: int, shared: int = 0
    ) -> LoadedKernel:
        """A kernel on a device by its number.

        Args:
            entry: its name. identity: what decides its module. pieces: of that. shared: bytes of a block.
        """
        with self._waiting():
            return self._load(entry, identity, module, number, pieces, shared)

    def _load(
        self, entry: str, identity: str, module: Callable[[], LaneModule], number: int, pieces: int, shared: int
    ) -> LoadedKernel:
        def text() -> str:
            with self._counting:
                self._written += pieces
            return ptx(module().text, self.target)

        function = self.devices.numbered(number).load(identity, text, entry, shared)
        return LoadedKernel(function, self.tuning.block, shared, LaunchPace())

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Counts how long this thread waits for code."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            with self._counting:
                self._written_s += time.perf_counter() - begun

    def resident(self, table: LaneTable) -> LaneTable:
        """See `contract.HasMemory`."""
        if len(self.devices.taking(table.lanes)) > 1 or table.shown.nbytes > STAYING * self.device.free_bytes():
            return table
        return DeviceTable(table.layout, table.array, self._moves)

    @cached_property
    def _moves(self) -> Moves:
        return Moves(self.device, self.dtype)

    @cached_property
    def _search(self) -> DeviceSearch:
        return DeviceSearch(self._moves)

    def searched(self, code: MatrixCode, lanes: SearchedLanes) -> PivotSets | None:
        """See `pivoting.search.SearchesThere`."""
        return self._search(code, lanes)

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel.evaluate`."""
        return self.host.evaluate(program, phase, table, t0, h)

    def evaluate_there(
        self, program: LaneProgram, phase: str, table: LaneTable, t0: float, h: float
    ) -> np.ndarray | None:
        """See `contract.HasMemory`; of few lanes on the host, to which they come.

        Lanes of which a phase is asked will be stepped soon: the loop of a new partition is assembled meanwhile.
        """
        self.begin(program)
        if table.lanes >= THERE and self._has(table):
            try:
                return self._evaluated(program, phase, table, t0, h)
            except MemoryError:
                pass  # the host has room
        return self.evaluate(program, phase, table.changing(WRITES[phase]), t0, h)

    def _evaluated(self, program: LaneProgram, phase: str, table: LaneTable, t0: float, h: float) -> np.ndarray | None:
        ready, count = self._phase(program, phase), table.lanes
        fresh = np.empty((fresh_rows(program.layout, phase), count), self.dtype)
        room, standing = self._moves.packed(fresh.size), standing_lanes(table)
        assert standing is not None
        where = (standing.address, standing.lanes, count, standing.columns)
        standing.table.stepped(WRITES[phase])  # before: an interrupt may come between
        self.device.launch(ready.function, ready.size(count), (*where, room, float(h), float(t0)))
        if not fresh.size:
            return None
        self.device.download(room, fresh)
        return fresh

    def _has(self, table: LaneTable | None) -> bool:
        """Whether lanes stand in the memory of the first device."""
        whole = table.whole if isinstance(table, DeviceColumns) and table.copied is None else table
        return isinstance(whole, DeviceTable) and whole.moves.device is self.device

    def _phase(self, program: LaneProgram, phase: str) -> LoadedKernel:
        """A phase loaded into the first device."""
        key, target, tuning = (id(program), phase), self.target, self.tuning
        if key not in self._phases:
            self._phases[key] = program, self.load(
                PHASE, phase_identity(program, phase, target, tuning),
                lambda: phase_module(program, phase, target, tuning), 0, pieces=len(program.phase(phase)),
            )  # fmt: skip
        return self._phases[key][1]

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel.advance`."""
        numbers = CallNumbers(int(every), int(origin), float(h), float(t0))
        staying, going = self._checked(groups, numbers)
        for one in staying:
            self.begin(one.group.program)
        for one in sorted(staying, key=lambda one: (id(one.group.program), 0) not in self._ready):
            stop = Stop()
            with shielded(stop.set):  # no signal comes between a step on the device and the ticks that it recorded
                self._run(one, 0, numbers, stop)
        taking = self.devices.taking(sum(len(one.members) for one in going))
        work = deque(portion for one in going for portion in self._portions(one, taking))
        self.devices.share_out(
            work, taking, lambda portion, number: self.prepare(portion.group.program, number),
            lambda portion, number, stop: self._run(portion, number, numbers, stop),
        )  # fmt: skip

    def _checked(self, groups: Sequence[Group], numbers: CallNumbers) -> tuple[list[DeviceLanes], list[DeviceLanes]]:
        """Groups whose lanes are on the device, with room for what is recorded of them, and the others."""
        host, staying, going = self.host, list[DeviceLanes](), list[DeviceLanes]()
        for group in groups:
            members = host.check(group.program, group.table, group.rows, group.out)
            one = DeviceLanes(group, host.stops(group.table, group.until), members, slice(0, len(members)))
            one = one._replace(window=one.ticks(numbers))
            table = group.resident
            if self._has(table):
                assert table is not None
                if one.bytes_beside() + table.shown.nbytes <= SHARE * self.device.free_bytes():
                    staying.append(one)
                    continue
                one = one._replace(group=group._replace(table=table.array, resident=None))
            going.append(one)
        return staying, going

    def _run(self, portion: DeviceLanes, number: int, numbers: CallNumbers, stop: Stop) -> None:
        ready, device = self.prepare(portion.group.program, number), self.devices.numbered(number)
        with OnDevice(device, portion, numbers) as memory:
            _launches(device, ready, memory, stop)

    def _portions(self, whole: DeviceLanes, taking: Sequence[int]) -> Iterator[DeviceLanes]:
        """Lanes of a group that the memory of a device holds at once, in as many portions at least as devices take.

        Raises:
            ModelError: it does not hold one.
        """
        rows, lanes = whole.group.table.shape
        one = rows * self.dtype.itemsize + -(-whole.bytes_beside() // max(lanes, 1))
        free = min(self.devices.numbered(number).free_bytes() for number in taking)
        room = int(SHARE * free / one)
        if room < 1 and lanes:
            what = f"a member of {one} bytes on a device with {free} free"
            raise ModelError("backend 'gpu'", what, "less than what is free", "Record fewer instants or channels.")
        room = min(room, -(-lanes // len(taking)))
        for first in range(0, lanes, max(room, 1)):
            yield whole._replace(lanes=slice(first, min(first + room, lanes)))


def _launches(device: Device, ready: LoadedKernel, memory: OnDevice, stop: Stop) -> None:
    """Launches until no lane runs, each so short that an interrupt need not wait for it."""
    size, unfinished = ready.size(memory.lanes), np.ones(1, np.int32)
    while unfinished[0] and not stop.is_set():
        unfinished[0] = 0
        device.upload(unfinished, memory.place["unfinished"])
        steps, begun = ready.pace.steps(memory.lanes), time.perf_counter()
        device.launch(ready.function, size, memory.arguments(steps))
        device.wait()
        took = time.perf_counter() - begun
        device.download(memory.place["unfinished"], unfinished)
        ready.pace.took(memory.lanes, steps, took, all_done=not unfinished[0])

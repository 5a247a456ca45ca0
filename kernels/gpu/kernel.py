"""The kernel of the backend `gpu`: lanes are stepped in short launches on a device.

The table of a run stays there (`device_table`). Others, those of more lanes than one device should have among them, go
there with each call and come back; these are divided over all GPUs of the host, each with a thread of its own. Single
phases and sweeps of gradients run on the host's vector units, with the same bits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kernels.contract import Backward, Group
from shiftjax.kernels.forks import Threads, cores
from shiftjax.kernels.gpu.cuda_device import cuda_device, other_devices
from shiftjax.kernels.gpu.device import Device, Launch
from shiftjax.kernels.gpu.device_search import DeviceSearch
from shiftjax.kernels.gpu.device_table import DeviceColumns, DeviceTable
from shiftjax.kernels.gpu.kernel_text import ENTRY
from shiftjax.kernels.gpu.lane_module import lane_module, program_identity, program_places
from shiftjax.kernels.gpu.moves import Moves
from shiftjax.kernels.gpu.on_device import CallNumbers, DeviceLanes, OnDevice, standing_lanes
from shiftjax.kernels.gpu.phase_module import fresh_rows, phase_identity, phase_module
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.lane_program import WRITES, LaneProgram
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.llvm.backward import ReversibleCpuKernel
from shiftjax.kernels.llvm.slices import GROWTH, SLICE
from shiftjax.kernels.pivoting.search import MatrixCode, PivotSets, SearchedLanes
from shiftjax.kernels.workers import Stop, run_all, submitted
from shiftjax.record import record
from shiftjax.shield import shielded

FULL = 1 << 15  # lanes: fewer take as long; 33 792 run at a time on an H200, of most programs
FIRST, MOST = 16, 1 << 20  # steps of the first launch and of any
BATCH = 8 * FULL
SHARE = 0.8  # of the free memory of a device that lanes take at once
THERE = 512  # lanes from which single phases run on the device; a module of a phase takes 0.1 s to assemble, once
ASSEMBLERS = 4  # threads that assemble programs, at most: seconds each, of which a run needs few
STAYING = 0.1  # of it that a table may have which stays there: beside it stand copies, and what is recorded


class LaunchPace:
    """How many steps of some lanes make a slice, learnt from the launches before.

    Attributes:
        one: seconds of a step of a lane among many; 0 where none is known. launched: seconds of all launches.
    """

    def __init__(self) -> None:
        self.one = self.launched = 0.0

    def steps(self, lanes: int) -> int:
        """Steps of the next launch."""
        return max(1, int(min(SLICE / (self.one * max(lanes, FULL)), MOST))) if self.one else FIRST

    def took(self, lanes: int, steps: int, seconds: float, *, all_done: bool) -> None:
        """Learns from a launch; one that all lanes ended had fewer steps, and says something only where it was slow."""
        self.launched += seconds
        if not all_done or seconds > SLICE:
            measured = seconds / (steps * max(lanes, FULL))
            self.one = max(measured, self.one / GROWTH)  # a launch whose lanes had mostly ended looks fast


@record
class LoadedLoop:
    """A program loaded into a device.

    Attributes:
        function: its kernel. block: threads. shared: bytes of a block. pace: of its launches.
    """

    function: Any
    block: int
    shared: int
    pace: LaunchPace


class GpuKernel:
    """Compiles what is missing, runs lanes. See `contract.Kernel`.

    Args:
        threads: of the host, for single phases. device: the first GPU of this machine where left out.
        tuning: of the code. others: opens more GPUs of the kind of the first, when there are lanes for them; left out
            those of this machine, beside a `device` that is given none.

    Attributes:
        devices_used: over how many devices a call of `advance` has divided its lanes, at most.

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
        self.host = ReversibleCpuKernel(precision, threads)
        self.dtype = self.host.dtype
        self.batch = BATCH
        self._others = others or (other_devices if device is None else lambda first: ())
        self._written, self._written_s = 0, 0.0
        self.devices_used = 1
        self._ready: dict[tuple[int, int], tuple[LaneProgram, LoadedLoop]] = {}
        self._phases: dict[tuple[int, str], tuple[LaneProgram, Any]] = {}
        self._begun: dict[int, tuple[LaneProgram, Future[LoadedLoop]]] = {}
        self._assembling = Threads(min(cores(), ASSEMBLERS))

    @cached_property
    def _devices(self) -> tuple[Device, ...]:
        """All that lanes may be divided over, opened when there are lanes for them; the first is `device`."""
        return (self.device, *self._others(self.device))

    def _numbered(self, number: int) -> Device:
        """A device by its number; for the first one no other is opened."""
        return self._devices[number] if number else self.device

    @cached_property
    def _threads(self) -> Threads:
        """One a device."""
        return Threads(len(self._devices))

    @property
    def compiled(self) -> int:
        """Pieces compiled so far, for the device and for the host."""
        return self._written + self.host.compiled

    @property
    def compile_s(self) -> float:
        """Wall time spent on it."""
        return self._written_s + self.host.compile_s

    @property
    def launched_s(self) -> float:
        """Seconds in which devices stepped lanes, of all of them together."""
        return sum(ready.pace.launched for _, ready in self._ready.values())

    def prepare(self, program: LaneProgram, number: int = 0) -> LoadedLoop:
        """See `contract.Kernel.prepare`; for a device by its number."""
        known = self._ready.get((id(program), number))
        if known is not None:
            return known[1]
        started, begun = time.perf_counter(), self._begun.pop(id(program), None) if number == 0 else None
        ready = self._loaded(program, number) if begun is None else begun[1].result()
        self._written_s += time.perf_counter() - started
        self._ready[id(program), number] = (program, ready)
        return ready

    def begin(self, program: LaneProgram) -> None:
        """Starts to prepare a program for the first device in a thread, for lanes that will run it soon."""
        if (id(program), 0) not in self._ready and id(program) not in self._begun:
            self._begun[id(program)] = program, submitted(self._assembling.pool(), self._loaded, program, 0)

    def _loaded(self, program: LaneProgram, number: int) -> LoadedLoop:
        places = program_places(program, self.target, self.tuning)
        shared, identity = places.bytes(self.target), program_identity(program, self.target, self.tuning)
        function = self._numbered(number).load(identity, lambda: self._ptx(program), ENTRY, shared)
        return LoadedLoop(function, self.tuning.block, shared, LaunchPace())

    def _ptx(self, program: LaneProgram) -> str:
        self._written += len(program.pieces())
        return ptx(lane_module(program, self.target, self.tuning).text, self.target)

    def resident(self, table: LaneTable) -> LaneTable:
        """See `contract.HasMemory`."""
        if len(self._taking(table.lanes)) > 1 or table.shown.nbytes > STAYING * self.device.free_bytes():
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
        function, count = self._phase(program, phase), table.lanes
        fresh = np.empty((fresh_rows(program.layout, phase), count), self.dtype)
        room, standing = self._moves.packed(fresh.size), standing_lanes(table)
        assert standing is not None
        where = (standing.address, standing.lanes, count, standing.columns)
        size = Launch(-(-count // self.tuning.block), self.tuning.block, 0)
        self.device.launch(function, size, (*where, room, float(h), float(t0)))
        standing.table.stepped(WRITES[phase])
        if not fresh.size:
            return None
        self.device.download(room, fresh)
        return fresh

    def _has(self, table: LaneTable | None) -> bool:
        """Whether lanes stand in the memory of the first device."""
        whole = table.whole if isinstance(table, DeviceColumns) and table.copied is None else table
        return isinstance(whole, DeviceTable) and whole.moves.device is self.device

    def _phase(self, program: LaneProgram, phase: str) -> Any:
        """A phase loaded into the first device."""
        known = self._phases.get((id(program), phase))
        if known is not None:
            return known[1]
        begun, identity = time.perf_counter(), phase_identity(program, phase, self.target)
        text = lambda: ptx(phase_module(program, phase, self.target), self.target)  # noqa: E731
        function = self.device.load(identity, text, ENTRY, 0)
        self._written_s += time.perf_counter() - begun
        self._phases[id(program), phase] = (program, function)
        return function

    def backward(self) -> Backward:
        """See `contract.Reversible`."""
        return self.host.backward()

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
        taking = self._taking(sum(len(one.members) for one in going))
        self.devices_used = max(self.devices_used, len(taking))
        work = deque(portion for one in going for portion in self._portions(one, one.ticks(numbers), taking))
        if len(taking) == 1:
            while work:
                self._run(work.popleft(), 0, numbers, Stop())
            return
        for portion in work:
            for number in taking:
                self.prepare(portion.group.program, number)
        free = deque(taking)

        def run_on_one(stop: Stop) -> None:
            number = free.popleft()
            while not stop.is_set():
                try:
                    portion = work.popleft()
                except IndexError:
                    return
                self._run(portion, number, numbers, stop)

        run_all(self._threads.pool(), len(taking), run_on_one)

    def _checked(self, groups: Sequence[Group], numbers: CallNumbers) -> tuple[list[DeviceLanes], list[DeviceLanes]]:
        """Groups whose lanes are on the device, with room for what is recorded of them, and the others."""
        host, staying, going = self.host, list[DeviceLanes](), list[DeviceLanes]()
        for group in groups:
            members = host.check(group.program, group.table, group.rows, group.out)
            one = DeviceLanes(group, host.stops(group.table, group.until), members, slice(0, len(members)))
            table = group.resident
            if self._has(table):
                assert table is not None
                if one.bytes_beside(one.ticks(numbers)) + table.shown.nbytes <= SHARE * self.device.free_bytes():
                    staying.append(one)
                    continue
                one = one._replace(group=group._replace(table=table.array, resident=None))
            going.append(one)
        return staying, going

    def _taking(self, lanes: int) -> list[int]:
        """The devices over which so many lanes are divided: those with half as much free memory as the first."""
        if lanes < 2 * FULL:
            return [0]
        enough = self.device.free_bytes() / 2
        able = [number for number, device in enumerate(self._devices) if number == 0 or device.free_bytes() >= enough]
        return able[: lanes // FULL]

    def _run(self, portion: DeviceLanes, number: int, numbers: CallNumbers, stop: Stop) -> None:
        ready, device = self.prepare(portion.group.program, number), self._numbered(number)
        with OnDevice(device, portion, numbers) as memory:
            _launches(device, ready, memory, stop)

    def _portions(self, whole: DeviceLanes, ticks: range, taking: Sequence[int]) -> Iterator[DeviceLanes]:
        """Lanes of a group that the memory of a device holds at once, in as many portions at least as devices take.

        Raises:
            ModelError: it does not hold one.
        """
        rows, lanes = whole.group.table.shape
        one = rows * self.dtype.itemsize + -(-whole.bytes_beside(ticks) // max(lanes, 1))
        free = min(self._numbered(number).free_bytes() for number in taking)
        room = int(SHARE * free / one)
        if room < 1 and lanes:
            what = f"a member of {one} bytes on a device with {free} free"
            raise ModelError("backend 'gpu'", what, "less than what is free", "Record fewer instants or channels.")
        room = min(room, -(-lanes // len(taking)))
        for first in range(0, lanes, max(room, 1)):
            yield whole._replace(lanes=slice(first, min(first + room, lanes)))


def _launches(device: Device, ready: LoadedLoop, memory: OnDevice, stop: Stop) -> None:
    """Launches until no lane runs, each so short that an interrupt need not wait for it."""
    size = Launch(-(-memory.lanes // ready.block), ready.block, ready.shared)
    unfinished = np.ones(1, np.int32)
    while unfinished[0] and not stop.is_set():
        unfinished[0] = 0
        device.upload(unfinished, memory.place["unfinished"])
        steps, begun = ready.pace.steps(memory.lanes), time.perf_counter()
        device.launch(ready.function, size, memory.arguments(steps))
        device.wait()
        took = time.perf_counter() - begun
        device.download(memory.place["unfinished"], unfinished)
        ready.pace.took(memory.lanes, steps, took, all_done=not unfinished[0])

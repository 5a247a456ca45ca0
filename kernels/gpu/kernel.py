"""The kernel of the backend `gpu`: a table goes to the device, its lanes are stepped in short launches, it comes back.

Single phases and sweeps of gradients run on the host's vector units, on the same table with the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.kernels.contract import Backward, Group
from shiftjax.kernels.gpu.cuda_device import cuda_device
from shiftjax.kernels.gpu.device import Device, Launch
from shiftjax.kernels.gpu.lane_module import ENTRY, lane_module, program_identity, program_places
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.llvm.backward import ReversibleCpuKernel
from shiftjax.kernels.llvm.slices import SLICE
from shiftjax.record import record

FULL = 1 << 15  # lanes that take as long as one
FIRST, MOST = 64, 1 << 20  # steps of the first launch and of any
BATCH = 1 << 18  # lanes: six times what an H200 runs at a time, of a four-bar


class LaunchPace:
    """How many steps of some lanes make a slice, learnt from the launches before.

    Attributes:
        one: seconds of a step of a lane among many; 0 where none is known.
    """

    def __init__(self) -> None:
        self.one = 0.0

    def steps(self, lanes: int) -> int:
        """Steps of the next launch."""
        return max(1, int(min(SLICE / (self.one * max(lanes, FULL)), MOST))) if self.one else FIRST

    def took(self, lanes: int, steps: int, seconds: float, *, all_done: bool) -> None:
        """Learns from a launch; one that all lanes ended had fewer steps, and says something only where it was slow."""
        if not all_done or seconds > SLICE:
            self.one = seconds / (steps * max(lanes, FULL))


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
        tuning: of the code.

    Attributes:
        launched_s: seconds in which the device stepped lanes.

    Raises:
        ModelError: no GPU, or no bindings of its driver.
    """

    def __init__(
        self,
        precision: str = "f64",
        threads: int | None = None,
        device: Device | None = None,
        tuning: Tuning = Tuning(),  # noqa: B008 - frozen
    ) -> None:
        self.tuning, self.device = tuning, device or cuda_device()
        self.target = gpu(precision, self.device.arch)
        self.host = ReversibleCpuKernel(precision, threads)
        self.dtype = self.host.dtype
        self.compiled, self.compile_s, self.batch, self.launched_s = 0, 0.0, BATCH, 0.0
        self._ready: dict[int, tuple[LaneProgram, LoadedLoop]] = {}

    def prepare(self, program: LaneProgram) -> LoadedLoop:
        """See `contract.Kernel.prepare`."""
        known = self._ready.get(id(program))
        if known is not None:
            return known[1]
        begun = time.perf_counter()
        places = program_places(program, self.tuning)
        shared, identity = places.bytes(self.target), program_identity(program, self.target, self.tuning)
        function = self.device.load(identity, lambda: self._ptx(program), ENTRY, shared)
        ready = LoadedLoop(function, self.tuning.block, shared, LaunchPace())
        self.compiled += len(program.pieces())
        self.compile_s += time.perf_counter() - begun
        self._ready[id(program)] = (program, ready)
        return ready

    def _ptx(self, program: LaneProgram) -> str:
        return ptx(lane_module(program, self.target, self.tuning).text, self.target)

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel.evaluate`."""
        return self.host.evaluate(program, phase, table, t0, h)

    def backward(self) -> Backward:
        """See `contract.Reversible`."""
        return self.host.backward()

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel.advance`."""
        for group in groups:
            ready = self.prepare(group.program)
            members = self.host.check(group.program, group.table, group.rows, group.out)
            until = self.host.stops(group.table, group.until)
            if group.table.shape[1]:
                with OnDevice(self.device, group, until, members) as memory:
                    numbers = (every if group.out is not None else 0, int(origin), float(h), float(t0))
                    self._launches(ready, memory, numbers)

    def _launches(self, ready: LoadedLoop, memory: OnDevice, numbers: tuple[int, int, float, float]) -> None:
        """Launches until no lane runs, each so short that an interrupt need not wait for it."""
        size = Launch(-(-memory.lanes // ready.block), ready.block, ready.shared)
        unfinished = np.ones(1, np.int32)
        while unfinished[0]:
            unfinished[0] = 0
            self.device.upload(unfinished, memory.place["unfinished"])
            steps, begun = ready.pace.steps(memory.lanes), time.perf_counter()
            self.device.launch(ready.function, size, memory.arguments(numbers, steps))
            self.device.wait()
            took = time.perf_counter() - begun
            self.device.download(memory.place["unfinished"], unfinished)
            ready.pace.took(memory.lanes, steps, took, all_done=not unfinished[0])
            self.launched_s += took


class OnDevice:
    """The arrays of a group on the device; the table and what is recorded come back at the end, whatever happens."""

    def __init__(self, device: Device, group: Group, until: np.ndarray, members: np.ndarray) -> None:
        self.device, self.group, self.lanes = device, group, group.table.shape[1]
        self.recorded = np.flatnonzero(members >= 0) if group.out is not None else np.zeros(0, int)
        self.rows = members[self.recorded]  # of `out`
        member = np.full(self.lanes, -1, np.int64)
        member[self.recorded] = np.arange(len(self.recorded))
        self.arrays = {"table": group.table, "until": until, "member": member}
        if group.out is not None:
            self.arrays["out"] = np.ascontiguousarray(group.out[self.rows])
        self.arrays["taken"] = np.zeros(self.lanes, group.table.dtype)
        self.arrays["unfinished"] = np.zeros(1, np.int32)
        self.place: dict[str, int] = {}

    def __enter__(self) -> OnDevice:
        try:
            for name, array in self.arrays.items():
                self.place[name] = self.device.allocate(array.nbytes)
                self.device.upload(array, self.place[name])
        except BaseException:
            self._free()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.device.download(self.place["table"], self.group.table)
            if self.group.out is not None and len(self.rows):
                self.device.download(self.place["out"], self.arrays["out"])
                self.group.out[self.rows] = self.arrays["out"]
        finally:
            self._free()

    def _free(self) -> None:
        for address in self.place.values():
            self.device.free(address)
        self.place.clear()

    def arguments(self, numbers: tuple[int, int, float, float], steps: int) -> list[int | float]:
        """Of a launch, in the order of `lane_loop.ARGUMENTS`."""
        out = self.group.out
        ticks, channels = (0, 0) if out is None else out.shape[1:]
        place = self.place
        table = (place["table"], self.lanes, place["until"], place["member"], place.get("out", 0), ticks, channels)
        return [*table, *numbers, steps, place["taken"], place["unfinished"]]

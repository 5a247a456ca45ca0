"""Backward sweeps on devices: legs of lanes, a portion of them at a time, their stacks in the device's memory.

A leg is run again and gone back over in short launches (`lane_leg`). Single phases on the way back are the host's.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property, partial

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.gpu.device import Device
from shiftjax.kernels.gpu.devices import FULL, SHARE, LoadedKernel
from shiftjax.kernels.gpu.kernel import GpuKernel
from shiftjax.kernels.gpu.lane_leg import AHEAD, BACK, leg_identity, leg_module, lists_of
from shiftjax.kernels.gpu.leg_on_device import LegLanes, LegOnDevice, Room, ticks_of
from shiftjax.kernels.gpu.on_device import CallNumbers
from shiftjax.kernels.llvm.backward import CpuBackward
from shiftjax.kernels.llvm.leg_builder import record_slots
from shiftjax.kernels.step_program import Method
from shiftjax.kernels.workers import Stop

STACKS = 0.25  # of the free memory of a device, where nothing is said
# Steps of a leg: of more, what goes to the device and comes back is little beside them already.
LEAST, MOST = 8, 1024


class GpuBackward:
    """Runs adjoint programs on the devices of a kernel. See `contract.Backward`.

    Args:
        memory: bytes that stacks may take on a device; a quarter of what is free there where left out.
    """

    def __init__(self, kernel: GpuKernel, memory: float | None = None) -> None:
        self.kernel, self.host, self._given = kernel, CpuBackward(kernel.host), memory
        self._ready: dict[tuple[int, int], tuple[AdjointProgram, dict[str, LoadedKernel]]] = {}

    @cached_property
    def memory(self) -> float:
        """Bytes for stacks."""
        return STACKS * self.kernel.device.free_bytes() if self._given is None else self._given

    def launched(self, kernel: str) -> float:
        """Seconds in which devices ran one of both kernels, of all of them together [s]."""
        return sum(ready[kernel].pace.launched for _, ready in self._ready.values())

    def prepare(self, adjoint: AdjointProgram, number: int = 0) -> dict[str, LoadedKernel]:
        """Writes and loads what is missing of both kernels of a leg, for a device by its number."""
        known = self._ready.get((id(adjoint), number))
        if known is not None:
            return known[1]
        kernel, ready = self.kernel, dict[str, LoadedKernel]()
        for name in (AHEAD, BACK):
            pieces = sum(map(len, lists_of(adjoint, name).values()))
            identity = leg_identity(adjoint, name, kernel.target, kernel.tuning)
            made = partial(leg_module, adjoint, name, kernel.target, kernel.tuning)
            ready[name] = kernel.load(name, identity, made, number, pieces=pieces)
        self._ready[id(adjoint), number] = (adjoint, ready)
        return ready

    def longest(self, adjoint: AdjointProgram) -> int:
        """Steps that a leg may have."""
        return self.longest_of(adjoint.layout, adjoint.method)

    def longest_of(self, layout: AdjointLayout, method: Method) -> int:
        """So many that there is room for the stacks of as many lanes as run at a time."""
        return int(np.clip(self.memory / (FULL * self._step_bytes(layout, method)) - 1, LEAST, MOST))

    def _step_bytes(self, layout: AdjointLayout, method: Method) -> int:
        """Of the stack of a lane."""
        return record_slots(layout, method) * self.kernel.dtype.itemsize

    def touch(
        self, leg: Leg, phase: str, ends: np.ndarray | None = None, *, h: float, t0: float = 0.0, every: int = 1,
        origin: int = 0,
    ) -> None:  # fmt: skip
        """See `contract.Backward.touch`."""
        self.host.touch(leg, phase, ends, h=h, t0=t0, every=every, origin=origin)

    def sweep(self, legs: Sequence[Leg], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Backward.sweep`."""
        numbers = CallNumbers(int(every), int(origin), float(h), float(t0))
        whole = [self._checked(leg, numbers) for leg in legs]
        devices = self.kernel.devices
        taking = devices.taking(sum(len(one.members) for one in whole))
        parts = deque(part for one in whole for part in self._portions(one, taking))
        size = max((self._stack(part) for part in parts), default=0)
        with ExitStack() as given_back:  # once a call: a quarter of a large card's memory takes time to get
            stacks = {number: given_back.enter_context(Room(devices.numbered(number), size)) for number in taking}
            devices.share_out(
                parts, taking, lambda part, number: self.prepare(part.leg.adjoint, number),
                lambda part, number, stop: self._run(part, number, stacks[number].address, numbers, stop),
            )  # fmt: skip

    def _checked(self, leg: Leg, numbers: CallNumbers) -> LegLanes:
        """All lanes of a leg, whose arrays are as the device reads them."""
        members, steps = self.host.checked(leg), leg.bars[leg.adjoint.layout.rows("steps").start]
        if steps.max(initial=0) > (longest := self.longest(leg.adjoint)):
            raise ValueError(f"a leg of {steps.max():g} steps, its stack holds {longest}")
        return LegLanes(leg, ticks_of(leg, steps, members, numbers), members, slice(0, len(members)))

    def _portions(self, whole: LegLanes, taking: Sequence[int]) -> Iterator[LegLanes]:
        """Lanes whose stacks there is room for at once, in as many portions at least as devices take.

        Raises:
            ModelError: there is none for one.
        """
        leg, lanes = whole.leg, len(whole.members)
        if not lanes or not (most := int(whole.steps.max())):
            return
        stack = (most + 1) * self._step_bytes(leg.adjoint.layout, leg.adjoint.method)
        seeds = 0 if leg.seeds is None else len(whole.ticks) * leg.seeds.shape[2]
        one = stack + (len(leg.table) + len(leg.bars) + seeds) * self.kernel.dtype.itemsize + whole.members.itemsize
        free = min(self.kernel.devices.numbered(number).free_bytes() for number in taking)
        if self.memory < stack:
            raise ModelError("tape_memory", f"{self.memory:.0f} bytes on a GPU", f"at least {stack}", "Give more.")
        if SHARE * free < one:
            what = f"the way back of a member of {one} bytes on a device with {free} free"
            raise ModelError("backend 'gpu'", what, "less than what is free", "Record fewer instants or channels.")
        room = min(int(min(self.memory / stack, SHARE * free / one)), -(-lanes // len(taking)))
        for first in range(0, lanes, room):
            yield whole._replace(lanes=slice(first, min(first + room, lanes)))

    def _stack(self, part: LegLanes) -> int:
        """Bytes of the stacks of some lanes."""
        adjoint = part.leg.adjoint
        return len(part.steps) * (int(part.steps.max()) + 1) * self._step_bytes(adjoint.layout, adjoint.method)

    def _run(self, part: LegLanes, number: int, stack: int, numbers: CallNumbers, stop: Stop) -> None:
        """Ahead and back; the cotangents come back at the end, of lanes that have got there."""
        ready, device = self.prepare(part.leg.adjoint, number), self.kernel.devices.numbered(number)
        steps = int(part.steps.max())
        with LegOnDevice(device, part, stack, numbers) as memory:
            launched = _over(device, ready[AHEAD], memory, range(steps), stop)
            launched = launched and _over(device, ready[BACK], memory, range(steps)[::-1], stop)
            if launched:
                memory.take_back()


class ReversibleGpuKernel(GpuKernel):
    """The kernel of the backend `gpu`, with its way back."""

    def backward(self, memory: float | None = None) -> GpuBackward:
        """See `contract.Reversible`."""
        return GpuBackward(self, memory)


def _over(device: Device, ready: LoadedKernel, memory: LegOnDevice, steps: range, stop: Stop) -> bool:
    """Launches over steps in their order, each so short that an interrupt need not wait for it; whether all were."""
    while len(steps):
        if stop.is_set():
            return False
        some, begun = steps[: ready.pace.steps(memory.lanes)], time.perf_counter()
        device.launch(ready.function, ready.size(memory.lanes), memory.arguments(min(some), max(some) + 1))
        device.wait()
        steps = steps[len(some) :]
        ready.pace.took(memory.lanes, len(some), time.perf_counter() - begun, all_done=False)
    return True

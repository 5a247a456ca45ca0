"""Backward sweeps on devices: legs of lanes, a portion of them at a time, their stacks in the device's memory.

A leg is run again and gone back over in short launches (`lane_leg`). Single phases are the host's, as they are on the
way ahead.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.gpu.device import Device
from shiftjax.kernels.gpu.devices import FULL, SHARE, LoadedKernel
from shiftjax.kernels.gpu.kernel import GpuKernel
from shiftjax.kernels.gpu.lane_leg import AHEAD, BACK, leg_identity, leg_module, lists_of
from shiftjax.kernels.gpu.on_device import CallNumbers
from shiftjax.kernels.llvm.backward import CpuBackward
from shiftjax.kernels.llvm.leg_builder import record_slots
from shiftjax.kernels.step_program import Method
from shiftjax.kernels.workers import Stop

STACKS = 0.25  # of the free memory of a device, where nothing is said
# Steps of a leg. From the most on, what goes to the device and comes back with each is little beside its steps.
LEAST, MOST = 8, 1024


class LegLanes(NamedTuple):
    """Lanes of a leg that one device takes at once.

    Attributes:
        ticks: that may be at an end of their steps. members: of the whole leg, rows of its seeds. lanes: of it.
    """

    leg: Leg
    ticks: range
    members: np.ndarray
    lanes: slice

    @property
    def steps(self) -> np.ndarray:
        """(K,) how many each goes back."""
        return self.leg.bars[self.leg.adjoint.layout.rows("steps").start, self.lanes]


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

    @property
    def launched_s(self) -> float:
        """Seconds in which devices went back over legs, of all of them together."""
        return sum(one.pace.launched for _, ready in self._ready.values() for one in ready.values())

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
        devices.share_out(
            parts, taking, lambda part, number: self.prepare(part.leg.adjoint, number),
            lambda part, number, stop: self._run(part, number, numbers, stop),
        )  # fmt: skip

    def _checked(self, leg: Leg, numbers: CallNumbers) -> LegLanes:
        """All lanes of a leg, whose arrays are as the device reads them."""
        members, steps = self.host.checked(leg), leg.bars[leg.adjoint.layout.rows("steps").start]
        if steps.max(initial=0) > (longest := self.longest(leg.adjoint)):
            raise ValueError(f"a leg of {steps.max():g} steps, its stack holds {longest}")
        return LegLanes(leg, _ticks(leg, steps, members, numbers), members, slice(0, len(members)))

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
        beside = (len(leg.table) + len(leg.bars) + seeds) * self.kernel.dtype.itemsize + whole.members.itemsize
        free = SHARE * min(self.kernel.devices.numbered(number).free_bytes() for number in taking)
        room = int(min(self.memory / stack, free / (stack + beside)))
        if room < 1:
            what = f"{stack + beside} bytes for the way back of a member on a device with {free:.0f} left for it"
            what = what if self.memory >= stack else f"{self.memory:.0f} bytes for a stack of {stack}"
            raise ModelError("backend 'gpu'", what, "less than what is free", "Leave tape_memory out, or give more.")
        room = min(room, -(-lanes // len(taking)))
        for first in range(0, lanes, room):
            yield whole._replace(lanes=slice(first, min(first + room, lanes)))

    def _run(self, part: LegLanes, number: int, numbers: CallNumbers, stop: Stop) -> None:
        """Ahead and back; the cotangents come back at the end, of lanes that have got there."""
        ready, device = self.prepare(part.leg.adjoint, number), self.kernel.devices.numbered(number)
        steps = int(part.steps.max(initial=0))
        size = self._step_bytes(part.leg.adjoint.layout, part.leg.adjoint.method)
        with LegOnDevice(device, part, numbers, (steps + 1) * size) as memory:
            launched = _over(device, ready[AHEAD], memory, range(steps), stop)
            launched = launched and _over(device, ready[BACK], memory, range(steps)[::-1], stop)
            if launched:
                memory.take_back()


class ReversibleGpuKernel(GpuKernel):
    """The kernel of the backend `gpu`, with its way back."""

    def backward(self, memory: float | None = None) -> GpuBackward:
        """See `contract.Reversible`."""
        return GpuBackward(self, memory)


class LegOnDevice:
    """The arrays of some lanes of a leg on a device.

    Args:
        stack: bytes of that of a lane.
    """

    def __init__(self, device: Device, part: LegLanes, numbers: CallNumbers, stack: int) -> None:
        self.device, self.part, self.numbers = device, part, numbers
        leg, members = part.leg, part.members[part.lanes]
        self.lanes = len(members)
        seeded = np.flatnonzero(members >= 0) if leg.seeds is not None and len(part.ticks) else np.zeros(0, int)
        member = np.full(self.lanes, -1, np.int64)
        member[seeded] = np.arange(len(seeded))
        self.arrays = {"member": member}
        self.arrays |= {name: np.ascontiguousarray(getattr(leg, name)[:, part.lanes]) for name in ("table", "bars")}
        if leg.seeds is not None and len(seeded):
            self.arrays["out"] = leg.seeds[members[seeded], part.ticks.start : part.ticks.stop]
        self._stack = stack * self.lanes
        self.place: dict[str, int] = {}

    def __enter__(self) -> LegOnDevice:
        try:
            self.place["stack"] = self.device.allocate(self._stack)
            for name, array in self.arrays.items():
                self.place[name] = self.device.allocate(array.nbytes)
                self.device.upload(np.ascontiguousarray(array), self.place[name])
        except BaseException:
            self._free()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._free()

    def _free(self) -> None:
        while self.place:
            _, address = self.place.popitem()
            with suppress(RuntimeError):  # after a fault of the device
                self.device.free(address)

    def take_back(self) -> None:
        """Brings the cotangents to the leg."""
        self.device.download(self.place["bars"], self.arrays["bars"])
        self.part.leg.bars[:, self.part.lanes] = self.arrays["bars"]

    def arguments(self, begin: int, end: int) -> list[int | float]:
        """Of a launch over some steps, in the order of `lane_leg.ARGUMENTS`."""
        place, ticks, (every, origin, h, t0) = self.place, self.part.ticks, self.numbers
        seeds = (place.get("out", 0), ticks.start, len(ticks) if "out" in place else 0)
        tables = (place["table"], self.lanes, place["bars"], place["member"])
        return [*tables, *seeds, every, origin, h, t0, place["stack"], begin, end]


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


def _ticks(leg: Leg, steps: np.ndarray, members: np.ndarray, numbers: CallNumbers) -> range:
    """The ticks that may be at the end of a step of a leg."""
    seeded = (members >= 0) & (steps > 0)
    if leg.seeds is None or not numbers.every or not seeded.any():
        return range(0)
    rows = leg.adjoint.program.layout.rows
    clock, fraction = (leg.table[rows(name).start, seeded].astype(float) for name in ("clock", "fraction"))
    first, last = np.min(clock), np.max(clock + (steps[seeded] + 1) * np.maximum(fraction, 1.0))
    first, last = ((np.nan_to_num(at) - numbers.origin) / numbers.every for at in (first, last))
    first, last = (int(np.clip(at, 0, leg.seeds.shape[1])) for at in (first, last + 1.0))
    return range(first, last)

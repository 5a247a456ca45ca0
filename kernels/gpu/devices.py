"""The GPUs that share the lanes of a call, and how long launches on them are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from shiftjax.kernels.forks import Threads
from shiftjax.kernels.gpu.device import Device, Launch
from shiftjax.kernels.llvm.slices import GROWTH, SLICE
from shiftjax.kernels.workers import Stop, run_all
from shiftjax.record import record

P = TypeVar("P")
FULL = 1 << 15  # lanes: fewer take as long; 33 792 run at a time on an H200, of most programs
FIRST, MOST = 16, 1 << 20  # steps of the first launch and of any
SHARE = 0.8  # of the free memory of a device that lanes take at once


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
class LoadedKernel:
    """A kernel loaded into a device.

    Attributes:
        function: its code. block: threads. shared: bytes of a block. pace: of its launches.
    """

    function: Any
    block: int
    shared: int
    pace: LaunchPace

    def size(self, lanes: int) -> Launch:
        """Of a launch."""
        return Launch(-(-lanes // self.block), self.block, self.shared)


class Devices:
    """GPUs over which lanes may be divided.

    Args:
        others: opens more of the kind of the first, when there are lanes for them.

    Attributes:
        used: over how many lanes have been divided, at most.
    """

    def __init__(self, first: Device, others: Callable[[Device], Sequence[Device]]) -> None:
        self.first, self._others, self.used = first, others, 1

    @cached_property
    def _all(self) -> tuple[Device, ...]:
        return (self.first, *self._others(self.first))

    def numbered(self, number: int) -> Device:
        """A device by its number; for the first one no other is opened."""
        return self._all[number] if number else self.first

    def taking(self, lanes: int) -> list[int]:
        """Those over which so many lanes are divided: with half as much free memory as the first."""
        if lanes < 2 * FULL:
            return [0]
        enough = self.first.free_bytes() / 2
        able = [number for number, device in enumerate(self._all) if number == 0 or device.free_bytes() >= enough]
        return able[: lanes // FULL]

    @cached_property
    def _threads(self) -> Threads:
        """One a device."""
        return Threads(len(self._all))

    def share_out(
        self, parts: deque[P], taking: Sequence[int], prepare: Callable[[P, int], object],
        run: Callable[[P, int, Stop], None],
    ) -> None:  # fmt: skip
        """Calls `run` with every part and the number of a device; each device takes the next part when it is done.

        Args:
            parts: empty at the end. prepare: what is done before with every part and device, one after the other.
        """
        self.used = max(self.used, len(taking))
        for part in parts:
            for number in taking:
                prepare(part, number)
        if len(taking) == 1:
            while parts:
                run(parts.popleft(), taking[0], Stop())
            return
        free = deque(taking)

        def run_on_one(stop: Stop) -> None:
            number = free.popleft()
            while not stop.is_set():
                try:
                    part = parts.popleft()
                except IndexError:
                    return
                run(part, number, stop)

        run_all(self._threads.pool(), len(taking), run_on_one)

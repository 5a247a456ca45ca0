"""Lanes of a leg on a device, and the room that they take there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import NamedTuple

import numpy as np

from shiftjax.kernels.contract import Leg
from shiftjax.kernels.gpu.device import Device
from shiftjax.kernels.gpu.on_device import CallNumbers
from shiftjax.kernels.llvm.leg_builder import READ


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


class Room:
    """So many bytes of a device's memory, given back at the end."""

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size, self.address = device, size, 0

    def __enter__(self) -> Room:
        self.address = self.device.allocate(self.size) if self.size else 0
        return self

    def __exit__(self, *error: object) -> None:
        if self.address:
            with suppress(RuntimeError):  # after a fault of the device
                self.device.free(self.address)


class LegOnDevice:
    """The arrays of some lanes of a leg on a device.

    Args:
        stack: where there is room for theirs.
    """

    def __init__(self, device: Device, part: LegLanes, stack: int, numbers: CallNumbers) -> None:
        self.device, self.part, self.stack, self.numbers = device, part, stack, numbers
        leg, members = part.leg, part.members[part.lanes]
        self.lanes = len(members)
        seeded = np.flatnonzero(members >= 0) if len(part.ticks) else np.zeros(0, int)
        member = np.full(self.lanes, -1, np.int64)
        member[seeded] = np.arange(len(seeded))
        self.bars = np.ascontiguousarray(leg.bars[:, part.lanes])
        self.arrays = {"member": member, "bars": self.bars}
        if leg.seeds is not None and len(seeded):
            seeds = leg.seeds[members[seeded], part.ticks.start : part.ticks.stop]
            self.arrays["out"] = np.ascontiguousarray(seeds)
        self.rooms = {name: Room(device, array.nbytes) for name, array in self.arrays.items()}
        self.rooms["table"] = Room(device, len(leg.table) * self.lanes * leg.table.itemsize)
        self._given_back = ExitStack()

    def __enter__(self) -> LegOnDevice:
        with ExitStack() as given_back:
            for room in self.rooms.values():
                given_back.enter_context(room)
            for name, array in self.arrays.items():
                self.device.upload(array, self.rooms[name].address)
            for rows in self._rows():
                array = np.ascontiguousarray(self.part.leg.table[rows, self.part.lanes])
                self.device.upload(array, self.rooms["table"].address + rows.start * array[0].nbytes)
            self._given_back = given_back.pop_all()
        return self

    def _rows(self) -> Iterator[slice]:
        """Rows of the table that the steps read, those that follow each other together."""
        layout = self.part.leg.adjoint.program.layout
        rows = np.array(sorted(row for name in READ for row in layout.rows(name)))
        for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
            yield slice(int(run[0]), int(run[-1]) + 1)

    def __exit__(self, *error: object) -> None:
        self._given_back.close()

    def take_back(self) -> None:
        """Brings the cotangents to the leg."""
        self.device.download(self.rooms["bars"].address, self.bars)
        self.part.leg.bars[:, self.part.lanes] = self.bars

    def arguments(self, begin: int, end: int) -> list[int | float]:
        """Of a launch over some steps, in the order of `lane_leg.ARGUMENTS`."""
        place, ticks = {name: room.address for name, room in self.rooms.items()}, self.part.ticks
        tables = (place["table"], self.lanes, place["bars"], place["member"])
        seeds = (place.get("out", 0), ticks.start, len(ticks) if "out" in place else 0)
        return [*tables, *seeds, *self.numbers, self.stack, begin, end]


def ticks_of(leg: Leg, steps: np.ndarray, members: np.ndarray, numbers: CallNumbers) -> range:
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

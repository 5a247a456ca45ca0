"""Lanes that a device steps in one call of the kernel, and what stands there beside their table meanwhile."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from shiftjax.kernels.contract import Group
from shiftjax.kernels.gpu.device import Device
from shiftjax.kernels.gpu.device_table import DeviceColumns, DeviceTable
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.llvm.ir_builder import BEFORE, SAVED


class CallNumbers(NamedTuple):
    """What is the same for all lanes of a call, as `contract.Kernel.advance` is given it."""

    every: int
    origin: int
    h: float
    t0: float


class DeviceLanes(NamedTuple):
    """Lanes of a group that one device takes at once.

    Attributes:
        until, members: of the whole group. lanes: of it. window: ticks that may be recorded on the way.
    """

    group: Group
    until: np.ndarray
    members: np.ndarray
    lanes: slice
    window: range = range(0)

    def row(self, name: str) -> np.ndarray:
        """(B,) one row of the whole group."""
        group = self.group
        return group.table[group.program.layout.rows(name)[0]] if group.resident is None else group.resident.row(name)

    def ticks(self, numbers: CallNumbers) -> range:
        """The ticks that may be recorded on the way: of controlled lanes, which count their steps, all of them."""
        group = self.group
        if group.out is None:
            return range(0)
        if group.program.layout.controlled:
            return range(group.out.shape[1])
        if not numbers.every or not (recorded := self.members >= 0).any():
            return range(0)
        clock, fraction = (self.row(name)[recorded].astype(float) for name in ("clock", "fraction"))
        beyond = self.until[recorded] + np.maximum(np.nan_to_num(fraction), 1.0)  # the last step may pass its stop
        first, last = ((at - numbers.origin) / numbers.every for at in (np.min(clock), np.max(beyond)))
        first, last = (int(np.clip(np.nan_to_num(at), 0, group.out.shape[1])) for at in (first, last + 1.0))
        return range(first, last)

    def bytes_beside(self) -> int:
        """Of a device's memory that the whole group takes beside its table."""
        group, size = self.group, self.until.itemsize
        recorded = 0 if group.out is None else int((self.members >= 0).sum()) * len(self.window) * group.out.shape[2]
        return recorded * size + len(self.members) * (2 * size + self.members.itemsize)  # `until`, `taken`, `member`


class StandingLanes(NamedTuple):
    """Where lanes of a table are that stays on a device.

    Attributes:
        address: of the table. lanes: that it has. columns: address of the numbers of those that run; 0 for all in
            order, valid until others are listed. table: itself.
    """

    address: int
    lanes: int
    columns: int
    table: DeviceTable


def standing_lanes(table: LaneTable | None) -> StandingLanes | None:
    """Where lanes are, with all numbers as of now; None where they are on the host."""
    if isinstance(table, DeviceColumns) and table.copied is None:
        whole = table.whole
        return StandingLanes(whole.on_device(), whole.lanes, whole.moves.listed(table.members), whole)
    return StandingLanes(table.on_device(), table.lanes, 0, table) if isinstance(table, DeviceTable) else None


class OnDevice:
    """The arrays of some lanes of a group on the device; what is recorded comes back at the end, whatever happens, and
    so does the table unless it stays there."""

    def __init__(self, device: Device, portion: DeviceLanes, numbers: CallNumbers) -> None:
        self.device, self.portion, self.group, self.numbers = device, portion, portion.group, numbers
        group, lanes, members = portion.group, portion.lanes, portion.members[portion.lanes]
        self.lanes, self.window = len(members), portion.window
        recorded = np.flatnonzero(members >= 0) if group.out is not None else np.zeros(0, int)
        self.rows = members[recorded]  # of `out`
        member = np.full(self.lanes, -1, np.int64)
        member[recorded] = np.arange(len(recorded))
        self.arrays = {"until": np.ascontiguousarray(portion.until[lanes]), "member": member}
        if group.resident is None:
            whole = self.lanes == group.table.shape[1]
            self.arrays["table"] = group.table if whole else np.ascontiguousarray(group.table[:, lanes])
        if group.out is not None:
            self.arrays["out"] = np.ascontiguousarray(group.out[self.rows, self.window.start : self.window.stop])
        if group.program.layout.controlled:
            self.arrays["taken"] = np.zeros(self.lanes, group.table.dtype)
        self.arrays["unfinished"] = np.zeros(1, np.int32)
        self.place: dict[str, int] = {}
        self.standing: StandingLanes | None = None

    def __enter__(self) -> OnDevice:
        try:
            for name, array in self.arrays.items():
                self.place[name] = self.device.allocate(array.nbytes)
                self.device.upload(array, self.place[name])
            if (standing := standing_lanes(self.group.resident)) is not None:
                self.place["table"], self.standing = standing.address, standing
                changed = (*SAVED, *BEFORE, *["fraction"] * self.group.program.layout.controlled)
                standing.table.stepped(changed)
        except BaseException:
            self._free()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None or not issubclass(kind, RuntimeError):  # after a fault of the device nothing comes back
                self._take_back()
        finally:
            self._free()

    def _take_back(self) -> None:
        """Ticks first: an interrupt before the table has come leaves lanes where they were, which record them again."""
        if self.group.out is not None and len(self.rows) and len(self.window):
            self.device.download(self.place["out"], self.arrays["out"])
            self.group.out[self.rows, self.window.start : self.window.stop] = self.arrays["out"]
        if self.group.resident is not None:
            return
        self.device.download(self.place["table"], self.arrays["table"])
        if self.arrays["table"] is not self.group.table:
            self.group.table[:, self.portion.lanes] = self.arrays["table"]

    def _free(self) -> None:
        for name in self.arrays:  # a resident table stays
            if (address := self.place.pop(name, None)) is not None:
                with suppress(RuntimeError):  # after a fault of the device
                    self.device.free(address)

    def arguments(self, steps: int) -> list[int | float]:
        """Of a launch, in the order of `lane_loop.ARGUMENTS`."""
        place, window, out = self.place, self.window, self.group.out
        ticks, channels = (0, 0) if out is None else (len(window), out.shape[2])
        every, *rest = self.numbers
        stride, columns = (self.lanes, 0) if self.standing is None else (self.standing.lanes, self.standing.columns)
        table = (place["table"], stride, self.lanes, columns, place["until"], place["member"])
        recorded = (place.get("out", 0), window.start, ticks, channels, every if out is not None else 0)
        return [*table, *recorded, *rest, steps, place.get("taken", 0), place["unfinished"]]

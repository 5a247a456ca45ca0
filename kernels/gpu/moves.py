"""Numbers moved on a device: columns of one table into another one, or between a table and a packed part of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from shiftjax.kernels.gpu.device import Device, Launch
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.gpu.thread_number import REGISTERS, thread

ENTRY = "move"
BLOCK, WARP = 128, 32  # threads
# Each thread moves one lane through all rows, so that neighbours read and write side by side. Lanes are those of a
# list, or all in order where it is null; a lane stride of 0 reads the same number for all. INT is a number's bits.
TEXT = (
    REGISTERS
    + """
define ptx_kernel void @move(ptr addrspace(1) %to, i64 %to_row, ptr addrspace(1) %to_list,
    ptr addrspace(1) %from, i64 %from_row, i64 %from_lane, ptr addrspace(1) %from_list, i64 %rows, i64 %count) {
entry:
THREAD  br i1 %there, label %to_place, label %done
to_place:
  %to_all = icmp eq ptr addrspace(1) %to_list, null
  br i1 %to_all, label %from_place, label %to_listed
to_listed:
  %to_entry = getelementptr i32, ptr addrspace(1) %to_list, i64 %k
  %to_number = load i32, ptr addrspace(1) %to_entry, align 4
  %to_wide = zext i32 %to_number to i64
  br label %from_place
from_place:
  %to_lane = phi i64 [ %k, %to_place ], [ %to_wide, %to_listed ]
  %from_all = icmp eq ptr addrspace(1) %from_list, null
  br i1 %from_all, label %begin, label %from_listed
from_listed:
  %from_entry = getelementptr i32, ptr addrspace(1) %from_list, i64 %k
  %from_number = load i32, ptr addrspace(1) %from_entry, align 4
  %from_wide = zext i32 %from_number to i64
  br label %begin
begin:
  %from_column = phi i64 [ %k, %from_place ], [ %from_wide, %from_listed ]
  %from_begin = mul i64 %from_column, %from_lane
  br label %again
again:
  %row = phi i64 [ 0, %begin ], [ %next, %again ]
  %at_to = phi i64 [ %to_lane, %begin ], [ %to_next, %again ]
  %at_from = phi i64 [ %from_begin, %begin ], [ %from_next, %again ]
  %source = getelementptr INT, ptr addrspace(1) %from, i64 %at_from
  %target = getelementptr INT, ptr addrspace(1) %to, i64 %at_to
  %number = load INT, ptr addrspace(1) %source, align BYTES
  store INT %number, ptr addrspace(1) %target, align BYTES
  %next = add i64 %row, 1
  %to_next = add i64 %at_to, %to_row
  %from_next = add i64 %at_from, %from_row
  %more = icmp slt i64 %next, %rows
  br i1 %more, label %again, label %done
done:
  ret void
}
""".replace("THREAD", thread("k", "count"))
)


class TablePart(NamedTuple):
    """Some rows of some lanes in the memory of a device.

    Attributes:
        address: of the first row. row: numbers from one row to the next. lane: from one lane to the next.
        members: address of the numbers of the lanes (int32); 0 for all in order.
    """

    address: int
    row: int
    lane: int = 1
    members: int = 0


class Moves:
    """Moves numbers of one size on a device, with a memory for what comes from the host or goes there."""

    def __init__(self, device: Device, dtype: np.dtype) -> None:
        self.device, self.dtype = device, dtype
        self._function: Any = None
        self._rooms: dict[str, tuple[int, int]] = {}  # use -> address and bytes
        self._listed = np.zeros(0, np.int32)

    def move(self, to: TablePart, source: TablePart, rows: int, count: int) -> None:
        """Starts a move of so many rows of so many lanes."""
        if not rows or not count:
            return
        block = min(BLOCK, -(-count // WARP) * WARP)
        arguments = (*to[:2], to.members, *source, rows, count)
        self.device.launch(self._loaded(), Launch(-(-count // block), block, 0), arguments)

    def _loaded(self) -> Any:
        if self._function is None:
            arch = self.device.arch
            identity = f"{TEXT}|{self.dtype}|{arch}"
            self._function = self.device.load(identity, lambda: written(self.dtype, arch), ENTRY, 0)
        return self._function

    def listed(self, members: np.ndarray) -> int:
        """The address of numbers of lanes; valid until others are listed. A list as the one before is not copied."""
        listed = np.ascontiguousarray(members, np.int32)
        address = self.room("members", listed.nbytes)
        if not np.array_equal(listed, self._listed):
            self._listed = np.zeros(0, np.int32)  # an interrupt may leave half of the list there
            self.device.upload(listed, address)
            self._listed = listed.copy()
        return address

    def sent(self, values: np.ndarray) -> int:
        """The address of values of the host; valid until others are sent, or room is asked for."""
        values = np.ascontiguousarray(values, self.dtype)
        address = self.packed(values.size)
        self.device.upload(values, address)
        return address

    def packed(self, numbers: int) -> int:
        """The address of room for so many numbers."""
        return self.room("numbers", numbers * self.dtype.itemsize)

    def room(self, use: str, size: int) -> int:
        """The address of room for so many bytes; what a use had there before is lost where it grows."""
        address, there = self._rooms.get(use, (0, 0))
        if there < size:
            if there:
                self.device.free(self._rooms.pop(use)[0])
            if use == "members":
                self._listed = np.zeros(0, np.int32)
            room = 1 << max(10, (size - 1).bit_length())
            address = self.device.allocate(room)
            self._rooms[use] = (address, room)
        return address

    def __del__(self) -> None:
        for address, _ in self._rooms.values():
            freed(self.device, address)


def written(dtype: np.dtype, arch: str) -> str:
    """PTX that moves numbers of a size."""
    text = TEXT.replace("INT", f"i{8 * dtype.itemsize}").replace("BYTES", str(dtype.itemsize))
    return ptx(text, gpu("f64", arch))


def freed(device: Device, address: int) -> None:
    """Gives memory back where nobody could be told of a fault: after one, in a forked process, at the end."""
    with suppress(Exception):
        device.free(address)

"""The search for other coordinates on a device: a thread evaluates the matrix of a lane and eliminates it.

The text of the search is that of the processor (`pivoting.search_text`), that of the matrix comes from the emitter of
pieces, in f64 whatever the table; the sets and figures are the same to the last bit. Up go a number of 4 bytes for
each lane and its partition, down 40 bytes, 8 more for each further 64 rows and columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.kernels.gpu.device import Launch
from shiftjax.kernels.gpu.device_table import DeviceTable
from shiftjax.kernels.gpu.kernel_module import METADATA as BRANCHES
from shiftjax.kernels.gpu.kernel_module import number_bank, support
from shiftjax.kernels.gpu.lane_pieces import thread_piece
from shiftjax.kernels.gpu.moves import Moves
from shiftjax.kernels.gpu.places import Places, Tuning
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.gpu.thread_number import REGISTERS, thread
from shiftjax.kernels.lane_program import Layout
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.pivoting.elimination_text import ALIASING, FUNCTIONS
from shiftjax.kernels.pivoting.search import MatrixCode, PivotSets, SearchedLanes
from shiftjax.kernels.pivoting.search_text import FIGURES, SEARCH, memory_size

ENTRY = "search"
BLOCK, WARP = 128, 32  # threads
# B of local memory of a thread, which the driver sets apart for all threads that a device runs at a time: of an H200,
# 270 336, this is 2 GB. A matrix of 30 rows and 30 columns fits.
MOST = 8 * 1024
KERNEL = (
    REGISTERS
    + """
@places = internal constant [COUNT x i64] [PLACES]
define ptx_kernel void @ENTRY(ptr addrspace(1) %table, i64 %lanes, ptr addrspace(1) %members,
    ptr addrspace(1) %choice, ptr addrspace(1) %known, ptr addrspace(1) %sets, ptr addrspace(1) %figures,
    i64 %searched, double %h, double %t0, double %tolerance, double %tie) {
entry:
  %numbers = alloca [SLOTS x <1 x double>], align 64
  %memory = alloca [MEMORY x double], align 64
THREAD  br i1 %there, label %lane, label %done
lane:
  %pm = getelementptr i32, ptr addrspace(1) %members, i64 %k
  %member.s = load i32, ptr addrspace(1) %pm, align 4
  %member = zext i32 %member.s to i64
  LOADS
  %elapsed = fmul double %xCLOCK, %h
  %time = fadd double %t0, %elapsed
  %pt = getelementptr <1 x double>, ptr %numbers, i64 CLOCK
  store double %time, ptr %pt, align 8
  CALLS
  %pch = getelementptr i32, ptr addrspace(1) %choice, i64 %k
  %choice.s = load i32, ptr addrspace(1) %pch, align 4
  %which = zext i32 %choice.s to i64
  %old.at = mul i64 %which, WORDS
  %old.g = getelementptr i64, ptr addrspace(1) %known, i64 %old.at
  %old = addrspacecast ptr addrspace(1) %old.g to ptr
  %set.at = mul i64 %k, WORDS
  %set.g = getelementptr i64, ptr addrspace(1) %sets, i64 %set.at
  %set = addrspacecast ptr addrspace(1) %set.g to ptr
  %figure.g = getelementptr double, ptr addrspace(1) %figures, i64 %k
  %figure = addrspacecast ptr addrspace(1) %figure.g to ptr
  %entries = getelementptr <1 x double>, ptr %numbers, i64 INPUTS
  call void @search_lane(ptr %entries, i64 1, ptr @places, i64 COUNT, ptr %old, ptr %memory, ptr %set, i64 WORDS,
      ptr %figure, i64 %searched, i64 ROWS, i64 COLUMNS, double %tolerance, double %tie)
  br label %done
done:
  ret void
}
""".replace("THREAD", thread("k", "searched"))
)
LOAD = """
  %r{k} = mul i64 %lanes, {row}
  %a{k} = add i64 %r{k}, %member
  %p{k} = getelementptr {scalar}, ptr addrspace(1) %table, i64 %a{k}
  %s{k} = load {scalar}, ptr addrspace(1) %p{k}, align {bytes}
  %x{k} = {wide}
"""
STORE = "  %w{k} = getelementptr <1 x double>, ptr %numbers, i64 {k}\n  store double %x{k}, ptr %w{k}, align 8\n"


class DeviceSearch:
    """Searches in tables of one kind on a device."""

    def __init__(self, moves: Moves) -> None:
        self._moves, self._functions = moves, dict[tuple[str, Any], Any]()

    def __call__(self, code: MatrixCode, lanes: SearchedLanes) -> PivotSets | None:
        """What pivoting says of lanes of a `DeviceTable`; None where a thread has no room for a matrix, or the device
        none for what it gives."""
        if not isinstance(lanes.table, DeviceTable) or not code.places or 8 * _numbers(code) > MOST:
            return None
        try:
            return self._searched(code, lanes, lanes.table)
        except MemoryError:
            return None

    def _searched(self, code: MatrixCode, lanes: SearchedLanes, table: DeviceTable) -> PivotSets:
        moves, count = self._moves, len(lanes.members)
        function, address = self._loaded(code, table.layout), table.on_device()  # type: ignore[arg-type]
        sets, figures = np.empty((count, code.words), np.uint64), np.empty((FIGURES, count))
        choice, known = np.ascontiguousarray(lanes.choice, np.int32), np.ascontiguousarray(lanes.sets, np.uint64)
        places = {"choice": choice, "known": known, "sets": sets, "figures": figures}
        where = {name: moves.room(name, array.nbytes) for name, array in places.items()}
        members = moves.listed(lanes.members)
        for name in ("choice", "known"):
            moves.device.upload(places[name], where[name])
        block = min(BLOCK, -(-count // WARP) * WARP)
        numbers = (float(lanes.h), float(lanes.t0), float(lanes.tolerance), 1.0 - lanes.tie)
        arguments = (address, table.lanes, members, *where.values(), count, *numbers)
        moves.device.launch(function, Launch(-(-count // block), block, 0), arguments)
        for name in ("sets", "figures"):
            moves.device.download(where[name], places[name])
        return PivotSets(sets, *figures)

    def _loaded(self, code: MatrixCode, layout: Layout) -> Any:
        dtype, device = self._moves.dtype, self._moves.device
        rows = (*layout.rows("q"), *layout.rows("p"), *layout.rows("clock"))
        shape = (code.places, code.m, code.n, rows, str(dtype))
        key = code.piece.identity(), shape
        if key not in self._functions:
            target = gpu("f64", device.arch)
            identity = f"{FUNCTIONS}{SEARCH}{KERNEL}|{key}|{target.identity()}"
            text = lambda: search_ptx(code, rows, dtype, device.arch)  # noqa: E731
            self._functions[key] = device.load(identity, text, ENTRY, 0)
        return self._functions[key]


def _numbers(code: MatrixCode) -> int:
    """Numbers of 8 bytes of a thread."""
    return len(code.piece.inputs) + len(code.piece.outputs) + memory_size(code.m, code.n)


def search_ptx(code: MatrixCode, rows: tuple[int, ...], dtype: np.dtype, arch: str) -> str:
    """PTX of the search of one matrix.

    Args:
        rows: of the table, coordinates, varied numbers and the clock. dtype: of its numbers.
    """
    target, tuning, bank = gpu("f64", arch), Tuning(), dict[str, int]()
    nowhere = Places({}, tuning)
    piece = thread_piece(code.piece, "matrix", target, nowhere)
    inlined = piece.operations <= tuning.inlined
    text = piece.text(target, nowhere, bank, inlined=inlined)
    calls = "\n".join(f"  call void @{name}(ptr %numbers, ptr poison)" for name in piece.functions)
    clock, narrow = len(rows) - 1, dtype.itemsize == 4
    words = {
        "LOADS": "".join(
            LOAD.format(
                k=k, row=row, scalar="float" if narrow else "double", bytes=dtype.itemsize,
                wide=f"{'fpext float' if narrow else 'bitcast double'} %s{k} to double",
            ) + (STORE.format(k=k) if k < clock else "")
            for k, row in enumerate(rows)
        ),
        "CALLS": calls, "PLACES": ", ".join(f"i64 {place}" for place in code.places),
        "COUNT": len(code.places),
        "SLOTS": len(code.piece.inputs) + len(code.piece.outputs) + 1, "MEMORY": memory_size(code.m, code.n),
        "CLOCK": clock, "WORDS": code.words, "INPUTS": len(code.piece.inputs), "ROWS": code.m, "COLUMNS": code.n,
        "ENTRY": ENTRY,
    }  # fmt: skip
    kernel = KERNEL
    for word, value in words.items():
        kernel = kernel.replace(word, str(value))
    parts = (intrinsics(target), text, FUNCTIONS, SEARCH, kernel, support(target), number_bank(target, bank))
    return ptx("\n".join(parts) + BRANCHES + ALIASING, target)

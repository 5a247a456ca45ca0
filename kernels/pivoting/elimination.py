"""Gauss-Jordan elimination with complete pivoting of small matrices, compiled where there are many.

Golub, Van Loan, Matrix Computations, section 3.4.8. The largest entry of the rows and columns that may have one is the
pivot, of entries that are equal within a relative tie the first one. No multiply-add is fused: the sets are the same on
every machine. A 15 x 16 matrix of rank 15 takes 9 us.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftjax.kernels.pivoting.elimination_text import FUNCTIONS, METADATA
from shiftjax.kernels.workers import POOL, Stop, host_threads, share_out

if TYPE_CHECKING:
    from shiftjax.kernels.llvm.objects import Loader

FREE, HELD, PICKED = 1.0, 0.0, -1.0  # states of a row or a column
CHUNK = 128  # matrices a thread takes at once
FEW = 16  # matrices below which NumPy does it: compiling takes 70 ms once, a 15 x 16 matrix by NumPy 0.4 ms
OFTEN = 1000  # pivots by NumPy, of 30 us each, after which few are compiled, too, where LLVM is imported anyway
TEXT = f"""{FUNCTIONS}
define void @NAME(ptr %As, ptr %row.states, ptr %column.states, ptr %all.rows, ptr %all.columns, ptr %all.pivots,
                  ptr %all.figures, i64 %m, i64 %n, i64 %steps, double %tolerance, double %tie, i64 %from, i64 %to) {{
entry:
  %mn = mul i64 %m, %n
  %any = icmp ult i64 %from, %to
  br i1 %any, label %matrix, label %done
matrix:
  %b = phi i64 [ %from, %entry ], [ %b.next, %matrix ]
  %oA = mul i64 %b, %mn
  %A = getelementptr double, ptr %As, i64 %oA
  %or = mul i64 %b, %m
  %row = getelementptr double, ptr %row.states, i64 %or
  %oc = mul i64 %b, %n
  %column = getelementptr double, ptr %column.states, i64 %oc
  %os = mul i64 %b, %steps
  %rows = getelementptr i64, ptr %all.rows, i64 %os
  %columns = getelementptr i64, ptr %all.columns, i64 %os
  %pivots = getelementptr double, ptr %all.pivots, i64 %os
  %of = mul i64 %b, 2
  %figures = getelementptr double, ptr %all.figures, i64 %of
  call i64 @reduce(ptr %A, ptr %row, ptr %column, ptr %rows, ptr %columns, ptr %pivots, ptr %figures, i64 %m, i64 %n,
                   i64 %steps, double %tolerance, double %tie)
  %b.next = add nuw i64 %b, 1
  %b.more = icmp ult i64 %b.next, %to
  br i1 %b.more, label %matrix, label %done
done:
  ret void
}}
{METADATA}"""
NAME = "shiftjax_eliminate"


@functools.cache
def _function() -> tuple[Loader, Any]:
    """The compiled code; its loader is kept with it."""
    from shiftjax.kernels.llvm.objects import Loader, stored_object
    from shiftjax.kernels.llvm.target import host

    target = host("f64")
    loader = Loader(target)
    text = TEXT.replace("NAME", NAME)
    loader.add(stored_object(NAME, text, lambda: text, target, optimize=True, vectorize=True))
    loader.finish()
    kind = ctypes.CFUNCTYPE(
        None, *[ctypes.c_void_p] * 7, *[ctypes.c_int64] * 3, *[ctypes.c_double] * 2, *[ctypes.c_int64] * 2
    )
    return loader, kind(loader.address(NAME))


def eliminate(
    A: np.ndarray, row: np.ndarray, column: np.ndarray, tolerance: float, tie: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Reduces every matrix to row echelon form in place.

    Args:
        A: (B, m, n), finite; the rows of its pivots hold B x pivot afterwards, J_d B = J_i.
        row: (B, m), column: (B, n): FREE or HELD; PICKED afterwards where a pivot was found.
        tolerance: a pivot at or below tolerance times the first one ends it. tie: relative.

    Returns:
        rows, columns: (B, k) of the pivots in their order, -1 beyond the rank; pivots: (B, k) absolute values, 0 there;
        dropped: (B,) the first one not taken; entries: (B,) the largest |B_ij|.
    """
    B, m, n = A.shape
    steps = min(m, n)
    rows, columns = np.full((B, steps), -1), np.full((B, steps), -1)
    pivots, figures = np.zeros((B, steps)), np.zeros((B, 2))
    if B and steps:
        run = _compiled if B >= FEW or _pays(B * steps) else _interpreted
        run(A, row, column, rows, columns, pivots, figures, tolerance, 1.0 - tie)
    return rows, columns, pivots, figures[:, 0], figures[:, 1]


_by_numpy = 0  # pivots so far, in this process


def _pays(pivots: int) -> bool:
    """Whether so many more are compiled."""
    global _by_numpy
    if _by_numpy > OFTEN:
        return "llvmlite" in sys.modules
    _by_numpy += pivots
    return False


def _compiled(*arguments: Any) -> None:
    """All matrices by the code of `TEXT`, in several threads."""
    *arrays, tolerance, tie = arguments
    (B, m, n), addresses = arrays[0].shape, [array.ctypes.data for array in arrays]
    _, code = _function()

    def run(first: int, _: Stop, alive: list[Any] = arrays) -> None:  # alive: see `run_all`
        code(*addresses, m, n, min(m, n), tolerance, tie, first, min(B, first + CHUNK))

    if B <= CHUNK:
        code(*addresses, m, n, min(m, n), tolerance, tie, 0, B)
        return
    share_out(POOL.pool, host_threads(), deque(range(0, B, CHUNK)), run)


def _interpreted(
    A: np.ndarray, row: np.ndarray, column: np.ndarray, rows: np.ndarray, columns: np.ndarray, pivots: np.ndarray,
    figures: np.ndarray, tolerance: float, tie: float,
) -> None:  # fmt: skip
    """The same by NumPy, to the last bit: for a few matrices, before it pays to compile."""
    for b, M in enumerate(A):
        first = 0.0
        for k in range(rows.shape[1] + 1):
            size = np.where((row[b] > 0)[:, None] & (column[b] > 0), np.abs(M), -1.0)
            largest = size.max()
            first = largest if k == 0 else first
            if k == rows.shape[1] or not largest > tolerance * first:
                figures[b, 0] = max(largest, 0.0) if k < rows.shape[1] else 0.0
                break
            i, j = divmod(int((size >= largest * tie).argmax()), M.shape[1])
            rows[b, k], columns[b, k], pivots[b, k] = i, j, largest
            factor = M[:, j] / M[i, j]
            factor[i] = 0.0
            M -= factor[:, None] * M[i]
            row[b, i] = column[b, j] = PICKED
        else:
            k = rows.shape[1]
        i, j = rows[b, :k], columns[b, :k]
        figures[b, 1] = np.abs(M[i] / M[i, j][:, None])[:, column[b] >= 0].max(initial=0.0)

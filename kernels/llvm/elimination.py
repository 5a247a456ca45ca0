"""Gauss-Jordan elimination with complete pivoting of small matrices, compiled where there are many.

Golub, Van Loan, Matrix Computations, section 3.4.8. The largest entry of the rows and columns that may have one is the
pivot, of entries that are equal within a relative tie the first one. No multiply-add is fused: the sets are the same on
every machine. A 15 x 16 matrix of rank 15 takes 9 us.
"""

from __future__ import annotations

import ctypes
import functools
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftjax.kernels.forks import Threads, cores
from shiftjax.kernels.workers import Stop, host_threads, share_out

if TYPE_CHECKING:
    from shiftjax.kernels.llvm.objects import Loader

FREE, HELD, PICKED = 1.0, 0.0, -1.0  # states of a row or a column
CHUNK = 128  # matrices a thread takes at once
_POOL = Threads(cores())  # for large batches; ctypes releases the GIL
FEW = 16  # matrices below which NumPy does it: compiling takes 70 ms once, a 15 x 16 matrix by NumPy 0.4 ms
TEXT = """
define internal double @largest(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n) {
entry:
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.end ]
  %best.i = phi double [ -1.0, %entry ], [ %best, %row.end ]
  %more = icmp ult i64 %i, %m
  br i1 %more, label %state, label %done
state:
  %prow = getelementptr double, ptr %row, i64 %i
  %r = load double, ptr %prow
  %free = fcmp ogt double %r, 0.0
  %start = mul i64 %i, %n
  br i1 %free, label %columns, label %row.end
columns:
  %j = phi i64 [ 0, %state ], [ %j.next, %columns ]
  %best.j = phi double [ %best.i, %state ], [ %best.new, %columns ]
  %k = add nuw i64 %start, %j
  %pa = getelementptr double, ptr %A, i64 %k
  %a = load double, ptr %pa
  %size = call double @llvm.fabs.f64(double %a)
  %pc = getelementptr double, ptr %column, i64 %j
  %c = load double, ptr %pc
  %open = fcmp ogt double %c, 0.0
  %value = select i1 %open, double %size, double -1.0
  %larger = fcmp nnan nsz ogt double %value, %best.j
  %best.new = select nnan nsz i1 %larger, double %value, double %best.j
  %j.next = add nuw i64 %j, 1
  %j.more = icmp ult i64 %j.next, %n
  br i1 %j.more, label %columns, label %row.end
row.end:
  %best = phi double [ %best.i, %state ], [ %best.new, %columns ]
  %i.next = add nuw i64 %i, 1
  br label %rows
done:
  ret double %best.i
}

define internal i64 @first(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n, double %bound) {
entry:
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.end ]
  %prow = getelementptr double, ptr %row, i64 %i
  %r = load double, ptr %prow
  %free = fcmp ogt double %r, 0.0
  %start = mul i64 %i, %n
  br i1 %free, label %columns, label %row.end
columns:
  %j = phi i64 [ 0, %rows ], [ %j.next, %column.end ]
  %k = add nuw i64 %start, %j
  %pa = getelementptr double, ptr %A, i64 %k
  %a = load double, ptr %pa
  %size = call double @llvm.fabs.f64(double %a)
  %pc = getelementptr double, ptr %column, i64 %j
  %c = load double, ptr %pc
  %open = fcmp ogt double %c, 0.0
  %large = fcmp oge double %size, %bound
  %found = and i1 %open, %large
  br i1 %found, label %done, label %column.end
column.end:
  %j.next = add nuw i64 %j, 1
  %j.more = icmp ult i64 %j.next, %n
  br i1 %j.more, label %columns, label %row.end
row.end:
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, %m
  br i1 %i.more, label %rows, label %done
done:
  %where = phi i64 [ %k, %columns ], [ 0, %row.end ]
  ret i64 %where
}

define internal void @eliminate(ptr noalias %A, i64 %m, i64 %n, i64 %i, i64 %j) {
entry:
  %pivot.start = mul i64 %i, %n
  %source = getelementptr double, ptr %A, i64 %pivot.start
  %pp = getelementptr double, ptr %source, i64 %j
  %p = load double, ptr %pp
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]
  %start = mul i64 %r, %n
  %target = getelementptr double, ptr %A, i64 %start
  %pf = getelementptr double, ptr %target, i64 %j
  %f0 = load double, ptr %pf
  %f = fdiv double %f0, %p
  %zero = fcmp oeq double %f0, 0.0
  %own = icmp eq i64 %r, %i
  %skip = or i1 %zero, %own
  br i1 %skip, label %row.end, label %columns
columns:
  %c = phi i64 [ 0, %rows ], [ %c.next, %columns ]
  %ps = getelementptr double, ptr %source, i64 %c
  %s = load double, ptr %ps, !alias.scope !2, !noalias !3
  %pt = getelementptr double, ptr %target, i64 %c
  %t = load double, ptr %pt, !alias.scope !3, !noalias !2
  %fs = fmul double %f, %s
  %new = fsub double %t, %fs
  store double %new, ptr %pt, !alias.scope !3, !noalias !2
  %c.next = add nuw i64 %c, 1
  %c.more = icmp ult i64 %c.next, %n
  br i1 %c.more, label %columns, label %row.end
row.end:
  %r.next = add nuw i64 %r, 1
  %r.more = icmp ult i64 %r.next, %m
  br i1 %r.more, label %rows, label %done
done:
  ret void
}

define internal double @entries(ptr %A, ptr %rows, ptr %columns, ptr %column, i64 %n, i64 %rank) {
entry:
  %some = icmp ugt i64 %rank, 0
  br i1 %some, label %pivots, label %done
pivots:
  %k = phi i64 [ 0, %entry ], [ %k.next, %pivot.end ]
  %best.k = phi double [ 0.0, %entry ], [ %best.new, %pivot.end ]
  %pi = getelementptr i64, ptr %rows, i64 %k
  %i = load i64, ptr %pi
  %pj = getelementptr i64, ptr %columns, i64 %k
  %j = load i64, ptr %pj
  %start = mul i64 %i, %n
  %line = getelementptr double, ptr %A, i64 %start
  %pp = getelementptr double, ptr %line, i64 %j
  %p = load double, ptr %pp
  br label %entries
entries:
  %c = phi i64 [ 0, %pivots ], [ %c.next, %entries ]
  %best.c = phi double [ %best.k, %pivots ], [ %best.new, %entries ]
  %pa = getelementptr double, ptr %line, i64 %c
  %a = load double, ptr %pa
  %b = fdiv double %a, %p
  %size = call double @llvm.fabs.f64(double %b)
  %pc = getelementptr double, ptr %column, i64 %c
  %state = load double, ptr %pc
  %open = fcmp oge double %state, 0.0
  %value = select i1 %open, double %size, double 0.0
  %larger = fcmp nnan nsz ogt double %value, %best.c
  %best.new = select nnan nsz i1 %larger, double %value, double %best.c
  %c.next = add nuw i64 %c, 1
  %c.more = icmp ult i64 %c.next, %n
  br i1 %c.more, label %entries, label %pivot.end
pivot.end:
  %k.next = add nuw i64 %k, 1
  %k.more = icmp ult i64 %k.next, %rank
  br i1 %k.more, label %pivots, label %done
done:
  %out = phi double [ 0.0, %entry ], [ %best.new, %pivot.end ]
  ret double %out
}

define void @NAME(ptr %As, ptr %row.states, ptr %column.states, ptr %all.rows, ptr %all.columns, ptr %all.pivots,
                  ptr %figures, i64 %m, i64 %n, i64 %steps, double %tolerance, double %tie, i64 %from, i64 %to) {
entry:
  %mn = mul i64 %m, %n
  %any = icmp ult i64 %from, %to
  br i1 %any, label %matrix, label %done
matrix:
  %b = phi i64 [ %from, %entry ], [ %b.next, %finished ]
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
  %dropped = getelementptr double, ptr %figures, i64 %of
  %entry.size = getelementptr double, ptr %dropped, i64 1
  %start = call double @largest(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n)
  %least = fmul double %start, %tolerance
  br label %step
step:
  %k = phi i64 [ 0, %matrix ], [ %k.next, %taken ]
  %size = phi double [ %start, %matrix ], [ %size.next, %taken ]
  %left = icmp ult i64 %k, %steps
  %counts = fcmp ogt double %size, %least
  %go = and i1 %left, %counts
  br i1 %go, label %taken, label %ended
taken:
  %bound = fmul double %size, %tie
  %where = call i64 @first(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n, double %bound)
  %i = udiv i64 %where, %n
  %i.start = mul i64 %i, %n
  %j = sub i64 %where, %i.start
  %pi = getelementptr i64, ptr %rows, i64 %k
  store i64 %i, ptr %pi
  %pj = getelementptr i64, ptr %columns, i64 %k
  store i64 %j, ptr %pj
  %pk = getelementptr double, ptr %pivots, i64 %k
  store double %size, ptr %pk
  call void @eliminate(ptr %A, i64 %m, i64 %n, i64 %i, i64 %j)
  %pr = getelementptr double, ptr %row, i64 %i
  store double -1.0, ptr %pr
  %pc = getelementptr double, ptr %column, i64 %j
  store double -1.0, ptr %pc
  %k.next = add nuw i64 %k, 1
  %size.next = call double @largest(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n)
  br label %step
ended:
  %negative = fcmp olt double %size, 0.0
  %rest = select i1 %negative, double 0.0, double %size
  %rest.left = select i1 %left, double %rest, double 0.0
  store double %rest.left, ptr %dropped
  %most = call double @entries(ptr %A, ptr %rows, ptr %columns, ptr %column, i64 %n, i64 %k)
  store double %most, ptr %entry.size
  br label %finished
finished:
  %b.next = add nuw i64 %b, 1
  %b.more = icmp ult i64 %b.next, %to
  br i1 %b.more, label %matrix, label %done
done:
  ret void
}

declare double @llvm.fabs.f64(double)
!1 = distinct !{!1}
!2 = !{!4}
!3 = !{!5}
!4 = distinct !{!4, !1}
!5 = distinct !{!5, !1}
"""
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
        run = _compiled if B >= FEW else _interpreted
        run(A, row, column, rows, columns, pivots, figures, tolerance, 1.0 - tie)
    return rows, columns, pivots, figures[:, 0], figures[:, 1]


def _compiled(*arguments: Any) -> None:
    """All matrices by the code of `TEXT`, in several threads."""
    *arrays, tolerance, tie = arguments
    (B, m, n), addresses = arrays[0].shape, [array.ctypes.data for array in arrays]
    _, code = _function()

    def run(first: int, _: Stop, alive: list[Any] = arrays) -> None:  # alive: see `run_all`
        code(*addresses, m, n, min(m, n), tolerance, tie, first, min(B, first + CHUNK))

    share_out(_POOL.pool, host_threads(), deque(range(0, B, CHUNK)), run)


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

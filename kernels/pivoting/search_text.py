"""LLVM text of the search of one lane: complete pivoting of its matrix, freely and with the sets that it has.

`@search_lane` is the same on every machine. Sets are bits of 64-bit words: those of rows from the first on, behind them
those of columns; figures are four numbers: the largest |B_ij| and the pivot ratio of the new sets, and of those that
the lane has, infinite and 0 where these have lost their rank.
"""

from __future__ import annotations

from shiftjax.kernels.pivoting.elimination_text import FUNCTIONS, METADATA

# `memory` has room for `memory_size` numbers of 8 bytes; `entries` are `stride` numbers apart, entry k stands at
# place k of the matrix.
SEARCH = """
define internal void @fill(ptr %A, ptr %entries, i64 %stride, ptr %places, i64 %count, i64 %mn, i1 %finite) {
entry:
  br label %clear
clear:
  %k = phi i64 [ 0, %entry ], [ %k.next, %clear ]
  %pa = getelementptr double, ptr %A, i64 %k
  store double 0.0, ptr %pa
  %k.next = add nuw i64 %k, 1
  %k.more = icmp ult i64 %k.next, %mn
  br i1 %k.more, label %clear, label %some
some:
  %any = icmp ugt i64 %count, 0
  %go = and i1 %any, %finite
  br i1 %go, label %entry.k, label %done
entry.k:
  %e = phi i64 [ 0, %some ], [ %e.next, %entry.k ]
  %from = mul i64 %e, %stride
  %pe = getelementptr double, ptr %entries, i64 %from
  %value = load double, ptr %pe
  %pp = getelementptr i64, ptr %places, i64 %e
  %place = load i64, ptr %pp
  %to = getelementptr double, ptr %A, i64 %place
  store double %value, ptr %to
  %e.next = add nuw i64 %e, 1
  %e.more = icmp ult i64 %e.next, %count
  br i1 %e.more, label %entry.k, label %done
done:
  ret void
}

define internal i1 @all_finite(ptr %entries, i64 %stride, i64 %count) {
entry:
  %any = icmp ugt i64 %count, 0
  br i1 %any, label %entry.k, label %done
entry.k:
  %e = phi i64 [ 0, %entry ], [ %e.next, %entry.k ]
  %good = phi i1 [ true, %entry ], [ %good.next, %entry.k ]
  %from = mul i64 %e, %stride
  %pe = getelementptr double, ptr %entries, i64 %from
  %value = load double, ptr %pe
  %zero = fsub double %value, %value
  %is = fcmp ord double %zero, 0.0
  %good.next = and i1 %good, %is
  %e.next = add nuw i64 %e, 1
  %e.more = icmp ult i64 %e.next, %count
  br i1 %e.more, label %entry.k, label %done
done:
  %all = phi i1 [ true, %entry ], [ %good.next, %entry.k ]
  ret i1 %all
}

define internal i64 @marked(ptr %state, i64 %count, ptr %sets, i64 %first) {
entry:
  %any = icmp ugt i64 %count, 0
  br i1 %any, label %each, label %done
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %each ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %each ]
  %bit = add i64 %first, %k
  %word = lshr i64 %bit, 6
  %pw = getelementptr i64, ptr %sets, i64 %word
  %w = load i64, ptr %pw
  %inside = and i64 %bit, 63
  %shifted = lshr i64 %w, %inside
  %one = and i64 %shifted, 1
  %is = icmp ne i64 %one, 0
  %value = select i1 %is, double 1.0, double 0.0
  %ps = getelementptr double, ptr %state, i64 %k
  store double %value, ptr %ps
  %sum.next = add i64 %sum, %one
  %k.next = add nuw i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %each, label %done
done:
  %all = phi i64 [ 0, %entry ], [ %sum.next, %each ]
  ret i64 %all
}

define internal void @mark(ptr %sets, i64 %bit) {
  %word = lshr i64 %bit, 6
  %pw = getelementptr i64, ptr %sets, i64 %word
  %w = load i64, ptr %pw
  %inside = and i64 %bit, 63
  %one = shl i64 1, %inside
  %new = or i64 %w, %one
  store i64 %new, ptr %pw
  ret void
}

define internal double @ratio(ptr %pivots, i64 %rank, i64 %least) {
entry:
  %enough = icmp uge i64 %rank, %least
  %some = icmp ugt i64 %rank, 0
  %is = and i1 %enough, %some
  br i1 %is, label %pivot, label %done
pivot:
  %k = sub i64 %rank, 1
  %pl = getelementptr double, ptr %pivots, i64 %k
  %last = load double, ptr %pl
  %first = load double, ptr %pivots
  %share = fdiv double %last, %first
  br label %done
done:
  %ratio = phi double [ 0.0, %entry ], [ %share, %pivot ]
  ret double %ratio
}

define internal void @search_lane(ptr %entries, i64 %stride, ptr %places, i64 %count, ptr %old, ptr %memory,
    ptr %sets, i64 %words, ptr %figures, i64 %apart, i64 %m, i64 %n, double %tolerance, double %tie) alwaysinline {
entry:
  %mn = mul i64 %m, %n
  %fewer = icmp ult i64 %m, %n
  %steps = select i1 %fewer, i64 %m, i64 %n
  %row = getelementptr double, ptr %memory, i64 %mn
  %column = getelementptr double, ptr %row, i64 %m
  %rows = getelementptr double, ptr %column, i64 %n
  %columns = getelementptr double, ptr %rows, i64 %steps
  %pivots = getelementptr double, ptr %columns, i64 %steps
  %sizes = getelementptr double, ptr %pivots, i64 %steps
  %largest = getelementptr double, ptr %sizes, i64 1
  %figure1 = getelementptr double, ptr %figures, i64 %apart
  %figure2 = getelementptr double, ptr %figure1, i64 %apart
  %figure3 = getelementptr double, ptr %figure2, i64 %apart
  %finite = call i1 @all_finite(ptr %entries, i64 %stride, i64 %count)
  %unknown = select i1 %finite, double 0.0, double 0x7FF8000000000000
  call void @fill(ptr %memory, ptr %entries, i64 %stride, ptr %places, i64 %count, i64 %mn, i1 %finite)
  %lines = add i64 %m, %n
  br label %free
free:
  %f = phi i64 [ 0, %entry ], [ %f.next, %free ]
  %pf = getelementptr double, ptr %row, i64 %f
  store double 1.0, ptr %pf
  %f.next = add nuw i64 %f, 1
  %f.more = icmp ult i64 %f.next, %lines
  br i1 %f.more, label %free, label %new
new:
  %rank = call i64 @reduce(ptr %memory, ptr %row, ptr %column, ptr %rows, ptr %columns, ptr %pivots, ptr %sizes,
      i64 %m, i64 %n, i64 %steps, double %tolerance, double %tie)
  %size0 = load double, ptr %largest
  %size = fadd double %size0, %unknown
  store double %size, ptr %figures
  %share = call double @ratio(ptr %pivots, i64 %rank, i64 0)
  store double %share, ptr %figure1
  br label %clear
clear:
  %c = phi i64 [ 0, %new ], [ %c.next, %clear ]
  %pc = getelementptr i64, ptr %sets, i64 %c
  store i64 0, ptr %pc
  %c.next = add nuw i64 %c, 1
  %c.more = icmp ult i64 %c.next, %words
  br i1 %c.more, label %clear, label %picked
picked:
  %p = phi i64 [ 0, %clear ], [ %p.next, %pick ]
  %p.more = icmp ult i64 %p, %rank
  br i1 %p.more, label %pick, label %before
pick:
  %pi = getelementptr i64, ptr %rows, i64 %p
  %i = load i64, ptr %pi
  call void @mark(ptr %sets, i64 %i)
  %pj = getelementptr i64, ptr %columns, i64 %p
  %j = load i64, ptr %pj
  %mj = add i64 %m, %j
  call void @mark(ptr %sets, i64 %mj)
  %p.next = add nuw i64 %p, 1
  br label %picked
before:
  call void @fill(ptr %memory, ptr %entries, i64 %stride, ptr %places, i64 %count, i64 %mn, i1 %finite)
  %primary = call i64 @marked(ptr %row, i64 %m, ptr %old, i64 0)
  %full = call i64 @marked(ptr %column, i64 %n, ptr %old, i64 %m)
  %old.rank = call i64 @reduce(ptr %memory, ptr %row, ptr %column, ptr %rows, ptr %columns, ptr %pivots, ptr %sizes,
      i64 %m, i64 %n, i64 %steps, double 0.0, double %tie)
  %old.size0 = load double, ptr %largest
  %old.size = fadd double %old.size0, %unknown
  %lost = icmp ult i64 %old.rank, %full
  %old.largest = select i1 %lost, double 0x7FF0000000000000, double %old.size
  store double %old.largest, ptr %figure2
  %old.share = call double @ratio(ptr %pivots, i64 %old.rank, i64 %full)
  store double %old.share, ptr %figure3
  ret void
}
"""
FIGURES = 4


def memory_size(m: int, n: int) -> int:
    """Numbers of 8 bytes that `@search_lane` needs beside its arguments."""
    return m * n + m + n + 3 * min(m, n) + 2


# A job of many lanes on the host: SCALAR is the type of the table's numbers, LANES those of a block of the piece.
HOST = """
define void @NAME(ptr %job, ptr %ws, i64 %from, i64 %to) {
entry:
  LOADS
  %stride.bytes = mul i64 %inputs, LANES
  %entries = getelementptr double, ptr %ws, i64 %stride.bytes
  %matrix0 = add i64 %inputs, %count
  %matrix1 = mul i64 %matrix0, LANES
  %memory = getelementptr double, ptr %ws, i64 %matrix1
  %top = sub i64 %searched, 1
  %numbers = sub i64 %inputs, 1
  br label %block
block:
  %b = phi i64 [ %from, %entry ], [ %b.next, %searched.block ]
  %first = mul i64 %b, LANES
  br label %gather
gather:
  %l = phi i64 [ 0, %block ], [ %l.next, %gathered ]
  %want = add i64 %first, %l
  %beyond = icmp sgt i64 %want, %top
  %index = select i1 %beyond, i64 %top, i64 %want
  %pm = getelementptr i64, ptr %members, i64 %index
  %member = load i64, ptr %pm
  %pc0 = mul i64 %clock, %lanes
  %pc1 = add i64 %pc0, %member
  %pc = getelementptr SCALAR, ptr %table, i64 %pc1
  %clock.s = load SCALAR, ptr %pc
  %clock.d = CLOCK_WIDE
  %elapsed = fmul double %clock.d, %h
  %time = fadd double %t0, %elapsed
  %pt0 = mul i64 %numbers, LANES
  %pt1 = add i64 %pt0, %l
  %pt = getelementptr double, ptr %ws, i64 %pt1
  store double %time, ptr %pt
  br label %number
number:
  %k = phi i64 [ 0, %gather ], [ %k.next, %number.in ]
  %k.more = icmp slt i64 %k, %numbers
  br i1 %k.more, label %number.in, label %gathered
number.in:
  %pr = getelementptr i64, ptr %rows, i64 %k
  %row = load i64, ptr %pr
  %at0 = mul i64 %row, %lanes
  %at = add i64 %at0, %member
  %px = getelementptr SCALAR, ptr %table, i64 %at
  %x.s = load SCALAR, ptr %px
  %x.d = NUMBER_WIDE
  %to0 = mul i64 %k, LANES
  %to1 = add i64 %to0, %l
  %pto = getelementptr double, ptr %ws, i64 %to1
  store double %x.d, ptr %pto
  %k.next = add i64 %k, 1
  br label %number
gathered:
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, LANES
  br i1 %l.more, label %gather, label %evaluate
evaluate:
  call void %jacobian(ptr %ws, i32 VECTORS)
  br label %lane
lane:
  %s = phi i64 [ 0, %evaluate ], [ %s.next, %lane.in ]
  %which = add i64 %first, %s
  %there = icmp sle i64 %which, %top
  %inside = icmp slt i64 %s, LANES
  %go = and i1 %there, %inside
  br i1 %go, label %lane.in, label %searched.block
lane.in:
  %mine = getelementptr double, ptr %entries, i64 %s
  %pch = getelementptr i64, ptr %choice, i64 %which
  %known = load i64, ptr %pch
  %known.at = mul i64 %known, %words
  %old = getelementptr i64, ptr %old.sets, i64 %known.at
  %set.at = mul i64 %which, %words
  %set = getelementptr i64, ptr %sets, i64 %set.at
  %figure = getelementptr double, ptr %figures, i64 %which
  call void @search_lane(ptr %mine, i64 LANES, ptr %places, i64 %count, ptr %old, ptr %memory, ptr %set, i64 %words,
      ptr %figure, i64 %searched, i64 %m, i64 %n, double %tolerance, double %tie)
  %s.next = add i64 %s, 1
  br label %lane
searched.block:
  %b.next = add i64 %b, 1
  %b.more = icmp slt i64 %b.next, %to
  br i1 %b.more, label %block, label %done
done:
  ret void
}
"""
JOB = (
    ("table", "ptr"), ("members", "ptr"), ("rows", "ptr"), ("places", "ptr"), ("choice", "ptr"), ("old.sets", "ptr"),
    ("sets", "ptr"), ("figures", "ptr"), ("jacobian", "ptr"), ("lanes", "i64"), ("searched", "i64"), ("inputs", "i64"),
    ("count", "i64"), ("clock", "i64"), ("words", "i64"), ("m", "i64"), ("n", "i64"),
    ("h", "double"), ("t0", "double"), ("tolerance", "double"), ("tie", "double"),
)  # fmt: skip


def host_text(name: str, scalar: str, lanes: int, vectors: int) -> str:
    """The module of `void name(ptr job, ptr workspace, i64 from, i64 to)` over blocks of lanes.

    Args:
        scalar: LLVM type of the table's numbers. lanes: of a block. vectors: of which it consists.
    """
    loads = "\n".join(
        f"  %p.{field} = getelementptr i64, ptr %job, i64 {k}\n  %{field} = load {kind}, ptr %p.{field}"
        for k, (field, kind) in enumerate(JOB)
    )
    wide = "fpext float {0} to double" if scalar == "float" else "bitcast double {0} to double"
    text = HOST.replace("LOADS", loads.strip())
    text = text.replace("CLOCK_WIDE", wide.format("%clock.s")).replace("NUMBER_WIDE", wide.format("%x.s"))
    for word, value in {"SCALAR": scalar, "LANES": str(lanes), "VECTORS": str(vectors), "NAME": name}.items():
        text = text.replace(word, value)
    return f"{FUNCTIONS}{SEARCH}{text}{METADATA}"

"""Templates of the step loop's LLVM text: running a list of pieces, copying rows to slots and back.

Words in capitals are filled in: V vector type, S scalar type, W width, BYTES of a scalar; PAIRS (row, slot) entries of
the constant NAME; TABLE the field of the job that points to the rows.
"""

from __future__ import annotations

from shiftjax.kernels.llvm.target import Target

LOAD_ROWS = """
  %ptable = getelementptr i64, ptr %job, i64 TABLE
  %table = load ptr, ptr %ptable
  %plane = getelementptr i64, ptr %job, i64 1
  %lanes = load i64, ptr %plane
  %end = add i64 %lane, W
  %full = icmp sle i64 %end, %lanes
  %top = sub i64 %lanes, 1
  br label %pair
pair:
  %k = phi i64 [ 0, %entry ], [ %k.next, %copied ]
  %k2 = mul i64 %k, 2
  %prow = getelementptr i64, ptr NAME, i64 %k2
  %pslot = getelementptr i64, ptr %prow, i64 1
  %row = load i64, ptr %prow
  %slot = load i64, ptr %pslot
  %start = mul i64 %row, %lanes
  %source = getelementptr S, ptr %table, i64 %start
  %target = getelementptr V, ptr %ws, i64 %slot
  br i1 %full, label %whole, label %single
whole:
  %from = getelementptr S, ptr %source, i64 %lane
  %vector = load V, ptr %from, align BYTES
  store V %vector, ptr %target
  br label %copied
single:
  %i = phi i64 [ 0, %pair ], [ %i.next, %single ]
  %want = add i64 %lane, %i
  %beyond = icmp sgt i64 %want, %top
  %index = select i1 %beyond, i64 %top, i64 %want
  %one = getelementptr S, ptr %source, i64 %index
  %value = load S, ptr %one
  %to = getelementptr S, ptr %target, i64 %i
  store S %value, ptr %to
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, W
  br i1 %i.more, label %single, label %copied
copied:
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, PAIRS
  br i1 %k.more, label %pair, label %done
done:
  ret void
"""

SAVE_ROWS = """
  %ptable = getelementptr i64, ptr %job, i64 TABLE
  %table = load ptr, ptr %ptable
  %plane = getelementptr i64, ptr %job, i64 1
  %total = load i64, ptr %plane
  %full = icmp eq i64 %lanes, ALL
  br label %pair
pair:
  %k = phi i64 [ 0, %entry ], [ %k.next, %copied ]
  %k2 = mul i64 %k, 2
  %prow = getelementptr i64, ptr NAME, i64 %k2
  %pslot = getelementptr i64, ptr %prow, i64 1
  %row = load i64, ptr %prow
  %slot = load i64, ptr %pslot
  %start0 = mul i64 %row, %total
  %start = add i64 %start0, %lane
  %target = getelementptr S, ptr %table, i64 %start
  %source = getelementptr V, ptr %ws, i64 %slot
  br i1 %full, label %whole, label %single
whole:
  %vector = load V, ptr %source
  store V %vector, ptr %target, align BYTES
  br label %copied
single:
  %i = phi i64 [ 0, %pair ], [ %i.next, %skip ]
  %bit0 = lshr i64 %lanes, %i
  %bit = trunc i64 %bit0 to i1
  br i1 %bit, label %move, label %skip
move:
  %from = getelementptr S, ptr %source, i64 %i
  %value = load S, ptr %from
  %to = getelementptr S, ptr %target, i64 %i
  store S %value, ptr %to
  br label %skip
skip:
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, W
  br i1 %i.more, label %single, label %copied
copied:
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, PAIRS
  br i1 %k.more, label %pair, label %done
done:
  ret void
"""

COPY_SLOTS = """
  %plane = getelementptr i64, ptr %job, i64 FIELD_LANES
  %lanes = load i64, ptr %plane
  %pcount = getelementptr i64, ptr %job, i64 FIELD_COUNT
  %count = load i64, ptr %pcount
  %pslots = getelementptr i64, ptr %job, i64 FIELD_SLOTS
  %slots = load ptr, ptr %pslots
  %ptargets = getelementptr i64, ptr %job, i64 FIELD_TARGETS
  %targets = load ptr, ptr %ptargets
  %left = sub i64 %lanes, %lane
  %short = icmp slt i64 %left, W
  %here = select i1 %short, i64 %left, i64 W
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k.next, %copied ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %slot, label %done
slot:
  %pslot = getelementptr i64, ptr %slots, i64 %k
  %number = load i64, ptr %pslot
  %source = getelementptr V, ptr %ws, i64 %number
  %ptarget = getelementptr ptr, ptr %targets, i64 %k
  %target0 = load ptr, ptr %ptarget
  %target = getelementptr S, ptr %target0, i64 %lane
  br label %single
single:
  %i = phi i64 [ 0, %slot ], [ %i.next, %single ]
  %from = getelementptr S, ptr %source, i64 %i
  %value = load S, ptr %from
  %to = getelementptr S, ptr %target, i64 %i
  store S %value, ptr %to
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %here
  br i1 %i.more, label %single, label %copied
copied:
  %k.next = add i64 %k, 1
  br label %head
done:
  ret void
"""


def fill(text: str, target: Target, **numbers: int | str) -> list[str]:
    """The lines of `text` with its capitals filled in."""
    numbers |= {"all": (1 << target.width) - 1, "w": target.width, "bytes": target.bytes}
    words = {name.upper(): str(value) for name, value in numbers.items()} | {"V": target.vector, "S": target.scalar}
    lines = []
    for line in text.strip("\n").splitlines():
        tokens = [words.get(token.strip(","), token.strip(",")) + "," * token.endswith(",") for token in line.split()]
        lines.append("  " + " ".join(tokens))
    return lines


RUN = """
define internal void @run(ptr %list, ptr %ws, i32 %vectors) nounwind alwaysinline {
entry:
  br label %loop
loop:
  %at = phi ptr [ %list, %entry ], [ %after, %loop ]
  %piece = load ptr, ptr %at
  call void %piece(ptr %ws, i32 %vectors) nounwind
  %after = getelementptr ptr, ptr %at, i64 1
  %next = load ptr, ptr %after
  %more = icmp ne ptr %next, null
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

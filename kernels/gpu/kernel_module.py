"""The LLVM module of a kernel that runs one lane a thread: pieces, what a thread does with them, what they call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from shiftjax.kernels.gpu.places import Places, Tuning
from shiftjax.kernels.gpu.thread_number import REGISTERS, thread
from shiftjax.kernels.llvm import payne_hanek
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.vector_math import reduce_name
from shiftjax.record import record

METADATA = """
!0 = !{!"branch_weights", i32 1000000, i32 1}
!2 = !{}
!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.unroll.disable"}
"""
# Capitals are filled in.
KERNEL = """
declare void @llvm.nvvm.barrier.cta.sync.all(i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@shared_slots = external addrspace(3) global [0 x VECTOR], align 64
define ptx_kernel void @ENTRY(PARAMETERS) #0 {
entry:
CASTS
THREAD  br i1 %there, label %go, label %done
go:
LISTED  call void @lane(VALUES, i64 %lane, i64 %COLUMN)
  br label %done
done:
  ret void
}
attributes #0 = { nounwind BOUNDS }
"""
LISTED = """  %all = icmp eq ptr addrspace(1) %columns, null
  br i1 %all, label %run, label %listed
listed:
  %entry.lane = getelementptr i32, ptr addrspace(1) %columns, i64 %lane
  %number = load i32, ptr addrspace(1) %entry.lane, align 4
  %wide = zext i32 %number to i64
  br label %run
run:
  %column = phi i64 [ %lane, %go ], [ %wide, %listed ]
"""

REDUCE = "reduce_one"
# The slow reduction of sines by value: an address would keep its arguments in memory. Capitals are filled in.
REDUCE_TEXT = """
define internal { SCALAR, SCALAR } @REDUCE_ONE(SCALAR %x, SCALAR %shifted, SCALAR %r) noinline cold nounwind {
entry:
  %io = alloca [3 x SCALAR]
  %p1 = getelementptr SCALAR, ptr %io, i64 1
  %p2 = getelementptr SCALAR, ptr %io, i64 2
  store SCALAR %x, ptr %io
  store SCALAR %shifted, ptr %p1
  store SCALAR %r, ptr %p2
  call void @BY_ADDRESS(ptr %io)
  %a = load SCALAR, ptr %p1
  %b = load SCALAR, ptr %p2
  %c = insertvalue { SCALAR, SCALAR } poison, SCALAR %a, 0
  %d = insertvalue { SCALAR, SCALAR } %c, SCALAR %b, 1
  ret { SCALAR, SCALAR } %d
}
"""


class PieceCode(Protocol):
    """A piece as `lane_pieces` has it."""

    @property
    def functions(self) -> Sequence[str]:
        """Their names."""
        ...

    @property
    def operations(self) -> int:
        """Of their code."""
        ...

    def text(self, target: Target, places: Places, bank: dict[str, int] | None, *, inlined: bool) -> str:
        """Their text."""
        ...


class LaneCode(Protocol):
    """What a thread does with a lane, as `lane_builder` has it."""

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Of the kernel, with their types."""
        ...

    def lane(self) -> None:
        """Emits the body of `void lane(arguments, i64 lane, i64 column)`."""
        ...

    def function(self, head: str, body: Callable[[], None]) -> str:
        """The text of a function."""
        ...

    def uses_in_code(self, name: str) -> int:
        """How often the code of a step has a list of pieces."""
        ...


@record
class LaneModule:
    """A kernel as LLVM text for a GPU.

    Attributes:
        operations: of all pieces in the code of a step, in each place where it has them.
    """

    text: str
    operations: int


def kernel_module(
    entry: str,
    pieces: Mapping[str, Sequence[PieceCode]],
    target: Target,
    places: Places,
    made: Callable[[Mapping[str, Sequence[str]]], LaneCode],
) -> LaneModule:
    """The module of a kernel with what it calls.

    Args:
        entry: its name. pieces: lists of those that it may run. made: its builder, by the functions of each list.
    """
    builder = made({name: [function for one in some for function in one.functions] for name, some in pieces.items()})
    operations = sum(builder.uses_in_code(name) * one.operations for name, some in pieces.items() for one in some)
    bank: dict[str, int] = {}
    inlined = operations <= places.tuning.inlined
    texts = [one.text(target, places, bank, inlined=inlined) for some in pieces.values() for one in some]
    head = ", ".join(f"{kind} %{name}" for name, kind in builder.arguments)
    lane = builder.function(f"internal void @lane({head}, i64 %lane, i64 %column) nounwind alwaysinline", builder.lane)
    kernel = _kernel(entry, builder.arguments, target, places.tuning)
    parts = (intrinsics(target), *texts, lane, kernel, support(target), number_bank(target, bank))
    return LaneModule("\n".join(parts) + METADATA, operations)


def _kernel(entry: str, arguments: Sequence[tuple[str, str]], target: Target, tuning: Tuning) -> str:
    """The kernel that calls `@lane` with its arguments, the lane of each thread, and the column where it stands.

    Threads are as many as `count` says, of columns that are listed in `columns` (i32; null for all in order), where
    these are among the arguments; else one a lane of the table.
    """
    listed = "columns" in dict(arguments)
    parameters = ", ".join(f"{kind.replace('ptr', 'ptr addrspace(1) noalias')} %{name}" for name, kind in arguments)
    pointers = [name for name, kind in arguments if kind == "ptr"]
    casts = "\n".join(f"  %{name}.g = addrspacecast ptr addrspace(1) %{name} to ptr" for name in pointers)
    values = ", ".join(f"{kind} %{name}{'.g' * (kind == 'ptr')}" for name, kind in arguments)
    bounds = f'"nvvm.maxntid"="{tuning.block}"' + (f' "nvvm.maxnreg"="{tuning.registers}"' if tuning.registers else "")
    text = REGISTERS + KERNEL.replace("THREAD", thread("lane", "count" if listed else "lanes"))
    for word, value in {
        "VECTOR": target.vector, "ENTRY": entry, "PARAMETERS": parameters, "CASTS": casts, "VALUES": values,
        "BOUNDS": bounds, "LISTED": LISTED if listed else "",
        "COLUMN": "column" if listed else "lane",
    }.items():  # fmt: skip
        text = text.replace(word, value)
    return text


def support(target: Target) -> str:
    """What pieces call, copied into each module so that nothing is linked."""
    text = payne_hanek.support(target)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("declare double @llvm.f"))
    text = text.replace("define void @", "define internal void @")
    by_value = REDUCE_TEXT.replace("REDUCE_ONE", REDUCE).replace("BY_ADDRESS", reduce_name(target))
    narrow = "declare double @llvm.fabs.f64(double)\ndeclare double @llvm.fma.f64(double, double, double)\n"
    return f"{narrow}{text}\n{by_value.replace('SCALAR', target.scalar)}"


def number_bank(target: Target, bank: dict[str, int]) -> str:
    """The numbers in constant memory; `externally_initialized`, or LLVM would fold them back into the code."""
    numbers = ", ".join(f"{target.scalar} {number}" for number in bank) or f"{target.scalar} 0.0"
    kind = f"[{max(len(bank), 1)} x {target.scalar}]"
    return f"@numbers = addrspace(4) externally_initialized global {kind} [{numbers}], align 64\n"

"""The LLVM module of a program for a GPU: its pieces, its step loop, and the kernel that runs one lane a thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from shiftjax.kernels.gpu.lane_loop import ARGUMENTS, LaneLoop
from shiftjax.kernels.gpu.lane_pieces import REDUCE, REDUCE_TEXT, thread_piece
from shiftjax.kernels.gpu.places import Places, Tuning, places_of
from shiftjax.kernels.lane_program import PHASES, LaneProgram
from shiftjax.kernels.llvm import payne_hanek
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.llvm.ir_builder import WorkspaceLayout
from shiftjax.kernels.llvm.stepper import timed
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.vector_math import reduce_name
from shiftjax.record import record

ENTRY = "advance"
METADATA = """
!0 = !{!"branch_weights", i32 1000000, i32 1}
!2 = !{}
!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.unroll.disable"}
"""
# Capitals are filled in.
KERNEL = """
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.all(i32)
@shared_slots = external addrspace(3) global [0 x VECTOR], align 64
define ptx_kernel void @ENTRY(PARAMETERS) #0 {
entry:
CASTS
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %begin = mul i32 %block, %size
  %place = add i32 %begin, %thread
  %lane = zext i32 %place to i64
  %there = icmp slt i64 %lane, %count
  br i1 %there, label %go, label %done
go:
  %all = icmp eq ptr addrspace(1) %columns, null
  br i1 %all, label %run, label %listed
listed:
  %entry.lane = getelementptr i32, ptr addrspace(1) %columns, i64 %lane
  %number = load i32, ptr addrspace(1) %entry.lane, align 4
  %wide = zext i32 %number to i64
  br label %run
run:
  %column = phi i64 [ %lane, %go ], [ %wide, %listed ]
  call void @lane(VALUES, i64 %lane, i64 %column)
  br label %done
done:
  ret void
}
attributes #0 = { nounwind BOUNDS }
"""


@record
class LaneModule:
    """A program as LLVM text for a GPU.

    Attributes:
        operations: of all pieces in the code of a step, in each place where it has them.
    """

    text: str
    operations: int


def program_places(program: LaneProgram, target: Target, tuning: Tuning) -> Places:
    """Where the numbers of a program's lanes are: what is recorded and measured moves none of them."""
    bare = dataclasses.replace(program.layout, nc=0, na=0)
    size = WorkspaceLayout(bare, program.method).size
    return places_of(WorkspaceLayout(program.layout, program.method), size, target, tuning)


def program_identity(program: LaneProgram, target: Target, tuning: Tuning) -> str:
    """What decides the module."""
    pieces = [(phase, [piece.identity() for piece in program.phase(phase)]) for phase in PHASES]
    return f"{program.layout!r}|{program.method!r}|{timed(program)}|{pieces}|{tuning!r}|{target.identity()}"


def lane_module(program: LaneProgram, target: Target, tuning: Tuning) -> LaneModule:
    """The module of a program; its kernel is `ENTRY`, with the parameters of `lane_loop.ARGUMENTS`."""
    places = program_places(program, target, tuning)
    pieces = {
        phase: [thread_piece(one, f"{phase}_{k}", target, places) for k, one in enumerate(program.phase(phase))]
        for phase in PHASES
    }
    functions = {phase: [name for one in some for name in one.functions] for phase, some in pieces.items()}
    loop = LaneLoop(program, target, places, functions)
    operations = sum(loop.uses_in_code(phase) * one.operations for phase, some in pieces.items() for one in some)
    bank: dict[str, int] = {}
    inlined = operations <= tuning.inlined
    texts = [one.text(target, places, bank, inlined=inlined) for some in pieces.values() for one in some]
    head = ", ".join(f"{kind} %{name}" for name, kind in ARGUMENTS)
    lane = loop.function(f"internal void @lane({head}, i64 %lane, i64 %column) nounwind alwaysinline", loop.lane)
    text = "\n".join(
        (
            intrinsics(target),
            *texts,
            lane,
            kernel_text(target, tuning, ARGUMENTS),
            support(target),
            number_bank(target, bank),
        )
    )
    return LaneModule(text + METADATA, operations)


def kernel_text(target: Target, tuning: Tuning, arguments: Sequence[tuple[str, str]]) -> str:
    """The kernel `ENTRY` that calls `@lane` with the arguments, the lane of each thread, and its column."""
    parameters = ", ".join(f"{kind.replace('ptr', 'ptr addrspace(1) noalias')} %{name}" for name, kind in arguments)
    pointers = [name for name, kind in arguments if kind == "ptr"]
    casts = "\n".join(f"  %{name}.g = addrspacecast ptr addrspace(1) %{name} to ptr" for name in pointers)
    values = ", ".join(f"{kind} %{name}{'.g' * (kind == 'ptr')}" for name, kind in arguments)
    bounds = f'"nvvm.maxntid"="{tuning.block}"' + (f' "nvvm.maxnreg"="{tuning.registers}"' if tuning.registers else "")
    text = KERNEL
    for word, value in {
        "VECTOR": target.vector, "ENTRY": ENTRY, "PARAMETERS": parameters, "CASTS": casts, "VALUES": values,
        "BOUNDS": bounds,
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

"""What the modules for a GPU have in common: the kernel that runs one lane a thread, what pieces call, constants."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.kernels.gpu.lane_pieces import REDUCE, REDUCE_TEXT
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.llvm import payne_hanek
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.vector_math import reduce_name

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

"""The text of the compiled programs of linkages, and what they may call."""

from __future__ import annotations

from shiftjax.families.linear_programs import CotangentProgram, TangentProgram
from shiftjax.families.value_program import ValueProgram
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.llvm.target import Target

PROGRAMS = {"values": ValueProgram, "tangents": TangentProgram, "cotangents": CotangentProgram}
MEMORY = """
declare i1 @llvm.vector.reduce.or.vWIDTHi1(<WIDTH x i1>)
!0 = !{i32 1}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def program_text(kind: str, order: int, name: str, target: Target) -> str:
    """The module of one program, `void name(ptr job, ptr workspace, i64 from, i64 to)` over linkages.

    Args:
        kind: "values", "tangents" or "cotangents". order: of the derivatives by the motor's angle.
    """
    writer = PROGRAMS[kind](order, target)
    body = writer.text(name)
    return "\n".join((intrinsics(target), MEMORY.replace("WIDTH", str(target.width)), *writer.pieces, body))

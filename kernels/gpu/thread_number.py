"""LLVM text that gives a thread of a GPU its number among all of a launch."""

from __future__ import annotations

REGISTERS = """
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
# The number of a thread among all; NUMBER and COUNT are filled in.
THREAD = """  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %of_blocks = mul i32 %block, %size
  %place = add i32 %of_blocks, %thread
  %NUMBER = zext i32 %place to i64
  %there = icmp slt i64 %NUMBER, %COUNT
"""


def thread(number: str, count: str) -> str:
    """The instructions that give a thread its number, and whether it is one of so many: `%there`."""
    return THREAD.replace("NUMBER", number).replace("COUNT", count)

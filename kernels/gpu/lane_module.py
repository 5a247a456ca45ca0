"""The LLVM module of a program for a GPU: its pieces, its step loop, and the kernel that runs one lane a thread."""

from __future__ import annotations

import dataclasses

from shiftjax.kernels.gpu.kernel_text import METADATA, kernel_text, number_bank, support
from shiftjax.kernels.gpu.lane_loop import ARGUMENTS, LaneLoop
from shiftjax.kernels.gpu.lane_pieces import thread_piece
from shiftjax.kernels.gpu.places import Places, Tuning, places_of
from shiftjax.kernels.lane_program import PHASES, LaneProgram
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.llvm.ir_builder import WorkspaceLayout
from shiftjax.kernels.llvm.stepper import timed
from shiftjax.kernels.llvm.target import Target
from shiftjax.record import record


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

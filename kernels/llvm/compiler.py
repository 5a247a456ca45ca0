"""Text to object code with LLVM, and object code into this process."""

from __future__ import annotations

import dataclasses

import llvmlite.binding as llvm

from shiftjax.kernels.lane_program import LaneProgram, Piece
from shiftjax.kernels.llvm import emitter as emit
from shiftjax.kernels.llvm import payne_hanek
from shiftjax.kernels.llvm.stepper import stepper
from shiftjax.kernels.llvm.target import Target, machine
from shiftjax.kernels.simplify import simplify

METADATA = '!0 = !{!"branch_weights", i32 1000000, i32 1}\n'


def piece_name(piece: Piece) -> str:
    """The symbol of a piece."""
    return f"piece_{piece.identity()[:32]}"


def piece_text(piece: Piece, target: Target) -> str:
    """The module of one piece; this is where it is traced."""
    graph = simplify(piece.trace(), target.precision)
    body = emit.emit(graph, piece.inputs, piece.outputs, piece_name(piece), target)
    return f"{emit.declarations(target)}\n{METADATA}\n{body}"


def timed(program: LaneProgram) -> bool:
    """Whether a piece of a stage reads the time."""
    slot = program.layout.slots("t").start
    return any(slot in piece.inputs for piece in (program.drift, *program.accelerate))


def stepper_identity(program: LaneProgram) -> str:
    """What decides the step loop."""
    layout = dataclasses.replace(program.layout, nc=0)  # channels are the last region, and counted in the job
    return f"{layout!r}|{program.method!r}|{timed(program)}|{program.drift.identity()}"


def stepper_text(program: LaneProgram, name: str, target: Target) -> str:
    """The module of the step loop."""
    return stepper(program.layout, program.method, copies(program, target), name, target, timed=timed(program))


def copies(program: LaneProgram, target: Target) -> tuple[int | None, ...]:
    """For each coordinate the speed that is its rate, None where the rate takes arithmetic."""
    drift, layout = program.drift, program.layout
    graph = simplify(drift.trace(), target.precision)
    found: list[int | None] = [None] * layout.nq
    for slot, ref in zip(drift.outputs, graph.outputs, strict=True):
        node = graph.nodes[ref >> 1]
        if not ref & 1 and node[0] == "in" and drift.inputs[node[1]] in layout.slots("x"):
            found[slot - layout.slots("qdot").start] = drift.inputs[node[1]] - layout.slots("x").start
    return tuple(found)


def support_text(target: Target) -> str:
    """The module of what pieces call."""
    return payne_hanek.support(target)


def compile_text(text: str, target: Target, *, optimize: bool) -> bytes:
    """Object code. Pieces come simplified and skip LLVM's middle end; the step loop goes through it.

    Code generation takes 2.6 s for 20 000 operations at level 1, 2 or 3 alike and 0.6 s at level 0, whose code is 2.5
    times slower.
    """
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    generator = machine(target)
    if optimize:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = False
        builder = llvm.create_pass_builder(generator, options)
        builder.getModulePassManager().run(module, builder)
    return generator.emit_object(module)


class Loader:
    """Object code placed in this process, found by symbol."""

    def __init__(self, target: Target) -> None:
        self._generator = machine(target)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._generator)

    def add(self, code: bytes) -> None:
        """Places one object."""
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))

    def finish(self) -> None:
        """Resolves what was added."""
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Where a function is."""
        address = self._engine.get_function_address(symbol)
        if not address:
            raise RuntimeError(f"compiled code has no symbol {symbol}")
        return address

"""The WebAssembly module of a lane program: its step loop and single phases, for one lane in its memory."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.kernels.gpu.kernel_module import METADATA, support
from shiftjax.kernels.gpu.lane_loop import ARGUMENTS, LaneLoop
from shiftjax.kernels.gpu.lane_pieces import thread_pieces
from shiftjax.kernels.gpu.phase_module import ARGUMENTS as PHASE_ARGUMENTS
from shiftjax.kernels.gpu.phase_module import PhaseLane
from shiftjax.kernels.gpu.places import Places, Tuning
from shiftjax.kernels.lane_program import PHASES, LaneProgram
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.llvm.ir_builder import WorkspaceLayout
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.wasm.fused_text import fused_text
from shiftjax.kernels.wasm.lane_runs import WasmModule
from shiftjax.kernels.wasm.object_file import constants_end, module_of
from shiftjax.kernels.wasm.target import browser, object_code

ADVANCE = "advance"  # the step loop, with the parameters of `gpu.lane_loop`, lane and column
SINGLE = ("accelerate", "drift", "observe", "project")  # phases that a page evaluates, each a function of its name
ALONE = "i64 %lane, i64 %column"
CALLS = 1 << 16  # bytes of the stack beside the workspace of a lane


def wasm_module(program: LaneProgram, phases: Sequence[str] = SINGLE) -> WasmModule:
    """The module of a program, which exports `ADVANCE` and phases."""
    target = browser()
    code = module_of(object_code(_text(program, phases, target), target), (ADVANCE, *phases))
    workspace = 8 * (WorkspaceLayout(program.layout, program.method).size + program.layout.nc)
    return WasmModule(code, -(-(constants_end(code) + workspace + CALLS) // 64) * 64)


def _text(program: LaneProgram, phases: Sequence[str], target: Target) -> str:
    places = Places({}, Tuning(lockstep=False))
    pieces = thread_pieces({phase: program.phase(phase) for phase in PHASES}, target, places)
    functions = {name: [function for one in some for function in one.functions] for name, some in pieces.items()}
    texts = [one.text(target, places, None, inlined=False) for some in pieces.values() for one in some]
    loop = LaneLoop(program, target, places, functions)
    texts.append(loop.function(f"void @{ADVANCE}({_parameters(ARGUMENTS)}, {ALONE}) nounwind", loop.lane))
    for phase in phases:
        lane = PhaseLane(program, phase, target, places, functions)
        texts.append(lane.function(f"void @{phase}({_parameters(PHASE_ARGUMENTS)}, {ALONE}) nounwind", lane.lane))
    return "\n".join((intrinsics(target), *texts, support(target), fused_text())) + METADATA


def _parameters(arguments: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} %{name}" for name, kind in arguments)

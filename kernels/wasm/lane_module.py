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
from shiftjax.kernels.wasm.fused_text import with_fused
from shiftjax.kernels.wasm.lane_runs import WasmModule
from shiftjax.kernels.wasm.object_file import constants_end, module_of
from shiftjax.kernels.wasm.target import browser, object_code

ADVANCE = "advance"  # the step loop, with the parameters of `gpu.lane_loop`, lane and column
FUSED = "fma"  # a multiply-add alone, by which a page tries whether relaxed instructions fuse
SINGLE = ("accelerate", "drift", "observe", "project")  # phases that a page evaluates, each a function of its name
ALONE = "i64 %lane, i64 %column"
CALLS = 1 << 16  # bytes of the stack beside the workspace of a lane


def wasm_module(program: LaneProgram, phases: Sequence[str] = SINGLE, *, steps: bool = True) -> WasmModule:
    """The module of a program, which exports phases, `FUSED` and, where it has the step loop, `ADVANCE`."""
    names = (FUSED, ADVANCE, *phases) if steps else (FUSED, *phases)
    codes = [
        module_of(object_code(_text(program, phases, target, steps=steps), target), names)
        for target in (browser(), browser(relaxed=True))
    ]
    workspace = 8 * (WorkspaceLayout(program.layout, program.method).size + program.layout.nc)
    room = max(map(constants_end, codes)) + workspace + CALLS
    return WasmModule(codes[0], codes[1], -(-room // 64) * 64)


def _text(program: LaneProgram, phases: Sequence[str], target: Target, *, steps: bool) -> str:
    places = Places({}, Tuning(lockstep=False))
    wanted = PHASES if steps else phases
    pieces = thread_pieces({phase: program.phase(phase) for phase in wanted}, target, places)
    functions = {name: [function for one in some for function in one.functions] for name, some in pieces.items()}
    texts = [one.text(target, places, None, inlined=False) for some in pieces.values() for one in some]
    if steps:
        loop = LaneLoop(program, target, places, functions)
        texts.append(loop.function(f"void @{ADVANCE}({_parameters(ARGUMENTS)}, {ALONE}) nounwind", loop.lane))
    for phase in phases:
        lane = PhaseLane(program, phase, target, places, functions)
        texts.append(lane.function(f"void @{phase}({_parameters(PHASE_ARGUMENTS)}, {ALONE}) nounwind", lane.lane))
    return with_fused("\n".join((intrinsics(target), *texts, support(target))), target) + METADATA


def _parameters(arguments: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} %{name}" for name, kind in arguments)

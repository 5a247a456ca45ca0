"""What the code of a model is like on GPUs: instructions of its PTX, and registers and spills that the assembler gives.

Needs no GPU; the assembler is nvJitLink, where it is installed. `tests/golden/gpu_code.json` holds these figures of
models of the library, `tests/kernels/test_gpu_code.py` compares; `python benchmarks/bench_gpu.py golden` writes it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftjax.formats.files import load
from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.kernels.adjoint import AdjointProgram
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Group
from shiftjax.kernels.gpu.cuda_device import linked, linker_bindings
from shiftjax.kernels.gpu.kernel_module import LaneModule
from shiftjax.kernels.gpu.lane_leg import AHEAD, BACK, leg_module
from shiftjax.kernels.gpu.lane_loop import ENTRY, lane_module
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.llvm.target import Target
from shiftjax.run.options import options_of
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.simulate import simulate
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.prepare import prepare
from shiftjax.topology.partition import Partition

KERNELS = (ENTRY, AHEAD, BACK)  # the step loop, and both of a backward sweep
ARCHS = ("sm_80", "sm_90", "sm_100")
LOOKED_AT = "looked at"  # name of a backend
OF_SPILLS = {
    "registers": r"[Uu]sed (\d+) registers", "stack": r"(\d+) bytes stack frame",
    "spilled_stores": r"(\d+) bytes spill stores", "spilled_loads": r"(\d+) bytes spill loads",
}  # fmt: skip
ARITHMETIC = ("add", "sub", "mul", "fma", "div", "rcp", "sqrt", "neg", "abs", "min", "max")
MEMORY = ("ld", "st")


class _Seen(BaseException):
    """Ends a run whose program has been seen; none of its code handles it."""

    def __init__(self, program: LaneProgram) -> None:
        self.program = program


class _LooksAtPrograms:
    """A kernel that compiles nothing: the first program that it is given ends the run."""

    batch, compiled, compile_s = 1, 0, 0.0

    def prepare(self, program: LaneProgram) -> object:
        """See `contract.Kernel`."""
        raise _Seen(program)

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel`."""
        raise _Seen(groups[0].program)

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel`."""
        raise _Seen(program)


def first_program(model: str, precision: str) -> LaneProgram:
    """The program that members of a model begin with: fixed steps of RK4, nothing recorded.

    Args:
        model: of the library, or a path.
    """
    BACKENDS[LOOKED_AT] = lambda precision, threads: _LooksAtPrograms()
    try:
        simulate(model, 1e-3, 1e-3, backend=LOOKED_AT, precision=precision, accuracy="local", output_step=1e-3)
    except _Seen as seen:
        return seen.program
    finally:
        del BACKENDS[LOOKED_AT]
    raise AssertionError("a run without a program")


def first_adjoint(model: str, precision: str) -> AdjointProgram:
    """The way back over a step of RK4, of members that begin as a model does, for slopes by one of its masses.

    Args:
        model: of the library, or a path.
    """
    loaded = load(model)
    path, mass = next((path, x) for path, x in loaded.numbers().items() if path.endswith(".mass") and x > 0.0)
    prepared = prepare(loaded, {path: np.full(1, mass)}, options_of(precision=precision))
    blocks = [block[0] for block in partitions(prepared, prepared.file_start, 2.0)]
    return AdjointPrograms(Programs(prepared.setup)).of(Partition(tuple(blocks)))


def code_of(model: str, precision: str, kernel: str = ENTRY) -> Callable[[str], tuple[str, dict[str, int]]]:
    """What writes the code of a model for an architecture: PTX and its figures, which are the operations of all pieces
    in the code of a step, and instructions by their kind.

    Args:
        model: of the library, or a path. kernel: of `KERNELS`.
    """
    tuning = Tuning()
    if kernel == ENTRY:
        program = first_program(model, precision)
        return lambda arch: _written(lane_module(program, target := gpu(precision, arch), tuning), target)
    adjoint = first_adjoint(model, precision)
    return lambda arch: _written(leg_module(adjoint, kernel, target := gpu(precision, arch), tuning), target)


def _written(module: LaneModule, target: Target) -> tuple[str, dict[str, int]]:
    text = ptx(module.text, target)
    kinds = Counter(re.findall(r"^\s+(?:@!?%p\d+\s+)?([a-z]+)[.\w]*[\s;]", text, re.MULTILINE))
    return text, {
        "operations": module.operations,
        "instructions": sum(kinds.values()),
        "arithmetic": sum(kinds[name] for name in ARITHMETIC),
        "memory": sum(kinds[name] for name in MEMORY),
    }


def assembled(text: str, arch: str) -> dict[str, int]:
    """Registers of a thread, bytes of its stack and of spills, bytes of machine code.

    Raises:
        ImportError, RuntimeError: no nvJitLink, or one that does not know the architecture.
    """
    code, log = linked(text, arch)
    figures = {name: max(map(int, re.findall(pattern, log)), default=0) for name, pattern in OF_SPILLS.items()}
    return {"code_bytes": len(code), **figures}


def assembly(model: str, precision: str, arch: str, kernel: str = ENTRY) -> dict[str, Any]:
    """All figures of a model, and the processor time that its code takes to be written and assembled [s]; without
    nvJitLink why it was not assembled."""
    write, begun = code_of(model, precision, kernel), time.process_time()
    text, figures = write(arch)
    emitted = time.process_time()
    out = {"kernel": kernel, "arch": arch, **figures, "ptx_lines": text.count("\n"), "emit_s": emitted - begun}
    try:
        out |= assembled(text, arch)
    except (ImportError, RuntimeError) as error:
        return out | {"not_assembled": str(error)}
    return out | {"assemble_s": time.process_time() - emitted}


def assembler() -> str:
    """The version of nvJitLink.

    Raises:
        ImportError, RuntimeError: it is not installed.
    """
    return "nvJitLink " + ".".join(map(str, linker_bindings().version()))

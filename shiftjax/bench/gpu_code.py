"""What the code of a model is like on GPUs: instructions of its PTX, and registers and spills that the assembler gives.

Needs no GPU; the assembler is nvJitLink, where it is installed. `tests/golden/gpu_code.json` holds these figures of
models of the library, `tests/kernels/test_gpu_code.py` compares; `python benchmarks/bench_gpu.py golden` writes it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Group
from shiftjax.kernels.gpu.cuda_device import linked, linker_bindings
from shiftjax.kernels.gpu.lane_module import lane_module
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.run.simulate import simulate

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


def written(program: LaneProgram, precision: str, arch: str) -> tuple[str, dict[str, int]]:
    """PTX of a program, and its figures: operations of all pieces in the code of a step, instructions by their kind."""
    target = gpu(precision, arch)
    module = lane_module(program, target, Tuning())
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


def assembly(model: str, precision: str, arch: str) -> dict[str, Any]:
    """All figures of a model, and the processor time that its code takes to be written and assembled [s]."""
    program, begun = first_program(model, precision), time.process_time()
    text, figures = written(program, precision, arch)
    emitted = time.process_time()
    out = {"arch": arch, **figures, "ptx_lines": text.count("\n"), **assembled(text, arch)}
    return out | {"emit_s": emitted - begun, "assemble_s": time.process_time() - emitted}


def assembler() -> str:
    """The version of nvJitLink.

    Raises:
        ImportError, RuntimeError: it is not installed.
    """
    return "nvJitLink " + ".".join(map(str, linker_bindings().version()))

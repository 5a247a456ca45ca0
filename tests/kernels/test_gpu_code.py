"""The code of library models on GPUs does not grow unseen: PTX instructions, registers and spills of the assembler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.bench import gpu_code
from shiftjax.kernels.gpu import moves
from tests.support.complete import without

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "gpu_code.json").read_text("utf-8"))
DRIFT = 0.1  # of a figure: orders of instructions, and releases of the assembler, change some by a few per cent
NOISE = 64  # bytes of spills: eight numbers, where there are next to none
AGAIN = "where it is meant, write the table again: PYTHONPATH=. python benchmarks/bench_gpu.py golden"
# Each of these takes seconds of processor time to assemble, or a second to build.
LARGE = [
    case
    for case in GOLDEN["written"]
    if case.startswith("excavator") or case.startswith(("n_four_bar_5 f32", "bricard f32"))
    or ("leg" in case and not case.startswith("four_bar f64"))
]  # fmt: skip


def need_assembler() -> None:
    try:
        gpu_code.assembler()
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"nvJitLink is not installed: {error}")


@pytest.mark.parametrize("case", without(GOLDEN["written"], LARGE))
def test_instructions_are_as_many_as_they_were(case: str) -> None:
    """Of the PTX of a program, or of a sweep over its steps, for sm_90, in all and by kinds. [F24]"""
    _, figures = gpu_code.code_of(*case.split())("sm_90")
    wanted = GOLDEN["written"][case]
    assert figures.keys() == wanted.keys() and all(figures.values())
    drifted = {k: (v, wanted[k]) for k, v in figures.items() if abs(v - wanted[k]) > DRIFT * wanted[k]}
    assert not drifted, f"{case}: {drifted}; {AGAIN}"


@pytest.mark.parametrize("case", without(GOLDEN["assembled"], LARGE))
def test_registers_and_spills_do_not_grow(case: str) -> None:
    """Of each architecture that GPUs of CUDA 13 have, by nvJitLink where it is installed. [F24]"""
    need_assembler()
    write = gpu_code.code_of(*case.split())
    for arch, wanted in GOLDEN["assembled"][case].items():
        text, _ = write(arch)
        figures = gpu_code.assembled(text, arch)
        grown = {k: (figures[k], most) for k, most in wanted.items() if figures[k] > (1.0 + DRIFT) * most + NOISE}
        assert not grown, f"{case}, {arch}: {grown}; {AGAIN}"
        assert figures["registers"] <= wanted["registers"] * (1.0 + DRIFT)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_moves_need_few_registers(dtype: str) -> None:
    """They wait for memory: all threads that a multiprocessor has room for, 2 048 of 32 registers, should be there."""
    need_assembler()
    for arch in gpu_code.ARCHS:
        figures = gpu_code.assembled(moves.written(np.dtype(dtype), arch), arch)
        assert 0 < figures["registers"] <= 32 and figures["stack"] == 0


def test_a_program_that_has_grown_is_seen() -> None:
    """A Bricard is no four-bar: the comparison above would notice a third more."""
    figures, wanted = GOLDEN["written"]["bricard f64 advance"], GOLDEN["written"]["four_bar f64 advance"]
    assert all(figures[k] > (1.0 + DRIFT) * wanted[k] for k in wanted)

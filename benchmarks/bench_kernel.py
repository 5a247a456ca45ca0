"""The step loop against the limit of one core: operations and instructions of a step, and its smallest and median time.

For each mechanism: scalar operations of one RK4 step after simplification, instructions of the compiled pieces, and
nanoseconds of one step of one vector of lanes, as percentiles over many slices of a few milliseconds. On a shared
machine the smallest (`quiet`) is that of an otherwise idle core, the median includes other processes. The limit is that
of the multipliers: `products` at the rate that `shiftjax.bench.probe` measures on the same core. The clock, for
instructions a cycle, is that of a chain of dependent operations on integers.

    PYTHONPATH=. python benchmarks/bench_kernel.py
"""

from __future__ import annotations

import argparse
import ctypes
import re
import time
from collections import Counter
from typing import Any

import jax
import llvmlite.binding as llvm
import numpy as np

from shiftjax.bench.operations import pieces_of_a_step
from shiftjax.bench.probe import peak_of_core
from shiftjax.bench.timing import emit
from shiftjax.bench.watched_kernel import watched
from shiftjax.bench.workload import workload
from shiftjax.kernels.contract import Group
from shiftjax.kernels.lane_program import LaneProgram, Piece
from shiftjax.kernels.llvm import cpu
from shiftjax.kernels.llvm.objects import Loader, compile_text
from shiftjax.kernels.llvm.piece_code import piece_text
from shiftjax.kernels.llvm.target import Target, host, machine

MODELS = {
    "four_bar": "four_bar:coupler",
    "n_four_bar_5": "n_four_bar:coupler_0",
    "bricard": "bricard:rod1",
}
MEMBERS = 256
STEPS = 64  # of a slice
CHAIN, LATENCY = 5000, 4  # rounds of twenty dependent products and xors; cycles of a pair
NOT_COUNTED = ("in", "const", "true", "false")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seconds", type=float, default=10.0, help="of measuring a mechanism")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    for name in options.models:
        emit("kernel", {"model": name, **measured(name, options.seconds)})


def measured(name: str, seconds: float) -> dict[str, Any]:
    """All figures of one mechanism; its energy and loops are checked first."""
    target = host("f64")
    peak = peak_of_core("f64")
    kernel, program, table, worst = running(name)
    assert worst["gap"] < 1e-9 and worst["energy_error"] < 1e-6, worst
    operations, instructions = Counter(), Counter()
    for times, piece in pieces_of_a_step(program):
        for kind, count in counted(piece, target).items():
            operations[kind] += times * count
        for kind, count in instructions_of(piece, target).items():
            instructions[kind] += times * count
    clock = gigahertz(target)
    products = sum(count for kind, count in instructions.items() if re.match(r"v?f?n?m(ul|add|sub)", kind[1:]))
    quiet, tenth, median = times_of(kernel, program, table, target, seconds)
    limit = products * target.width / peak * 1e9
    return {
        "lanes_a_vector": target.width,
        "operations": dict(operations),
        "instructions": sum(instructions.values()),
        "products": products,
        "clock_ghz": clock,
        "limit_ns": limit,
        "quiet_ns": quiet,
        "tenth_ns": tenth,
        "median_ns": median,
        "quiet_rate": target.width / quiet * 1e9,
        "instructions_a_cycle": sum(instructions.values()) / (quiet * clock),
    }


def running(name: str) -> tuple[cpu.CpuKernel, LaneProgram, np.ndarray, dict[str, float]]:
    """The kernel, program and table of a real ensemble, as they are at its first advance."""
    work = workload(name, f"{MODELS[name]}.mass", span=0.2, threads=1)
    with watched("cpu", copied=MEMBERS) as watch:
        result = work.on(watch.backend).run(MEMBERS)
    worst = {key: float(np.max(values)) for key, values in result.certificate.items()}
    return watch.kernels[0], watch.program, watch.table, worst


def counted(piece: Piece, target: Target) -> Counter[str]:
    """Scalar operations by kind."""
    return Counter(node[0] for node in piece.graph.nodes if node[0] not in NOT_COUNTED)


def instructions_of(piece: Piece, target: Target) -> Counter[str]:
    """Instructions of the compiled code by name; the cold path of very large angles is not in it."""
    return Counter(m[1] for m in re.finditer(r"^\t([a-z]\w+)\s", assembly_of(piece, target), re.MULTILINE))


def assembly_of(piece: Piece, target: Target) -> str:
    """The compiled code as text."""
    module = llvm.parse_assembly(piece_text(piece, target), llvm.create_context())
    return machine(target).emit_assembly(module)


def gigahertz(target: Target) -> float:
    """The clock, from a chain of dependent operations on integers: of one latency on x86-64 processors of ten years.

    Sums of floats take 3 cycles on Zen 3 and 4 on Ice Lake.
    """
    products = "\n".join(f"%p{k} = mul i64 %a{k}, %count\n%a{k + 1} = xor i64 %p{k}, %k" for k in range(20))
    text = f"""
define i64 @chain(i64 %count) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %a0 = phi i64 [ 1, %entry ], [ %a20, %loop ]
  {products}
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %count
  br i1 %more, label %loop, label %done
done:
  ret i64 %a20
}}"""
    loader = Loader(target)
    loader.add(compile_text(text, target, optimize=False))
    loader.finish()
    chain = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loader.address("chain"))
    best = min(_seconds(lambda: chain(CHAIN)) for _ in range(200))
    return 20 * CHAIN * LATENCY / best / 1e9


def _seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def times_of(
    kernel: cpu.CpuKernel, program: LaneProgram, table: np.ndarray, target: Target, seconds: float
) -> tuple[float, ...]:
    """Smallest, tenth percentile and median nanoseconds of one step of one vector, over slices of STEPS steps."""
    member, until = np.full(table.shape[1], -1, np.int64), np.full(table.shape[1], STEPS)
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        lanes = table.copy()
        group = Group(program, lanes, until, None, member)
        took = _seconds(lambda group=group: kernel.advance([group], h=1e-3))
        assert (lanes[program.layout.rows("clock").start] == STEPS).all(), "a lane tripped"
        times.append(took / STEPS / (table.shape[1] / target.width) * 1e9)
    return tuple(float(x) for x in np.percentile(times, [0, 10, 50]))


if __name__ == "__main__":
    main()

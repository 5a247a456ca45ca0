"""What a step costs against the size of a mechanism: N four-bars side by side, and chains of N pins.

Each case in a fresh process with nothing compiled. The fitted exponent is that of the least-squares line through the
logarithms, over all sizes and over the larger half; aim 1.3.
    ns            processor time of a member's step (RK4 at 1 ms) inside the kernel, one thread: the least over slices
                  of 64 steps of 512 members, since what other processes do slows some of them
    operations    multiplications and additions of a step; instructions: of its compiled pieces, and how many of them
                  take a vector from the stack or put one there, that is values that registers do not hold (`spills`)
    compile_s     processor time of the first call less that of the second; lane_bytes: numbers of a member in the
                  table; peak_bytes: by how much the process grew to its largest, compiler included

    PYTHONPATH=. python benchmarks/bench_size.py
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from bench_kernel import STEPS, assembly_of
from bench_scaling import model_of

from shiftjax.bench.operations import operations_of_a_step, pieces_of_a_step
from shiftjax.bench.timing import emit, timed
from shiftjax.bench.watched_kernel import watched
from shiftjax.bench.workload import workload
from shiftjax.formats.files import load
from shiftjax.kernels.contract import Group
from shiftjax.kernels.llvm.target import host
from shiftjax.models.n_four_bar import n_four_bar

SIZES = {"n_four_bar": (1, 2, 5, 10, 20, 40, 80), "chain": (5, 10, 25, 50, 100)}
MEMBERS, STEP = 512, 1e-3
SECONDS = 4.0  # of a case
MARKS = (r"^\t[a-z]\w+\s", r"^\tv\w+\s.*\(%rsp")  # of an instruction, and of a vector on the stack
GAP, ENERGY = 1e-9, 1e-5
AIM = 1.3
FIGURES = ("ns", "operations", "instructions", "compile_s", "lane_bytes", "peak_bytes")


def measure(kind: str, count: int) -> dict[str, float]:
    """The figures of one case; in the fresh process."""
    model = load(n_four_bar(count)) if kind == "n_four_bar" else model_of(kind, count)
    work = workload(model, span=STEPS * STEP, step=STEP, threads=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with watched("cpu", copied=MEMBERS) as watch:
        result, first = timed(lambda: work.on(watch.backend).run(MEMBERS))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        _, second = timed(lambda: work.on(watch.backend).run(MEMBERS))
    worst = {name: float(np.max(result.certificate[name])) for name in ("gap", "energy_error")}
    if np.any(result.status) or worst["gap"] > GAP or worst["energy_error"] > ENERGY:
        raise SystemExit(f"{kind} {count}: {worst}, {result.messages[0]}")
    target = host("f64")
    texts = [(times, assembly_of(piece, target)) for times, piece in pieces_of_a_step(watch.program)]
    counts = [(times, *(len(re.findall(mark, text, re.MULTILINE)) for mark in MARKS)) for times, text in texts]
    instructions, spills = (sum(times * one[k] for times, *one in counts) for k in range(2))
    return {
        "lanes_a_vector": target.width,
        "ns": quiet(watch.kernels[0], watch.program, watch.table),
        "operations": operations_of_a_step(watch.program),
        "instructions": instructions,
        "spills": spills,
        "compile_s": first.cpu_s - second.cpu_s,
        "lane_bytes": watch.program.layout.row_count * watch.table.dtype.itemsize,
        "peak_bytes": 1024 * grown,
        **worst,
    }


def quiet(kernel: Any, program: Any, table: np.ndarray) -> float:
    """Least processor time of a step of a member over slices of the loop [ns]."""
    lanes = table.shape[1]
    member, best, end = np.full(lanes, -1, np.int64), np.inf, time.process_time() + SECONDS
    while time.process_time() < end:
        group = Group(program, table.copy(), np.full(lanes, STEPS), None, member)
        begun = time.process_time()
        kernel.advance([group], h=STEP)
        best = min(best, time.process_time() - begun)
    return 1e9 * best / (STEPS * lanes)


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope of the line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help="measure one case here and print its figures")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    for kind in options.kinds:
        lines = []
        for count in SIZES[kind]:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "--one", kind, str(count)]
                environment = {**os.environ, "SHIFTJAX_CACHE_DIR": folder}
                printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            lines.append(json.loads(printed))
            emit("size", {"kind": kind, "size": count, **lines[-1]})
        half = len(lines) // 2
        for name in FIGURES:
            values = [line[name] for line in lines]
            whole, larger = exponent(SIZES[kind], values), exponent(SIZES[kind][half:], values[half:])
            emit("size", {"kind": kind, "fit": name, "exponent": whole, "larger": larger, "met": whole <= AIM})


if __name__ == "__main__":
    main()

"""A study from its definition to its complete store, beside the bare kernel: rate, memory, size of the store.

100 000 four-bars, five numbers varied, six metrics, 10 s at 1 ms (1e9 steps), and a million members of 1 s. The bare
kernel steps a part of the same members without metrics; what is timed there is the kernel alone. Each study runs in a
process of its own, of which the largest memory is told. Its physics is checked before a number is printed.
    share      rate of the whole study over that of the bare kernel
    steps_s    steps a second of the whole study; kernel_steps_s of the bare kernel
    memory_gb  largest of the process; store_mb  on disk

    PYTHONPATH=. python benchmarks/bench_study.py
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.bench.watched_kernel import watched
from shiftjax.ensembles import sweep
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.designs import designs

STEP = 1e-3  # s
SIZES = {"100k": (100_000, 10.0), "1M": (1_000_000, 1.0)}
GOALS = {"share": 0.6, "memory_gb": 2.0, "store_mb": 200.0}
ENERGY = 1e-5  # relative, of every member
PART = 16_384  # members that the bare kernel steps
METRICS = {
    "swing": "peak_to_peak(rocker_pivot.q)",
    "speed": "rms(norm(coupler:tip.velocity))",
    "reach": "maximum(coupler:tip.position[0])",
    "mean": "mean(crank_pivot.v)",
    "end": "final(rocker_pivot.q)",
    "turn": "first_crossing(crank_pivot.q, 180deg)",
}
VARY = {
    "crank.mass": "0.8:1.2~uniform",
    "coupler.mass": "0.8:1.2~uniform",
    "rocker.mass": "0.8:1.2~uniform",
    "coupler:tip.T[0]": "0.78:0.82~uniform",
    "crank_pivot.initial_velocity": "5:7~uniform",
}


def definition(members: int, span: float, metrics: dict[str, str] | None = None) -> Definition:
    length = shiftjax.load("four_bar").numbers()["four_bar:coupler:tip.T[0]"]
    vary = VARY | {"coupler:tip.T[0]": f"{0.97 * length}:{1.03 * length}~uniform"}
    named = METRICS if metrics is None else metrics
    return Definition("four_bar", vary, samples=members, span=span, step=STEP, metrics=named, keep="none")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of members, for a quick look")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child)
    for name in options.sizes:
        members, span = SIZES[name]
        members = int(members * options.scale)
        rates = [bare(min(members, PART), span)]
        with tempfile.TemporaryDirectory() as folder:
            arguments = json.dumps([members, span, str(Path(folder) / "study.zarr")])
            command = [sys.executable, __file__, "--child", arguments]
            printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rates.append(bare(min(members, PART), span))  # before and after: the machine may have changed its pace
        rate = statistics.mean(rates)
        figures = {"members": members, "span": span, "kernel_steps_s": round(rate), **printed}
        figures["share"] = round(printed["steps_s"] / rate, 3)
        figures["met"] = {
            key: figures[key] >= goal if key == "share" else figures[key] <= goal for key, goal in GOALS.items()
        }
        emit("study", figures)


def bare(members: int, span: float) -> float:
    """Steps a second of the kernel alone, without metrics."""
    (group,) = designs(definition(members, span, {}))
    with watched("cpu", copied=0) as watch:
        for _ in range(2):  # the first one compiles
            watch.forget()
            result = shiftjax.simulate(
                group.model, vary=group.vary(), span=span, step=STEP, output_step=span, backend=watch.backend
            )
    return float(np.sum(result.certificate["steps"])) / watch.stepping.wall_s


def child(arguments: str) -> None:
    """Runs one study and prints its figures."""
    members, span, out = json.loads(arguments)
    sweep(definition(64, span), None)  # imports and compiles
    begun = time.perf_counter()
    study = sweep(definition(members, span), out)
    wall = time.perf_counter() - begun
    table = study.xarray["members"].to_dataset()
    good = (table["status"].values <= 0) & (table["energy_error"].values < ENERGY)
    assert good.mean() > 0.999, "the physics is wrong"
    assert np.isfinite(table["swing"].values[good]).all()
    size = sum(path.stat().st_size for path in Path(out).rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    steps = float(table["steps"].values.sum())
    figures = {"wall_s": round(wall, 2), "steps_s": round(steps / wall), "memory_gb": round(peak / 1e9, 3)}
    print(json.dumps({**figures, "store_mb": round(size / 1e6, 2)}))


if __name__ == "__main__":
    main()

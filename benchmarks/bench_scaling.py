"""Large mechanisms: how long loading, analysing and the first run take, each in a fresh process with nothing compiled.

free N        N bodies that float            load_s, info_s: to the model, and to its report
chain N       N pins in a row                cold_s: a whole simulate() of 10 steps, compilation included
pendulums N   N pendulums that share ground  warm_s: the same once more

PYTHONPATH=. python benchmarks/bench_scaling.py
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.mechanism.model import Model

STEP, STEPS = 1e-3, 10  # s; of a run
ENERGY = 1e-5  # relative, after ten steps
CASES = {  # kind, size -> figure that must not be exceeded [s]
    ("free", 500): {"info_s": 2.0},
    ("free", 5000): {"load_s": 20.0, "info_s": 20.0},
    ("chain", 500): {"load_s": 20.0, "info_s": 20.0},
    ("chain", 25): {},
    ("chain", 50): {},
    ("chain", 100): {"cold_s": 40.0},
    ("pendulums", 500): {"cold_s": 10.0},
}
RUN = ("chain 25", "chain 50", "chain 100", "pendulums 500")


def model_of(kind: str, count: int) -> Model:
    """The mechanism of a case."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, -9.81))
    rows = builder.assembly(kind)
    for k in range(count):
        frames = {"tip": (0.1, 0, 0)} if kind == "chain" else {}
        inertia = (1e-5, 1e-3, 1e-3)
        rows.body(f"b{k}", mass=1.0, center_of_mass=(0.05, 0, 0), inertia=inertia, frames=frames)
        parent: Any = (f"b{k - 1}", "tip") if k and kind == "chain" else "fixed"
        if kind == "free":
            rows.joint(f"j{k}", "float", parent=parent, child=f"b{k}")
        else:
            angle = 0.1 if kind == "chain" else 1e-3 * k
            axis = ("Ry", "Rz", "Rx")[k % 3] if kind == "chain" else "Ry"
            rows.joint(f"j{k}", axis, parent=parent, child=f"b{k}", initial_displacement=angle)
    return builder.build()


def measure(kind: str, count: int) -> dict[str, float]:
    """The figures of one case; in the fresh process."""
    start = time.perf_counter()
    model = model_of(kind, count)
    seconds = {"load_s": time.perf_counter() - start}
    start = time.perf_counter()
    report = shiftjax.info(model)
    seconds["info_s"] = time.perf_counter() - start
    if report["bodies"] != count or report["dof"] != count * (6 if kind == "free" else 1):
        raise SystemExit(f"{kind} {count}: {report['bodies']} bodies, {report['dof']} degrees of freedom")
    for name in ("cold_s", "warm_s") if f"{kind} {count}" in RUN else ():
        start = time.perf_counter()
        result = shiftjax.simulate(model, STEPS * STEP, STEP)
        seconds[name] = time.perf_counter() - start
        if result.status != 0 or result.certificate["energy_error"] > ENERGY:
            raise SystemExit(f"{kind} {count}: status {result.status}, {result.certificate}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help="measure one case here and print its figures")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    for (kind, count), goals in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--one", kind, str(count)]
            environment = {**os.environ, "SHIFTJAX_CACHE_DIR": folder}
            printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        seconds = json.loads(printed)
        met = all(seconds[name] <= goal for name, goal in goals.items())
        emit("scaling", {"case": kind, "size": count, **{k: round(v, 2) for k, v in seconds.items()}, "met": met})


if __name__ == "__main__":
    main()

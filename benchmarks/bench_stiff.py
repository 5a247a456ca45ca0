"""Steps of a linearly implicit method beside explicit ones, where a stiff spring and damper close a loop elastically.

The four-bar of the library, whose last pin is a bushing of 8e5 N/m and 4e4 N s/m (rates of 20 and some 1e5 /s), falls
from rest with 0.1 N m s/rad in its crank. Errors are the worst of all angles at 201 instants, against a tolerance of
1e-10; that reference is compared with steps of RK4, which share nothing with it.

    PYTHONPATH=. python benchmarks/bench_stiff.py --span 10
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit

JOINTS = ("crank_pivot", "crank_pin", "rocker_pivot")
ALLOWED, FEWER = 1e-7, 20.0  # rad at a tolerance of 1e-8; times fewer steps: the figures of the project's list
EXPLICIT = 1e-5  # s: steps of RK4 are stable below 1.4e-5 s here


def elastic(folder: Path) -> shiftjax.Model:
    """The model, by way of a file."""
    document = json.loads((Path(__file__).parents[1] / "models" / "four_bar.json").read_text())
    (bar,) = document["assemblies"]
    joints = {joint["name"]: joint for joint in bar["joints"]}
    joints["crank_pivot"] |= {"damping": [0, 0.1], "initial_velocity": 0}
    bar["joints"] = [joints[name] for name in JOINTS]
    ends, none = [[["coupler"], "tip"], [["rocker"], "tip"]], [0, 0, 0]
    seat = {"stiffness": [8e5] * 3, "turning_stiffness": none, "damping": [4e4] * 3}
    bar["force_modules"] = [{"name": "seat", "type": "bushing", "frames": ends, **seat}]
    file = folder / "elastic_four_bar.json"
    file.write_text(json.dumps(document))
    return shiftjax.load(str(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--span", type=float, default=10.0, help="seconds of motion")
    parser.add_argument("--folder", type=Path, default=Path("/tmp"), help="where the model is written")
    options = parser.parse_args()
    model, angles = elastic(options.folder), {}
    runs: dict[str, dict[str, Any]] = {
        "reference": {"method": "rosenbrock", "tolerance": 1e-10},
        "rosenbrock": {"method": "rosenbrock", "tolerance": 1e-8},
        "implicit_euler": {"method": "implicit_euler", "step": 1e-3},
        "rk4": {"method": "rk4", "step": EXPLICIT},
    }
    channels = [f"{joint}.q" for joint in JOINTS]
    row: dict[str, Any] = {"span_s": options.span}
    for name, how in runs.items():
        start = time.process_time()
        run = shiftjax.simulate(model, options.span, output_step=options.span / 200, channels=channels, **how)
        seconds = time.process_time() - start
        angles[name] = np.array([np.ravel(values) for values in run.channels.values()])
        error = float(np.abs(angles[name] - angles["reference"]).max())
        row[name] = how | {"steps": int(run.certificate["steps"]), "worst_error_rad": error, "cpu_s": seconds}
        print(f"{name}: {row[name]['steps']} steps, off by {error:.1e} rad, {seconds:.1f} s", file=sys.stderr)
    begin = options.span / 50  # a step of dopri5 that the host notes takes a hundred of the kernel's
    chosen = {
        method: int(shiftjax.simulate(model, begin, tolerance=1e-8, method=method).certificate["steps"])
        for method in ("rosenbrock", "dopri5")
    }
    row["at_1e-8_of_the_first"] = {"span_s": begin, "steps": chosen}
    row["times_fewer"] = {
        "rk4": row["rk4"]["steps"] / row["rosenbrock"]["steps"],
        "dopri5": chosen["dopri5"] / chosen["rosenbrock"],
    }
    print(f"times fewer: {row['times_fewer']}", file=sys.stderr)
    assert row["rk4"]["worst_error_rad"] < ALLOWED and row["rosenbrock"]["worst_error_rad"] < ALLOWED
    assert min(row["times_fewer"].values()) >= FEWER
    emit("stiff", row)


if __name__ == "__main__":
    main()

"""Steps that a tolerance chooses, member by member, beside the best step of one size that is as good for all.

Double pendulums from many starts, of which the fast ones need small steps. The error of a member is that of its angles
at the end against a tolerance of 1e-13; a fixed step counts where its worst member is no worse than the worst of the
tolerance.

    PYTHONPATH=. python benchmarks/bench_adaptive.py --members 4096 --span 5
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit, side_by_side

REFERENCE = 1e-13  # tolerance
COUNTS = np.unique((200 * 1.15 ** np.arange(40)).astype(int))  # steps of a second, tried from the fewest on
METHODS = ("rk4",)
ROUGHLY = 1.0 + 1e-9  # the runs that are timed are those that were compared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=4096)
    parser.add_argument("--span", type=float, default=5.0, help="seconds of motion")
    parser.add_argument("--speed", type=float, default=2.0, help="largest speed of both joints at the start [rad/s]")
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-8, 1e-10])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    model = shiftjax.load("double_pendulum")
    joints = [path for path, _ in model.joints()]
    starts = np.random.default_rng(1).uniform(-options.speed, options.speed, (len(joints), options.members))
    run = partial(
        shiftjax.simulate, model, options.span, output_step=options.span, accuracy="local",
        vary={f"{joint}.initial_velocity": row for joint, row in zip(joints, starts, strict=True)},
        channels=[f"{joint}.q" for joint in joints],
    )  # fmt: skip
    exact = ends(run(tolerance=REFERENCE))
    for tolerance in options.tolerances:
        report(run, exact, tolerance, options)


def ends(result: shiftjax.Result) -> np.ndarray:
    """(joints, B) angles at the end."""
    return np.array([values[:, -1] for values in result.channels.values()])


def report(run: Any, exact: np.ndarray, tolerance: float, options: argparse.Namespace) -> None:
    """A JSON line, and words for people on stderr."""
    chosen = run(tolerance=tolerance)
    worst = float(np.abs(ends(chosen) - exact).max())
    best: dict[str, float] = {}
    for method in METHODS:
        for step in 1.0 / COUNTS:
            error = float(np.abs(ends(run(step=float(step), method=method)) - exact).max())
            if error <= worst:
                best[method] = float(step)
                break
    calls = {"tolerance": partial(run, tolerance=tolerance)}
    calls |= {method: partial(run, step=step, method=method) for method, step in best.items()}
    timings, results = side_by_side(calls, options.rounds)
    for name, result in results.items():
        off = float(np.abs(ends(result) - exact).max())
        assert off <= worst * ROUGHLY, f"{name} is off by {off:g} rad"
    steps = results["tolerance"].certificate["steps"]
    row: dict[str, Any] = {
        "members": options.members, "span_s": options.span, "tolerance": tolerance, "worst_error_rad": worst,
        "median_steps": float(np.median(steps)), "most_steps": int(steps.max()),
        "cpu_s": float(np.median(timings["tolerance"].cpus)),
    }  # fmt: skip
    for method, step in best.items():
        ratios = np.array(timings["tolerance"].cpus) / timings[method].cpus
        row[method] = {
            "step_s": step,
            "cpu_s": float(np.median(timings[method].cpus)),
            "ratio": float(np.median(ratios)),
        }
        words = f"{np.median(ratios):.2f} times the processor time of {method} at {step:.3g} s"
        print(f"tolerance {tolerance:g}: worst {worst:.1e} rad, {words}, {np.median(steps):.0f} steps", file=sys.stderr)
    if not best:
        print(f"tolerance {tolerance:g}: worst {worst:.1e} rad; no fixed step is as good", file=sys.stderr)
    emit("adaptive", row)


if __name__ == "__main__":
    main()

"""The backend `xla` beside `cpu`: whole calls of `simulate`, in turn, and what XLA compiles.

Two kinds of ensemble: initial speeds vary (bricard and n_four_bar_5 repartition often), and for the four-bar lengths,
too (several partitions). The physics of both backends is compared before a number is printed. The
first call of xla is timed with its compilation, the others without. Ratios are of processor time of all threads, since
wall time depends on who else is on the machine, and are taken within a round. Compilations are counted by JAX itself.

    PYTHONPATH=. python benchmarks/bench_backends.py
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from functools import partial
from typing import Any

import jax
import numpy as np

import shiftjax
from shiftjax.bench.timing import emit

STEP, OUTPUT = 1e-3, 1e-2  # s
SPEEDS = {
    "four_bar": "crank_pivot.initial_velocity",
    "n_four_bar_5": "pivot_0.initial_velocity",
    "bricard": "joint1.initial_velocity",
}
LENGTHS = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]")
# rad after CHECK_SPAN: rounding, which an N-four-bar's flat poses enlarge
CHECK_SPAN, SAME = 0.2, 1e-6
AIM = 30.0  # times cpu


def main() -> None:
    options = arguments()
    for name in options.models:
        for lengths in (False, True) if name == "four_bar" else (False,):
            measured(name, designs(name, options.members, lengths=lengths), options, lengths=lengths)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(SPEEDS), default=list(SPEEDS))
    parser.add_argument("--members", type=int, default=4000)
    parser.add_argument("--span", type=float, default=10.0, help="seconds of motion")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def designs(name: str, members: int, *, lengths: bool) -> dict[str, np.ndarray]:
    """Path -> (B,) varied numbers, always the same."""
    random = np.random.default_rng(1)
    numbers = {SPEEDS[name]: random.uniform(3.0, 15.0, members)}
    return numbers | {path: random.uniform(0.8, 1.2, members) for path in LENGTHS if lengths}


def measured(name: str, vary: dict[str, np.ndarray], options: argparse.Namespace, *, lengths: bool) -> None:
    """Prints one line for a model."""
    difference = compared(name, vary)
    compiled: list[float] = []
    listen = partial(_note, compiled)
    jax.monitoring.register_event_duration_secs_listener(listen)
    walls: dict[str, list[float]] = {"cpu": [], "xla": []}
    cpus: dict[str, list[float]] = {"cpu": [], "xla": []}
    results = {}
    for _ in range(options.rounds):
        for backend, seconds in walls.items():
            begun, cpu = time.perf_counter(), time.process_time()
            results[backend] = shiftjax.simulate(
                name, options.span, STEP, output_step=OUTPUT, vary=vary, backend=backend
            )
            seconds.append(time.perf_counter() - begun)
            cpus[backend].append(time.process_time() - cpu)
    ratios = [x / c for c, x in zip(cpus["cpu"], cpus["xla"], strict=True)]
    figures = {
        "model": name,
        "varied": list(vary),
        "members": options.members,
        "span_s": options.span,
        "cpu_wall_s": statistics.median(walls["cpu"]),
        "xla_wall_s": statistics.median(walls["xla"]),
        "cpu_s": statistics.median(cpus["cpu"]),
        "xla_s": statistics.median(cpus["xla"]),
        "times_cpu": statistics.median(ratios),
        "repartitions": int(results["cpu"].certificate["repartitions"].sum()),
        "compilations_in_rounds": len(compiled),
        "difference_rad": difference,
    }
    emit("backends", figures)
    print(f"\n{name}{', lengths' * lengths}: {options.members} members, {options.span:g} s", file=sys.stderr)
    for backend in walls:
        print(f"  {backend} processor {cpus[backend]} s, wall {walls[backend]} s", file=sys.stderr)
    print(f"  times cpu: {ratios} (aim {AIM:g})", file=sys.stderr)


def compared(name: str, vary: dict[str, np.ndarray]) -> float:
    """Largest difference of the varied joint's coordinate after a short run; prints what xla's first call compiles."""
    joint, results, compiled = SPEEDS[name].partition(".")[0], {}, []
    listen = partial(_note, compiled)
    jax.monitoring.register_event_duration_secs_listener(listen)
    for backend in ("cpu", "xla"):
        begun = time.perf_counter()
        results[backend] = shiftjax.simulate(
            name, CHECK_SPAN, STEP, output_step=OUTPUT, channels=[f"{joint}.q"], vary=vary, backend=backend
        )
        seconds = time.perf_counter() - begun
    both = [result.channels[f"{joint}.q"] for result in results.values()]
    good = np.all([result.status <= 0 for result in results.values()], axis=0)
    difference = float(np.abs(both[0] - both[1])[good].max())
    if not difference < SAME or not (results["cpu"].status == results["xla"].status).all():
        raise SystemExit(f"{name}: xla is {difference:.3g} rad from cpu after {CHECK_SPAN:g} s, allowed {SAME:g}")
    first: dict[str, Any] = {"model": name, "varied": list(vary), "members": len(good), "span_s": CHECK_SPAN}
    first |= {"xla_wall_s": seconds, "compile_s": results["xla"].compile_s, "programs": results["xla"].programs}
    emit("backends_first_call", first | {"compilations": len(compiled), "in_xla_s": sum(compiled)})
    return difference


def _note(durations: list[float], event: str, duration_secs: float, **_: Any) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        durations.append(duration_secs)


if __name__ == "__main__":
    main()

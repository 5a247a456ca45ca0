"""Linkages of many topologies: mechanisms a second and core, beside the solver of LINKS in NumPy, in one run.

Random linkages of 11 joints and 200 poses, each with a topology of its own, as LINKS draws them. Before a number is
printed their curves are compared with those of LINKS, and that nothing was compiled after the first call. Processor
time of one thread; medians over the rounds.
    links_us       the solver of LINKS (`tests/reference/links.py`), positions, a mechanism
    us             `families.simulate`, a mechanism, from arrays to results; positions and velocities where not said
        curve      of the last joint, as LINKS takes it; candidates: the same, left at the first dyad that does not
                   close; positions, accelerations: the same, of these orders
        all        of all joints; all_again: written over earlier ones
    gradient       slopes of a number with all points, beside a forward run: of the last joint, and of all
    jax_gradient   `jax.jit(jax.grad(...))` of a sum of squares of the last joint's curve, run and JAX's work included

    PYTHONPATH=. python benchmarks/bench_families.py
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax import families
from shiftjax.bench.timing import emit, side_by_side
from shiftjax.families import kernel
from tests.reference.links import random_linkages, solution_path, solve

ERROR = 1e-11  # of lengths of about 1, where no margin is below `CLEAR`
CLEAR = 1e-4
GOAL_RATE, GOAL_GRADIENT = 1e5, 4.0
ANGLES = np.linspace(0.0, 2.0 * np.pi, 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=2048)
    parser.add_argument("--checked", type=int, default=100, help="mechanisms that LINKS solves, too")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    linkages = random_linkages(options.members, 11, seed=1)
    run = families.simulate(*linkages)
    links = checked(linkages, run, options.checked)
    times = measured(linkages, options.rounds)
    emit(
        "families",
        {
            "members": options.members,
            "valid": int(run.valid.sum()),
            "links_us": round(links, 1),
            "us": {name: round(value, 2) for name, value in times.items()},
            "times_faster": round(links / times["positions"], 1),
            "rate": round(1e6 / times["curve"]),
            "rate_all": round(1e6 / times["all_again"]),
            "gradient": round(times["gradient"] / times["curve"], 2),
            "gradient_all": round(times["gradient_all"] / times["all_again"], 2),
            "jax_gradient": round(times["jax_gradient"] / times["curve"], 2),
            "met": {
                "rate": 1e6 / times["curve"] >= GOAL_RATE,
                "rate_all": 1e6 / times["all_again"] >= GOAL_RATE,
                "gradient": times["gradient"] <= GOAL_GRADIENT * times["curve"],
                "gradient_all": times["gradient_all"] <= GOAL_GRADIENT * times["all_again"],
            },
        },
    )


def checked(linkages: tuple[np.ndarray, ...], run: families.FamilyMotion, count: int) -> float:
    """Compares curves with LINKS; returns its time a mechanism [us], its search for an order included."""
    bars, x0, types = linkages
    begun = time.process_time()
    places = [
        solve(solution_path(bars[b], types[b] == 1, (0, 1)) or [], x0[b], types[b] == 1, (0, 1), ANGLES)
        for b in range(count)
    ]
    took = time.process_time() - begun
    expected = np.stack(places).transpose(0, 2, 1, 3)
    clear = run.margin[:count].min(1) > CLEAR
    error = np.abs(expected - run.curves[:count])[clear].max()
    same = np.array_equal(np.isnan(expected), np.isnan(run.curves[:count]))
    if not (clear.sum() > 5 and error < ERROR and same):
        raise SystemExit(f"{clear.sum()} mechanisms go round, error {error}, places where LINKS has them: {same}")
    return 1e6 * took / count


def measured(linkages: tuple[np.ndarray, ...], rounds: int) -> dict[str, float]:
    """Processor time a mechanism [us], medians; all in turn, so that they see the same machine."""
    last: dict[str, Any] = {"nodes": [-1], "threads": 1}
    one, every = families.simulate(*linkages, **last), families.simulate(*linkages, threads=1)
    bars, x0, types = linkages

    def loss(points: Any) -> Any:
        run = families.simulate(bars, points, types, **last)
        return jnp.where(run.closed[..., None, None], run.curves**2 + run.velocities**2, 0.0).sum()

    slopes = jax.jit(jax.grad(loss))
    seeds = [np.nan_to_num(part) for run in (one, every) for part in (run.curves, run.velocities)]
    calls: dict[str, Callable[[], Any]] = {
        "positions": lambda: families.simulate(*linkages, **last, order=0),
        "curve": lambda: families.simulate(*linkages, **last),
        "accelerations": lambda: families.simulate(*linkages, **last, order=2),
        "candidates": lambda: families.simulate(*linkages, **last, stop=True),
        "all": lambda: families.simulate(*linkages, threads=1),
        "all_again": lambda: families.simulate(*linkages, out=every, threads=1),
        "jax_gradient": lambda: slopes(x0),
        "gradient": lambda: one.pullback(*seeds[:2]),
        "gradient_all": lambda: every.pullback(*seeds[2:]),
    }
    for call in calls.values():
        call()
    compiled = kernel._program.cache_info().misses
    timings, _ = side_by_side(calls, rounds)
    families.simulate(*random_linkages(8, 13, seed=2))
    if kernel._program.cache_info().misses != compiled:
        raise SystemExit("something was compiled for a topology")
    return {name: 1e6 * timing.cpu_s / len(linkages[0]) for name, timing in timings.items()}


if __name__ == "__main__":
    main()

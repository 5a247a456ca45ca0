"""What the host costs beside the kernel: repartitions and steps moved off singular poses, and how busy the cores are.

For each mechanism a warm `simulate()` of an ensemble, RK4 at 1 ms; medians over the rounds. Its physics is checked
before a number is printed.
    trips      attempts that a monitor stopped
    trip_us    time of the host in handling them, a trip [us]
    trip_cpu_us, search_cpu_us   processor time of it and, of that, of the search for other coordinates [us]
    share      of the wall time
    busy_cores cpu time over wall time of the whole call
    serial     part of the cpu time that the calling thread takes, while no other works
    at_most    cores that this leaves busy; unlike those that were busy it hardly depends on what else runs
    member_us  cpu time of the whole call, a member [us]

    PYTHONPATH=. python benchmarks/bench_host.py
    PYTHONPATH=. python benchmarks/bench_host.py --models four_bar --members 1000 10000 100000 1000000 --span 0.1
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

import numpy as np

import shiftjax
import shiftjax.run.advance.driver as driver
from shiftjax.bench.timing import emit
from shiftjax.run.advance.fresh_partitions import FreshPartitions

STEP = 1e-3  # s
STARTS = {  # whose speed varies, and between what [rad/s]
    "four_bar": ("crank_pivot.initial_velocity", 2.0, 8.0),
    "n_four_bar_5": ("pivot_0.initial_velocity", 2.0, 8.0),
    "bricard": ("joint1.initial_velocity", 2.0, 8.0),
}
ENERGY = 1e-6  # relative
CLOCKS = (time.perf_counter, time.process_time, time.thread_time)
GOAL_US, GOAL_CORES = 20.0, 0.95  # us a trip from 256 members on; of the cores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(STARTS), default=list(STARTS))
    parser.add_argument("--members", nargs="+", type=int, default=[256, 4096])
    parser.add_argument("--span", type=float, default=4.0, help="seconds of motion")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name in options.models:
        for members in options.members:
            emit("host", {"model": name, "members": members, **figures(name, members, options)})


def figures(name: str, members: int, options: argparse.Namespace) -> dict[str, Any]:
    """Medians of one ensemble."""
    path, low, high = STARTS[name]
    vary = {path: np.random.default_rng(0).uniform(low, high, members)}
    rounds = [timed(name, vary, options.span) for _ in range(options.rounds + 1)][1:]
    medians = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    cores = len(os.sched_getaffinity(0))
    goals = {"trip_us": medians["trips"] < 100 or medians["trip_us"] <= GOAL_US}
    for figure in ("busy_cores", "at_most"):
        goals[figure] = members < 4096 or medians[figure] >= GOAL_CORES * cores
    return {**{key: round(value, 3) for key, value in medians.items()}, "of_cores": cores, "met": goals}


def timed(name: str, vary: dict[str, np.ndarray], span: float) -> dict[str, float]:
    """One run; the host's handling of trips is timed around it."""
    spent, handle, search = dict.fromkeys(("wall", "cpu", "search"), 0.0), driver.handle_trips, FreshPartitions.of

    def watched(*arguments: Any) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        handle(*arguments)
        spent["wall"] += time.perf_counter() - wall
        spent["cpu"] += time.process_time() - cpu

    def searched(*arguments: Any) -> FreshPartitions:
        cpu = time.process_time()
        fresh = search(*arguments)
        spent["search"] += time.process_time() - cpu
        return fresh

    driver.handle_trips, FreshPartitions.of = watched, searched  # type: ignore[method-assign]
    try:
        begun = [clock() for clock in CLOCKS]
        result = shiftjax.simulate(name, span, STEP, vary=vary)
        wall, cpu, serial = (clock() - before for clock, before in zip(CLOCKS, begun, strict=True))
    finally:
        driver.handle_trips, FreshPartitions.of = handle, search  # type: ignore[method-assign]
    good = np.asarray(result.status) <= 0
    if not good.all() or result.certificate["energy_error"].max() > ENERGY:
        raise SystemExit(
            f"{name}: {(~good).sum()} members ended early, energy {result.certificate['energy_error'].max()}"
        )
    trips = float(result.certificate["rejected"].sum())
    return {
        "wall_s": wall,
        "busy_cores": cpu / wall,
        "serial": serial / cpu,
        "at_most": cpu / (serial + (cpu - serial) / len(os.sched_getaffinity(0))),
        "member_us": 1e6 * cpu / len(result.status),
        "trips": trips,
        "trip_us": 1e6 * spent["wall"] / max(trips, 1.0),
        "trip_cpu_us": 1e6 * spent["cpu"] / max(trips, 1.0),
        "search_cpu_us": 1e6 * spent["search"] / max(trips, 1.0),
        "share": spent["wall"] / wall,
    }


if __name__ == "__main__":
    main()

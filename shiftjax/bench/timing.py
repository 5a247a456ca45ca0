"""Timing: compilation apart from the run, blocking on the result, medians of repetitions as one JSON line."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from shiftjax.bench.machine import machine


class Timing(NamedTuple):
    """Seconds of one workload, a number a round."""

    first_s: float  # the first call: compilation and one run
    walls: list[float]  # of the warm calls
    cpus: list[float]  # of the warm calls, over all threads of this process

    @property
    def wall_s(self) -> float:
        return statistics.median(self.walls)

    @property
    def cpu_s(self) -> float:
        return statistics.median(self.cpus)

    @property
    def compile_s(self) -> float:
        return max(0.0, self.first_s - self.wall_s)

    @property
    def spread(self) -> float:
        """(largest - smallest) / median of the warm calls' cpu time."""
        return (max(self.cpus) - min(self.cpus)) / self.cpu_s


class Stopwatch:
    """Wall and processor time of what runs inside of it, summed over uses.

    Attributes:
        wall_s, cpu_s: seconds; processor time is that of all threads of this process.
    """

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def __enter__(self) -> Stopwatch:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s += time.process_time() - self._cpu
        self.wall_s += time.perf_counter() - self._wall


def timed(call: Callable[[], Any]) -> tuple[Any, Stopwatch]:
    """What a call returns, once it is there, and what it took; jax arrays in it are waited for."""
    with Stopwatch() as watch:
        result = jax.block_until_ready(call())
    return result, watch


def side_by_side(calls: Mapping[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, Timing], dict[str, Any]]:
    """Times several workloads in turn, round after round, so that a noisy machine disturbs them alike.

    Args:
        calls: the workloads; jax arrays in their results are waited for before the clock is read.
        rounds: warm calls of each, after a first one that compiles.

    Returns:
        Timings and last results by name.
    """
    timings, results = {}, {}
    for name, call in calls.items():
        results[name], watch = timed(call)
        timings[name] = Timing(watch.wall_s, [], [])
    for _ in range(rounds):
        for name, call in calls.items():
            results[name], watch = timed(call)
            timings[name].cpus.append(watch.cpu_s)
            timings[name].walls.append(watch.wall_s)
    return timings, results


def today() -> str:
    """The date, as 2026-11-26."""
    return time.strftime("%Y-%m-%d")


def line(benchmark: str, figures: Mapping[str, Any], date: str = "") -> str:
    """What was measured, when and on what, as one line of JSON.

    Args:
        date: of measurements that began then and may go on over midnight; today where left out.
    """
    about = {"device": jax.devices()[0].device_kind, **machine(), "date": date or today()}
    return json.dumps({"benchmark": benchmark, **figures, **about}, allow_nan=False)


def emit(benchmark: str, figures: Mapping[str, Any]) -> None:
    """Prints one JSON line."""
    print(line(benchmark, figures), file=sys.stdout, flush=True)

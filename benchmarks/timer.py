"""Timing: compilation apart from the run, blocking on the result, medians of repetitions as one JSON line."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax

PACKAGES = ("jax", "llvmlite", "mujoco", "numpy")


class Timing(NamedTuple):
    """Seconds of one workload, a number a round."""

    first_s: float  # the first call: compilation and one run
    walls: list[float]  # of the warm calls
    cpus: list[float]  # of the warm calls, over all threads of this process

    @property
    def wall_s(self) -> float:
        return statistics.median(self.walls)

    @property
    def compile_s(self) -> float:
        return max(0.0, self.first_s - self.wall_s)

    @property
    def spread(self) -> float:
        """(largest - smallest) / median of the warm calls' cpu time."""
        return (max(self.cpus) - min(self.cpus)) / statistics.median(self.cpus)


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
        start = time.perf_counter()
        results[name] = jax.block_until_ready(call())
        timings[name] = Timing(time.perf_counter() - start, [], [])
    for _ in range(rounds):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            results[name] = jax.block_until_ready(call())
            timings[name].cpus.append(time.process_time() - cpu)
            timings[name].walls.append(time.perf_counter() - wall)
    return timings, results


def machine() -> dict[str, Any]:
    """What a number depends on: device, cores, versions."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except ModuleNotFoundError:
            continue
    kind = jax.devices()[0].device_kind
    return {
        "device": kind,
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
    }


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def emit(benchmark: str, figures: Mapping[str, Any]) -> None:
    """Prints one JSON line: what was measured, and on what."""
    line = {"benchmark": benchmark, **figures, **machine()}
    print(json.dumps(line, allow_nan=False), file=sys.stdout, flush=True)

"""One way to time: compile apart from run, block on the result, repeat, report the median as one JSON line."""

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
    """Seconds of one workload."""

    first_s: float  # the first call: compilation and one run
    wall_s: float  # median of the warm calls
    cpu_s: float  # median of the warm calls, over all threads of this process
    spread: float  # (largest - smallest) / median of the warm calls' cpu time
    repeats: int

    @property
    def compile_s(self) -> float:
        return max(0.0, self.first_s - self.wall_s)


def measure(call: Callable[[], Any], repeats: int = 5) -> tuple[Timing, Any]:
    """Times `call` and returns the timing with the last result, which has arrived when the clock is read.

    Args:
        call: the workload; jax arrays in its result are waited for.
        repeats: warm calls after the first one.
    """
    start = time.perf_counter()
    result = jax.block_until_ready(call())
    first = time.perf_counter() - start
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        result = jax.block_until_ready(call())
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    cpu = statistics.median(cpus)
    return Timing(first, statistics.median(walls), cpu, (max(cpus) - min(cpus)) / cpu, repeats), result


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

"""Rates of a workload against the number of members, with what they depend on and how exact the runs are."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from shiftjax.bench.operations import operations_of_a_step
from shiftjax.bench.probe import peak_of_core, peak_of_gpu
from shiftjax.bench.timing import timed
from shiftjax.bench.watched_kernel import Watch, watched
from shiftjax.bench.workload import Workload
from shiftjax.errors import ModelError
from shiftjax.kernels.gpu.cuda_device import cuda_device
from shiftjax.run.memory import Need
from shiftjax.run.results.result import Result

FACTOR = 4  # between two numbers of members
MOST_ROUNDS = 7  # warm calls, of which the median counts
ROUNDS_S = 1.0  # s: short calls are repeated until then
SEEN = 16e6  # bytes; less is lost among what the process has free already
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def series(members: int) -> list[int]:
    """Numbers of members: 1, 4, 16, ... and at last so many."""
    counts, count = [], 1
    while count < members:
        counts.append(count)
        count *= FACTOR
    return [*counts, members]


def limit_of(work: Workload) -> tuple[float, str]:
    """Multiplications and additions a second that one device of a workload can do, and of what: a processor's are those
    of one core, of a second of processor time; 0 where nothing measures them."""
    if work.backend != "gpu" and (work.backend != "xla" or jax.default_backend() == "cpu"):
        return peak_of_core(work.precision), "core"
    try:
        return peak_of_gpu(cuda_device(), work.precision), "device"
    except ModelError:  # XLA runs on a GPU of another maker, or without the bindings that the probe needs
        if work.backend == "gpu":
            raise
        return 0.0, "not measured"


def rates(work: Workload, counts: Sequence[int], seconds: float) -> Iterator[dict[str, Any]]:
    """A mapping of figures for each number of members, as soon as it is measured.

    Numbers of members whose calls would take longer than what is left of the time are left out.

    Args:
        counts: of members, increasing. seconds: for all of them.
    """
    end, expected = time.perf_counter() + seconds, 0.0
    limit, whose = limit_of(work)
    with watched(work.backend) as watch:
        last = 0
        for members in counts:
            # the first call of a number of members and two warm ones, of a cost that grows no faster than members
            if last and time.perf_counter() + 3 * expected * members / last > end:
                return
            figures = measured(work.on(watch.backend), members, watch, end)
            expected, last = figures["call_s"], members
            of_limit = None
            if limit:
                rate = figures["stepping_per_s" if whose == "device" else "stepping_per_cpu_s"]
                of_limit = rate * figures["operations"] / (limit * figures["devices"])
            yield {**work.settings(), **figures, "limit_per_s": limit, "limit_of": whose, "of_limit": of_limit}


def measured(work: Workload, members: int, watch: Watch, end: float) -> dict[str, Any]:
    """The figures of one number of members.

    Args:
        work: on the backend of `watch`. end: by `time.perf_counter`: no further round begins when it has come.
    """
    watch.forget()
    needs: list[Need] = []
    result, first = timed(lambda: work.run(members, announce=needs.append))
    watch.check(work.name, result.messages[0])
    peak = None
    walls, cpus, inside, inside_cpu = [], [], [], []
    begun = time.perf_counter()
    while not walls or (len(walls) < MOST_ROUNDS and time.perf_counter() < min(end, begun + ROUNDS_S)):
        watch.forget()
        (result, took), grown = with_peak(lambda: timed(lambda: work.run(members)))
        peak = grown if peak is None else peak  # of the first warm call: nothing is compiled in it
        walls.append(took.wall_s)
        cpus.append(took.cpu_s)
        inside.append(watch.stepping.wall_s)
        inside_cpu.append(watch.stepping.cpu_s)
    steps = float(np.sum(result.certificate["steps"]))
    wall, cpu, step, step_cpu = (statistics.median(one) for one in (walls, cpus, inside, inside_cpu))
    motion = covered(result)
    lane = watch.program.layout.row_count * watch.table.dtype.itemsize
    return {
        "members": members,
        "member_steps": steps,
        "rounds": len(walls),
        "first_call_s": first.wall_s,
        "call_s": wall,
        "call_cpu_s": cpu,
        "steps_per_s": ratio(steps, wall),
        "steps_per_cpu_s": ratio(steps, cpu),
        "stepping_per_s": ratio(steps, step),
        "stepping_per_cpu_s": ratio(steps, step_cpu),
        "real_time": ratio(motion, wall),
        "real_time_stepping": ratio(motion, step),
        "devices": watch.devices,
        "operations": operations_of_a_step(watch.program),
        "lane_bytes": lane,
        "estimated_bytes_a_member": needs[0].total / members,
        "measured_bytes_a_member": peak / members if peak and peak > SEEN else None,
        **accuracy(result),
    }


def covered(result: Result) -> float:
    """Motion of all members together, up to where each stands at the end [s]: those that events stopped, or that
    failed, stand before the end of the span."""
    if result.final is None:
        raise ValueError("a result without the state at its end")
    return float(np.sum(result.final["time"] - result.settings["t0"]))


def ratio(amount: float, seconds: float) -> float:
    """What is done a second; 0 where the clock saw no time go by, as beside a device of its own."""
    return amount / seconds if seconds > 0 else 0.0


def accuracy(result: Result) -> dict[str, Any]:
    """The worst gap [m] and error of the energy balance (of a model that loses none its drift) of members that did not
    fail, None where none is left, and how many failed."""
    good = np.atleast_1d(result.status) <= 0
    worst = {name: np.atleast_1d(result.certificate[name])[good] for name in ("gap", "energy_error")}
    figures = {name: float(np.max(values)) if values.size else None for name, values in worst.items()}
    figures = {name: value if value is None or np.isfinite(value) else None for name, value in figures.items()}
    return {**figures, "failed": int((~good).sum()), "repartitions": float(np.sum(result.certificate["repartitions"]))}


def with_peak(call: Any) -> tuple[Any, float | None]:
    """What a call returns, and by how many bytes this process grew in between; None where the system does not tell."""
    try:
        CLEAR.write_text("5", encoding="ascii")  # the largest so far is forgotten
        before = _status("VmRSS")
        result = call()
        return result, max(0.0, _status("VmHWM") - before)
    except OSError:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result = call()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        unit = 1 if sys.platform == "darwin" else 1024
        return result, float(after - before) * unit if after > before else None


def _status(name: str) -> float:
    """Bytes, of the kernel's account of this process."""
    for row in STATUS.read_text(encoding="ascii").splitlines():
        if row.startswith(name + ":"):
            return 1024.0 * float(row.split()[1])
    raise OSError(f"no {name} in {STATUS}")

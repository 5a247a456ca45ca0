"""Processor time that the host spends on members that change their coordinates, by what it is spent for.

Bricards at 3 to 15 rad/s, RK4 at 1 ms, a warm call; the least of the rounds, in us a trip (an attempt that a monitor
stopped). `cpu` are all threads; of `gpu`, the tests' host device, what it does itself is left out: launches, loading.
`cuda` is the machine's GPU: wall time, in which several threads of the host may work, copies and launches apart.

    all        the whole call but the steps themselves
    steps      launches of all kernels, those that search and evaluate among them, and waiting for them
    copies     between host and device
    search     Jacobians, complete pivoting, the sets of each member
    decisions  which of them are taken; limits, notes, evaluation of what is adopted
    rounds     who runs next, by which program, and their columns on the way to the kernel and back

    PYTHONPATH=. python benchmarks/bench_trips.py
    PYTHONPATH=. python benchmarks/bench_trips.py --backend gpu --members 16384 --span 0.3
    PYTHONPATH=. python benchmarks/bench_trips.py --backend cuda --members 131072 1048576 --rounds 2
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.gpu.cuda_device import cuda_device
from shiftjax.kernels.gpu.device import Device, Launch
from shiftjax.kernels.gpu.kernel import GpuKernel
from shiftjax.kernels.llvm.cpu import CpuKernel
from shiftjax.run.advance import driver
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.fresh_partitions import FreshPartitions
from tests.support.ptx_on_host import LoadedPtx, PtxOnHost

SPEEDS = (3.0, 15.0)  # rad/s
ENERGY = 1e-5  # relative: of steps of 1 ms at these speeds
NAME = "gpu, on the host"
PARTS: dict[str, list[tuple[Any, str]]] = {
    "search": [(FreshPartitions, "of")],
    "decisions": [(driver, "handle_trips")],
    "rounds": [(driver, "run_to"), (Ensemble, "_advance"), (Ensemble, "groups")],
    "steps": [(CpuKernel, "advance")],
    "rest of the run": [(driver, "sample"), (driver, "begin_samples")],
    "copies": [],
}
OF_CUDA = {"launch": "steps", "wait": "steps", "upload": "copies", "download": "copies"}


class Clock:
    """Time by part, that of parts within others counted there alone.

    Args:
        now: seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._inner: list[float] = []

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """A call whose time is noted; what it yields is drawn at once."""

        def watched(*arguments: Any, **options: Any) -> Any:
            self._inner.append(0.0)
            begun = self.now()
            try:
                out = call(*arguments, **options)
                return out if not hasattr(out, "send") else list(out)
            finally:
                whole = self.now() - begun
                self.spent[part] += whole - self._inner.pop()
                if self._inner:
                    self._inner[-1] += whole

        return watched


class Loaded(PtxOnHost):
    """A device that knows what it has loaded, and how long it ran."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._loaded: dict[str, LoadedPtx] = {}
        self._run = clock.timed("steps", super().launch)

    def load(self, identity: str, ptx: Callable[[], str], name: str, shared: int) -> LoadedPtx:
        """See `device.Device`."""
        if identity not in self._loaded:
            self._loaded[identity] = super().load(identity, ptx, name, shared)
        return self._loaded[identity]

    def launch(self, function: LoadedPtx, size: Launch, arguments: Sequence[int | float]) -> None:
        """See `device.Device`."""
        self._run(function, size, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("cpu", "gpu", "cuda"), default="cpu")
    parser.add_argument("--members", nargs="+", type=int, default=[1_024, 16_384])
    parser.add_argument("--span", type=float, default=1.0, help="seconds of motion")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    clock = Clock(time.perf_counter if options.backend == "cuda" else time.process_time)
    for part, calls in PARTS.items():
        for owner, name in calls:
            setattr(owner, name, clock.timed(part, getattr(owner, name)))
    driver.BATCH = 1e9  # batches of one size, however busy the machine is
    device: Device = watched_cuda(clock) if options.backend == "cuda" else Loaded(clock)
    BACKENDS[NAME] = lambda precision, threads: GpuKernel(precision, threads, device)
    backend = "cpu" if options.backend == "cpu" else NAME
    for members in options.members:
        rounds = [figures(clock, members, options.span, backend) for _ in range(options.rounds + 1)][1:]
        least = {key: round(min(one[key] for one in rounds), 3) for key in rounds[0]}
        row = {"model": "bricard", "members": members, "span": options.span}
        emit("trips", row | {"backend": "cpu" if backend == "cpu" else device.name} | least)


def watched_cuda(clock: Clock) -> Device:
    """The machine's GPU, its calls timed, those of the main thread: others work beside it."""
    device = cuda_device()
    for name, part in OF_CUDA.items():
        setattr(device, name, in_main_thread(clock.timed(part, call := getattr(device, name)), call))
    return device


def in_main_thread(call: Callable[..., Any], elsewhere: Callable[..., Any]) -> Callable[..., Any]:
    """Calls one there, the other one in all other threads."""

    def called(*arguments: Any) -> Any:
        main = threading.current_thread() is threading.main_thread()
        return (call if main else elsewhere)(*arguments)

    return called


def figures(clock: Clock, members: int, span: float, backend: str) -> dict[str, float]:
    """One call; its physics is checked."""
    clock.spent.clear()
    begun = clock.now()
    result = shiftjax.simulate(
        "bricard", span, 1e-3, vary={"joint1.initial_velocity": np.linspace(*SPEEDS, members)}, backend=backend,
        output_step=span, accuracy="local",
    )  # fmt: skip
    whole = clock.now() - begun
    energy = result.certificate["energy_error"].max()
    if (np.asarray(result.status) > 0).any() or energy > ENERGY:
        raise SystemExit(f"members ended early, or energy {energy}")
    trips = int(result.certificate["rejected"].sum())
    parts = {f"{part}_us": 1e6 * clock.spent[part] / trips for part in PARTS}
    return {"trips": trips, "all_us": 1e6 * (whole - clock.spent["steps"]) / trips, **parts}


if __name__ == "__main__":
    main()

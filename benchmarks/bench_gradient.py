"""Whole gradients against plain runs: 10 numbers of every one of 1 024 members, RK4, 1 000 steps, f64, backend `cpu`.

`plain` is a call of `simulate` without derivatives, `gradient` one of a compiled `jax.value_and_grad` of the same call:
run with tape, adjoint, start. `tangents` are the derivatives by the first four numbers in forward mode, all at once.
All get new numbers in each round, so that no run is remembered. Ratios are taken within a round: of wall time, of
processor time, and of what was spent inside the kernel alone; `each_` are plain runs that a direction adds. Each
gradient is compared with differences of fourth order first, and the tangents with it. `cold_s` is the first gradient,
of one member and 50 steps, of a fresh process with an empty cache, from after `import jax` (`cold_cpu_s`: its processor
time); `warm_s` with a filled one. On the four-bar MuJoCo does the same: the derivative by a start through a chain of
`mjd_transitionFD`, that by a mass, which this cannot do, through differences of runs.

    PYTHONPATH=. python benchmarks/bench_gradient.py            (needs `pip install -e '.[bench]'`)
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from bench_kernel import counted

import shiftjax
from shiftjax.bench.operations import pieces_of_a_step
from shiftjax.bench.timing import Timing, emit, side_by_side
from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.kernels.llvm.cpu import CpuKernel
from shiftjax.kernels.llvm.target import host
from shiftjax.kernels.workers import Stop
from shiftjax.mechanism.model import Model
from shiftjax.run.beginning import Begun
from shiftjax.run.programs.lane_program import Programs
from shiftjax.topology.partition import Partition

STEP = 1e-3  # s
FIRST_STEPS = 50  # of the first call
SPREAD = 0.02  # half width of the members' numbers, relative
GAP, ENERGY = 1e-9, 1e-6  # m; relative
DIRECTIONS = 4  # of the tangents
MODES = 1e-9  # of the largest entry: tangents against the gradient
SAME = 1e-7  # of the largest entry: gradient against differences, whose own error is below
SIDE = 1e-3  # step of the differences, relative
MASS_SIDE, SPEED_SIDE = 1e-4, 1e-4  # of the differences of MuJoCo [kg, rad/s]
SOFT = 0.2  # of the largest entry: allowed difference of MuJoCo's derivatives, whose loops are soft
SPEED, OUTPUT = "four_bar:crank_pivot", "four_bar:rocker_pivot"


class Case(NamedTuple):
    """A mechanism, what of it is differentiated by what, and the aims."""

    numbers: tuple[str, ...]  # the ten
    output: str  # its final value
    hold: tuple[str, ...]
    times: float  # plain runs
    cold: float  # s


def _of(bodies: Sequence[str], number: str = "mass") -> tuple[str, ...]:
    return tuple(f"{body}.{number}" for body in bodies)


CASES = {
    "four_bar": Case(
        (*_of(("crank", "coupler", "rocker")), *_of(("crank", "coupler", "rocker"), "center_of_mass[0]"),
         *_of(("crank:tip", "coupler:tip", "rocker:tip"), "T[0]"), "fixed:rocker_pivot.T[0]"),
        "rocker_pivot.q", ("crank_pivot",), 4.5, 5.0,
    ),
    "n_four_bar_5": Case(
        _of([f"{kind}_{k}" for kind in ("crank", "coupler") for k in range(5)]), "pivot_5.q", (), 5.0, 5.0
    ),
    "bricard": Case(
        (*_of([f"rod{k}" for k in range(1, 6)]),
         *(f"rod{k}.center_of_mass[{k % 3 - 1 if k % 3 else 2}]" for k in range(1, 6))),
        "joint3.q", (), 5.0, 5.0,
    ),
    "excavator": Case(
        _of(("boom", "stick", "bucket", "rocker", "link", "barrel_left", "rod_left", "stick_barrel", "stick_rod",
             "bucket_barrel")),
        "boom_pivot.q", (), 6.0, 30.0,
    ),
    "vehicle_chassis": Case(
        _of(("chassis", "rack", "lower_front_left", "upper_front_left", "knuckle_front_left", "tie_front_left",
             "wheel_front_left", "lower_rear_right", "upright_rear_right", "wheel_rear_right")),
        "heave.q", (), 6.0, 30.0,
    ),
}  # fmt: skip


class Workload:
    """Plain runs and gradients of one case; every call draws new numbers."""

    def __init__(self, name: str, members: int, steps: int, threads: int) -> None:
        self.case, self.model, self.members = CASES[name], shiftjax.load(name), members
        self.numbers = [self.model.resolve(path) for path in self.case.numbers]
        self.values = np.array([self.model.numbers()[path] for path in self.numbers])
        self.arguments: dict[str, Any] = {
            "span": steps * STEP, "step": STEP, "output_step": steps * STEP, "channels": [self.case.output],
            "hold": list(self.case.hold), "threads": threads,
        }  # fmt: skip
        self._draw = np.random.default_rng(0)
        self._gradient = jax.jit(jax.value_and_grad(lambda x: self._final(x).sum()))
        units = np.eye(len(self.values))[:DIRECTIONS, None] * np.ones((members, 1))  # (directions, B, 10)
        self._tangents = jax.jit(lambda x: jax.vmap(lambda dx: jax.jvp(self._final, (x,), (dx,))[1])(units))

    def _final(self, x: Any) -> Any:
        """(B,) outputs at the end."""
        return self.simulated(x).channels[self.case.output][:, -1]

    def drawn(self) -> np.ndarray:
        """(B, 10) numbers."""
        return self.values * self._draw.uniform(1 - SPREAD, 1 + SPREAD, (self.members, len(self.values)))

    def simulated(self, x: Any, **more: Any) -> shiftjax.Result:
        return shiftjax.simulate(
            self.model, vary={path: x[:, k] for k, path in enumerate(self.numbers)}, **self.arguments, **more
        )  # fmt: skip

    def plain(self) -> shiftjax.Result:
        return self.simulated(self.drawn())

    def gradient(self) -> tuple[Any, Any]:
        return self._gradient(self.drawn())

    def tangents(self) -> Any:
        return self._tangents(self.drawn())

    def checked(self) -> dict[str, float]:
        """The worst figures of the certificate, and the error of the gradient of one member, when they pass."""
        result = self.plain()
        worst = {name: float(np.max(values)) for name, values in result.certificate.items()}
        assert np.all(result.status <= 0), f"{len(result.failed)} members failed"
        assert worst["gap"] < GAP and worst["energy_error"] < ENERGY, worst
        x = self.drawn()
        slopes = np.asarray(self._gradient(x)[1])
        entries = slopes[0] * x[0]
        error = float(np.abs(entries - self._differences(x[0])).max() / np.abs(entries).max())
        assert error < SAME, f"the gradient differs from differences by {error:.3g}"
        between = np.abs(np.asarray(self._tangents(x)).T - slopes[:, :DIRECTIONS]).max() / np.abs(slopes).max()
        assert between < MODES, f"tangents differ from the gradient by {between:.3g}"
        return {"gap": worst["gap"], "energy_error": worst["energy_error"], "repartitions": worst["repartitions"],
                "error": error}  # fmt: skip

    def _differences(self, x: np.ndarray) -> np.ndarray:
        """(10,) changes for a relative change of each number, by differences of fourth order."""
        sides = np.array([2.0, 1.0, -1.0, -2.0])
        factors = 1.0 + SIDE * sides[:, None, None] * np.eye(len(x))
        values = self.simulated((factors * x).reshape(-1, len(x))).channels[self.case.output][:, -1]
        return np.array([-1.0, 8.0, -8.0, 1.0]) @ values.reshape(4, -1) / (12.0 * SIDE)


@contextmanager
def kernel_time(spent: list[float]) -> Iterator[None]:
    """Adds the processor time that compiled lane programs take to the last entry."""
    run = CpuKernel.run

    def timed(self: CpuKernel, work: deque[Any], never: Stop | None = None) -> None:
        begun = time.process_time()
        run(self, work, never)
        spent[-1] += time.process_time() - begun

    CpuKernel.run = timed
    try:
        yield
    finally:
        CpuKernel.run = run


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """All figures of one mechanism."""
    work = Workload(name, options.members, options.steps, options.threads)
    figures = work.checked()
    inside: dict[str, list[float]] = {"plain": [], "gradient": [], "tangents": []}

    def noted(who: str, call: Callable[[], Any]) -> Callable[[], Any]:
        def noting() -> Any:
            inside[who].append(0.0)
            with kernel_time(inside[who]):
                return jax.block_until_ready(call())

        return noting

    calls = {who: noted(who, getattr(work, who)) for who in inside}
    timings, _ = side_by_side(calls, options.rounds)
    kernel = {who: times[1:] for who, times in inside.items()}  # the first call is not measured
    row = {**figures, **operations(work)}
    for who in calls:
        row |= {f"{who}_{key}": value for key, value in _seconds(timings[who], kernel[who]).items()}
    walls = {who: timing.walls for who, timing in timings.items()}
    cpus = {who: timing.cpus for who, timing in timings.items()}
    for key, spent in (("wall", walls), ("cpu", cpus), ("kernel", kernel)):
        row[f"times_{key}"] = _ratio(spent["gradient"], spent["plain"])
        row[f"each_{key}"] = (_ratio(spent["tangents"], spent["plain"]) - 1.0) / DIRECTIONS
    row["aim"] = CASES[name].times
    return row


def _seconds(timing: Timing, kernel: list[float]) -> dict[str, float]:
    cpu = statistics.median(timing.cpus)
    return {"wall_s": timing.wall_s, "cpu_s": cpu, "kernel_s": statistics.median(kernel), "spread": timing.spread}


def _ratio(above: Sequence[float], below: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def operations(work: Workload) -> dict[str, float]:
    """Scalar operations of a step, and what a step of the gradient has: run, run again, reversed."""
    seen: list[Begun] = []
    work.simulated(work.drawn()[:1], watch=seen.append)
    lanes, target = seen[0].lanes, host("f64")
    programs = lanes.recordings[0].programs
    assert isinstance(programs, Programs)
    adjoint = AdjointPrograms(programs).of(
        Partition(tuple(lanes.known[s][choice] for s, choice in enumerate(lanes.choice[:, 0])))
    )
    method = adjoint.method

    def total(pieces: Sequence[tuple[int, Any]]) -> int:
        return sum(times * sum(counted(piece, target).values()) for times, piece in pieces)

    step = total([*pieces_of_a_step(adjoint.program)])
    stages = method.calls("accelerate")
    again = total([(stages, piece) for piece in adjoint.program.accelerate] +
                  [(1, piece) for piece in adjoint.program.project])  # fmt: skip
    back = total([(stages, piece) for piece in adjoint.accelerate] + [(1, piece) for piece in adjoint.project] +
                 [(method.calls("drift"), piece) for piece in adjoint.drift])  # fmt: skip
    return {"operations": step, "operations_again": again, "operations_back": back,
            "times_operations": (step + again + back) / step}  # fmt: skip


# -- first calls -------------------------------------------------------------------------------------------------------


def first(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Seconds of the first gradient, in a fresh process with an empty cache and in one with a filled one."""
    code = (
        "import jax, time; t, c = time.perf_counter(), time.process_time(); jax.config.update('jax_enable_x64', True); "
        "import bench_gradient; "
        f"work = bench_gradient.Workload({name!r}, 1, {FIRST_STEPS}, {options.threads}); "
        "jax.block_until_ready(work.gradient()); print(time.perf_counter() - t, time.process_time() - c)"
    )
    row, folder = {}, str(Path(__file__).parent)
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "warm"):
            environment = {**os.environ, "SHIFTJAX_CACHE_DIR": cache}
            environment["PYTHONPATH"] = os.pathsep.join([folder, environment.get("PYTHONPATH", "")])
            command = [sys.executable, "-c", code]
            printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout.split()
            row |= {f"{kind}_s": float(printed[0]), f"{kind}_cpu_s": float(printed[1])}
    return {**row, "cold_aim": CASES[name].cold}


# -- MuJoCo ------------------------------------------------------------------------------------------------------------


def beside_mujoco(options: argparse.Namespace) -> dict[str, Any]:
    """Both derivatives of the final rocker angle: seconds of processor time a member, and errors."""
    from peers.mujoco_derivatives import Differences, chained

    from shiftjax.bench.rivals.mjcf import SOFTNESS, Closing
    from shiftjax.bench.rivals.mujoco_c import ensemble_of

    model, mass, speed = shiftjax.load("four_bar"), "four_bar:coupler.mass", f"{SPEED}.initial_velocity"
    masses = np.linspace(0.8, 1.2, options.peer_members) * model.numbers()[mass]
    models = [model.replace({mass: float(value)}) for value in masses]
    exact = {path: exact_derivative(model, masses, path, options) for path in (speed, mass)}
    calls: dict[str, Callable[[], np.ndarray]] = {}
    order = None
    for softness in SOFTNESS:
        who = "mujoco" if softness == "default" else softness
        ensemble = ensemble_of(models, STEP, options.threads, Closing("connect", softness))
        order = ensemble.joints.index(OUTPUT)
        calls[f"{who} chained, speed"] = lambda e=ensemble: chained(e, SPEED, speed, models, options.steps)
        for path, side in ((speed, SPEED_SIDE), (mass, MASS_SIDE)):
            runs = Differences(models, path, side, options.threads, softness, STEP)
            calls[f"{who} differences, {'speed' if path is speed else 'mass'}"] = lambda r=runs: r(options.steps)
    work = Workload("four_bar", options.members, options.steps, options.threads)
    checked = {"error": work.checked()["error"]}
    timings, results = side_by_side({**calls, "ours": work.gradient}, options.rounds)
    rows: dict[str, Any] = {
        "ours, ten numbers": {"cpu_s": statistics.median(timings["ours"].cpus) / work.members, **checked}
    }
    for who in calls:
        result, right = results[who], exact[speed if who.endswith("speed") else mass]
        error = float(np.abs(result[:, order] - right).max() / np.abs(right).max())
        assert error < SOFT or "tuned" not in who, f"{who} differs by {error:.3g}"
        rows[who] = {"cpu_s": statistics.median(timings[who].cpus) / len(masses), "error": error}
    return rows


def exact_derivative(model: Model, masses: np.ndarray, path: str, options: argparse.Namespace) -> np.ndarray:
    """(B,) of the final rocker angle, by our gradient and by differences of fourth order, which must agree."""
    span, mass = options.steps * STEP, "four_bar:coupler.mass"
    nominal = {mass: masses, f"{SPEED}.initial_velocity": np.full(len(masses), model.numbers()[path] if path != mass
               else model.numbers()[f"{SPEED}.initial_velocity"])}  # fmt: skip

    def final(values: Any) -> Any:
        result = shiftjax.simulate(
            model, span, STEP, output_step=span, channels=[f"{OUTPUT}.q"], hold=[SPEED], vary={**nominal, path: values}
        )  # fmt: skip
        return result.channels[f"{OUTPUT}.q"][:, -1]

    slope = np.asarray(jax.grad(lambda values: final(values).sum())(nominal[path]))
    h = SIDE * nominal[path]
    values = [final(nominal[path] + side * h) for side in (2, 1, -1, -2)]
    check = (-values[0] + 8 * values[1] - 8 * values[2] + values[3]) / (12 * h)
    assert np.abs(check - slope).max() < SAME * np.abs(slope).max(), np.abs(check - slope).max()
    return slope


# -- the command -------------------------------------------------------------------------------------------------------


def main() -> None:
    options = arguments()
    jax.config.update("jax_enable_x64", True)
    for name in options.models:
        row = measured(name, options)
        if not options.warm:
            row |= first(name, options)
        emit("gradient", {"model": name, "members": options.members, "steps": options.steps, **row})
    if not options.alone:
        emit("gradient_peers", {"model": "four_bar", "members": options.peer_members, "steps": options.steps,
                                **beside_mujoco(options)})  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--members", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--peer-members", type=int, default=16, help="members of MuJoCo's ensemble")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--alone", action="store_true", help="leave MuJoCo out")
    parser.add_argument("--warm", action="store_true", help="leave first calls out")
    return parser.parse_args()


if __name__ == "__main__":
    main()

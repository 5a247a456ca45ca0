"""Backward sweeps of the kernel for GPUs without one: their PTX run on the host has the bits of those of `cpu`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax import Model, simulate
from shiftjax.errors import ModelError
from shiftjax.kernels.adjoint import adjoint_of
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.gpu import backward, devices
from shiftjax.kernels.gpu.backward import GpuBackward, ReversibleGpuKernel
from shiftjax.kernels.gpu.devices import LaunchPace
from shiftjax.kernels.gpu.lane_leg import BACK
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.llvm.backward import ReversibleCpuKernel
from shiftjax.run.programs.integrators import METHODS
from tests.gradients import test_gradient_events as of_events
from tests.gradients import test_gradient_passages as of_passages
from tests.kernels.test_gpu import same_bits
from tests.kernels.test_sweeper import ALIKE, T0, H, leg, swept
from tests.support.complete import without
from tests.support.gpus import Gpu
from tests.support.models.sample_programs import pendulum, table

NAME = "PTX on the host"
SEEDS = np.random.default_rng(5).standard_normal((19, 5, 2))
EVERY = 3  # steps between ticks, of which the first is at clock 2


def on_device(given: Leg, device: Gpu | None = None, memory: float | None = None, **how: Any) -> np.ndarray:
    """Cotangents at the beginning of a leg."""
    bars = given.bars.copy()
    back = ReversibleGpuKernel("f64", 1, device or Gpu(), **how).backward(memory)
    back.sweep([given._replace(bars=bars)], h=H, t0=T0, every=EVERY, origin=2)
    return bars


def same(given: Leg, **how: Any) -> bool:
    """Whether all bits are those of `cpu`."""
    return on_device(given, **how).tobytes() == swept(1, EVERY, given)[0].tobytes()


@pytest.mark.parametrize("method", without(METHODS, ALIKE))
@pytest.mark.parametrize(("name", "seeds"), [("pendulum", SEEDS), ("particle", SEEDS), ("wheel", None)])
def test_cotangents_have_the_bits_of_the_processor(name: str, seeds: np.ndarray | None, method: str) -> None:
    """Lanes with their own numbers of steps, of 0 too; what is recorded, metrics, linearly implicit steps. [F24]"""
    given = leg(name, 19, np.arange(19) % 11, method, seeds)
    assert same(given) and not np.array_equal(swept(1, EVERY, given)[0], given.bars)


@pytest.mark.parametrize("tuning", [Tuning(inlined=0), Tuning(lockstep=False, block=32, registers=128)], ids=repr)
def test_wherever_pieces_are(tuning: Tuning) -> None:
    """As functions on a workspace in memory, and copied into a loop whose warps do not wait for each other."""
    assert same(leg("particle", 5, np.arange(5), "rk4", SEEDS), tuning=tuning)


def test_in_single_precision() -> None:
    """Angles beyond what the fast reduction of sines serves, and infinite ones, among them. [F24]"""
    program = pendulum(precision="f32")
    made, rng = adjoint_of(program, "f32", 1), np.random.default_rng(2)
    begun = table(program, 6, "f32", q=[np.array([0.3, 1.0, 1e6, 2.0, np.inf, 3.0])], x=[0.5], p=[9.81, 1.3])
    bars = rng.standard_normal((made.layout.row_count, 6)).astype(np.float32)
    bars[made.layout.rows("steps").start] = [7, 3, 5, 0, 4, 7]
    seeds, seen = rng.standard_normal((6, 3, 2)).astype(np.float32), []
    for kernel in (ReversibleCpuKernel("f32", 1), ReversibleGpuKernel("f32", 1, Gpu())):
        given = Leg(made, begun, bars.copy(), seeds, np.arange(6))
        kernel.backward().sweep([given], h=H, every=EVERY)
        seen.append(given.bars)
    assert same_bits(*seen) and np.isnan(seen[0][:, 4]).any() and np.isfinite(seen[0][:, :4]).all()


def test_a_leg_in_several_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes stand in their table between two of them; some have ended, or not begun, by then."""
    monkeypatch.setattr(LaunchPace, "steps", lambda self, lanes: 3)
    given, device = leg("pendulum", 19, np.arange(19) % 11, "rk4", SEEDS), Gpu()
    assert on_device(given, device).tobytes() == swept(1, EVERY, given)[0].tobytes()
    assert device.launches == 2 * 4, "of ten steps, ahead and back"


def test_lanes_go_back_in_portions_that_have_room_for_their_stacks() -> None:
    """The same bits; all memory is given back; the limit is kept, and one that is too small is refused."""
    given, device = leg("pendulum", 19, 8, "rk4", SEEDS), Gpu()
    back = GpuBackward(ReversibleGpuKernel("f64", 1, device))
    stack = 9 * back._step_bytes(given.adjoint.layout, given.adjoint.method)
    used = []

    class Watched(Gpu):
        def allocate(self, size: int) -> int:
            used.append(size)
            return super().allocate(size)

    watched = Watched()
    assert on_device(given, watched, 4.5 * stack).tobytes() == swept(1, EVERY, given)[0].tobytes()
    assert watched.launches == 2 * 5 and max(used) == 4 * stack and not watched.memory
    with pytest.raises(ModelError, match=f"tape_memory.*{stack - 1} bytes on a GPU.*at least {stack}"):
        on_device(given, watched, stack - 1.0)
    watched.size = stack
    with pytest.raises(ModelError, match="the way back of a member of"):
        on_device(given, watched, 1e9)
    assert not watched.memory


def test_legs_are_as_long_as_there_is_memory_for() -> None:
    """The stacks of as many lanes as run at a time; never less than 8 steps, so that notes stay few."""
    layout, method = (made := leg("pendulum", 1, 1).adjoint).layout, made.method
    kernel = ReversibleGpuKernel("f64", 1, device := Gpu())
    one = devices.FULL * kernel.backward()._step_bytes(layout, method)
    assert [kernel.backward(size * one).longest(made) for size in (0.0, 101.5, 1e6)] == [8, 100, backward.MOST]
    device.size = 404 * one
    assert kernel.backward().longest_of(layout, method) == 100, "a quarter of what is free"
    with pytest.raises(ValueError, match="a leg of 101 steps, its stack holds 100"):
        kernel.backward().sweep([leg("pendulum", 1, 101)], h=H)


def test_lanes_of_a_leg_are_divided_over_all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, whichever of them has a lane."""
    monkeypatch.setattr(devices, "FULL", 4)
    together = threading.Barrier(2, timeout=60.0)

    class Waiting(Gpu):
        def wait(self) -> None:
            if self.launches == 1:  # none takes the portion of the other one
                together.wait()

    given, first, other = leg("pendulum", 19, np.arange(19) % 11, "rk4", SEEDS), Waiting(), Waiting()
    kernel = ReversibleGpuKernel("f64", 1, first, others=lambda _: [other])
    bars = given.bars.copy()
    kernel.backward().sweep([given._replace(bars=bars)], h=H, t0=T0, every=EVERY, origin=2)
    assert bars.tobytes() == swept(1, EVERY, given)[0].tobytes()
    assert first.launches and other.launches and kernel.devices_used == 2 and not (first.memory or other.memory)


def test_an_interrupt_changes_no_cotangent() -> None:
    """It comes through between two launches; nothing is left on the device."""

    class Interrupted(Gpu):
        def wait(self) -> None:
            signal.raise_signal(signal.SIGINT)

    given, device = leg("pendulum", 5, 8, "rk4", SEEDS), Interrupted()
    bars = given.bars.copy()
    with pytest.raises(KeyboardInterrupt):
        ReversibleGpuKernel("f64", 1, device).backward().sweep([given._replace(bars=bars)], h=H, t0=T0)
    assert bars.tobytes() == given.bars.tobytes() and not device.memory


def test_a_spoilt_instruction_is_seen() -> None:
    """The comparison of bits would notice one wrong operation on the way back."""

    class Spoilt(Gpu):
        def load(self, identity: str, ptx: Any, name: str, shared: int) -> Any:
            def spoilt() -> str:
                parts = ptx().split("mul.rn.f64")
                middle = len(parts) // 2
                return "mul.rn.f64".join(parts[:middle]) + "add.rn.f64" + "mul.rn.f64".join(parts[middle:])

            return super().load(identity, spoilt if name == BACK else ptx, name, shared)

    assert not same(leg("pendulum", 5, 8, "rk4", SEEDS), device=Spoilt())


# -- whole runs ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def device() -> Iterator[Gpu]:
    """What all kernels of the backend `NAME` run on."""
    device = Gpu()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, NAME, lambda precision, threads: ReversibleGpuKernel(precision, threads, device))
        yield device


FOUR_BAR = {
    "vary": {"four_bar:coupler.mass": [0.9, 1.2], "four_bar:crank_pivot.initial_velocity": [1.0, 2.0]},
    "channels": ["rocker_pivot.q", "energy.total"],
    "metrics": {"swing": "peak_to_peak(rocker_pivot.q)", "late": "final(crank_pivot.v)"},
}
SPEEDS = {"bricard:joint1.initial_velocity": [3.0, 9.0]}
ELBOW = {"double_pendulum:elbow.initial_velocity": [0.1, 3.0]}
ON_A_LINE = {"a:mass.mass": [1.0, 1.2]}
RUNS: dict[str, tuple[str | Model, dict[str, Any]]] = {
    "four_bar": ("four_bar", {"span": 0.03, "step": 1e-3, **FOUR_BAR}),
    "four_bar in f32": ("four_bar", {"span": 0.03, "step": 1e-3, "precision": "f32", **FOUR_BAR}),
    "four_bar, linearly implicit": ("four_bar", {"span": 0.01, "step": 1e-3, "method": "rosenbrock", **FOUR_BAR}),
    "n_four_bar_5": (
        "n_four_bar_5",
        {"span": 0.02, "step": 1e-3, "vary": {"n_four_bar:coupler_0.mass": [0.9, 1.1]}, "channels": ["pivot_0.q"]},
    ),
    "bricard": ("bricard", {"span": 0.6, "step": 5e-3, "vary": SPEEDS, "channels": ["joint2.q"]}),
    "double_pendulum by a tolerance": (
        "double_pendulum",
        {"span": 0.1, "tolerance": 1e-6, "vary": ELBOW, "channels": ["elbow.q"]},
    ),
    "friction": (
        of_passages.slider("friction", (-2.0, 2.0, 0.0)),
        {"span": 0.4, "step": 1e-2, "vary": ON_A_LINE, "channels": ["slide.q"]},
    ),
    "an event": (
        of_events.SLED,
        {"span": 1.0, "step": 0.02, "vary": ON_A_LINE, "events": of_events.LINE, "metrics": {"v": "final(slide.v)"},
         "channels": ["slide.q"], "accuracy": "local"},
    ),
}  # fmt: skip
LONG = (
    "n_four_bar_5",
    "bricard",
    "four_bar in f32",
    "four_bar, linearly implicit",
)  # 5 to 10 s each: their PTX is translated, too


def slopes(name: str, backend: str) -> list[np.ndarray]:
    """Values, slopes of them in one direction, and what cotangents of them become."""
    model, options = RUNS[name]
    options = {"output_step": options["span"] / 2, **options}
    numbers = jnp.array([*options.pop("vary").values()]), [*RUNS[name][1]["vary"]]

    def run(x: jax.Array) -> jax.Array:
        vary = dict(zip(numbers[1], x, strict=True))
        result = simulate(model, **options, vary=vary, backend=backend, threads=1, tape_memory=1e6)
        parts = (*result.channels.values(), *result.metrics.values())
        return jnp.concatenate([jnp.ravel(part) for part in parts])

    values, back = jax.vjp(run, numbers[0])
    bars = back(jnp.asarray(np.sin(1.0 + np.arange(values.size)), values.dtype))[0]
    ahead = bars if "events" in options else jax.jvp(run, (numbers[0],), (jnp.cos(numbers[0]),))[1]
    return [np.asarray(x) for x in (values, ahead, bars)]


@pytest.mark.usefixtures("quick_llvm")
@pytest.mark.filterwarnings("ignore::shiftjax.GradientWarning")
@pytest.mark.parametrize("name", without(RUNS, LONG))
def test_slopes_of_runs_have_the_bits_of_the_processor(name: str, device: Gpu) -> None:
    """Both modes, over several legs: repartitions, metrics, jumps of forces, chosen steps, events. [F24]"""
    before = device.launches
    ours, wanted = slopes(name, NAME), slopes(name, "cpu")
    assert device.launches > before
    assert all(one.tobytes() == other.tobytes() for one, other in zip(ours, wanted, strict=True))
    assert all(np.isfinite(one).all() and one.any() for one in wanted)

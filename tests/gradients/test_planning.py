"""F11: forward, reverse and differences of one run agree, and what each takes is foretold: cost, memory, the choice."""

from __future__ import annotations

import gc
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.gradients.differences import MovedRuns, central, steps_of
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.gradients.forward.tangent_programs import BATCHES, TangentPrograms
from shiftjax.gradients.operations import step_of
from shiftjax.gradients.planning import Planner, by_differences, without_derivative
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Backward
from shiftjax.kernels.llvm import backward, cpu
from shiftjax.run.options import Options, options_of
from shiftjax.topology.partition import Partition
from tests.gradients.test_gradient_passages import exact, slider

PATHS = tuple(f"four_bar:{path}" for path in ("coupler.mass", "coupler:tip.T[0]", "rocker.mass"))
JUMPS = (0.0, 3.0, 0.15)  # N below and above a knot, and where that is [m]
AGREE = 1e-6  # relative, of the three ways
FORETOLD = 0.2  # of the memory that arrays take at the largest
METRICS = {"swing": "rms(rocker_pivot.v)", "end": "final(rocker_pivot.q)"}


def arguments(**more: Any) -> Options:
    given = options_of(span=0.1, step=1e-3, output_step=0.1, hold=["crank_pivot"], metrics=METRICS, threads=1)
    return given.changed(**more)


@cache
def run() -> DifferentiableRun:
    return DifferentiableRun(shiftjax.load("four_bar"), PATHS, arguments(), warns=False)


@cache
def planner() -> Planner:
    return Planner(run().begun)


def designs(members: int, seed: int = 0) -> np.ndarray:
    numbers = shiftjax.load("four_bar").numbers()
    nominal = np.array([numbers[path] for path in PATHS])
    return nominal * (1.0 + 0.02 * np.random.default_rng(seed).random((members, len(PATHS))))


def forward(x: np.ndarray) -> np.ndarray:
    """(B, M, P)."""
    changes = np.zeros((len(PATHS), *x.shape))
    for k in range(len(PATHS)):
        changes[k, :, k] = 1.0
    return np.moveaxis(run().tangent(x, changes)[:, :, : len(METRICS)], 0, 2)


def reverse(x: np.ndarray) -> np.ndarray:
    """(B, M, P)."""
    bars = np.zeros((len(METRICS), len(x), run().outputs))
    for m in range(len(METRICS)):
        bars[m, :, m] = 1.0
    return np.moveaxis(run().adjoint(x, bars), 0, 1)


def test_three_ways_agree() -> None:
    """F11: P = 3, M = 2, B = 8."""
    x = designs(8)
    assert run().recorded == 0  # so that the first outputs are the metrics
    moved = MovedRuns(shiftjax.load("four_bar"), PATHS, arguments())
    differences = central(moved, x, range(3))
    one_by_one = central(moved, x, range(3), members=32)  # a number at a time
    assert differences.slopes.shape == (8, 2, 3) and not differences.lost.any()
    np.testing.assert_array_equal(one_by_one.slopes, differences.slopes)
    exact = forward(x)
    np.testing.assert_allclose(reverse(x), exact, rtol=AGREE, atol=1e-10)
    np.testing.assert_allclose(differences.slopes, exact, rtol=AGREE, atol=1e-10)
    assert (np.abs(differences.slopes - exact) <= differences.errors + 1e-9).all()


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_memory_is_foretold(direction: str) -> None:
    """F11: within a fifth of what NumPy takes at the largest, all but the inputs."""
    members, way = 2000, {"forward": forward, "reverse": reverse}[direction]
    way(designs(members, 1))  # compiled, and what is kept of all runs
    x = designs(members, 2)
    run()._known.clear()
    run()._start = None
    gc.collect()
    tracemalloc.start()
    try:
        way(x)
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    found = planner().cost(direction, len(METRICS), len(PATHS), members, run().memory)
    print(f"{direction}: foretold {found.memory / members:.0f}, measured {measured / members:.0f} bytes a member")
    assert found.memory == pytest.approx(measured, rel=FORETOLD)


def test_the_tape_is_foretold() -> None:
    """To the byte that a tape tells, with notes as far apart as the room asks for, and where the driver looks."""
    members, room = 64, 400_000.0
    small = DifferentiableRun(shiftjax.load("four_bar"), PATHS, arguments(step=1e-5, tape_memory=room), warns=False)
    small.run(designs(members))
    (taped,) = small._known.values()
    own = Planner(small.begun)
    state = 8 * own._states
    notes = taped.tape.used / (members * state)
    found, again = own._tape(members, room)
    assert taped.tape.used <= room and notes > 20 and taped.tape.every > 247 and again > 0.0
    assert found == pytest.approx(members * notes * (state + 8 * 4))


def test_batches_of_directions_are_counted_as_they_run() -> None:
    """A direction costs the less the more of them run at once: of a four-bar 1.3, 1.1 and 0.8 steps."""
    lanes, found = run().begun.lanes, planner().operations
    partition = Partition(tuple(lanes.known[s][choice] for s, choice in enumerate(lanes.choice[:, 0])))
    for k, added in zip(BATCHES, found.tangents, strict=True):
        assert step_of(TangentPrograms(planner().programs, k).of(partition), "f64") == found.plain + added
    each = [added / k / found.plain for k, added in zip(BATCHES, found.tangents, strict=True)]
    print([round(cost, 3) for cost in each])
    assert 0.5 < each[2] < each[1] < each[0] < 1.5 and found.back > found.plain


def test_the_cheapest_that_fits_is_taken() -> None:
    plan = planner().planned
    few, many = plan(12, 2, 8), plan(1, 12, 8)
    assert few.direction == "forward" and many.direction == "reverse"
    for told in (few, many):
        assert told.costs[told.direction].runs == min(cost.runs for cost in told.costs.values())
        assert all(f"{way} {cost.runs:.3g} plain runs" in told.why for way, cost in told.costs.items())
    assert many.costs["differences"].runs == 72
    roomy = plan(3, 4, 8)
    tight = plan(3, 4, 8, memory=roomy.costs["forward"].memory - 1.0, room=1e9)
    assert roomy.direction == "forward" and tight.direction == "reverse" and "not forward" in tight.why
    none = plan(12, 2, 8, memory=1.0, room=1e9)
    assert "none fits" in none.why
    assert none.direction == min(none.costs, key=lambda way: none.costs[way].memory)
    timed = plan(1, 2, 8, direction="differences", plain_s=0.5)
    assert timed.direction == "differences" and timed.costs["differences"].seconds == 6.0 and "asked" in timed.why
    with pytest.raises(ModelError, match="direction"):
        plan(1, 1, 1, direction="sideways")


class Alone:
    """A kernel that is none of ours: it steps lanes, and nothing goes back over its steps."""

    def __init__(self, precision: str, threads: int | None) -> None:
        self._kernel = cpu.CpuKernel(precision, threads)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


class Outside(Alone):
    """A kernel that is none of ours, with a way back."""

    def backward(self, memory: float | None = None) -> Backward:
        return backward.CpuBackward(self._kernel)


def test_a_kernel_from_outside_brings_its_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for it, whatever its class: cotangents to the last bit as of the backend whose code it uses."""
    monkeypatch.setitem(BACKENDS, "outside", Outside)
    assert not without_derivative(options_of(backend="outside"))
    other = DifferentiableRun(shiftjax.load("four_bar"), PATHS, arguments(backend="outside"), warns=False)
    x = designs(2)
    bars = np.zeros((1, len(x), run().outputs))
    bars[:, :, run().recorded :][..., : len(METRICS)] = 1.0
    assert np.array_equal(other.adjoint(x, bars), run().adjoint(x, bars))


def test_what_has_no_derivative_is_done_by_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = "four_bar:rocker_pivot.q"

    def last(time: np.ndarray, channels: Any) -> np.ndarray:
        return channels[channel][:, -1]

    given = arguments(metrics={"last": last}, channels=[channel])
    why = without_derivative(given)
    assert "metric last is a function of arrays" in why and not without_derivative(arguments(backend="cpu"))
    plan = by_differences(3, why)
    assert plan.direction == "differences" and "18 plain runs" in plan.why and why in plan.why
    x = designs(2)
    found = central(MovedRuns(shiftjax.load("four_bar"), PATHS, given), x, range(3))
    np.testing.assert_allclose(found.slopes[:, 0], forward(x)[:, 1], rtol=AGREE, atol=1e-10)
    monkeypatch.setitem(BACKENDS, "alone", Alone)
    assert "'alone' has none" in without_derivative(options_of(backend="alone"))
    with pytest.raises(ModelError, match="of what has no derivative: metric last"):
        by_differences(3, why, "reverse")
    with pytest.raises(ModelError, match="direction"):
        by_differences(3, why, "sideways")


def test_steps_follow_the_size_of_numbers() -> None:
    steps = steps_of(np.array([[2.0, 0.0, 0.0], [4.0, 3.0, 0.0]]), "f64")
    np.testing.assert_allclose(steps / np.finfo(float).eps ** 0.2, [[2.0, 1.5, 1.0], [4.0, 3.0, 1.0]])


def test_a_jump_shows_in_the_error() -> None:
    """An outcome that jumps within the step, and a polynomial of fourth order, which is met to rounding."""

    def outcomes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.stack([x[:, 0] ** 4, np.where(x[:, 0] > 1.0005, 1.0, 0.0)], 1), np.zeros(len(x), int)

    found = central(outcomes, np.array([[1.0]]), [0])
    assert found.slopes[0, 0, 0] == pytest.approx(4.0, rel=1e-12) and found.errors[0, 0, 0] < 1e-5
    assert found.errors[0, 1, 0] > 0.1 * abs(found.slopes[0, 1, 0]) > 1.0


def test_a_jump_on_the_way_shows_in_the_error() -> None:
    """Between two steps a run is smooth, and its differences lack the jump: they agreed, and were off by 40 %."""
    model = slider("spring", JUMPS)
    key, speeds = model.resolve("slide.initial_velocity"), np.array([[1.5], [1.62], [1.83], [2.0]])
    given = options_of(span=0.5, step=1e-3, metrics={"last": "final(slide.v)"})
    found = central(MovedRuns(model, [key], given), speeds, [0])
    low, high = ([exact("spring", -0.1, v + h, *JUMPS) for v in speeds[:, 0]] for h in (-1e-4, 1e-4))
    off = np.abs(found.slopes[:, 0, 0] - np.subtract(high, low) / 2e-4)
    assert (off <= found.errors[:, 0, 0]).all()

"""Systems of many speeds and states (D4): operations on slots beside NumPy, whole steps and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.formats.builder import ModelBuilder
from shiftjax.kernels import linearly_implicit
from shiftjax.kernels.adjoint import adjoint_of
from shiftjax.kernels.backends import make_kernel
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.linear_operations import OrthogonalSystem, SlotOperation, factor, solve, solve_transposed
from shiftjax.lanes.building import graph_of
from tests.extensions import numpy_backend, rodas4  # noqa: F401
from tests.kernels.test_sweeper import check
from tests.support.graphs import evaluate
from tests.support.models.sample_programs import advance, masses, slots, table, wheel

ROUNDING = 1e-11  # of systems whose condition is below 1e3
H = 0.05
MANY = 44  # more than straight code would do


def run(made: Iterable[SlotOperation], numbers: np.ndarray) -> None:
    """Operations on slots, in place."""
    for one in made:
        graph = graph_of(one.function, len(one.runs[0][0]))
        for inputs, outputs in one.runs:
            numbers[list(outputs)] = evaluate(graph, list(numbers[list(inputs)]))


def test_systems_of_several_sizes_at_once() -> None:
    """Two of three equations, one of one and one of seven, their factors made together; A and its transpose."""
    rng, free = np.random.default_rng(0), iter(range(8, 1000))
    zeros = range(8)

    def take(count: int) -> tuple[int, ...]:
        return tuple(next(free) for _ in range(count))

    sizes = (3, 1, 7, 3)
    systems, sides = [OrthogonalSystem.of(n, take, zeros) for n in sizes], [take(n) for n in sizes]
    assert next(free) - 8 == sum(map(OrthogonalSystem.size, sizes)) + sum(sizes)
    numbers = np.full(1000, np.nan)
    numbers[:8] = 0.0
    matrices = [np.eye(n) + 0.5 * rng.standard_normal((n, n)) for n in sizes]
    for system, A in zip(systems, matrices, strict=True):
        for q, column in zip(system.Q, A.T, strict=True):
            numbers[list(q)] = column
    run(factor(systems), numbers)
    for solving, turn in ((solve, np.asarray), (solve_transposed, np.transpose)):
        right = [rng.standard_normal(n) for n in sizes]
        for side, b in zip(sides, right, strict=True):
            numbers[list(side)] = b
        run(solving(list(zip(systems, sides, strict=True))), numbers)
        for side, A, b in zip(sides, matrices, right, strict=True):
            np.testing.assert_allclose(numbers[list(side)], np.linalg.solve(turn(A), b), rtol=0, atol=ROUNDING)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing becomes straight code."""
    monkeypatch.setattr(linearly_implicit, "STRAIGHT", 0)


@pytest.mark.parametrize(("backend", "count"), [("numpy", MANY), ("cpu", MANY), ("xla", 4)])
def test_masses_in_a_row(backend: str, count: int, loops: None) -> None:
    """A step of y + h (1 - h J)^-1 f with speeds that all depend on each other, beside the same in matrices.

    XLA takes a minute for 44 of them.
    """
    program = masses(count, "backward")
    assert any(one.chained for one in program.linearize) and any(one.chained for one in program.solve)
    y, (k, c) = np.random.default_rng(1).standard_normal(2 * count), (90.0, 40.0)
    begun = table(program, 1, q=list(y[:count]), x=list(y[count:]), p=[k, c])
    kernel = make_kernel(backend, "f64", 1)
    kernel.evaluate(program, "project", begun, 0.0, H)
    advance(kernel, [(program, begun, np.zeros(1, int))], 1.0, H)
    ends = np.eye(count) - np.eye(count, k=-1)  # of stretches by places
    stretch = ends @ y[:count]
    pull = k * (stretch + stretch**3) + c * (ends @ y[count:])
    J = np.zeros((2 * count, 2 * count))
    J[:count, count:] = np.eye(count)
    J[count:, :count], J[count:, count:] = -ends.T @ np.diag(k * (1 + 3 * stretch**2)) @ ends, -c * ends.T @ ends
    f = np.concatenate([y[count:], -ends.T @ pull])
    y += H * np.linalg.solve(np.eye(2 * count) - H * J, f)
    np.testing.assert_allclose(begun[: 2 * count, 0], y, rtol=0, atol=ROUNDING * np.abs(y).max())


def leg(program: LaneProgram) -> Leg:
    """Three lanes at random states with random cotangents at the end of two steps."""
    made, rng = adjoint_of(program, "f64", 0), np.random.default_rng(2)
    start = table(program, 3, clock=7.0)
    rows = [row for name in ("q", "x", "dx", "p") for row in program.layout.rows(name)]
    start[rows] = rng.uniform(0.5, 1.5, (len(rows), 3))
    bars = rng.standard_normal((made.layout.row_count, 3))
    bars[made.layout.rows("steps").start] = 2.0
    return Leg(made, start, bars, None, np.full(3, -1))


@pytest.mark.parametrize("make", [partial(masses, MANY), wheel])
def test_cotangents_of_loops(make: Callable[[str], LaneProgram], loops: None) -> None:
    """The reverse of two steps, beside complex steps; the wheel's coordinates are solved for together, too."""
    check(leg(make("backward")))


def test_loops_do_what_straight_code_does(loops: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of coordinates whose rates take arithmetic, and their tangents."""
    looped = wheel("backward")
    monkeypatch.undo()
    straight, ends = wheel("backward"), []
    assert len(looped.solve) > 1 == len(straight.solve)
    for program in (looped, straight):
        lanes = table(program, 2, q=[0.6, 0.8], x=[np.array([2.0, -3.0])], p=[9.0])
        advance(make_kernel("cpu", "f64", 1), [(program, lanes, np.zeros(2, int))], 3.0, H)
        ends.append(lanes[[*slots(program.layout, "q", "x")]])
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=ROUNDING)


def test_tangents_through_loops(loops: None) -> None:
    """A turning body on a spring that turns it, by quaternions: the tangent of a run beside its reverse mode."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("box", mass=1.0, inertia=(0.02, 0.03, 0.04), center_of_mass=(0.02, 0.0, 0.01))
    a.joint("ball", "spherical", child="box", initial_velocity=[3.0, -2.0, 1.0])
    grip = {"stiffness": [0.0] * 3, "turning_stiffness": [3.0, 4.0, 5.0], "damping": [0.0] * 3}
    a.force_module("bushing", name="rubber", frames=[("fixed", "origin"), ("box", "origin")], **grip)
    model = builder.build()

    def last(mass: Any) -> Any:
        vary = {"box.mass": mass[None]}
        run = shiftjax.simulate(model, 0.1, 1e-2, method="rosenbrock", vary=vary, channels=["ball.v"])
        return run.channels["ball.v"][0, -1, 1]

    with jax.enable_x64(True):
        along, back = jax.jvp(last, (jnp.ones(()),), (jnp.ones(()),))[1], jax.grad(last)(jnp.ones(()))
    assert float(along) == pytest.approx(float(back), rel=1e-9) and abs(along) > 1e-3

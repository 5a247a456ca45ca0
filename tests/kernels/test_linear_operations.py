"""Systems of many speeds and states (D4): operations on slots beside NumPy, whole steps and their derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from shiftjax.kernels import linearly_implicit
from shiftjax.kernels.adjoint import adjoint_of
from shiftjax.kernels.backends import BACKENDS, make_kernel
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.linear_operations import Operation, System, factor, solve, solve_transposed
from shiftjax.lanes.building import graph_of
from tests.extensions import numpy_backend, rodas4  # noqa: F401
from tests.kernels.test_sweeper import check
from tests.support.graphs import evaluate
from tests.support.sample_programs import advance, masses, slots, table, wheel

ROUNDING = 1e-11  # of systems whose condition is below 1e3
H = 0.05
MANY = 44  # more than straight code would do


def run(made: Iterable[Operation], numbers: np.ndarray) -> None:
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
    systems, sides = [System.of(n, take, zeros) for n in sizes], [take(n) for n in sizes]
    assert next(free) - 8 == sum(map(System.size, sizes)) + sum(sizes)
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
def loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing becomes straight code."""
    monkeypatch.setattr(linearly_implicit, "STRAIGHT", 0)
    yield


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_masses(backend: str) -> None:
    """A step of y + h (1 - h J)^-1 f with 44 speeds that depend on each other, beside the same in matrices."""
    program = masses(MANY, "backward")
    assert any(one.repeats and one.chained for one in program.linearize)
    rng = np.random.default_rng(1)
    y, (k, c) = rng.standard_normal(2 * MANY), (90.0, 40.0)
    begun = table(program, 1, q=list(y[:MANY]), x=list(y[MANY:]), p=[k, c])
    kernel = make_kernel(backend, "f64", 1)
    kernel.evaluate(program, "project", begun, 0.0, H)
    advance(kernel, [(program, begun, np.zeros(1, int))], 1.0, H)
    ends = np.eye(MANY) - np.eye(MANY, k=-1)  # of stretches by places
    stretch = ends @ y[:MANY]
    pull = k * (stretch + stretch**3) + c * (ends @ y[MANY:])
    J = np.zeros((2 * MANY, 2 * MANY))
    J[:MANY, MANY:] = np.eye(MANY)
    J[MANY:, :MANY], J[MANY:, MANY:] = -ends.T @ np.diag(k * (1 + 3 * stretch**2)) @ ends, -c * ends.T @ ends
    f = np.concatenate([y[MANY:], -ends.T @ pull])
    y += H * np.linalg.solve(np.eye(2 * MANY) - H * J, f)
    np.testing.assert_allclose(begun[: 2 * MANY, 0], y, rtol=0, atol=ROUNDING * np.abs(y).max())


def leg(program) -> Leg:
    """Three lanes at random states with random cotangents at the end of two steps."""
    made, rng = adjoint_of(program, "f64", 0), np.random.default_rng(2)
    start = table(program, 3, clock=7.0)
    rows = [row for name in ("q", "x", "dx", "p") for row in program.layout.rows(name)]
    start[rows] = rng.uniform(0.5, 1.5, (len(rows), 3))
    bars = rng.standard_normal((made.layout.row_count, 3))
    bars[made.layout.rows("steps").start] = 2.0
    return Leg(made, start, bars, None, np.full(3, -1))


def test_cotangents_of_many_masses() -> None:
    """The reverse of two steps, beside complex steps."""
    check(leg(masses(MANY, "backward")))


@pytest.mark.parametrize("backend", ["cpu", "xla"])
def test_loops_do_what_straight_code_does(backend: str, loops: None) -> None:
    """Coordinates whose rates take arithmetic: steps, and the reverse of two."""
    numbers, program = [], wheel("backward")
    linearly_implicit.STRAIGHT = 1500
    for one in (program, wheel("backward")):
        lanes = table(one, 2, q=[0.6, 0.8], x=[np.array([2.0, -3.0])], p=[9.0])
        advance(make_kernel(backend, "f64", 1), [(one, lanes, np.zeros(2, int))], 3.0, H)
        numbers.append(lanes[[*slots(one.layout, "q", "x")]])
    assert len(program.solve) > 1 == len(one.solve)
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=0, atol=ROUNDING)
    linearly_implicit.STRAIGHT = 0
    check(leg(program))

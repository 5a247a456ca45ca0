"""Reverse mode on graphs of scalars: against JAX, and against complex steps."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

import shiftjax
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.jaxprs import graph_of_jaxpr
from shiftjax.lanes.reverse import reverse
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.prepare import prepare
from shiftjax.topology.partition import Partition
from tests.support.graphs import evaluate

ROUNDING = 1e-13  # relative: the same derivatives in another order of operations
STEP = 1e-30  # of complex numbers: its square is below the rounding of one


def _graph(function, count: int) -> Graph:
    with jax.enable_x64(True):
        return graph_of_jaxpr(jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct((), np.float64)] * count), "f64")


def _check(function, x: list[float]) -> None:
    """All derivatives of a function of scalars to scalars, against `jax.jacrev`."""
    graph = _graph(function, len(x))
    outputs = len(graph.outputs)
    back = reverse(graph, len(x), range(len(x)))
    with jax.enable_x64(True):
        expected = np.array(jax.jacrev(function, tuple(range(len(x))))(*map(np.float64, x)))
    for k, seed in enumerate(np.eye(outputs)):
        found = np.array(evaluate(back, [*x, *seed]))
        np.testing.assert_allclose(found, expected[k], rtol=ROUNDING, atol=ROUNDING)


CASES = {
    "sums and products": (lambda x, y: (x * y - 3.0 * x, -(x + y) * (-y), x - x * y * x), [0.7, -1.3]),
    "quotients": (lambda x, y: (x / y, -x / (1.0 + y * y), 1.0 / x), [0.7, -1.3]),
    "sines": (lambda x, y: (lax.sin(-x * y), lax.cos(y - x), lax.sin(x) * lax.cos(x)), [0.7, -1.3]),
    "roots and powers": (lambda x, y: (lax.sqrt(x), lax.pow(x, y), x**3, lax.rsqrt(x)), [0.7, -1.3]),
    "exponentials": (lambda x, y: (lax.exp(-x), lax.log(x), lax.tanh(y), lax.sinh(x), lax.cosh(y)), [0.7, -1.3]),
    "arcs": (lambda x, y: (lax.asin(x), lax.acos(x), lax.atan(y), lax.atan2(x, y), lax.atan2(y, x)), [0.7, -1.3]),
    "choices": (
        lambda x, y: (lax.select(x < y, x * y, x - y), lax.max(x, y), lax.min(-x, y * y), lax.abs(y), lax.sign(x) * y),
        [0.7, -1.3],
    ),
    "an output that is an input, one that is constant": (lambda x, y: (x, -y, x * 0.0 + 2.0, x), [0.7, -1.3]),
}


@pytest.mark.parametrize("name", CASES)
def test_every_operation_has_the_derivative_that_jax_gives(name):
    _check(*CASES[name])


def test_steps_have_no_slope():
    graph = _graph(lambda x: (lax.floor(x) * x,), 1)
    assert evaluate(reverse(graph, 1, [0]), [2.7, 1.0]) == [2.0]


def test_an_unknown_operation_is_refused():
    graph = Graph()
    graph.outputs = [graph.node("gamma", graph.node("in", 0))]
    with pytest.raises(NotImplementedError, match="gamma"):
        reverse(graph, 1, [0])


@pytest.mark.parametrize("model", ["four_bar", "bricard", "vehicle_chassis"])
def test_derivatives_of_an_acceleration_are_those_of_complex_steps(model):
    """Every piece of an acceleration, on numbers near those of a start."""
    prepared = prepare(shiftjax.load(model), {})
    start = prepared.file_start
    blocks = partitions(prepared, start, 2.0)
    program = Programs(prepared.setup).of(Partition(tuple(block[0] for block in blocks)))
    rng = np.random.default_rng(0)
    slots = rng.uniform(0.2, 1.0, program.layout.slot_count)
    slots[program.layout.slots("q").start :][: prepared.plan.nq] = start.q[:, 0]
    for piece in program.accelerate:
        for inputs, _ in piece.runs():
            graph = piece.graph
            x, n, m = slots[list(inputs)], len(inputs), len(graph.outputs)
            seeds, direction = rng.standard_normal(m), rng.standard_normal(n)
            found = np.array([float(value) for value in evaluate(reverse(graph, n, range(n)), [*x, *seeds])])
            tangent = np.array([np.imag(y) for y in evaluate(graph, [*(x + STEP * 1j * direction)])]) / STEP
            scale = np.abs(found * direction).sum()
            assert abs(found @ direction - seeds @ tangent) <= 1e-11 * scale  # sums of up to 10 000 rounded terms
            break

"""The public `branches`, also of designs that JAX traces: each assembly is a root of the closures, with slopes as such.

Host code.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import concrete_or_error

from shiftjax.algebra import Vec
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.gradients.implicit import Answered, Implicit, Solutions
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design
from shiftjax.gradients.transforms import differentiable
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.run.assemblies.all_assemblies import branches as all_assemblies
from shiftjax.run.assemblies.table import Branches
from shiftjax.run.closing.equations import Equations, closures
from shiftjax.run.derive import Formula
from shiftjax.run.options import DesignOptions, options_of
from shiftjax.run.start.prepare import prepare
from shiftjax.watching import Progress, nobody, watched

Array = Any  # of JAX, traced
CLOSED = 1e-11  # residual of a root, dimensionless


@functools.wraps(all_assemblies, assigned=("__name__", "__qualname__", "__doc__", "__annotations__"))
def branches(
    model: Model | str,
    at: Mapping[str, Any] | None = None,
    *,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    progress: Progress = nobody,
) -> Branches:
    stated = (*(vary.values() if isinstance(vary, Mapping) else ()), *(at.values() if isinstance(at, Mapping) else ()))
    if not any(map(is_traced, stated)):
        return all_assemblies(model, at, vary=vary, assign=assign, derive=derive, progress=progress)
    model = model if isinstance(model, Model) else load(model)
    with watched(progress):
        return _traced(model, at or {}, options_of(vary=vary, assign=assign, derive=derive).design)


def _traced(model: Model, at: Mapping[str, Any], design: DesignOptions) -> Branches:
    """The assemblies, with coordinates that carry derivatives.

    Args:
        at, design: of which some numbers are traced.

    Raises:
        ModelError: as of `branches`; numbers whose values are not known yet.
    """
    columns, others = traced_design(model, design)
    inputs = {plain_coordinate(model, name, "at"): jnp.atleast_1d(jnp.asarray(x, float)) for name, x in at.items()}
    known = {path: _values(f"vary {path}", x) for path, x in columns.items()}
    places = {path: _values(f"at {path}", x) for path, x in inputs.items()}
    table = all_assemblies(model, places, vary=known or None, assign=others.assign)
    y = differentiable(_of_table(model, table, known, places, others))(
        _rows(table, [*columns.values(), *inputs.values()])
    )
    q, first = dict[str, Array](), 0
    for path, values in table.q.items():
        width = values.shape[1] if values.ndim > 1 else 1
        q[path] = y[:, first : first + width] if values.ndim > 1 else y[:, first]
        first += width
    return replace(table, q=q)


def _of_table(
    model: Model, table: Branches, known: Mapping[str, Any], places: Mapping[str, Any], design: DesignOptions
) -> Implicit:
    """All coordinates (A, nq) as functions of the numbers and the inputs (A, P) of the assemblies' designs."""
    prepared = prepare(model, known, options_of(vary=known or None, assign=design.assign))
    plan = prepared.plan
    led = [next(one for one in plan.coordinates if one.path == path) for path in places]
    columns = [k for k in range(plan.nv) if k not in {one.v for one in led}]
    every = range(len(plan.substructures))

    def function(lane: Lane, q: Vec, _: Vec) -> tuple[Vec, Vec]:
        return closures(lane, q, every, drivers=True), list(q)

    equations = Equations.of(
        prepared.setup, prepared.own_numbers, prepared.places, columns, function, standing=[one.q for one in led]
    )
    start = np.concatenate([np.atleast_2d(table.q[one.path].T) for one in plan.coordinates])

    def answer(x: np.ndarray) -> Answered:
        q = np.tile(start, (1, -(-len(x) // start.shape[1])))[:, : len(x)]
        for k, one in enumerate(led):
            q[one.q] = x[:, len(known) + k]
        numbers = x[:, : len(known)].T
        q, _, size = equations.solved(q, numbers)
        solved = Solutions(
            equations, equations.inputs(q, numbers), range(x.shape[1]), np.arange(len(x)), range(plan.nq), size < CLOSED
        )
        return Answered(q.T, [solved])

    return Implicit(plan.nq, answer)


def _rows(table: Branches, columns: list[Array]) -> Array:
    """(A, P) numbers of the designs of all assemblies."""
    return jnp.stack([x[table.member] if len(x) > 1 else x[jnp.zeros(len(table), int)] for x in columns], axis=1)


def _values(where: str, x: Array) -> np.ndarray:
    """The values of an array, which may be traced by jax.grad and jax.jvp, but not inside of jax.jit."""
    try:
        return np.array(concrete_or_error(None, x))
    except jax.errors.ConcretizationTypeError as error:
        todo = "Take jax.grad, jax.jvp, jax.jacfwd or jax.jacrev of it outside of jax.jit and jax.vmap."
        fault = "a number whose value JAX does not know yet"
        raise ModelError(where, fault, "known values: how many assemblies there are follows from them", todo) from error

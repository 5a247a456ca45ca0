"""A graph of scalars evaluated by JAX: on every device that it knows, differentiable, for `jit` and `vmap`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from shiftjax.kernels.elementary.bits_in_jax import OPERATIONS as BIT_OPERATIONS
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import extreme

OPERATIONS: dict[str, Callable[..., Any]] = {
    **{"add": lax.add, "mul": lax.mul, "div": lax.div, "pow": lax.pow, "atan2": lax.atan2},
    **{"lt": lax.lt, "le": lax.le, "eq": lax.eq, "ne": lax.ne},
    **{"and": lax.bitwise_and, "or": lax.bitwise_or, "not": lax.bitwise_not},
    **{"max": extreme(lax.gt, jnp), "min": extreme(lax.lt, jnp)},
    **{"true": lambda: jnp.asarray(True), "false": lambda: jnp.asarray(False)},
    **{"select": jnp.where, "is_finite": lax.is_finite, "abs": lax.abs, "sign": lax.sign},
    **{name: getattr(lax, name) for name in ("floor", "ceil", "asin", "acos", "atan", "sin", "cos", "sqrt")},
    **{name: getattr(lax, name) for name in ("exp", "log", "tanh", "sinh", "cosh")},
    **BIT_OPERATIONS,
}


# XLA's fusion for processors computes a cheap operation again for each of its readers, and takes sines for cheap: in a
# four-bar's code there were 105 instead of 14. Barriers stop it.
COSTLY = {"sin", "cos", "div", "sqrt"}  # results that are computed once
READERS = 4  # so are those that more operations read; with 1, 2 and 10 an N-four-bar of 5 is 14 to 37 % slower


def evaluate(graph: Graph, arguments: Sequence[Any], dtype: Any, *, barriers: bool = False) -> list[Any]:
    """The outputs of a graph.

    Args:
        arguments: one number for each input. dtype: of constants. barriers: whether XLA is kept from computing again
            what it takes for cheap.
    """
    values: list[Any] = []
    readers = Counter(ref >> 1 for name, *refs in graph.nodes if name not in ("in", "const") for ref in refs)

    def get(ref: int) -> Any:
        return -values[ref >> 1] if ref & 1 else values[ref >> 1]

    for k, (name, *parts) in enumerate(graph.nodes):
        if name == "in":
            values.append(arguments[parts[0]])
        elif name == "const":
            values.append(np.asarray(parts[0], dtype))
        else:
            value = OPERATIONS[name](*map(get, parts))
            once = barriers and (name in COSTLY or readers[k] > READERS)
            values.append(lax.optimization_barrier(value) if once else value)
    return [jnp.asarray(get(ref), dtype) for ref in graph.outputs]

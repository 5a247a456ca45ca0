"""A graph of scalars evaluated by JAX: pieces that are derived as graphs run on every device that JAX knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from shiftjax.kernels.graph import Graph


def _extreme(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The better of two numbers, the second one at a tie; NaN where the first is, as compiled code takes it."""
    return lambda a, b: jnp.where(jnp.isnan(a), a, jnp.where(better(a, b), a, b))


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{"add": lax.add, "mul": lax.mul, "div": lax.div, "pow": lax.pow, "atan2": lax.atan2},
    **{"lt": lax.lt, "le": lax.le, "eq": lax.eq, "ne": lax.ne},
    **{"and": lax.bitwise_and, "or": lax.bitwise_or, "not": lax.bitwise_not},
    **{"max": _extreme(lax.gt), "min": _extreme(lax.lt)},
    **{"true": lambda: jnp.asarray(True), "false": lambda: jnp.asarray(False)},
    **{"select": jnp.where, "is_finite": lax.is_finite, "abs": lax.abs, "sign": lax.sign},
    **{name: getattr(lax, name) for name in ("floor", "ceil", "asin", "acos", "atan", "sin", "cos", "sqrt")},
    **{name: getattr(lax, name) for name in ("exp", "log", "tanh", "sinh", "cosh")},
}


def evaluate(graph: Graph, arguments: Sequence[Any], dtype: Any) -> list[Any]:
    """The outputs of a graph.

    Args:
        arguments: one number for each input. dtype: of constants.
    """
    values: list[Any] = []

    def get(ref: int) -> Any:
        return lax.neg(values[ref >> 1]) if ref & 1 else values[ref >> 1]

    for name, *parts in graph.nodes:
        if name == "in":
            values.append(arguments[parts[0]])
        elif name == "const":
            values.append(jnp.asarray(parts[0], dtype))
        else:
            values.append(OPERATIONS[name](*map(get, parts)))
    return [get(ref) for ref in graph.outputs]

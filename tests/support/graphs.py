"""A graph of scalars evaluated by NumPy, on complex numbers too: an oracle of compiled code and of derivatives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from shiftjax.lanes.graph import Graph


def _of_reals(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: compare(np.real(a), np.real(b))


def _extreme(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """As the compiled code takes it: NaN where either is, and of complex numbers the one whose real part wins."""

    def choose(a: Any, b: Any) -> Any:
        return np.where(np.isnan(a), a, np.where(better(np.real(a), np.real(b)), a, b))

    return choose


OPERATIONS: dict[str, Any] = {
    **{"add": operator.add, "mul": operator.mul, "div": operator.truediv},
    **{name: _of_reals(getattr(operator, name)) for name in ("lt", "le", "eq", "ne")},
    **{"and": operator.and_, "or": operator.or_, "not": operator.invert, "pow": np.power, "select": np.where},
    **{"max": _extreme(operator.gt), "min": _extreme(operator.lt), "atan2": np.arctan2},
    **{"true": lambda: np.True_, "false": lambda: np.False_, "is_finite": np.isfinite},
    **{"abs": lambda a: np.where(np.real(a) < 0, -a, a), "sign": lambda a: np.sign(np.real(a))},
    **{"floor": lambda a: np.floor(np.real(a)), "ceil": lambda a: np.ceil(np.real(a))},
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan},
    **{name: getattr(np, name) for name in ("sin", "cos", "sqrt", "exp", "log", "tanh", "sinh", "cosh")},
}


def _fused(a: float, b: float, c: float) -> float:
    """a b + c, rounded once."""
    first, second, third = (Fraction(float(x)) for x in (a, b, c))
    return float(first * second + third)


OPERATIONS |= {
    "power_of_two": lambda k: np.ldexp(np.ones_like(k), np.asarray(k).astype(int)),
    "exponent": lambda a: (np.frexp(a)[1] - 1).astype(np.asarray(a).dtype),  # of numbers neither 0 nor infinite
    "fma": np.vectorize(_fused),
    "copysign": np.copysign,
}


def evaluate(graph: Graph, inputs: Sequence[Any], number: Callable[[float], Any] = np.float64) -> list[Any]:
    """The outputs of a graph.

    Args:
        inputs: values or arrays of one shape. number: makes a constant.
    """
    values: list[Any] = []
    get = lambda ref: -values[ref >> 1] if ref & 1 else values[ref >> 1]  # noqa: E731
    for op, *parts in graph.nodes:
        if op == "in":
            values.append(inputs[parts[0]])
        elif op == "const":
            values.append(number(parts[0]))
        else:
            values.append(OPERATIONS[op](*map(get, parts)))
    return [get(ref) for ref in graph.outputs]

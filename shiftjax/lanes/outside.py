"""Functions of a user's as graphs: of lane values where they take these, else traced by JAX as `jax.numpy` wants it.

Their derivatives are those of the graph, by forward mode; JAX is imported by the first function that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftjax.algebra import LaneValue, Scalar
from shiftjax.lanes.building import inner_graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph, copy_into
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.lanes.jaxprs import graph_of_jaxpr


class UserFunction:
    """A scalar function of some scalars, run once: by operators, `shiftjax.algebra`, NumPy or `jax.numpy`.

    Args:
        function: pure; called with a list of `count` scalars. It may refer to lane values from around it.
    """

    def __init__(self, function: Callable[[Sequence[Any]], Any], count: int) -> None:
        self._value = _graph(function, count)
        self.outer = self._value.outer

    def value(self, x: Sequence[Scalar]) -> Scalar:
        """f(x)"""
        return applied(self._value, [*x, *self.outer])[0]

    def slope(self, x: Sequence[Scalar], along: Sequence[Scalar]) -> Scalar:
        """Its derivative at x in a direction; known zeros of the direction cost nothing, also in their kind."""
        moving, rates = _moving(along)
        return applied(self._slope(moving, len(x)), [*x, *self.outer, *rates])[1]

    def bend(self, x: Sequence[Scalar], along: Sequence[Scalar]) -> Scalar:
        """Its second derivative at x in a direction."""
        moving, rates = _moving(along)
        count = len(x) + len(self.outer) + len(moving)
        again = forward(self._slope(moving, len(x)), count, moving, [1], 1)
        return applied(again, [*x, *self.outer, *rates, *rates])[2]

    def _slope(self, moving: Sequence[int], count: int) -> Graph:
        return forward(self._value, count + len(self.outer), moving, [0], 1)


def _moving(along: Sequence[Scalar]) -> tuple[list[int], list[Scalar]]:
    """Places that a direction moves, and how fast."""
    moving = [k for k, rate in enumerate(along) if not (type(rate) is float and rate == 0.0)]
    return moving, [along[k] for k in moving]


def applied(graph: Graph, values: Sequence[Scalar]) -> list[Scalar]:
    """The outputs of a graph at some scalars: inlined where there are lane values, else evaluated by NumPy."""
    target = next((value.graph for value in values if type(value) is LaneValue), None)
    if target is None:
        results = InNumpy(graph)(values)
        return results if any(np.ndim(value) for value in values) else [float(value) for value in results]
    refs = [value.ref if type(value) is LaneValue else target.literal(value) for value in values]
    copies = copy_into(target, graph, lambda k: refs[k])
    return [_scalar(target, copies[ref >> 1] ^ (ref & 1)) for ref in graph.outputs]


def _scalar(graph: Graph, ref: int) -> Scalar:
    number = graph.value(ref)
    return LaneValue(graph, ref) if number is None else float(number)


def _graph(function: Callable[[Sequence[Any]], Any], count: int) -> Graph:
    try:
        return inner_graph_of(lambda x: [function(x)], count)
    except Exception:  # what `jax.numpy` says of a lane value, in one of many ways
        import jax

        with jax.enable_x64(True):
            scalars = [jax.ShapeDtypeStruct((), np.dtype(np.float64))] * count
            traced = jax.make_jaxpr(lambda *x: jax.numpy.asarray(function(list(x)), np.float64))(*scalars)
        return graph_of_jaxpr(traced, "f64")

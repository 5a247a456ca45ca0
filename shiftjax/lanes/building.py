"""Graphs of lane functions: a function of scalars is run once on lane values, which note what is done to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from shiftjax.algebra import LaneValue, Scalar
from shiftjax.lanes.graph import Graph, without_dead_code


class _Open(threading.local):
    """How many functions from outside this thread is running, one in another."""

    level = 0


_open = _Open()


def graph_of(function: Callable[[list[Scalar]], Sequence[Scalar]], count: int, precision: str = "f64") -> Graph:
    """The distinct live operations of a lane function.

    Args:
        function: pure, from a list of scalars to scalars. count: of its scalars. precision: "f64" or "f32", to which
            its constants are rounded.

    Raises:
        TypeError: an output is a comparison.
    """
    return _graph_of(function, count, single=precision == "f32", level=0)


def inner_graph_of(function: Callable[[list[Scalar]], Sequence[Scalar]], count: int) -> Graph:
    """The same of a function that may refer to scalars from around it, which `Graph.outer` then lists."""
    _open.level += 1
    try:
        return _graph_of(function, count, single=False, level=_open.level)
    finally:
        _open.level -= 1


def _graph_of(function: Callable[[list[Scalar]], Sequence[Scalar]], count: int, *, single: bool, level: int) -> Graph:
    graph = _built(function, Graph(single=single, level=level, count=count), count)
    if any(node[0] == "atan2" for node in graph.nodes):
        graph = _built(function, Graph(single=single, level=level, count=count, signed_zeros=True), count)
    return without_dead_code(graph)


def _built(function: Callable[[list[Scalar]], Sequence[Scalar]], graph: Graph, count: int) -> Graph:
    values = function([LaneValue(graph, graph.node("in", k)) for k in range(count)])
    graph.outputs = [_ref(graph, value) for value in values]
    if any(graph.is_boolean(ref) for ref in graph.outputs):
        raise TypeError("an output of a lane function is a comparison: select numbers by it instead")
    return graph


def _ref(graph: Graph, value: Scalar) -> int:
    if type(value) is LaneValue:
        return value.ref if value.graph is graph else graph.captured(value)
    return graph.literal(value)

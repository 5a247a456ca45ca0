"""Functions of lane values evaluated for many members by NumPy: their graphs are built once. Host code."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import without_dead_code
from shiftjax.lanes.in_numpy import InNumpy

KEPT = 64  # graphs
ARRAY = np.ndarray
ValueFunction = Callable[[Vec], dict[Any, Scalar]]  # results by label


class _HostFunction(NamedTuple):
    """A function as a list of operations, and the labels of its results."""

    run: InNumpy
    labels: list[Any]


_made: dict[tuple[Any, ...], tuple[_HostFunction, Sequence[Any]]] = {}  # and what ids in the key belong to
NO_TANGENTS: Mapping[int, np.ndarray] = {}


def evaluate(
    values: Sequence[Scalar],
    what: Hashable,
    owners: Sequence[Any],
    function: ValueFunction,
    out: Callable[[Any], np.ndarray],
    tangents: Mapping[int, np.ndarray] = NO_TANGENTS,
) -> None:
    """Writes the results of a function for all members, or their tangents.

    Args:
        values: arrays (B,), and constants, by which the operations are chosen.
        what, owners: name the function: it is the same for an equal `what` and the same objects.
        out: the array (B,) that takes the result of a label.
        tangents: place among the values -> (B,) the tangent of the array there. Where there are any, those of the
            results are written in place of them.
    """
    constants = tuple([None if type(value) is ARRAY else value for value in values])
    key = (*map(id, owners), what, constants, *tangents)
    if key not in _made:
        forget_oldest(_made, KEPT)
        _made[key] = _built(constants, function, tuple(tangents)), tuple(owners)
    made = _made[key][0]
    arrays = [*(x for x in values if type(x) is ARRAY), *tangents.values()]
    made.run.into(arrays, [out(label) for label in made.labels])


def forget_oldest(made: dict[Any, Any], most: int) -> None:
    """Leaves so many at most of what was made first to last; other threads may do the same."""
    for old in list(made)[: max(len(made) - most, 0)]:
        made.pop(old, None)


def _built(constants: Sequence[float | None], function: ValueFunction, along: Sequence[int]) -> _HostFunction:
    labels: list[Any] = []

    def of_arrays(arrays: Vec) -> Vec:
        rest = iter(arrays)
        results = function([next(rest) if value is None else value for value in constants])
        labels[:] = results
        return list(results.values())

    count = sum(value is None for value in constants)
    graph = graph_of(of_arrays, count)
    if along:
        places = [sum(value is None for value in constants[:place]) for place in along]
        graph = forward(graph, count, places, range(len(labels)), 1)
        graph.outputs = graph.outputs[len(labels) :]
        graph = without_dead_code(graph)
    return _HostFunction(InNumpy(graph), labels)

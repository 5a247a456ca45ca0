"""Functions of lane values evaluated for many members by NumPy: their graphs are built once. Host code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.kernels.forks import free_after_forks
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.compilers import COMPILERS, CompiledArrays
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph, without_dead_code
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.lanes.in_python import OftenAsked
from shiftjax.memory_cache import forget_oldest

KEPT = 64  # graphs
MANY = 1024  # members of a call: compiled code gains nothing for few
WORTH = 100_000  # of all such calls: 15 ms of compilation come back
SHORTEST, LONGEST = 25, 5000  # operations that are compiled, 0.1 ms each; of fewer NumPy is as fast
ARRAY = np.ndarray
ValueFunction = Callable[[Vec], dict[Any, Scalar]]  # results by label


class Bend(NamedTuple):
    """A second direction, along which tangents change.

    Attributes:
        values: place among the values -> (B,) their tangents along it. tangents: place -> (B,) how the first tangent of
            the value there changes along it.
    """

    values: Mapping[int, np.ndarray]
    tangents: Mapping[int, np.ndarray]


@dataclass
class KeptFunction(OftenAsked):
    """A function as a list of operations, and the labels of its results.

    Of very many members it is soon compiled, to the same bits.

    Attributes:
        graph: what the operations are of.
    """

    labels: list[Any]
    graph: Graph | None = None
    _members: int = field(default=0, init=False)  # that were asked for in large numbers, before it is compiled
    _compiled: CompiledArrays | None = field(default=None, init=False)

    def into(self, values: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> None:
        """`InNumpy.into`, with the same bits."""
        many, graph = bool(out) and len(out[0]) >= MANY, self.graph
        if many and graph is not None and COMPILERS:
            self._members += len(out[0])
            if self._members >= WORTH or (self._members == len(out[0]) and COMPILERS[0].is_stored(graph)):
                self._compile()
        if many and self._compiled is not None and all(x.dtype == np.float64 for x in values):
            self._compiled.into(values, out)
        else:
            super().into(values, out)

    def _compile(self) -> None:
        with _building:  # portions of members ask for the same at once
            graph, self.graph = self.graph, None
            if graph is not None and SHORTEST <= len(graph.nodes) <= LONGEST:
                with suppress(ValueError):
                    self._compiled = COMPILERS[0](graph)


_made: dict[tuple[Any, ...], tuple[KeptFunction, Sequence[Any]]] = {}  # and what ids in the key belong to
_building = free_after_forks(threading.RLock())
NO_TANGENTS: Mapping[int, np.ndarray] = {}


def evaluate(
    values: Sequence[Scalar],
    what: Hashable,
    owners: Sequence[Any],
    function: ValueFunction,
    out: Callable[[Any], np.ndarray],
    tangents: Mapping[int, np.ndarray] = NO_TANGENTS,
    bend: Bend | None = None,
) -> None:
    """Writes the results of a function for all members, their tangents, or how these change along a second direction.

    Args:
        values: arrays (B,), and constants, by which the operations are chosen.
        what, owners: name the function: it is the same for an equal `what` and the same objects.
        out: the array (B,) that takes the result of a label.
        tangents: place among the values -> (B,) the tangent of the array there. Where there are any, those of the
            results are written in place of them. bend: of these tangents.
    """
    second = () if bend is None else (tuple(bend.values), tuple(bend.tangents))
    made = made_once(values, what, owners, function, tuple(tangents), second)
    arrays = [*(x for x in values if type(x) is ARRAY), *tangents.values()]
    if bend is not None:
        arrays += [*bend.values.values(), *bend.tangents.values()]
    made.into(arrays, [out(label) for label in made.labels])


def made_once(
    values: Sequence[Scalar],
    what: Hashable,
    owners: Sequence[Any],
    function: ValueFunction,
    tangents: Sequence[int] = (),
    second: Sequence[Sequence[int]] = (),
) -> KeptFunction:
    """The function as `evaluate` runs it.

    Args:
        values, what, owners, function: as of `evaluate`. tangents, second: places of its tangents, and of its bend's.
    """
    constants = tuple([None if type(value) is ARRAY else value for value in values])
    key = (*map(id, owners), what, constants, *tangents, *second)
    known = _made.get(key)
    if known is None:
        with _building:  # portions of members ask for the same at once
            known = _made.get(key)
            if known is None:
                forget_oldest(_made, KEPT - 1)
                known = _made[key] = _built(constants, function, tangents, second), tuple(owners)
    return known[0]


def _built(
    constants: Sequence[float | None], function: ValueFunction, along: Sequence[int], second: Sequence[Sequence[int]]
) -> KeptFunction:
    labels: list[Any] = []

    def of_arrays(arrays: Vec) -> Vec:
        rest = iter(arrays)
        results = function([next(rest) if value is None else value for value in constants])
        labels[:] = results
        return list(results.values())

    count = sum(value is None for value in constants)
    graph = graph_of(of_arrays, count)
    arrays = [0, *accumulate(value is None for value in constants)]  # before each place
    if along:
        graph = _tangents(graph, count, [arrays[place] for place in along], len(labels))
    if second:
        values, tangents = second
        places = [arrays[place] for place in values] + [count + along.index(place) for place in tangents]
        graph = _tangents(graph, count + len(along), places, len(labels))
    return KeptFunction(InNumpy(graph), labels, graph)


def _tangents(graph: Graph, inputs: int, places: Sequence[int], outputs: int) -> Graph:
    """The tangents of a graph's outputs in place of them; those of the inputs at `places` follow its inputs."""
    graph = forward(graph, inputs, places, range(outputs), 1)
    graph.outputs = graph.outputs[outputs:]
    return without_dead_code(graph)

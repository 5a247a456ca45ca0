"""Lane code run once on the numbers of many members: lane values of one graph, which NumPy evaluates. Host code.

For what is asked once; `run.closing.host_functions` keeps the graphs of what is asked again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from shiftjax.algebra import LaneValue, Scalar, Vec
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import OF_SCALARS, OPERATIONS


def _chosen(choice: Callable[..., Any], *values: Any) -> Any:
    """One of some values; a constant as a number that a member has."""
    value = choice(*values)
    return np.float64(value) if type(value) is float else value


# Of one member, with NumPy's scalars: the same to the bit in a quarter of the time, but for powers (see `in_numpy`).
ALONE = {name: OF_SCALARS.get(function, function) for name, function in OPERATIONS.items()}
ALONE |= {name: partial(_chosen, ALONE[name]) for name in ("select", "max", "min")}
ALONE["pow"] = lambda a, b: OPERATIONS["pow"](np.array([a]), b if type(b) is float else np.array([b]))[0]


class MemberValues:
    """Numbers of members as lane values, and lane values as numbers of members. All arrays broadcast."""

    def __init__(self) -> None:
        self._graph = Graph(signed_zeros=True)
        self._inputs: list[np.ndarray] = []
        self._results: list[Any] = []  # of the nodes evaluated so far
        self._alone = True  # whether those are of one member

    def lane_values(self, values: Iterable[Scalar]) -> Vec:
        """A lane value for each array; known numbers stay known."""
        return [self._input(value) if isinstance(value, np.ndarray) else value for value in values]

    def _input(self, value: np.ndarray) -> LaneValue:
        self._inputs.append(value)
        return LaneValue(self._graph, self._graph.node("in", len(self._inputs) - 1))

    def numbers(self, values: Iterable[Scalar]) -> list[Any]:
        """An array for each lane value, known numbers as they are; what is no number is NaN and warns nobody."""
        alone = all(value.shape == (1,) for value in self._inputs)
        if self._alone and not alone:
            self._results = [value if type(value) is float else np.atleast_1d(value) for value in self._results]
        self._alone = alone
        with np.errstate(all="ignore"):
            for name, *arguments in self._graph.nodes[len(self._results) :]:
                self._results.append(self._result(name, arguments))
            results = [self._at(value.ref) if type(value) is LaneValue else value for value in values]
            return [np.atleast_1d(value) if isinstance(value, np.generic) else value for value in results]

    def _result(self, name: str, arguments: list[Any]) -> Any:
        if name == "const":
            return arguments[0]
        if name == "in":
            return self._inputs[arguments[0]][0] if self._alone else self._inputs[arguments[0]]
        return (ALONE if self._alone else OPERATIONS)[name](*[self._at(ref) for ref in arguments])

    def _at(self, ref: int) -> Any:
        return np.negative(self._results[ref >> 1]) if ref & 1 else self._results[ref >> 1]

"""Lane code run once on the numbers of many members: lane values of one graph, which NumPy evaluates. Host code.

For what is asked once; `run.closing.host_functions` keeps the graphs of what is asked again and again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from shiftjax.algebra import LaneValue, Scalar, Vec
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import OPERATIONS


class MemberValues:
    """Numbers of members as lane values, and lane values as numbers of members. All arrays broadcast."""

    def __init__(self) -> None:
        self._graph = Graph(signed_zeros=True)
        self._inputs: list[np.ndarray] = []
        self._results: list[Any] = []  # of the nodes evaluated so far

    def lane_values(self, values: Iterable[Scalar]) -> Vec:
        """A lane value for each array; known numbers stay known."""
        return [self._input(value) if isinstance(value, np.ndarray) else value for value in values]

    def _input(self, value: np.ndarray) -> LaneValue:
        self._inputs.append(value)
        return LaneValue(self._graph, self._graph.node("in", len(self._inputs) - 1))

    def numbers(self, values: Iterable[Scalar]) -> list[Any]:
        """An array for each lane value, known numbers as they are; what is no number is NaN and warns nobody."""
        with np.errstate(all="ignore"):
            for name, *arguments in self._graph.nodes[len(self._results) :]:
                self._results.append(self._result(name, arguments))
            return [self._at(value.ref) if type(value) is LaneValue else value for value in values]

    def _result(self, name: str, arguments: list[Any]) -> Any:
        if name == "in":
            return self._inputs[arguments[0]]
        return arguments[0] if name == "const" else OPERATIONS[name](*map(self._at, arguments))

    def _at(self, ref: int) -> Any:
        return np.negative(self._results[ref >> 1]) if ref & 1 else self._results[ref >> 1]

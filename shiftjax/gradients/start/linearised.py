"""The derivative of a lane function for many members at once, compiled for the host: adjoint and tangent. Host code.

Both come from one graph: reversed it is the adjoint, which is linear in its seeds, so that reversing it again with
respect to these gives the tangent; the two are transposes of each other up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from shiftjax.algebra import Scalar, Vec, known
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.host_function import HostFunction
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.lanes.graph import Graph, copy_into
from shiftjax.lanes.reverse import reverse


class Linearised:
    """A function of n scalars, of which the last ones are differentiated.

    Args:
        name: for messages. text: what decides the code, "" where nothing less than the graph does.
        function: from n scalars to a list of them, pure. count: n. wrt: how many of the last inputs are differentiated.
    """

    def __init__(self, name: str, text: str, function: Callable[[list[Scalar]], Vec], count: int, wrt: int) -> None:
        self._name, self._text = name, text
        self.count, self.wrt = count, wrt
        active: list[bool] = []

        def of_active(values: list[Scalar]) -> Vec:
            results = function(values)
            active[:] = [not known(value) for value in results]
            return [value for value in results if not known(value)]

        self._graph = graph_of(of_active, count)
        self.outputs = len(active)
        self._active = [k for k, one in enumerate(active) if one]

    def _reversed(self) -> Graph:
        """Inputs, then seeds -> cotangents."""
        return reverse(self._graph, self.count, range(self.count - self.wrt, self.count))

    def _reversed_twice(self) -> Graph:
        """Inputs, then tangents of those that are differentiated -> tangents of the outputs."""
        n, m = self.count, len(self._active)
        twice, pushed = reverse(self._reversed(), n + m, range(n, n + m)), Graph()
        pushed.signed_zeros = twice.signed_zeros
        copies = copy_into(pushed, twice, lambda k: pushed.node("in", k if k < n else k - m))  # no seed is read
        pushed.outputs = [copies[ref >> 1] ^ (ref & 1) for ref in twice.outputs]
        return pushed

    def _compiled(self, what: str, make: Callable[[], Graph], inputs: int, outputs: int) -> HostFunction:
        code = Code(make, f"{self._text}|{self._name} {what}" if self._text else "")
        slots = range(inputs + outputs)
        return HostFunction(Piece(f"{self._name} {what}", code, tuple(slots[:inputs]), tuple(slots[inputs:])))

    @cached_property
    def _adjoint(self) -> HostFunction:
        return self._compiled("adjoint", self._reversed, self.count + len(self._active), self.wrt)

    @cached_property
    def _tangent(self) -> HostFunction:
        return self._compiled("tangent", self._reversed_twice, self.count + self.wrt, len(self._active))

    def adjoint(self, values: np.ndarray, bar: np.ndarray) -> np.ndarray:
        """(wrt, B) cotangents of what is differentiated, at values (n, B) from those of the outputs (outputs, B)."""
        if not (self._active and self.wrt):
            return np.zeros((self.wrt, values.shape[1]))
        return self._adjoint(np.concatenate([values, bar[self._active]])).T

    def tangent(self, values: np.ndarray, change: np.ndarray) -> np.ndarray:
        """(outputs, B) tangents of the outputs, at values (n, B) from those of what is differentiated (wrt, B)."""
        out = np.zeros((self.outputs, values.shape[1]))
        if self._active and self.wrt:
            out[self._active] = self._tangent(np.concatenate([values, change])).T
        return out

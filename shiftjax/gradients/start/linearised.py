"""The derivative of a lane function for many members at once, compiled for the host: adjoint and tangent. Host code.

Both come from one graph: reversed it is the adjoint, which is linear in its seeds, so that reversing it again with
respect to these gives the tangent; the two are transposes of each other up to rounding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property

import numpy as np

from shiftjax.algebra import Scalar, Vec, known
from shiftjax.kernels.graph import Graph
from shiftjax.kernels.lane_program import DTYPES, Piece
from shiftjax.kernels.llvm.host_function import HostFunction
from shiftjax.kernels.reverse import copy_into, reverse
from shiftjax.kernels.simplify import simplify
from shiftjax.run.programs.tracing import tracer


class Linearised:
    """A function of n scalars, of which the last ones are differentiated.

    Args:
        name: for messages. identity: text that decides the code. function: from n scalars to a list of them, pure.
        count: n. wrt: how many of the last inputs are differentiated.
    """

    def __init__(self, name: str, identity: str, function: Callable[[list[Scalar]], Vec], count: int, wrt: int) -> None:
        self._name, self._identity, self._function = name, identity, function
        self.count, self.wrt = count, wrt
        with np.errstate(all="ignore"):
            values = function([np.ones(1) for _ in range(count)])  # each its own: a - a of one object is a known zero
        self.outputs = len(values)
        self._active = [k for k, value in enumerate(values) if not known(value)]

    def _of_active(self, values: list[Scalar]) -> Vec:
        found = self._function(values)
        return [found[k] for k in self._active]

    def _reversed(self) -> Graph:
        """Inputs, then seeds -> cotangents."""
        graph = simplify(tracer(self._of_active, self.count, DTYPES["f64"])(), "f64")
        return reverse(graph, self.count, range(self.count - self.wrt, self.count))

    def _reversed_twice(self) -> Graph:
        """Inputs, then tangents of those that are differentiated -> tangents of the outputs."""
        n, m = self.count, len(self._active)
        twice, found = reverse(self._reversed(), n + m, range(n, n + m)), Graph()
        found.signed_zeros = twice.signed_zeros
        copies = copy_into(found, twice, lambda k: found.node("in", k if k < n else k - m))  # no seed is read
        found.outputs = [copies[ref >> 1] ^ (ref & 1) for ref in twice.outputs]
        return found

    def _compiled(self, what: str, make: Callable[[], Graph], inputs: int, outputs: int) -> HostFunction:
        key = hashlib.sha256(f"{self._identity}|{self._name} {what}".encode()).hexdigest()
        slots = range(inputs + outputs)
        return HostFunction(Piece(f"{self._name} {what}", key, make, tuple(slots[:inputs]), tuple(slots[inputs:])))

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

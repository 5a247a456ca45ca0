"""The Jacobian of a substructure for many members at once, compiled for the host. Host code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftjax.algebra import Scalar, Vec, is_zero
from shiftjax.constraints import scales
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.host_function import HostFunction
from shiftjax.kernels.pivoting.host_search import search_on_host
from shiftjax.kernels.pivoting.search import MatrixCode, PivotSets, SearchedLanes
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.memory_cache import forget_oldest
from shiftjax.run.programs.setup import Setup

KEPT = 256  # substructures whose code stays loaded
_made: dict[tuple[str, int], CompiledJacobian] = {}


class CompiledJacobian:
    """The dimensionless Jacobian of one substructure, its rows that are zero by structure left out.

    In f64 and by the same code whatever the backend and the precision of the run, so that choices which follow from it
    are the same everywhere.

    Attributes:
        rows: (m,) local rows that are not zero by structure.
        code: the matrix of these rows, for kernels.
    """

    def __init__(self, setup: Setup, index: int) -> None:
        self._setup, self._index = replace(setup, precision="f64"), index
        self._columns = setup.plan.substructures[index].columns
        count, pattern = setup.plan.nq + len(setup.varied) + 1, list[list[bool]]()

        def entries(values: list[Scalar]) -> Vec:
            rows = self._entries(values)
            pattern[:] = [[not is_zero(entry) for entry in row] for row in rows]
            return [entry for row in rows for entry in row if not is_zero(entry)]

        graph = graph_of(entries, count)
        self.rows = np.flatnonzero([any(row) for row in pattern])
        n = len(self._columns)
        places = [k * n + j for k, i in enumerate(self.rows) for j in range(n) if pattern[i][j]]
        slots = range(count + len(places))
        piece = Piece(f"jacobian {index}", Code(lambda: graph), tuple(slots[:count]), tuple(slots[count:]))
        self.code = MatrixCode(piece, tuple(places), len(self.rows), n)
        self._compiled = HostFunction(piece)

    def _entries(self, values: list[Scalar]) -> list[Vec]:
        """All entries at coordinates, varied numbers and time; lane code."""
        nq = self._setup.plan.nq
        lane = self._setup.lane(values[nq:-1], values[-1])
        rows, unit = lane.rows(lane.motion(values[:nq], None), self._index), lane.units
        return [
            [unit[speed] / size * entries.get(speed, 0.0) for speed in self._columns]
            for entries, size in zip(rows.J, scales(rows.unit, lane.length), strict=True)
        ]

    def __call__(self, q: np.ndarray, p: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(B, m, n) for coordinates (nq, B), varied numbers (np, B) and times (B,) [s]."""
        entries = self._compiled(np.concatenate([q, p, t[None]]))
        J = np.zeros((q.shape[1], self.code.m * self.code.n))
        J[:, self.code.places] = entries
        return J.reshape(-1, self.code.m, self.code.n)

    def search(self, lanes: SearchedLanes) -> PivotSets:
        """What complete pivoting says of lanes, by compiled code on the processor."""
        return search_on_host(self.code, self._compiled, lanes)


def jacobian_of(setup: Setup, index: int) -> CompiledJacobian:
    """The one of a setup, made once in a process."""
    key = setup.identity(), index
    known = _made.get(key)
    if known is None:
        forget_oldest(_made, KEPT - 1)
        known = _made[key] = CompiledJacobian(setup, index)
    return known

"""The loops of one mechanism that is moved pose by pose, as by hand: each pose is evaluated once. Host code.

What is the same at all poses is looked up once: 4 000 numbers of a model of 270 joints took as long as its loops, and
rows that others imply stay those that they are. Here is decided how what loops leave free is found (`loop_space`): by
independent rows where these have been chosen and tell, else by singular values, which say which rows to choose. Many
members at once take singular values of all rows together (`projection`), so that none depends on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.kinematics.positioning.solving.loop_space import IndependentRows, LoopSpace, by_singular_values
from shiftjax.run.closing.host_evaluation import StartLane

CLOSED = 1e-11  # residual of loops, dimensionless
POSES = 2  # whose evaluation is kept: where loops were closed last, and where what drives them has gone

_Evaluated = tuple[np.ndarray, np.ndarray, np.ndarray]  # coordinates that count, residuals, entries


class LoneLoops:
    """All loops and drivers of one mechanism, of numbers that are exact.

    Attributes:
        parts: its substructures. speeds: how many columns there are.
        kept: rows that have entries. rows, columns: (k,) of these entries, rows among those kept.
        independent: rows that were chosen at one of the last poses; None before.
    """

    @classmethod
    def of(cls, lane: StartLane) -> LoneLoops | None:
        """None where there are none, or of rounded numbers."""
        blocks = lane.plan.substructures
        return cls(lane) if any(one.rows for one in blocks) and not any(one.rounded for one in blocks) else None

    def __init__(self, lane: StartLane) -> None:
        self.lane, self.plan = lane, lane.plan
        self.speeds = lane.plan.nv
        self.parts = [host.LoneClosure(lane, s) for s in range(len(self.plan.substructures))]
        rows, columns, first = [], [], 0
        for part, block in zip(self.parts, self.plan.substructures, strict=True):
            rows.append(first + part.rows)
            columns.append(np.asarray(block.columns, int)[part.columns])
            first += block.rows
        rows, self.columns = np.concatenate([*rows, np.zeros(0, int)]), np.concatenate([*columns, np.zeros(0, int)])
        self.kept, self.rows = np.unique(rows, return_inverse=True)  # half the rows of planar loops are nothing
        self._begin(self.parts)

    def _begin(self, parts: Sequence[host.LoneClosure]) -> None:
        """Nothing was asked yet of what these give."""
        moved = np.concatenate([np.zeros(0, int), *(part.moved for part in parts)])
        self._moved, self._recent = np.unique(moved), tuple[_Evaluated, ...]()
        self.independent: IndependentRows | None = None
        self._last: LoopsHere | None = None

    def at(self, q: np.ndarray) -> LoopsHere:
        """Loops at coordinates (nq,)."""
        here = self._last  # a window asks from a thread of its own
        if here is None or not np.array_equal(here.q, q):
            here = self._last = LoopsHere(self, q.copy(), *self._evaluated(q))
        return here

    def _evaluated(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals and entries of the Jacobian, of the last poses without another evaluation."""
        moved = q[self._moved]
        for known, phi, values in self._recent:
            if np.array_equal(known, moved):
                return phi, values
        phi, values = self._values_at(q)
        self._recent = ((moved, phi, values), *self._recent[: POSES - 1])
        return phi, values

    def _values_at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        phi, values = zip(*(part(q) for part in self.parts), strict=True)
        return np.concatenate(phi), np.concatenate(values)

    def space(self, here: LoopsHere) -> LoopSpace:
        """What they leave free there."""
        J, phi = self.dense(here)
        if self.independent is not None:
            quick = self.independent.space(here.values, J, phi)
            if quick is not None:
                return quick
        whole = by_singular_values(J, phi)
        if whole.separated and whole.rank and here.gap <= CLOSED:
            self.independent = IndependentRows(J, whole.rank, self.rows, self.columns)
        return whole

    def dense(self, here: LoopsHere) -> tuple[np.ndarray, np.ndarray]:
        """Rows (r, nv) that have entries, and by how much they are missed (r,)."""
        J = np.zeros((len(self.kept), self.speeds))
        J[self.rows, self.columns] = here.values
        return J, here.phi[self.kept]


class LoopsHere:
    """Loops at a pose.

    Attributes:
        q: (nq,). phi: (r,) residuals, dimensionless. values: (k,) entries of their Jacobian.
    """

    def __init__(self, loops: LoneLoops, q: np.ndarray, phi: np.ndarray, values: np.ndarray) -> None:
        self._loops, self.q, self.phi, self.values = loops, q, phi, values

    @property
    def gap(self) -> float:
        """The largest residual."""
        return float(np.abs(self.phi).max(initial=0.0))

    @cached_property
    def space(self) -> LoopSpace:
        """What they leave free."""
        return self._loops.space(self)

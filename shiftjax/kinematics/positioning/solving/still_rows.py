"""Rows that must not change: what they leave free, and the least change by which they are missed no more. Host code.

Of many members all rows are taken together, by singular values. Of one, loops come first, by `loop_space`; all others
are taken within what these leave free, in as many unknowns as the mechanism has freedoms: where rows can be met both
are the same, since each change is the least one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.kinematics.positioning.solving.lone_loops import LoopsHere
from shiftjax.kinematics.positioning.solving.projection import free_of, restoring_change


@dataclass
class StillRows:
    """Rows of some members.

    Attributes:
        missed: (B, r) by how much. rows: (B, r, n). loops: of one member, whose rows are not among these.
    """

    missed: np.ndarray
    rows: np.ndarray
    loops: LoopsHere | None = None

    def also(self, missed: np.ndarray, rows: np.ndarray) -> StillRows:
        """With others."""
        return StillRows(
            np.concatenate([self.missed, missed], axis=1), np.concatenate([self.rows, rows], axis=1), self.loops
        )

    @property
    def worst(self) -> np.ndarray:
        """(B,) by how much the worst row is missed."""
        return np.maximum(np.abs(self.missed).max(1, initial=0.0), self.loops.gap if self.loops else 0.0)

    def free(self) -> np.ndarray:
        """(B, n, k) what they leave free: columns, of which each change is a sum, as it is of an orthonormal basis."""
        if self.loops is None:
            return free_of(self.rows)
        basis = self.loops.space.basis
        return basis @ free_of(self.rows @ basis, self._size) if self.rows.shape[1] else basis[None]

    def restoring(self) -> np.ndarray:
        """(B, n) the least change by which they are missed no more, as far as that can be."""
        if self.loops is None:
            return restoring_change(self.rows, self.missed)
        change = self.loops.space.closing
        if not self.rows.shape[1]:
            return change[None]
        basis, left = self.loops.space.basis, self.missed + self.rows @ change
        return change + restoring_change(self.rows @ basis, left, self._size) @ basis.T

    @property
    def _size(self) -> float:
        """The largest singular value of all rows, about."""
        assert self.loops is not None
        return max(self.loops.space.size, float(np.linalg.norm(self.rows)))

"""The sign of a Jacobian along a walk of closed poses: where it changes, a singular pose was passed. Host code.

Assembly branches meet where some joints' Jacobian J is singular. det(J_k^T J_k+1) of two poses that follow each other
turns negative where one lies between them: for square Jacobians it is the product of both determinants, for more rows
than columns the inner product of both column spaces (Cauchy and Binet). Poses too near a singular one are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SINGULAR = np.log(100.0)  # a Jacobian whose volume has shrunk this much says nothing about its sign


class SignWatch:
    """Watches the Jacobians of some members along their walks.

    Args:
        J: (B, m, n) where they begin. columns: those that are watched; none where empty.

    Attributes:
        crossed: (B,) whether a singular pose was passed.
    """

    def __init__(self, J: np.ndarray, columns: Sequence[int]) -> None:
        self.columns, self.crossed = list(columns), np.zeros(len(J), bool)
        self.last = J[:, :, self.columns]
        self.volume = _volume(self.last)
        self.largest = self.volume.copy()

    def turned(self, members: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Looks at the next poses of some members: whether a singular pose lies between the last one and each.

        Args:
            J: (K, m, n) at the next poses.
        """
        if not self.columns:
            return np.zeros(len(members), bool)
        self.next = J[:, :, self.columns]
        self.next_volume = _volume(self.next)
        self.opposite = _same_side(self.last[members], self.next) < 0
        least = np.maximum(self.largest[members], self.next_volume) - SINGULAR
        return (self.next_volume > least) & (self.volume[members] > least) & self.opposite

    def passed(self, members: np.ndarray, which: np.ndarray) -> None:
        """Takes some of the poses that were looked at, `which` (K,) of the same members, as the last ones."""
        if not self.columns:
            return
        passing, J, volume = members[which], self.next[which], self.next_volume[which]
        self.largest[passing] = np.maximum(self.largest[passing], volume)
        least = self.largest[passing] - SINGULAR
        clear = (volume > least) & (self.volume[passing] > least)
        self.crossed[passing] |= clear & self.opposite[which]
        fresh = (volume > least) | (self.volume[passing] <= least)
        self.last[passing[fresh]], self.volume[passing[fresh]] = J[fresh], volume[fresh]


@np.errstate(all="ignore")  # products of entries of 1e160: their sign says nothing, and their poses do not close
def _same_side(J: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(B,) sign of det(J^T J') of Jacobians (B, m, n)."""
    product = J.transpose(0, 2, 1) @ other
    return np.linalg.slogdet(np.where(np.isfinite(product), product, 0.0))[0]


@np.errstate(all="ignore")  # as in `_same_side`; the logarithm of no volume is -inf
def _volume(J: np.ndarray) -> np.ndarray:
    """(B,) logarithm of the volume that the columns span."""
    gram = J.transpose(0, 2, 1) @ J
    return 0.5 * np.linalg.slogdet(np.where(np.isfinite(gram), gram, 0.0))[1]

"""The derivative of x = A^+ b for many members, as long as the rank of A stays. Host code.

dx = A^+ (db - dA x) + A^+ A^+^T dA^T r + (1 - A^+ A) dA^T A^+^T x with r = b - A x (Golub, Pereyra, SIAM Journal on
Numerical Analysis 10, 1973).
"""

from __future__ import annotations

import numpy as np


def apply(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(B, m) = (B, m, n) (B, n); in C order whatever B, since products add up in an order that depends on strides."""
    return (np.ascontiguousarray(A) @ np.ascontiguousarray(x)[:, :, None])[:, :, 0]


def transposed(A: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(B, n) = (B, m, n)^T (B, m); in C order."""
    return (np.ascontiguousarray(y)[:, None, :] @ np.ascontiguousarray(A))[:, 0, :]


def pseudo_inverse(A: np.ndarray, rank: float) -> np.ndarray:
    """(B, n, m); singular values below `rank` of the largest are zero."""
    return inverse_and_rank(A, rank)[0]


def inverse_and_rank(A: np.ndarray, rank: float) -> tuple[np.ndarray, np.ndarray]:
    """The `pseudo_inverse` (B, n, m) and the ranks (B,), from one singular value decomposition."""
    if not min(A.shape[1:]):
        return np.zeros((len(A), *A.shape[:0:-1])), np.zeros(len(A), int)
    u, s, vt = np.linalg.svd(np.ascontiguousarray(A), full_matrices=False)
    counts = s > rank * s.max(1, keepdims=True)
    s = np.where(counts, 1.0 / np.where(counts, s, 1.0), 0.0)
    inverse = vt.transpose(0, 2, 1) @ (s[:, :, None] * u.transpose(0, 2, 1))
    return np.ascontiguousarray(inverse), counts.sum(1)


class LeastNorm:
    """x = A^+ b.

    Args:
        A: (B, m, n). inverse: (B, n, m) its `pseudo_inverse`. b: (B, m).
        misses: (B,) members whose b is no A x; of the others r is rounding and counts as zero.

    Attributes:
        x: (B, n).
    """

    def __init__(self, A: np.ndarray, inverse: np.ndarray, b: np.ndarray, misses: np.ndarray | None = None) -> None:
        self.A, self.inverse, self.x = A, inverse, apply(inverse, b)
        self._missing = np.zeros_like(b) if misses is None else np.where(misses[:, None], b - apply(A, self.x), 0.0)
        self._pulled = transposed(self.inverse, self.x)  # A^+^T x

    def _idle(self, x: np.ndarray) -> np.ndarray:
        """(1 - A^+ A) x."""
        return x - apply(self.inverse, apply(self.A, x))

    def adjoint(self, x_bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents of b (B, m) and of A (B, m, n) from those of x (B, n)."""
        b_bar = transposed(self.inverse, x_bar)
        A_bar = self._missing[:, :, None] * apply(self.inverse, b_bar)[:, None, :]
        A_bar += self._pulled[:, :, None] * self._idle(x_bar)[:, None, :]
        A_bar -= b_bar[:, :, None] * self.x[:, None, :]
        return b_bar, A_bar

    def tangent(self, db: np.ndarray, dA: np.ndarray) -> np.ndarray:
        """That of x (B, n) from those of b and A."""
        missed = transposed(self.inverse, transposed(dA, self._missing))
        change = apply(self.inverse, db - apply(dA, self.x) + missed)
        return change + self._idle(transposed(dA, self._pulled))

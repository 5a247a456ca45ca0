"""Complete pivoting by NumPy, step by step over all matrices at once: what the compiled elimination must equal."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

TIE = 1e-12


def eliminated(J: np.ndarray, tolerance: float, kept_free: Collection[int]) -> tuple[np.ndarray, ...]:
    """rows, columns, rank, pivots, dropped of (B, m, n) matrices."""
    B, m, n = J.shape
    A = J.copy()
    steps = min(m, n)
    rows, columns = np.full((B, steps), -1), np.full((B, steps), -1)
    pivots, dropped = np.zeros((B, steps)), np.zeros(B)
    free_rows, free_columns = np.ones((B, m), bool), np.ones((B, n), bool)
    free_columns[:, list(kept_free)] = False
    alive, members, first = np.ones(B, bool), np.arange(B), np.zeros(B)
    for k in range(steps):
        size = np.where(free_rows[:, :, None] & free_columns[:, None, :], np.abs(A), -1.0).reshape(B, -1)
        largest = size.max(1)
        first = largest if k == 0 else first
        pick = (size >= (largest * (1.0 - TIE))[:, None]).argmax(1)
        kept = alive & (largest > tolerance * first)
        dropped = np.where(alive & ~kept, np.maximum(largest, 0.0), dropped)
        alive = kept
        if not alive.any():
            break
        i, j = pick // n, pick % n
        rows[alive, k], columns[alive, k], pivots[alive, k] = i[alive], j[alive], largest[alive]
        pivot = np.where(alive, A[members, i, j], 1.0)
        factor = np.where(free_rows & alive[:, None], A[members, :, j] / pivot[:, None], 0.0)
        factor[members, i] = 0.0
        A -= factor[:, :, None] * A[members, i, :][:, None, :]
        free_rows[members[alive], i[alive]] = False
        free_columns[members[alive], j[alive]] = False
    return rows, columns, (rows >= 0).sum(1), pivots, dropped

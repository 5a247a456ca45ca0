"""How much of the cells about a grid's points lies within its box. Host code."""

from __future__ import annotations

import numpy as np


def cell_weights(axes: tuple[np.ndarray, ...]) -> np.ndarray:
    """(n, ...) of the cells of a grid's points, how much of each lies within the box: half at a face, a quarter at an
    edge of two."""
    weights = np.ones(())
    for axis in axes:
        one = np.ones(len(axis))
        one[[0, -1]] = 0.5
        weights = np.multiply.outer(weights, one)
    return weights

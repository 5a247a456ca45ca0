"""Derivatives of analytic functions of NumPy arrays, exact to rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TINY = 1e-40  # of complex steps: below the rounding of anything that a run is about, as its square is of a float


def complex_step(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, dx: np.ndarray) -> np.ndarray:
    """The derivative of an analytic function of NumPy arrays in a direction: Im f(x + i e dx) / e (Squire, Trapp,
    Using complex variables to estimate derivatives of real functions, SIAM Review 40, 1998)."""
    with np.errstate(all="ignore"):
        return np.imag(function(x.astype(float) + 1j * TINY * dx.astype(float))) / TINY


def pulled(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, bars: np.ndarray) -> np.ndarray:
    """The cotangents of x (..., B) from those (m, B) of the values, member by member; a zero of
    theirs, or of a slope, counts more than an infinity of the other."""
    out = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:-1]):
        direction = np.zeros(x.shape)
        direction[place] = 1.0
        slope = complex_step(function, x, direction)
        with np.errstate(all="ignore"):
            out[place] = np.where((bars != 0.0) & (slope != 0.0), slope * bars, 0.0).sum(0)
    return out

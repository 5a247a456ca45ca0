"""Colours that mean numbers: a ramp from low to high. NumPy only."""

from __future__ import annotations

import numpy as np

RAMP = np.array(  # from low to high, near the colours of viridis (Smith, van der Walt 2015)
    [[0.27, 0.00, 0.33], [0.23, 0.32, 0.55], [0.13, 0.57, 0.55], [0.37, 0.79, 0.38], [0.99, 0.91, 0.14]]
)


def ends(values: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest finite value, to which the ends of the ramp belong; zeros if there is none."""
    finite = np.asarray(values, float)[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)


def ramp(values: np.ndarray, limits: tuple[float, float] | None = None) -> np.ndarray:
    """(k, 3) colours of finite values between two limits, left out from their smallest to their largest; grey for the
    others."""
    values = np.asarray(values, float)
    finite = np.isfinite(values)
    low, high = ends(values) if limits is None else limits
    fraction = np.where(finite, (values - low) / (high - low) if high > low else 0.5, 0.5)
    knots = np.linspace(0.0, 1.0, len(RAMP))
    colours = np.stack([np.interp(fraction, knots, RAMP[:, c]) for c in range(3)], axis=1)
    colours[~finite] = 0.5
    return colours

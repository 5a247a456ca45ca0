"""Images of densities: counts and means of cells as pixels. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.scene.ramp import RAMP

MARK = (255, 140, 20)  # of what is selected, 0..255
FAINTEST = 60  # opacity of a cell with one member, 0..255


def coloured(values: np.ndarray, counts: np.ndarray, low: float, high: float) -> np.ndarray:
    """(h, w, 4) uint8 of (h, w) values between two ends; cells without members are clear. First row on top."""
    part = np.clip(np.nan_to_num((values - low) / (high - low) if high > low else values * 0 + 0.5), 0.0, 1.0)
    knots = np.linspace(0.0, 1.0, len(RAMP))
    pixels = np.zeros((*counts.shape, 4), np.uint8)
    for c in range(3):
        pixels[..., c] = np.round(255 * np.interp(part, knots, RAMP[:, c]))
    pixels[..., 3] = np.where(counts > 0, 255, 0)
    return pixels[::-1]


def shaded(counts: np.ndarray, colour: tuple[int, int, int], most: int = 255) -> np.ndarray:
    """(h, w, 4) uint8 of one colour, the more solid the more members (logarithm); clear where there are none."""
    logs = np.log1p(counts)
    pixels = np.empty((*counts.shape, 4), np.uint8)
    pixels[..., :3] = colour
    pixels[..., 3] = np.where(counts > 0, FAINTEST + (most - FAINTEST) * logs / max(float(logs.max()), 1e-9), 0)
    return pixels[::-1]

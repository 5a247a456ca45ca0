"""Colours of a screen (sRGB) and the light they stand for; how see-through ghosts are. NumPy only."""

from __future__ import annotations

import numpy as np

PALE, DARK = 0.02, 0.3  # opacities of many ghosts and of few


def linear(colours: np.ndarray) -> np.ndarray:
    """(..., 3 or 4) colours of a screen in linear light; opacity stays."""
    colours = np.array(colours, float)
    rgb = colours[..., :3]
    colours[..., :3] = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return colours


def ghost_opacity(count: int) -> float:
    """Of each of `count` ghosts: together they stay readable."""
    return float(np.clip(3.0 / max(count, 1), PALE, DARK))

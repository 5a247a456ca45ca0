"""Conversion of sRGB colours to linear light, and the opacity of ghosts. NumPy only."""

from __future__ import annotations

import numpy as np

LOWEST, HIGHEST = 0.02, 0.3  # opacities of many ghosts and of few


def linear(colours: np.ndarray) -> np.ndarray:
    """(..., 3 or 4) sRGB colours in linear light; opacity is unchanged."""
    colours = np.array(colours, float)
    rgb = colours[..., :3]
    colours[..., :3] = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return colours


def ghost_opacity(count: int) -> float:
    """Opacity of each of `count` ghosts, lower for more of them."""
    return float(np.clip(3.0 / max(count, 1), LOWEST, HIGHEST))

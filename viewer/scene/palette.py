"""Colours of bodies, conversion of sRGB colours to linear light, the opacity of ghosts. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.scene.scene import Colour

PALETTE: tuple[Colour, ...] = (  # of bodies; away from the colours of joints
    (0.90, 0.52, 0.18, 1.0),
    (0.22, 0.60, 0.58, 1.0),
    (0.92, 0.76, 0.30, 1.0),
    (0.47, 0.65, 0.84, 1.0),
    (0.56, 0.69, 0.34, 1.0),
    (0.78, 0.59, 0.45, 1.0),
    (0.63, 0.67, 0.72, 1.0),
    (0.93, 0.66, 0.55, 1.0),
    (0.36, 0.52, 0.43, 1.0),
    (0.72, 0.79, 0.54, 1.0),
    (0.56, 0.48, 0.40, 1.0),
    (0.43, 0.75, 0.78, 1.0),
)
CATEGORIES: tuple[Colour, ...] = (  # of what is told apart by colour, also by the colour-blind (Okabe, Ito: Color
    # Universal Design, 2002), without black
    (0.337, 0.706, 0.914, 1.0),  # sky blue
    (0.902, 0.624, 0.000, 1.0),  # orange
    (0.000, 0.620, 0.451, 1.0),  # bluish green
    (0.800, 0.475, 0.655, 1.0),  # reddish purple
    (0.941, 0.894, 0.259, 1.0),  # yellow
    (0.000, 0.447, 0.698, 1.0),  # blue
    (0.835, 0.369, 0.000, 1.0),  # vermilion
)
GREY: Colour = (0.50, 0.51, 0.53, 1.0)
TRANSLUCENT = 0.35  # opacity of what is virtual
LOWEST, HIGHEST = 0.02, 0.3  # opacities of many ghosts and of few


def linear(colours: np.ndarray) -> np.ndarray:
    """(..., 3 or 4) sRGB colours in linear light; opacity is unchanged."""
    colours = np.array(colours, float)
    rgb = colours[..., :3]
    colours[..., :3] = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return colours


def faded(colour: Colour, *, virtual: bool) -> Colour:
    """The colour of a part, translucent where what it shows is virtual."""
    return (*colour[:3], colour[3] * TRANSLUCENT) if virtual else colour


def ghost_opacity(count: int) -> float:
    """Opacity of each of `count` ghosts, lower for more of them."""
    return float(np.clip(3.0 / max(count, 1), LOWEST, HIGHEST))

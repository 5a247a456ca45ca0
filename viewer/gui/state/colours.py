"""Colours of the window and of overlays."""

from __future__ import annotations

import colorsys

from shiftjax.viewer.scene.palette import CATEGORIES
from shiftjax.viewer.scene.scene import Colour

FADED = 0.2  # opacity of translucent items and of those in front of the pick
TRACE: Colour = (0.85, 0.15, 0.45, 1.0)
ARROW: Colour = (0.95, 0.55, 0.05, 1.0)
PULL: Colour = (0.10, 0.65, 0.25, 1.0)
BY_HAND: Colour = (0.72, 0.22, 0.98, 1.0)  # a design that no member has
MET: Colour = (0.20, 0.75, 0.30, 1.0)  # goals of what is posed by hand: met, as near as may be, held by a limit
NEAREST: Colour = (0.95, 0.70, 0.10, 1.0)
BLOCKED: Colour = (0.95, 0.25, 0.20, 1.0)
OF_STATE = {"met": MET, "nearest": NEAREST, "blocked": BLOCKED}
OTHER: Colour = (0.35, 0.45, 0.60, 0.35)  # another assembly
SCREW: Colour = (0.55, 0.10, 0.75, 1.0)  # of the picked body as ground sees it, and as another body does
SCREW_BETWEEN: Colour = (0.00, 0.55, 0.45, 1.0)
VELOCITY_ELLIPSE: Colour = (0.05, 0.25, 0.80, 1.0)
FORCE_ELLIPSE: Colour = (0.90, 0.50, 0.10, 1.0)
ROUTE: Colour = (0.10, 0.55, 0.60, 0.9)
SETS: tuple[Colour, ...] = (  # of members; away from what is selected and from the front
    CATEGORIES[2], CATEGORIES[4], CATEGORIES[3], CATEGORIES[5], CATEGORIES[6], (0.92, 0.92, 0.92, 1.0),
    (0.60, 0.40, 0.25, 1.0),
)  # fmt: skip
TURNS, SLIDES = CATEGORIES[6], CATEGORIES[2]  # glyphs of joints that turn, and of those that slide


def of_set(place: int) -> Colour:
    """The colour of a set of members by its place in the list, which begins again at its end."""
    return SETS[place % len(SETS)]


def of_hue(hue: float) -> Colour:
    """A strong colour of a hue in 0..1."""
    red, green, blue = colorsys.hsv_to_rgb(hue % 1.0, 0.85, 1.0)
    return red, green, blue, 1.0

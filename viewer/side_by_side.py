"""Pictures next to each other. NumPy only."""

from __future__ import annotations

import numpy as np

BAR = 2  # pixels between them
GREY = 60  # of the bar, 0..255


def joined(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(h, w1 + BAR + w2, 3) of two pictures (h, w, 3) of one height."""
    return np.hstack([left, np.full((len(left), BAR, 3), GREY, np.uint8), right])


def tiled(pictures: list[np.ndarray], across: int) -> np.ndarray:
    """(H, W, 3) of pictures (h, w, 3) of one size, row by row, `across` in a row, a bar between them."""
    height, width = pictures[0].shape[:2]
    down = -(-len(pictures) // across)
    out = np.full((down * (height + BAR) - BAR, across * (width + BAR) - BAR, 3), GREY, np.uint8)
    for k, picture in enumerate(pictures):
        top, left = (k // across) * (height + BAR), (k % across) * (width + BAR)
        out[top : top + height, left : left + width] = picture
    return out

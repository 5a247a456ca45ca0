"""Two pictures next to each other. NumPy only."""

from __future__ import annotations

import numpy as np

BAR = 2  # pixels between them
GREY = 60  # of the bar, 0..255


def joined(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(h, w1 + BAR + w2, 3) of two pictures (h, w, 3) of one height."""
    return np.hstack([left, np.full((len(left), BAR, 3), GREY, np.uint8), right])

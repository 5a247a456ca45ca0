"""The order of members by the values of a column."""

from __future__ import annotations

import numpy as np


def ranked(values: np.ndarray, status: np.ndarray, *, rising: bool) -> np.ndarray:
    """Rows in the order of their values, of members that finished and have one; equal ones by number."""
    good = np.flatnonzero(np.isfinite(values) & (status <= 0))
    order = values[good] if rising else -values[good]
    return good[np.argsort(order, kind="stable")]

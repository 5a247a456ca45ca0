"""Some of many that are looked at in place of all: evenly spaced ones, and those nearest to what is wanted."""

from __future__ import annotations

import numpy as np


def evenly_spaced(count: int, most: int) -> np.ndarray:
    """(min(count, most),) of the places 0 to count - 1, rising: the first, the last, and others evenly between.

    Of a single one it is the first. No place comes twice: they are at least 1 apart before they are rounded.
    """
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.int64)


def nearest_places(rising: np.ndarray, wanted: np.ndarray | float) -> np.ndarray:
    """The places of the (n,) rising numbers that are nearest to each wanted one; of two as near the later one."""
    after = np.searchsorted(rising, wanted).clip(min(1, len(rising) - 1), len(rising) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(rising[after] - wanted <= wanted - rising[before], after, before)

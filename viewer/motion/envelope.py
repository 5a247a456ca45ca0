"""Curves of more instants than a picture has columns, as the smallest and largest value in each column. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.record import record

__all__ = ["Envelope", "envelope"]


@record
class Envelope:
    """What a curve reaches in each column of a picture."""

    time: np.ndarray  # (k,) the middles of columns with instants in them [s]
    low: np.ndarray  # (k,) smallest values, NaN where none is a number
    high: np.ndarray  # (k,) largest values


def envelope(time: np.ndarray, values: np.ndarray, ends: tuple[float, float], columns: int) -> Envelope | None:
    """The envelope of a curve between two times; None where it has at most two instants a column and is a line.

    A column has the instant before it, too, so that a steep curve has no gaps between columns. No extreme is lost, as
    it would be where every n-th instant is drawn.

    Args:
        time: (n,) rising [s]; values: (n,).
        ends: [s]; columns: of the picture between them.
    """
    first, last = (int(np.searchsorted(time, end, side)) for end, side in zip(ends, ("left", "right"), strict=True))
    if columns < 1 or last - first <= 2 * columns:
        return None
    edges = np.linspace(ends[0], ends[1], columns + 1)
    starts = np.searchsorted(time[first:last], edges[:-1])
    filled = np.diff(np.append(starts, last - first)) > 0
    places = starts[filled]
    low, high = (extreme.reduceat(values[first:last], places) for extreme in (np.fmin, np.fmax))
    before = values[np.maximum(first + places - 1, 0)]
    middles = 0.5 * (edges[:-1] + edges[1:])[filled]
    return Envelope(middles, np.fmin(low, before), np.fmax(high, before))

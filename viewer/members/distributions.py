"""How many numbers are where: histograms, densities of points and of lines, bands of curves, a spread few. NumPy only.

All work on a million numbers within tens of milliseconds: cells are counted by their number, nothing is sorted.
"""

from __future__ import annotations

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record

BINS = 96  # of each axis of parallel coordinates, between which lines are counted
FIRST = 4096  # members from which a spread few is taken
SHARES = (0.05, 0.5, 0.95)  # of a band


@record
class Band:
    """Quantiles of many curves at each instant, by those that have a number there."""

    low: np.ndarray  # (n, ...) 5 %
    middle: np.ndarray  # 50 %
    high: np.ndarray  # 95 %
    drawn: np.ndarray  # (k, n) bool, which of the curves have numbers at which instants


def cell_of(values: np.ndarray, low: float, high: float, count: int) -> np.ndarray:
    """(k,) int32 cell of each value between two ends; the upper end is in the last one, -1 for what is outside."""
    scale = count / (high - low) if high > low else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        inside = (values >= low) & (values <= high)
        cells = ((np.where(inside, values, low) - low) * scale).astype(np.int32)
    return np.where(inside, np.minimum(cells, count - 1), np.int32(-1))


def histogram(values: np.ndarray, low: float, high: float, count: int) -> np.ndarray:
    """(count,) how many of (k,) values are in each of as many equal cells between two ends."""
    cells = cell_of(values, low, high, count)
    return np.bincount(cells[cells >= 0], minlength=count)


def density(x: np.ndarray, y: np.ndarray, limits: tuple[float, float, float, float], shape: tuple[int, int],
            weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Counts of points (k,), (k,) in the cells of a rectangle, and the mean of a third number in each.

    Args:
        limits: of x from, to, of y from, to.
        shape: rows along y, columns along x.
        weight: (k,) the third number; those that are not finite do not count.

    Returns:
        (rows, columns) counts, and means, NaN in empty cells; without `weight` the counts again.
    """
    rows, columns = shape
    across, up = cell_of(x, limits[0], limits[1], columns), cell_of(y, limits[2], limits[3], rows)
    inside = (across >= 0) & (up >= 0)
    if weight is not None:
        inside &= np.isfinite(weight)
    cells = up[inside] * columns + across[inside]
    counts = np.bincount(cells, minlength=rows * columns)
    if weight is None:
        return counts.reshape(shape), counts.reshape(shape)
    sums = np.bincount(cells, weights=weight[inside], minlength=rows * columns)
    with np.errstate(invalid="ignore"):
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return counts.reshape(shape), means.reshape(shape)


def line_density(left: np.ndarray, right: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """(rows, columns) how many lines cross each cell of a square, from (k,) heights at the left to those at the right.

    Heights from 0 to 1 are rounded to `BINS` levels first, so that the lines of a million members are at most
    BINS² different ones (Novotný, Hauser: Outlier-Preserving Focus+Context Visualization, 2006).
    """
    rows, columns = shape
    joint, _ = density(left, right, (0.0, 1.0, 0.0, 1.0), (BINS, BINS))
    to, start = np.nonzero(joint)
    count, part = joint[to, start], (np.arange(columns) + 0.5) / columns
    heights = (start[:, None] * (1 - part) + to[:, None] * part + 0.5) / BINS
    cells = np.minimum((heights * rows).astype(np.int64), rows - 1) * columns + np.arange(columns)
    counts = np.bincount(cells.ravel(), np.repeat(count, columns), rows * columns)
    return counts.reshape(shape)


def band(curves: np.ndarray) -> Band:
    """Quantiles over (k, n, ...) curves at each instant, by those that have a number there; NaN where none has."""
    numbers = np.asarray(curves, float)
    finite = np.isfinite(numbers)
    ordered, count = np.sort(np.where(finite, numbers, np.nan), axis=0), finite.sum(0)  # NaN last
    quantiles = []
    for share in SHARES:
        place = share * np.maximum(count - 1, 0)
        lower = np.floor(place).astype(int)
        upper = np.minimum(lower + 1, np.maximum(count - 1, 0))
        a, b = (np.take_along_axis(ordered, at[None], 0)[0] for at in (lower, upper))
        quantiles.append(np.where(count > 0, a + (place - lower) * (b - a), np.nan))
    low, middle, high = quantiles
    return Band(low, middle, high, np.asarray(finite.reshape(*finite.shape[:2], -1).all(-1)))


def spread(points: np.ndarray, most: int) -> np.ndarray:
    """(<= most,) rows of (k, d) points that lie far from each other, rising; the first and the last are extremes.

    Each is the one farthest from those taken before (Gonzalez 1985), after every axis was scaled to its range. Of more
    than `FIRST` points evenly spaced ones are looked at. Numbers that are not finite count as the middle.
    """
    rows = np.arange(len(points))
    if len(points) <= most:
        return rows
    rows = evenly_spaced(len(points), FIRST)
    unit = _scaled(np.asarray(points, float)[rows])
    taken = [int(np.argmin(unit.sum(1)))]
    distance = np.full(len(rows), np.inf)
    for _ in range(most - 1):
        distance = np.minimum(distance, ((unit - unit[taken[-1]]) ** 2).sum(1))
        distance[taken[-1]] = -1.0
        taken.append(int(np.argmax(distance)))
    return np.sort(rows[taken])


def _scaled(points: np.ndarray) -> np.ndarray:
    """(k, d) each axis from 0 to 1."""
    finite = np.where(np.isfinite(points), points, np.nan)
    known = np.isfinite(finite).any(0)
    low, high = (np.where(known, f(np.where(known, finite, 0.0), axis=0), 0.0) for f in (np.nanmin, np.nanmax))
    return np.nan_to_num((finite - low) / np.where(high > low, high - low, 1.0), nan=0.5)

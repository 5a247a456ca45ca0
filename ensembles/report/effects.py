"""What a design number does to a metric, from the members as they are: conditional means, swings, rank correlations."""

from __future__ import annotations

import numpy as np
import scipy  # which loads its statistics when they are used

from shiftjax.record import record

MOST_LEVELS = 12  # a number with so few different values is a grid: each is a class of its own
CLASSES = 12  # of equally many members, otherwise
TAIL = 0.1  # share of the members at each end of a number, whose means are the two ends of a swing


@record
class EffectCurve:
    """Conditional mean of a metric over classes of a design number.

    Attributes:
        place: (k,) mean of the design number in each class.
        mean: (k,) of the metric there.
        error: (k,) standard error of that mean.
    """

    place: np.ndarray
    mean: np.ndarray
    error: np.ndarray


@record
class Swing:
    """Means of a metric where a design number is small and where it is large, and over all."""

    low: float
    high: float
    mean: float

    @property
    def width(self) -> float:
        return abs(self.high - self.low)


def classes(x: np.ndarray) -> np.ndarray:
    """(n,) the class of every value: one a level of a grid, else about equally many values in each."""
    levels, place = np.unique(x, return_inverse=True)
    if len(levels) <= MOST_LEVELS:
        return place
    order = scipy.stats.rankdata(x, method="average") - 0.5  # equal values stay together
    return np.minimum((order / len(x) * CLASSES).astype(np.int64), CLASSES - 1)


@np.errstate(all="ignore")  # of metrics of 1e160 the deviation overflows, of 1e308 the mean
def curve(x: np.ndarray, y: np.ndarray) -> EffectCurve:
    """Conditional mean of y (n,) over classes of x (n,); both finite."""
    which = classes(x)
    parts = [np.flatnonzero(which == k) for k in np.unique(which)]
    error = [y[p].std(ddof=1) / np.sqrt(len(p)) if len(p) > 1 else np.nan for p in parts]
    return EffectCurve(
        np.array([x[p].mean() for p in parts]), np.array([y[p].mean() for p in parts]), np.array(error, np.float64)
    )


@np.errstate(all="ignore")  # as of `curve`
def swing(x: np.ndarray, y: np.ndarray) -> Swing:
    """Means of y (n,) over the tenth of members with the smallest and with the largest x (n,), ties included."""
    count = max(1, round(TAIL * len(x)))
    ordered = np.sort(x)
    return Swing(
        float(y[x <= ordered[count - 1]].mean()), float(y[x >= ordered[len(x) - count]].mean()), float(y.mean())
    )


def spearman(columns: list[np.ndarray]) -> np.ndarray:
    """(m, m) rank correlations of columns (n,), each pair where both are finite; NaN of a constant one."""
    count = len(columns)
    correlations = np.full((count, count), np.nan)
    finite = [np.isfinite(column) for column in columns]
    for i in range(count):
        for j in range(i, count):
            both = finite[i] & finite[j]
            a, b = columns[i][both], columns[j][both]
            if len(a) > 2 and np.ptp(a) > 0.0 and np.ptp(b) > 0.0:
                ranks = scipy.stats.rankdata(a), scipy.stats.rankdata(b)
                correlations[i, j] = correlations[j, i] = np.corrcoef(*ranks)[0, 1]
    return correlations

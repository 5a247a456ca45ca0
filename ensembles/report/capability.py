"""What the scatter of a metric comes to: moments, quantiles, the share outside of limits, process capability, and the
worst case of tolerances from slopes. NumPy only, no names.

Source: D. C. Montgomery, Introduction to Statistical Quality Control (Wiley): process capability ratios Cp and Cpk
from the chapter on process and measurement system capability, tolerances of components from its section on natural
tolerance limits and stacks of components. The interval of Cpk is that of A. F. Bissell, How reliable is your
capability index?, Applied Statistics 39 (1990), which Montgomery gives; that of a share is E. B. Wilson's, J. Amer.
Statist. Assoc. 22 (1927), which holds near 0, too, where counts are small.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.record import record
from shiftjax.run.results.plain_values import ROUNDING

QUANTILES = (0.01, 0.05, 0.5, 0.95, 0.99)
NORMAL_95 = 1.959963984540054  # of the normal law: 95 % lie within so many standard deviations
REACH = 3.0  # standard deviations of a law without bounds that are taken for its tolerance: 99.73 % of a normal one


@record
class Scatter:
    """Of values: their number, mean, standard deviation (n - 1), standard error of the mean, quantiles, skewness."""

    count: int
    mean: float
    deviation: float
    error: float
    quantiles: tuple[float, ...]
    skewness: float


@record
class Capability:
    """How values lie to limits.

    Attributes:
        below, above: how many lie beyond each.
        share: of those beyond. share_range: its 95 % interval.
        normal_share: that of a normal law of the same mean and deviation.
        cp: (upper - lower) / 6 s, NaN with one limit.
        cpk: the least of (upper - mean) / 3 s and (mean - lower) / 3 s. cpk_range: its 95 % interval.
    """

    below: int
    above: int
    share: float
    share_range: tuple[float, float]
    normal_share: float
    cp: float
    cpk: float
    cpk_range: tuple[float, float]


@record
class Stack:
    """What a metric comes to where numbers stay within tolerances, as straight as slopes say.

    Attributes:
        middle: the metric where every number is in the middle of its tolerance.
        reach: sum of |slope| times half a tolerance: how far it gets at worst.
        deviation: of the metric, from the covariance of the numbers: sqrt(s^T C s), of independent ones the root of the
            sum of (slope times deviation) squared.
        parts: (P,) share of each number in the sum of those squares.
    """

    middle: float
    reach: float
    deviation: float
    parts: np.ndarray


def scatter(values: np.ndarray) -> Scatter:
    """Of values (n,), all finite, n from 2."""
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    if deviation <= ROUNDING * float(np.abs(values).max()):
        deviation = 0.0
    skewness = float(np.mean((values - mean) ** 3)) / deviation**3 if deviation > 0.0 else 0.0
    levels = tuple(float(q) for q in np.quantile(values, QUANTILES))
    return Scatter(len(values), mean, deviation, deviation / math.sqrt(len(values)), levels, skewness)


def capability(values: np.ndarray, limits: tuple[float, float]) -> Capability:
    """Of values (n,), all finite, n from 2, between limits of which one may be infinite."""
    of, (low, high) = scatter(values), limits
    below, above = int(np.sum(values < low)), int(np.sum(values > high))
    share = (below + above) / of.count
    span = _wilson(share, of.count)
    if of.deviation == 0.0:
        within = low <= of.mean <= high
        ratio = math.inf if within else -math.inf
        return Capability(below, above, share, span, 0.0 if within else 1.0, math.nan, ratio, (ratio, ratio))
    lower, upper = (of.mean - low) / of.deviation, (high - of.mean) / of.deviation
    beyond = (math.erfc(lower / math.sqrt(2.0)) + math.erfc(upper / math.sqrt(2.0))) / 2.0
    cp = (high - low) / (6.0 * of.deviation) if math.isfinite(high - low) else math.nan
    cpk = min(lower, upper) / 3.0
    half = NORMAL_95 * math.sqrt(1.0 / (9.0 * of.count) + cpk**2 / (2.0 * (of.count - 1)))
    return Capability(below, above, share, span, beyond, cp, cpk, (cpk - half, cpk + half))


def _wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share that was counted in so many."""
    z = NORMAL_95**2 / count
    middle = (share + z / 2.0) / (1.0 + z)
    half = math.sqrt(z * share * (1.0 - share) + z**2 / 4.0) / (1.0 + z)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def stack(value: float, slopes: np.ndarray, offset: np.ndarray, half: np.ndarray, covariance: np.ndarray) -> Stack:
    """The worst case and the linear scatter of a metric.

    Args:
        value: of the metric at a design. slopes: (P,) there.
        offset: (P,) from that design to the middles of the tolerances. half: (P,) of a tolerance.
        covariance: (P, P) of the numbers.
    """
    variances = slopes**2 * np.diag(covariance)
    total = float(variances.sum())
    parts = variances / total if total > 0.0 else np.zeros(len(slopes))
    deviation = math.sqrt(max(float(slopes @ covariance @ slopes), 0.0))
    return Stack(value + float(slopes @ offset), float(np.abs(slopes) @ half), deviation, parts)


def straight_fit(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float] | None:
    """Slopes (P,), share of the variance that they explain, and the value at the mean of x; None of too few values.

    Args:
        x: (n, P). y: (n,).
    """
    spread = x.std(0)
    if len(y) < x.shape[1] + 2 or not (spread > 0.0).all():
        return None
    scaled, off = (x - x.mean(0)) / spread, y - y.mean()
    slopes, _, rank, _ = np.linalg.lstsq(scaled, off, rcond=None)
    if rank < x.shape[1]:
        return None
    total = float(off @ off)
    left = off - scaled @ slopes
    return slopes / spread, 1.0 - float(left @ left) / total if total > 0.0 else 1.0, float(y.mean())

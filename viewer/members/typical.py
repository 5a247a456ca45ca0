"""Members that stand for many: the actual ones that are nearest to quantiles of a number, or of curves. NumPy only.

No mechanism is made up of means: whoever is shown is a member, and how far it is from the quantile is told.
"""

from __future__ import annotations

import numpy as np

from shiftjax.record import record

__all__ = ["SHARES", "Typical", "nearest_curves", "nearest_to_quantiles", "share_words"]

SHARES = (0.05, 0.5, 0.95)


@record
class Typical:
    """A member nearest to a quantile.

    Attributes:
        share: of the quantile, 0.5 for the median. member: its number.
        value: its number, or of curves the root of the mean square of its distance to the quantile's curve.
        quantile: the quantile itself; NaN of curves.
    """

    share: float
    member: int
    value: float
    quantile: float


def nearest_to_quantiles(
    values: np.ndarray, members: np.ndarray, shares: tuple[float, ...] = SHARES
) -> tuple[Typical, ...]:
    """The members nearest to quantiles of a number, ties by member; none where nobody has a finite one.

    Args:
        values: (B,) of all members. members: (k,) those who count, rising.
    """
    numbers = np.asarray(values, float)[members]
    members, numbers = members[np.isfinite(numbers)], numbers[np.isfinite(numbers)]
    if not len(members):
        return ()
    typical = []
    for share, quantile in zip(shares, np.quantile(numbers, shares).tolist(), strict=True):
        k = int(np.argmin(np.abs(numbers - quantile)))
        typical.append(Typical(share, int(members[k]), float(numbers[k]), quantile))
    return tuple(typical)


def nearest_curves(
    curves: np.ndarray, members: np.ndarray, quantiles: tuple[np.ndarray, ...], shares: tuple[float, ...] = SHARES
) -> tuple[Typical, ...]:
    """The members whose curves are nearest to curves of quantiles, by the root of the mean square of their distance.

    Whoever ended early has no numbers later, and does not count while a quantile has them.

    Args:
        curves: (k, n, c). members: (k,) whose they are. quantiles: (n, c) of each share.
    """
    typical = []
    for share, quantile in zip(shares, quantiles, strict=True):
        known = np.isfinite(quantile)
        with np.errstate(invalid="ignore", over="ignore"):
            squares = np.where(known, (curves - quantile) ** 2, 0.0)
        whole = np.isfinite(squares).all((1, 2))
        if not known.any() or not whole.any():
            continue
        distance = np.where(whole, np.sqrt(np.where(whole, squares.sum((1, 2)), 0.0) / known.sum()), np.inf)
        k = int(np.argmin(distance))
        typical.append(Typical(share, int(members[k]), float(distance[k]), float("nan")))
    return tuple(typical)


def share_words(share: float) -> str:
    """A quantile in words."""
    return "median" if share == 0.5 else f"{100 * share:g} %"

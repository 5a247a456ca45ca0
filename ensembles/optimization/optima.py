"""Which starts of an optimisation came to the same design, and what stands at its bounds. Host only, no jax."""

from __future__ import annotations

import numpy as np

from shiftjax.record import record

EQUAL = 0.01  # of the distance of its bounds, by which a number of equal designs may differ
CLOSE = 0.005  # of the same, from which a number is at a bound, which is only approached


@record
class Cluster:
    """Starts whose designs are equal.

    Attributes:
        starts: their numbers, the best first.
    """

    starts: tuple[int, ...]


def widths(low: np.ndarray, high: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """(P,) by which numbers (N, P) are measured: the distance of their bounds, or without both what they cover."""
    spread = np.ptp(numbers, axis=0)
    size = np.abs(numbers).max(axis=0)
    free = np.where(spread > 0, spread, np.where(size > 0, size, 1.0))
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(low) & np.isfinite(high), high - low, free)


def clusters(numbers: np.ndarray, order: np.ndarray, width: np.ndarray) -> tuple[Cluster, ...]:
    """Groups of starts with equal designs (N, P), the best first.

    Args:
        order: the starts that have a design, best first. A start is of the first group whose best design is equal.
        width: (P,) see `widths`.
    """
    groups: list[list[int]] = []
    for start in order.tolist():
        for group in groups:
            if (np.abs(numbers[start] - numbers[group[0]]) <= EQUAL * width).all():
                group.append(start)
                break
        else:
            groups.append([start])
    return tuple(Cluster(tuple(group)) for group in groups)


def at_bound(numbers: np.ndarray, low: np.ndarray, high: np.ndarray, width: np.ndarray) -> np.ndarray:
    """(P,) -1 where a number is at its smallest value, 1 at its largest, 0 between."""
    near = CLOSE * width
    return np.where(numbers - low <= near, -1, np.where(high - numbers <= near, 1, 0))

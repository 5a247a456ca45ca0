"""Which of many points no other one beats: those that are not dominated, of which there may be millions. NumPy only.

A point dominates another one where none of its numbers is larger and one is smaller. Properties: exact, equal points
are all in or all out, points without a number in some objective are out and dominate nobody, infinite numbers are
numbers.

One objective takes its minimum; two and three a sweep in the order of the first one, O(n log n) but for moves within a
list (Kung, Luccio, Preparata: On Finding the Maxima of a Set of Vectors, 1975); more of them compare blocks in
lexicographic order, in which nobody is dominated by one behind, with the front before. First a few good points throw
out whom they dominate: of a million points that are spread in all directions, nearly all.
"""

from __future__ import annotations

import bisect
import math

import numpy as np

GOOD_POINTS = 12  # that throw out others first
FEW = 500  # points of which none is thrown out first
LITTLE = 0.95  # the share that a good point leaves over which no other one is tried
STRETCH = 4096  # points that are compared with one staircase at once
BLOCK = 256  # points of more than three objectives that are compared with a front at once


def nondominated(points: np.ndarray) -> np.ndarray:
    """(n,) bool, which of (n, d) points no other one dominates; small numbers are good."""
    points = np.asarray(points, float)
    front = np.zeros(len(points), bool)
    rows = np.flatnonzero(~np.isnan(points).any(1))
    rows = _promising(points, rows)
    if not len(rows):
        return front
    order = rows[np.lexsort(points[rows].T[::-1])]
    ordered = points[order]
    first = np.append(True, (ordered[1:] != ordered[:-1]).any(1))  # of equal points
    kinds = ordered[first]
    front[order] = _of_kinds(kinds)[np.cumsum(first) - 1]
    return front


def _promising(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(k,) those of some rows that none of a few good points dominates."""
    if len(rows) <= FEW:
        return rows
    finite = np.where(np.isfinite(points[rows]), points[rows], np.nan)
    with np.errstate(all="ignore"):
        known = np.isfinite(finite).any(0)
        low, high = (np.where(known, f(np.where(known, finite, 0.0), axis=0), 0.0) for f in (np.nanmin, np.nanmax))
        score = np.nan_to_num((finite - low) / np.where(high > low, high - low, 1.0), nan=np.inf)
    weights = np.random.default_rng(0).dirichlet(np.ones(points.shape[1]), GOOD_POINTS)
    weights[0] = 1.0 / points.shape[1]
    for weight in weights:
        good = points[rows[int(np.argmin(score @ weight))]]
        candidates = points[rows]
        keep = (candidates < good).any(1) | (candidates == good).all(1)
        rows, score, before = rows[keep], score[keep], len(rows)
        if len(rows) > LITTLE * before:
            break
    return rows


def _of_kinds(points: np.ndarray) -> np.ndarray:
    """(n,) bool of (n, d) points in lexicographic order, no two of which are equal."""
    count = points.shape[1]
    if count == 1:
        return np.arange(len(points)) == 0
    if count == 2:
        lowest = np.minimum.accumulate(points[:, 1])
        return np.append(True, points[1:, 1] < lowest[:-1])
    front = np.zeros(len(points), bool)
    front[_swept(points) if count == 3 else _in_blocks(points)] = True
    return front


def _swept(points: np.ndarray) -> np.ndarray:
    """Rows of the front of points (n, 3) in lexicographic order.

    Of the points before, those matter that no other one is below in second and third number: a staircase, on which the
    second rises and the third falls. A point is dominated where the step below it is.
    """
    ranks = np.unique(points[:, 2], return_inverse=True)[1]  # so that one is above all, infinite numbers, too
    points = np.column_stack([points[:, 1], ranks])
    seconds, thirds = [-math.inf], [math.inf]
    front: list[int] = []
    for start in range(0, len(points), STRETCH):
        few = points[start : start + STRETCH]
        below = np.searchsorted(seconds, few[:, 0], side="right") - 1
        rows = np.flatnonzero(few[:, 1] < np.array(thirds)[below])
        for row, second, third in zip((start + rows).tolist(), *few[rows].T.tolist(), strict=True):
            at = bisect.bisect_right(seconds, second)
            if thirds[at - 1] <= third:
                continue
            front.append(row)
            first = at - (seconds[at - 1] == second and at > 1)
            last = at
            while last < len(thirds) and thirds[last] >= third:
                last += 1
            seconds[first:last], thirds[first:last] = [second], [third]
    return np.array(front, np.int64)


def _in_blocks(points: np.ndarray) -> np.ndarray:
    """Rows of the front of points (n, d) in lexicographic order."""
    front = np.zeros(0, np.int64)
    for start in range(0, len(points), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(points)))
        for known in range(0, len(front), BLOCK):
            rows = rows[~_beaten(points[rows], points[front[known : known + BLOCK]])]
        front = np.concatenate([front, rows[~_beaten(points[rows], points[rows])]])
    return front


def _beaten(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(k,) bool, which points (k, d) one of others (m, d) dominates that are not equal to them."""
    below = np.ones((len(points), len(others)), bool)
    equal = np.ones((len(points), len(others)), bool)
    for one, other in zip(points.T, others.T, strict=True):
        below &= other <= one[:, None]
        equal &= other == one[:, None]
    return np.asarray((below & ~equal).any(1))

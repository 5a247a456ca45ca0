"""The largest circle and the largest square inside of what is reached in a plane. Host code.

Problem: a distance from the boundary changes by at most the way that a point goes, so that in a cell with half the
diameter r no point is farther inside than its centre's distance + r. Cells are halved where that is more than the best
centre so far, in the order of what they promise, until none promises more than `MISSED` (a branch and bound); then
again about that centre, finer. For squares, whose sides are along the coordinates, distances are the larger one of both
(the maximum norm).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from scipy.spatial import KDTree

from shiftjax.kinematics.workspaces.plane import PARTS, Arrangement, points

CELLS = 8  # of the first grid, along the longer side
DENSE = 64  # points of a cubic, of which one is the nearest to a point
MISSED = 2e-3  # of the size of the boundary: by which one elsewhere may be larger
OF_CIRCLES, OF_SQUARES = (2e-5, 2e-7), (1e-4,)  # the same about the centre that is best
MOST = 20_000  # cells that are looked at
AT_ONCE = 32  # cells that are halved
HALVES = np.array([(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)])
Inside = tuple[np.ndarray, float]  # centre (2,) and radius, or half a side


class BoundaryDistance:
    """Distances from the boundary: the nearest of many points of each of its pieces, and steps onto it there.

    The ends of cubics are points of both that meet there, so that the nearest two are enough.
    """

    def __init__(self, plane: Arrangement) -> None:
        self.shares = np.linspace(0.0, 1.0, DENSE // PARTS + 1)
        self.nearest, self.pieces = plane.nearest, [plane.sides[plane.groups[k][0]].cubics for k in plane.boundary]
        dense = [np.stack([points(every, t) for t in self.shares], axis=1) for every in self.pieces]
        self.trees = [KDTree(one.reshape(-1, 2)) for one in dense]

    def __call__(self, at: np.ndarray) -> np.ndarray:
        """(K,) of points (K, 2)."""
        least, count = np.full(len(at), np.inf), len(self.shares)
        for every, tree in zip(self.pieces, self.trees, strict=True):
            first, second = np.asarray(tree.query(at, k=2)[1]).T
            least = np.minimum(least, self.nearest(every[first // count], self.shares[first % count], at))
            if len(some := np.flatnonzero(first // count != second // count)):
                which = second[some]
                away = self.nearest(every[which // count], self.shares[which % count], at[some])
                least[some] = np.minimum(least[some], away)
        return least


def boundary_cubics(plane: Arrangement) -> np.ndarray:
    """(N, 4, 2) of the boundary."""
    return np.concatenate([plane.sides[plane.groups[k][0]].cubics for k in plane.boundary])


def largest_circle(plane: Arrangement) -> Inside:
    """Its centre and radius."""
    return _farthest(plane, BoundaryDistance(plane), float(np.sqrt(2.0)), OF_CIRCLES)


def largest_square(plane: Arrangement) -> Inside:
    """The centre and half the side of the largest square along the coordinates, which lies inside."""
    every, spacing = boundary_cubics(plane), OF_SQUARES[-1] * plane.size
    length = np.linalg.norm(np.diff(every, axis=1), axis=2).sum(1)  # of its control points, which is no less
    dense = []
    for cubic, size in zip(every, length, strict=True):
        shares = np.linspace(0.0, 1.0, 2 + int(size / spacing))
        dense.append(points(np.repeat(cubic[None], len(shares), axis=0), shares))
    tree = KDTree(np.concatenate(dense))
    return _farthest(plane, lambda at: np.asarray(tree.query(at, p=np.inf)[0]) - 0.5 * spacing, 1.0, OF_SQUARES)


def _farthest(
    plane: Arrangement, distance: Callable[[np.ndarray], np.ndarray], reach: float, finer: tuple[float, ...]
) -> Inside:
    """Where a distance from the boundary is largest inside, and how large.

    Args:
        distance: (K,) of points (K, 2). reach: of a cell's corner from its centre, of half its side. finer: tolerances
            about the best centre, in parts of the size.
    """
    corners = boundary_cubics(plane).reshape(-1, 2)
    low, high = corners.min(0), corners.max(0)
    best = _searched(plane, distance, reach, (low, high), MISSED, (low, 0.0))
    for before, tolerance in zip((MISSED, *finer), finer, strict=False):
        about = 2.0 * before * plane.size
        best = _searched(plane, distance, reach, (best[0] - about, best[0] + about), tolerance, best)
    return best


def _searched(
    plane: Arrangement,
    distance: Callable[[np.ndarray], np.ndarray],
    reach: float,
    within: tuple[np.ndarray, np.ndarray],
    tolerance: float,
    known: Inside,
) -> Inside:
    """The branch and bound in a box from one corner to the other, from what is known."""
    low, high = within
    half = 0.5 * float((high - low).max()) / CELLS
    counts = np.maximum(1, np.ceil((high - low) / (2.0 * half) - 1e-9)).astype(int)
    first = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 2)
    queue: list[tuple[float, int, tuple[float, float], float]] = []  # promise, number, centre, half its side
    (best, size), number = known, 0

    def look(centres: np.ndarray, half: np.ndarray) -> None:
        nonlocal best, size, number
        far = distance(centres)
        promising = np.flatnonzero(far + reach * half > size)
        signed = np.where(plane.numbers(centres[promising]) > 0, 1.0, -1.0) * far[promising]
        for centre, depth, side in zip(centres[promising], signed, half[promising], strict=True):
            if depth > size:
                best, size = centre, float(depth)
            heapq.heappush(queue, (-float(depth + reach * side), number, (float(centre[0]), float(centre[1])), side))
            number += 1

    look(low + half * (2 * first + 1), np.full(len(first), half))
    while number < MOST:
        cells = list[tuple[float, int, tuple[float, float], float]]()
        while queue and len(cells) < AT_ONCE and -queue[0][0] > size + tolerance * plane.size:
            cells.append(heapq.heappop(queue))
        if not cells:
            break
        centres, halves = np.array([cell[2] for cell in cells]), np.array([cell[3] for cell in cells])
        look((centres[:, None] + halves[:, None, None] * HALVES).reshape(-1, 2), np.repeat(0.5 * halves, len(HALVES)))
    return best, size

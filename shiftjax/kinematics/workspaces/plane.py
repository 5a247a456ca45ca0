"""Arcs in a plane, each with how many more poses there are on one side of it than on the other: regions, areas.

Problem: of arcs that together are all places where the number N of poses jumps, which of them bound what is reached,
N > 0, and how large it is. Arcs are cubic curves from node to node; they are cut where they cross, and those that lie
on each other count as one. N beside an arc is the sum of the jumps along a ray to infinity, where no pose is; a
negative one says that arcs are missing. Host code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.spatial import KDTree

PARTS = 8  # chords of a cubic from node to node
SAME = 1e-6  # of the size of the plane: arcs that lie on each other
PARALLEL = 1e-3  # sine of the angle between curves that do not cross
LOOP = 10.0  # of SAME: a curve that comes back to a point has gone farther
BESIDE = 1e-3  # of the size
RAYS = (0.0, 0.31, -0.27)  # rad from the normal: of three rays the middle number counts
# Nodes and weights of Gauss and Legendre for polynomials of degree 5: areas of cubics are exact.
GAUSS = 0.5 + 0.5 * np.array([-np.sqrt(0.6), 0.0, np.sqrt(0.6)]), np.array([5.0, 8.0, 5.0]) / 18.0


@dataclass(frozen=True)
class CountedArc:
    """An arc: cubics (N, 4, 2) by their control points, of Bernstein's polynomials, end to end.

    Attributes:
        jump: poses on its left, seen along it, less those on its right. source: number of the arc that it is a part of.
    """

    cubics: np.ndarray
    jump: int
    source: int

    @property
    def area(self) -> float:
        """The integral of (x dy - y dx) / 2 along it."""
        total = 0.0
        for t, weight in zip(*GAUSS, strict=True):
            p, d = points(self.cubics, t), rates(self.cubics, t)
            total += weight * 0.5 * float((p[:, 0] * d[:, 1] - p[:, 1] * d[:, 0]).sum())
        return total

    @property
    def middle(self) -> tuple[np.ndarray, np.ndarray]:
        """A point of it, away from its ends, and the unit tangent there."""
        k, t = (len(self.cubics) // 2, 0.0) if len(self.cubics) > 1 else (0, 0.5)
        t = 0.37 if len(self.cubics) > 1 else t
        d = rates(self.cubics[k : k + 1], t)[0]
        return points(self.cubics[k : k + 1], t)[0], d / max(np.linalg.norm(d), 1e-300)


def cubics(points: np.ndarray, slopes: np.ndarray, strides: np.ndarray) -> np.ndarray:
    """(N - 1, 4, 2) through points (N, 2) with slopes (N, 2) by the length of strides (N - 1,)."""
    first = points[:-1] + slopes[:-1] * strides[:, None] / 3.0
    second = points[1:] - slopes[1:] * strides[:, None] / 3.0
    return np.stack([points[:-1], first, second, points[1:]], axis=1)


def points(cubics: np.ndarray, t: float | np.ndarray) -> np.ndarray:
    """(N, 2) at parameters t from 0 to 1."""
    t = np.asarray(t, float)[..., None] * np.ones((len(cubics), 1))
    a, b, c, d = cubics.transpose(1, 0, 2)
    s = 1.0 - t
    return s**3 * a + 3.0 * s**2 * t * b + 3.0 * s * t**2 * c + t**3 * d


def rates(cubics: np.ndarray, t: float | np.ndarray) -> np.ndarray:
    """(N, 2) derivatives by t."""
    t = np.asarray(t, float)[..., None] * np.ones((len(cubics), 1))
    a, b, c, d = cubics.transpose(1, 0, 2)
    s = 1.0 - t
    return 3.0 * (s**2 * (b - a) + 2.0 * s * t * (c - b) + t**2 * (d - c))


def _bends(cubics: np.ndarray, t: np.ndarray) -> np.ndarray:
    """(N, 2) second derivatives by t."""
    a, b, c, d = cubics.transpose(1, 0, 2)
    t = t[:, None]
    return 6.0 * ((1.0 - t) * (c - 2.0 * b + a) + t * (d - 2.0 * c + b))


def part(cubic: np.ndarray, first: float, last: float) -> np.ndarray:
    """(4, 2) of a cubic (4, 2) from one parameter to another (de Casteljau)."""

    def before(c: np.ndarray, t: float) -> np.ndarray:
        out = [c[0]]
        while len(c) > 1:
            c = (1.0 - t) * c[:-1] + t * c[1:]
            out.append(c[0])
        return np.array(out)

    head = before(cubic, last)
    return before(head[::-1], 1.0 - first / last if last > 0.0 else 0.0)[::-1]


class Arrangement:
    """Arcs, cut where they cross.

    Args:
        sides: arcs whose ends are nodes of curves.

    Attributes:
        sides: parts between crossings. groups: numbers of those that lie on each other. left, right: of each group the
            number of poses on either side of its first part, seen along it. consistent: whether no number is negative.
    """

    def __init__(self, sides: Sequence[CountedArc]) -> None:
        every = np.concatenate([one.cubics for one in sides]) if sides else np.zeros((0, 4, 2))
        corners = every.reshape(-1, 2)
        self.size = float(np.ptp(corners, axis=0).max()) if len(corners) else 0.0
        self.sides = self._cut(sides)
        self.groups = self._groups()
        self._index()
        numbers = [self._beside(group) for group in self.groups]
        self.left, self.right = ([pair[k] for pair in numbers] for k in range(2))
        self.consistent = all(pair[0] >= 0 and pair[1] >= 0 for pair in numbers)

    # -- crossings ----------------------------------------------------------------------------------------------------

    def _cut(self, sides: Sequence[CountedArc]) -> list[CountedArc]:
        if not sides:
            return []
        owner = np.concatenate([np.full(len(one.cubics), k) for k, one in enumerate(sides)])
        every = np.concatenate([one.cubics for one in sides])
        first = np.concatenate([[0], np.cumsum([len(one.cubics) for one in sides])])
        cuts: list[list[float]] = [[] for _ in sides]
        for i, j, s, t in zip(*_crossings(every), strict=True):
            for k, share in ((i, s), (j, t)):
                cuts[owner[k]].append(float(k - first[owner[k]] + share))
        tips = np.array([[one.cubics[0, 0], one.cubics[-1, 3]] for one in sides])
        within = SAME * self.size
        tips = tips[np.linalg.norm(tips[:, 1] - tips[:, 0], axis=1) > within]  # closed ones have none
        for k, share in zip(*_touched(every, tips.reshape(-1, 2), within), strict=True):
            cuts[owner[k]].append(float(k - first[owner[k]] + share))
        out: list[CountedArc] = []
        for side, places in zip(sides, cuts, strict=True):
            ends = self._ends(side.cubics, sorted(places))
            out += [CountedArc(_between(side.cubics, a, b), side.jump, side.source) for a, b in pairwise(ends)]
        return out

    def _ends(self, every: np.ndarray, places: Sequence[float]) -> list[float]:
        """Where a curve begins, is cut and ends; cuts at another one, or at an end, are none.

        A curve of more than a turn comes to the same point again, on a long way, which is another cut.
        """
        n = len(every)
        of = [min(int(x), n - 1) for x in (0.0, *places, float(n))]
        where = [points(every[k : k + 1], x - k)[0] for x, k in zip((0.0, *places, float(n)), of, strict=True)]
        lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(every[:, 3] - every[:, 0], axis=1))])
        # not by shares of parameters, which may go on where a curve hardly does, as beside its end in a corner
        along = [lengths[k] + np.linalg.norm(at - every[k, 0]) for at, k in zip(where, of, strict=True)]

        def apart(i: int, j: int) -> bool:
            gap = max(np.linalg.norm(where[i] - where[j]), abs(along[i] - along[j]) / LOOP)
            return bool(gap > SAME * self.size)

        ends, before = [0.0], 0
        for i, place in enumerate(places, 1):
            if apart(i, before) and apart(i, -1):
                ends.append(place)
                before = i
        return [*ends, float(n)]

    def _groups(self) -> list[list[int]]:
        """Parts that lie on each other."""
        group_of = list(range(len(self.sides)))
        middles = [side.middle for side in self.sides]
        for k, (at, tangent) in enumerate(middles):
            for j in range(k):
                if group_of[j] == j and _lies_on(at, tangent, self.sides[j].cubics, SAME * self.size):
                    group_of[k] = j
                    break
        return [[k for k, g in enumerate(group_of) if g == j] for j in range(len(self.sides)) if group_of[j] == j]

    # -- numbers of poses ---------------------------------------------------------------------------------------------

    def _index(self) -> None:
        """Chords of all parts, and whose they are."""
        chords, owner = [np.zeros((0, 2, 2))], [np.zeros(0, int)]
        for k, side in enumerate(self.sides):
            ends = np.stack([points(side.cubics, t) for t in np.linspace(0.0, 1.0, PARTS + 1)], axis=1)
            pairs = np.stack([ends[:, :-1], ends[:, 1:]], axis=2).reshape(-1, 2, 2)
            chords.append(pairs)
            owner.append(np.full(len(pairs), k))
        self._chords, self._owner = np.concatenate(chords), np.concatenate(owner)
        self._jumps = np.array([side.jump for side in self.sides] or [0])[self._owner]

    def _beside(self, group: Sequence[int]) -> tuple[int, int]:
        """Poses on the left and on the right of the first part of a group."""
        at, tangent = self.sides[group[0]].middle
        jump = 0
        for k in group:
            jump += self.sides[k].jump * _lies_on(at, tangent, self.sides[k].cubics, np.inf)
        normal = np.array([-tangent[1], tangent[0]])
        # its chords next to the point, which lie beside it by less than their sag, are crossed by no ray
        near = np.where(np.isin(self._owner, group), BESIDE * self.size, 0.0)
        numbers = []
        for angle in RAYS:
            c, s = np.cos(angle), np.sin(angle)
            ray = np.array([c * normal[0] - s * normal[1], s * normal[0] + c * normal[1]])
            numbers.append(self._along(at, ray, near))
            numbers.append(self._along(at, -ray, near) + jump)
        left = sorted(numbers)[len(numbers) // 2]
        return left, left - jump

    def numbers(self, at: np.ndarray) -> np.ndarray:
        """(K,) poses at points (K, 2): the middle one of three rays."""
        every = np.zeros(len(self._chords))
        rays = [np.array([np.cos(a), np.sin(a)]) for a in (0.53, 1.71, 3.9)]
        return np.array([sorted(self._along(one, ray, every) for ray in rays)[1] for one in at], int)

    @staticmethod
    def nearest(every: np.ndarray, t: np.ndarray, at: np.ndarray) -> np.ndarray:
        """(K,) distances of points (K, 2) from cubics (K, 4, 2), from parameters t (K,) on."""
        for _ in range(8):
            off, d = at - points(every, t), rates(every, t)
            steep = (d * d).sum(1)
            bend = steep - (off * _bends(every, t)).sum(1)  # less than nothing beyond the centre of curvature
            t = np.clip(t + (off * d).sum(1) / np.maximum(np.where(bend > 0.05 * steep, bend, steep), 1e-300), 0.0, 1.0)
        return np.linalg.norm(at - points(every, t), axis=1)

    def _along(self, at: np.ndarray, ray: np.ndarray, least: np.ndarray) -> int:
        """The sum of the jumps along a ray, from infinity to a point; of chords that are met at a least distance."""
        begin, end = self._chords[:, 0] - at, self._chords[:, 1] - at
        across = np.array([-ray[1], ray[0]])
        a, b = begin @ across, end @ across
        meets = (a < 0.0) != (b < 0.0)
        share = np.where(meets, a / np.where(meets, a - b, 1.0), 0.0)
        along = ((1.0 - share)[:, None] * begin + share[:, None] * end) @ ray
        meets &= along > least
        # from right to left of an arc where the ray's side of its beginning is the left one
        sign = np.where(b > a, 1, -1)
        return int((sign * self._jumps)[meets].sum())

    # -- what is reached ----------------------------------------------------------------------------------------------

    @property
    def boundary(self) -> list[int]:
        """Groups with no pose on one side, and some on the other."""
        return [
            k
            for k in range(len(self.groups))
            if min(self.left[k], self.right[k]) <= 0 < max(self.left[k], self.right[k])
        ]

    @property
    def area(self) -> float:
        """Of what is reached."""
        total = 0.0
        for k in self.boundary:
            side = self.sides[self.groups[k][0]]
            total += side.area * (1.0 if self.left[k] > 0 else -1.0)
        return total


def _between(every: np.ndarray, first: float, last: float) -> np.ndarray:
    """Cubics from one place along them to another."""
    out, k = [], int(first)
    while k < last - 1e-12:
        begin, end = max(first - k, 0.0), min(last - k, 1.0)
        if end - begin > 1e-12:
            out.append(every[k] if (begin, end) == (0.0, 1.0) else part(every[k], begin, end))
        k += 1
    return np.array(out)


def _crossings(every: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of cubics that cross, and where in each."""
    shares = np.linspace(0.0, 1.0, PARTS + 1)
    ends = np.stack([points(every, t) for t in shares], axis=1)  # (N, PARTS + 1, 2)
    a, b = ends[:, :-1].reshape(-1, 2), ends[:, 1:].reshape(-1, 2)
    length = np.linalg.norm(b - a, axis=1)
    tree = KDTree(0.5 * (a + b))
    pairs = tree.query_pairs(float(length.max()) * 1.01, output_type="ndarray")
    i, j = pairs[:, 0] // PARTS, pairs[:, 1] // PARTS
    apart = i != j
    pairs, i, j = pairs[apart], i[apart], j[apart]
    s, t = (shares[pairs[:, k] % PARTS] + 0.5 / PARTS for k in range(2))
    for _ in range(8):
        d1, d2 = rates(every[i], s), rates(every[j], t)
        gap = points(every[j], t) - points(every[i], s)
        det = d1[:, 1] * d2[:, 0] - d1[:, 0] * d2[:, 1]
        with np.errstate(all="ignore"):
            ds = (d2[:, 0] * gap[:, 1] - d2[:, 1] * gap[:, 0]) / det
            dt = (d1[:, 0] * gap[:, 1] - d1[:, 1] * gap[:, 0]) / det
        s, t = s + np.clip(np.nan_to_num(ds), -0.25, 0.25), t + np.clip(np.nan_to_num(dt), -0.25, 0.25)
    d1, d2 = rates(every[i], s), rates(every[j], t)
    sine = np.abs(d1[:, 0] * d2[:, 1] - d1[:, 1] * d2[:, 0])
    sine /= np.maximum(np.linalg.norm(d1, axis=1) * np.linalg.norm(d2, axis=1), 1e-300)
    near = (
        np.linalg.norm(points(every[j], t) - points(every[i], s), axis=1)
        < 1e-9 * np.ptp(every.reshape(-1, 2), axis=0).max()
    )
    good = near & (sine > PARALLEL) & (s >= -1e-9) & (s <= 1.0 + 1e-9) & (t >= -1e-9) & (t <= 1.0 + 1e-9)
    return i[good], j[good], np.clip(s[good], 0.0, 1.0), np.clip(t[good], 0.0, 1.0)


def _touched(every: np.ndarray, at: np.ndarray, within: float) -> tuple[np.ndarray, np.ndarray]:
    """Cubics (N, 4, 2) on which points (K, 2) lie, and where in each: ends of curves are on others, or just short."""
    low, high = every.min(1) - within, every.max(1) + within
    which, k = np.nonzero(((at[:, None] >= low) & (at[:, None] <= high)).all(2))
    ends = np.stack([points(every[k], t) for t in np.linspace(0.0, 1.0, PARTS + 1)], axis=1)
    t = np.linalg.norm(ends - at[which][:, None], axis=2).argmin(1) / PARTS
    for _ in range(6):
        d = rates(every[k], t)
        off = ((at[which] - points(every[k], t)) * d).sum(1)
        t = np.clip(t + off / np.maximum((d * d).sum(1), 1e-300), 0.0, 1.0)
    good = np.linalg.norm(points(every[k], t) - at[which], axis=1) < within
    return k[good], t[good]


def _lies_on(at: np.ndarray, tangent: np.ndarray, cubics: np.ndarray, within: float) -> int:
    """1 or -1 where a point with its tangent lies on a curve of cubics, which has its direction or the opposite one."""
    ends = np.stack([points(cubics, t) for t in np.linspace(0.0, 1.0, PARTS + 1)], axis=1)
    gaps = np.linalg.norm(ends - at, axis=2)
    k, place = np.unravel_index(int(gaps.argmin()), gaps.shape)
    t = place / PARTS
    one = cubics[k : k + 1]
    for _ in range(6):
        d = rates(one, t)[0]
        t = float(np.clip(t + (at - points(one, t)[0]) @ d / max(d @ d, 1e-300), 0.0, 1.0))
    d = rates(one, t)[0]
    close = np.linalg.norm(points(one, t)[0] - at) < within
    parallel = abs(d[0] * tangent[1] - d[1] * tangent[0]) < PARALLEL * np.linalg.norm(d)
    return int(np.sign(d @ tangent)) if close and (parallel or within == np.inf) else 0

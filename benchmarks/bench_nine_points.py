"""All four-bars through nine points, by monodromy: `PYTHONPATH=. python benchmarks/bench_nine_points.py [FILE]`.

Problem 3 of Wampler, Morgan, Sommese, Complete solution of the nine-point path synthesis problem for four-bar linkages,
Journal of Mechanical Design 114 (1992): 1442 linkages up to Roberts' cognates and the exchange of both dyads, 8652
solutions, of which 64 (384) are real. The points are those of ACM TOMS algorithm 921 (alphaCertified), which certifies
that.

Unknown are the ground pivots a, b and the moving pivots x, y at the first point, all seen from there, and their
conjugates, which for complex linkages are numbers of their own. Where the coupler has turned by g = exp(i angle) and
its point is at d from the first one,

    g x (d' - a') + x' (d - a) / g + d d' - d a' - d' a + a x' + a' x = 0,   the same with y, b:

two linear equations of g and 1/g, whose product is 1: one equation of each of eight points. Roots of a generic problem
are come to from one linkage by closed ways in the space of all points (start_roots says more), and are then followed to
the problem. FILE keeps what is known, after each closed way: the command goes on from there, and may be ended at any
time.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shiftjax.run.assemblies.tracker import REACHED, followed, largest

POINTS = np.array([0.25, 0.52, 0.80, 1.20, 1.40, 1.10, 0.70, 0.20, 0.02]) + 1j * np.array(
    [0.00, 0.10, 0.70, 1.00, 1.30, 1.48, 1.40, 1.00, 0.40]
)
LINKAGES, REAL_LINKAGES, COPIES = 1442, 64, 6
MOST = 60  # closed ways
WAYS = 5  # from the generic problem to this one
AIMED = 1e-3  # first correction that steps aim at
SAME = 1e-6  # relative, of linkages; the conjugate of a root is one, too, and the same one where it is as near
TOGETHER = 2000  # paths


@dataclass
class PointsWay:
    """Displacements (16,), d of eight points and then d', from `start` to `end`; the same ones for all paths.

    Unknown are x, x', a, a', then y, y', b, b'.
    """

    start: np.ndarray
    end: np.ndarray

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d and d', (P, 8) each."""
        both = self.start + t[:, None] * (self.end - self.start)
        return both[:, :8], both[:, 8:]

    def residuals(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> np.ndarray:
        p, q, r, u, v, w = _lines(X, *self.at(t))
        return (q * w - r * v) * (r * u - p * w) - (p * v - q * u) ** 2

    def linear(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of g p + q / g + r = 0 and g u + v / g + w = 0: g and 1/g by Cramer's rule, their product less 1."""
        d, d_ = self.at(t)
        p, q, r, u, v, w = _lines(X, d, d_)
        first, second, det = q * w - r * v, r * u - p * w, p * v - q * u
        by = {
            "p": -first * w - 2.0 * det * v, "q": w * second + 2.0 * det * u, "r": -v * second + first * u,
            "u": first * r + 2.0 * det * q, "v": -r * second - 2.0 * det * p, "w": q * second - first * p,
        }  # fmt: skip
        J = np.empty((*first.shape, 8), complex)
        for (k, k_, m, m_), (one, two, three) in (((0, 1, 2, 3), "pqr"), ((4, 5, 6, 7), "uvw")):
            x, x_, a, a_ = (X[:, [i]] for i in (k, k_, m, m_))
            J[:, :, k] = by[one] * (d_ - a_) + by[three] * a_
            J[:, :, k_] = by[two] * (d - a) + by[three] * a
            J[:, :, m] = -by[two] * x_ + by[three] * (x_ - d_)
            J[:, :, m_] = -by[one] * x + by[three] * (x - d)
        return first * second - det**2, J

    def moved(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        return X + change

    def rates(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        return change

    def normal(self, X: np.ndarray) -> np.ndarray:
        return X

    def size(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        return largest(change / (0.1 + np.abs(X)))

    def far(self, X: np.ndarray, size: float) -> np.ndarray:
        return np.abs(X).max(1) > size


def _lines(X: np.ndarray, d: np.ndarray, d_: np.ndarray) -> list[np.ndarray]:
    """p, q, r of the first dyad, then of the second, (P, 8) each."""
    out = []
    for first in (0, 4):
        x, x_, a, a_ = (X[:, [first + k]] for k in range(4))
        out += [x * (d_ - a_), x_ * (d - a), d * d_ - d * a_ - d_ * a + a * x_ + a_ * x]
    return out


def drawn(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Displacements (16,) and a complex linkage (8,) whose coupler point goes through them."""
    linkage = random.normal(size=8) + 1j * random.normal(size=8)
    turns = np.exp(random.normal(size=8) + 1j * random.uniform(-np.pi, np.pi, 8))
    d, d_ = np.empty(8, complex), np.empty(8, complex)
    for k, g in enumerate(turns):
        # of each dyad d d' + s d + s' d' + c = 0: their difference is linear, and gives d' for a quadratic of d
        (s, s_, c), (u, u_, w) = (
            (x_ / g - a_, x * g - a, a * x_ + a_ * x - a_ * x * g - a * x_ / g)
            for x, x_, a, a_ in (linkage[:4], linkage[4:])
        )
        slope, at = -(s - u) / (s_ - u_), -(c - w) / (s_ - u_)
        d[k] = np.roots([slope, at + s + s_ * slope, s_ * at + c])[0]
        d_[k] = slope * d[k] + at
    return np.concatenate([d, d_]), linkage


def keys(linkages: np.ndarray) -> np.ndarray:
    """(P, 4) what cognates and an exchange of dyads leave: symmetric functions of the three ground pivots.

    The third one makes a triangle with the others that is similar to the coupler's (Roberts).
    """
    out = []
    for x, a, y, b in (linkages[:, [0, 2, 4, 6]].T, linkages[:, [1, 3, 5, 7]].T):
        c = (a * y - b * x) / (y - x)
        out += [a + b + c, a * b + b * c + c * a]
    return np.stack(out, axis=1)


def distinct(linkages: np.ndarray) -> np.ndarray:
    """Which linkages are the first of their kind."""
    K = keys(linkages)
    first = np.ones(len(K), bool)
    for k in range(1, len(K)):
        off = np.abs(K[:k] - K[k]) / (1.0 + np.abs(K[k]))
        first[k] = not (off.max(1) < SAME).any()
    return np.flatnonzero(first)


def led(linkages: np.ndarray, corners: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """Linkages at the end of a way through displacements, and how many paths were lost."""
    lost = 0
    for start, end in itertools.pairwise(corners):
        parts = []
        for some in np.array_split(linkages, -(-len(linkages) // TOGETHER)):
            ends, status = followed(PointsWay(start, end), some, AIMED)
            parts.append(ends[status == REACHED])
            lost += int((status != REACHED).sum())
        linkages = np.concatenate(parts)
        if not len(linkages):
            break
    return linkages, lost


def generic(random: np.random.Generator) -> np.ndarray:
    return random.normal(size=16) + 1j * random.normal(size=16)


def put(**line: object) -> None:
    print(json.dumps(line), flush=True)


def monodromy(file: Path | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Displacements of a generic problem, its linkages up to cognates and exchange, processor seconds."""
    points, first = drawn(np.random.default_rng(0))
    known, ways, seconds = first[None], 0, 0.0
    if file is not None and file.exists():
        with np.load(file, allow_pickle=False) as stored:
            points, known = stored["points"], stored["linkages"]
            ways, seconds = int(stored["ways"]), float(stored["seconds"])
    while len(known) < LINKAGES and ways < MOST:
        begun, random = time.process_time(), np.random.default_rng([1, ways])
        ends, lost = led(known, [points, generic(random), generic(random), points])
        every = np.concatenate([known, ends])
        paths, before = 3 * len(known), len(known)
        known, ways = every[distinct(every)], ways + 1
        spent = time.process_time() - begun
        seconds += spent
        put(closed_way=ways, linkages=len(known), new=len(known) - before, paths=paths, lost=lost,
            milliseconds_a_path=round(1e3 * spent / paths, 2), cpu_seconds=round(seconds, 1))  # fmt: skip
        if file is not None:
            np.savez(file, points=points, linkages=known, ways=ways, seconds=seconds)
    return points, known, seconds


def main(file: Path | None) -> None:
    points, known, seconds = monodromy(file)
    begun = time.process_time()
    d = POINTS[1:] - POINTS[0]
    goal = np.concatenate([d, d.conj()])
    ends, lost, ways = known[:0], 0, 0
    while len(ends) < len(known) and ways < WAYS:  # by other ways where paths were lost
        random = np.random.default_rng([2, ways])
        more, off = led(known, [points, *[generic(random)] * (ways > 0), goal])
        ends = np.concatenate([ends, more])
        ends, lost, ways = ends[distinct(ends)], lost + off, ways + 1
    spent = time.process_time() - begun
    way, ones = PointsWay(goal, goal), np.ones(len(ends))
    phi, J = way.linear(ends, ones, np.arange(len(ends)))
    change = np.linalg.solve(J, phi[:, :, None])[:, :, 0]
    off = np.abs(ends[:, 1::2] - ends[:, ::2].conj()).max(1) / (1.0 + np.abs(ends).max(1))
    real = off < SAME
    put(problem=3, linkages=len(ends), of=LINKAGES, solutions=COPIES * len(ends), real=int(real.sum()),
        of_real=REAL_LINKAGES, real_solutions=COPIES * int(real.sum()),
        from_conjugate=[float(off[real].max()), float(off[~real].min())], ways=ways, lost=lost,
        largest_last_change=float(np.max(np.abs(change) / (1.0 + np.abs(ends)))),
        milliseconds_a_linkage=round(1e3 * spent / len(known), 2), cpu_seconds=round(seconds + spent, 1))  # fmt: skip
    assert len(ends) == LINKAGES and real.sum() == REAL_LINKAGES, "linkages were lost"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)

"""What loops leave free at a pose of one mechanism, and the least change that closes them. Host code.

Problem: of rows J of all loops, missed by phi, the pseudo-inverse's change -J^+ phi and an orthonormal basis of the
null space. Both ways give the same to rounding. By singular values it costs 18 ms of 270 rows and speeds, which grow
with their cube. By independent rows A of J, which imply the others, the change is -A^T (A A^T)^-1 phi_A, and the null
space that of A: where rows that share joints stand near each other A A^T is a band, whose Cholesky factor takes 0.02 ms
of as many rows (Cuthill, McKee, Reducing the bandwidth of sparse symmetric matrices, 1969). A A^T has the square of A's
condition: what is solved with it is corrected once (Bjorck, Stability analysis of the method of seminormal equations,
1987), and taken where A is well conditioned only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import get_lapack_funcs

from shiftjax.kinematics.positioning.solving.projection import DEPENDENT

WELL = 1e-4  # smallest over largest singular value of rows: above it A A^T, corrected once, is as good as A
OPEN = 10.0  # times the gap: by how much rows that others imply where loops are closed may differ from these
SHUT = 1e-12  # residual of loops, dimensionless, that is rounding
INVERSE = 3  # iterations that estimate the smallest singular value

# LAPACK itself: of a stage the checks around it take longer than it does
_factored, _solved = get_lapack_funcs(("pbtrf", "pbtrs"), dtype=np.float64)


@dataclass
class LoopSpace:
    """What loops leave free at a pose.

    Attributes:
        closing: (n,) the least change that closes them, to first order.
        size: of their rows: the largest singular value, or at most twice as much.
        rank: how many rows are independent. separated: whether that is beyond doubt.
    """

    closing: np.ndarray
    size: float
    rank: int
    separated: bool
    _basis: Callable[[], np.ndarray]

    @cached_property
    def basis(self) -> np.ndarray:
        """(n, f) orthonormal columns."""
        return self._basis()


def by_singular_values(J: np.ndarray, phi: np.ndarray) -> LoopSpace:
    """That of rows (r, n) which are missed by (r,), as of `projection.decomposed`."""
    rows, n = J.shape
    J = J if np.isfinite(J).all() else np.zeros_like(J)
    U, sizes, Vt = np.linalg.svd(J, full_matrices=rows < n)
    largest = float(sizes.max(initial=0.0))
    rank = int((sizes > DEPENDENT * max(largest, 1e-300)).sum())
    along = (U.T[:rank] @ phi) / sizes[:rank]
    separated = not rank or bool(sizes[rank - 1] > WELL * largest)
    return LoopSpace(-(Vt[:rank].T @ along), largest, rank, separated, lambda: Vt[rank:].T)


class IndependentRows:
    """Rows of which all others follow, and where their entries stand.

    Args:
        J: (r, n) at a pose where they are as many as `rank`. i, j: (k,) row and column of each entry.
    """

    def __init__(self, J: np.ndarray, rank: int, i: np.ndarray, j: np.ndarray) -> None:
        pivots = np.asarray(qr(J.T, mode="r", pivoting=True, check_finite=False)[-1])
        chosen = np.sort(pivots[:rank])
        place = np.full(len(J), -1)
        place[chosen] = np.arange(rank)
        order = chosen[_banded(place[i], j, rank)]
        place[order] = np.arange(rank)
        self.order, self.speeds = order, J.shape[1]
        self.others = np.setdiff1d(np.arange(len(J)), order)
        self.entries = np.flatnonzero(place[i] >= 0)
        self.i, self.j = place[i[self.entries]], j[self.entries]
        one, other = _pairs(self.j)
        lower = self.i[one] >= self.i[other]
        self.left, self.right = one[lower], other[lower]
        below = self.i[self.left] - self.i[self.right]
        self.width = int(below.max(initial=0)) + 1
        self.where = below * rank + self.i[self.right]
        rng = np.random.default_rng(0)
        self.probe = rng.standard_normal(rank)
        self.free = rng.standard_normal((self.speeds, self.speeds - rank))  # none of it stands still at a dead point

    def space(self, values: np.ndarray, J: np.ndarray, phi: np.ndarray) -> LoopSpace | None:
        """That of rows (r, n), entries (k,) of which are given, missed by (r,); None where these rows cannot tell."""
        v, rank = values[self.entries], len(self.order)
        if not np.isfinite(values).all():
            return None
        band = np.bincount(self.where, v[self.left] * v[self.right], self.width * rank).reshape(self.width, rank)
        factor, fault = _factored(band, lower=1)
        if fault:
            return None
        # sigma_max^2 <= |A|_1 |A|_inf
        size = float(np.sqrt(np.bincount(self.i, np.abs(v)).max() * np.bincount(self.j, np.abs(v)).max()))
        x, grown = self.probe, 1.0
        for _ in range(INVERSE):
            x = _solved(factor, x / np.linalg.norm(x), lower=1)[0]
            grown = float(np.linalg.norm(x))
        if not grown * (WELL * size) ** 2 < 1.0:
            return None
        A = J[self.order]

        def least(b: np.ndarray) -> np.ndarray:
            return np.asarray(A.T @ _solved(factor, b, lower=1)[0])

        missed = phi[self.order]
        closing = -least(missed)
        closing -= least(missed + A @ closing)

        def basis() -> np.ndarray:
            out = self.free
            for _ in range(2):
                out, _ = np.linalg.qr(out - least(A @ out))
            return out

        here = LoopSpace(closing, size, rank, True, basis)
        return here if self._implied(J, phi, here) else None

    def _implied(self, J: np.ndarray, phi: np.ndarray, here: LoopSpace) -> bool:
        """Whether these rows imply the others: what those leave free, and what closes them, does not change them.

        Where loops are open this holds but for the gap, and but for curvature.
        """
        if not len(self.others):
            return True
        rest, gap = J[self.others], float(np.abs(phi).max(initial=0.0))
        turned = np.abs(rest @ here.basis).max(initial=0.0)
        left = np.abs(phi[self.others] + rest @ here.closing).max(initial=0.0)
        return bool(
            turned <= DEPENDENT * here.size + OPEN * gap
            and left <= SHUT + OPEN * gap * np.abs(here.closing).max(initial=0.0)
        )


def _banded(i: np.ndarray, j: np.ndarray, rank: int) -> np.ndarray:
    """(rank,) an order of rows in which those that share columns are near: breadth first, from one at an end."""
    by_column: dict[int, list[int]] = {}
    for row, column in zip(i.tolist(), j.tolist(), strict=True):
        if row >= 0:
            by_column.setdefault(column, []).append(row)
    near: list[set[int]] = [set() for _ in range(rank)]
    for rows in by_column.values():
        for row in rows:
            near[row].update(rows)

    def walked(first: int, seen: set[int]) -> list[int]:
        out, known = [first], {first}
        for row in out:
            new = sorted(near[row] - known, key=lambda k: len(near[k]))
            out += new
            known.update(new)
        seen.update(known)
        return out

    order, seen = list[int](), set[int]()
    for row in range(rank):
        if row not in seen:
            order += walked(walked(row, set())[-1], seen)
    return np.array(order[::-1], int)


def _pairs(j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of entries in the same column, each with itself, too."""
    order = np.argsort(j, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(j[order])) + 1)
    pairs = [(np.repeat(group, len(group)), np.tile(group, len(group))) for group in groups]
    one, other = zip(*pairs, strict=True)
    return np.concatenate(one), np.concatenate(other)

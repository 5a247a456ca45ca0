"""Generalized Coordinate Partitioning: which rows and columns of every substructure's Jacobian the programs solve with.

Problem: from the dimensionless Jacobian of a substructure choose r primary rows and r dependent columns, r its rank.
The result must: be sets (sorted), the same on every machine (ties go to the lowest index within a relative 1e-12), and
depend on the member alone. Desirable: no |B_ij| far above 1 (complete pivoting nearly ensures it).
Refused: nothing here; a doubtful rank is reported.

Host code on NumPy arrays, all members at once. Gaussian elimination with complete pivoting: Golub, Van Loan, Matrix
Computations, section 3.4.8; partitioning: Wehage, Haug, Journal of Mechanical Design 104 (1982).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from shiftjax.record import record
from shiftjax.topology.plan import Plan, Substructure

RANK_TOLERANCE = {"f64": 1e-8, "f32": 1e-4}  # of the largest pivot
DOUBTFUL_PIVOTS = (1e-10, 1e-6)  # a relative pivot between these gives a warning
TIE = 1e-12
CHUNK = 2**17  # entries of the matrices eliminated together: 1.7 times as fast as 4 096 members of 30 x 16 at once


@record
class Block:
    """The partition of one substructure."""

    primary: tuple[int, ...]  # local rows
    dependent: tuple[int, ...]  # speeds
    independent: tuple[int, ...]  # speeds


@record
class Partition:
    """One block per substructure, in the order of the plan."""

    blocks: tuple[Block, ...]


@record
class Elimination:
    """Result of complete pivoting for every member.

    rows, columns: (B, k) local indices in the order of elimination, -1 beyond the rank; rank: (B,);
    pivots: (B, k) absolute values; dropped: (B,) the first pivot below the tolerance.
    """

    rows: np.ndarray
    columns: np.ndarray
    rank: np.ndarray
    pivots: np.ndarray
    dropped: np.ndarray


def complete_pivoting(J: np.ndarray, tolerance: float, kept_free: Collection[int] = ()) -> Elimination:
    """Eliminates every member's matrix with complete pivoting.

    Args:
        J: (B, m, n) dimensionless Jacobians.
        tolerance: a pivot at or below tolerance times the first one ends the elimination.
        kept_free: local columns that must not become dependent.
    """
    size = max(1, CHUNK // max(1, J.shape[1] * J.shape[2]))
    chunks = [_eliminated(J[k : k + size], tolerance, kept_free) for k in range(0, max(1, len(J)), size)]
    return Elimination(*(np.concatenate(values) for values in zip(*chunks, strict=True)))


def _eliminated(J: np.ndarray, tolerance: float, kept_free: Collection[int]) -> tuple[np.ndarray, ...]:
    """`complete_pivoting` of one chunk of members."""
    B, m, n = J.shape
    A = J.copy()
    steps = min(m, n)
    rows, columns = np.full((B, steps), -1), np.full((B, steps), -1)
    pivots, dropped = np.zeros((B, steps)), np.zeros(B)
    free_rows, free_columns = np.ones((B, m), bool), np.ones((B, n), bool)
    free_columns[:, list(kept_free)] = False
    alive, members, first = np.ones(B, bool), np.arange(B), np.zeros(B)
    for k in range(steps):
        size = np.where(free_rows[:, :, None] & free_columns[:, None, :], np.abs(A), -1.0).reshape(B, -1)
        largest = size.max(1)
        first = largest if k == 0 else first
        pick = (size >= (largest * (1.0 - TIE))[:, None]).argmax(1)
        kept = alive & (largest > tolerance * first)
        dropped = np.where(alive & ~kept, np.maximum(largest, 0.0), dropped)
        alive = kept
        if not alive.any():
            break
        i, j = pick // n, pick % n
        rows[alive, k], columns[alive, k], pivots[alive, k] = i[alive], j[alive], largest[alive]
        pivot = np.where(alive, A[members, i, j], 1.0)
        factor = np.where(free_rows & alive[:, None], A[members, :, j] / pivot[:, None], 0.0)
        factor[members, i] = 0.0
        A -= factor[:, :, None] * A[members, i, :][:, None, :]
        free_rows[members[alive], i[alive]] = False
        free_columns[members[alive], j[alive]] = False
    return rows, columns, (rows >= 0).sum(1), pivots, dropped


def blocks_of(found: Elimination, substructure: Substructure) -> list[Block]:
    """The sorted sets of every member."""
    columns = np.asarray(substructure.columns)
    seen: dict[bytes, Block] = {}
    out: list[Block] = []
    primary = np.sort(np.where(found.rows < 0, 10**6, found.rows), 1)
    dependent = np.sort(np.where(found.columns < 0, 10**6, found.columns), 1)
    for rows, picked, rank in zip(primary, dependent, found.rank, strict=True):
        key = rows.tobytes() + picked.tobytes()
        if key not in seen:
            chosen = picked[:rank]
            rest = np.setdiff1d(np.arange(len(columns)), chosen)
            seen[key] = Block(
                tuple(int(i) for i in rows[:rank]),
                tuple(int(c) for c in columns[chosen]),
                tuple(int(c) for c in columns[rest]),
            )
        out.append(seen[key])
    return out


def free_speeds(plan: Plan) -> tuple[int, ...]:
    """Speeds outside every substructure: independent in any partition."""
    tied = {c for block in plan.substructures for c in block.columns}
    return tuple(k for k in range(plan.nv) if k not in tied)


def independent_speeds(plan: Plan, partition: Partition) -> tuple[int, ...]:
    """All independent speeds in ascending order."""
    return tuple(sorted((*free_speeds(plan), *(c for block in partition.blocks for c in block.independent))))


def characteristic_length(plan: Plan, numbers: Sequence[float]) -> float:
    """The length l [m] by which translations are made dimensionless.

    The largest distance between two joint frames of one moving body, else from a joint frame to its centre of mass,
    else 1 m. Frames on ground do not count.

    Args:
        numbers: in the order of `plan.numbers`.
    """
    places: dict[str, set[tuple[int, ...]]] = {}
    centres = {node.path: node.numbers.center_of_mass for node in plan.nodes if node.numbers is not None}
    for joint in plan.joints:
        for node, frame in ((joint.near, joint.near_frame), (joint.far, joint.far_frame)):
            if node:
                places.setdefault(plan.nodes[node].path, set()).add(() if frame is None else frame.T)

    def at(where: Sequence[int]) -> np.ndarray:
        return np.array([numbers[k] for k in where]) if where else np.zeros(3)

    spans = [_dist(at(a), at(b)) for own in places.values() for a in sorted(own) for b in sorted(own)]
    arms = [_dist(at(a), at(centres[body])) for body, own in places.items() for a in sorted(own)]
    return max(spans, default=0.0) or max(arms, default=0.0) or 1.0


def _dist(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b))


def secondary_combinations(J: np.ndarray, primary: Sequence[int]) -> np.ndarray:
    """C of J_secondary = C J_primary for one member: (m - r, r), redundant rows as combinations of primary ones."""
    rest = [i for i in range(len(J)) if i not in set(primary)]
    if not primary:
        return np.zeros((len(rest), 0))
    return np.linalg.lstsq(J[list(primary)].T, J[rest].T, rcond=None)[0].T

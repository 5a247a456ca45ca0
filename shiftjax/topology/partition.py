"""Generalized Coordinate Partitioning: which rows and columns of every substructure's Jacobian the programs solve with.

Problem: from the dimensionless Jacobian of a substructure choose r primary rows and r dependent columns, r its rank.
The result must: be sets (sorted), the same on every machine (ties go to the lowest index within a relative 1e-12), and
depend on the member alone. Desirable: no |B_ij| far above 1 (complete pivoting nearly ensures it).
Refused: nothing here; a doubtful rank is reported.

Host code on NumPy arrays, all members at once. Gaussian elimination with complete pivoting: Golub, Van Loan, Matrix
Computations, section 3.4.8; partitioning: Wehage, Haug, Journal of Mechanical Design 104 (1982).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from shiftjax.kernels.pivoting.elimination import FREE, HELD, eliminate
from shiftjax.record import record
from shiftjax.topology.plan import Plan, Substructure

RANK = 1e-8  # of the largest pivot, or singular value: what the host, in f64, takes for zero
RANK_TOLERANCE = {"f64": RANK, "f32": 1e-4}
# The same where the model's numbers are rounded: axes of six digits are parallel within 2e-6.
ROUNDED_RANK = 1e-5
DOUBTFUL_PIVOTS = (1e-10, 1e-6)  # a relative pivot between these gives a warning
TIE = 1e-12
WIDE = 8  # bytes of a number
POINT = 1e-12  # m: frames that are nearer stand at one place, but for rounding


@record
class Block:
    """The partition of one substructure."""

    primary: tuple[int, ...]  # local rows
    dependent: tuple[int, ...]  # speeds
    independent: tuple[int, ...]  # speeds

    def among(self, speeds: Sequence[int]) -> Block:
        """The same by the places of its speeds in a list of some."""
        place = {speed: k for k, speed in enumerate(speeds)}
        dependent, independent = (tuple(place[k] for k in side) for side in (self.dependent, self.independent))
        return Block(self.primary, dependent, independent)


@record
class MemberBlocks:
    """The partitions of one substructure of some members; as a sequence it has one for each.

    Attributes:
        blocks: different ones. which: (B,) of them each member's.
    """

    blocks: tuple[Block, ...]
    which: np.ndarray

    @classmethod
    def alike(cls, block: Block, members: int) -> MemberBlocks:
        """One partition for all."""
        return cls((block,), np.zeros(members, int))

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, member: int) -> Block:
        return self.blocks[self.which[member]]

    def __iter__(self) -> Iterator[Block]:
        return (self.blocks[k] for k in self.which)

    def some(self, members: np.ndarray) -> MemberBlocks:
        """Those of some of the members."""
        return MemberBlocks(self.blocks, self.which[members])

    def changed(self, members: np.ndarray, others: MemberBlocks) -> MemberBlocks:
        """With others for some of the members."""
        which = self.which.copy()
        which[members] = len(self.blocks) + others.which
        return MemberBlocks((*self.blocks, *others.blocks), which)

    def occurring(self) -> list[int]:
        """Which partitions occur, in the order of the first members that have them."""
        first = np.full(len(self.blocks), len(self.which))
        first[self.which[::-1]] = np.arange(len(self.which))[::-1]  # of several the last one counts
        return [int(k) for k in np.argsort(first, kind="stable") if first[k] < len(self.which)]


@record
class Partition:
    """One block per substructure, in the order of the plan."""

    blocks: tuple[Block, ...]


@record
class Elimination:
    """Result of complete pivoting for every member.

    rows, columns: (B, k) local indices in the order of elimination, -1 beyond the rank; rank: (B,);
    pivots: (B, k) absolute values; dropped: (B,) the first pivot below the tolerance; entries: (B,) the largest |B_ij|,
    J_d B = -J_i for dependent and independent columns.
    """

    rows: np.ndarray
    columns: np.ndarray
    rank: np.ndarray
    pivots: np.ndarray
    dropped: np.ndarray
    entries: np.ndarray

    def ratio(self, rank: np.ndarray | int) -> np.ndarray:
        """(B,) smallest over largest pivot; 0 where there are fewer than `rank`."""
        if not self.pivots.shape[1]:
            return np.zeros(len(self.rank))
        first = self.pivots[:, 0]
        last = np.take_along_axis(self.pivots, np.maximum(self.rank - 1, 0)[:, None], 1)[:, 0]
        return np.where(self.rank >= rank, last / np.where(first > 0, first, 1.0), 0.0)


def rank_tolerance(substructure: Substructure, precision: str = "f64") -> float:
    """What a pivot of a substructure is nothing below, in parts of the largest one."""
    return max(RANK_TOLERANCE[precision], ROUNDED_RANK if substructure.rounded else 0.0)


def complete_pivoting(
    J: np.ndarray, tolerance: float, kept_free: Collection[int] = (), rows: np.ndarray | None = None
) -> Elimination:
    """Eliminates every member's matrix with complete pivoting.

    Args:
        J: (B, m, n) dimensionless Jacobians.
        tolerance: a pivot at or below tolerance times the first one ends the elimination.
        kept_free: local columns that must not become dependent.
        rows: (m,) local rows that J consists of; all where left out.
    """
    B, m, n = J.shape
    column = np.full((B, n), FREE)
    column[:, list(kept_free)] = HELD
    return _eliminated(J, np.full((B, m), FREE), column, tolerance, rows)


def pivots_of(J: np.ndarray, primary: np.ndarray, dependent: np.ndarray) -> Elimination:
    """The same with the primary rows (B, m) and dependent columns (B, n) of given partitions, marked by truths."""
    return _eliminated(J, np.where(primary, FREE, HELD), np.where(dependent, FREE, HELD), 0.0, None)


def _eliminated(
    J: np.ndarray, row: np.ndarray, column: np.ndarray, tolerance: float, rows: np.ndarray | None
) -> Elimination:
    finite = np.asarray(np.isfinite(J).all((1, 2)))
    # compiled code reads row by row, and NumPy keeps the order in memory of columns that were chosen
    A, row, column = map(np.ascontiguousarray, (np.where(finite[:, None, None], J, 0.0), row, column))
    picked, columns, pivots, dropped, entries = eliminate(A, row, column, tolerance, TIE)
    if rows is not None:
        picked = np.where(picked < 0, -1, rows[picked])
    bad = np.where(finite, 0.0, np.nan)
    return Elimination(picked, columns, (picked >= 0).sum(1), pivots, dropped + bad, entries + bad)


def blocks_of(elimination: Elimination, substructure: Substructure) -> MemberBlocks:
    """The sorted sets of every member."""
    speeds, m = np.asarray(substructure.columns), substructure.rows
    marks = np.zeros(
        (len(elimination.rows), m + len(speeds) + 1), bool
    )  # the last column takes what is beyond the rank
    lines = np.arange(len(marks))[:, None]
    marks[lines, np.where(elimination.rows < 0, -1, elimination.rows)] = True
    marks[lines, np.where(elimination.columns < 0, -1, m + elimination.columns)] = True
    packed, which = _distinct(np.packbits(marks[:, :-1], axis=1))
    sets = np.unpackbits(packed, axis=1, count=m + len(speeds)).astype(bool)
    blocks = tuple(
        Block(tuple(np.flatnonzero(row).tolist()), tuple(speeds[column].tolist()), tuple(speeds[~column].tolist()))
        for row, column in zip(sets[:, :m], sets[:, m:], strict=True)
    )
    return MemberBlocks(blocks, which)


def _distinct(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different ones of (B, bytes) in their order, and which one each is; as numbers ten times as fast, 0.05 us."""
    if lines.shape[1] > WIDE:
        distinct, which = np.unique(lines, axis=0, return_inverse=True)
        return distinct, np.ravel(which)
    numbers = np.zeros((len(lines), WIDE), np.uint8)
    numbers[:, : lines.shape[1]] = lines
    distinct, which = np.unique(numbers.view(">u8")[:, 0].astype(np.uint64), return_inverse=True)
    return distinct.astype(">u8")[:, None].view(np.uint8)[:, : lines.shape[1]], which


def secondary_rows(substructure: Substructure, block: Block) -> list[int]:
    """Local rows that the primary ones of a partition imply."""
    return [row for row in range(substructure.rows) if row not in block.primary]


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

    spans = [_dist(at(a), at(b)) for frames in places.values() for a in sorted(frames) for b in sorted(frames)]
    arms = [_dist(at(a), at(centres[body])) for body, frames in places.items() for a in sorted(frames)]
    sizes = (max(some, default=0.0) for some in (spans, arms))
    return next((size for size in sizes if size > POINT), 1.0)


def _dist(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b))


def secondary_combinations(J: np.ndarray, primary: Sequence[int]) -> np.ndarray:
    """C of J_secondary = C J_primary for one member: (m - r, r), redundant rows as combinations of primary ones."""
    rest = [i for i in range(len(J)) if i not in set(primary)]
    if not primary:
        return np.zeros((len(rest), 0))
    return np.linalg.lstsq(J[list(primary)].T, J[rest].T, rcond=None)[0].T

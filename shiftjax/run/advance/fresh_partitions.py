"""What Generalized Coordinate Partitioning gives tripped members now, beside the partitions that they have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.kernels.pivoting.elimination import FEW
from shiftjax.kernels.pivoting.search import (
    Jacobian,
    PivotSets,
    SearchedLanes,
    SearchesThere,
    numbered,
    packed,
    unpacked,
)
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.topology.partition import TIE, Block, MemberBlocks, complete_pivoting, pivots_of, rank_tolerance


@dataclass
class FreshPartitions:
    """Partitions of one substructure of some members, largest |B_ij| and pivot ratios of these and of those they have.

    Attributes:
        same: (B,) whether they are no others, or of less rank.
    """

    blocks: MemberBlocks
    same: np.ndarray
    entries: np.ndarray
    ratio: np.ndarray
    old_entries: np.ndarray
    old_ratio: np.ndarray

    @classmethod
    def of(cls, lanes: Ensemble, s: int, members: np.ndarray, jacobian: Jacobian) -> FreshPartitions:
        """Those of members for substructure s, where they stand.

        Args:
            jacobian: of that substructure.
        """
        structure = lanes.setup.plan.substructures[s]
        code, known, choice = jacobian.code, lanes.known[s], lanes.choice[s, members]
        place = {speed: k for k, speed in enumerate(structure.columns)}
        rows = {row: k for k, row in enumerate(jacobian.rows.tolist())}  # others are zero: no primary ones
        sets = np.stack(
            [packed([rows[i] for i in b.primary if i in rows], [place[c] for c in b.dependent], code) for b in known]
        )
        tolerance = rank_tolerance(structure, lanes.setup.precision)
        settings = lanes.settings
        searched = SearchedLanes(lanes.table, members, choice, sets, settings.h, settings.t0, tolerance, TIE)
        pivots = _searched(lanes, jacobian, searched)
        which, others = numbered(pivots.sets, sets)
        speeds = np.asarray(structure.columns)
        new = [
            Block(*(tuple(array.tolist()) for array in (jacobian.rows[row], speeds[column], speeds[~column])))
            for row, column in zip(*unpacked(others, code), strict=True)
        ]
        blocks = MemberBlocks((*known, *new), which)
        rank = np.array([len(block.dependent) for block in blocks.blocks])
        # Next to a singular pose elimination stops early; what it leaves out is no partition of the mechanism.
        same = (which == choice) | (rank[which] < rank[choice])
        return cls(blocks, same, pivots.entries, pivots.ratio, pivots.old_entries, pivots.old_ratio)


def _searched(lanes: Ensemble, jacobian: Jacobian, searched: SearchedLanes) -> PivotSets:
    """Where the lanes are; few by NumPy, for which nothing is compiled."""
    if len(searched.members) < FEW:
        return search_by_numpy(jacobian, searched)
    there = lanes.kernel.searched(jacobian.code, searched) if isinstance(lanes.kernel, SearchesThere) else None
    return jacobian.search(searched) if there is None else there


def search_by_numpy(jacobian: Jacobian, lanes: SearchedLanes) -> PivotSets:
    """The same as compiled code, to the last bit."""
    table, members, code = lanes.table, lanes.members, jacobian.code
    q, p = (table.rows(name, members).astype(float) for name in ("q", "p"))
    J = jacobian(q, p, lanes.t0 + table.row("clock", members).astype(float) * lanes.h)
    pivots = complete_pivoting(J, lanes.tolerance)
    primary, dependent = (truths[lanes.choice] for truths in unpacked(lanes.sets, code))
    old, full = pivots_of(J, primary, dependent), dependent.sum(1)
    taken = [
        packed(rows[rows >= 0].tolist(), columns[columns >= 0].tolist(), code)
        for rows, columns in zip(pivots.rows, pivots.columns, strict=True)
    ]
    sets = np.array(taken, np.uint64).reshape(-1, code.words)
    entries = np.where(old.rank < full, np.inf, old.entries)
    return PivotSets(sets, pivots.entries, pivots.ratio(0), entries, old.ratio(full))

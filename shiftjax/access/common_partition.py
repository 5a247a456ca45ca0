"""One partition of many members, so that rows and columns mean the same in all of them. Host code.

Problem: of every substructure the primary rows and dependent speeds that serve all members. Of the partitions that some
of them would choose by complete pivoting the one is taken whose worst member has the largest pivots, relatively; all
members are looked at. A member at which it is singular has answers that are no numbers, or large ones.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.errors import ModelError
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Block, Partition, blocks_of, complete_pivoting, pivots_of, rank_tolerance
from shiftjax.topology.plan import Substructure

SAMPLE = 16  # members whose partitions are tried


def common_partition(
    prepared: Prepared, q: np.ndarray, good: np.ndarray, free: Collection[int], wished: Collection[int]
) -> Partition:
    """The partition for all members.

    Args:
        q: (nq, B) coordinates. good: (B,) members that count. free: speeds that are to be independent; wished: those
            that are where the loops of a substructure leave all of them free.

    Raises:
        ModelError: the loops do not leave these free together.
    """
    members = np.flatnonzero(good)
    if not len(members):  # nothing can be judged there: the file's pose decides
        lane, places = prepared.file_lane(), prepared.file_start.q
    else:
        lane, places = prepared.lane_of(members, 1.0), q[:, members]
    blocks = []
    for s, block in enumerate(prepared.plan.substructures):
        _, J = host.closure(lane, places, s)
        needed, liked = ([k for k, c in enumerate(block.columns) if c in those] for those in (free, wished))
        chosen = _common_block(prepared, block, J, needed or liked)
        if chosen is None and not needed:
            chosen = _common_block(prepared, block, J, ())
        if chosen is None:
            names = [prepared.plan.speed_names()[block.columns[k]] for k in needed]
            allowed = "coordinates the loops leave free together"
            raise ModelError("independent", f"{names}", allowed, "Name fewer, or others.")
        blocks.append(chosen)
    return Partition(tuple(blocks))


def _common_block(prepared: Prepared, block: Substructure, J: np.ndarray, free: Sequence[int]) -> Block | None:
    """The partition of one substructure; None where some columns cannot be free together."""
    tolerance = rank_tolerance(block, prepared.setup.precision)
    some = J[:: max(1, len(J) // SAMPLE)]
    pivoted = complete_pivoting(some, tolerance)
    rank = int(pivoted.rank.max(initial=0))
    tried = blocks_of(complete_pivoting(some, tolerance, free) if len(free) else pivoted, block).blocks
    able = [one for one in tried if len(one.dependent) == rank]
    if len(able) == 1:  # an elimination takes 0.14 s of 540 rows of one member
        return able[0]
    return max(able, key=lambda one: _worst(one, block, J), default=None)


def _worst(one: Block, block: Substructure, J: np.ndarray) -> float:
    """The smallest pivot of all members, in parts of their largest."""
    rows, columns = np.zeros(J.shape[:2], bool), np.zeros((len(J), J.shape[2]), bool)
    rows[:, list(one.primary)] = True
    columns[:, [block.columns.index(speed) for speed in one.dependent]] = True
    return float(pivots_of(J, rows, columns).ratio(len(one.dependent)).min(initial=1.0))

"""Substructures that do not close, or cannot move, only because the file's numbers are rounded. Host code.

Problem: a file of six to eight digits says a planar linkage in a plane that is not one of the axes', or a pivot beside
its plane by 1e-9 m; exact arithmetic finds it open, or rigid. Such a substructure is marked in its plan, and its rows
are judged by the digits of the file from there on (`closing.rounding`); what its loops miss is reported.
What closes exactly is never marked: no motion of it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.dynamics.lane import Lane
from shiftjax.run.closing.closer import CLOSED, ROUNDED
from shiftjax.run.closing.rounding import MISFIT
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import RANK, ROUNDED_RANK, complete_pivoting
from shiftjax.topology.plan import Plan, Substructure


def rounded(plan: Plan, lane: Lane, q: np.ndarray) -> Plan:
    """The plan with those substructures marked that may be open, or short of freedoms, for rounding only.

    Args:
        q: (nq, 1) where the file's start was left.
    """
    blocks = [_marked(lane, q, s, block) for s, block in enumerate(plan.substructures)]
    return plan if blocks == list(plan.substructures) else replace(plan, substructures=tuple(blocks))


def _marked(lane: Lane, q: np.ndarray, index: int, block: Substructure) -> Substructure:
    phi, J = host.closure(lane, q, index)
    gap = float(np.abs(phi).max(initial=0.0))
    if not ROUNDED < gap <= MISFIT:
        return block
    ranks = [int(complete_pivoting(J, tolerance).rank[0]) for tolerance in (RANK, ROUNDED_RANK)]
    return replace(block, rounded=gap > CLOSED or ranks[1] < ranks[0])


def notes_of_rounding(prepared: Prepared) -> Iterator[str]:
    """What loops of rounded numbers miss at the file's start, and how many rows are left to least squares."""
    plan, lane, q = prepared.plan, prepared.file_lane(), prepared.file_start.q
    for s, block in enumerate(plan.substructures):
        if not block.rounded or not prepared.file_start.closed[0]:
            continue
        gap, (_, J) = np.abs(host.true_gap(lane, q, s)[0]), host.closure(lane, q, s)
        rank = int(complete_pivoting(J, ROUNDED_RANK).rank[0])
        names = ", ".join(plan.constraints[k].name for k in block.groups)
        yield (
            f"{names}: {block.rows - rank} of {block.rows} rows are redundant but for the digits of the numbers; they "
            f"are left out, and miss by {gap.max():.2g} (m or rad)"
        )

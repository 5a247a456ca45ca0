"""Which partition every member starts with: the model's nominal one where it serves, else its own. Host code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.errors import ModelError
from shiftjax.kernels.workers import in_portions
from shiftjax.run.start.prepared import Prepared, forced_speeds
from shiftjax.run.start.stated import Start
from shiftjax.topology.partition import Block, MemberBlocks, blocks_of, complete_pivoting, rank_tolerance

NOMINAL_PIVOTS = 0.01  # a start may be this much worse conditioned than the file's before it takes its own partition
SAMPLE = 16  # members whose rank is compared with the file's


def partitions(
    prepared: Prepared, start: Start, multiplier: float, independent: Sequence[str] = ()
) -> list[MemberBlocks]:
    """For every substructure the partition of every member.

    Raises:
        ModelError: a joint of `independent` that cannot be.
    """
    plan, setup = prepared.plan, prepared.setup
    nominal_lane, nominal = prepared.file_lane(), prepared.file_start
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    forced = forced_speeds(prepared, independent)
    alike = start is nominal and not prepared.vary and prepared.own_numbers == prepared.file_numbers
    out: list[MemberBlocks] = []
    for s, block in enumerate(plan.substructures):
        tolerance = rank_tolerance(block, setup.precision)
        free = [k for k, column in enumerate(block.columns) if column in forced]
        _, J = host.closure(nominal_lane, nominal.beside, s)
        pivots = complete_pivoting(J, tolerance, free)
        if free and pivots.rank[0] < complete_pivoting(J, tolerance).rank[0]:
            names = [name for name, column in zip(plan.speed_names(), range(plan.nv), strict=True) if column in forced]
            raise ModelError(
                "independent", f"{names}", "coordinates the loops leave free together", "Name fewer, or others."
            )
        chosen = blocks_of(pivots, block)[0]
        base_b, base_ratio = host.block_monitors(nominal_lane, nominal.beside, s, chosen)
        b, ratio = (base_b, base_ratio) if alike else _monitors(prepared, start, s, chosen)
        serves = (b <= multiplier * max(base_b[0], 1.0)) & (ratio >= NOMINAL_PIVOTS * base_ratio[0])
        if not alike:
            serves &= ~_has_more_rank(lane, start, s, tolerance, len(chosen.dependent))
        of_members = MemberBlocks.alike(chosen, prepared.members)
        others = np.flatnonzero(~serves & start.closed) if not free else np.zeros(0, int)
        if len(others):
            _, J = host.closure(lane.of(others), start.beside[:, others], s)
            of_members = of_members.changed(others, blocks_of(complete_pivoting(J, tolerance), block))
        out.append(of_members)
    return out


def _monitors(prepared: Prepared, start: Start, s: int, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """`block_monitors` of all members."""
    everyone, q = np.arange(prepared.members), start.beside

    def monitors(portion: slice) -> tuple[np.ndarray, np.ndarray]:
        return host.block_monitors(prepared.lane_of(everyone[portion], 1.0), q[:, portion], s, block)

    b_norms, ratios = zip(*in_portions(monitors, prepared.members), strict=True)
    return np.concatenate(b_norms), np.concatenate(ratios)


def _has_more_rank(lane: host.StartLane, start: Start, s: int, tolerance: float, rank: int) -> np.ndarray:
    """(B,) whether members have more rank than the file's start, which then is on a singular pose.

    All are looked at where some of a few have.
    """
    more, good = np.zeros(len(start.closed), bool), np.flatnonzero(start.closed)
    for members in (good[:: max(1, len(good) // SAMPLE)], good):
        if len(members):
            _, J = host.closure(lane.of(members), start.beside[:, members], s)
            more[members] = complete_pivoting(J, tolerance).rank > rank
        if not more.any():
            break
    return more

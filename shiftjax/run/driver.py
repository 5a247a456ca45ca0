"""Runs the lanes of an ensemble: freezes, repartitions, moves steps off singular poses.

Host code above the kernels. A round lets the kernel advance the running lanes and looks at those that tripped. What
happens to a lane follows from the lane alone, so results never depend on who else is in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.dynamics.lane import Lane
from shiftjax.outcome import Outcome
from shiftjax.run.ensemble import Ensemble
from shiftjax.run.setup import MONITORS_PER_BLOCK
from shiftjax.run.singular_steps import move_off, step_through
from shiftjax.topology.partition import RANK_TOLERANCE, Block, blocks_of, complete_pivoting

BETTER = 10.0  # a new partition for a pivot's sake must have pivots this much better
TRIES = 3  # trips in one step


def run(lanes: Ensemble) -> None:
    """Advances all lanes to the end of the span or their own."""
    total = lanes.settings.steps
    chunk = max(64, total // 16)
    until = 0
    while until < total:
        until = min(total, until + chunk)
        run_to(lanes, until)
        lanes.settings.progress(until / total)


def run_to(lanes: Ensemble, until: int) -> None:
    """Advances all lanes to a step or their own end; steps moved off a singular pose may go up to three steps past."""
    while True:
        running = np.flatnonzero((lanes.status <= 0) & (lanes.row("clock") < until))
        if len(running) == 0:
            return
        lanes.advance(running, until)
        tripped = running[lanes.row("trip")[running] != 0]
        if len(tripped):
            handle_trips(lanes, tripped)


def handle_trips(lanes: Ensemble, tripped: np.ndarray) -> None:
    """Repartitions, moves or ends the lanes that froze."""
    clock, trip, monitors = lanes.row("clock"), lanes.row("trip"), lanes.setup.monitors
    again = lanes.tried_at[tripped] == clock[tripped]
    lanes.tries[tripped] = np.where(again, lanes.tries[tripped] + 1, 1)
    lanes.tried_at[tripped] = clock[tripped]
    code = np.rint(trip[tripped]).astype(int) - 1
    trip[tripped] = 0.0
    lanes.rejected[tripped] += 1
    blocks = MONITORS_PER_BLOCK * lanes.setup.blocks
    kind = np.where(code < blocks, code % MONITORS_PER_BLOCK, MONITORS_PER_BLOCK + code - blocks)
    attempt = lanes.rows("mon")[:blocks][:, tripped]
    lost = ~np.isfinite(attempt).all(0) | (code == monitors)
    stuck = lanes.tries[tripped] > TRIES * max(1, lanes.setup.blocks)
    lanes.status[tripped[stuck]] = int(Outcome.stuck)
    movable = lanes.settings.move_steps and lanes.setup.blocks > 0
    if not movable:
        lanes.status[tripped[lost & ~stuck]] = int(Outcome.non_finite)
    lanes.status[tripped[~stuck & ~lost & (kind == MONITORS_PER_BLOCK)]] = int(Outcome.loop_open)
    lanes.status[tripped[~stuck & ~lost & (kind == MONITORS_PER_BLOCK + 1)]] = int(Outcome.no_mass)
    for s in range(lanes.setup.blocks):
        here = ~stuck & ~lost & (code // MONITORS_PER_BLOCK == s)
        if (here & (kind < 2)).any():
            repartition(lanes, s, tripped[here & (kind < 2)], kind[here & (kind < 2)] == 1)
        if (here & (kind == 2)).any():
            cross(lanes, s, tripped[here & (kind == 2)])
    if movable and (lost & ~stuck).any():
        move_off(lanes, tripped[lost & ~stuck])


def cross(lanes: Ensemble, s: int, members: np.ndarray) -> None:
    """A step came too near a vanishing pivot of substructure s.

    Where other coordinates have far better pivots the pose is no singular one: the lane repartitions, or with the
    trigger switched off steps through as it is. Else the steps are moved off the pose.
    """
    found = _Fresh.of(lanes, s, members)
    curable = ~found.same & (found.ratio >= BETTER * found.old_ratio)
    if curable.any():
        if lanes.settings.repartition:
            adopt(lanes, s, members, found, curable)
        else:
            step_through(lanes, members[curable])
    if not curable.all():
        move_off(lanes, members[~curable])


@dataclass
class _Fresh:
    """What GCP gives some members now, beside what they have."""

    jacobian: np.ndarray  # (B, m, n)
    blocks: list[Block]
    old: list[Block]
    same: np.ndarray
    b_norm: np.ndarray
    ratio: np.ndarray
    old_b_norm: np.ndarray
    old_ratio: np.ndarray

    @classmethod
    def of(cls, lanes: Ensemble, s: int, members: np.ndarray) -> _Fresh:
        lane, q = lanes.lane(members), lanes.rows("q")[:, members].astype(float)
        _, J = host.closure(lane, q, s)
        found = complete_pivoting(J, RANK_TOLERANCE[lanes.setup.precision])
        blocks = blocks_of(found, lanes.setup.plan.substructures[s])
        old = [lanes.known[s][c] for c in lanes.choice[s, members]]
        same = np.array([a == b for a, b in zip(blocks, old, strict=True)])
        old_b_norm, old_ratio = _monitors(lane, q, s, old)
        b_norm, ratio = old_b_norm.copy(), old_ratio.copy()
        if not same.all():
            others = np.flatnonzero(~same)
            theirs = [blocks[k] for k in others]
            b_norm[others], ratio[others] = _monitors(lane.of(others), q[:, others], s, theirs)
        return cls(J, blocks, old, same, b_norm, ratio, old_b_norm, old_ratio)


def repartition(lanes: Ensemble, s: int, members: np.ndarray, by_pivot: np.ndarray) -> None:
    """Gives members a fresh partition of substructure s; one that brings nothing is not one."""
    found = _Fresh.of(lanes, s, members)
    poor = np.where(by_pivot, found.ratio < BETTER * found.old_ratio, ~(found.b_norm < found.old_b_norm))
    useless = found.same | poor
    first = MONITORS_PER_BLOCK * s
    # The pose itself is near singular, or pivoting is greedy: the lane runs on, its pivot trigger off until the pivot
    # has recovered (the kernel arms it again), its B counted from where it is now.
    lanes.rows("armed")[first + 1, members[useless & by_pivot]] = 0.0
    raised = members[useless & ~by_pivot]
    now_b = found.old_b_norm[useless & ~by_pivot]
    lanes.rows("limit")[first, raised] = lanes.settings.multiplier * np.maximum(now_b, 1.0)
    if not useless.all():
        adopt(lanes, s, members, found, ~useless)


def adopt(lanes: Ensemble, s: int, members: np.ndarray, found: _Fresh, which: np.ndarray) -> None:
    """Gives some of the members what GCP found for them."""
    jacobians = found.jacobian[which] if lanes.settings.log_jacobian else None
    lanes.adopt(s, members[which], [found.blocks[k] for k in np.flatnonzero(which)], jacobians)


def _monitors(lane: Lane, q: np.ndarray, s: int, blocks: Sequence[Block]) -> tuple[np.ndarray, np.ndarray]:
    """Largest |B_ij| and pivot ratio of every member under its own partition."""
    b, ratio = np.zeros(q.shape[1]), np.zeros(q.shape[1])
    for block in dict.fromkeys(blocks):
        mine = np.array([other == block for other in blocks])
        b_all, ratio_all = host.block_monitors(lane.of(mine), q[:, mine], s, block)
        b[mine], ratio[mine] = b_all, ratio_all
    return b, ratio

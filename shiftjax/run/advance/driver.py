"""Runs the lanes of an ensemble: freezes, repartitions, moves steps off singular poses.

Host code above the kernels. A round lets the kernel advance the running lanes and looks at those that tripped. What
happens to a lane follows from the lane alone, so results never depend on who else is in the batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from shiftjax.kernels.guards import ERROR, EVENTS, FINITE, MONITORS, causes
from shiftjax.kernels.lane_table import Trips
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.fresh_partitions import FreshPartitions
from shiftjax.run.advance.samples import next_samples
from shiftjax.run.advance.sampling import begin_samples, sample
from shiftjax.run.advance.schedule import PLAIN
from shiftjax.run.advance.singular.singular_steps import best_of, move_off, step_through
from shiftjax.run.advance.singular.singular_stops import (
    look_farther,
    stop_where_passed,
    substructure_jacobian,
    tried_step,
)
from shiftjax.run.advance.switches import cross_events, note_skipped, passed_events
from shiftjax.run.programs.setup import MONITORS_PER_BLOCK
from shiftjax.shield import shielded

BETTER = 10.0  # a new partition for a pivot's sake must have pivots this much better
TRIES = 3  # trips in one step
SPINNING = 0.5  # rad in a step: the last stage of rk4 has quaternions of length 1.03
BESIDE = 1.37  # steps, of one that ends elsewhere
PassBy = Callable[[Ensemble, np.ndarray], None]
BATCH = 1.0  # s of a batch; an interrupt leaves those that are done


def run(lanes: Ensemble, run_batch: Callable[[Ensemble, np.ndarray], None] | None = None) -> None:
    """Advances all lanes to the end of the span or their own, batch after batch.

    Args:
        run_batch: runs some members; with fixed steps where left out.

    KeyboardInterrupt comes through soon. Every lane is then at a step that it has reached.
    """
    first, size, members = 0, lanes.kernel.batch, len(lanes.status)
    while first < members:
        batch, begun = np.arange(first, min(first + size, members)), time.perf_counter()
        (run_batch or _run_batch)(lanes, batch)
        first += len(batch)
        growth = BATCH / max(time.perf_counter() - begun, 1e-3)
        size = max(lanes.kernel.batch, int(size * min(max(growth, 0.25), 4.0)))


def _run_batch(lanes: Ensemble, batch: np.ndarray) -> None:
    before, end, members = lanes.settings.before, lanes.settings.end, len(lanes.status)
    with shielded():
        begin_samples(lanes, batch[lanes.status[batch] <= 0])
    late = batch[(lanes.status[batch] <= 0) & (lanes.clock_of(batch) < before)]
    if len(late):  # of a run that goes on: the end of the one before cut their steps short
        run_to(lanes, before, late)
        with shielded():
            lanes.begin_metrics(late[lanes.status[late] <= 0], afresh=False)
            lanes.evaluate("observe", late[(lanes.status[late] <= 0) & (lanes.clock_of(late) == before)])
            sample(lanes, late[lanes.status[late] <= 0])
    until = before
    while until < end:  # at the end of a chunk all lanes wait for the last one
        until = min(end, int(next_samples(np.array([until]))[0])) if lanes.settings.estimates else end
        run_to(lanes, until, batch)
        with shielded():
            sample(lanes, batch[lanes.status[batch] <= 0])
        lanes.settings.progress((batch[0] + len(batch) * (until - before) / (end - before)) / members)


def run_to(lanes: Ensemble, until: int, members: np.ndarray | None = None) -> None:
    """Advances all lanes, or some, to a step or their own end; moved steps may go up to three steps past."""
    members = np.arange(len(lanes.status)) if members is None else members
    while True:
        stops = np.minimum(until, lanes.ends)
        running = members[(lanes.status[members] <= 0) & (lanes.clock_of(members) < stops[members])]
        if len(running) == 0:
            return
        if lanes.settings.stop_at_poses:
            look_farther(lanes, running)
        trips = lanes.advance(running, stops[running])
        if len(trips.members):
            with shielded():
                at_event = causes(lanes.layout, trips.codes)[EVENTS.name] >= 0
                cross_events(lanes, trips.members[at_event])
                handle_trips(lanes, trips.those(~at_event))


def handle_trips(lanes: Ensemble, trips: Trips, pass_by: PassBy | None = None) -> None:
    """Repartitions, moves or ends the lanes that froze, by the guard that froze them.

    Args:
        pass_by: takes members past a singular pose; left out, in fixed steps.
    """
    pass_by = pass_by or (stop_or_step if lanes.settings.stop_at_poses else _move_off)
    members, fired, blocks = trips.members, causes(lanes.layout, trips.codes), lanes.setup.blocks
    if len(members) == 0:
        return
    lanes.keep_before_end(members)
    clock = lanes.clock_of(members)
    again = lanes.tried_at[members] == clock
    lanes.tries[members] = np.where(again, lanes.tries[members] + 1, 1)
    lanes.tried_at[members] = clock
    lanes.table.set("trip", 0.0, members)
    lanes.rejected[members] += 1
    monitor = _at_pose(lanes, members, fired[MONITORS.name], again & _watches_poses(lanes))
    of_all = monitor - MONITORS_PER_BLOCK * blocks  # after those of the substructures: gap, mass
    lost = ~lanes.table.reduce("finite", "mon", members, slice(MONITORS_PER_BLOCK * blocks)) | (fired[FINITE.name] == 0)
    stuck = lanes.tries[members] > TRIES * max(1, blocks)
    lingering = stuck & _lets_go(lanes, members, stuck)
    stuck &= ~lingering
    movable = _watches_poses(lanes) and blocks > 0
    going = ~stuck & ~lost & ~lingering
    massless = going & (of_all == 1)
    spinning = _spinning(lanes, members[massless])
    massless &= ~np.isin(members, [*spinning])
    for outcome, ended in (
        (Outcome.too_small, fired[ERROR.name] == 0),
        (Outcome.stuck, stuck),
        (Outcome.non_finite, lost & ~stuck & (not movable)),
        (Outcome.loop_open, going & (of_all == 0)),
        (Outcome.no_mass, massless),
    ):
        lanes.status[members[ended]] = int(outcome)
    lanes.end(spinning, Outcome.stuck)
    for s in range(blocks):
        kind = np.where(going, monitor - MONITORS_PER_BLOCK * s, -1)
        if (changes := (kind == 0) | (kind == 1)).any():
            repartition(lanes, s, members[changes], kind[changes] == 1)
        if (kind == 2).any():
            cross(lanes, s, members[kind == 2], pass_by)
    if movable and (lost & ~stuck).any():
        pass_by(lanes, members[lost & ~stuck])


def _move_off(lanes: Ensemble, members: np.ndarray) -> None:
    start = lanes.table.rows("event", members).copy()
    move_off(lanes, members)
    note_skipped(lanes, members, start)


def _lets_go(lanes: Ensemble, members: np.ndarray, stuck: np.ndarray) -> np.ndarray:
    """(B,) which members that are stuck linger on a singular pose: no monitor of their loops freezes them until each is
    within its limit again.
    """
    monitors = slice(0, MONITORS_PER_BLOCK * lanes.setup.blocks)
    armed = lanes.table.rows("armed", members, monitors) != 0.0
    lingering = stuck & ~armed[lanes.setup.pose_monitors].all(0) & armed.any(0)
    lanes.table.set("armed", 0.0, members[lingering], monitors)
    return np.asarray(lingering)


def _watches_poses(lanes: Ensemble) -> bool:
    return lanes.settings.move_steps or lanes.settings.stop_at_poses


def stop_or_step(lanes: Ensemble, members: np.ndarray) -> None:
    """Ends members whose next step passes a singular pose or lands on it; the others take it."""
    before, size = lanes.table.take(members), np.ones(len(members))
    after = tried_step(lanes, members, before, size)
    if (lost := after.row("trip") != 0.0).any():  # perhaps it landed there to the last bit
        size[lost] = BESIDE
        after.put(lost, tried_step(lanes, members[lost], before.take(lost), size[lost]))
    stopped = stop_where_passed(lanes, members, before, after)
    at_event = ~stopped & ~lost
    if lanes.guarded_events:
        at_event &= passed_events(lanes, before.rows("event").astype(float), after.rows("event").astype(float)).any(0)
        cross_events(lanes, members[at_event])
        stopped |= at_event
    if not stopped.all():
        best_of(lanes, members[~stopped], [PLAIN], doubted=False)


def _at_pose(lanes: Ensemble, members: np.ndarray, monitor: np.ndarray, again: np.ndarray) -> np.ndarray:
    """(B,) which monitor counts: the window of a singular pose, where a step that froze again has left that, too.

    A step that lands on the pose has a B without meaning: no partition follows from it, nor a limit of |B|.
    """
    if not lanes.setup.blocks:
        return monitor
    poses = lanes.setup.pose_monitors
    inside = ~(lanes.table.rows("mon", members, poses) <= lanes.table.rows("limit", members, poses))
    of_block = (monitor >= 0) & (monitor < MONITORS_PER_BLOCK * lanes.setup.blocks)
    return np.where(again & of_block & inside.any(0), inside.argmax(0) * poses.step + poses.start, monitor)


def _spinning(lanes: Ensemble, members: np.ndarray) -> dict[int, str]:
    """Causes of members that turn so fast that a step leaves orientations without meaning, and so their masses."""
    plan, step = lanes.setup.plan, lanes.settings.h * lanes.table.row("fraction", members)
    angles = np.array([unit == 1.0 for unit in lanes.setup.units])
    turned = np.abs(lanes.table.rows("x", members, slice(plan.nv))[angles]).max(0, initial=0.0) * step
    times = lanes.settings.t0 + lanes.clock_of(members) * lanes.settings.h
    return {
        int(k): f"at {time:.6g} s: a coordinate turns by {angle:.2g} rad in a step"
        for k, time, angle in zip(members, times, turned, strict=True)
        if angle > SPINNING
    }


def cross(lanes: Ensemble, s: int, members: np.ndarray, pass_by: PassBy = _move_off) -> None:
    """A step came too near a vanishing pivot of substructure s.

    Where other coordinates have far better pivots the pose is no singular one: the lane repartitions, or with the
    trigger switched off steps through as it is. Else the steps are moved off the pose.
    """
    # Where the trigger of the pivots is off, the search on the way here has found nothing better.
    searched = lanes.table.rows("armed", members, MONITORS_PER_BLOCK * s + 1) == 0.0
    if searched.any():
        pass_by(lanes, members[searched])
        members = members[~searched]
    if len(members) == 0:
        return
    fresh = FreshPartitions.of(lanes, s, members, substructure_jacobian(lanes, s))
    curable = ~fresh.same & (fresh.ratio >= BETTER * fresh.old_ratio)
    if curable.any():
        if lanes.settings.repartition:
            adopt(lanes, s, members, fresh, curable)
        else:
            step_through(lanes, members[curable])
    if not curable.all():
        pass_by(lanes, members[~curable])


def worth_adopting(
    same: np.ndarray, by_pivot: np.ndarray, entries: tuple[np.ndarray, np.ndarray], ratio: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """(B,) whether a fresh partition is taken: another one, with a smaller |B| where |B| tripped, or far better pivots.

    Args:
        same: (B,) the new sets are the old ones. by_pivot: (B,) the pivots tripped, not |B|.
        entries: (B,) largest |B_ij| of the old and of the new. ratio: (B,) their pivot ratios.
    """
    smaller = ~by_pivot & (entries[1] < entries[0])
    return ~same & (smaller | (ratio[1] >= BETTER * ratio[0]))


def repartition(lanes: Ensemble, s: int, members: np.ndarray, by_pivot: np.ndarray) -> None:
    """Gives members a fresh partition of substructure s; one that brings nothing is not one.

    Far better pivots are worth a change at a trip of |B|, too: its largest entry may be 1 on both sides.
    """
    fresh, table = FreshPartitions.of(lanes, s, members, substructure_jacobian(lanes, s)), lanes.table
    useless = ~worth_adopting(fresh.same, by_pivot, (fresh.old_entries, fresh.entries), (fresh.old_ratio, fresh.ratio))
    first = MONITORS_PER_BLOCK * s
    # The pose itself is near singular, or pivoting is greedy: the lane runs on, its pivot trigger off until the pivot
    # has recovered (the kernel arms it again), its B counted from where it is now, or, where the same step has tripped
    # before, from where that step leads: B may double within it.
    table.set("armed", 0.0, members[useless & by_pivot], first + 1)
    raised = members[useless & ~by_pivot]
    now_b = fresh.old_entries[useless & ~by_pivot]
    now_b = np.where(lanes.tries[raised] > 1, np.maximum(now_b, table.rows("mon", raised, first)), now_b)
    table.set("limit", lanes.settings.multiplier * np.maximum(now_b, 1.0), raised, first)
    if not useless.all():
        adopt(lanes, s, members, fresh, ~useless)


def adopt(lanes: Ensemble, s: int, members: np.ndarray, fresh: FreshPartitions, which: np.ndarray) -> None:
    """Gives some of the members what GCP found for them."""
    jacobians = _jacobians(lanes, s, members[which]) if lanes.settings.log_jacobian else None
    lanes.adopt(s, members[which], fresh.blocks.some(which), jacobians)


def _jacobians(lanes: Ensemble, s: int, members: np.ndarray) -> np.ndarray:
    """(B, rows, columns) the Jacobians of substructure s of members where they stand."""
    jacobian, structure = substructure_jacobian(lanes, s), lanes.setup.plan.substructures[s]
    q, p = (lanes.table.rows(name, members).astype(float) for name in ("q", "p"))
    J = np.zeros((len(members), structure.rows, len(structure.columns)))
    J[:, jacobian.rows] = jacobian(q, p, lanes.settings.t0 + lanes.clock_of(members).astype(float) * lanes.settings.h)
    return J

"""Steps that would land on a singular pose are covered by 2 to 4 steps in unequal parts instead.

Where the rank drops, rounding of Phi moves the null space by eps / sigma^2: the configuration alone does not determine
the motion, and a step that lands there is lost. So no stage and no end may fall into the window; afterwards the lane is
back on the grid. Where a tolerance chooses the steps there is no grid, and one larger step does (`bridges`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.kernels.lane_table import LaneTable
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.schedule import PATTERNS, PLAIN, STEPS

LINGERING = 100  # runs of steps that no pattern moves off the pose, after which a lane steps on as it is
CHECKS = ((0.29, 0.46, 0.25), (0.54, 0.46))  # parts with which steps too near the pose are repeated for comparison


def move_off(lanes: Ensemble, members: np.ndarray) -> None:
    """Covers the next steps of some frozen members such that no stage falls into the window, as well as it goes."""
    left = np.minimum(lanes.settings.end - np.rint(lanes.clock_of(members)), max(map(len, PATTERNS)))
    for count in np.unique(left):
        fitting = [parts for parts in PATTERNS if 1 < len(parts) <= count] or [PLAIN]
        best_of(lanes, members[left == count], fitting)
    lingering = members[lanes.lingers[members] >= LINGERING]
    disarm_window(lanes, lingering)
    lanes.warn(lingering, Outcome.near_singular)


def step_through(lanes: Ensemble, members: np.ndarray) -> None:
    """The plain step, whatever its pivots."""
    if lanes.settings.tolerance is not None:
        disarm_window(lanes, members)
    else:
        best_of(lanes, members, [PLAIN])


def disarm_window(lanes: Ensemble, members: np.ndarray) -> None:
    """Lets members step through the window of a pose; it counts again where it has been left."""
    window = lanes.setup.pose_monitors
    lanes.table.set("armed", 0.0, members, window)


def best_of(
    lanes: Ensemble, members: np.ndarray, patterns: Sequence[tuple[float, ...]], *, doubted: bool = True
) -> None:
    """Covers the next steps of some members by the first pattern that clears the window, or that comes nearest.

    Args:
        doubted: whether what rounding may have changed is measured where none clears it.
    """
    before = lanes.table.take(members)
    best, score = before.copy(), np.full(len(members), np.inf)
    taken, pattern = np.ones(len(members)), np.zeros(len(members), int)
    for parts in patterns:
        open_ = np.flatnonzero(~(score <= 1.0))
        if len(open_) == 0:
            break
        after, reached = lanes.try_steps(members[open_], before.take(open_), parts, len(parts))
        better = reached < score[open_]
        best.put(open_[better], after.take(better))
        score[open_[better]] = reached[better]
        taken[open_[better]], pattern[open_[better]] = len(parts), PATTERNS.index(parts)
    best.set("limit", before.rows("limit"))
    best.set("fraction", 1.0)
    best.set("clock", before.row("clock") + taken)
    lost = ~np.isfinite(score)
    best.put(lost, before.take(lost))
    if lanes.tape is not None:
        lanes.tape.note(lanes, members[~lost], pattern[~lost])
    lanes.table.put(members, best)
    lanes.status[members[lost]] = int(Outcome.non_finite)
    moved = ~lost
    lanes.lingers[members] = np.where(score > 1.0, lanes.lingers[members] + 1, 0)
    for steps in np.unique(taken[moved & (score > 1.0)]) if doubted else ():
        here = moved & (score > 1.0) & (taken == steps)
        doubt = _doubt(lanes, members[here], before.take(here), best.take(here), score[here], steps)
        lanes.samples.doubt[members[here]] += doubt
    lanes.decided(members[moved], before.row("clock", moved), STEPS, pattern[moved])
    _record(lanes, members[moved], before.take(moved), taken[moved])
    if lanes.tape is not None:
        lanes.tape.note(lanes, members[moved])


def _doubt(
    lanes: Ensemble, members: np.ndarray, before: LaneTable, after: LaneTable, score: np.ndarray, steps: float
) -> np.ndarray:
    """What rounding may have changed in the speeds of members whose steps came too near the pose, in parts of them.

    The same steps are covered by other parts, which are rounded differently. Parts that come nearer to the pose are
    worse by eps / sigma^2, the ratio of the scores; by so much less is laid to the steps that are kept.
    """
    setup = lanes.setup
    unit, v = np.asarray(setup.units)[:, None], slice(setup.plan.nv)
    speeds = after.rows("x", within=v)
    size = np.abs(speeds / unit).max(0)
    apart = np.zeros(len(members))
    for parts in CHECKS:
        other, reached = lanes.try_steps(members, before, parts, steps)
        change = np.abs((other.rows("x", within=v) - speeds) / unit).max(0)
        with np.errstate(all="ignore"):
            change = np.where(np.isfinite(reached), change * np.minimum(1.0, score / reached), 0.0)
        apart = np.maximum(apart, change)
    return apart / np.where(size > 0, size, 1.0)


def _record(lanes: Ensemble, members: np.ndarray, before: LaneTable, taken: np.ndarray) -> None:
    """Writes the output instants inside and at the end of moved runs; those inside are interpolated."""
    every, begin = lanes.settings.every, lanes.settings.before
    after = lanes.table.take(members)
    start = np.rint(before.row("clock"))
    for k in range(1, int(taken.max(initial=0)) + 1):
        due = ((start + k - begin) % every == 0) & (k <= taken) & (start + k >= begin)
        if not due.any():
            continue
        s, end = k / taken[due], after.take(due)
        here = lanes.between(before.take(due), end, s, taken[due] * lanes.settings.h)
        here.put(s == 1.0, end.take(s == 1.0))
        here.set("clock", start[due] + k)
        lanes.table.put(members[due], here)
        lanes.evaluate("observe", members[due])
    lanes.table.put(members, after)

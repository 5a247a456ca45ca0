"""Steps of a tolerance across singular poses: one step whose stages lie on both sides, as large as that needs.

Near the pose accelerations are noise of eps / sigma^3, which an error estimate takes for errors of the method: the
nearer steps come, the smaller they are made, and in the end one lands there. A lane that comes into the window is taken
across by a single step, which is compared with another way across.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftjax.kernels.lane_table import ALL, LaneTable
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.schedule import PLAIN
from shiftjax.run.advance.singular.singular_steps import step_through
from shiftjax.run.advance.singular.singular_stops import in_window, passed_poses, rank_ratio
from shiftjax.run.advance.switches import act, first_switch, note_passed, passed_events, signed, values_after
from shiftjax.run.closing.host_evaluation import retract

# Sizes of the steps that are tried, in parts of the one that came into the window. From its edge all stages but the
# first lie beyond where the step is ten times as wide as the window; noise may have made it a thousandth of that.
SIZES = (0.8, 1.25, 0.6, 1.6, *(2.0**k for k in range(1, 17)))
OTHER_WAY = (0.8, 0.2)  # parts of the step with which it is compared: of Dormand and Prince's stages none is between
#                         0.3 and 0.64 of it, in one step none between 0.3 and 0.8
NEARBY = 0.01  # of singular values, smallest to largest: a member with less is on its way to a pose
SHORTEST = 1e-12  # of the clock
FARTHER = 1.5  # of a lost step, on which a pose is looked for
SMALLER = 4  # steps, each a tenth of the one before, that a member tries which is lost where no pose is ahead
APART = 1e-3  # rad, parts of the length, and of speeds, by which two ways differ that say nothing of the motion
StepTo = Callable[[Ensemble, np.ndarray, LaneTable, np.ndarray], None]


def bridge(lanes: Ensemble, members: np.ndarray, stops: np.ndarray, step_to: StepTo) -> None:
    """Takes some frozen members across the singular pose ahead.

    Those that are lost where no pose is ahead, as in forces that are no numbers, take smaller steps first, and end as
    `non_finite` where these are lost, too: what lies beyond is no pose to be crossed.

    Args:
        stops: (B,) clocks that no step may pass. step_to: takes members, with these numbers, by one step to clocks.
    """
    members = members[~_lost_elsewhere(lanes, members)]
    if not len(members):
        return
    before = lanes.table.take(members)
    clock, tolerance = before.row("clock"), lanes.settings.tolerance or 0.0
    left = stops[members] - clock
    least = SHORTEST * np.maximum(clock, 1.0)  # less than rounding of the clock is no step
    first = np.minimum(np.maximum(before.row("fraction"), least), left)
    size, error, change = first.copy(), np.full(len(members), np.inf), np.zeros(len(members))
    for factor in SIZES:
        open_ = np.flatnonzero(~(error <= 1.0))
        trial = np.minimum(factor * first[open_], left[open_])
        other = trial != size[open_]  # the end of the way is tried once
        open_, trial = open_[other], trial[other]
        if not len(open_):
            continue
        apart, speeds, clear = _compared(lanes, members[open_], before.take(open_), trial)
        apart = np.where(clear, apart, np.inf)
        better = apart < error[open_]
        size[open_[better]], error[open_[better]] = trial[better], apart[better]
        change[open_[better]] = speeds[better]
    across = error * tolerance <= APART
    if not across.all():  # it lingers there
        step_through(lanes, members[~across])
        lanes.warn(members[~across], Outcome.near_singular)
    if across.any():
        members, taken = members[across], size[across]
        start = before.rows("event", across)
        if lanes.guarded_events:
            taken = _to_events(lanes, members, before.take(across), taken)
        step_to(lanes, members, before.take(across), clock[across] + taken)
        lanes.table.set("event", signed(start, lanes.table.rows("event", members)), members)
        act(lanes, members, start)
        lanes.table.set("fraction", taken, members)
        if lanes.tape is not None:
            lanes.tape.note(lanes, members)
        lanes.samples.doubt[members] += np.where(error > 1.0, change, 0.0)[across]


def _lost_elsewhere(lanes: Ensemble, members: np.ndarray) -> np.ndarray:
    """(n,) which members' next step is lost, though their loops have their rank where it leads at these speeds."""
    before = lanes.table.take(members)
    size = before.row("fraction").copy()
    lost = (in_window(lanes, before) < 0) & (rank_ratio(lanes, members, before) > NEARBY)
    if not lost.any():
        return lost
    here, some = np.flatnonzero(lost), members[lost]
    begin, plan = before.take(here), lanes.setup.plan
    begin.set("dx", 0.0)
    end, way = begin.copy(), size[here] * FARTHER
    end.set("q", retract(plan, begin.rows("q"), begin.rows("x", within=slice(plan.nv)) * way * lanes.settings.h))
    end.set("clock", begin.row("clock") + way)
    end.set("trip", 0.0)
    lost[here] = ~np.isfinite(passed_poses(lanes, some, begin, end)[0])
    ending = lost & ((lanes.tries[members] > SMALLER) | (size < SHORTEST * np.maximum(before.row("clock"), 1.0)))
    lanes.status[members[ending]] = int(Outcome.non_finite)
    lanes.table.set("fraction", 0.1 * size[lost], members[lost])
    return lost


def _to_events(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> np.ndarray:
    """(n,) sizes of steps across a pose, to just past the first event at which something is done where such a step is
    one across, too; else to behind it, where it is done then.
    """
    size, begin = size.copy(), before.copy()
    begin.set("event", 0.0, within=slice(lanes.setup.switches))  # those of forces end no step across
    start = begin.rows("event")
    passed = passed_events(lanes, start, values_after(lanes, members, before, size))
    there = np.flatnonzero(passed.any(0))
    if len(there):
        some, begin = members[there], begin.take(there)
        shorter = first_switch(lanes, some, begin, size[there])[1] * size[there]
        apart, _, clear = _compared(lanes, some, begin, shorter)
        good = clear & (apart * (lanes.settings.tolerance or 0.0) <= APART)
        size[there[good]] = shorter[good]
        note_passed(lanes, lanes.late, members, passed & ~np.isin(np.arange(len(members)), there[good]))
    return size


def _compared(
    lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two ways over steps of some sizes: (n,) how far they end apart, in tolerances, and in parts of the speeds;
    whether both keep clear of the window.
    """
    plan, tolerance = lanes.setup.plan, lanes.settings.tolerance
    assert tolerance is not None
    unit = np.asarray(lanes.setup.units)[:, None]
    one, reached = lanes.try_steps(members, before, PLAIN, size)
    two, reached_two = lanes.try_steps(members, before, OTHER_WAY, size)
    q, v = ([way.rows(name, within=rows) for way in (one, two)] for name, rows in (("q", ALL), ("x", slice(plan.nv))))
    with np.errstate(all="ignore"):
        speeds = np.abs(v[0] / unit)
        apart = np.abs((v[0] - v[1]) / unit)
        errors = [(apart / (1.0 + speeds)).max(0), np.abs(q[0] - q[1]).max(0) / max(lanes.setup.length, 1.0)]
        change = apart.max(0) / np.maximum(speeds.max(0), np.finfo(float).tiny)
    worst = np.max(errors, axis=0) / tolerance
    return np.where(np.isnan(worst), np.inf, worst), change, np.maximum(reached, reached_two) <= 1.0

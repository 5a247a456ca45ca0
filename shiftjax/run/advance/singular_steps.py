"""Steps that would land on a singular pose are covered by 2 to 4 steps in unequal parts instead.

Where the rank drops, rounding of Phi moves the null space by eps / sigma^2: the configuration alone does not determine
the motion, and a step that lands there is lost. So no stage and no end may fall into the window; afterwards the lane is
back on the grid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import speed_units
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.schedule import PATTERNS, PLAIN, STEPS
from shiftjax.run.programs.setup import MONITORS_PER_BLOCK

CHECKS = ((0.29, 0.46, 0.25), (0.54, 0.46))  # parts with which steps too near the pose are repeated for comparison


def move_off(lanes: Ensemble, members: np.ndarray) -> None:
    """Covers the next steps of some frozen members such that no stage falls into the window, as well as it goes."""
    left = np.minimum(lanes.settings.end - np.rint(lanes.row("clock")[members]), max(map(len, PATTERNS)))
    for count in np.unique(left):
        fitting = [parts for parts in PATTERNS if 1 < len(parts) <= count] or [PLAIN]
        best_of(lanes, members[left == count], fitting)


def step_through(lanes: Ensemble, members: np.ndarray) -> None:
    """The plain step, whatever its pivots."""
    best_of(lanes, members, [PLAIN])


def best_of(lanes: Ensemble, members: np.ndarray, patterns: Sequence[tuple[float, ...]]) -> None:
    """Covers the next steps of some members by the first pattern that clears the window, or that comes nearest."""
    before = lanes.table[:, members]
    best, score = before.copy(), np.full(len(members), np.inf)
    taken, pattern = np.ones(len(members)), np.zeros(len(members), int)
    for parts in patterns:
        open_ = np.flatnonzero(~(score <= 1.0))
        if len(open_) == 0:
            break
        after, reached = _try(lanes, members[open_], before[:, open_], parts, len(parts))
        better = reached < score[open_]
        best[:, open_[better]], score[open_[better]] = after[:, better], reached[better]
        taken[open_[better]], pattern[open_[better]] = len(parts), PATTERNS.index(parts)
    limit, clock, fraction = (lanes.layout.rows(name) for name in ("limit", "clock", "fraction"))
    best[limit.start : limit.stop] = before[limit.start : limit.stop]
    best[fraction.start], best[clock.start] = 1.0, before[clock.start] + taken
    lost = ~np.isfinite(score)
    best[:, lost] = before[:, lost]
    if lanes.tape is not None:
        lanes.tape.note(lanes, members[~lost], pattern[~lost])
    lanes.table[:, members] = best
    lanes.status[members[lost]] = int(Outcome.non_finite)
    moved = ~lost
    for steps in np.unique(taken[moved & (score > 1.0)]):
        here = moved & (score > 1.0) & (taken == steps)
        mine, ends = members[here], (before[:, here], best[:, here])
        lanes.samples.doubt[mine] += _doubt(lanes, mine, *ends, score[here], steps)
    lanes.decided(members[moved], before[clock.start, moved], STEPS, pattern[moved])
    _record(lanes, members[moved], before[:, moved], taken[moved])
    if lanes.tape is not None:
        lanes.tape.note(lanes, members[moved])


def _try(
    lanes: Ensemble, members: np.ndarray, before: np.ndarray, parts: tuple[float, ...], steps: float
) -> tuple[np.ndarray, np.ndarray]:
    """Covers some steps by one pattern from the frozen state.

    Returns:
        the table after it, and the largest (squared pivot condition / window) on the way; inf where it was lost.
    """
    clock, fraction, trip = (lanes.layout.rows(name).start for name in ("clock", "fraction", "trip"))
    window = [MONITORS_PER_BLOCK * s + 2 for s in range(lanes.setup.blocks)]
    limits, monitors = lanes.layout.rows("limit"), lanes.layout.rows("mon")
    bound = before[limits.start : limits.stop][window]
    table = before.copy()
    table[limits.start : limits.stop] = np.inf
    worst, done = np.zeros(len(members)), 0.0
    for part in parts:
        table[clock] = before[clock] + steps * done
        table[fraction] = steps * part
        lanes.step(members, table)
        with np.errstate(all="ignore"):
            worst = np.maximum(worst, (table[monitors.start : monitors.stop][window] / bound).max(0))
        worst[table[trip] != 0] = np.inf
        done += part
    table[trip] = 0.0
    return table, np.where(np.isnan(worst), np.inf, worst)


def _doubt(
    lanes: Ensemble, members: np.ndarray, before: np.ndarray, after: np.ndarray, score: np.ndarray, steps: float
) -> np.ndarray:
    """What rounding may have changed in the speeds of members whose steps came too near the pose, in parts of them.

    The same steps are covered by other parts, which are rounded differently. Parts that come nearer to the pose are
    worse by eps / sigma^2, the ratio of the scores; by so much less is laid to the steps that are kept.
    """
    layout, setup = lanes.layout, lanes.setup
    rows = slice(layout.rows("x").start, layout.rows("x").start + setup.plan.nv)
    unit = np.asarray(scales(speed_units(setup.plan), setup.length))[:, None]
    size = np.abs(after[rows] / unit).max(0)
    apart = np.zeros(len(members))
    for parts in CHECKS:
        other, reached = _try(lanes, members, before, parts, steps)
        change = np.abs((other[rows] - after[rows]) / unit).max(0)
        with np.errstate(all="ignore"):
            change = np.where(np.isfinite(reached), change * np.minimum(1.0, score / reached), 0.0)
        apart = np.maximum(apart, change)
    return apart / np.where(size > 0, size, 1.0)


def _record(lanes: Ensemble, members: np.ndarray, before: np.ndarray, taken: np.ndarray) -> None:
    """Writes the output instants inside and at the end of moved runs; those inside are interpolated."""
    every, begin = lanes.settings.every, lanes.settings.before
    after = lanes.table[:, members].copy()
    start = np.rint(before[lanes.layout.rows("clock").start])
    for k in range(1, int(taken.max(initial=0)) + 1):
        due = ((start + k - begin) % every == 0) & (k <= taken) & (start + k >= begin)
        if not due.any():
            continue
        mine, s = members[due], k / taken[due]
        between = lanes.between(before[:, due], after[:, due], s, taken[due] * lanes.settings.h)
        lanes.table[:, mine] = np.where(s == 1.0, after[:, due], between)
        lanes.row("clock")[mine] = start[due] + k
        lanes.evaluate("observe", mine)
    lanes.table[:, members] = after

"""Lanes led along a path of poses: strides halved where a step is not believed, members ended where no pose follows.

Host code above the kernels, as `run.advance.driver` is for motions. What happens to a lane follows from it alone.
"""

from __future__ import annotations

import numpy as np

from shiftjax.kernels.guards import MONITORS, causes
from shiftjax.outcome import Outcome
from shiftjax.run.advance.driver import repartition
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.closing.closer import STEP_ANGLE, STEP_LENGTH
from shiftjax.run.programs.setup import MONITORS_PER_BLOCK

# Of the model's length, after two changes of Newton's: a stride that leaves more is halved. The residual of a closed
# loop is some roundings of the numbers that it adds up.
CLOSED = {"f64": 1e-12, "f32": 2e-5}
FINEST = 24  # halvings of a stride between two poses: 6e-8 of it


def arm(lanes: Ensemble) -> None:
    """Sets what a step is judged by: how Newton's changes shrink, and its gap; small pivots ask for another order."""
    table, setup = lanes.table, lanes.setup
    limits = np.array([[CLOSED[setup.precision] * setup.length], [1.0]])
    table.set("limit", limits, within=slice(-2, None))


def lead(lanes: Ensemble, until: float, stride: np.ndarray) -> None:
    """Leads all running lanes to a clock, or to their own end.

    Args:
        stride: (B,) halvings of a stride between two poses with which each begins.
    """
    level = stride.copy()
    while True:
        stops = np.minimum(until, lanes.ends)
        running = np.flatnonzero((lanes.status <= 0) & (lanes.clock_of() < stops))
        if not len(running):
            return
        finer, clock = level[running] > stride[running], lanes.clock_of(running)
        grid = 2.0 ** (level[running] - 1.0)  # of the next coarser strides
        lanes.table.set("fraction", 0.5 / grid, running)
        trips = lanes.advance(running, np.where(finer, (np.floor(clock * grid) + 1.0) / grid, stops[running]))
        level[running[finer]] -= 1
        if len(members := trips.members):
            level[members] += finer[np.searchsorted(running, members)]
            level[members] += ~_reordered(lanes, members, trips.codes)
            _end(lanes, members[level[members] > stride[members] + FINEST])


def _reordered(lanes: Ensemble, members: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(K,) which members try the same stride again, since their pivots had grown small; none is frozen any more."""
    lanes.table.set("trip", 0.0, members)
    lanes.rejected[members] += 1
    monitor = causes(lanes.layout, codes)[MONITORS.name]
    by_pivot = (monitor >= 0) & (monitor < MONITORS_PER_BLOCK * lanes.setup.blocks)
    for s in range(lanes.setup.blocks):
        which = members[by_pivot & (monitor // MONITORS_PER_BLOCK == s)]
        if len(which):
            repartition(lanes, s, which, np.ones(len(which), bool))
    return by_pivot


def _end(lanes: Ensemble, members: np.ndarray) -> None:
    """Ends members that no stride leads on: where drivers lead, the loops lose rank."""
    text = "the drivers lead to a pose where the loops lose rank, the end of a travel or branches that meet"
    lanes.end(dict.fromkeys(map(int, members), text), Outcome.singular_pose)


def first_strides(lanes: Ensemble, moves: dict[int, np.ndarray]) -> np.ndarray:
    """(B,) halvings that keep what drivers do in a stride below 10 degrees, or 5 % of the model's length.

    Args:
        moves: place of a driven coordinate among the speeds -> (B,) its largest move between two poses [rad or m].
    """
    most = np.zeros(len(lanes.status))
    for speed, move in moves.items():
        unit = lanes.setup.units[speed]
        reach = STEP_ANGLE if unit == 1.0 else STEP_LENGTH * unit
        most = np.maximum(most, np.log2(np.maximum(np.abs(move) / reach, 1e-300)))
    return np.ceil(np.maximum(most, 0.0) - 1e-9).astype(int)

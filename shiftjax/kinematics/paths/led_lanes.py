"""Lanes led along a path of poses: strides halved where a step is not believed, members ended where no pose follows.

Host code above the kernels, as `run.advance.driver` is for motions. What happens to a lane follows from it alone.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.kernels.guards import MONITORS, causes
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.outcome import Outcome, WithRemedy
from shiftjax.run.advance.driver import repartition
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.closing.closer import STEP_ANGLE, STEP_LENGTH
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.programs.setup import MONITORS_PER_BLOCK

# Of the model's length, after two changes of Newton's: a stride that leaves more is halved. The residual of a closed
# loop is some roundings of the numbers that it adds up.
CLOSED = {"f64": 1e-13, "f32": 2e-5}
# Strides that may lead over a singular pose, and by how many halvings those after them are shorter, to come to the
# poses of the path again.
LEAPS = {1.25: 2, 1.5: 1, 2.0: 0}
FAST = 100.0  # times the speeds of drivers, of a mechanism at the end of its travel
FINE = 6  # halvings of a stride that leads over a pose where branches meet, if any meet
ONTO = 4  # the same of one that leads onto such a pose, where drivers turn: the curve of the fifth degree is good there
REORDERED = 2, FINE + 1  # halvings after which doubtful steps are tried with other rows
FINEST = 24  # halvings of a stride between two poses: 6e-8 of it


def arm(lanes: Ensemble) -> None:
    """Sets what a step is judged by: how Newton's changes shrink, and its gap; small pivots ask for another order."""
    table, setup = lanes.table, lanes.setup
    closed = CLOSED[setup.precision]
    if any(block.rounded for block in setup.plan.substructures):  # the digits of the file keep these apart
        closed = max(closed, lanes.settings.gap_limit)
    limits = np.array([[closed * setup.length], [0.0]])
    table.set("limit", limits, within=slice(-2, None))


def lead(lanes: Ensemble, until: float, stride: np.ndarray, farthest: float) -> np.ndarray:
    """Leads all running lanes to a clock, or to their own end.

    Args:
        stride: (B,) halvings of a stride between two poses with which each begins. farthest: the clock beyond which
            drivers follow another line, so that no step may end there.

    Returns:
        (B,) which members stand there on a singular pose, with the rates of the branch that leads straight on.
    """
    level, standing = np.maximum(stride, _halvings(lanes.clock_of())), np.zeros(len(stride), bool)
    while True:
        stops = np.minimum(until, lanes.ends)
        running = np.flatnonzero((lanes.status <= 0) & (lanes.clock_of() < stops))
        if not len(running):
            return standing
        if (stuck := lanes.clock_of(running) + _fraction(lanes, level[running]) == lanes.clock_of(running)).any():
            end_where_branches_meet(lanes, running[stuck])
            continue
        finer, clock = level[running] > stride[running], lanes.clock_of(running)
        grid = 2.0 ** (level[running] - 1.0)  # of the next coarser strides
        lanes.table.set("fraction", _fraction(lanes, level[running]), running)
        trips = lanes.advance(running, np.where(finer, (np.floor(clock * grid) + 1.0) / grid, stops[running]))
        level[running[finer]] -= 1
        if len(members := trips.members):
            level[members] += finer[np.searchsorted(running, members)]
            halved = level[members] - stride[members]
            level[members] += _after_trips(lanes, members, trips.codes, halved, farthest)
            standing[members] = lanes.clock_of(members) == farthest
            at_end = lanes.ends[members] <= np.floor(lanes.clock_of(members)) + 1.0
            end_where_branches_meet(lanes, members[(level[members] > stride[members] + FINEST) & ~at_end])


def _halvings(clock: np.ndarray) -> np.ndarray:
    """(B,) how often a stride is halved whose multiples have a clock among them: a pose, or a power of 2 behind one."""
    _, exponent = np.frexp(clock % 1.0)
    return np.where(clock % 1.0 > 0.0, 1 - exponent, 0)


def _fraction(lanes: Ensemble, level: np.ndarray) -> np.ndarray:
    """Strides of some halvings, between two poses, as the lanes have them."""
    return (0.5**level).astype(lanes.table.dtype)


def _after_trips(
    lanes: Ensemble, members: np.ndarray, codes: np.ndarray, halved: np.ndarray, farthest: float
) -> np.ndarray:
    """(K,) halvings of the strides that come next of members that froze; none is frozen any more.

    Args:
        halved: (K,) how often their strides are halved. farthest: as of `lead`.
    """
    lanes.table.set("trip", 0.0, members)
    lanes.rejected[members] += 1
    monitor, blocks = causes(lanes.layout, codes)[MONITORS.name], lanes.setup.blocks
    of_block = (monitor >= 0) & (monitor < MONITORS_PER_BLOCK * blocks)
    by_pivot = of_block & (monitor % MONITORS_PER_BLOCK == 1)
    at_pose = of_block & (monitor % MONITORS_PER_BLOCK == 2)
    # Rows that depend on each other, where others do not, leave gaps in the latter: no step counts whose pivots tell.
    doubted, before = ~of_block & np.isin(halved, REORDERED), lanes.choice[:, members].copy()
    for s in range(blocks):
        which = members[doubted | (by_pivot & (monitor // MONITORS_PER_BLOCK == s))]
        if len(which):
            repartition(lanes, s, which, np.ones(len(which), bool))
    halvings = np.where(by_pivot | at_pose | (lanes.choice[:, members] != before).any(0), 0, 1)
    if at_pose.any():
        halvings[at_pose] = _leapt(lanes, members[at_pose], farthest, halved[at_pose])
    return halvings


def _leapt(lanes: Ensemble, members: np.ndarray, farthest: float, halved: np.ndarray) -> np.ndarray:
    """(K,) by how many halvings strides go on of members that leap over a singular pose, in whose window a step ended.

    Where assemblies meet the prediction goes straight on, along the branch; a step that ends there could not tell them
    apart. Poses within the leap lie between its ends. What cannot leap comes nearer, and is at the end of its travel
    where it outruns its drivers or fine strides lead over nothing: one assembly turns round there, nothing meets it,
    and steps may end in the window.

    Args:
        farthest: the clock beyond which drivers follow another line. A leap that ends there leads onto the pose at it.
        halved: (K,) how often their strides are halved.
    """
    out, table = np.zeros(len(members), int), lanes.table
    left, fraction = np.arange(len(members)), table.row("fraction", members).copy()
    for size, halvings in LEAPS.items():
        some = members[left]
        before = table.take(some)
        after = before.copy()
        after.set("fraction", size * fraction[left])
        missed = np.zeros(len(some), bool)
        missed[lanes.step(some, after).places] = True
        too_far = ~missed & (after.row("clock") > farthest)
        out[left[too_far]] = 1
        onto = np.flatnonzero(too_far & (halved[left] >= ONTO) & (before.row("clock") < farthest))
        if len(onto):
            table.put(some[onto], _at_clock(lanes, before.take(onto), after.take(onto), farthest))
            lanes.interpolated[some[onto]] = True
            out[left[onto]] = 0
        passed = np.flatnonzero(~missed & ~too_far)
        if len(passed):
            after, before = after.take(passed), before.take(passed)
            after = _recorded(lanes, some[passed], before, after)
            after.set("fraction", fraction[left[passed]])
            table.put(some[passed], after)
            out[left[passed]] = halvings
        left = left[missed]
        if not len(left):
            return out
    at_end = _outruns_drivers(lanes, members[left]) | (halved[left] > FINE)
    table.set("armed", 0.0, members[left[at_end]], lanes.setup.pose_monitors)
    out[left[~at_end]] = 1
    return out


def _outruns_drivers(lanes: Ensemble, members: np.ndarray) -> np.ndarray:
    """(K,) which members have speeds that grow without bound beside those of their drivers: at the end of a travel."""
    plan, units = lanes.setup.plan, np.array(lanes.setup.units)
    driven = [plan.coordinates[group.coordinates[0]].v for group in plan.constraints if group.prescribes]
    speeds = np.abs(lanes.table.rows("x", members, slice(plan.nv))) / units[:, None]
    return speeds.max(0) > FAST * speeds[driven].max(0)


def _recorded(lanes: Ensemble, members: np.ndarray, before: LaneTable, after: LaneTable) -> LaneTable:
    """Records the poses that some members have leapt over or come to; where they stand then.

    A pose between both ends is taken from there. Behind the end of the path a member stands at its last pose.
    """
    first, last = before.row("clock").astype(float), after.row("clock").astype(float)
    out, standing = after.copy(), lanes.table.take(members)
    for k in range(1, 1 + math.ceil(max(LEAPS))):
        tick = np.floor(first) + k
        over = np.flatnonzero((tick <= last) & (tick <= lanes.settings.end))
        if not len(over):
            break
        some, share = members[over], (tick - first)[over] / (last - first)[over]
        between = _at_clock(lanes, before.take(over), after.take(over), tick[over])
        lanes.table.put(some, between)
        lanes.evaluate("observe", some)
        leave_out(lanes, some[share < 1.0])
        lanes.interpolated[some[share < 1.0]] = True
        at_end = np.flatnonzero((tick == lanes.settings.end)[over])
        out.put(over[at_end], between.take(at_end))
    lanes.table.put(members, standing)
    return out


def _at_clock(lanes: Ensemble, before: LaneTable, after: LaneTable, clock: np.ndarray | float) -> LaneTable:
    """Lanes at clocks between both ends of a step, on the curve of the fifth degree through them."""
    first, last = before.row("clock").astype(float), after.row("clock").astype(float)
    out = lanes.between(before, after, (clock - first) / (last - first), (last - first) * lanes.settings.h)
    out.set("clock", np.broadcast_to(clock, first.shape))
    return out


def leave_out(lanes: Ensemble, members: np.ndarray) -> None:
    """What follows from a partition says nothing at a singular pose: no numbers are recorded."""
    for recording, _, alike in lanes.groups(members) if len(members) else ():
        assert isinstance(recording.programs, Programs)
        ticks, at = np.rint(lanes.clock_of(alike)).astype(int), 0
        for channel in recording.programs.channels:
            if channel.quantity.of_partition:
                recording.out[recording.row(alike), ticks, at : at + channel.size] = np.nan
            at += channel.size


def end_where_branches_meet(lanes: Ensemble, members: np.ndarray, behind: np.ndarray | None = None) -> None:
    """Ends members that no stride leads on: where drivers lead, the loops lose rank.

    Args:
        behind: (K,) the poses to which they have come; by their clocks where left out.
    """
    text = "the drivers lead to a pose where the loops lose rank, and no branch goes on from there"
    text += ": the end of a travel, or branches that meet: go another way"
    poses = (np.floor(lanes.clock_of(members)) if behind is None else behind).tolist()
    lanes.end(
        {int(k): WithRemedy(f"behind pose {int(at)}: {text}") for k, at in zip(members, poses, strict=True)},
        Outcome.singular_pose,
    )


def first_strides(lanes: Ensemble, moves: dict[int, np.ndarray], part: float = 1.0) -> np.ndarray:
    """(B,) halvings that keep what drivers do in a stride below 10 degrees, or 5 % of the model's length.

    Args:
        moves: place of a driven coordinate among the speeds -> (B,) its largest move between two poses [rad or m].
        part: of these limits that is meant.
    """
    most = np.zeros(len(lanes.status))
    for speed, move in moves.items():
        unit = lanes.setup.units[speed]
        reach = part * (STEP_ANGLE if unit == 1.0 else STEP_LENGTH * unit)
        most = np.maximum(most, np.log2(np.maximum(np.abs(move) / reach, 1e-300)))
    return np.ceil(np.maximum(most, 0.0) - 1e-9).astype(int)

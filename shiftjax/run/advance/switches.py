"""Steps that end where a force goes from one law to another, where a tolerance chooses their sizes; and events
at which members stop or their numbers are set.

Within a step a method has its order only where the forces are smooth. A step across a switch is thrown away; a shorter
one ends just past it, and the next one begins with the other law. Where the force jumps so far that its last stage,
which has the other law already, is felt, it ends shortly before, and the switch is crossed by a short step. Where a
lane is back at once, as a body that sticks between two values of a friction that jumps, its next steps are taken as
they come.
An event that stops a member, or sets numbers of it, is a switch in steps of one size, too, whose rest is then taken by
a step of its own: its state there is one of the method, not an interpolated one. At what passes zero the other way
nothing is done. Not seen is what passes zero and comes back within a step, of which the ends of steps tell nothing, and
what steps moved off singular poses pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import speed_units
from shiftjax.kernels.guards import disarm
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.programs.setup import ACCUMULATORS, REPORTS

TRIALS = 24  # steps with which a switch is looked for by chords, at most
HALVINGS = 34  # further ones, where chords lead nowhere: of (x - 1)^3 all of them end on one side
WIDTH = 1e-10  # of a step: how far past the switch it may end
WAYS = {"up": 1.0, "down": -1.0, "any": 0.0}  # signs of the directions of events
MOST_EVENTS = 64  # at which something is done in one step of fixed size
LEAST = 4.0  # roundings of the clock: the shortest rest of a step
LONGEST = 6  # the most rounds without a switch, as a power of two


class Sliding:
    """Lanes that slide along a switch: for some rounds their steps end at none, each time for twice as many."""

    def __init__(self, members: int) -> None:
        self._rounds, self._times = np.zeros(members, int), np.zeros(members, int)

    def split(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Members that do not slide, and those that do for another round."""
        slides = self._rounds[members] > 0
        self._rounds[members] -= slides
        return members[~slides], members[slides]

    def note(self, landed: np.ndarray, back: np.ndarray) -> None:
        """Notes which members have landed, and which of them are back at once."""
        self._times[np.setdiff1d(landed, back)] = 0
        self._rounds[back] = 2 ** np.minimum(self._times[back], LONGEST)
        self._times[back] += 1


def comes_back(lanes: Ensemble, members: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(n,) whether the forces beyond a switch lead back to the side that a lane came from.

    Args:
        start: (switches, n) before the step that has landed. size: (n,) of a step that shows it.
    """
    beyond = lanes.table.take(members)
    values = beyond.rows("event")
    change = values_after(lanes, members, beyond, size) - values
    return np.asarray((crossed(start, values) & (change * start > 0)).any(0))


def first_switch(
    lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) shares of a step after which it is just before and just past the first switch, by the Illinois method on all
    at once, and by halving what that leaves.

    Dahlquist and Bjorck, Numerical Methods in Scientific Computing I (2008), 6.2.2. What lies between the ends of the
    bracket are steps of the method, not an interpolation.
    """
    start = before.rows("event").astype(float)
    low, high = np.zeros(len(size)), np.ones(len(size))
    at_low, at_high = start.copy(), values_after(lanes, members, before, size)
    side = np.zeros(len(size), int)
    least = np.maximum(WIDTH, 4.0 * np.spacing(before.row("clock")) / size)  # the clock tells both ends apart
    for trial in range(TRIALS + HALVINGS):
        which = np.flatnonzero(high - low > least)
        if not len(which):
            break
        margin = 0.25 * least[which] / (high - low)[which]
        chord = _estimate(start[:, which], at_low[:, which], at_high[:, which]) if trial < TRIALS else 0.5
        share = low[which] + (high - low)[which] * np.clip(chord, margin, 1.0 - margin)
        values = values_after(lanes, members[which], before.take(which), share * size[which])
        beyond = crossed(start[:, which], values).any(0)
        past, short = which[beyond], which[~beyond]
        high[past], at_high[:, past] = share[beyond], values[:, beyond]
        low[short], at_low[:, short] = share[~beyond], values[:, ~beyond]
        at_low[:, past[side[past] == 1]] *= 0.5  # the other end has stood still twice
        at_high[:, short[side[short] == -1]] *= 0.5
        side[past], side[short] = 1, -1
    return low, high


def felt(lanes: Ensemble, members: np.ndarray, before: LaneTable, sizes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(n,) whether the step to just past a switch is one of both laws, as its speeds and states tell.

    The last stage of a method is at the end of the step, where the forces are those beyond: with that of Dormand and
    Prince a jump of a force acts for 11/84 of the whole step.

    Args:
        sizes: (n,) to just before the switch, and to just past it.
    """
    plan, tolerance = lanes.setup.plan, lanes.settings.tolerance or 0.0
    unit = np.asarray([*scales(speed_units(plan), lanes.setup.length), *[1.0] * plan.ns])[:, None]
    short, far = (_after(lanes, members, before, size)[0].rows("x", within=slice(len(unit))) / unit for size in sizes)
    return np.asarray((np.abs(far - short) > tolerance * (1.0 + np.abs(short))).any(0))


def until_next_switch(before: np.ndarray, after: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(n,) size of a step to the next switch ahead, at the rates of the step that has landed; infinite where there is
    none.

    A step much longer than what lies between two switches has its stages behind them, and what its trials are led by
    is no motion: a barrier of a micrometre threw a body of 10 m/s off at 5e4 m/s.

    Args:
        before, after: (switches, n) at both ends of the step. size: (n,) of it.
    """
    with np.errstate(all="ignore"):
        ahead = -after * size / (after - before)
    return np.asarray(np.where(ahead > 0.0, ahead, np.inf).min(0, initial=np.inf))


def _estimate(start: np.ndarray, at_low: np.ndarray, at_high: np.ndarray) -> np.ndarray:
    """(n,) the first zero of the chords of those switches that are passed, as a share of the bracket."""
    with np.errstate(all="ignore"):
        shares = np.where(crossed(start, at_high), at_low / (at_low - at_high), 1.0)
    return np.where(np.isfinite(shares).all(0), shares.min(0), 0.5)


def crossed(start: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether a switch or an event is passed, or the step lost."""
    return ((start > 0) & ~(values > 0)) | ((start < 0) & ~(values < 0))


def values_after(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> np.ndarray:
    """(switches, n) switches and events where steps of some size lead, NaN where one is lost."""
    table, lost = _after(lanes, members, before, size)
    values = table.rows("event").astype(float)
    values[:, lost] = np.nan
    return values


def _after(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> tuple[LaneTable, np.ndarray]:
    """Lanes after steps of some size, and places of those that are lost."""
    table, clock = before.copy(), before.row("clock")
    table.set("fraction", (clock + size) - clock)  # rounded as in the step that is taken in the end
    disarm(table)
    return table, lanes.step(members, table).places


# -- events at which something is done -----------------------------------------------------------------------------


def disarm_other_ways(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> np.ndarray:
    """Lets the next step of frozen members pass those zeros at which nothing is done in this direction.

    Args:
        before: their numbers, which change with those of the lanes. size: (n,) of the step that was thrown away.

    Returns:
        (n,) whether any other switch or event is passed.
    """
    start, first = before.rows("event").astype(float), lanes.setup.switches
    end = values_after(lanes, members, before, size)
    passed = crossed(start, end)
    other = passed[first:] & np.isfinite(end[first:]) & ~_passed_events(lanes, start, end)
    for k, row in enumerate(other, first):
        before.set("event", 0.0, row, k)  # what begins at zero has no sign to change
        lanes.table.set("event", 0.0, members[row], k)
    passed[first:] &= ~other
    return np.asarray(passed.any(0))


def act(lanes: Ensemble, members: np.ndarray, start: np.ndarray) -> None:
    """Does what is to be done with those members that stand past the zero of an event: they end, numbers are set, or
    nothing where it only marks.

    Args:
        start: (switches and events, n) before the step that has led there.
    """
    passed = _passed_events(lanes, start.astype(float), lanes.table.rows("event", members).astype(float))
    passed &= lanes.status[members] <= 0
    laws = dict(lanes.setup.laws)
    for k, one in enumerate(lanes.guarded_events):
        there = members[passed[k]]
        if len(there) and one.event.action == "set":
            set_numbers(lanes, there, laws[one.name])
        elif len(there) and one.event.action == "stop":
            there = there[lanes.stopped[there] < 0]
            lanes.stop(there, np.full(len(there), k))


def set_numbers(lanes: Ensemble, members: np.ndarray, values: Sequence[tuple[int, float]]) -> None:
    """Gives numbers of members other values where they stand; the energy that comes or goes with them is no error.

    Args:
        values: places among the numbers that lanes have, and what they become.
    """
    energies = [REPORTS.index("kinetic"), REPORTS.index("potential")]
    before = lanes.table.rows("rep", members)[energies].astype(float)
    for place, value in values:
        lanes.table.set("p", value, members, place)
    lanes.evaluate("project", members)
    lanes.evaluate("events", members)
    gained = lanes.table.rows("rep", members)[energies].astype(float) - before
    lanes.table.add("acc", gained.sum(0), members, ACCUMULATORS.index("start_energy"))
    lanes.table.add("acc", gained[1], members, ACCUMULATORS.index("start_potential"))


def _passed_events(lanes: Ensemble, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(guarded events, n) which are passed in their directions, between two sets of values."""
    way = np.array([WAYS[one.event.direction] for one in lanes.guarded_events])[:, None]
    start, end = start[lanes.setup.switches :], end[lanes.setup.switches :]
    return crossed(start, end) & (way * start <= 0.0) & np.isfinite(end)


def cross_events(lanes: Ensemble, members: np.ndarray) -> None:
    """Takes frozen members, whose steps are of one size, over their next step, from event to event.

    Those of which an event is passed in a direction in which nothing is done take it by themselves.
    """
    if len(members) == 0:
        return
    lanes.table.set("trip", 0.0, members)
    before = lanes.table.take(members)
    passes = disarm_other_ways(lanes, members, before, before.row("fraction").copy())
    members, before = members[passes], before.take(passes)
    end = before.row("clock") + before.row("fraction")
    for _ in range(MOST_EVENTS):
        if len(members) == 0:
            return
        size = end - before.row("clock")
        _take_part(lanes, members, before, size * first_switch(lanes, members, before, size)[1])
        act(lanes, members, before.rows("event"))
        going = (lanes.status[members] <= 0) & (lanes.stopped[members] < 0)
        members, end = members[going], end[going]
        passes = _rest(lanes, members, end) > 0.0
        some, size = members[passes], _rest(lanes, members, end)[passes]
        passes[passes] = disarm_other_ways(lanes, some, lanes.table.take(some), size)
        _take_rest(lanes, members[~passes], end[~passes])
        members, end = members[passes], end[passes]
        before = lanes.table.take(members)
    lanes.status[members] = int(Outcome.stuck)


def _take_part(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> None:
    """One step of some size of every member; a lost one ends it."""
    table, clock = before.copy(), before.row("clock")
    table.set("fraction", (clock + size) - clock)
    disarm(table)
    lost = lanes.step(members, table).places
    for name in ("limit", "armed", "fraction"):
        table.set(name, before.rows(name))
    table.set("trip", 0.0)
    lanes.table.put(members, table)
    lanes.status[members[lost]] = int(Outcome.non_finite)


def _rest(lanes: Ensemble, members: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(n,) what is left of steps to their ends; what the clock can hardly tell from nothing is nothing."""
    left = end - lanes.clock_of(members)
    return np.where(left > LEAST * np.spacing(end), left, 0.0)


def _take_rest(lanes: Ensemble, members: np.ndarray, end: np.ndarray) -> None:
    """The rest of a step, to its end, which is recorded where it is due."""
    size = _rest(lanes, members, end)
    some = members[size > 0.0]
    _take_part(lanes, some, lanes.table.take(some), size[size > 0.0])
    good = lanes.status[members] <= 0
    members, end = members[good], end[good]
    lanes.table.set("clock", end, members)
    begin, every = lanes.settings.before, lanes.settings.every
    due = (end >= begin) & ((end - begin) % every == 0)
    if due.any():
        lanes.evaluate("observe", members[due])

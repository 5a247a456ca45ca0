"""Steps that end where a force goes from one law to another, where a tolerance chooses their sizes; and events
at which members stop or their numbers are set.

Within a step a method has its order only where the forces are smooth. A step across a switch is thrown away; a shorter
one ends just past it, and the next one begins with the other law. Where the force jumps so far that its last stage,
which has the other law already, is felt, it ends shortly before, and the switch is crossed by a short step. Where a
lane is back at once, as a body that sticks between two values of a friction that jumps, its next steps do not end at
that switch.
An event that stops a member, or sets numbers of it, is a switch in steps of one size, too, whose rest is then taken by
a step of its own: its state there is one of the method, not an interpolated one. At what passes zero the other way
nothing is done. Not seen is what steps moved off singular poses pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.kernels.guards import disarm, turn
from shiftjax.kernels.lane_table import STATE, LaneTable
from shiftjax.outcome import Outcome, WithRemedy
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.numbers_set import NumbersSet
from shiftjax.run.closing.walks import Renumbered
from shiftjax.run.programs.setup import ACCUMULATORS, REPORTS

TURNS = 4  # times that a step is looked at again for a way beyond a switch and back before the one that is known
TRIALS = 24  # steps with which a switch is looked for by chords, at most
HALVINGS = 34  # further ones, where chords lead nowhere: of (x - 1)^3 all of them end on one side
WIDTH = 1e-10  # of a step: how far past the switch it may end
WAYS = {"up": 1.0, "down": -1.0, "any": 0.0}  # signs of the directions of events
# How lanes that a tape notes go on, beside those that step as they are: by a part of a step to where the next note is;
# by what is done at the guarded event k, `ACTED - k`.
PART, ACTED = -2, -3
MOST_EVENTS = 64  # at which something is done in one step of fixed size
LEAST = 4.0  # roundings of the clock: the shortest rest of a step
NO_MASS = "with the numbers that it sets a motion moves no mass, so that no acceleration exists"
TODO = "set other numbers, or let the event stop the run and begin another one there"
LONGEST = 6  # the most rounds without a switch, as a power of two


class Sliding:
    """Switches that lanes slide along: for some rounds steps do not end there, each time for twice as many."""

    def __init__(self, switches: int, members: int) -> None:
        self._rounds, self._times = np.zeros((2, switches, members), int)

    def watched(self, members: np.ndarray) -> np.ndarray:
        """(switches, n) at which the steps of members end in another round."""
        slides = self._rounds[:, members] > 0
        self._rounds[:, members] -= slides
        return ~slides

    def note(self, members: np.ndarray, passed: np.ndarray, back: np.ndarray) -> None:
        """Notes (switches, n) which of them members have landed behind, and from which they are back at once."""
        times = self._times[:, members]
        self._rounds[:, members] = np.where(back, 2 ** np.minimum(times, LONGEST), self._rounds[:, members])
        self._times[:, members] = np.where(back, times + 1, np.where(passed, 0, times))


def passed_and_back(
    lanes: Ensemble, members: np.ndarray, start: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(switches, n) those that lanes have passed, and of these the ones from which the forces beyond lead back to the
    side that a lane came from.

    Args:
        start: (switches, n) before the step that has landed. size: (n,) of a step that shows it.
    """
    beyond = lanes.table.take(members)
    values = beyond.rows("event")
    passed, change = crossed(start, values), values_after(lanes, members, beyond, size) - values
    passed[lanes.setup.switches :] = False  # an event is none to slide along
    return passed, passed & (change * start > 0)


def first_switch(
    lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) shares of a step after which it is just before and just past the first switch; both 1 where it passes none.

    What is asked are steps of the method, not an interpolation.
    """
    low, high = np.ones(len(size)), np.ones(len(size))
    at_end = values_after(lanes, members, before, size)
    which = np.flatnonzero(crossed(watched_events(before), at_end).any(0))
    for _ in range(TURNS):
        bracket = _bracket(lanes, members[which], before.take(which), size[which] * high[which], at_end[:, which])
        low[which], high[which] = (share * high[which] for share in bracket)
        turned, at_end = _turned(lanes, members, before, size * low)
        which = np.flatnonzero(np.isfinite(turned))
        if not len(which):
            break
        high[which] = low[which] * turned[which]
    return low, high


def _turned(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) share of a step, behind whose end no switch lies, at which it is beyond one, infinite where it is not; and
    (switches, n) the values there."""
    start, seconds = watched_events(before).astype(float), size * lanes.settings.h
    table, _ = _after(lanes, members, before, size)
    values, rates, rates_before = (
        rows.astype(float) for rows in (table.rows("event"), table.rows("event_rate"), before.rows("event_rate"))
    )
    with np.errstate(all="ignore"):
        share, between = turn(start, values, seconds * rates_before, seconds * rates, np.asarray, np.where)
    turned = np.where(crossed(start, between), share, np.inf).min(0, initial=np.inf)
    which = np.flatnonzero(np.isfinite(turned))
    there = np.full_like(start, np.nan)
    there[:, which] = values_after(lanes, members[which], before.take(which), turned[which] * size[which])
    turned[which[~crossed(start, there)[:, which].any(0)]] = np.inf
    return turned, there


def _bracket(
    lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray, at_end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) shares of a step just before and just past a switch that lies between its ends, by the Illinois method on
    all at once (Dahlquist and Bjorck, Numerical Methods in Scientific Computing I (2008), 6.2.2).

    Args:
        at_end: (switches, n) values where the step ends.
    """
    start = watched_events(before).astype(float)
    low, high = np.zeros(len(size)), np.ones(len(size))
    at_low, at_high = start.copy(), at_end.copy()
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


def signed(start: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(switches, n) values, of those that are zero with the sign of what lies behind it: they can change it again.

    Args:
        start: before the step that has led there.
    """
    return np.where(values == 0.0, -np.sign(start) * np.finfo(values.dtype).tiny, values)


def watched_events(table: LaneTable) -> np.ndarray:
    """(switches, n) values of those at which steps of the lanes end, 0 of the others: they have no sign to change."""
    return np.where(table.rows("watched") != 0.0, table.rows("event"), 0.0)


def felt(lanes: Ensemble, members: np.ndarray, before: LaneTable, sizes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(n,) whether the step to just past a switch is one of both laws, as its speeds and states tell.

    The last stage of a method is at the end of the step, where the forces are those beyond: with that of Dormand and
    Prince a jump of a force acts for 11/84 of the whole step.

    Args:
        sizes: (n,) to just before the switch, and to just past it.
    """
    plan, tolerance = lanes.setup.plan, lanes.settings.tolerance or 0.0
    unit = np.asarray([*lanes.setup.units, *[1.0] * plan.ns])[:, None]
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
    lost = lanes.step(members, table).places
    still = np.flatnonzero(table.row("fraction") == 0.0)  # a step that the clock does not tell has left them disarmed
    table.put(still, before.take(still))
    return table, lost


# -- events at which something is done -----------------------------------------------------------------------------


def disarm_other_ways(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> np.ndarray:
    """Lets the next step of frozen members pass those zeros at which nothing is done in this direction.

    Args:
        before: their numbers, which change with those of the lanes. size: (n,) of the step that was thrown away.

    Returns:
        (n,) whether there is another reason to throw the step away.
    """
    start, first = before.rows("event").astype(float), lanes.setup.switches
    end = values_after(lanes, members, before, size)
    passed = crossed(start, end)
    other = passed[first:] & np.isfinite(end[first:]) & ~passed_events(lanes, start, end)
    for k, row in enumerate(other, first):
        before.set("event", 0.0, row, k)  # what begins at zero has no sign to change
        lanes.table.set("event", 0.0, members[row], k)
    passed[first:] &= ~other
    return np.asarray(passed.any(0) | ~other.any(0))  # the rest has been beyond zero and is back, or seemed to be


def act(lanes: Ensemble, members: np.ndarray, start: np.ndarray) -> None:
    """Does what is to be done with those members that stand past the zero of an event: they end, numbers are set, or
    nothing where it only marks.

    Args:
        start: (switches and events, n) before the step that has led there.
    """
    passed = passed_events(lanes, start.astype(float), lanes.table.rows("event", members).astype(float))
    passed &= (lanes.status[members] <= 0) & (lanes.stopped[members] < 0)
    laws, first = dict(lanes.setup.laws), lanes.setup.switches
    landed = lanes.table.rows("event", members)[first:]
    if lanes.tape is not None:
        doing = passed & np.array([one.event.action != "mark" for one in lanes.guarded_events])[:, None]
        lanes.tape.note(lanes, members[doing.any(0)], ACTED - doing[:, doing.any(0)].argmax(0))
    for k, one in enumerate(lanes.guarded_events):
        there = members[passed[k]]
        there = there[lanes.status[there] <= 0]  # of some an event before this one could not set its numbers
        if len(there) and one.event.action == "set":
            set_numbers(lanes, there, one.name, laws[one.name])
        elif len(there) and one.event.action == "stop":
            there = there[lanes.stopped[there] < 0]
            lanes.stop(there, np.full(len(there), k))
    # Projected anew a lane may stand before the zero again, by its last bit: it has passed it, and does so once.
    back = passed & (landed * lanes.table.rows("event", members)[first:] < 0.0)
    for k in np.flatnonzero(back.any(1)).tolist():
        lanes.table.set("event", 0.0, members[back[k]], first + k)


def set_numbers(lanes: Ensemble, members: np.ndarray, name: str, law: Sequence[tuple[int, float]]) -> None:
    """Gives numbers of members other values where they stand; the energy that comes or goes with them is no error.

    Members of which the mechanism cannot stand or move on with them keep the ones that they had, and end.

    Args:
        name: of the event. law: places among the numbers that lanes have, and what they become.
    """
    table, energies = lanes.table, [REPORTS.index(of) for of in ("kinetic", "potential")]
    former, before = table.take(members), table.rows("rep", members)[energies].astype(float)
    for row, value in law:
        table.set("p", value, members, row)
    gap, causes, mechanism = np.zeros(len(members)), dict[int, str](), name in lanes.setup.changing_mechanism
    if name in lanes.setup.changing_loops:
        gap, causes = _close_again(lanes, members, former.rows("p").astype(float))
    good = ~np.isin(members, [*causes])
    lanes.evaluate("project", members[good])
    massless = good & mechanism & ~np.logical_and.reduce([table.reduce("finite", part, members) for part in STATE])
    good &= ~massless
    table.put(members[~good], former.take(~good))
    _end_unset(lanes, name, causes, Outcome.loop_open)
    _end_unset(lanes, name, dict.fromkeys(members[massless].tolist(), NO_MASS), Outcome.no_mass)
    members, gap, before = members[good], gap[good], before[:, good]
    lanes.evaluate("events", members)
    gained = table.rows("rep", members)[energies].astype(float) - before
    table.add("acc", gained.sum(0), members, ACCUMULATORS.index("start_energy"))
    table.add("acc", gained[1], members, ACCUMULATORS.index("start_potential"))
    lanes.measure_anew(members)
    clock = lanes.clock_of(members).astype(float)
    lanes.sets.append(NumbersSet(name, members, clock, tuple(law), mechanism, gap, gained.sum(0)))


def _close_again(lanes: Ensemble, members: np.ndarray, former: np.ndarray) -> tuple[np.ndarray, dict[int, str]]:
    """Closes the loops of members whose numbers have changed, and lets their speeds agree with them.

    Args:
        former: (np, n) numbers that they had.

    Returns:
        (n,) by which loops were open [m or rad], and member -> why it could not be done, of those left as they were.
    """
    table, plan, causes = lanes.table, lanes.setup.plan, dict[int, str]()
    q, v, now = (table.rows(name, members).astype(float) for name in ("q", "x", "p"))
    t = lanes.settings.t0 + lanes.clock_of(members).astype(float) * lanes.settings.h
    every, v = Renumbered(lanes.setup, former, now, t), v[: plan.nv]
    gap = every.gap(q)
    for s, block, some in lanes.by_block(members):
        q[:, some], v[:, some], texts = every.some(some).closed(q[:, some], v[:, some], s, block)
        causes |= {int(members[some[k]]): text for k, text in texts.items()}
    good = ~np.isin(members, [*causes])
    table.set("q", q[:, good], members[good])
    table.set("x", v[:, good], members[good], slice(plan.nv))
    return gap, causes


def _end_unset(lanes: Ensemble, name: str, causes: dict[int, str], outcome: Outcome) -> None:
    """Ends members whose numbers an event could not set."""
    times = lanes.settings.t0 + lanes.clock_of(np.array([*causes], int)) * lanes.settings.h
    texts = {
        k: WithRemedy(f"at {time:.6g} s, event {name}: {cause}: {TODO}")
        for (k, cause), time in zip(causes.items(), times, strict=True)
    }
    lanes.end(texts, outcome)


def passed_events(lanes: Ensemble, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(guarded events, n) which are passed in their directions, between two sets of values."""
    way = np.array([WAYS[one.event.direction] for one in lanes.guarded_events])[:, None]
    start, end = start[lanes.setup.switches :], end[lanes.setup.switches :]
    return crossed(start, end) & (way * start <= 0.0) & np.isfinite(end)


def note_skipped(lanes: Ensemble, members: np.ndarray, start: np.ndarray) -> None:
    """Notes those members that have passed an event in steps in which nothing is done at one.

    Args:
        start: (switches and events, n) before those steps.
    """
    if not lanes.guarded_events:
        return
    passed = passed_events(lanes, start.astype(float), lanes.table.rows("event", members).astype(float))
    note_passed(lanes, lanes.skipped, members, passed)


def note_passed(lanes: Ensemble, notes: dict[str, set[int]], members: np.ndarray, passed: np.ndarray) -> None:
    """Notes of events at which something is done the members that have passed them: (guarded events, n)."""
    for one, which in zip(lanes.guarded_events, passed, strict=True):
        if one.event.action != "mark" and which.any():
            notes.setdefault(one.name, set()).update(members[which].tolist())


def cross_events(lanes: Ensemble, members: np.ndarray) -> None:
    """Takes frozen members, whose steps are of one size, over their next step, from event to event.

    Those at whose events nothing is done in this direction take it by themselves. From what passes zero the other way
    the rest of the step is looked at in turn, since it may be back in this step.
    """
    lanes.table.set("trip", 0.0, members)
    before, going, acted = lanes.table.take(members), np.arange(len(members)), np.zeros(len(members), bool)
    now, ends = before, before.row("clock") + before.row("fraction")
    for _ in range(MOST_EVENTS):
        if not len(going):
            break
        size, start = ends[going] - now.row("clock"), now.rows("event").astype(float)
        low, high = first_switch(lanes, members[going], now, size)
        table, lost = _part_of_step(lanes, members[going], now, high * size, before.take(going))
        table.set("event", signed(start, table.rows("event")))
        passed = passed_events(lanes, start, table.rows("event").astype(float)).any(0) & ~lost
        acted[going] |= passed | lost
        here = acted[going]
        if lanes.tape is not None:
            lanes.tape.note(lanes, members[going[here]], PART)
        lanes.table.put(members[going[here]], table.take(here))
        lanes.status[members[going[lost]]] = int(Outcome.non_finite)
        act(lanes, members[going[passed]], start[:, passed])
        table.put(here, lanes.table.take(members[going[here]]))
        on = (lanes.status[members[going]] <= 0) & (lanes.stopped[members[going]] < 0)
        over = (low >= 1.0) & ~passed | (ends[going] - table.row("clock") <= LEAST * np.spacing(ends[going]))
        _end_steps(lanes, members[going[on & over & here]], ends[going[on & over & here]])
        now, going = table.take(on & ~over), going[on & ~over]
    lanes.status[members[going[acted[going]]]] = int(Outcome.stuck)
    if lanes.tape is not None:
        lanes.tape.note(lanes, members[acted & (lanes.status[members] <= 0) & (lanes.stopped[members] < 0)])
    lanes.table.set("event", 0.0, members[~acted])  # what begins at zero has no sign to change


def _part_of_step(
    lanes: Ensemble, members: np.ndarray, now: LaneTable, size: np.ndarray, before: LaneTable
) -> tuple[LaneTable, np.ndarray]:
    """Lanes after steps of some size that no guard freezes, with what `before` says of guards; (n,) which are lost."""
    table, places = _after(lanes, members, now, size)
    lost = np.zeros(len(size), bool)
    lost[places] = True
    for name in ("limit", "armed", "fraction", "watched"):
        table.set(name, before.rows(name))
    table.set("trip", 0.0)
    return table, lost


def _end_steps(lanes: Ensemble, members: np.ndarray, end: np.ndarray) -> None:
    """Notes that members stand at the end of a step, which is recorded where it is due."""
    lanes.table.set("clock", end, members)
    begin, every = lanes.settings.before, lanes.settings.every
    due = (end >= begin) & ((end - begin) % every == 0)
    if due.any():
        lanes.evaluate("observe", members[due])

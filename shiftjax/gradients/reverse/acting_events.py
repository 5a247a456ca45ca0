"""Back over events that stop lanes, or set numbers of them, and over the steps that end or begin there. Host code.

What an instant that moves does is told in `event_slopes`; here its cotangent is found, from the step behind it, and
carried to what the expression of the event, and an event before it, depend on.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from shiftjax.gradients.measured import MeasuredAdjoint
from shiftjax.gradients.reverse.closed_again import ClosedAgain, functions_of
from shiftjax.gradients.reverse.event_slopes import LEAST, ClockSlopes, EventSlopes
from shiftjax.gradients.reverse.legs import Legs
from shiftjax.gradients.reverse.tape import PLAIN_STEPS, ByMember
from shiftjax.gradients.start.start_functions import StartFunctions
from shiftjax.kernels.adjoint import AdjointProgram
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.measures.metric_texts import OF_EVENTS
from shiftjax.measures.run_metrics import Metrics
from shiftjax.run.advance.ensemble import METRICS
from shiftjax.run.advance.switches import ACTED
from shiftjax.run.closing.walks import Renumbered
from shiftjax.topology.partition import Partition

# Of a step that an event ends, and of a unit of the clock: so near to its end is the instant that a metric notes of it.
NOTED, LATE = 1e-3, 1e-6


class ActingEvents:
    """The events at which something is done to lanes on their way back.

    Args:
        notes: of the tape of the run. measured: its metrics.

    Attributes:
        shifted: (K,) which notes stand where an event has done something, so that their clocks move with it.
    """

    def __init__(self, legs: Legs, notes: ByMember, measured: Metrics) -> None:
        self.legs, self.notes, self.measured = legs, notes, measured
        self._slopes = EventSlopes(legs.lanes.recordings[0].programs)
        self._clocks = np.zeros(legs.lanes.table.lanes)  # cotangents of the clock at which the leg before ends
        self.shifted = _behind_events(notes)

    def acted(
        self, program: AdjointProgram, table: LaneTable, at: np.ndarray, members: np.ndarray, seeds: np.ndarray
    ) -> None:
        """Back over what an event has done where lanes stand: numbers that it has set follow from none before.

        Args:
            at: (K,) notes of it.
        """
        k = ACTED - int(self.notes.pattern[at[0]])
        one = self.legs.lanes.guarded_events[k]
        if one.event.action != "set":
            return
        after, before = self.legs.table_of(self.notes.of(at + 1)), table.copy()
        if self.legs.settings.tolerance is None:
            self._end_of_steps(program, after, at + 1, members, seeds)
        before.set("p", after.rows("p"))
        closed = self._closed_again(table, before, at, one.name)
        if self.measured.size:
            self._measured_anew(program, after, members)
        self.legs.touch(program, before, members, "project", None, after)
        if closed is not None:
            speeds = slice(self.legs.lanes.setup.plan.nv)
            bars = (self.legs.bars.rows("q", members), self.legs.bars.rows("x", members, speeds))
            q_bar, v_bar, p_bar = closed.adjoint(self._functions, *(part.astype(float) for part in bars))
            self.legs.bars.set("q", q_bar, members)
            self.legs.bars.set("x", v_bar, members, speeds)
            self.legs.bars.add("p", p_bar, members)
        stays = (after.rows("p") == table.rows("p")).astype(float)
        stays[[row for row, _ in dict(self.legs.lanes.setup.laws)[one.name]]] = 0.0
        self.legs.bars.set("p", self.legs.bars.rows("p", members) * stays, members)

    def _closed_again(self, table: LaneTable, before: LaneTable, at: np.ndarray, event: str) -> ClosedAgain | None:
        """The loops of lanes whose numbers an event has set, closed again before they are projected; None where it sets
        none of loops.

        Args:
            before: their numbers are the new ones; it gets the coordinates and speeds that closing leads to.
        """
        lanes, setup = self.legs.lanes, self.legs.lanes.setup
        if event not in setup.changing_loops:
            return None
        t = lanes.settings.t0 + table.row("clock").astype(float) * lanes.settings.h
        members = Renumbered(setup, table.rows("p").astype(float), before.rows("p").astype(float), t)
        speeds = slice(setup.plan.nv)
        state = table.rows("q").astype(float), table.rows("x", within=speeds).astype(float)
        closed = ClosedAgain(members, self.legs.partition(self.notes.choice[:, at[0]]), *state)
        before.set("q", closed.q)
        before.set("x", closed.v, within=speeds)
        return closed

    @cached_property
    def _functions(self) -> StartFunctions:
        return functions_of(self.legs.lanes.setup)

    def _end_of_steps(
        self, program: AdjointProgram, table: LaneTable, at: np.ndarray, members: np.ndarray, seeds: np.ndarray
    ) -> None:
        """Back over the rest of a step, of no length, of lanes that have an event at its end, to the bit of the clock.

        Args:
            at: (K,) notes behind what events have done.
        """
        over, s = np.flatnonzero(self.notes.pattern[at] == PLAIN_STEPS), self.legs.settings
        rest, some = table.take(over), members[over]
        due = np.flatnonzero((rest.row("clock") - s.before) % s.every == 0)
        if len(due):
            self.legs.touch(program, rest.take(due), some[due], "observe", seeds)
        if len(over):
            rest.set("fraction", 0.0)
            self._clocks[some] = self.of_begin(program, rest, some)[0]
            self.forget_time(some)

    def _measured_anew(self, program: AdjointProgram, table: LaneTable, members: np.ndarray) -> None:
        """Back over what metrics hold of the instant at which lanes stand, taken again with their new numbers."""
        measured, s = self.measured, self.legs.settings
        shared, bars = measured.shared, self.legs.bars.rows("acc", members).copy()
        fresh, begun = np.where(np.arange(len(bars))[:, None] < shared, bars, 0.0), table.rows("acc", within=METRICS)
        parts = []
        for clock in (table.row("clock") + LEAST, table.row("clock") - LEAST):
            there = table.copy()
            there.set("clock", clock)
            self.legs.lanes.kernel.evaluate(program.program, "accumulate", there.array, s.t0, s.h)
            parts.append(there.rows("acc", within=METRICS)[:shared].astype(float))
        with np.errstate(all="ignore"):
            by_clock = fresh[:shared] * (parts[0] - parts[1]) / (2 * LEAST)
        self._clocks[members] += np.where(fresh[:shared] != 0.0, by_clock, 0.0).sum(0)
        before = table.copy()
        before.set("acc", MeasuredAdjoint(measured, s.begin).before(begun), within=METRICS)
        self.legs.bars.set("acc", fresh, members)
        self.legs.touch(program, before, members, "measure", None)
        self.legs.bars.set("acc", bars - fresh, members)

    def at_events(
        self, partition: Partition, table: LaneTable, members: np.ndarray, at: np.ndarray, clocks: np.ndarray
    ) -> None:
        """The cotangents of instants of events at which steps begin or end.

        Args:
            clocks: (K,) cotangents of their beginnings so far.
        """
        program, shifted = self.legs.program(partition), np.flatnonzero(self.shifted[at])
        ended = np.where(self.notes.pattern[at + 1] <= ACTED, ACTED - self.notes.pattern[at + 1], -1)
        ends = [
            (k, here)
            for k in np.unique(ended[ended >= 0]).tolist()
            for late in [[*self.legs.lanes.late.get(self.legs.lanes.guarded_events[k].name, ())]]
            if len(here := np.flatnonzero((ended == k) & ~np.isin(members, late)))
        ]
        for k, here in ends:
            self._clocks[members[here]] += self._of_noted(program, k, table.take(here), members[here])
        of_begin = np.zeros((self.legs.lanes.layout.ne, len(members)))
        if len(shifted):
            more, of_begin[:, shifted] = self.of_begin(program, table.take(shifted), members[shifted])
            clocks[shifted] += more
        for k, here in ends:
            begin, some, row = table.take(here), members[here], self.legs.lanes.setup.switches + k
            by_end = self._by_clock(program, begin, end=True)
            share = -(self._clocks[some] + by_end.pulled(self.legs.bars.take(some))) / by_end.event[row]
            there, t = self.legs.ahead(program, begin, 1), self._time_at_end(begin)
            for name, slopes in self._slopes.of(partition, k, there, t).items():
                self.legs.bars.add(name, share * slopes, some, slice(len(slopes)))
            clocks[here] += share * of_begin[row, here]
            self._clocks[some] = 0.0
        self._clocks[members[shifted]] = clocks[shifted]

    def _of_noted(self, program: AdjointProgram, k: int, begin: LaneTable, members: np.ndarray) -> np.ndarray:
        """(K,) cotangents of the clock from those of metrics that are the instant of event k at the end of a step; its
        curve has them no more: the step may be as short as the clock tells."""
        measured, signal = self.measured, self.legs.lanes.guarded_events[k].signal
        there, t = self.legs.ahead(program, begin, 1), self._time_at_end(begin)
        out, near = np.zeros(len(members)), (NOTED * begin.row("fraction") + LATE) * self.legs.settings.h
        for term, place in zip(measured.terms.values(), measured.places, strict=True):
            if term.name != OF_EVENTS["time_of"] or term.signal.text != signal.text:
                continue
            rows = slice(place, place + term.size() - 1)
            before, after = (table.rows("acc", within=METRICS)[rows] for table in (begin, there))
            bars = self.legs.bars.rows("acc", members)[rows]
            with np.errstate(all="ignore"):
                noted = (before != after) & (np.abs(after - t) <= near)
            out += np.where(noted, bars, 0.0).sum(0) * self.legs.settings.h
            self.legs.bars.set("acc", np.where(noted, 0.0, bars), members, rows)
        return out

    def forget_time(self, members: np.ndarray) -> None:
        """Of the time that metrics hold of the beginning of a step, which is part of what a moving clock does."""
        if self.measured.size:
            self.legs.bars.set("acc", 0.0, members, 0)

    def of_begin(self, program: AdjointProgram, table: LaneTable, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(K,) cotangents of the clock at which steps begin; (events, K) slopes of events at their ends by it."""
        slopes = self._by_clock(program, table, end=False)
        return slopes.pulled(self.legs.bars.take(members)), slopes.event

    def _by_clock(self, program: AdjointProgram, begin: LaneTable, *, end: bool) -> ClockSlopes:
        """The slopes of the next steps of lanes by the clock at their ends, or beginnings."""
        return ClockSlopes(begin, lambda lanes: self.legs.ahead(program, lanes, 1), self.legs.settings.h, end=end)

    def _time_at_end(self, begin: LaneTable) -> np.ndarray:
        """(K,) times at which the next steps of lanes end [s]."""
        clock = (begin.row("clock") + begin.row("fraction")).astype(float)
        return np.asarray(self.legs.settings.t0 + clock * self.legs.settings.h)


def _behind_events(notes: ByMember) -> np.ndarray:
    """(K,) which notes stand where an event has done something, so that their clocks move with it."""
    behind = np.zeros(len(notes.members), bool)
    for k in np.flatnonzero(notes.pattern <= ACTED) + 1:
        while k < len(behind) and notes.members[k] == notes.members[k - 1] and notes.pattern[k] > ACTED:
            behind[k] = True
            if notes.clock[k] != notes.clock[min(k + 1, len(behind) - 1)]:
                break
            k += 1
    return behind

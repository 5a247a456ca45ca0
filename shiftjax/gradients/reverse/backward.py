"""The way back of a run: cotangents of what was recorded and measured, carried to the start leg by leg. Host code.

Every lane goes back on its own legs, the last one first; lanes whose next leg is of one program go together. What one
gets follows from the lane alone, to the last bit. A repartition needs nothing: the acceleration of the new partition is
that of the old one, and its cotangent passes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shiftjax.gradients.complex_step import pulled
from shiftjax.gradients.growth import PARTS, Growth
from shiftjax.gradients.jumps.passages import Passages, States
from shiftjax.gradients.measured import MeasuredAdjoint
from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.gradients.reverse.tape import PLAIN_STEPS, ByMember, Notes, state_rows
from shiftjax.kernels.adjoint import AdjointProgram
from shiftjax.kernels.contract import Backward, Group, Leg
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.interpolation import interpolated
from shiftjax.run.advance.schedule import PATTERNS
from shiftjax.topology.partition import Partition


class WayBack:
    """The lanes of a run on their way back.

    Args:
        lanes: at the end of the run. notes: of its tape. back: what runs adjoint programs; programs: which.
        passages: jumps that are followed.

    Attributes:
        bars: (rows, B) cotangents where the lanes stand; their rows are `layout.rows()`.
        followed: (B,) jumps so far.
    """

    def __init__(
        self,
        lanes: Ensemble,
        notes: ByMember,
        back: Backward,
        programs: AdjointPrograms,
        passages: Passages,
    ) -> None:
        self.lanes, self.back, self.programs = lanes, back, programs
        self.settings, self.layout = lanes.settings, programs.layout
        self.notes, self._passages = notes, passages
        self.followed = np.zeros(lanes.table.shape[1], int)
        self.bars = np.zeros((self.layout.row_count, lanes.table.shape[1]), lanes.table.dtype)
        setup, tau = lanes.setup, self.settings.h * self.settings.steps / PARTS
        self._growth = Growth(setup.plan, setup.length, tau, np.zeros((lanes.table.shape[1], 1)))

    def rows(self, name: str) -> np.ndarray:
        """View of the cotangents of a region."""
        place = self.layout.rows()[name]
        return self.bars[place.start : place.stop]

    @property
    def growth(self) -> np.ndarray:
        """(B,) of the cotangents so far, as in `gradients.growth`."""
        return self._growth.values[:, 0]

    def go(self, seeds: np.ndarray, members: np.ndarray) -> None:
        """Carries the cotangents of some members from the end of the run to its start, where they began to step.

        Args:
            seeds: (B, ticks, channels) cotangents of what was recorded; those of the first instant are left to `begin`.
        """
        first, last = _bounds(self.notes.members, members)
        at = last - 1  # the note that is reached
        while len(members):
            stays = at > first
            members, first, at = members[stays], first[stays], at[stays]
            at = at - 1
            for choice, pattern, mine in self._alike(at):
                notes, end = self.notes.of(at[mine]), self.notes.clock[at[mine] + 1]
                program = self.programs.of(self._partition(choice))
                table = self._table(notes)
                if pattern == PLAIN_STEPS:
                    steps = (end - notes.clock).astype(int)
                    counts = self._counts(self._table(self.notes.of(at[mine] + 1))) if self._passages else None
                    self._by_way(program, table, steps, members[mine], seeds, counts)
                else:
                    self._off(program, table, PATTERNS[pattern], members[mine], seeds)
            self._grown(members, self.notes.clock[last[stays] - 1] - self.notes.clock[at])
            last = last[stays]

    def begin(
        self, unprojected: np.ndarray, seeds: np.ndarray, members: np.ndarray, measured: MeasuredAdjoint | None
    ) -> None:
        """Carries the cotangents of members that stand at the start back to the assembled start.

        Args:
            unprojected: (nq + nx, B) coordinates and x before they were projected. measured: where there are metrics.
        """
        first, _ = _bounds(self.notes.members, members)
        for choice, _, mine in self._alike(first):
            notes = self.notes.of(first[mine])
            program, table = self.programs.of(self._partition(choice)), self._table(notes)
            self._touch(program, table, members[mine], "observe", seeds)
            if measured is not None:
                self._measured(program, table, members[mine], measured)
            before = table.copy()
            place = program.program.layout.rows("q").start
            before[place : place + len(unprojected)] = unprojected[:, members[mine]]
            self._touch(program, before, members[mine], "project", seeds, table)

    def _grown(self, members: np.ndarray, steps: np.ndarray) -> None:
        """Notes the size of cotangents so many steps before the end."""
        nv = self.lanes.setup.plan.nv
        q, v = self.rows("q")[:, members, None], self.rows("x")[:nv, members, None]
        self._growth.cotangents(members, steps * self.settings.h, q, v)

    def _measured(
        self, program: AdjointProgram, table: np.ndarray, members: np.ndarray, measured: MeasuredAdjoint
    ) -> None:
        """From the accumulators at the start to the state there."""
        own = self.layout.accumulators()
        first = program.program.layout.rows("acc").stop - len(own)
        before, bars = table.copy(), self.rows("acc")
        bars[:, members] = measured.of_beginning(table[first : first + len(own)], bars[:, members])
        before[first : first + len(own)] = measured.before(table[first : first + len(own)])
        self._touch(program, before, members, "measure", None)
        bars[:, members] = 0.0

    # -- legs --------------------------------------------------------------------------------------------------------

    def _alike(self, at: np.ndarray) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
        """Partition choices and pattern of notes, and which of them have those."""
        if len(at):
            keys = np.concatenate([self.notes.choice[:, at], self.notes.pattern[None, at]])
            if (keys == keys[:, :1]).all():  # a tenth of a four-bar's way back were sorts of a thousand equal columns
                yield keys[:-1, 0], int(keys[-1, 0]), np.arange(len(at))
                return
            found, which = np.unique(keys, axis=1, return_inverse=True)
            for k, (*choice, pattern) in enumerate(found.T):
                yield np.array(choice), int(pattern), np.flatnonzero(np.ravel(which) == k)

    def _partition(self, choice: np.ndarray) -> Partition:
        return Partition(tuple(self.lanes.known[s][c] for s, c in enumerate(choice)))

    def _table(self, notes: Notes) -> np.ndarray:
        """The lanes of notes, with no limits."""
        layout, lanes = self.lanes.layout, self.lanes
        table = np.zeros((layout.row_count, len(notes.members)), lanes.table.dtype)
        table[state_rows(lanes)] = notes.columns
        place = layout.rows("p")
        table[place.start : place.stop] = lanes.rows("p")[:, notes.members]
        table[layout.rows("clock").start], table[layout.rows("fraction").start] = notes.clock, 1.0
        return table

    def _by_way(
        self,
        program: AdjointProgram,
        table: np.ndarray,
        steps: np.ndarray,
        members: np.ndarray,
        seeds: np.ndarray,
        counts: np.ndarray | None,
    ) -> None:
        """Back over so many plain steps of each lane, by way of the jumps that are followed.

        Args:
            counts: (knots, B) passages at the end of the steps; None where none is followed.
        """
        if counts is None:
            self._over(program, table, steps, members, seeds)
            return
        new = counts != self._counts(table)
        passes = new.any(0) & self._passages.follows[members]
        if not passes.all():
            own = ~passes
            self._over(program, np.ascontiguousarray(table[:, own]), steps[own], members[own], seeds)
        for own, single in ((passes & (steps == 1), True), (passes & (steps > 1), False)):
            if not own.any():
                continue
            begin, mine, many = np.ascontiguousarray(table[:, own]), members[own], steps[own]
            if single:
                self._sweep(program, begin, many, mine, seeds)
                self._jump(program, begin, mine, new[:, own])
                continue
            half = many // 2
            middle = self._ahead(program, begin, half)
            self._by_way(program, middle, many - half, mine, seeds, counts[:, own])
            self._by_way(program, begin, half, mine, seeds, self._counts(middle))

    def _counts(self, table: np.ndarray) -> np.ndarray:
        """(knots, B) passages of lanes so far."""
        place = self.lanes.layout.rows("acc")
        return self._passages.counts(table[place.stop - len(self.lanes.measured) : place.stop])

    def _jump(self, program: AdjointProgram, table: np.ndarray, members: np.ndarray, which: np.ndarray) -> None:
        """Back over the impulses of jumps at the beginning of the step in which they are.

        Args:
            which: (knots, B) of the jumps.
        """
        plan, rows, s = self.lanes.setup.plan, program.program.layout.rows, self.settings
        self._touch(program, table, members, "accelerate", None)  # the accelerations there are those after it
        bars = np.zeros((self.layout.row_count, len(members)), table.dtype)
        place = self.layout.rows()
        moving = plan.nv + plan.ns
        bars[place["dx"].start :][:moving] = self.rows("x")[:moving, members]
        leg = Leg(program, table, bars, None, np.full(len(members), -1))
        self.back.touch(leg, "accelerate", h=s.h, t0=s.t0, every=s.every, origin=s.before)
        read = {name: table[rows(name).start : rows(name).stop] for name in ("q", "x", "dx", "p", "clock")}
        t = s.t0 + read["clock"][0] * s.h
        states = States(read["q"], read["x"][: plan.nv], read["dx"][: plan.nv], read["p"], t)
        for k, own in enumerate(which):
            mine = np.flatnonzero(own)
            if not len(mine):
                continue
            here = np.ascontiguousarray(table[:, mine])
            here[rows("p").start : rows("p").stop] = self._passages.beyond(k, states.of(mine))
            self.lanes.kernel.evaluate(program.program, "accelerate", here, s.t0, s.h)
            beyond = here[rows("dx").start :][: plan.nv]
            slopes, good = self._passages.slope(k, states.of(mine), beyond)
            constants = [place["p"].start + row for row in self._passages.knots[k].constants]
            found = slopes * bars[constants][:, mine].sum(0)
            parts = np.split(found, [plan.nq, plan.nq + plan.nv])
            for name, part in zip(("q", "x", "p"), parts, strict=True):
                self.rows(name)[: len(part), members[mine]] += part
            self.followed[members[mine]] += good

    def _over(
        self, program: AdjointProgram, table: np.ndarray, steps: np.ndarray, members: np.ndarray, seeds: np.ndarray
    ) -> None:
        """Back over so many plain steps of each lane."""
        moves = steps > 0
        if not moves.all():
            table, steps, members = np.ascontiguousarray(table[:, moves]), steps[moves], members[moves]
        if not len(members):
            return
        longest = self.back.longest(program)
        if steps.max() > longest:
            half = np.where(steps > longest, longest * (-(-steps // longest) // 2), 0)
            middle = self._ahead(program, table, half)
            self._over(program, middle, steps - half, members, seeds)
            self._over(program, table, half, members, seeds)
            return
        self._sweep(program, table, steps, members, seeds)

    def _off(
        self, program: AdjointProgram, table: np.ndarray, parts: Sequence[float], members: np.ndarray, seeds: np.ndarray
    ) -> None:
        """Back over a pattern of steps."""
        layout, states, done = program.program.layout, [table], 0.0
        begin, first = table[layout.rows("clock").start].copy(), table.copy()
        for part in parts:
            table[layout.rows("clock").start] = begin + len(parts) * done
            table[layout.rows("fraction").start] = len(parts) * part
            table = self._ahead(program, table, 1)
            states.append(table)
            done += part
        end = states.pop()
        end[layout.rows("clock").start] = begin + len(parts)
        self._touch(program, end, members, "observe", seeds)
        kept = self._between(program, first, end, begin, members, seeds)
        for state in reversed(states):
            self._sweep(program, state, np.ones(len(members), int), members, None)
        self.bars[:, members] += kept

    def _between(
        self,
        program: AdjointProgram,
        a: np.ndarray,
        b: np.ndarray,
        begin: np.ndarray,
        members: np.ndarray,
        seeds: np.ndarray,
    ) -> np.ndarray:
        """Cotangents of the instants that were interpolated: those of the end are added, those of the beginning
        returned."""
        layout, s = program.program.layout, self.settings
        moving = self.lanes.setup.plan.nv + self.lanes.setup.plan.ns
        rows = {name: layout.rows(name)[:count] for name, count in (("q", layout.nq), ("x", moving), ("dx", moving))}
        states = np.array([k for own in rows.values() for k in own])
        starts = np.cumsum([0, *map(len, rows.values())])
        inside = {name: range(at, at + len(own)) for (name, own), at in zip(rows.items(), starts, strict=False)}
        bars = [k for name, own in rows.items() for k in self.layout.rows()[name][: len(own)]]
        steps = np.rint(b[layout.rows("clock").start] - begin)
        kept = np.zeros((self.layout.row_count, len(members)), a.dtype)
        for k in range(1, int(steps.max(initial=0))):
            due = np.flatnonzero(((begin + k - s.before) % s.every == 0) & (k < steps))
            if not len(due):
                continue
            ends = np.stack([a[states][:, due], b[states][:, due]])
            share, span = k / steps[due], steps[due] * s.h

            def between(z: np.ndarray, share: np.ndarray = share, span: np.ndarray = span) -> np.ndarray:
                return interpolated(self.lanes.setup.plan, inside, z[0], z[1], share, span)

            table = np.ascontiguousarray(b[:, due])
            table[states], table[layout.rows("clock").start] = between(ends), begin[due] + k
            own = self.bars[:, members[due]].copy()
            self.bars[:, members[due]] = 0.0
            self._touch(program, table, members[due], "observe", seeds)
            found = self.bars[:, members[due]]
            both = pulled(between, ends, found[bars])
            found[bars] = both[1]
            self.bars[:, members[due]] = own + found
            kept[np.array(bars)[:, None], due] += both[0]
        return kept

    def _ahead(self, program: AdjointProgram, table: np.ndarray, steps: np.ndarray | int) -> np.ndarray:
        """Lanes some steps further on."""
        layout = program.program.layout
        table, clock = table.copy(), table[layout.rows("clock").start]
        until = np.where(np.asarray(steps) > 0, clock + (steps - 0.5) * table[layout.rows("fraction").start], clock)
        table[layout.rows("limit").start : layout.rows("limit").stop] = np.inf
        group = Group(program.program, table, until, None, np.full(table.shape[1], -1))
        self.lanes.kernel.advance([group], h=self.settings.h, t0=self.settings.t0)
        return table

    def _sweep(
        self,
        program: AdjointProgram,
        table: np.ndarray,
        steps: np.ndarray,
        members: np.ndarray,
        seeds: np.ndarray | None,
    ) -> None:
        bars = np.ascontiguousarray(self.bars[:, members])
        bars[self.layout.rows()["steps"].start] = steps
        leg = Leg(program, table, bars, seeds, members if seeds is not None else np.full(len(members), -1))
        s = self.settings
        self.back.sweep([leg], h=s.h, t0=s.t0, every=s.every if seeds is not None else 0, origin=s.before)
        self.bars[:, members] = bars

    def _touch(
        self,
        program: AdjointProgram,
        table: np.ndarray,
        members: np.ndarray,
        phase: str,
        seeds: np.ndarray | None,
        ends: np.ndarray | None = None,
    ) -> None:
        bars = np.ascontiguousarray(self.bars[:, members])
        leg = Leg(program, table, bars, seeds, members if seeds is not None else np.full(len(members), -1))
        s = self.settings
        self.back.touch(leg, phase, ends, h=s.h, t0=s.t0, every=s.every, origin=s.before)
        self.bars[:, members] = bars


def _bounds(sorted_members: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first note of each of some members, and the one after their last."""
    return np.searchsorted(sorted_members, members), np.searchsorted(sorted_members, members, side="right")

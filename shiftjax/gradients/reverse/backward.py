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
from shiftjax.gradients.jumps.passages import Knot, Passages, Passing, States
from shiftjax.gradients.measured import MeasuredAdjoint
from shiftjax.gradients.reverse.acting_events import ActingEvents
from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.gradients.reverse.legs import Legs
from shiftjax.gradients.reverse.tape import PLAIN_STEPS, ByMember
from shiftjax.kernels.adjoint import AdjointProgram
from shiftjax.kernels.contract import Backward, Leg
from shiftjax.kernels.lane_table import ALL, STATE, LaneTable, Members
from shiftjax.run.advance.ensemble import METRICS, Ensemble
from shiftjax.run.advance.interpolation import interpolated
from shiftjax.run.advance.schedule import PATTERNS
from shiftjax.run.advance.switches import ACTED, PART
from shiftjax.topology.partition import Partition


class WayBack(Legs):
    """The lanes of a run on their way back.

    Args:
        lanes: at the end of the run. notes: of its tape. back: what runs adjoint programs; programs: which.
        passages: jumps that are followed.

    Attributes:
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
        super().__init__(lanes, back, programs.of, programs.layout)
        self.notes, self._passages = notes, passages
        self.followed = np.zeros(lanes.table.lanes, int)
        setup, tau = lanes.setup, self.settings.h * self.settings.steps / PARTS
        self._growth = Growth(setup.plan, setup.length, tau, np.zeros((lanes.table.lanes, 1)))
        self._acting = ActingEvents(self, notes, passages.measured)

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
            for choice, pattern, which in self._alike(at):
                notes, end = self.notes.of(at[which]), self.notes.clock[at[which] + 1]
                program = self.program(self.partition(choice))
                table = self.table_of(notes)
                if pattern <= ACTED:
                    self._acting.acted(program, table, at[which], members[which], seeds)
                elif self.settings.tolerance is not None or pattern == PART:
                    self._chosen(self.partition(choice), table, end, members[which], seeds, at[which])
                elif pattern == PLAIN_STEPS:
                    steps = (end - notes.clock).astype(int)
                    counts = self._counts(self.table_of(self.notes.of(at[which] + 1))) if self._passages else None
                    self._by_way(program, table, steps, members[which], seeds, counts)
                else:
                    self._off(program, table, PATTERNS[pattern], members[which], seeds)
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
        for choice, _, which in self._alike(first):
            notes = self.notes.of(first[which])
            program, table = self.program(self.partition(choice)), self.table_of(notes)
            self.touch(program, table, members[which], "observe", seeds)
            if measured is not None:
                self._measured(program, table, members[which], measured)
            before, nq = table.copy(), self.layout.layout.nq
            before.set("q", unprojected[:nq, members[which]])
            before.set("x", unprojected[nq:, members[which]])
            self.touch(program, before, members[which], "project", seeds, table)

    def _grown(self, members: np.ndarray, steps: np.ndarray) -> None:
        """Notes the size of cotangents so many steps before the end."""
        nv = self.lanes.setup.plan.nv
        q, v = self.bars.rows("q", members), self.bars.rows("x", members, slice(nv))
        self._growth.cotangents(members, steps * self.settings.h, q[..., None], v[..., None])

    def _measured(
        self, program: AdjointProgram, table: LaneTable, members: np.ndarray, measured: MeasuredAdjoint
    ) -> None:
        """From the accumulators at the start to the state there."""
        begun, before = table.rows("acc", within=METRICS), table.copy()
        self.bars.set("acc", measured.of_beginning(begun, self.bars.rows("acc", members)), members)
        before.set("acc", measured.before(begun), within=METRICS)
        self.touch(program, before, members, "measure", None)
        self.bars.set("acc", 0.0, members)

    # -- legs --------------------------------------------------------------------------------------------------------

    def _alike(self, at: np.ndarray) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
        """Partition choices and pattern of notes, and which of them have those."""
        if len(at):
            keys = np.concatenate([self.notes.choice[:, at], self.notes.pattern[None, at]])
            if (keys == keys[:, :1]).all():  # a tenth of a four-bar's way back were sorts of a thousand equal columns
                yield keys[:-1, 0], int(keys[-1, 0]), np.arange(len(at))
                return
            distinct, which = np.unique(keys, axis=1, return_inverse=True)
            for k, (*choice, pattern) in enumerate(distinct.T):
                yield np.array(choice), int(pattern), np.flatnonzero(np.ravel(which) == k)

    def _by_way(
        self,
        program: AdjointProgram,
        table: LaneTable,
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
        new = self._passages.new(self._counts(table), counts, members)
        passes = np.asarray(new.any(0))
        if not passes.all():
            self._over(program, table.take(~passes), steps[~passes], members[~passes], seeds)
        for here, single in ((passes & (steps == 1), True), (passes & (steps > 1), False)):
            if not here.any():
                continue
            begin, passing, many = table.take(here), members[here], steps[here]
            if single:
                passings = self._passed(program, begin, passing, new[:, here])
                of_instants = [self._of_instants(passed, passing[lanes]) for _, lanes, passed in passings]
                self.sweep(program, begin, many, passing, seeds)
                self._jump(program, begin, passing, passings, of_instants)
                continue
            half = many // 2
            middle = self.ahead(program, begin, half)
            self._by_way(program, middle, many - half, passing, seeds, counts[:, here])
            self._by_way(program, begin, half, passing, seeds, self._counts(middle))

    def _counts(self, table: LaneTable) -> np.ndarray:
        """(knots, B) passages of lanes so far."""
        return self._passages.counts(table.rows("acc", within=METRICS))

    def _passed(
        self, program: AdjointProgram, table: LaneTable, members: np.ndarray, which: np.ndarray
    ) -> list[tuple[Knot, np.ndarray, Passing]]:
        """The knots that lanes pass in the next step, with which lanes (K,), and what that does.

        Args:
            which: (knots, B) of the passages.
        """
        plan, s, out, passages = self.lanes.setup.plan, self.settings, [], self._passages
        q, x, dx, p = map(table.rows, ("q", "x", "dx", "p"))
        states = States(q, x[: plan.nv], dx[: plan.nv], p, s.t0 + table.row("clock") * s.h)
        for k, passes in enumerate(which):
            lanes = np.flatnonzero(passes)
            if not len(lanes):
                continue
            approach, here = passages.approach(k, states.of(lanes)), table.take(lanes)
            here.set("p", approach.p)
            self.lanes.kernel.evaluate(program.program, "accelerate", here.array, s.t0, s.h)
            lead, good = passages.lead(approach, members[lanes], here.rows("dx", within=slice(plan.nv)))
            self.followed[members[lanes]] += good & approach.jumps
            before = here.rows("acc", within=METRICS).copy()
            self.lanes.kernel.evaluate(program.program, "accumulate", here.array, s.t0, s.h)
            after = here.rows("acc", within=METRICS)
            out.append((passages.knots[k], lanes, passages.beyond(approach, lead, members[lanes], before, after)))
        return out

    def _of_instants(self, passed: Passing, members: np.ndarray) -> np.ndarray:
        """(K,) cotangents of terms of metrics that are the instant of a passage, which the step itself has no more."""
        out = np.zeros(len(members))
        for k in np.flatnonzero(passed.crossed.any(1)).tolist():
            place, crossed = self._passages.measured.places[k], passed.crossed[k]
            bars = self.bars.rows("acc", members)[place].copy()
            out += np.where(crossed, bars, 0.0)
            self.bars.set("acc", np.where(crossed, 0.0, bars)[None], members, slice(place, place + 1))
        return out

    def _jump(
        self,
        program: AdjointProgram,
        table: LaneTable,
        members: np.ndarray,
        passings: Sequence[tuple[Knot, np.ndarray, Passing]],
        of_instants: Sequence[np.ndarray],
    ) -> None:
        """Back over the impulses of jumps at the beginning of the step in which they are.

        Args:
            passings: of `_passed`. of_instants: (K,) cotangents of their instants.
        """
        plan, s = self.lanes.setup.plan, self.settings
        self.touch(program, table, members, "accelerate", None)  # the accelerations there are those after it
        bars, moving = LaneTable.zeros(self.layout, len(members), table.dtype), slice(plan.nv + plan.ns)
        bars.set("dx", self.bars.rows("x", members, moving), within=moving)
        leg = Leg(program, table.array, bars.array, None, np.full(len(members), -1))
        self.back.touch(leg, "accelerate", h=s.h, t0=s.t0, every=s.every, origin=s.before)
        for (knot, lanes, passed), instants in zip(passings, of_instants, strict=True):
            of_lead = passed.jump * bars.rows("p", lanes)[list(knot.constants)].sum(0)
            of_metrics = (self.bars.rows("acc", members[lanes]) * passed.change).sum(0) - instants
            begun = np.split(passed.lead * of_metrics, [plan.nq, plan.nq + plan.nv])
            self._growth.begun(members[lanes], begun[0][..., None], begun[1][..., None])
            parts = np.split(passed.lead * (of_lead + of_metrics), [plan.nq, plan.nq + plan.nv])
            for name, part in zip(("q", "x", "p"), parts, strict=True):
                self.bars.add(name, part, members[lanes], slice(len(part)))

    def _over(
        self, program: AdjointProgram, table: LaneTable, steps: np.ndarray, members: np.ndarray, seeds: np.ndarray
    ) -> None:
        """Back over so many plain steps of each lane."""
        moves = steps > 0
        if not moves.all():
            table, steps, members = table.take(moves), steps[moves], members[moves]
        if not len(members):
            return
        longest = self.back.longest(program)
        if steps.max() > longest:
            half = np.where(steps > longest, longest * (-(-steps // longest) // 2), 0)
            middle = self.ahead(program, table, half)
            self._over(program, middle, steps - half, members, seeds)
            self._over(program, table, half, members, seeds)
            return
        self.sweep(program, table, steps, members, seeds)

    def _chosen(
        self,
        partition: Partition,
        table: LaneTable,
        ends: np.ndarray,
        members: np.ndarray,
        seeds: np.ndarray,
        at: np.ndarray,
    ) -> None:
        """Back over one step of each lane whose size was chosen, to its clock; that size is no variable, but for what
        events at its end, or its beginning, do to it.

        Output instants in it are ends of shorter steps of their own, from the same beginning.

        Args:
            at: (K,) notes of the beginning.
        """
        moves = ends > table.row("clock")  # others have changed their partition where they stood
        table, ends, members, at = table.take(moves), ends[moves], members[moves], at[moves]
        if not len(members):
            return
        program, begin, s = self.program(partition), table.row("clock").copy(), self.settings
        clocks, shifted = np.zeros(len(members)), self._acting.shifted[at]
        first, last = (np.floor((clock - s.before) / s.every) for clock in (begin, ends))
        if s.tolerance is None:  # what an event does at an instant is done before that is recorded
            at_event = self.notes.pattern[at + 1] <= ACTED
            last[at_event] = np.ceil((ends[at_event] - s.before) / s.every) - 1
        of_instants = LaneTable.zeros(self.layout, len(members), table.dtype)
        for k in range(1, int((last - first).max(initial=0.0)) + 1):
            due = np.flatnonzero(first + k <= last)
            tick, bars = s.before + (first[due] + k) * s.every, self.bars.take(members[due])
            part = table.take(due)
            part.set("fraction", tick - begin[due])
            here = self.ahead(program, part, 1)
            here.set("clock", tick)
            self.bars.put(members[due], LaneTable.zeros(self.layout, len(due), table.dtype))
            self.touch(program, here, members[due], "observe", seeds)
            late = np.flatnonzero(shifted[due])
            if len(late):
                clocks[due[late]] += self._acting.of_begin(program, part.take(late), members[due[late]])[0]
            self.sweep(program, part, np.ones(len(due), int), members[due], None)
            for name in self.layout.columns():
                of_instants.add(name, self.bars.rows(name, members[due]), due)
            self.bars.put(members[due], bars)
        table.set("fraction", ends - begin)
        self._acting.at_events(partition, table, members, at, clocks)
        self.sweep(program, table, np.ones(len(members), int), members, None)
        self._acting.forget_time(members[shifted])
        for name in self.layout.columns():
            self.bars.add(name, of_instants.rows(name), members)

    def _off(
        self, program: AdjointProgram, table: LaneTable, parts: Sequence[float], members: np.ndarray, seeds: np.ndarray
    ) -> None:
        """Back over a pattern of steps."""
        states, done, first = [table], 0.0, table.copy()
        begin = first.row("clock")
        for part in parts:
            table.set("clock", begin + len(parts) * done)
            table.set("fraction", len(parts) * part)
            table = self.ahead(program, table, 1)
            states.append(table)
            done += part
        end = states.pop()
        end.set("clock", begin + len(parts))
        self.touch(program, end, members, "observe", seeds)
        earlier = self._between(program, first, end, members, seeds)
        for state in reversed(states):
            self.sweep(program, state, np.ones(len(members), int), members, None)
        for name, rows in zip(STATE, self._split(earlier), strict=True):
            self.bars.add(name, rows, members, slice(len(rows)))

    def _between(
        self,
        program: AdjointProgram,
        a: LaneTable,
        b: LaneTable,
        members: np.ndarray,
        seeds: np.ndarray,
    ) -> np.ndarray:
        """Cotangents of the instants that were interpolated: those of the end are added, those of the beginning
        returned, of q, x and dx one above the other."""
        s, begin = self.settings, a.row("clock")
        steps = np.rint(b.row("clock") - begin)
        earlier = np.zeros_like(self._moving(a))
        for k in range(1, int(steps.max(initial=0))):
            due = np.flatnonzero(((begin + k - s.before) % s.every == 0) & (k < steps))
            if not len(due):
                continue
            ends = np.stack([self._moving(a, due), self._moving(b, due)])
            share, span = k / steps[due], steps[due] * s.h

            def between(z: np.ndarray, share: np.ndarray = share, span: np.ndarray = span) -> np.ndarray:
                return interpolated(self.lanes.setup.plan, z[0], z[1], share, span)

            here, bars = b.take(due), self.bars.take(members[due])
            self._set_moving(here, between(ends))
            here.set("clock", begin[due] + k)
            self.bars.put(members[due], LaneTable.zeros(self.layout, len(due), a.dtype))
            self.touch(program, here, members[due], "observe", seeds)
            change = self.bars.take(members[due])
            of_begin, of_end = pulled(between, ends, self._moving(change))
            self._set_moving(change, of_end)
            for name in self.layout.columns():
                bars.add(name, change.rows(name))
            self.bars.put(members[due], bars)
            earlier[:, due] += of_begin
        return earlier

    def _moving(self, lanes: LaneTable, members: Members = ALL) -> np.ndarray:
        """q, x and dx of lanes, or their cotangents, one above the other, without quadratures."""
        moving = slice(self.lanes.setup.plan.nv + self.lanes.setup.plan.ns)
        within = {"q": ALL, "x": moving, "dx": moving}
        return np.concatenate([lanes.rows(name, members, rows) for name, rows in within.items()])

    def _set_moving(self, lanes: LaneTable, values: np.ndarray) -> None:
        for name, rows in zip(STATE, self._split(values), strict=True):
            lanes.set(name, rows, within=slice(len(rows)))

    def _split(self, values: np.ndarray) -> list[np.ndarray]:
        """q, x and dx of what `_moving` gives."""
        plan = self.lanes.setup.plan
        return np.split(values, np.cumsum([plan.nq, plan.nv + plan.ns]))


def _bounds(sorted_members: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first note of each of some members, and the one after their last."""
    return np.searchsorted(sorted_members, members), np.searchsorted(sorted_members, members, side="right")

"""The lanes of a run with tangents: what the host does with their numbers, done with their tangents too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from shiftjax.gradients.complex_step import complex_step
from shiftjax.gradients.forward.tangent_programs import TangentLayout, TangentPrograms
from shiftjax.gradients.growth import PARTS, Growth
from shiftjax.gradients.jumps.passages import Passages, Passing, States
from shiftjax.kernels.lane_table import ALL, STATE, LaneTable, Members
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.interpolation import interpolated

NOISE = {"f64": 1e-12, "f32": 1e-4}  # tangents by a change of a number of the size of itself, in rad or lengths


@dataclass(kw_only=True)
class TangentLanes(Ensemble):
    """Lanes whose programs are `TangentPrograms`: one recording, of all members.

    Attributes:
        passages: jumps that are followed, if any. followed: (B,) how many so far.
    """

    passages: Passages | None = None
    followed: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.followed = np.zeros(len(self.status), int)

    @property
    def programs(self) -> TangentPrograms:
        programs = self.recordings[0].programs
        assert isinstance(programs, TangentPrograms)
        return programs

    @property
    def places(self) -> TangentLayout:
        return self.programs.places

    def tangents(self, names: Sequence[str], d: int, members: Members = ALL) -> np.ndarray:
        """(rows, K) tangents of groups in direction d, one above the other."""
        return tangents_of(self.places, self.table, names, d, members)

    def begin_metrics(self, members: np.ndarray) -> None:
        """The metrics of some members begin where they stand."""
        metrics = self.programs.metrics
        if metrics is None or not len(members):
            return
        self.evaluate("accumulate", members)
        places = self.places.values_within("acc")
        values = self.table.rows("acc", members, places)

        def begun(z: np.ndarray) -> np.ndarray:
            metrics.begin(z)
            return z

        for d in range(self.places.directions):
            rows = self.places.tangents_within("acc", d)
            self.table.set("acc", complex_step(begun, values, self.table.rows("acc", members, rows)), members, rows)
        self.table.set("acc", begun(values), members, places)

    def _advance(self, members: np.ndarray, until: np.ndarray) -> None:
        """As those without tangents, by way of the jumps that are followed."""
        follows = self.passages.follows[members] if self.passages else np.zeros(len(members), bool)
        if not follows.any():
            super()._advance(members, until)
            return
        if not follows.all():
            super()._advance(members[~follows], until[~follows])
        members, until = members[follows], until[follows]
        before = self.table.take(members)
        super()._advance(members, until)
        assert self.passages is not None
        new = self.passages.new(self._counts(before), self._counts(self.table.take(members)), members)
        passes = np.asarray(new.any(0))
        if not passes.any():
            return
        members, until, new = members[passes], until[passes], new[:, passes]
        self.table.put(members, before.take(passes))  # once more, in parts
        clock = self.clock_of(members)
        single = until - clock <= 1.0
        if single.any():
            instants = self._jump(members[single], new[:, single])
            super()._advance(members[single], until[single])
            for lanes, row, changes in instants:
                self.table.set("acc", changes[None], lanes, slice(row, row + 1))
        several = ~single
        if several.any():
            self._advance(members[several], np.floor((clock + until) / 2)[several])
            self._advance(members[several], until[several])

    def _counts(self, lanes: LaneTable) -> np.ndarray:
        """(knots, B) passages of lanes so far."""
        assert self.passages is not None
        return self.passages.counts(lanes.rows("acc", within=self.places.values_within("acc")))

    def _jump(self, members: np.ndarray, which: np.ndarray) -> list[tuple[np.ndarray, int, np.ndarray]]:
        """Adds the impulses of jumps to the tangents of speeds at the beginning of the step in which they are.

        Args:
            which: (knots, B) of the jumps.

        Returns:
            members, a row of accumulators and its tangents after that step: of metrics that are a jump's instant.
        """
        places, plan, passages = self.places, self.setup.plan, self.passages
        assert passages is not None
        before = self.table.take(members)
        q, x, dx, p = (before.rows(name, within=places.values_within(name)) for name in ("q", "x", "dx", "p"))
        t = self.settings.t0 + self.clock_of(members) * self.settings.h
        states = States(q, x[: plan.nv], dx[: plan.nv], p, t)
        pushed, gained, instants = before.copy(), before.copy(), []
        for k, jumps in enumerate(which):
            jumping = np.flatnonzero(jumps)
            if not len(jumping):
                continue
            passed = self._passed(k, members, jumping, before, states)
            for d in range(places.directions):
                parts = [before.rows(name, jumping, places.tangents_within(name, d)) for name in ("q", "x", "p")]
                earlier = (passed.lead * np.concatenate([parts[0], parts[1][: plan.nv], parts[2]])).sum(0)
                gained.add("acc", passed.change * earlier, jumping, places.tangents_within("acc", d))
                for constant in passages.knots[k].constants:
                    pushed.add("p", passed.jump * earlier, jumping, places.tangents_within("p", d).start + constant)
                for term in np.flatnonzero(passed.crossed.any(1)).tolist():
                    row, lanes = places.tangents_within("acc", d).start + passages.measured.places[term], passed.crossed
                    instants.append((members[jumping[lanes[term]]], row, -earlier[lanes[term]]))
        more, plain = (self._accelerated(members, lanes) for lanes in (pushed, before))
        for d in range(places.directions):
            change = tangents_of(places, more, ("dx",), d) - tangents_of(places, plain, ("dx",), d)
            before.add("x", change, within=places.tangents_within("x", d))
        after = self._accelerated(members, before)
        for d in range(places.directions):
            before.set("dx", tangents_of(places, after, ("dx",), d), within=places.tangents_within("dx", d))
        before.set("acc", gained.rows("acc"))
        self.table.put(members, before)
        return instants

    def _passed(self, k: int, members: np.ndarray, lanes: np.ndarray, before: LaneTable, states: States) -> Passing:
        """What some lanes (K,) of members pass at the knot k in the next step, from the beginning of that step."""
        passages, changed, within = self.passages, before.copy(), self.places.values_within("acc")
        assert passages is not None
        approach, which = passages.approach(k, states.of(lanes)), members[lanes]
        changed.set("p", approach.p, lanes, self.places.values_within("p"))
        beyond = self._accelerated(members, changed).rows("dx", lanes, slice(self.setup.plan.nv))
        lead, good = passages.lead(approach, which, beyond)
        self.followed[which] += good & approach.jumps
        self.evaluate("accumulate", members)
        after = self.table.take(members).rows("acc", lanes, within)
        return passages.beyond(approach, lead, which, before.rows("acc", lanes, within), after)

    def _accelerated(self, members: np.ndarray, lanes: LaneTable) -> LaneTable:
        """Some members with their rates computed."""
        self.table.put(members, lanes)
        self.evaluate("accelerate", members)
        return self.table.take(members)

    def between(self, a: LaneTable, b: LaneTable, s: np.ndarray, span: np.ndarray) -> LaneTable:
        """Lanes between two of the same members, tangents too."""
        out, plan, places = b.copy(), self.setup.plan, self.places
        sizes = np.cumsum([plan.nq, plan.nv + plan.ns])

        def between(ends: np.ndarray) -> np.ndarray:
            return interpolated(plan, ends[0], ends[1], s, span)

        def set_state(values: np.ndarray, within: Callable[[str], slice]) -> None:
            for name, rows in zip(STATE, np.split(values, sizes), strict=True):
                out.set(name, rows, within=within(name))

        ends = np.stack(
            [np.concatenate([end.rows(n, within=places.values_within(n)) for n in STATE]) for end in (a, b)]
        )
        for d in range(places.directions):
            change = np.stack([tangents_of(places, end, STATE, d) for end in (a, b)])
            set_state(complex_step(between, ends, change), partial(places.tangents_within, direction=d))
        set_state(between(ends), places.values_within)
        return out


def tangents_of(
    places: TangentLayout, lanes: LaneTable, names: Sequence[str], d: int, members: Members = ALL
) -> np.ndarray:
    """(rows, K) tangents of groups of some lanes in direction d, one above the other."""
    return np.concatenate([lanes.rows(name, members, places.tangents_within(name, d)) for name in names])


class Growing:
    """Notes how large the tangents of lanes are on their way, beginning where they stand; a `Notebook`.

    Args:
        relative: (B, k) by what part of themselves numbers change.
    """

    def __init__(self, lanes: TangentLanes, relative: np.ndarray) -> None:
        settings, plan = lanes.settings, lanes.setup.plan
        self._every = max(1, settings.steps // PARTS)
        floor = NOISE[lanes.setup.precision] * relative
        self._growth = Growth(plan, lanes.setup.length, settings.h * self._every, floor)
        self.note(lanes, np.flatnonzero(lanes.status <= 0))

    @property
    def values(self) -> np.ndarray:
        """(B, k) growth."""
        return self._growth.values

    def stops(self, clock: np.ndarray, until: np.ndarray) -> np.ndarray:
        """Clocks at which lanes are noted next on their way."""
        return np.minimum((np.floor(clock / self._every) + 1) * self._every, until)

    def note(self, lanes: Ensemble, members: np.ndarray, pattern: np.ndarray | int = 0) -> None:
        """Notes some lanes where they stand."""
        assert isinstance(lanes, TangentLanes)
        places, nv, settings = lanes.places, lanes.setup.plan.nv, lanes.settings
        q, x = (
            np.stack([lanes.tangents((name,), d, members) for d in range(places.directions)], -1) for name in ("q", "x")
        )
        time = (lanes.clock_of(members) - settings.before) * settings.h
        self._growth.tangents(members, time, q, x[:nv])

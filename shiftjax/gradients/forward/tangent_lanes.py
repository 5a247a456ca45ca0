"""The lanes of a run with tangents: what the host does with their numbers, done with their tangents too."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shiftjax.gradients.complex_step import complex_step
from shiftjax.gradients.forward.tangent_programs import TangentLayout, TangentPrograms
from shiftjax.gradients.growth import PARTS, Growth
from shiftjax.gradients.jumps.passages import Passages, States
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
        found = self.recordings[0].programs
        assert isinstance(found, TangentPrograms)
        return found

    @property
    def places(self) -> TangentLayout:
        return self.programs.places

    def begin_metrics(self, members: np.ndarray) -> None:
        """The metrics of some members begin where they stand."""
        metrics = self.programs.metrics
        if metrics is None or not len(members):
            return
        self.evaluate("accumulate", members)
        table = self.table[:, members]
        own = self.places.rows_of_values("acc")
        for d in range(self.places.directions):
            rows = self.places.rows_of_tangents("acc", d)

            def begun(z: np.ndarray) -> np.ndarray:
                metrics.begin(z)
                return z

            table[rows] = complex_step(begun, table[own], table[rows])
        metrics.begin(table[own])
        self.table[:, members] = table

    def _advance(self, members: np.ndarray, until: np.ndarray) -> None:
        """As those without tangents, by way of the jumps that are followed."""
        follows = self.passages.follows[members] if self.passages else np.zeros(len(members), bool)
        if not follows.any():
            super()._advance(members, until)
            return
        if not follows.all():
            super()._advance(members[~follows], until[~follows])
        members, until = members[follows], until[follows]
        before = self.table[:, members].copy()
        super()._advance(members, until)
        new = self._counts(self.table[:, members]) != self._counts(before)
        passes = new.any(0)
        if not passes.any():
            return
        members, until, new = members[passes], until[passes], new[:, passes]
        self.table[:, members] = before[:, passes]  # once more, in parts
        clock = self.row("clock")[members]
        single = until - clock <= 1.0
        if single.any():
            self._jump(members[single], new[:, single])
            super()._advance(members[single], until[single])
        several = ~single
        if several.any():
            self._advance(members[several], np.floor((clock + until) / 2)[several])
            self._advance(members[several], until[several])

    def _counts(self, table: np.ndarray) -> np.ndarray:
        """(knots, B) passages of lanes so far."""
        assert self.passages is not None
        return self.passages.counts(table[self.places.rows_of_values("acc")])

    def _jump(self, members: np.ndarray, which: np.ndarray) -> None:
        """Adds the impulses of jumps to the tangents of speeds at the beginning of the step in which they are.

        Args:
            which: (knots, B) of the jumps.
        """
        places, plan, passages = self.places, self.setup.plan, self.passages
        assert passages is not None
        before = self.table[:, members].copy()
        q, x, dx, p = (before[places.rows_of_values(name)] for name in ("q", "x", "dx", "p"))
        t = self.settings.t0 + self.row("clock")[members] * self.settings.h
        states = States(q, x[: plan.nv], dx[: plan.nv], p, t)
        pushed = before.copy()
        for k, own in enumerate(which):
            mine = np.flatnonzero(own)
            if not len(mine):
                continue
            changed = before.copy()
            changed[places.rows_of_values("p")][:, mine] = passages.beyond(k, states.of(mine))
            beyond = self._accelerated(members, changed)[places.rows_of_values("dx")][: plan.nv, mine]
            slopes, good = passages.slope(k, states.of(mine), beyond)
            for d in range(places.directions):
                parts = [before[places.rows_of_tangents(name, d)][:, mine] for name in ("q", "x", "p")]
                impulse = (slopes * np.concatenate([parts[0], parts[1][: plan.nv], parts[2]])).sum(0)
                constants = places.rows_of_tangents("p", d).start + np.array(passages.knots[k].constants)
                pushed[np.ix_(constants, mine)] += impulse
            self.followed[members[mine]] += good
        rates = [np.r_[places.rows_of_tangents("dx", d)] for d in range(places.directions)]
        moving = [np.r_[places.rows_of_tangents("x", d)] for d in range(places.directions)]
        more, plain = (self._accelerated(members, table) for table in (pushed, before))
        for own, rate in zip(moving, rates, strict=True):
            before[own] += more[rate] - plain[rate]
        after = self._accelerated(members, before)
        for rate in rates:
            before[rate] = after[rate]
        self.table[:, members] = before

    def _accelerated(self, members: np.ndarray, table: np.ndarray) -> np.ndarray:
        """The table of some members with their rates computed."""
        self.table[:, members] = table
        self.evaluate("accelerate", members)
        return self.table[:, members].copy()

    def between(self, a: np.ndarray, b: np.ndarray, s: np.ndarray, span: np.ndarray) -> np.ndarray:
        """The table between two of the same members, tangents too."""
        out, plan = b.copy(), self.setup.plan
        groups = {"q": plan.nq, "x": plan.nv + plan.ns, "dx": plan.nv + plan.ns}
        starts = np.cumsum([0, *groups.values()])
        inside = {name: range(first, first + groups[name]) for name, first in zip(groups, starts, strict=False)}
        values = np.r_[tuple(self.places.rows_of_values(name) for name in groups)]

        def between(ends: np.ndarray) -> np.ndarray:
            return interpolated(plan, inside, ends[0], ends[1], s, span)

        ends = np.stack([a[values], b[values]])
        for d in range(self.places.directions):
            rows = np.r_[tuple(self.places.rows_of_tangents(name, d) for name in groups)]
            out[rows] = complex_step(between, ends, np.stack([a[rows], b[rows]]))
        out[values] = between(ends)
        return out


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
            np.stack([lanes.table[places.rows_of_tangents(name, d)][:, members] for d in range(places.directions)], -1)
            for name in ("q", "x")
        )
        time = (lanes.row("clock")[members] - settings.before) * settings.h
        self._growth.tangents(members, time, q, x[:nv])

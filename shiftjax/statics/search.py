"""The search of many members for their equilibria, and what is known of them there. Host code.

Each goes downhill from the pose at which `assemble` puts it (`settling`), and what is recorded is that of the mechanism
assembled at the pose in which it ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.forces import FORCES
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.assemble import assembled
from shiftjax.run.options import Options
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.statics.at_rest import AtRest, Linear, ranks_at
from shiftjax.statics.settling import Settled, settle
from shiftjax.statics.stability import squared_frequencies, stability


@dataclass
class Search:
    """The search of members for their equilibria, and what is known there.

    Attributes:
        unstable: whether equilibria of any kind do. settle: False leaves members where they begin.
        prepared: the model; q: (nq, B). still: (B,) whether members stand, or stay where they begin. residual,
            potential, stability: (B,). squared: (B, k), of members that have fewer freedoms NaN behind.
        states: (ns, B) of forces. ranks: (B, S) of the loops where members begin. linear: members -> the motions about
            their poses, a group of those with the same ranks each.
    """

    unstable: bool = False
    settle: bool = True
    linear: list[tuple[np.ndarray, Linear]] = field(default_factory=list)

    def result(self, model: Model | str, given: Options) -> Result:
        """What is recorded where members stand, with their status.

        Raises:
            ModelError: as of `equilibrium`.
        """
        model = model if isinstance(model, Model) else load(model)
        result = assembled(model, given, moved=self.moved)
        failed = ~self.still & (np.atleast_1d(result.status) <= 0)
        if not failed.any():
            return result
        status = np.where(failed, int(Outcome.no_equilibrium), result.status)
        texts = tuple(self._cause(k) if failed[k] else text for k, text in enumerate(result.messages))
        return replace(result, status=status if result.batched else status[0], messages=texts)

    def _cause(self, member: int) -> str:
        plan, drifting = self.prepared.plan, self.drifting[member]
        if drifting >= 0:
            force = next(force for force in plan.forces if drifting in force.states)
            name = FORCES[force.kind].states[force.states.index(drifting)].name
            return f"{force.path}.{name} goes on changing at rest: give that force no part of it, or drive the joint"
        moving = plan.speed_names()[self.moving[member]]
        left = f"forces of up to {self.residual[member]:.3g} N m still move {moving}"
        return f"{left}: {REMEDY[Outcome.no_equilibrium].partition(': ')[2]}"

    def moved(self, prepared: Prepared, began: Start) -> Start:
        """Members where they are in equilibrium, at rest."""
        plan, B = prepared.plan, prepared.members
        self.prepared, self.q, states = prepared, began.q.copy(), began.states.copy()
        self.still, self.residual = np.zeros(B, bool), np.full(B, np.nan)
        self.moving, self.potential = np.zeros(B, int), np.full(B, np.nan)
        self.drifting = np.full(B, -1)
        self.stability = np.full(B, "", dtype="<U8")
        sound = np.isfinite(began.q).all(0) & np.isfinite(prepared.values).all(0) & began.closed
        members = np.flatnonzero(sound)
        lane = prepared.lane_of(members, 1.0)
        ranks = ranks_at(plan, lane, began.beside[:, members])
        self.ranks = np.zeros((B, len(plan.substructures)), int)
        self.ranks[members] = ranks
        self.squared = np.full((B, plan.nv - ranks.sum(1).min(initial=plan.nv)), np.nan)
        for every in np.unique(ranks, axis=0):
            group = members[(ranks == every).all(1)]
            rest = self.rest(group)
            _refuse_moving_drivers(rest, self.q[:, group])
            there = self._stand(rest, group, states[:, group])
            self.q[:, group], states[:, group] = there.q, there.states
            self.still[group], self.residual[group], self.moving[group] = there.still, there.residual, there.moving
            self.drifting[group] = there.drifting
            linear = rest.linear(there.q, there.states)
            self.potential[group] = linear.potential
            squares = squared_frequencies(linear)
            self.squared[group, : squares.shape[1]] = np.real(squares)
            self.stability[group] = stability(linear, squares)
            self.linear.append((group, linear))
        self.states = states
        calm, none = np.zeros(B, bool), np.full(B, -1)
        return replace(
            began, q=self.q, v=np.zeros_like(began.v), states=states, binding=calm, speed_moved=none, at_pose=None,
            ways=None,
        )  # fmt: skip

    def rest(self, members: np.ndarray) -> AtRest:
        """Members whose loops have the ranks of the first."""
        ranks = tuple(map(int, self.ranks[members[0]]))
        return AtRest(self.prepared.plan, self.prepared.lane_of(members, 1.0), ranks)

    def _stand(self, rest: AtRest, members: np.ndarray, states: np.ndarray) -> Settled:
        q = self.q[:, members]
        if self.settle:
            return settle(rest, q, states, any_kind=self.unstable)
        states = rest.settled(q, states)
        left = np.abs(rest.balance(q, states)[1]).max(1, initial=0.0)
        none = np.full(len(members), -1)
        return Settled(q, states, np.isfinite(left), left, none, none)


def _refuse_moving_drivers(rest: AtRest, q: np.ndarray) -> None:
    for k, led in enumerate(rest.led(q)):
        if led.any():
            todo = "Drive the joint to a place, `drive={joint: shiftjax.Polynomial([place])}`, or switch it off."
            name = rest.plan.constraints[k].name
            raise ModelError(f"driver {name}", "a motion", "drivers that stand still at the time 0", todo)

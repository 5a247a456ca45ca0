"""`equilibrium`: where a mechanism stays at rest under gravity, springs and loads, of one design or of many. Host code.

Each member goes downhill from the pose at which `assemble` puts it (`settling`), and what is recorded there is that of
the mechanism assembled at the pose in which it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.forces import FORCES
from shiftjax.formats.files import load
from shiftjax.gradients.traced import is_traced
from shiftjax.markup import html_lines
from shiftjax.mechanism.model import Model
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record
from shiftjax.run.assemble import assembled
from shiftjax.run.derive import Formula
from shiftjax.run.options import Options, options_of
from shiftjax.run.results.result import Result
from shiftjax.run.results.summary import rest_summary
from shiftjax.run.start.drives import Drivable
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.statics.at_rest import AtRest, Linear, ranks_at
from shiftjax.statics.settling import Settled, settle
from shiftjax.statics.stability import squared_frequencies, stability


@record
class Equilibrium:
    """Where B designs are in equilibrium, or one without a member axis.

    Attributes:
        q: coordinate -> (B,) its place [rad or m], of a ball (B, 4) or (B, 3); where no equilibrium was reached that of
            the last step.
        stability: (B,) "stable", "unstable" or "neutral"; "" where no equilibrium was reached.
        squared_frequencies: (B, k) of the undamped motions about it, ascending [rad^2/s^2]; negative ones leave it.
        residual: (B,) the largest generalized force that is left along a motion that loops allow [N m]; one along a
            motion in m counts times the model's length.
        potential: (B,) of gravity and springs [J].
        channels: path -> (B, ...) what was asked to be recorded; NaN where no equilibrium was reached.
        units: coordinate or channel path -> unit.
        result: of the mechanism assembled there, with status, messages, units, certificate and poses; a run goes on
            from it, `simulate(start=...)`.
    """

    q: dict[str, np.ndarray]
    stability: np.ndarray
    squared_frequencies: np.ndarray
    residual: np.ndarray
    potential: np.ndarray
    channels: dict[str, np.ndarray]
    units: dict[str, str]
    result: Result

    def __repr__(self) -> str:
        return "\n".join(rest_summary(self))

    def _repr_html_(self) -> str:
        return html_lines(rest_summary(self))

    @property
    def status(self) -> np.ndarray:
        """(B,) `Outcome` of every member."""
        return self.result.status

    @property
    def messages(self) -> tuple[str, ...]:
        """(B,) cause and remedy, "" where there is an equilibrium."""
        return self.result.messages


def equilibrium(
    model: Model | str,
    *,
    unstable: bool = False,
    channels: Sequence[str] = (),
    keep: int | str | Sequence[int] = "none",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
) -> Equilibrium:
    """Where a mechanism stays at rest under gravity, springs and loads, of one design or of many.

    Args:
        model: a Model, a library name or a path.
        unstable: True takes the equilibrium of any kind to which Newton's method leads; else the mechanism goes
            downhill from where it stands, to one that is stable.
        channels: paths to record there, as `joint.reaction_force`; nothing moves.
        keep: the members that have the poses of all bodies recorded: "all", "none", how many, or a list of them.
        vary, assign, derive, drive, tie: as those of `simulate`; drivers must stand still.
        backend, precision, threads: as those of `simulate`, for what is recorded.

    Returns:
        poses at which forces vanish along all motions that loops allow, to rounding. Laws in time stand at 0; friction
        holds nothing, since it grows with speed from zero on; internal states of forces have settled. Where many steps
        downhill lead to no such pose the status is `no_equilibrium`.

    Raises:
        ModelError: anything the model or the arguments make impossible; a driver that moves.
    """
    given = options_of(
        channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, drive=drive, tie=tie, backend=backend,
        precision=precision, threads=threads,
    )  # fmt: skip
    search = Search(unstable=unstable)
    return equilibrium_of(search, search.result(model, given))


def equilibrium_of(search: Search, result: Result) -> Equilibrium:
    """What a search has come to, whose result this is."""
    pick = (lambda a: a) if result.batched else (lambda a: a[0])
    good = search.still & (np.atleast_1d(result.status) <= 0)
    hidden = {path: np.where(good.reshape(-1, *(1,) * (np.ndim(x) - 1)) if result.batched else good[0], x, np.nan)
              for path, x in result.channels.items()}  # fmt: skip
    return Equilibrium(
        q={one.path: pick(search.q[one.q] if one.plain else search.q[one.places].T)
           for one in search.prepared.plan.coordinates},
        stability=pick(np.where(good, search.stability, "")),
        squared_frequencies=pick(np.where(good[:, None], search.squared, np.nan)),
        residual=pick(search.residual),
        potential=pick(search.potential),
        channels={path: x[:, 0] if result.batched else x[0] for path, x in hidden.items()},
        units={**{one.path: "1" if one.quaternion else one.unit for one in search.prepared.plan.coordinates},
               **{path: result.units[path] for path in hidden}},
        result=replace(result, channels=hidden),
    )  # fmt: skip


@dataclass
class Search:
    """The search of members for their equilibria, and what is known there.

    Attributes:
        unstable: whether equilibria of any kind do. settle: False leaves members where they begin.
        prepared: the model; q: (nq, B). still: (B,) whether members stand, or stay where they begin. residual,
            potential, stability: (B,). squared: (B, k), of members that have fewer freedoms NaN behind.
        states: (ns, B) of forces. ranks: (B, S) of the loops where members begin. linear: members -> the motions about their poses, a group of those with the same
            ranks each.
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
        if traced := [path for path, values in (given.design.vary or {}).items() if is_traced(values)]:
            todo = "Take differences of equilibria, or `inverse_dynamics` of the pose."
            raise ModelError(f"vary {traced[0]}", "a number that JAX traces", "known numbers", todo)
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
            rest = AtRest(plan, prepared.lane_of(group, 1.0), tuple(map(int, every)))
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

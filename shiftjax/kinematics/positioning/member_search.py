"""Poses that members come to in one call of inverse kinematics, and what is said of them. Host code.

Each member begins where `assemble` puts it, and goes from there (`solver`); where asked, members that miss a goal try
again from other poses, and the best one counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy.stats import qmc

from shiftjax.access.stated_state import StatedState, stated_state
from shiftjax.errors import ModelError, need, need_mapping, shown
from shiftjax.kinematics.positioning.goals import CenterGoal, Goal, JointGoal, PotentialGoal, Ranked, ranked
from shiftjax.kinematics.positioning.lone_joints import LoneJoints
from shiftjax.kinematics.positioning.open_chain import OpenChain
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.solving.damping import REACHED, Positioned
from shiftjax.kinematics.positioning.solving.manifold import Manifold
from shiftjax.kinematics.positioning.solving.solver import solved
from shiftjax.kinematics.positioning.stage_search import solved_in_order, stages_in, values_at
from shiftjax.kinematics.positioning.stages import columns_of
from shiftjax.kinematics.positioning.stated_goals import stated_goals, states_goals
from shiftjax.mechanism.model import Model
from shiftjax.numerics.real_arrays import real_array
from shiftjax.outcome import Outcome
from shiftjax.record import record

FALLING = "the energy still falls after many steps: nothing holds what falls"
LESS = 1e-12  # by which a level must be missed by less for a pose to be a better one
FINISHED = 1e-13  # a goal of an open chain that is missed by less is as good as it gets
MOST_TRIES = 1000
ARRAYS = {"T": 1, "R": 2, "value": 0}  # of goals, and their axes without that of members
PORTION = 16384  # members at once: what is evaluated together stays in the cache


@record
class InverseKinematics:
    """Poses of B members, or of one without a member axis.

    Attributes:
        coordinates: (B, nq) of all joints, as `configuration(q=...)` takes them.
        q: coordinate -> (B,) its place [rad or m], of a ball (B, 4) or (B, 3). units: of these.
        missed: level -> (B,) by how much its goals are missed, each by its weight: the root of the sum of squares, with
            metres in parts of the model's length; of an energy that itself, in parts of weight times length.
        by_goal: (B, rows) by how much each row is missed [m or rad], times its weight; labels: what each is.
        reached: (B,) whether all goals but postures are met, to 1e-9, and energies are at a least one.
        status: (B,) `Outcome`: 0, or above 0 where loops cannot be closed, or numbers cannot be; all is NaN there, but
            where `open_loops` lets loops open.
        gap: (B,) by which loops are open where they cannot be closed [m or rad].
        iterations: (B,) steps that were tried. messages: B texts, "" where all goals are met.
    """

    coordinates: np.ndarray
    q: dict[str, np.ndarray]
    units: dict[str, str]
    missed: dict[str, np.ndarray]
    by_goal: np.ndarray
    labels: tuple[str, ...]
    reached: np.ndarray
    status: np.ndarray
    gap: np.ndarray
    iterations: np.ndarray
    messages: Any

    def __repr__(self) -> str:
        count = np.size(self.reached)
        lines = [f"inverse kinematics of {count} {'pose' if count == 1 else 'poses'}: {np.sum(self.reached)} reached"]
        for level, x in self.missed.items():
            least = np.fmin.reduce(np.ravel(x), initial=np.inf)
            most = f"missed by at most {np.fmax.reduce(np.ravel(x), initial=0.0):.3g} rad or lengths of the model"
            text = "an energy" if least < 0.0 else most
            lines.append(f"  {level}: {text}")
        return "\n".join(lines + [f"  {text}" for text in np.unique(self.messages)[:3] if text])


class MemberSearch(PositionSearch):
    """One call, and the poses that members have come to."""

    def __init__(
        self, model: Model, stated: StatedState, goals: Sequence[Goal], levels: Sequence[Ranked],
        limits: Mapping[str, Any] | None, *, open_loops: bool = False,
    ) -> None:  # fmt: skip
        columns = columns_of(stated.prepared.model, stated.prepared.plan)
        staged = len(columns) > 1  # then loops of later stages may open
        super().__init__(model, stated, goals, levels, limits, open_loops=open_loops or staged)
        self.stages = stages_in(self, columns) if staged else []
        self.sound = stated.status <= 0
        if self.goals.opened and open_loops:
            self.sound |= (stated.status == Outcome.not_assembled) & np.isfinite(stated.q).all(0)
        self.chain = None if staged or not OpenChain.serves(self.goals) else OpenChain(self.goals, self.ground)
        alone = not staged and LoneJoints.serves(self.goals, goals)
        self.lone = LoneJoints(model, self.goals, cast(Sequence[JointGoal], goals), stated.q) if alone else None

    def best(self, tries: int) -> Positioned:
        """The best pose of each member (nq, B) of several tries; NaN where loops cannot be closed."""
        out = Positioned.at(np.full_like(self.stated.q, np.nan), len(self.levels))
        if self.lone is not None:
            every = np.flatnonzero(self.sound)
            self._take(out, self.lone.descended(self.stated.q[:, every], every), every, first=True)
            return out
        spread = qmc.Halton(self.plan.nv, rng=0) if tries > 1 else None
        members = np.flatnonzero(self.sound)
        for k in range(tries):
            begin = self.stated.q[:, members]
            if k:
                assert spread is not None
                begin, closed = self._elsewhere(members, spread.random(len(members)))
                begin, members = begin[:, closed], members[closed]
            for first in range(0, len(members), PORTION):
                some, q = members[first : first + PORTION], begin[:, first : first + PORTION]
                there = self.chain.descended(q, some) if self.chain else self._descended(q, some)
                self._take(out, there, some, first=not k)
            members = np.flatnonzero(self.sound & ~self._reached(out.value))
            if not len(members):
                break
        members = np.flatnonzero(self.sound & ~(out.value[-1] <= FINISHED))
        if self.chain and len(members):  # which does not wait for what comes slowly
            self._take(out, solved(self.goals, out.q[:, members], members), members, first=False)
        return out

    def _descended(self, q: np.ndarray, members: np.ndarray) -> Positioned:
        """From coordinates (nq, B) of some members through all levels, and all stages."""
        if not self.stages:
            return solved(self.goals, q, members)
        at, tried, falling = solved_in_order(self.stages, q, members)
        out = values_at(self.goals, at, members)
        out.iterations = tried
        out.unfinished[[k for k, one in enumerate(self.levels) if one.energy]] = falling
        return out

    def _elsewhere(self, members: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Other poses of members (nq, B), by shares (B, nv) of the way between ends; (B,) where loops close."""
        goals, limits = self.goals, self.goals.limits
        begin = self.stated.q[:, members]
        change = (share - 0.5) * np.where(goals.unit == 1.0, 2.0 * np.pi, 2.0)
        q = goals.moved(begin, change)
        low, high = limits.low[:, members], limits.high[:, members]
        ends = np.isfinite(low) & np.isfinite(high)
        with np.errstate(invalid="ignore"):
            between = low + share[:, limits.v].T * (high - low)
        q[limits.q] = np.where(ends, between, np.clip(q[limits.q], low, high))
        return Manifold.of_loops(goals, members).restored(q, np.zeros((len(members), len(limits.q)), bool))

    def _take(self, out: Positioned, come: Positioned, members: np.ndarray, *, first: bool) -> None:
        """Members for which what has come is better by their most important level that differs."""
        better = np.full(len(members), first)
        undecided = ~better
        for before, now in zip(out.value[:, members], come.value, strict=True):
            better |= undecided & (now < before - LESS)
            undecided &= np.abs(now - before) <= LESS
        taken = members[better]
        out.q[:, taken], out.value[:, taken] = come.q[:, better], come.value[:, better]
        out.unfinished[:, taken] = come.unfinished[:, better]
        out.iterations[members] += come.iterations

    def _reached(self, missed: np.ndarray) -> np.ndarray:
        """(B,) whether all levels but postures are met."""
        return np.asarray((missed[self._counting] <= REACHED).all(0))

    @property
    def _counting(self) -> list[int]:
        return [k for k, one in enumerate(self.levels) if one.name != "posture" and not one.energy]

    def _missing(self, values: np.ndarray, missed: np.ndarray, labels: Sequence[str], rows: Sequence[int]) -> str:
        """By how much the most important level that is not met is missed."""
        level = next(k for k in self._counting if not values[k] <= REACHED)
        some = [i for i, k in enumerate(rows) if k == level]
        if undefined := next((labels[i] for i in some if np.isnan(missed[i])), None):
            return f"{undefined} has no value here, so that nothing tells which way to go: begin where it has one"
        worst = max(some, key=lambda i: abs(missed[i]))
        text = f"the nearest pose from here misses {labels[worst]} by {missed[worst]:.6g}"
        return f"{text}: more `tries` begin elsewhere, too"

    def outcome(self, best: Positioned) -> InverseKinematics:
        """What the caller gets."""
        stated, plan = self.stated, self.plan
        every = np.arange(stated.q.shape[1])
        labels, by_goal, rows = list[str](), [], list[int]()  # of each number its level
        for k, one in enumerate(self.goals.levels):
            here = self.goals.local(k, best.q, every)
            by_goal.append(one.in_si(here))
            labels += one.labels
            rows += [k] * len(one.labels)
        missed, reached = np.concatenate(by_goal, axis=1), self._reached(best.value) & self.sound
        energies = [k for k, one in enumerate(self.levels) if one.energy]
        falling, lost = best.unfinished[energies].any(0) & self.sound, ~self.sound
        texts = [text if lost[k] else "" for k, text in enumerate(stated.messages)]
        for k in np.flatnonzero(~reached & ~lost):
            texts[k] = self._missing(best.value[:, k], missed[k], labels, rows)
        for k in np.flatnonzero(falling):
            texts[k] = FALLING + ("; " + texts[k] if texts[k] else "")
        reached &= ~falling
        status, gap = np.where(lost, stated.status, 0), stated.gap
        if self.goals.opened:
            gaps = np.abs(missed[:, : len(self.goals.levels[0].labels)]).max(1, initial=0.0)
            gap = np.where(self.sound, gaps, gap)
            status = np.where(self.sound & ~(best.value[0] <= REACHED), int(Outcome.not_assembled), status)

        def pick(x: Any) -> Any:
            return x if stated.members is not None else x[0]

        return InverseKinematics(
            pick(best.q.T), plan.by_coordinate(pick(best.q.T)), plan.coordinate_units(),
            {one.name: pick(x) for one, x in zip(self.levels, best.value, strict=True)}, pick(missed), tuple(labels),
            pick(reached), pick(status), pick(gap), pick(best.iterations), pick(texts),
        )  # fmt: skip


@dataclass(frozen=True)
class PositionProblem:
    """A call of `inverse_kinematics`, checked.

    Attributes:
        goals, limits, tries, open_loops: as its arguments. design: the others.
    """

    model: Model
    goals: Sequence[Goal]
    limits: Mapping[str, Any] | None = None
    tries: int = 1
    design: Mapping[str, Any] = field(default_factory=dict)
    open_loops: bool = False

    def __post_init__(self) -> None:
        if not (states_goals(self.model) and isinstance(self.goals, list | tuple) and not self.goals):
            ranked(self.goals)
        tries = self.tries
        if isinstance(tries, bool) or not isinstance(tries, int) or not 1 <= tries <= MOST_TRIES:
            raise ModelError(
                "tries", shown(tries), f"an integer from 1 to {MOST_TRIES}", "1 begins at the start alone."
            )
        if self.limits is not None:
            need_mapping("limits", self.limits)
        need("open_loops", self.open_loops, bool, "True or False")

    @property
    def massless(self) -> bool:
        """Whether nothing depends on masses."""
        return not any(isinstance(goal, CenterGoal | PotentialGoal) for goal in self.goals)

    def members(self) -> int | None:
        """How many problems arrays make; None of one without an axis of members.

        Raises:
            ModelError: arrays of several lengths.
        """
        sizes: dict[str, int] = {}
        for k, goal in enumerate(self.goals):
            for name, axes in ARRAYS.items():
                value = getattr(goal, name, None)
                array = None if value is None else real_array(value)
                if array is not None and array.ndim == axes + 1:
                    sizes[f"goals[{k}].{name}"] = len(array)
        for path, ends in (self.limits or {}).items():
            for name, end in zip(("low", "high"), ends, strict=False) if isinstance(ends, tuple | list) else ():
                if np.ndim(end):
                    sizes[f"limits {path}, {name}"] = len(end)
        q = self.design.get("q")
        varied = {**(self.design.get("vary") or {}), **(q if isinstance(q, Mapping) else {})}
        sizes |= {path: len(values) for path, values in varied.items() if np.ndim(values) == 1}
        if len(set(sizes.values())) > 1:
            raise ModelError(
                "members", f"lengths {sizes}", "one length for all", "Give each as many values as members."
            )
        return next(iter(sizes.values()), None)

    def search(self) -> MemberSearch:
        """Of its members, which stand where they begin.

        Raises:
            ModelError: what the model or the arguments make impossible.
        """
        members = self.members()
        time = None if members is None else np.zeros(members)
        return self.search_from(
            stated_state(
                self.model,
                **{"q": None, "v": None, "vary": None, "start": None, **self.design},
                time=time,
                massless=self.massless,
            )
        )

    def search_from(self, stated: StatedState) -> MemberSearch:
        """Of members that begin somewhere, with the goals of their model."""
        goals = [*self.goals, *(stated_goals(stated, self.goals) if states_goals(self.model) else ())]
        return MemberSearch(self.model, stated, goals, ranked(goals), self.limits, open_loops=self.open_loops)

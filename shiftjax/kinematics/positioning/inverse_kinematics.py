"""`inverse_kinematics`: poses of a mechanism that meet goals as far as loops, limits and priorities let them. Host
code.

Each member begins where `assemble` puts it, and goes from there (`solver`); where asked, members that miss a goal try
again from other poses, and the best one counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from scipy.stats import qmc

from shiftjax.access.stated_state import StatedState, stated_state
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need_mapping, shown
from shiftjax.formats.files import load
from shiftjax.gradients.traced import is_traced
from shiftjax.kinematics.positioning.damping import Positioned
from shiftjax.kinematics.positioning.goals import KINDS, CenterGoal, Goal, JointGoal, PotentialGoal, Ranked, ranked
from shiftjax.kinematics.positioning.lone_joints import LoneJoints
from shiftjax.kinematics.positioning.manifold import Manifold
from shiftjax.kinematics.positioning.open_chain import OpenChain
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.solver import solved
from shiftjax.kinematics.positioning.stated_goals import stated_goals, states_goals
from shiftjax.mechanism.model import Model
from shiftjax.real_arrays import real_array
from shiftjax.record import record
from shiftjax.run.derive import Formula
from shiftjax.run.results.result import Result
from shiftjax.run.start.drives import Drivable

REACHED = 1e-9  # dimensionless: a goal that is missed by less is met
FALLING = "the energy still falls after many steps: nothing holds what falls"
LESS = 1e-12  # by which a level must be missed by less for a pose to be a better one
FINISHED = 1e-13  # a goal of an open chain that is missed by less is as good as it gets
PORTION = 16384  # members at once: what is evaluated together stays in the cache
MOST_TRIES = 1000


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
        status: (B,) `Outcome`: 0, or above 0 where loops cannot be closed, or numbers cannot be; all is NaN there.
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
            text = "an energy" if least < 0.0 else f"missed by at most {np.fmax.reduce(np.ravel(x), initial=0.0):.3g}"
            lines.append(f"  {level}: {text}")
        return "\n".join(lines + [f"  {text}" for text in np.unique(self.messages)[:3] if text])


def inverse_kinematics(
    model: Model | str,
    goals: Sequence[Goal] | Goal = (),
    *,
    limits: Mapping[str, Any] | None = None,
    q: Any = None,
    tries: int = 1,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    start: Result | None = None,
) -> InverseKinematics:
    """Poses at which loops close and goals are met, the more important ones first, of one design or of many.

    Args:
        model: a Model, a library name or a path.
        goals: `FrameGoal`, `CenterGoal`, `JointGoal`; values of shape (B, ...) make B problems of one design, or one
            for each design that varies. Locks, targets and postures of the model are goals beside them, but for those
            of a coordinate of which a goal of the same level is given here; a call may give none then.
        limits: coordinate -> (low, high) [rad or m], either None or infinite where there is none; below loops, above
            all goals. Limits and stops of the model (forces of type `stop`) are those of joints that are not named
            here, the tighter one where a joint has both.
        q: coordinate -> where members begin, as of `configuration`, which closes the loops from there.
        tries: of members that miss a goal, from how many poses, the first of them the start: the others are spread
            evenly between limits, half a turn about the start, or a model's length, where there are none. With loops
            they may be on another branch.
        vary, assign, derive, drive, tie, start: as those of `configuration`.

    Returns:
        an `InverseKinematics`; without arrays of members it has no member axis. A goal out of reach leaves the nearest
        pose that was come to. What is near is local, as it is for every method that goes downhill: `tries` is the
        remedy.

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    model = model if isinstance(model, Model) else load(model)
    goals = [goals] if isinstance(goals, KINDS) else goals
    of_model = states_goals(model)
    if not (of_model and isinstance(goals, list | tuple) and not goals):
        ranked(goals)
    if isinstance(tries, bool) or not isinstance(tries, int) or not 1 <= tries <= MOST_TRIES:
        raise ModelError("tries", shown(tries), f"an integer from 1 to {MOST_TRIES}", "1 begins at the start alone.")
    if limits is not None:
        need_mapping("limits", limits)
    members = _members_of(goals, limits, {**(vary or {}), **(q if isinstance(q, Mapping) else {})})
    stated = stated_state(
        model, q=q, v=None, vary=vary, assign=assign, derive=derive, drive=drive, tie=tie, start=start,
        time=None if members is None else np.zeros(members),
        massless=not any(isinstance(goal, CenterGoal | PotentialGoal) for goal in goals),
    )  # fmt: skip
    goals = [*goals, *(stated_goals(stated, goals) if of_model else ())]
    search = _Search(model, stated, goals, ranked(goals), limits)
    return search.outcome(search.best(tries))


def _members_of(goals: Sequence[Goal], limits: Mapping[str, Any] | None, varied: Mapping[str, Any]) -> int | None:
    """How many problems arrays make.

    Raises:
        ModelError: arrays of several lengths; derivatives that are asked for.
    """
    sizes: dict[str, int] = {}
    for k, goal in enumerate(goals):
        for name, axes in (("T", 1), ("R", 2), ("value", 0)):
            value = getattr(goal, name, None)
            if is_traced(value):
                todo = "Take `configuration` for slopes of poses, or differences."
                raise ModelError(f"goals[{k}].{name}", "a traced value", "numbers", todo)
            array = None if value is None else real_array(value)
            if array is not None and array.ndim == axes + 1:
                sizes[f"goals[{k}].{name}"] = len(array)
    for path, ends in (limits or {}).items():
        for name, end in zip(("low", "high"), ends, strict=False) if isinstance(ends, tuple | list) else ():
            if np.ndim(end):
                sizes[f"limits {path}, {name}"] = len(end)
    sizes |= {path: len(values) for path, values in varied.items() if np.ndim(values) == 1}
    if len(set(sizes.values())) > 1:
        raise ModelError("members", f"lengths {sizes}", "one length for all", "Give each as many values as members.")
    return next(iter(sizes.values()), None)


class _Search(PositionSearch):
    """One call, and the poses that members have come to."""

    def __init__(
        self, model: Model, stated: StatedState, goals: Sequence[Goal], levels: Sequence[Ranked],
        limits: Mapping[str, Any] | None,
    ) -> None:  # fmt: skip
        super().__init__(model, stated, goals, levels, limits)
        self.sound = stated.status <= 0
        self.chain = OpenChain(self.goals, self.ground) if OpenChain.serves(self.goals) else None
        alone = LoneJoints.serves(self.goals, goals)
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
                there = self.chain.descended(q, some) if self.chain else solved(self.goals, q, some)
                self._take(out, there, some, first=not k)
            members = np.flatnonzero(self.sound & ~self._reached(out.value))
            if not len(members):
                break
        members = np.flatnonzero(self.sound & ~(out.value[-1] <= FINISHED))
        if self.chain and len(members):  # which does not wait for what comes slowly
            self._take(out, solved(self.goals, out.q[:, members], members), members, first=False)
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
        worst = max(some, key=lambda i: abs(missed[i]))
        return f"the nearest pose from here misses {labels[worst]} by {missed[worst]:.6g}: `tries` looks elsewhere, too"

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

        def pick(x: Any) -> Any:
            return x if stated.members is not None else x[0]

        return InverseKinematics(
            pick(best.q.T), plan.by_coordinate(pick(best.q.T)), plan.coordinate_units(),
            {one.name: pick(x) for one, x in zip(self.levels, best.value, strict=True)}, pick(missed), tuple(labels),
            pick(reached), pick(np.where(lost, stated.status, 0)), pick(stated.gap), pick(best.iterations), pick(texts),
        )  # fmt: skip

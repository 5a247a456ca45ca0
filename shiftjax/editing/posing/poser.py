"""`Poser`: a mechanism that is posed by hand, bodies dragged and joints turned, with all that was done.

Each step is a problem of `kinematics.positioning` from where the mechanism stands: locked joints first, then what the
hand wants, beside goals that are kept, each at its level. A drag is many of them, each of a few iterations, and one
step of the history.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.access.stated_state import StatedState, stated_state
from shiftjax.editing.elements import consistent
from shiftjax.editing.locks import LockNames
from shiftjax.editing.path_moves import PathMoves
from shiftjax.editing.posing.goal_states import GoalSight, GoalState, missing, turning_axes
from shiftjax.editing.posing.joint_ways import JointWay, joint_way
from shiftjax.editing.posing.kept_goals import (
    GoalWords,
    HandGoal,
    at_level,
    before,
    direction,
    goal_named,
    goals_after,
    keep_line,
    name_for,
    ranked_goal,
    without,
)
from shiftjax.editing.posing.placed_bodies import PlacedBodies
from shiftjax.editing.posing.pose_history import PoseHistory, PoseStep
from shiftjax.editing.scripts import line_of, replayed
from shiftjax.editing.standing import Poses, driven_joints, size_of, stated_at, with_joints
from shiftjax.errors import ModelError, need, need_mapping, need_number, shown
from shiftjax.formats.files import load, save
from shiftjax.kinematics.positioning.goals import LETTERS, FrameGoal, Goal, JointGoal, Level, ranked
from shiftjax.kinematics.positioning.ground import Footing
from shiftjax.kinematics.positioning.lone_loops import CLOSED
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.solver import ITERATIONS, solved
from shiftjax.kinematics.positioning.stated_goals import locks_at, wanted_goals
from shiftjax.mechanism.coordinates import plain_coordinates
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.real_arrays import real_array, three_numbers
from shiftjax.rotations import rotation_of_vector
from shiftjax.run.start.prepared import Prepared

STEPS = ("drag", "turn", "stand", "pose", "lock", "unlock", "orient", "rotate", "keep", "release", "rank", "settle")
THERE = 1e-9  # rad, m or of a rotation matrix: what is locked is there still
ALONE = np.zeros(1, int)
HAND = 1.5  # level of what a hand wants: before targets and postures, after potentials
PIVOT = 2.5  # of the point about which it turns a body: what is kept or stated comes before that, postures after
Numbers = Sequence[float] | np.ndarray
SLIDERS = 12  # coordinates whose travel is asked for: 0.1 to 0.3 s each


class Poser(PoseHistory):
    """A mechanism that is posed by hand: loops stay closed, limits and stops hold, what is locked stays.

    What is out of reach leaves the nearest pose, with what is `missed`; `undo` takes a step back. A goal of a drag is
    one while it goes on, and stays one where it is kept (`keep`): then later drags and turns go beside it, at its
    level. What the hand leaves free goes to kept goals, and to the targets and postures of the model. Elements are
    named by their paths, or the ends of them.

    Args:
        model: a Model, a library name or a path.

    Attributes:
        missed: by how much the last drag or turn misses what was wanted [m or rad]; 0 after other steps.

    Raises:
        ModelError: loops that do not close.
    """

    def __init__(self, model: Model | str | Path) -> None:
        self.model = model if isinstance(model, Model) else load(model)
        self._state: StatedState = stated_state(
            self.model, q=None, v=None, vary=None, assign=None, derive=None, drive=None, tie=None, start=None,
            time=None, massless=True,
        )  # fmt: skip
        if self._state.status[0] > 0:
            raise ModelError(self.model.name or "model", self._state.messages[0], "loops that close", "Correct it.")
        plan = self._state.prepared.plan
        plain = plain_coordinates(self._state.prepared.model)
        self._coordinates = {one.path: one for one in plan.coordinates if one.path in plain}
        bodies = [path for path, _ in self.model.bodies()]
        self._words = GoalWords(self.model, self._coordinates)
        self._footing = Footing.of(self._state)
        self._unasked = copy.copy(self._footing.lone)  # loops of which no pose was asked yet
        self._placed = PlacedBodies(self._footing.lane, [FIXED, *bodies])
        self._locks, self._wanted = LockNames(self.model), wanted_goals(self._state)
        super().__init__(PoseStep(self._state.q[:, 0].copy(), self._locks.stated, ""))
        self._staying: tuple[PoseStep, list[Goal]] | None = None
        self._seen: tuple[PoseStep, dict[str, GoalState], tuple[GoalState, ...]] | None = None

    # -- what there is -------------------------------------------------------------------------------------------------

    @property
    def values(self) -> dict[str, float]:
        """Coordinate of one number -> where it stands [rad or m]."""
        return {path: float(self._now.q[one.q]) for path, one in self._coordinates.items()}

    @property
    def goal_states(self) -> dict[str, GoalState]:
        """Name -> how far the mechanism is from a goal that is kept, and what blocks it."""
        return self._states()[0]

    @property
    def hand_states(self) -> tuple[GoalState, ...]:
        """The same of the goals of the last drag or turn; none after other steps."""
        return self._states()[1]

    @property
    def poses(self) -> Poses:
        """Body -> (R (3, 3), p (3,) [m]) in the world, of ground, too."""
        return self._placed.at(self._now.q)

    @property
    def gap(self) -> float:
        """Largest residual of all loops, dimensionless."""
        return self._gap(self._now.q)

    def ranges(self, most: int = SLIDERS) -> dict[str, tuple[float, float]]:
        """Coordinate -> how far it goes from here [rad or m], of the first ones, see `range_of`."""
        return {path: self.range_of(path) for path in [*self._coordinates][:most]}

    def range_of(self, coordinate: str) -> tuple[float, float]:
        """How far a coordinate goes from here [rad or m], see `way_of`."""
        way = self.way_of(coordinate)
        return way.low, way.high

    def way_of(self, coordinate: str) -> JointWay:
        """How far a coordinate goes from here: to limits, stops and the ends of its travel.

        Where there are none, or other freedoms are left, half a turn or the model's length to either side.
        """
        path = self._words.coordinate(coordinate, "range_of")
        limits = self._search([JointGoal(path, level="posture")]).goals.limits
        return joint_way(self.posed, self._coordinates[path], self.values[path], limits, size_of(self.poses))

    @property
    def posed(self) -> Model:
        """The model that begins in this pose, with what is locked; displacements that followed from parameters are
        numbers where they do not any more."""
        stated = stated_at(self.model, self.poses, driven_joints(self.model))
        model, _ = consistent(self._locks.written(with_joints(self.model, stated), self.locks))
        return dataclasses.replace(model, origin=None, replaced=())

    # -- for a `Workbench` ---------------------------------------------------------------------------------------------

    @property
    def prepared(self) -> Prepared:
        """The model made ready, with the plan of its coordinates."""
        return self._state.prepared

    def allows(self, q: np.ndarray) -> bool:
        """Whether limits and locks allow coordinates (nq,)."""
        for name in self.locks & self._coordinates.keys():
            if abs(q[self._coordinates[name].q] - self._now.q[self._coordinates[name].q]) > THERE:
                return False
        here, there = self.poses, self._placed.at(q)
        for body in (name.removesuffix(f":{ORIGIN}") for name in self.locks - self._coordinates.keys()):
            if body in here and max(np.abs(x - y).max() for x, y in zip(here[body], there[body], strict=True)) > THERE:
                return False
        if not self._coordinates:
            return True
        limits = self._search([JointGoal(next(iter(self._coordinates)), level="posture")]).goals.limits
        low, high = limits.low[:, 0] - THERE, limits.high[:, 0] + THERE
        return bool(((q[limits.q] >= low) & (q[limits.q] <= high)).all())

    def poses_at(self, q: np.ndarray) -> Poses:
        """As `poses`, at coordinates (nq,)."""
        return self._placed.at(q)

    def turning_axes(self, body: str) -> np.ndarray:
        """(k, 3) orthonormal axes of the world about which a body can turn from here, beside locks and at limits."""
        goal = FrameGoal(self._words.body(body), R=np.eye(3), level=HAND)
        return turning_axes(self._search([*self._locked_goals(self._history[self._at]), goal]).goals, self._now.q)

    @property
    def locked_model(self) -> Model:
        """The model, not posed, with what is locked."""
        return self._locks.written(self.model, self.locks)

    @property
    def lockable(self) -> frozenset[str]:
        """What `lock` takes, by paths."""
        return self._locks.names

    def take_up(self, other: Poser, moves: Sequence[PathMoves]) -> tuple[list[str], list[str]]:
        """Locks and keeps from the beginning on what a poser of the model before its `moves` does; what is not there of
        either."""
        locks = other._locks.after(other.locks, moves, self._locks)
        lost = sorted(locks - self._locks.names)
        self.stand_at(dataclasses.replace(self._now, locks=self.locks | (locks - {*lost})))
        return lost, self.take_goals(goals_after(other.goals, moves))

    def take_goals(self, goals: Mapping[str, HandGoal]) -> list[str]:
        """Keeps goals from the beginning on; the names of those that are about nothing here."""
        taken = {name: goal for name, goal in goals.items() if self._words.has(goal)}
        self.stand_at(dataclasses.replace(self._now, goals=taken))
        return [name for name in goals if name not in taken]

    # -- steps ---------------------------------------------------------------------------------------------------------

    def drag(self, body: str, point: Numbers, target: Numbers) -> Poser:
        """A body with a point of it (3,) [m, in the body] at a place of the world (3,) [m], or as near as it comes."""
        self.drop()
        self._put(self._dragged(body, point, target, ITERATIONS))
        return self

    def drag_on(self, body: str, point: Numbers, target: Numbers) -> Poser:
        """A part of a drag: as many iterations towards a place as a picture has time for. The drag ends, as one step,
        with `drop`."""
        return self._part(lambda count: self._dragged(body, point, target, count))

    def orient(self, body: str, R: Any, at: Numbers = (0.0, 0.0, 0.0)) -> Poser:
        """A body with its axes along R (3, 3) of the world, as columns, or as near as they come.

        Args:
            at: (3,) the point of the body [m] that stays where it is, as far as it can then.
        """
        self.drop()
        self._put(self._oriented(body, R, at, ITERATIONS, ""))
        return self

    def orient_on(self, body: str, R: Any, at: Numbers = (0.0, 0.0, 0.0)) -> Poser:
        """A part of a drag that turns a body about where a point of it was at first; it ends, as one step, with
        `drop`."""
        return self._part(lambda count: self._oriented(body, R, at, count, ""))

    def rotate(self, body: str, axis: str | Numbers, angle: float, at: Numbers = (0.0, 0.0, 0.0)) -> Poser:
        """A body turned about an axis of the world, "x", "y", "z" or (3,), by an angle [rad], as `orient` does."""
        full = self._words.body(body)
        along = direction(f"rotate {full}: axis", axis)
        need_number(f"rotate {full}: angle", angle, "a finite number [rad]")
        self.drop()
        turned = np.array(rotation_of_vector((math.remainder(angle, math.tau) * along).tolist())) @ self.poses[full][0]
        where = () if np.array_equal(at, (0.0, 0.0, 0.0)) else (three_numbers(f"rotate {full}: at", at),)
        line = line_of("rotate", (full, axis, float(angle), *where), {})
        self._put(self._oriented(full, turned, at, ITERATIONS, line))
        return self

    def drop(self) -> Poser:
        """Ends a drag, or a turn, as one step, where it comes to in the end: its parts had the time of a picture."""
        if self._held is not None:
            self._held = self._arrived(self._held, ITERATIONS)
        return super().drop()

    def pose(self, q: Numbers) -> Poser:
        """All coordinates (nq,), as `coordinates` gives them.

        Raises:
            ModelError: coordinates at which loops do not close.
        """
        self.drop()
        array = real_array(q)
        if array is None or array.shape != self._now.q.shape or not np.isfinite(array).all():
            raise ModelError("pose", shown(q), f"{len(self._now.q)} finite numbers", "Take those of `coordinates`.")
        if (gap := self._gap(array)) > CLOSED:
            fault = f"coordinates at which loops are open by {gap:.3g}"
            raise ModelError("pose", fault, "a pose at which loops close", "Use `stand`, which closes them.")
        self.missed = 0.0
        self._put(PoseStep(array, self.locks, line_of("pose", (array,), {}), self._now.goals))
        return self

    def turn(self, coordinate: str, value: float) -> Poser:
        """A coordinate at a value [rad or m], or as near as it comes."""
        self.drop()
        self._put(self._turned(coordinate, value))
        return self

    def turn_on(self, coordinate: str, value: float) -> Poser:
        """A part of a turn, as of a slider that is moved: it ends, as one step, with `drop`."""
        self._held = self._turned(coordinate, value)
        return self

    def lock(self, *paths: str) -> Poser:
        """Coordinates, joints or bodies that stay where they are, whatever is dragged."""
        return self._locked("lock", paths, self.locks | self._lockable(paths, "lock"))

    def unlock(self, *paths: str) -> Poser:
        """What moves again; all that is locked where nothing is named."""
        return self._locked("unlock", paths, self.locks - (self._lockable(paths, "unlock") or self.locks))

    def stand(self, values: Mapping[str, float]) -> Poser:
        """Several coordinates at values at once, where loops let them all."""
        need_mapping("stand", values)
        if not values:
            raise ModelError("stand", "no coordinate", "a dict of coordinate -> value", "Name one.")
        for path, value in values.items():
            need_number(f"stand {path}", value, "a finite number [rad or m]")
        goals = [JointGoal(self._words.coordinate(path, "stand"), float(value)) for path, value in values.items()]
        self.drop()
        self._put(self._went(goals, line_of("stand", (dict(values),), {}), ITERATIONS))
        return self

    def keep(
        self, of: str = "", value: float | None = None, *, T: Any = None, R: Any = None, at: Any = None,
        along: str = LETTERS, about: str = LETTERS, level: Level = "target", weight: float = 1.0, name: str = "",
    ) -> Poser:  # fmt: skip
        """Keeps the goal of the last drag or turn, or one that is said: later steps go beside it, at its level.

        Args:
            of: a coordinate, else a body, else a frame of this path, or the end of it; the last drag or turn where left
                out.
            value: of a coordinate [rad or m]. T: (3,) [m], R: (3, 3) place and axes of a body or frame, as of
                `FrameGoal`. Where none is given, those of now.
            at: (3,) the point of the body or frame that T is of [m, in it].
            along, about, level, weight: as of `FrameGoal`. name: to release it by; its path where left out.
        """
        need("keep: name", name, str, "the name of a goal")
        self.drop()
        words = {"along": along, "about": about, "level": level, "weight": weight}
        if of:
            goals = [self._words.kept(of, value, T, R, at, words, self.poses, self.values)]
        else:
            goals = [ranked_goal(goal, level, weight, "keep") for goal in self._now.hand]
        if len(goals) != 1:
            fault = f"{len(goals)} coordinates that were turned at once" if goals else "no drag or turn before it"
            todo = "Drag a body or turn a joint first, or name a coordinate, a body or a frame."
            raise ModelError("keep", fault, "what the last step wanted", todo)
        every = {**self._now.goals, (name or name_for(goals[0], self._now.goals)): goals[0]}
        self._put(self._resting(dataclasses.replace(self._now, goals=every, line=keep_line(goals[0], name))))
        return self

    def release(self, *names: str) -> Poser:
        """Goals that are kept no more, by their names; all where nothing is named."""
        gone = {goal_named(self._now.goals, name, "release") for name in names} or {*self._now.goals}
        self.drop()
        left = {name: goal for name, goal in self._now.goals.items() if name not in gone}
        line = line_of("release", sorted(gone) if names else (), {})
        self._put(self._resting(dataclasses.replace(self._now, goals=left, line=line)))
        return self

    def rank(self, name: str, level: Level, weight: float = 1.0) -> Poser:
        """Another level of a goal that is kept, and its weight there."""
        full = goal_named(self._now.goals, name, "rank")
        self.drop()
        goals = {**self._now.goals, full: ranked_goal(self._now.goals[full], level, weight, f"rank {full}")}
        line = line_of("rank", (full, level, float(weight)), {})
        self._put(self._resting(dataclasses.replace(self._now, goals=goals, line=line)))
        return self

    def settle(self) -> Poser:
        """As near to the goals that are kept as it comes, with nothing that the hand wants."""
        self.drop()
        self._put(self._resting(dataclasses.replace(self._now, line=line_of("settle", (), {}))))
        return self

    # -- history -------------------------------------------------------------------------------------------------------

    def replay(self, script: str) -> Poser:
        """Does the steps of a script.

        Raises:
            ModelError: a line that is no step; what a step raises. The steps before it are done.
        """
        replayed(self, script, STEPS)
        return self

    def save(self, path: str | Path) -> None:
        """Writes the model that begins in this pose, replacing what is there.

        Raises:
            ModelError: it cannot be written.
        """
        save(self.posed, path)

    # -- within --------------------------------------------------------------------------------------------------------

    def _locked(self, name: str, paths: Sequence[str], locks: frozenset[str]) -> Poser:
        self.drop()
        full = tuple(one for path in paths for one in self._locks.named(path, name))
        self._put(self._resting(dataclasses.replace(self._now, locks=locks, line=line_of(name, full, {}))))
        return self

    def _lockable(self, paths: Sequence[str], where: str) -> frozenset[str]:
        return frozenset(one for path in paths for one in self._locks.named(path, where))

    def _search(self, goals: Sequence[Goal], footing: Footing | None = None) -> PositionSearch:
        state = self._standing(self._now.q)
        return PositionSearch(self.model, state, goals, ranked(goals), None, footing or self._footing)

    def _dragged(self, body: str, point: Any, target: Any, iterations: int) -> PoseStep:
        goal = self._words.point(body, point, target)
        return self._went([goal], line_of("drag", (goal.frame.base, goal.frame.T, goal.T), {}), iterations)

    def _oriented(self, body: str, R: Any, at: Any, iterations: int, line: str) -> PoseStep:
        """Towards axes, about where the point was before this step."""
        goal = self._words.axes(body, R, at)
        where = self._words.pose_of(goal.frame, self._placed.at(self._history[self._at].q))[1]
        args = (goal.frame.base, goal.R, *((goal.frame.T,) if np.any(goal.frame.T) else ()))
        return self._went([goal], line or line_of("orient", args, {}), iterations, FrameGoal(goal.frame, T=where))

    def _turned(self, coordinate: str, value: float) -> PoseStep:
        path = self._words.coordinate(coordinate, "turn")
        need_number(f"turn {path}", value, "a finite number")
        return self._went([JointGoal(path, float(value))], line_of("turn", (path, float(value)), {}), ITERATIONS)

    def _went(
        self, goals: Sequence[HandGoal], line: str, iterations: int, pivot: FrameGoal | None = None
    ) -> PoseStep:  # fmt: skip
        """From the present pose towards goals: what is locked stays where the last step left it, what is free goes to
        a point that should stay, to goals that are kept, to targets and postures of the model."""
        hand = tuple(at_level(goal, HAND) for goal in goals)
        still = () if pivot is None else (at_level(pivot, PIVOT),)
        return self._arrived(
            dataclasses.replace(self._history[self._at], line=line, hand=hand, pivot=still), iterations
        )

    def _arrived(self, step: PoseStep, iterations: int) -> PoseStep:
        """A step of a hand, from the present pose on."""
        step = self._solved(step, iterations)
        self.missed = float(np.linalg.norm([(one.length, one.angle) for one in self._states(step)[1]]))
        return step

    def _resting(self, step: PoseStep) -> PoseStep:
        """A step without a hand, at which goals that are kept are met as far as they can be; where they are it stays
        where it stands."""
        step, self.missed = dataclasses.replace(step, hand=(), pivot=()), 0.0
        far = [x for one in self._states(step)[0].values() for x in (one.length, one.angle)]
        return self._solved(step, ITERATIONS) if max(far, default=0.0) > THERE else step

    def _solved(self, step: PoseStep, iterations: int) -> PoseStep:
        """From the present pose to one at which the goals of a step are met as far as they can be.

        A whole step follows from the pose before it alone, so that a script gives it again to the last bit, and from
        no rows of loops that were chosen at other poses.
        """
        footing = self._footing
        if iterations == ITERATIONS:
            footing = dataclasses.replace(footing, lone=copy.copy(self._unasked))
        search = self._search(self._every(step), footing)
        came = solved(search.goals, self._now.q[:, None], ALONE, iterations)
        return dataclasses.replace(step, q=came.q[:, 0])

    def _every(self, step: PoseStep) -> list[Goal]:
        """The goals of a step, those of its hand first."""
        others = [*step.pivot, *without(self._wanted, step.goals.values())]
        locked = before(self._locked_goals(step), [*step.goals.values(), *others])
        return [*step.hand, *step.goals.values(), *locked, *others]

    def _states(self, step: PoseStep | None = None) -> tuple[dict[str, GoalState], tuple[GoalState, ...]]:
        """How far a pose, the present one where left out, is from what is kept and from what the hand wants."""
        step = step or self._now
        if not step.goals and not step.hand:
            return {}, ()
        if self._seen is None or self._seen[0] is not step:
            goals, names = self._every(step), [*("" for _ in step.hand), *step.goals]
            search, weights = self._search(goals), [getattr(goal, "weight", 1.0) for goal in goals]
            far, poses = missing(search.goals, search.levels, weights, step.q), self._placed.at(step.q)
            states = [
                self._sight.state(name, goal, far[k], step.q, poses)
                for k, (name, goal) in enumerate(zip(names, (*step.hand, *step.goals.values()), strict=True))
            ]
            count = len(step.hand)
            self._seen = step, dict(zip(step.goals, states[count:], strict=True)), tuple(states[:count])
        return self._seen[1], self._seen[2]

    @cached_property
    def _sight(self) -> GoalSight:
        return GoalSight(self.model, self._words, self._placed.at, {path: x.q for path, x in self._coordinates.items()})

    def _locked_goals(self, step: PoseStep) -> list[Goal]:
        """Goals by which what is locked stays where a step before a drag, or one without, left it."""
        base = self._history[self._at] if step.hand else step
        if self._staying is None or self._staying[0] is not base:
            pairs = self._locks.pairs(base.locks)
            coordinates = [(path, self._coordinates[path].q) for path in sorted(base.locks) if path not in pairs]
            goals: list[Goal] = [JointGoal(path, float(base.q[q]), level="lock") for path, q in coordinates]
            self._staying = base, [*goals, *locks_at(self._standing(base.q), (), [*pairs.values()])]
        return self._staying[1]

    def _standing(self, q: np.ndarray) -> StatedState:
        return dataclasses.replace(self._state, q=q[:, None])

    def _gap(self, q: np.ndarray) -> float:
        """Largest residual of all loops at coordinates (nq,), dimensionless."""
        if self._footing.lone is not None:
            return self._footing.lone.at(q).gap
        lane, blocks = self._footing.lane, range(len(self._state.prepared.plan.substructures))
        return max((float(np.abs(host.closure(lane, q[:, None], s)[0]).max(initial=0.0)) for s in blocks), default=0.0)

    def __repr__(self) -> str:
        return f"Poser({self.model.name or 'unnamed'}: {self._at} steps, {len(self.locks)} locked)"

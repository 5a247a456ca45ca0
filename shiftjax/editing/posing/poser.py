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

from shiftjax.access.stated_state import StatedState
from shiftjax.editing.elements import consistent
from shiftjax.editing.locks import LockNames
from shiftjax.editing.path_moves import PathMoves
from shiftjax.editing.posing.goal_states import GoalSight, GoalState, turning_axes
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
    replacing_note,
    same_unit,
    without,
)
from shiftjax.editing.posing.placed_bodies import PlacedBodies, farthest
from shiftjax.editing.posing.pose_history import PoseStep
from shiftjax.editing.posing.pose_stages import PoseStages, StagedHistory, closed_state
from shiftjax.editing.posing.trajectory_poses import TrajectoryPoses
from shiftjax.editing.scripts import line_of, replayed
from shiftjax.editing.standing import Poses, driven_joints, size_of, stated_at, with_joints
from shiftjax.errors import ModelError, need, need_mapping, need_number
from shiftjax.formats.files import load, save
from shiftjax.kinematics.positioning.goals import LETTERS, FrameGoal, Goal, JointGoal, Level, ranked
from shiftjax.kinematics.positioning.ground import Footing
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.solving.manifold import Limits
from shiftjax.kinematics.positioning.solving.solver import ITERATIONS
from shiftjax.kinematics.positioning.stated_goals import locks_at, wanted_goals
from shiftjax.mechanism.coordinates import plain_coordinates
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.numerics.real_arrays import three_numbers
from shiftjax.rotations import rotation_of_vector
from shiftjax.run.start.prepared import Prepared

STEPS = ("drag", "turn", "stand", "pose", "lock", "unlock", "orient", "rotate", "keep", "release", "rank", "settle")
THERE = 1e-9  # rad, m or of a rotation matrix: what is locked is there still
HAND = 1.5  # level of what a hand wants: before targets and postures, after potentials
PIVOT = 2.5  # of the point about which it turns a body: what is kept or stated comes before that, postures after
Numbers = Sequence[float] | np.ndarray
SLIDERS = 12  # coordinates whose travel is asked for: 0.1 to 0.3 s each


class Poser(StagedHistory, TrajectoryPoses):
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
        self._state: StatedState = closed_state(self.model)
        plan = self._state.prepared.plan
        plain = plain_coordinates(self._state.prepared.model)
        self._coordinates = {one.path: one for one in plan.coordinates if one.path in plain}
        bodies = [path for path, _ in self.model.bodies()]
        self._words = GoalWords(self.model, self._coordinates)
        self._footing = Footing.of(self._state)
        self._unasked = copy.copy(self._footing.lone)  # loops of which no pose was asked yet
        self._placed = PlacedBodies(self._footing.lane, [FIXED, *bodies])
        self._locks, self._wanted = LockNames(self.model), wanted_goals(self._state)
        begun = PoseStep(self._state.q[:, 0].copy(), self._locks.stated, "")
        super().__init__(begun, PoseStages(self._state.prepared, self._footing))
        self._coordinates = self._stages.in_order(self._coordinates)
        self._staying: tuple[PoseStep, list[Goal]] | None = None
        self._asked: PositionSearch | None = None  # the last search
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

    def ranges(self, most: int = SLIDERS) -> dict[str, tuple[float, float]]:
        """Coordinate -> how far it goes from here [rad or m], of the first ones, see `range_of`."""
        return {path: self.range_of(path) for path in [*self._coordinates][:most]}

    def range_of(self, coordinate: str) -> tuple[float, float]:
        """How far a coordinate goes from here [rad or m], see `way_of`."""
        way = self.way_of(coordinate)
        return way.low, way.high

    def way_of(self, coordinate: str) -> JointWay:
        """How far a coordinate goes from here: to limits, stops and the ends of its travel, in its stage.

        Where there are none, or other freedoms are left, half a turn or the model's length to either side.
        """
        path = self._words.coordinate(coordinate, "range_of")
        apart = bool(self.open_loops)
        posed = None if apart and self._stages.stands_open(path, self._now.q) else self.posed
        one, size = self._coordinates[path], size_of(self.poses)
        return joint_way(posed, one, self.values[path], self._limits, size, apart=apart)

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

    def gap_at(self, q: np.ndarray) -> float:
        """As `gap`, at coordinates (nq,)."""
        return self._stages.gap(q)

    def allows(self, q: np.ndarray) -> bool:
        """Whether limits and locks allow coordinates (nq,)."""
        return not any(self._unkept(q, self.locks, THERE))

    def _unkept(self, q: np.ndarray, locks: frozenset[str], most: float) -> tuple[list[str], dict[str, float]]:
        here, there, now, off = self.poses, self._placed.at(q), self._now.q, dict[str, float]()
        for name in sorted(locks):
            if (one := self._coordinates.get(name)) is not None:
                off[name] = abs(q[one.q] - now[one.q])
            else:
                body = name.removesuffix(f":{ORIGIN}")
                off[name] = farthest(here, there, [body]) if body in here else self._stages.turned(name, now, q)
        low, high, at = self._limits.low[:, 0] - most, self._limits.high[:, 0] + most, q[self._limits.q]
        beyond = {*self._limits.q[(at < low) | (at > high)].tolist()}
        limited = {path: float(q[one.q]) for path, one in self._coordinates.items() if one.q in beyond}
        return [name for name, far in off.items() if far > most], limited

    def poses_at(self, q: np.ndarray) -> Poses:
        """As `poses`, at coordinates (nq,)."""
        return self._placed.at(q)

    def turning_axes(self, body: str) -> np.ndarray:
        """(k, 3) orthonormal axes of the world about which a body can turn from here, beside locks and at limits."""
        goal = FrameGoal(self._words.body(body), R=np.eye(3), level=HAND)
        search = self._search(goals := [*self._locked_goals(self._history[self._at]), goal])
        return turning_axes(self._stages.goals_of(search, len(goals) - 1), self._now.q)

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
        either, by the names that it had."""
        locks = other._locks.after(other.locks, moves, self._locks)
        lost = sorted(locks - self._locks.names)
        self.stand_at(dataclasses.replace(self._now, locks=self.locks | (locks - {*lost})))
        goals, units = goals_after(other.goals, moves), [one.model.coordinate_units() for one in (other, self)]
        pairs = zip(goals, other.goals.values(), strict=True)
        self.take_goals({name: goals[name] for name, goal in pairs if same_unit(goal, goals[name], *units)})
        return lost, [one for one, name in zip(other.goals, goals, strict=True) if name not in self.goals]

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
            ModelError: other numbers; coordinates at which loops do not close; those of driven sublinkages may be open,
                and `notes` says so.
        """
        self.drop()
        array = self._stages.stated(q, "pose")
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
        relative_to: str = "world", along: str = LETTERS, about: str = LETTERS, box: Any = None, turn: Any = None,
        level: Level = "target", weight: float = 1.0, name: str = "",
    ) -> Poser:  # fmt: skip
        """Keeps the goal of the last drag or turn, or one that is said: later steps go beside it, at its level.

        Args:
            of: a coordinate, else a body, else a frame of this path, or the end of it; the last drag or turn where left
                out.
            value: of a coordinate [rad or m]. T: (3,) [m], R: (3, 3) place and axes of a body or frame, as of
                `FrameGoal`. Where none is given, those of now.
            at: (3,) the point of the body or frame that T is of [m, in it]. relative_to: the body or frame that T and R
                are seen from.
            along, about, box, turn, level, weight: as of `FrameGoal`, of a coordinate `box` as of `JointGoal`; in both
                None is an end that there is none. name: to release it by; its path where left out. One of that name is
                replaced, and `notes` says so.
        """
        words = {"value": value, "T": T, "R": R, "at": at, "relative_to": relative_to, "along": along, "about": about,
                 "box": box, "turn": turn, "level": level, "weight": weight}  # fmt: skip
        need("keep: name", name, str, "the name of a goal")
        self.drop()
        goal = self._words.kept(of, words, self._now.hand, self.poses, self.values)
        full = name or name_for(goal, self._now.goals)
        line, goals = keep_line(goal, name), {**self._now.goals, full: goal}
        step = self._resting(dataclasses.replace(self._now, goals=goals, line=line))
        self._put(step, *replacing_note(full, goal, self._now.goals))
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
            ModelError: it cannot be written; loops are open, which no file can hold.
        """
        self.refuse_open("save")
        save(self.posed, path)

    # -- within --------------------------------------------------------------------------------------------------------

    def _locked(self, name: str, paths: Sequence[str], locks: frozenset[str]) -> Poser:
        self.drop()
        full = tuple(one for path in paths for one in self._locks.named(path, name))
        self._put(self._resting(dataclasses.replace(self._now, locks=locks, line=line_of(name, full, {}))))
        return self

    def _lockable(self, paths: Sequence[str], where: str) -> frozenset[str]:
        return frozenset(one for path in paths for one in self._locks.named(path, where))

    def _search(self, goals: Sequence[Goal]) -> PositionSearch:
        """Of goals from the present pose; of a drag that goes on numbers alone are other ones."""
        state, levels = self._standing(self._now.q), ranked(goals) if goals else []
        search = self._asked and self._asked.with_numbers(state, goals, levels)
        self._asked = search or PositionSearch(self.model, state, goals, levels, None, self._footing)
        return self._asked

    @cached_property
    def _limits(self) -> Limits:
        return PositionSearch(self.model, self._state, [], [], None, self._footing).goals.limits

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
        search = self._search(self._every(step))
        if iterations == ITERATIONS:
            search = search.alone_with(copy.copy(self._unasked))
        return dataclasses.replace(step, q=self._stages.solved(search, self._now.q, iterations))

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
            far, poses = self._stages.missing(search, weights, step.q), self._placed.at(step.q)
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

    def __repr__(self) -> str:
        return f"Poser({self.model.name or 'unnamed'}: {self._at} steps, {len(self.locks)} locked)"

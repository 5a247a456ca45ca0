"""Goals as rows: by how much each is missed and how that changes with every speed, for all members. Host code.

Rows are dimensionless: radians, and metres in parts of the model's length, each times its weight. A rotation is missed
by its rotation vector r along the axes of the goal; the rows of its Jacobian are those of the angular velocity, which
is exact for the gradient of |r|^2 / 2 and, where r vanishes, for the slope of r (Murray, Li, Sastry, section 2.4). A
row within its region is missed by nothing and has no slope.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shiftjax.access import kinematic_terms as terms
from shiftjax.access.answers import Question
from shiftjax.access.frame_kinds import FrameChain, FrameChains, FrameOn
from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.algebra import Vec, scale, select, zeros
from shiftjax.errors import ModelError, shown
from shiftjax.kinematics.positioning.function_rows import function_rows, pose_function
from shiftjax.kinematics.positioning.goals import (
    LETTERS,
    CenterGoal,
    FrameGoal,
    FunctionGoal,
    Goal,
    JointGoal,
    PotentialGoal,
    bounds_of,
)
from shiftjax.kinematics.positioning.solving.levels import Answering, Local
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.numerics.real_arrays import real_array
from shiftjax.plan_elements import ORIGIN
from shiftjax.rotations import quaternion_of_rotation, vector_of_rotation
from shiftjax.topology.plan import Plan

Rows = tuple[Vec, list[Vec]]  # by how much, and one line of slopes a row


@dataclass(frozen=True)
class Task:
    """The rows of one goal.

    Attributes:
        key: equal for goals of equal code. rows: lane code of a state; the goal's numbers are among `LaneState.extra`.
        values: lane code of the rows without their slopes, with whether a rotation is met, where its vector has none.
        unit: (m,) what makes rows dimensionless, their weight included: values times it. ends: (m, 2) of the region, in
            m and rad. labels: (m,) what each row is, in words. places: name of an array of the goal -> the first of its
            numbers among `LaneState.extra`. joints: of the plan, which move it; None where its slopes alone tell.
    """

    key: Any
    rows: Callable[[LaneState], Rows]
    values: Callable[[LaneState, bool], Vec]
    unit: np.ndarray
    ends: np.ndarray
    labels: tuple[str, ...]
    places: Mapping[str, int]
    joints: tuple[int, ...] | None = None


class Tasks:
    """All goals of one call as rows.

    Args:
        begun: (nq, B) where the members begin, for joints that are to stay there. ground: of states of these members.
    """

    def __init__(
        self, model: Model, plan: Plan, length: float, goals: Sequence[Goal], begun: np.ndarray, ground: Ground
    ) -> None:
        self.model, self.plan, self.length, self.begun, self.ground = model, plan, length, begun, ground
        self.chains = FrameChains(model, plan)
        self.tasks = {
            k: self._of(goal, f"goals[{k}]") for k, goal in enumerate(goals) if not isinstance(goal, PotentialGoal)
        }
        self.extras = [self._for_members(x) for x in self.chains.numbers]

    @property
    def structure(self) -> Hashable:
        """Equal for goals that differ in their numbers alone: in these, `extras`."""
        every = self.tasks.items()
        return len(self.extras), tuple((k, one.key, one.unit.tobytes(), one.ends.tobytes(), one.labels, one.joints)
                                       for k, one in every)  # fmt: skip

    def _for_members(self, value: Any) -> np.ndarray:
        count = self.begun.shape[1]
        if np.ndim(value) and len(value) not in (1, count):
            raise ModelError("goals", f"{len(value)} values", f"one, or {count}, one a member", "Give as many.")
        return np.broadcast_to(np.asarray(value, float), (count,))

    def _of(self, goal: FrameGoal | CenterGoal | JointGoal | FunctionGoal, where: str) -> Task:
        if isinstance(goal, FrameGoal):
            return self._frame(goal, where)
        if isinstance(goal, FunctionGoal):
            return self._function(goal, where)
        return self._center(goal, where) if isinstance(goal, CenterGoal) else self._joint(goal, where)

    def _frame(self, goal: FrameGoal, where: str) -> Task:
        there = FrameOn(goal.relative_to, ORIGIN if goal.T is None else goal.T, *(() if goal.R is None else (goal.R,)))
        frame = self.chains.of(goal.frame, f"{where}.frame")
        target = self.chains.of(there, f"{where}.relative_to")
        linear = () if goal.T is None else tuple(map(LETTERS.index, goal.along))
        angular = () if goal.R is None else tuple(map(LETTERS.index, goal.about))
        box, turn = bounds_of(f"{where}.box", goal.box, 3), bounds_of(f"{where}.turn", goal.turn, 3)
        unit = np.repeat([goal.weight / self.length, goal.weight], [len(linear), len(angular)])
        name = goal.frame if isinstance(goal.frame, str) else type(goal.frame).__name__
        labels = (*(f"{name} along {LETTERS[k]} [m]" for k in linear),
                  *(f"{name} about {LETTERS[k]} [rad]" for k in angular))  # fmt: skip
        chosen = {"frame": frame, "target": target, "linear": linear, "angular": angular}
        rows, values = partial(_frame_rows, **chosen), partial(_frame_values, **chosen)
        key = ("frame", frame.key(), target.key(), linear, angular)
        first = target.links[-1][1]
        ends = np.concatenate([box[list(linear)], turn[list(angular)]])
        joints = self._between([frame.placed.node], target.placed.node)
        return Task(key, rows, values, unit, ends, labels, {"T": first, "R": first + 3}, joints)

    def _center(self, goal: CenterGoal, where: str) -> Task:
        target = self.chains.of(FrameOn(goal.relative_to, goal.T), f"{where}.relative_to")
        nodes = self._nodes(goal.of, where)
        linear = tuple(map(LETTERS.index, goal.along))
        unit = np.full(len(linear), goal.weight / self.length)
        labels = tuple(f"centre of mass along {LETTERS[k]} [m]" for k in linear)
        chosen = {"nodes": nodes, "target": target, "linear": linear}
        rows, values = partial(_center_rows, **chosen), partial(_center_values, **chosen)
        ends = bounds_of(f"{where}.box", goal.box, 3)[list(linear)]
        key = ("center", nodes, target.key(), linear)
        joints = self._between(nodes, target.placed.node)
        return Task(key, rows, values, unit, ends, labels, {"T": target.links[-1][1]}, joints)

    def _between(self, nodes: Sequence[int], other: int) -> tuple[int, ...]:
        """The joints that move some nodes as another one sees them."""
        ways = (self.plan.between(node, other) for node in nodes)
        return tuple({joint for one, way, _ in ways for joint in (*one, *way)})

    def _nodes(self, of: Any, where: str) -> tuple[int, ...]:
        nodes = {node.path: k for k, node in enumerate(self.plan.nodes) if k and not node.virtual}
        paths = [*nodes] if of is None else [self.model.resolve(path) for path in ([of] if isinstance(of, str) else of)]
        for path in paths:
            if path not in nodes:
                raise ModelError(f"{where}.of", repr(path), f"bodies: {[*nodes]}", "Name one of them.")
        return tuple(nodes[path] for path in paths)

    def _joint(self, goal: JointGoal, where: str) -> Task:
        one = coordinate_named(self.model, self.plan, goal.coordinate, f"{where}.coordinate")
        place = self._place_of(self.begun[one.q] if goal.value is None else real_array(goal.value), goal, where)
        angle = one.unit == "rad"
        unit = np.array([goal.weight if angle else goal.weight / self.length])
        rows = partial(_joint_rows, place=place, q=one.q, v=one.v)
        ends = bounds_of(f"{where}.box", goal.box, 1)
        values = partial(_joint_values, place=place, q=one.q)
        labels = (f"{one.path} [{one.unit}]",)
        return Task(("joint", place, one.q), rows, values, unit, ends, labels, {"value": place}, (one.joint,))

    def _function(self, goal: FunctionGoal, where: str) -> Task:
        one = pose_function(self.model, self.ground, goal, where)
        place = self._place_of(real_array(goal.value), goal, where)
        unit = np.full(one.size, goal.weight / (self.length if one.unit == "m" else 1.0))
        rows = partial(function_rows, one=one, place=place)

        def values(at: LaneState, met: bool) -> Vec:
            return [value - at.extra[place] for value in one.values(at)]

        ends = np.repeat(bounds_of(f"{where}.box", goal.box, 1), one.size, axis=0)
        numbers = [""] if one.size == 1 else [f"[{k}]" for k in range(one.size)]
        labels = tuple(f"{one.name}{number} [{one.unit}]" for number in numbers)
        return Task((*one.key, place), rows, values, unit, ends, labels, {"value": place})

    def _place_of(self, value: Any, goal: JointGoal | FunctionGoal, where: str) -> int:
        """Where the wanted value of a goal stands among the numbers of frames."""
        if value is None or value.ndim > 1 or not value.size or not np.isfinite(value).all():
            raise ModelError(
                f"{where}.value", shown(goal.value), "a number, or one for each member", "Give (B,) of them."
            )
        self.chains.numbers.append(value)
        return len(self.chains.numbers) - 1

    def rows_of(self, tasks: Sequence[int]) -> GoalRows:
        """Those of some goals, in their order."""
        return GoalRows(self, [self.tasks[k] for k in tasks])


def coordinate_named(model: Model, plan: Plan, path: str, where: str) -> Any:
    """The coordinate of the plan that a path names.

    Raises:
        ModelError: none, several, or one of a joint at which a loop is cut.
    """
    full = plain_coordinate(model, path, where)
    one = next((c for c in plan.coordinates if c.path == full), None)
    if one is None:
        allowed = [c.path for c in plan.coordinates if c.plain]
        todo = "Cut the loop elsewhere: `cut` of the file."
        raise ModelError(where, f"{full}, at which a loop is cut", f"one of {allowed}", todo)
    return one


@dataclass
class GoalRows:
    """Rows of some goals, evaluated together."""

    curved, fixes = False, True  # an energy is curved; limits alone fix no rows

    tasks: Tasks
    goals: Sequence[Task]

    def __post_init__(self) -> None:
        self.unit = np.concatenate([np.zeros(0), *(one.unit for one in self.goals)])
        self.ends = np.concatenate([np.zeros((0, 2)), *(one.ends for one in self.goals)])
        self.labels = [label for one in self.goals for label in one.labels]
        extras = tuple(self.tasks.extras)
        self.question = Question(("positioning", tuple(one.key for one in self.goals)), self._answer, extras)

    def in_si(self, here: Local) -> np.ndarray:
        """(B, m) by how much rows are missed [m or rad], times their weights."""
        return here.missed * np.where(["[m]" in label for label in self.labels], self.tasks.length, 1.0)

    def _answer(self, at: LaneState) -> list[Vec]:
        lines: list[Vec] = []
        for one in self.goals:
            values, slopes = one.rows(at)
            lines += [[value, *line] for value, line in zip(values, slopes, strict=True)]
        return lines

    def lines(self, at: LaneState) -> Rows:
        """What is missed, and its slopes, as of `at`; lane code."""
        missed: Vec = []
        slopes: list[Vec] = []
        for value, *line in self._answer(at):
            (low, high), unit = map(float, self.ends[len(missed)]), float(self.unit[len(missed)])
            if low == high == 0.0:
                missed.append(value * unit)
                slopes.append([x * unit for x in line])
                continue
            beyond = select(value < low, value - low, select(value > high, value - high, 0.0))
            counts = select(value < low, unit, select(value > high, unit, 0.0))
            missed.append(beyond * unit)
            slopes.append([x * counts for x in line])
        return missed, slopes

    def values(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(B, m) what rows are [m or rad], of regions, too. As of `at`."""
        return self.whole(answers, x, members)[:, :, 0]

    def whole(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(B, m, 1 + nv) what rows are, and their slopes by speeds. As of `at`."""
        extras = tuple(one[members] for one in self.question.extras)
        return answers.in_numpy(Question(self.question.key, self._answer, extras), x)

    def at(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> Local:
        """The goals of some members, dimensionless but for speeds.

        Args:
            x: (n, B) of `Ground.parts` without numbers of goals. members: (B,) whose goals they are.
        """
        whole = self.whole(answers, x, members)
        value, J = whole[:, :, 0], whole[:, :, 1:]
        missed = value - np.clip(value, self.ends[:, 0], self.ends[:, 1])
        slopes = J * self.unit[:, None]
        free = (missed == 0.0) & (self.ends[:, 1] > self.ends[:, 0])
        if free.any():
            slopes = np.where(free[:, :, None], 0.0, slopes)
        missed = missed * self.unit
        return Local(np.linalg.norm(missed, axis=1), missed, slopes)


def _frame_rows(
    at: LaneState, *, frame: FrameChain, target: FrameChain, linear: Sequence[int], angular: Sequence[int]
) -> Rows:
    seen = terms.relative_motion(at, frame, target, terms.POSE)
    J = terms.jacobian(at, frame, target, None, constrained=False)
    values, slopes = [seen.p[k] for k in linear], [J[3 + k] for k in linear]
    if angular:
        turned = vector_of_rotation(seen.R)
        values, slopes = values + [turned[k] for k in angular], slopes + [J[k] for k in angular]
    return values, slopes


def _frame_values(
    at: LaneState, met: bool, *, frame: FrameChain, target: FrameChain, linear: Sequence[int], angular: Sequence[int]
) -> Vec:
    """The rows of a frame; of a rotation that is met twice the vector of its quaternion, which is the same to third
    order, and smooth there."""
    seen = terms.relative_motion(at, frame, target, terms.POSE)
    values = [seen.p[k] for k in linear]
    if angular:
        turned = scale(2.0, quaternion_of_rotation(seen.R)[1:]) if met else vector_of_rotation(seen.R)
        values += [turned[k] for k in angular]
    return values


def _center_values(at: LaneState, met: bool, *, nodes: Sequence[int], target: FrameChain, linear: Sequence[int]) -> Vec:
    place = terms.center_of_mass(at, nodes, target, None, terms.POSE)
    return [place[k] for k in linear]


def _joint_values(at: LaneState, met: bool, *, place: int, q: int) -> Vec:
    return [at.q[q] - at.extra[place]]


def _center_rows(at: LaneState, *, nodes: Sequence[int], target: FrameChain, linear: Sequence[int]) -> Rows:
    place = terms.center_of_mass(at, nodes, target, None, terms.POSE)
    J = terms.center_of_mass_jacobian(at, nodes, target, None, constrained=False)
    return [place[k] for k in linear], [J[k] for k in linear]


def _joint_rows(at: LaneState, *, place: int, q: int, v: int) -> Rows:
    line = zeros(at.plan.nv)
    line[v] = 1.0
    return [at.q[q] - at.extra[place]], [line]

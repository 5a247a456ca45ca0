"""`inverse_kinematics`: poses of a mechanism that meet goals as far as loops, limits and priorities let them, and their
slopes by designs, goals and limits, forward and backward. Host code.

The host finds the poses (`member_search`), also of numbers that JAX traces; slopes are those of implicit functions of
the equations that they solve (`reached_equations`), so that nothing is taped. What goals leave free goes with the least
change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.access.answers import Question
from shiftjax.access.stated_state import StatedState
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.gradients.doubts import Cause
from shiftjax.gradients.implicit import Answered, Implicit, Solutions
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design
from shiftjax.gradients.transforms import differentiable
from shiftjax.kinematics.positioning.function_rows import PoseFunction
from shiftjax.kinematics.positioning.goals import KINDS, Goal
from shiftjax.kinematics.positioning.member_search import ARRAYS, MemberSearch, PositionProblem
from shiftjax.kinematics.positioning.member_search import InverseKinematics as InverseKinematics
from shiftjax.kinematics.positioning.potential import EnergyRows
from shiftjax.kinematics.positioning.reached_equations import Reached, ReachedEquations
from shiftjax.kinematics.positioning.rows import Local
from shiftjax.kinematics.positioning.solving.damping import Positioned
from shiftjax.kinematics.stops import ends_of_ways
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.sublinkages import stages_of, welds_of
from shiftjax.run.derive import Formula
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.drives import Drivable

Array = Any  # of NumPy, or of JAX where it is traced
SIDES = ("low", "high")
LOOSE = (
    "its goals leave it freedoms, of which slopes are those of the least change from the pose that was reached: a "
    "posture decides them"
)
TOUCHES = (
    "it touches a limit, or the edge of a region, that nothing presses: its slopes are those of the side on which it "
    "comes off"
)
LOST = "the pose that it came to solves no equations that hold to rounding: its goals pull on a singular pose"


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
    open_loops: bool = False,
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
        open_loops: loops that cannot close open by as little as can be, in the least-squares sense, before anything
            else is wanted; `by_goal` says by how much each row of each joint does. The status is `not_assembled` there.

    Returns:
        an `InverseKinematics`; without arrays of members it has no member axis. A goal out of reach leaves the nearest
        pose that was come to. What is near is local, as it is for every method that goes downhill: `tries` is the
        remedy. Where JAX traces numbers of `vary`, of goals (T, R, value) or of limits, coordinates and what is missed
        are JAX arrays with first derivatives, those of the equations that hold at the reached pose (docs: inverse
        kinematics, Slopes).

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    model = model if isinstance(model, Model) else load(model)
    goals = [goals] if isinstance(goals, KINDS) else goals
    design = {"q": q, "vary": vary, "assign": assign, "derive": derive, "drive": drive, "tie": tie, "start": start}
    if any_traced(goals, limits, vary):
        joints = dict(model.joints())
        if len(stages_of(model.sublinkages, joints, welds_of(joints))) > 1:
            raise ModelError("sublinkages", "numbers that JAX traces", NO_SLOPES, "Take differences.")
        if open_loops:
            todo = "Leave it out, or take differences."
            raise ModelError("open_loops", "True, of traced numbers", "loops that close, which have slopes", todo)
        return traced_positions(model, goals, limits, tries, design)
    search = PositionProblem(model, goals, limits, tries, design, open_loops).search()
    return search.outcome(search.best(tries))


NO_SLOPES = "poses whose goals are met together: those of sublinkages, one after the other, have no slopes"


def any_traced(goals: Any, limits: Any, vary: Any) -> bool:
    """Whether JAX traces a number of designs, of goals or of limits."""
    listed = goals if isinstance(goals, list | tuple) else ()
    values = [getattr(goal, name, None) for goal in listed if isinstance(goal, KINDS) for name in ARRAYS]
    values += [end for pair in _pairs(limits).values() for end in pair]
    values += [*vary.values()] if isinstance(vary, Mapping) else []
    return any(is_traced(value) for value in values)


def _pairs(limits: Any) -> dict[str, Sequence[Any]]:
    """Those of limits that have two ends; others are refused where they are read."""
    items = limits.items() if isinstance(limits, Mapping) else ()
    return {path: pair for path, pair in items if isinstance(pair, tuple | list) and len(pair) == 2}


@dataclass(frozen=True)
class TracedArray:
    """An array of a goal, or an end of limits, that is an input of the traced function.

    Attributes:
        goal: its number, or the path of a coordinate with limits. name: of the array. first: its first column.
        shape: without that of members.
    """

    goal: int | str
    name: str
    first: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, initial=1))

    def of(self, x: np.ndarray) -> np.ndarray:
        """(B, ...) of the inputs (B, P)."""
        return x[:, self.first : self.first + self.size].reshape(len(x), *self.shape)


@dataclass
class PositionFunction:
    """Reached poses as a function of numbers (B, P): of designs, then of goals and limits.

    Attributes:
        problem: with known numbers in place of those that vary. names: full paths of the designs. arrays: of goals
            and limits. warns: whether slopes that are doubtful are said in a `GradientWarning`. observe: of the
            search of the model's own numbers, what else is answered at the poses. begin: where members of a problem
            begin; as `stated_state` says where left out.
    """

    problem: PositionProblem
    names: Sequence[str]
    arrays: Sequence[TracedArray] = ()
    warns: bool = True
    observe: Callable[[MemberSearch], Sequence[PoseFunction]] = field(default=lambda search: ())
    begin: Callable[[PositionProblem], StatedState] | None = None

    def __post_init__(self) -> None:
        known = self.problem.model.numbers()
        one = np.concatenate([np.array([[known[path] for path in self.names]]).reshape(1, -1),
                              *(_example(array)[None] for array in self.arrays)], axis=1)  # fmt: skip
        self.static = self._search(one)
        self.observed = tuple(self.observe(self.static))
        self.equations = ReachedEquations(self.observed)
        self.rows = sum(len(level.labels) for level in self.static.goals.levels)
        self.energies = sum(isinstance(level, EnergyRows) for level in self.static.goals.levels)
        self.first_observed = self.static.plan.nq + self.rows + 4 + self.energies
        outputs = self.first_observed + sum(one.size for one in self.observed)
        self.implicit = Implicit(outputs, self._answer, warns=self.warns)

    def _search(self, x: np.ndarray) -> MemberSearch:
        asked = self.asked(x)
        return asked.search() if self.begin is None else asked.search_from(self.begin(asked))

    def asked(self, x: np.ndarray) -> PositionProblem:
        """The problem of numbers (B, P)."""
        goals, limits = list(self.problem.goals), dict(self.problem.limits or {})
        for array in self.arrays:
            if isinstance(array.goal, int):
                goals[array.goal] = replace(goals[array.goal], **{array.name: array.of(x)})
            else:
                low, high = limits[array.goal]
                limits[array.goal] = (array.of(x), high) if array.name == "low" else (low, array.of(x))
        columns = x[:, : len(self.names)].T
        design = {**self.problem.design, "vary": dict(zip(self.names, columns, strict=True)) or None}
        return replace(self.problem, goals=goals, limits=limits or None, design=design)

    def searched(self, x: np.ndarray) -> tuple[MemberSearch, Positioned, InverseKinematics]:
        """The search of numbers (B, P), where it has come to, and what is said of that."""
        search = self._search(x)
        best = search.best(self.problem.tries)
        return search, best, search.outcome(best)

    def _answer(self, x: np.ndarray) -> Answered:
        """(B, M): coordinates, what is missed of each row, whether it is reached, status, gap, iterations, and what
        energies are compared with, and what is observed."""
        search, best, outcome = self.searched(x)
        if search.stages:
            raise ModelError("sublinkages", "numbers of which slopes are asked", NO_SLOPES, "Take differences.")
        B = len(x)
        known = [np.reshape(one, (B, -1)) for one in (outcome.reached, outcome.status, outcome.gap, outcome.iterations)]
        known += [np.full((B, 1), one.size) for one in search.goals.levels if isinstance(one, EnergyRows)]
        known += [observed_at(one, search, best.q) for one in self.observed]
        y = np.concatenate([best.q.T, np.reshape(outcome.by_goal, (B, -1)), *known], axis=1).astype(float)
        members = np.flatnonzero(search.sound & np.isfinite(best.q).all(0))
        reached = self.equations.of(search, best.q, best.value, members) if len(members) else []
        columns, parts = self._columns(search), list[Solutions]()
        loose, touching = np.zeros(B, bool), np.zeros(B, bool)
        messages = np.array([*np.atleast_1d(outcome.messages)], object)
        for one in reached:
            new = solutions_of(one, columns, search.plan.nq, range(self.first_observed, y.shape[1]))
            for part in new:
                loose[part.members] = part.loose
            parts += new
            touching[one.members] = one.touching
            messages[one.members[~one.solved]] = LOST
        nowhere = np.ones(B, bool)
        nowhere[members] = False
        return Answered(y, parts, [*messages], [Cause(loose, LOOSE), Cause(touching, TOUCHES)], nowhere)

    def _columns(self, search: MemberSearch) -> np.ndarray:
        """(P + given, B) columns of the inputs that the parameters of equations are; -1 of what stays."""
        prepared, limits, B = search.stated.prepared, search.goals.limits, search.stated.q.shape[1]
        names = [*self.names]
        designs = np.array([names.index(path) if path in names else -1 for path in prepared.vary], int)
        extras = np.full(len(search.tasks.extras), -1)
        ends = np.full((2, len(limits.q), B), -1)
        paths = {one.q: one.path for one in search.plan.coordinates}
        row = {paths[int(q)]: k for k, q in enumerate(limits.q)}
        varied = {place: k for k, place in enumerate(prepared.places) if designs[k] >= 0}
        named = {plain_coordinate(self.problem.model, path, "limits") for path in self.problem.limits or {}}
        for one in ends_of_ways(prepared.model, search.plan):
            if one.number in varied and one.coordinate.path not in named:
                side, place, k = max(one.end, 0), row[one.coordinate.path], varied[one.number]
                counts = (limits.low, limits.high)[side][place] == prepared.values[k]
                ends[side, place, counts] = designs[k]
        for array in self.arrays:
            where = array.first + np.arange(array.size)
            if isinstance(array.goal, int):
                first = search.tasks.tasks[array.goal].places[array.name]
                extras[first : first + array.size] = where
            else:
                place = row[plain_coordinate(self.problem.model, array.goal, "limits")]
                ends[SIDES.index(array.name), place] = array.first
        still = np.full(search.plan.ns, -1)
        alike = [np.repeat(one[:, None], B, axis=1) for one in (designs, extras, still)]
        return np.concatenate([*alike[:2], *ends, alike[2]])


def observed_at(one: PoseFunction, search: MemberSearch, q: np.ndarray) -> np.ndarray:
    """(B, size) what is observed where members stand at (nq, B)."""
    x = search.goals.x.copy()
    x[: search.plan.nq] = q
    return search.goals.answers.in_numpy(Question(("observed", one.key), one.values), x)


def solutions_of(reached: Reached, columns: np.ndarray, nq: int, more: Sequence[int] = ()) -> list[Solutions]:
    """What `gradients.implicit` takes of members that solve a system, with columns (P + given, B) of all members.

    Args:
        more: outputs of what is observed.
    """
    outputs, out = [*range(nq), *(nq + row for row in reached.rows), *more], list[Solutions]()
    kinds, which = np.unique(columns[:, reached.members], axis=1, return_inverse=True)
    for k, kind in enumerate(kinds.T):
        some = np.flatnonzero(np.ravel(which) == k)
        x, members, solved = reached.x[:, some], reached.members[some], reached.solved[some]
        out.append(Solutions(reached.equations, x, kind.tolist(), members, outputs, solved, least=True))
    return out


def _example(array: TracedArray) -> np.ndarray:
    """(size,) numbers that may stand there."""
    return np.eye(3).ravel() if array.name == "R" else np.zeros(array.size)


def traced_positions(
    model: Model, goals: Sequence[Goal], limits: Mapping[str, Any] | None, tries: int, design: Mapping[str, Any]
) -> InverseKinematics:
    """`inverse_kinematics` of numbers of which JAX traces some."""
    columns, options = dict[str, Array](), options_of(assign=design["assign"], derive=design["derive"]).design
    if design["vary"] is not None:
        given = options_of(vary=design["vary"], assign=design["assign"], derive=design["derive"])
        columns, options = traced_design(model, given.design)
    plain, ends, arrays, values = list(goals), dict(limits or {}), list[TracedArray](), list[Array]()
    first = len(columns)
    traced = [(k, name, getattr(goal, name, None), 2 if name == "R" else 1 if name == "T" else 0)
              for k, goal in enumerate(goals) for name in ARRAYS]  # fmt: skip
    traced += [(path, name, end, 0) for path, pair in _pairs(limits).items()
               for name, end in zip(SIDES, pair, strict=True)]  # fmt: skip
    for where, name, value, axes in traced:
        if value is None or not (is_traced(value) or np.ndim(value) > axes):
            continue  # known numbers of all members alike
        value = jnp.asarray(value, float)
        shape = value.shape[value.ndim - axes :] if value.ndim >= axes else value.shape
        arrays.append(TracedArray(where, name, first, shape))
        values.append(value)
        first += arrays[-1].size
        known = np.broadcast_to(_example(arrays[-1]).reshape(shape), value.shape)
        if isinstance(where, int):
            plain[where] = replace(plain[where], **{name: known})
        else:
            both = ends[where]
            ends[where] = (known, both[1]) if name == "low" else (both[0], known)
    with jax.ensure_compile_time_eval():
        still = {**design, "vary": None, "derive": None, "assign": options.assign}
        known = {path: np.zeros(value.shape) for path, value in columns.items()}
        members = PositionProblem(model, plain, ends or None, tries, {**still, "vary": known}).members()
        function = PositionFunction(PositionProblem(model, plain, ends or None, tries, still), tuple(columns), arrays)
    B = members or 1
    numbers = [jnp.broadcast_to(value, (B,))[:, None] for value in columns.values()]
    numbers += [jnp.broadcast_to(value, (B, *one.shape)).reshape(B, -1)
                for one, value in zip(arrays, values, strict=True)]  # fmt: skip
    y = differentiable(function.implicit)(jnp.concatenate(numbers, axis=1))
    return _shown(function, y, members)


def _shown(function: PositionFunction, y: Array, members: int | None) -> InverseKinematics:
    """The record of answers (B, M)."""
    whole = outcome_of(function, y)
    if members is not None:
        return whole
    alone = {name: getattr(whole, name)[0] for name in ("coordinates", "by_goal", "reached", "status", "gap")}
    return replace(
        whole, **alone, iterations=whole.iterations[0], q={path: x[0] for path, x in whole.q.items()},
        missed={name: x[0] for name, x in whole.missed.items()},
    )  # fmt: skip


def outcome_of(function: PositionFunction, y: Array) -> InverseKinematics:
    """The record of B members of answers (B, M); sizes that energies are compared with have no slopes."""
    search, nq, rows = function.static, function.static.plan.nq, function.rows
    q, by_goal = y[:, :nq], y[:, nq : nq + rows]
    known = jax.lax.stop_gradient(y[:, nq + rows : function.first_observed]).T
    reached, status, gap, iterations, *sizes = known
    missed, first = {}, 0
    for level, one in zip(search.goals.levels, search.levels, strict=True):
        rows_of = by_goal[:, first : first + len(level.labels)]
        if level.curved:
            missed[one.name] = rows_of[:, 0] / sizes.pop(0)
        else:
            scale = level.in_si(Local(np.ones(1), np.ones((1, len(level.labels))), np.zeros((1, 0, 0))))
            missed[one.name] = _norm(rows_of / scale)
        first += len(level.labels)
    labels = tuple(label for level in search.goals.levels for label in level.labels)
    return InverseKinematics(
        q, search.plan.by_coordinate(q), search.plan.coordinate_units(), missed, by_goal, labels, reached > 0.0,
        status.astype(int), gap, iterations.astype(int), (),
    )  # fmt: skip


def _norm(x: Array) -> Array:
    """(B,) of rows (B, m), with the slope 0 where all are 0."""
    squares = (x * x).sum(1)
    return jnp.where(squares > 0.0, jnp.sqrt(jnp.where(squares > 0.0, squares, 1.0)), 0.0)

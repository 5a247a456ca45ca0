"""Inverse kinematics of many designs as a `Result`, and its metrics as functions of the numbers of designs. Host code.

Each member stands at the pose that it comes to from where it begins; what is recorded is that of the mechanism
assembled there. Goals have their numbers in the model (`named_goals`), metrics are expressions of that pose
(`pose_metrics`), with the slopes of implicit functions. A member that misses a goal is `out_of_reach`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.access.stated_state import StatedState
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.kinematics.measured_answers import DesignMetrics
from shiftjax.kinematics.positioning.goals import Goal
from shiftjax.kinematics.positioning.inverse_kinematics import PositionFunction, TracedArray, observed_at, outcome_of
from shiftjax.kinematics.positioning.member_search import InverseKinematics, MemberSearch, PositionProblem
from shiftjax.kinematics.positioning.results.named_goals import NamedGoal
from shiftjax.kinematics.positioning.results.pose_metric_texts import REACHED, missed_of
from shiftjax.kinematics.positioning.results.pose_metrics import pose_metrics
from shiftjax.kinematics.positioning.solving.damping import Positioned
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.rotations import rotation_of_vector
from shiftjax.run.assemble import assembled
from shiftjax.run.assemblies.branch_starts import on_branch
from shiftjax.run.beginning import start_from, unsound
from shiftjax.run.derive import Formula
from shiftjax.run.memory import Need
from shiftjax.run.options import DesignOptions, Options, options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start

Array = Any  # of JAX, traced
SHAPES: dict[str, tuple[int, ...]] = {"T": (3,), "R": (3, 3), "value": ()}


def positions(
    model: Model | str,
    *,
    goals: Sequence[NamedGoal] = (),
    limits: Mapping[str, Any] | None = None,
    tries: int = 1,
    metrics: Mapping[str, Any] | None = None,
    channels: Sequence[str] = (),
    keep: int | str | Sequence[int] = "none",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    branch: str | int | Sequence[str | int] | None = None,
    strict_start: bool = False,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
    progress: Callable[[float], None] = lambda done: None,
    announce: Callable[[Need], None] = lambda need: None,
) -> Result:
    """Poses that meet goals, of many designs.

    Args:
        goals: whose numbers the model has; they vary as any others. limits, tries: as those of `inverse_kinematics`.
        metrics: name -> an expression of channels at the pose, of `missed(level)` and of `reached()`, 1 or 0.
        channels: of the pose. progress: of no use, since searches do not tell.
        all others: as those of `assemble`.

    Returns:
        a Result of the one pose to which each member has come; `out_of_reach` where a goal is missed.

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    given = options_of(
        metrics=metrics, channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, tie=tie, branch=branch,
        strict_start=strict_start, backend=backend, precision=precision, threads=threads, announce=announce,
    )  # fmt: skip
    model = model if isinstance(model, Model) else load(model)
    columns, assign = (design := given.design.worked_out(model)).vary, design.assign
    function = PoseStudyFunction(
        model, tuple(columns or {}), given.changed(vary=None, assign=assign, derive=None), goals, limits, tries
    )
    return function.result(columns, given)


def refuse_goals(
    model: Model, *, goals: Sequence[NamedGoal] | None, limits: Mapping[str, Any] | None, tries: int | None,
    metrics: Mapping[str, Any] | None,
) -> None:  # fmt: skip
    """Raises what the search of a model's poses would be refused for; nothing is searched."""
    PoseStudyFunction(model, (), options_of(metrics=metrics), goals or (), limits, tries or 1)


class PoseStudyFunction(DesignMetrics):
    """Metrics and status of reached poses as functions of numbers of designs, as `PathFunction` has those of paths.

    Args:
        names: full paths of the numbers. given: all else that is stated, with the metrics. goals, limits, tries: of
            `positions`. warns: whether slopes that are doubtful are said in a `GradientWarning`.

    Attributes:
        static: the poses of the model's own numbers, for what no number decides.
    """

    def __init__(
        self, model: Model, names: Sequence[str], given: Options, goals: Sequence[NamedGoal],
        limits: Mapping[str, Any] | None, tries: int, *, warns: bool = True,
    ) -> None:  # fmt: skip
        self.model, self.names, self.given, self.goals = model, tuple(names), given, tuple(goals)
        arrays, first = list[TracedArray](), len(self.names)
        for k, goal in enumerate(self.goals):
            for name, _ in goal.paths:
                arrays.append(TracedArray(k, name, first, SHAPES[name]))
                first += arrays[-1].size
        with _goals_by_name(self.goals):
            self.problem = PositionProblem(model, [self._example(goal) for goal in self.goals], limits, tries)
            self._positions = PositionFunction(self.problem, self.names, arrays, warns, self._observe, self._begin)
        self._solved = self._positions.implicit

    def _example(self, goal: NamedGoal) -> Any:
        """The goal with numbers that may stand there."""
        with jax.enable_x64(True):
            known = values_of(goal, lambda path: jnp.zeros(1))
        return with_values(goal, {name: np.asarray(x)[0] for name, x in known.items()})

    def _observe(self, search: MemberSearch) -> list[Any]:
        levels = [one.name for one in search.levels]
        self.metrics, self.channels = pose_metrics(self.model, search.ground, levels, self.given.recording.metrics)
        return [*self.channels.values()]

    # -- where members begin, and what they are asked ------------------------------------------------------------------

    def _options(self, vary: Mapping[str, np.ndarray] | None) -> Options:
        stated = self.given.changed(metrics=None, channels=(), keep="none")
        return replace(stated, design=DesignOptions(vary, self.given.design.assign, None))

    def _begin(self, problem: PositionProblem) -> StatedState:
        """Where the members of a problem begin."""
        options = self._options(problem.design["vary"] or None)
        prepared = prepare(self.model, options.design.vary or {}, options)
        faulty = unsound(prepared, 0.0, 0.0, strict=False)
        began = start_from(prepared, None, faulty, massless=self.problem.massless)
        return _stated(prepared, on_branch(prepared, began, faulty))

    def _expanded(self, x: Array) -> Array:
        """(B, inputs) of the position function, of numbers (B, P)."""
        numbers = self._numbers

        def column(path: str) -> Array:
            return x[:, self.names.index(path)] if path in self.names else jnp.full(len(x), numbers[path])

        parts = [value.reshape(len(x), -1) for goal in self.goals for value in values_of(goal, column).values()]
        return jnp.concatenate([x, *parts], axis=1)

    @cached_property
    def _numbers(self) -> Mapping[str, float]:
        assign = self.given.design.assign
        return self.model.replace(dict(assign)).numbers() if assign else self.model.numbers()

    # -- in NumPy ------------------------------------------------------------------------------------------------------

    def result(self, vary: Mapping[str, np.ndarray] | None, given: Options) -> Result:
        """The result of designs.

        Args:
            vary: full path -> (B,). given: what else is asked for.
        """
        come: list[tuple[MemberSearch, Positioned, InverseKinematics]] = []
        x = np.stack([*vary.values()], axis=1) if vary else np.zeros((1, 0))

        def moved(prepared: Prepared, began: Start) -> Start:
            with jax.enable_x64(True):
                inputs = np.asarray(self._expanded(jnp.asarray(x)))
            search = self._positions.asked(inputs).search_from(_stated(prepared, began))
            best = search.best(self.problem.tries)
            come.append((search, best, search.outcome(best)))
            calm, none = np.zeros(len(x), bool), np.full(len(x), -1)
            q = np.where(search.sound, best.q, began.q)
            return replace(
                began, q=q, v=np.zeros_like(began.v), binding=calm, speed_moved=none, at_pose=None, ways=None
            )

        options = replace(given.changed(metrics=None), design=DesignOptions(vary, self.given.design.assign, None))
        result = assembled(self.model, options, moved=moved, massless=self.problem.massless)
        search, best, outcome = come[0]
        status, messages = np.array(np.atleast_1d(result.status)), list(result.messages)
        for k in np.flatnonzero((status <= 0) & ~np.atleast_1d(outcome.reached)):
            status[k], messages[k] = Outcome.out_of_reach, str(np.atleast_1d(outcome.messages)[k])
        terms = self._terms(search, best, outcome)
        return self._with_metrics(result, terms, status, messages, {"goals": [goal.name for goal in self.goals]})

    def _terms(self, search: MemberSearch, best: Positioned, outcome: InverseKinematics) -> dict[str, list[np.ndarray]]:
        """What stands for names of metrics: (B,) each."""
        out = {missed_of(one.name): [np.array(v)] for one, v in zip(search.levels, best.value, strict=True)}
        out[f"{REACHED}()"] = [np.atleast_1d(outcome.reached).astype(float)]
        return out | {path: [*observed_at(one, search, best.q).T] for path, one in self.channels.items()}

    def run(self, x: np.ndarray) -> np.ndarray:
        """See `MeasuredAnswers.run`."""
        return super().run(self._inputs(x))

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """See `MeasuredAnswers.tangent`."""
        with jax.enable_x64(True):
            along = partial(jax.jvp, self._expanded, (jnp.asarray(x),))
            directions = np.asarray(jax.vmap(lambda d: along((d,))[1])(jnp.asarray(dx)))
        return super().tangent(self._inputs(x), directions)

    def adjoint(self, x: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """See `MeasuredAnswers.adjoint`."""
        cotangents = super().adjoint(self._inputs(x), bars)
        with jax.enable_x64(True):
            _, back = jax.vjp(self._expanded, jnp.asarray(x))
            return np.asarray(jax.vmap(lambda bar: back(bar)[0])(jnp.asarray(cotangents)))

    def _inputs(self, x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(self._expanded(jnp.asarray(x)))

    def _measured(self, y: Array) -> Array:
        outcome = outcome_of(self._positions, y)
        values: dict[str, list[Array]] = {missed_of(name): [x] for name, x in outcome.missed.items()}
        values[f"{REACHED}()"] = [jnp.asarray(outcome.reached, float)]
        first = self._positions.first_observed
        for path, one in self.channels.items():
            values[path], first = [y[:, first + k] for k in range(one.size)], first + one.size
        status = jnp.where((outcome.status <= 0) & ~outcome.reached, int(Outcome.out_of_reach), outcome.status)
        return self._traced(values, status)


@contextmanager
def _goals_by_name(goals: Sequence[NamedGoal]) -> Iterator[None]:
    """What is refused of a goal by its number is refused by its name."""
    try:
        yield
    except ModelError as error:
        number = re.match(r"goals\[(\d+)\]", error.where)
        if number is None:
            raise
        where = f"goals.{goals[int(number[1])].name}{error.where[number.end() :]}"
        raise ModelError(where, error.found, error.allowed, error.todo) from None


def _stated(prepared: Prepared, began: Start) -> StatedState:
    """Members where they begin, at rest."""
    B = prepared.members
    finite = np.isfinite(began.q).all(0) & np.isfinite(prepared.values).all(0)
    status = np.where(~began.closed, int(Outcome.not_assembled), np.where(finite, 0, int(Outcome.non_finite)))
    return StatedState(
        prepared, B, began.q, np.zeros_like(began.v), began.states, np.zeros(B), prepared.parameters(), status,
        began.gap, ("",) * B,
    )  # fmt: skip


def values_of(goal: NamedGoal, column: Callable[[str], Array]) -> dict[str, Array]:
    """The arrays of a goal for B members, (B, 3), (B, 3, 3) and (B,), from columns (B,) of numbers by path."""
    out: dict[str, Array] = {}
    for name, paths in goal.paths:
        numbers = [column(path) for path in paths]
        if name == "T":
            out[name] = jnp.stack(numbers, axis=1)
        elif name == "R":
            rows = rotation_of_vector(numbers)
            ones = jnp.ones_like(numbers[0])
            out[name] = jnp.stack([jnp.stack([x * ones for x in row], axis=1) for row in rows], axis=1)
        else:
            out[name] = numbers[0]
    return out


def with_values(goal: NamedGoal, arrays: Mapping[str, Any]) -> Goal:
    """The goal with arrays of known numbers."""
    return replace(goal.goal, **{name: np.asarray(x, float) for name, x in arrays.items()})

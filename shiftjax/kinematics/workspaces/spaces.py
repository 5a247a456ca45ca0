"""Workspaces of many designs as a `Result`, and their metrics as functions of the numbers of designs. Host code.

Each member stands where it begins, as `assemble` has it; its metrics are expressions of the area or volume that it
reaches and of what is largest inside (`space_metrics`). Areas within traced curves have slopes, those along their
boundaries; all else has none. A member of which a metric asks what there is not, as the area of a joint that turns
round, is `unlimited`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.formats.files import load
from shiftjax.gradients.implicit import Answered, Implicit
from shiftjax.kinematics.measured_answers import DesignMetrics
from shiftjax.kinematics.workspaces.reaching import Reaching
from shiftjax.kinematics.workspaces.space_metrics import TERMS, space_metrics
from shiftjax.kinematics.workspaces.space_words import COORDINATES, refuse_other_units, space_of
from shiftjax.kinematics.workspaces.table import ReachableSpace
from shiftjax.kinematics.workspaces.workspace import SEARCHED, SpaceQuestion, is_traced_out
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.derive import Formula
from shiftjax.run.memory import Need
from shiftjax.run.options import DesignOptions, Options, options_of
from shiftjax.run.results.result import Result

Array = Any  # of JAX, traced
Space = tuple[ReachableSpace, Callable[[], np.ndarray]]
SIZES = ("area", "volume")  # one number: of two coordinates, or of three


def spaces(
    model: Model | str,
    *,
    workspace: Mapping[str, Any],
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
    """Workspaces, of many designs.

    Args:
        workspace: `coordinates`, and what else `workspace` is asked, as `box`, `points`, `inscribed`, `orientations`.
        metrics: name -> an expression of `area()` or `volume()`, `radius()` of the largest circle or ball inside,
            `side()` of the largest square, `dexterous_area()`.
        channels: of the pose in which each member begins. progress: of no use, since searches do not tell.
        all others: as those of `assemble`.

    Returns:
        a Result of the one pose in which each member begins. One without an area, or without a point inside, of which
        a metric asks, is `unlimited`.

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    given = options_of(
        metrics=metrics, channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, tie=tie, branch=branch,
        strict_start=strict_start, backend=backend, precision=precision, threads=threads, announce=announce,
    )  # fmt: skip
    model = model if isinstance(model, Model) else load(model)
    columns, assign = (design := given.design.worked_out(model)).vary, design.assign
    stated = given.changed(vary=None, assign=assign, derive=None)
    return SpaceFunction(model, tuple(columns or {}), stated, workspace).result(columns, given)


def refuse_spaces(
    model: Model, workspace: Mapping[str, Any], metrics: Mapping[str, Any] | None, tie: Mapping[str, Any] | None,
    branch: str | None = None,
) -> None:  # fmt: skip
    """Raises what a workspace of a model's own numbers would be refused for; none is traced."""
    SpaceFunction(model, (), options_of(metrics=metrics, tie=tie, branch=branch), workspace)


class SpaceFunction(DesignMetrics):
    """Metrics and status of workspaces as functions of numbers of designs, as `PathFunction` has those of paths.

    Args:
        names: full paths of the numbers. given: all else that is stated, with the metrics. workspace: as of `spaces`.
        warns: whether slopes that are doubtful are said in a `GradientWarning`.

    Attributes:
        question: what every design is asked. known: the workspace's coordinates, of the model's own numbers.
    """

    def __init__(
        self, model: Model, names: Sequence[str], given: Options, workspace: Mapping[str, Any], *, warns: bool = True
    ) -> None:
        self.model, self.names, self.given, words = model, tuple(names), given, space_of(workspace)
        self.question = SpaceQuestion(
            model, words[COORDINATES], words.get("box"), words.get("points", 0), words.get("stops", True),
            words.get("inscribed", False), words.get("orientations", 0), words.get("searched", SEARCHED),
        )  # fmt: skip
        stops = self.question.stops
        self.known = Reaching.of_model(model, self.question.coordinates, self._options(None, []), stops=stops)
        self.question.refuse(self.known)
        refuse_other_units(workspace, self.known.units)
        self.metrics = space_metrics(given.recording.metrics, words, self.known.units)
        self.terms = tuple(dict.fromkeys(term.name for one in self.metrics.values() for term in one.terms))
        self.question = replace(
            self.question, inscribed=self.question.inscribed and bool({"radius", "side"} & {*self.terms}),
            orientations=self.question.orientations if "dexterous_area" in self.terms else 0,
        )  # fmt: skip  # what no metric is of takes time
        self.without_slopes = {
            name: ", ".join(lacking)
            for name, one in self.metrics.items()
            if (lacking := [reason for term in one.terms if (reason := self._flat(term.name))])
        }
        self._solved = Implicit(len(TERMS) + 1, self._answer, warns=warns)

    def _flat(self, term: str) -> str:
        """Why a term has no slopes; "" of one that has."""
        if term not in SIZES:
            return f"{term}() is sought, and follows from no equation"
        return "" if is_traced_out(self.known) else f"{term}() is that of the cells of a grid"

    # -- in NumPy ------------------------------------------------------------------------------------------------------

    def result(self, vary: Mapping[str, np.ndarray] | None, given: Options) -> Result:
        """See `DesignMetrics.result`."""
        began = self._began(vary, given)
        every = self._spaces(vary, began)
        y = _numbers(every)
        status, messages = self._status(began, every, y)
        return self._with_metrics(
            began, {text: [x] for text, x in zip(TERMS, y.T, strict=True)}, status, messages,
            {"workspace": list(self.known.names)},
        )  # fmt: skip

    def _measured(self, y: Array) -> Array:
        return self._traced({text: [y[:, k]] for k, text in enumerate(TERMS)}, y[:, -1])

    # -- the answers ---------------------------------------------------------------------------------------------------

    def _options(self, vary: Mapping[str, np.ndarray] | None, members: Sequence[int] | np.ndarray) -> Options:
        """Of some members, or of none in particular; with the branches of these where each has one of its own."""
        branch = self.given.start.branch
        if branch is not None and not isinstance(branch, str | int):
            branch = [branch[k] for k in members] or branch[0]
        stated = self.given.changed(metrics=None, channels=(), keep="none", branch=branch)
        return replace(stated, design=DesignOptions(vary, self.given.design.assign, None))

    def _spaces(self, vary: Mapping[str, np.ndarray] | None, began: Result) -> list[Space | None]:
        """What designs reach; None of those that have not begun."""
        good = np.flatnonzero(np.atleast_1d(began.status) <= 0)
        out: list[Space | None] = [None] * began.members
        if len(good):
            some = vary and {path: values[good] for path, values in vary.items()}
            for k, space in zip(good, self.question.of(self._options(some, good), self.known), strict=True):
                out[int(k)] = space
        return out

    def _answer(self, x: np.ndarray) -> Answered:
        """Of numbers (B, P): the terms, and the status."""
        vary = self._vary(x)
        began = self._began(vary, self.given.changed(channels=(), keep="none"))
        every = self._spaces(vary, began)
        y = _numbers(every)
        status, messages = self._status(began, every, y)
        return Answered(np.concatenate([y, status[:, None]], axis=1), [AreaSlopes(every, x.shape[1])], messages)

    def _status(
        self, began: Result, every: Sequence[Space | None], y: np.ndarray
    ) -> tuple[np.ndarray, tuple[str, ...]]:
        """(B,) how members ended, and what is said of them, of terms (B, ...)."""
        status, messages = np.array(np.atleast_1d(began.status)), list(began.messages)
        for term in self.terms:
            for k in np.flatnonzero((status <= 0) & np.isnan(y[:, TERMS.index(term)])):
                space, status[k] = every[int(k)], Outcome.non_finite
                cause = "it does not close where it begins" if space is None else "no point of the grid is inside"
                if space is not None and not space[0].consistent:
                    cause = "; ".join(space[0].notes)
                    status[k] = Outcome.non_finite if space[0].bounded else Outcome.unlimited
                messages[k] = f"{term}(): there is none: {cause}"
        return status, tuple(messages)


class AreaSlopes:
    """Slopes of the areas of members by all their numbers, as a `SlopedPart` of an implicit function.

    Args:
        every: what members reach, and what gives the slopes (P,) of their areas. count: of numbers, P.
    """

    outputs: Sequence[int] | np.ndarray = tuple(TERMS.index(size) for size in SIZES)

    def __init__(self, every: Sequence[Space | None], count: int) -> None:
        self._every, self.columns = every, np.arange(count)
        self.members = np.array([k for k, one in enumerate(every) if one is not None], int)
        self.near = np.zeros(len(self.members), bool)

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the answers: all terms, of which the area alone has slopes."""
        return self.members[:, None], np.broadcast_to(np.arange(len(TERMS)), (len(self.members), len(TERMS)))

    @cached_property
    def slopes(self) -> np.ndarray:
        """(K, terms, P); NaN where there is none."""
        out = np.full((len(self.members), len(TERMS), len(self.columns)), np.nan)
        for row, k in zip(out, self.members, strict=True):
            space = self._every[int(k)]
            assert space is not None
            row[[*self.outputs]] = space[1]()
        return out

    def tangent(self, dx: np.ndarray) -> np.ndarray:
        """(K, terms) changes from those of the numbers of all members (B, P)."""
        moves = dx[self.members][:, None]
        return np.where(moves != 0.0, self.slopes * moves, 0.0).sum(2)

    def adjoint(self, bars: np.ndarray) -> np.ndarray:
        """(K, P) cotangents of the numbers from those (K, terms)."""
        return np.where(bars[:, :, None] != 0.0, self.slopes * bars[:, :, None], 0.0).sum(1)


def _numbers(every: Sequence[Space | None]) -> np.ndarray:
    """(B, terms); NaN where there is none."""
    out = np.full((len(every), len(TERMS)), np.nan)
    for row, one in zip(out, every, strict=True):
        if one is not None:
            space = one[0]
            ball, square = (np.nan if part is None else part[1] for part in (space.ball, space.square))
            row[:] = space.area, space.area, ball, square, space.dexterous_area
    return out

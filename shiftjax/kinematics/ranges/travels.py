"""Travels of many designs as a `Result`, and their metrics as functions of the numbers of designs. Host code.

Each member stands where it begins, as `assemble` has it; its metrics are expressions of ends of travels, poses at dead
points and turning margins (`travel_metrics`), which have their slopes as implicit functions. A member without an end
that a metric asks for is `unlimited`, as a crank is that turns round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.gradients.implicit import Answered, Implicit
from shiftjax.kinematics.measured_answers import DesignMetrics
from shiftjax.kinematics.ranges.travel import ASSEMBLED, HIGH, LOW, MARGIN, TravelEnds
from shiftjax.kinematics.ranges.travel_metrics import TravelTerm, travel_metrics
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.sublinkages import travel_notes, unread_sublinkages
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.derive import Formula
from shiftjax.run.memory import Need
from shiftjax.run.options import DesignOptions, Options, options_of
from shiftjax.run.results.result import Result

Array = Any  # of JAX, traced
PLACES = {"begin": 0, "low": LOW, "high": HIGH, "turning_margin": MARGIN}  # term -> which answer of a joint it is
MARGINS = "turning_margin"
FLAT = "a planar loop of four joints that turn"


def travels(
    model: Model | str,
    *,
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
    """Travels of joints, of many designs.

    Args:
        metrics: name -> an expression of `low(joint)`, `high(joint)`, `range(joint)`, `begin(joint)`,
            `turning_margin(joint)`, `at_low(joint, other)` and `at_high(joint, other)`, places of another joint at its
            dead points.
        channels: of the pose in which each member begins. progress: of no use, since ends of travels do not tell.
        all others: as those of `assemble`.

    Ends are those of the stage of a joint, as of `travel`; a member must begin with all loops closed.

    Returns:
        a Result of the one pose in which each member begins. One without an end that a metric asks for is `unlimited`,
        and one whose loops are not planar but a turning margin is asked of is `non_finite`.

    Raises:
        ModelError: anything the model or the arguments make impossible; a turning margin of other joints than those of
            planar loops of four joints that turn.
    """
    given = options_of(
        metrics=metrics, channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, tie=tie, branch=branch,
        strict_start=strict_start, backend=backend, precision=precision, threads=threads, announce=announce,
    )  # fmt: skip
    model = model if isinstance(model, Model) else load(model)
    columns, assign = (design := given.design.worked_out(model)).vary, design.assign
    function = TravelFunction(model, tuple(columns or {}), given.changed(vary=None, assign=assign, derive=None))
    return function.result(columns, given)


def refuse_travels(model: Model, metrics: Mapping[str, Any] | None, tie: Mapping[str, Any] | None) -> None:
    """Raises what travels of a model's joints would be refused for; none is taken."""
    TravelFunction(model, (), options_of(metrics=metrics, tie=tie))


class TravelFunction(DesignMetrics):
    """Metrics and status of travels as functions of numbers of designs, as `PathFunction` has those of paths.

    Args:
        names: full paths of the numbers. given: all else, with the metrics.
        warns: whether slopes that are doubtful are said in a `GradientWarning`.

    Attributes:
        static: the travels of the model's own numbers, for what no number decides.
    """

    def __init__(self, model: Model, names: Sequence[str], given: Options, *, warns: bool = True) -> None:
        self.model, self.names, self.given = model, tuple(names), given
        self.metrics = travel_metrics(model, given.recording.metrics)
        self.terms = {term.text(): term for one in self.metrics.values() for term in one.terms}
        self.joints = list(dict.fromkeys(term.joint for term in self.terms.values()))
        self._known = self._ends(None, only_named=True)
        self._first = dict(zip(self.joints, np.cumsum([0, *(one.count for one in self._known)]), strict=False))
        self._places = {text: self._place(term) for text, term in self.terms.items()}
        self._solved = Implicit(sum(one.count for one in self._known) + 1, self._answer, warns=warns)

    # -- what there is -------------------------------------------------------------------------------------------------

    def _place(self, term: TravelTerm) -> list[int]:
        """Answers of which the last one, less the others, is a term.

        Raises:
            ModelError: a turning margin of a joint that has none; a joint that another one does not move.
        """
        first, ends = int(self._first[term.joint]), self._known[self.joints.index(term.joint)]
        if term.name == MARGINS and ends.turning is None:
            todo = f"Take the minimum of {term.joint}.mobility along a path of another joint, of a study that follows."
            raise ModelError(term.text(), "a joint of another loop, or of none", f"one of {FLAT}", todo)
        if term.other:
            if term.other not in ends.names:
                allowed = listed(ends.names) or "none: it moves by itself"
                raise ModelError(term.text(), f"{term.other}, which it does not move", allowed, "Name another joint.")
            return [first + ends.place_at(term.other, high=term.name == "at_high")]
        return [first + LOW, first + HIGH] if term.name == "range" else [first + PLACES[term.name]]

    # -- in NumPy ------------------------------------------------------------------------------------------------------

    def result(self, vary: Mapping[str, np.ndarray] | None, given: Options) -> Result:
        """See `DesignMetrics.result`."""
        began = self._began(vary, given)
        y = np.concatenate([one.answers() for one in self._ends(vary)], axis=1)
        status, messages = self._status(began, y)
        with np.errstate(all="ignore"):  # ends that are infinite
            terms = {text: [x] for text, x in self._terms(y.T).items()}
        sublinkages = self.model.sublinkages
        if staged := travel_notes(sublinkages):
            others = set(unread_sublinkages(sublinkages))
            began = replace(began, notes=(*(note for note in began.notes if note not in others), *staged))
        return self._with_metrics(began, terms, status, messages, {"travels": self.joints})

    def _measured(self, y: Array) -> Array:
        return self._traced({text: [x] for text, x in self._terms(y.T).items()}, y[:, -1])

    def _terms(self, y: Array) -> dict[str, Array]:
        """Text of a term -> (B,), from answers (answers, B)."""
        return {text: y[at[-1]] - y[at[0]] if len(at) > 1 else y[at[0]] for text, at in self._places.items()}

    # -- the answers ---------------------------------------------------------------------------------------------------

    def _ends(self, vary: Mapping[str, np.ndarray] | None, *, only_named: bool = False) -> list[TravelEnds]:
        design = DesignOptions(vary, self.given.design.assign, None)
        options = replace(self.given.changed(metrics=None, channels=(), keep="none"), design=design)
        return [TravelEnds.of(self.model, joint, options, only_named=only_named) for joint in self.joints]

    def _answer(self, x: np.ndarray) -> Answered:
        """Of numbers (B, P): the answers of all joints, and the status."""
        vary = self._vary(x)
        began = self._began(vary, self.given.changed(channels=(), keep="none"))
        begin = {term.joint for term in self.terms.values() if term.name == "begin"}
        names = dict.fromkeys(self.names)
        every = [one.answered(names, begins=one.path in begin) for one in self._ends(vary)]
        y = np.concatenate([one.y for one in every], axis=1)
        status, messages = self._status(began, y)
        parts = []
        for answered, first in zip(every, self._first.values(), strict=True):
            for part in answered.parts:
                part.outputs = np.asarray(part.outputs) + int(first)
                parts.append(part)
        return Answered(np.concatenate([y, status[:, None]], axis=1), parts, messages)

    def _status(self, began: Result, y: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
        """(B,) how members ended, and what is said of them, of answers (B, ...)."""
        status, messages = np.array(np.atleast_1d(began.status)), list(began.messages)
        for text, term in self.terms.items():
            first = int(self._first[term.joint])
            for k in np.flatnonzero((status <= 0) & ~(y[:, first + ASSEMBLED] > 0.0)):
                fault = f"{text}: the loops of {term.joint} do not close where it begins"
                status[k], messages[k] = (
                    Outcome.not_assembled,
                    f"{fault}: {REMEDY[Outcome.not_assembled].partition(': ')[2]}",
                )
            lacks = {end: np.isinf(y[:, first + PLACES[end]]) for end in term.ends}
            for k in np.flatnonzero((status <= 0) & np.any([*lacks.values(), np.zeros(len(y), bool)], axis=0)):
                without = listed([end for end, lost in lacks.items() if lost[k]])
                fault = f"{text}: {term.joint} has no {without} end"
                status[k], messages[k] = Outcome.unlimited, f"{fault}: {REMEDY[Outcome.unlimited].partition(': ')[2]}"
            value = y[:, self._places[text][0]]
            for k in np.flatnonzero((status <= 0) & np.isnan(value)):
                status[k], messages[k] = Outcome.non_finite, f"{text}: no number, since it is not of {FLAT}"
        return status, tuple(messages)

"""The definition of a study: what is simulated, what varies, what is measured and kept. Words only, no arrays.

A definition says the same as a study file (`study_file`), key by key; `designs` makes the members of it.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.constraints.pose_drives import MOTIONS
from shiftjax.ensembles.study.correlation import Correlation, correlation
from shiftjax.ensembles.study.definition_keys import KEYS, inside
from shiftjax.ensembles.study.keeping import Keep, keep, stated_senses
from shiftjax.ensembles.study.optimization_words import Wanted, wanted
from shiftjax.ensembles.study.path_words import is_path
from shiftjax.ensembles.study.rankings import senses
from shiftjax.ensembles.study.sample import refuse_undrawn
from shiftjax.ensembles.study.spec import NUMBERS, Vary, varied
from shiftjax.errors import ModelError, nearest, need_mapping, need_path, shown, wrong
from shiftjax.formats.writer import to_dict
from shiftjax.measures.aims import with_good
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.mechanism.events import Event, written_event
from shiftjax.mechanism.frozen_json import FrozenJson, freeze, thaw
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.programs.integrators import method_of

Words = str | float | Sequence[Any] | Mapping[str, Any]
ONCE = ("vary", "set", "derive")  # tables in which a number stands once at most
LIMITS = ("energy_limit", "gap_limit", "angle_limit")
# Of no use to `assemble`.
MOTION = (
    "span",
    "step",
    "tolerance",
    "output_step",
    "method",
    "strict_inertia",
    "singular",
    "accuracy",
    "events",
    *LIMITS,
)
# Of no use where members do not move in time: refused there.
UNMOVED = (*MOTION, "hold", "assemble_only")
OF_IK = ("goals", "limits", "tries")  # of no use elsewhere
# Kind of a study whose metrics are of one answer each -> what it is, an example, and where what it is of stands.
ANSWERED = {
    "travel": ("travels", 'swing = "range(rocker_pivot)"', "metrics name the joints"),
    "workspace": ("workspaces", 'room = "area()"', "[workspace] has its coordinates"),
}
SETTINGS = (*MOTION, "precision", "backend", "branch", "strict_start", "channels", "hold", "tie", "tries",
            "workspace")  # fmt: skip
EMPTY = FrozenJson()
MOST = 1_000_000  # numbers of a range: a study is stored as text


@record
class Definition:
    """A study, as words; everything but the model may be left out.

    What each key may hold stands in docs/studies.md.

    Attributes:
        model: a library name, the path of a model file, or a Model.
        vary: number path -> "low:high~sobol" and its like, a list of values, a table of a law, or a `Vary`.
        samples: how many values of all drawn numbers, at every point of the grid and every row of the table.
        seed: of the draws.
        correlation: between drawn numbers: {"pairs": [(path, path, value)]} or {"paths": ..., "matrix": ...}.
        table: the path of a .csv or .parquet file of designs.
        derive: number path -> a formula, number paths in braces.
        switch: assembly, body, joint, force, constraint or driver -> [True, False].
        kind: "run"; "follow": each member is led along the places of `drive`; "travel": metrics are of how far
            joints can go; "ik": each is put where `goals` want it; or "workspace": metrics are of what a frame can
            reach. Nothing moves in time but in the first.
        set: number path -> the value of all members, in SI or as "30deg".
        drive: joint -> a constant speed, a text such as "harmonic(amplitude=0.3, frequency=2)", or a `Harmonic` and
            its like; its numbers have paths, as JOINT_drive.amplitude, that vary, set and derive name. Where members
            are followed: "0deg:360deg:73", or a list of places.
        tie: name -> an equation of coordinates of joints and the time t, as "left.q == -2 * right.q".
        hold: joints that keep their place while loops are closed.
        branch: the name of the assembly branch on which all members begin, as of `simulate`.
        span, step, output_step: [s], as those of `simulate`.
        tolerance, method, precision, backend: as those of `simulate`.
        channels: what is recorded of the members that are kept.
        goals: name -> a goal of inverse kinematics, as a table; limits: coordinate -> its ends; tries: poses from which
            members begin. Of kind "ik".
        workspace: what a workspace is of, as a table of arguments of `shiftjax.workspace`. Of that kind.
        metrics: name -> a text, or a mapping with `of`, in which `good` says whether small or large values are good
            and `limits` between which ones a member is as it should be.
        events: name -> an expression of channels that comes to zero, or a mapping of the arguments of `Event`; False
            for one of the model's file that is switched off.
        keep: whose trajectories are kept: "all", "none", "every 10", how many, a list of members, or a mapping of
            `members`, `worst` and `best`.
        assemble_only: loops are closed and nothing is run; span, step, tolerance, output_step, method and limits say
            nothing then.
        strict_start: members whose stated start the loops do not allow are not run.
        strict_inertia: members with moments of inertia that no body has are not run.
        singular: "pass" or "stop", as of `simulate`: what members do at singular poses.
        energy_limit, gap_limit, angle_limit: above which a member is `inaccurate`; math.inf for none.
        accuracy: "local", "sampled" or "all", as of `simulate`; the sample is one of the whole study, which begins
            with it.
        optimize: what `optimize` makes small, and how: the table `[optimize]`.
        folder: where relative names of files are relative to; the working folder where empty.

    Raises:
        ModelError: for anything that cannot be used, naming its key.
    """

    model: str | Model | Mapping[str, Any]
    vary: Mapping[str, Words | Vary] = EMPTY
    samples: int | None = None
    seed: int = 0
    _: dataclasses.KW_ONLY
    correlation: Mapping[str, Any] = EMPTY
    table: str | None = None
    derive: Mapping[str, str] = EMPTY
    switch: Mapping[str, bool | Sequence[bool]] = EMPTY
    kind: str = "run"
    set: Mapping[str, float | str] = EMPTY
    drive: Mapping[str, Any] = EMPTY
    tie: Mapping[str, str] = EMPTY
    hold: Sequence[str] = ()
    branch: str | None = None
    span: float | None = None
    step: float | None = None
    tolerance: float | None = None
    output_step: float | None = None
    method: str | None = None
    precision: str | None = None
    backend: str | None = None
    channels: Sequence[str] = ()
    goals: Mapping[str, Mapping[str, Any]] = EMPTY
    limits: Mapping[str, Sequence[float | str]] = EMPTY
    tries: int | None = None
    workspace: Mapping[str, Any] = EMPTY
    metrics: Mapping[str, str | Mapping[str, Any]] = EMPTY
    events: Mapping[str, str | Mapping[str, Any] | bool] = EMPTY
    keep: str | int | Sequence[int] | Mapping[str, Any] = EMPTY
    assemble_only: bool = False
    strict_start: bool = False
    strict_inertia: bool = False
    singular: str | None = None
    energy_limit: float | None = None
    gap_limit: float | None = None
    angle_limit: float | None = None
    accuracy: str | None = None
    optimize: Mapping[str, Any] = EMPTY
    folder: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        left_out = {field.name: field.default for field in dataclasses.fields(self)}
        for name, key in KEYS.items():
            given = _worded(getattr(self, name), name)
            checked = left_out[name] if given is None and name != "model" else key.check(name, given)
            object.__setattr__(self, name, freeze(checked))
        need_path("folder", self.folder)
        object.__setattr__(self, "folder", os.fspath(self.folder))
        if self.samples is None and any(not vary.is_axis for vary in self.varied):
            object.__setattr__(self, "samples", self.optimize.get("starts"))
        self._check_together()

    @property
    def varied(self) -> tuple[Vary, ...]:
        """How every path of `vary` varies."""
        return tuple(varied(path, thaw(words), inside("vary", path)) for path, words in self.vary.items())

    @property
    def correlated(self) -> Correlation:
        """The correlations between drawn numbers."""
        return correlation(self.correlation)

    @property
    def measured(self) -> dict[str, Any]:
        """The metrics as `simulate` takes them, each with its sense where anything in the study says it."""
        good = self.senses
        return {name: with_good(thaw(words), good.get(name, "")) for name, words in self.metrics.items()}

    @property
    def senses(self) -> dict[str, str]:
        """Metric -> which of its values are good, "small" or "large", of those of which the study says so: by `good`,
        as what is made small, or by what is kept."""
        objective = dict(self.optimized.expressions).get("objective") if self.optimized else None
        return senses(self.metrics, stated_senses(thaw(self.keep)), objective)

    @property
    def kept(self) -> Keep:
        """Which members have their trajectories kept."""
        return keep(thaw(self.keep), self.senses)

    @property
    def settings(self) -> dict[str, Any]:
        """The keywords of `simulate`, or of `assemble`, that the definition gives, but for what makes the model and its
        designs."""
        given = {name: thaw(getattr(self, name)) for name in SETTINGS}
        return {
            name: value
            for name, value in given.items()
            if value is not None
            and value != []
            and value != {}
            and value is not False
            and not (self.assemble_only and name in MOTION)
        }

    @property
    def simulated(self) -> bool:
        """Whether its members move in time; else they are followed, asked for travels, posed or assembled alone."""
        return self.kind == "run" and not self.assemble_only

    @property
    def optimized(self) -> Wanted | None:
        """What `[optimize]` asks for, None without it."""
        return wanted(thaw(self.optimize)) if self.optimize else None

    @property
    def switches(self) -> dict[str, tuple[bool, ...]]:
        """The states of everything that is switched."""
        return {path: tuple(thaw(states)) for path, states in self.switch.items()}

    @property
    def model_file(self) -> Path | None:
        """The file of the model; None for a model of the library and one that stands in the definition."""
        if not isinstance(self.model, str):
            return None
        path = self.placed(self.model)
        plain = not Path(self.model).suffix and len(Path(self.model).parts) == 1
        return None if plain and not path.is_file() else path

    def placed(self, name: str) -> Path:
        """The file of a name in the definition, which is relative to its folder."""
        return Path(self.folder) / Path(name).expanduser()

    def _check_kind(self) -> None:
        """Raises for keys that say nothing of a study of this kind, and for motions of the other one."""
        follow = self.kind == "follow"
        if follow and not self.drive:
            todo = 'Add [drive] with crank_pivot = "0deg:360deg:73".'
            raise ModelError("drive", 'nothing, of kind "follow"', "places of the joints that are led", todo)
        for joint, words in self.drive.items():
            where = inside("drive", joint)
            if follow and not is_path(thaw(words)):
                raise ModelError(where, f'{shown(thaw(words))}, of kind "follow"', "places, from:to:count or a list",
                                 'Write it like "0deg:360deg:73".')  # fmt: skip
            if self.kind == "run" and is_path(thaw(words)):
                todo = 'Add kind = "follow", or write a motion, as harmonic(amplitude=0.3, frequency=2).'
                raise ModelError(where, f"{shown(thaw(words))}, the places of a path", "a motion in time", todo)
        for name in UNMOVED if self.kind != "run" else ():
            if getattr(self, name) != FIELDS[name].default:
                fault = f'{shown(thaw(getattr(self, name)))}, of kind "{self.kind}"'
                raise ModelError(name, fault, "nothing: members do not move in time", "Leave it out.")
        if self.kind in ANSWERED:
            self._check_answers(*ANSWERED[self.kind])
        if self.kind == "workspace" and not self.workspace:
            todo = 'Add [workspace] with coordinates = "tool".'
            raise ModelError("workspace", 'nothing, of kind "workspace"', "what it is of", todo)
        if self.kind != "workspace" and self.workspace:
            todo = 'Add kind = "workspace", or leave it out.'
            raise ModelError("workspace", f'a table, of kind "{self.kind}"', 'nothing but of kind "workspace"', todo)
        self._check_goals()

    def _check_goals(self) -> None:
        """Raises for goals of other studies, and for what says nothing beside goals."""
        for name in OF_IK if self.kind != "ik" else ():
            if getattr(self, name) != FIELDS[name].default:
                fault = f'{shown(thaw(getattr(self, name)))}, of kind "{self.kind}"'
                raise ModelError(name, fault, 'nothing but of kind "ik"', 'Add kind = "ik", or leave it out.')
        if self.kind == "ik" and self.drive:
            todo = "Make a goal of its coordinate."
            raise ModelError("drive", f'{", ".join(self.drive)}, of kind "ik"', "nothing: goals lead joints", todo)
        if self.kind == "ik" and self.optimize.get("data") is not None:
            todo = "Make residuals of metrics, without data."
            raise ModelError("optimize.data", 'a table, of kind "ik"', "nothing: poses have no instants", todo)

    def _check_answers(self, what: str, example: str, named: str) -> None:
        """Raises for keys that say nothing of a study whose members are asked for travels or workspaces.

        Args:
            what: they are asked for. example: of a metric. named: where the joints or frames stand.
        """
        of_kind = f'of kind "{self.kind}"'
        if not self.metrics:
            todo = f"Add [metrics] with {example}."
            raise ModelError("metrics", f"nothing, {of_kind}", f"what is asked of {what}", todo)
        if self.drive:
            fault, allowed = f"{', '.join(self.drive)}, {of_kind}", f"nothing: {named}"
            raise ModelError("drive", fault, allowed, 'Leave it out, or take kind = "follow".')
        if self.optimize.get("data") is not None:
            todo = "Make residuals of metrics, without data."
            raise ModelError("optimize.data", f"a table, {of_kind}", f"nothing: {what} have no instants", todo)

    def _check_together(self) -> None:
        """Raises where the keys do not go together."""
        method_of(self)
        self._check_kind()
        seen: dict[str, str] = {}
        for table in ONCE:
            for path in getattr(self, table):
                if path in seen:
                    todo = "Leave it out in one of them."
                    raise ModelError(inside(table, path), f"the same number in {seen[path]}", "each number once", todo)
                seen[path] = table
        drawn = [vary.path for vary in self.varied if not vary.is_axis]
        if drawn and self.samples is None:
            raise ModelError("samples", "nothing", "a whole number from 1", "Say how many values are to be drawn.")
        if not drawn and self.samples is not None:
            fault = f"{self.samples}, and nothing that is drawn"
            raise ModelError("samples", fault, "grids only count their points", "Leave samples out.")
        refuse_undrawn(self.correlated, drawn, "correlation")
        known = [*self.metrics, *CERTIFICATE]
        for extreme in self.kept.extremes:
            path = any(sign in extreme.metric for sign in "{.:[")  # a number or an expression: refused with rows
            if extreme.metric not in known and not path:
                todo = nearest(extreme.metric, known) or "Add it to metrics."
                raise ModelError(f"keep.{extreme.end}.metric", repr(extreme.metric), ", ".join(known), todo)


FIELDS = {field.name: field for field in dataclasses.fields(Definition)}


def document(definition: Definition) -> dict[str, Any]:
    """The definition as plain JSON: keys that say what is the default anyway are left out.

    A model that is no name stands in it whole, as in a model file; no limit is the text "inf".
    """
    if not isinstance(definition, Definition):
        raise wrong("document: definition", definition, "a Definition")
    words: dict[str, Any] = {}
    for name in KEYS:
        value = getattr(definition, name)
        if isinstance(value, Model):
            words[name] = to_dict(value)
        elif value != FIELDS[name].default:
            words[name] = "inf" if value == math.inf else thaw(value)
    return words


def from_document(words: Mapping[str, Any], folder: str | Path = "") -> Definition:
    """The definition of a plain mapping, such as `document` or a study file gives.

    Args:
        optimize: what `optimize` makes small, and how: the table `[optimize]`.
        folder: where relative names of files are relative to.

    Raises:
        ModelError: an unknown key, no model, or a value that cannot be used.
    """
    need_mapping("study", words)
    for key in words:
        if key not in KEYS:
            raise ModelError(key, "an unknown key", ", ".join(KEYS), nearest(key, KEYS) or "Leave it out.")
    if "model" not in words:
        raise ModelError("model", "nothing", "a library name or the path of a model", 'Add model = "four_bar".')
    return Definition(**words, folder=os.fspath(folder))


def _worded(value: Any, where: str) -> Any:
    """A value of Python in the words of a file: arrays as lists, records of laws and motions as tables."""
    if isinstance(value, Model) or value is None:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return (value.astype(float) if value.dtype == np.longdouble else value).tolist()  # whose list is of the same
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Vary):
        return _of_vary(value)
    for type_, motion in MOTIONS.items():
        if isinstance(value, motion):
            numbers = {field.name: getattr(value, field.name) for field in dataclasses.fields(motion)}
            return {"type": type_} | {k: _worded(v, f"{where}.{k}") for k, v in numbers.items() if v is not None}
    if isinstance(value, Event):
        return written_event(value)
    if isinstance(value, Mapping):
        return {key: _worded(inner, inside(where, str(key))) for key, inner in value.items()}
    if isinstance(value, range) and value[MOST:]:
        raise ModelError(where, repr(value), f"at most {MOST:,} numbers", "Give a grid or draw them.")
    if isinstance(value, list | tuple | range):
        return [_worded(inner, f"{where}[{k}]") for k, inner in enumerate(value)]
    if not isinstance(value, str | bool | int | float):
        todo = "A study is stored as text; say it in words, or call simulate yourself."
        raise ModelError(where, shown(value), "texts, numbers, lists and tables", todo)
    return value


def _of_vary(vary: Vary) -> dict[str, Any]:
    """The table of a `Vary`."""
    law, names = vary.distribution, NUMBERS[vary.distribution]
    words: dict[str, Any] = {"distribution": law} | ({names[0]: vary.low, names[-1]: vary.high} if names else {})
    more = {"values": list(vary.values), "mode": vary.mode, "points": vary.points}
    more |= {"sampling": vary.sampling, "unit": vary.unit}
    return words | {key: value for key, value in more.items() if value or (key == "mode" and value is not None)}

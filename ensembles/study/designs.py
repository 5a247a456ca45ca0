"""The members of a study: what every one of them is, as a pure function of its definition. Host only, no jax.

Problem: a definition names axes of several kinds. They combine as a product, from the slowest to the fastest: switches,
rows of the table, grids and lists (last path fastest), draws. Members are numbered in this order.
Properties: one model is made for each combination of switches, a `MemberGroup`; all groups have the same designs, so
that they can be compared member by member, and a further switch changes no design; what `sample` says of draws holds.
What is switched off has no numbers there: a varied path of it is NaN in the designs of such a group and is not given to
`simulate`; it, a drive, a channel, a metric or a held joint of the study must exist in at least one group.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping

import numpy as np

from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.definition_keys import inside
from shiftjax.ensembles.study.design_table import columns
from shiftjax.ensembles.study.goals import goals_in
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.motion_words import motion
from shiftjax.ensembles.study.observing import observed
from shiftjax.ensembles.study.path_words import places
from shiftjax.ensembles.study.sample import refuse_too_many, sample
from shiftjax.ensembles.study.spec import assigned
from shiftjax.ensembles.study.switching import element, switched
from shiftjax.errors import ModelError, wrong
from shiftjax.formats.files import load
from shiftjax.kinematics.paths.inputs import inputs_of, units_of
from shiftjax.measures.support import arguments_of
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.frozen_json import FrozenJson, thaw
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.parameters import determined
from shiftjax.mechanism.paths import split
from shiftjax.quantities import check_unit
from shiftjax.run.derive import with_derived
from shiftjax.run.file_integrator import as_the_file_asks
from shiftjax.run.programs.integrators import FILE
from shiftjax.run.start.driven.drives import driven

MOST_GROUPS = 1024  # models, each of which is compiled


def designs(definition: Definition) -> tuple[MemberGroup, ...]:
    """The groups of a study, all members of a model together.

    Raises:
        ModelError: no such model, table, element, number, channel or unit; a number that is stated twice.
    """
    if not isinstance(definition, Definition):
        raise wrong("designs: definition", definition, "a Definition")
    model, drivers = _whole(definition)
    model, goals = goals_in(definition, model)
    axes = _axes(definition, model)
    whole = switched(model, {path: any(states) for path, states in axes.items()})
    names = _Names(definition, whole)
    values, members = _values(definition, names)
    count = math.prod(map(len, axes.values()))
    if count > MOST_GROUPS:
        todo = "Switch fewer elements in one study, or give some of them one state."
        raise ModelError("switch", f"{count} combinations", f"up to {MOST_GROUPS}, a model each", todo)
    refuse_too_many(members * count, "samples")
    led = _led(definition, model) if definition.kind == "follow" else {}
    groups: list[MemberGroup] = []
    for states in itertools.product(*axes.values()):
        on = dict(zip(axes, states, strict=True))
        variant = _without_idle(switched(model, on), drivers)
        group = _group(definition, names, variant, on, len(groups) * members, members, values, led)
        groups.append(dataclasses.replace(group, settings={**group.settings, **goals}))
    return observed(groups, definition)


def _group(
    definition: Definition,
    names: _Names,
    model: Model,
    on: Mapping[str, bool],
    first: int,
    members: int,
    values: Mapping[str, np.ndarray],
    led: Mapping[str, np.ndarray],
) -> MemberGroup:
    """A group of a model that has its switches and drives."""
    known = model.numbers()
    numbers = {path: value for path, value in names.set.items() if path in known}
    try:
        model = model.replace(numbers) if numbers else model
    except ModelError as error:
        raise _at(inside("set", error.where), error) from None
    absent = tuple(path for path in values if path not in known)
    columns = {path: np.full(members, np.nan) if path in absent else column for path, column in values.items()}
    settings = dict(definition.settings)
    if settings.get("method") == FILE:
        settings |= as_the_file_asks(model.settings)
    there = [path for path, full in names.hold.items() if _exists(model, full)]
    settings = {**settings, "hold": there} if there else {k: v for k, v in settings.items() if k != "hold"}
    if led:
        settings["drive"] = {path: way for path, way in led.items() if _exists(model, path)}
    derive = {path: formula for path, formula in names.derive.items() if path in known}
    if derive:
        settings["derive"] = derive
    group = MemberGroup(FrozenJson(on), model, first, members, columns, absent, settings, definition.kind)
    try:
        with_derived(model, group.vary(0, 1), None, derive)
    except ModelError as error:  # a formula that says nothing, or of a number that is switched off
        raise _at(inside("derive", error.where.removeprefix("derive ")), error) from None
    return group


def _whole(definition: Definition) -> tuple[Model, dict[str, str]]:
    """The model with the study's drivers, everything that is switched at all on; path of a driver -> its coordinate."""
    given, file = definition.model, definition.model_file
    try:
        if isinstance(given, Model):
            model = given
        elif isinstance(given, str):
            model = load(given if file is None else file)
        else:
            model = load(thaw(given), definition.folder or None)
    except ModelError as error:
        raise _at(f"model {error.where}", error) from None
    if not definition.drive or definition.kind == "follow":
        return model, {}
    on: dict[str, bool] = {}
    for path, states in definition.switches.items():
        try:
            on[element(model, path, "")] = any(states)
        except ModelError:
            continue  # perhaps a driver of the study, of which there is none yet
    model = switched(model, on)
    drivers: dict[str, str] = {}
    for joint, words in definition.drive.items():
        where = inside("drive", joint)
        asked, before = motion(thaw(words), where, definition.placed("")), {path for path, _ in model.drivers()}
        try:
            model, _, _ = driven(model, {joint: asked})
            new = ((path, item) for path, item in model.drivers() if path not in before)
            drivers |= {path: item.joint or model.resolve(joint) for path, item in new}
        except ModelError as error:
            elsewhere, _, key = error.where.partition(f"drive {joint}")
            raise _at(where + ("" if elsewhere else key), error) from None
    if len(set(drivers.values())) < len(drivers):
        raise ModelError("drive", "a joint twice", "each joint once", "Leave one of them out.")
    return model, drivers


def _led(definition: Definition, model: Model) -> dict[str, np.ndarray]:
    """Coordinate -> its places along the path of a study whose members are followed."""
    led: dict[str, np.ndarray] = {}
    for joint, words in definition.drive.items():
        where = inside("drive", joint)
        try:
            path = plain_coordinate(model, joint, "drive")
        except ModelError as error:
            raise _at(where, error) from None
        if path in led:
            raise ModelError(where, f"{path} twice", "each joint once", "Leave one of them out.")
        led[path] = places(thaw(words), where, units_of(model)[path])
    inputs_of(model, led, None)  # raises where they are not as many
    return led


def _axes(definition: Definition, model: Model) -> dict[str, list[bool]]:
    """Full path of what is switched -> its states."""
    axes: dict[str, list[bool]] = {}
    for path, states in definition.switches.items():
        where = inside("switch", path)
        full = element(model, path, where)
        if full in axes:
            raise ModelError(where, f"{full} twice", "each element once", "Leave one of them out.")
        axes[full] = list(states)
    return axes


def _without_idle(model: Model, drivers: Mapping[str, str]) -> Model:
    """The model with those of the study's drivers off whose joints are."""
    joints = {path for path, _ in model.joints()}
    return switched(model, {path: False for path, moved in drivers.items() if split(moved)[0] not in joints})


class _Names:
    """The paths of a definition in full, found in the model where all is on that is on in any group."""

    def __init__(self, definition: Definition, model: Model) -> None:
        self._model, self._numbers = model, model.described()
        self._seen: dict[str, str] = {}
        self.vary = {v.path: self.number(inside("vary", v.path), v.path, v.unit) for v in definition.varied}
        self.set: dict[str, float] = {}
        for path, words in definition.set.items():
            where = inside("set", path)
            value, unit = assigned(words, where)
            self.set[self.number(where, path, unit)] = value
        self.derive = {self.number(inside("derive", path), path): text for path, text in definition.derive.items()}
        self.channels = {path: self._channel(path) for path in definition.channels}  # as written -> full
        self.hold = {path: self._resolved("hold", path) for path in definition.hold}

    def number(self, where: str, path: str, unit: str = "") -> str:
        """The full path of a number that nothing else of the study states."""
        full = self._resolved(where, path)
        if full not in self._numbers:
            try:
                self._model.replace({path: 0.0})  # raises with the nearest known path
            except ModelError as error:
                raise _at(where, error) from None
        if full in self._model.expressions:
            raise determined(where, self._model.expressions[full])
        if full in self._seen:
            fault = f"{full}, which {self._seen[full]} states, too"
            raise ModelError(where, fault, "each number once", "Leave it out in one of them.")
        self._seen[full] = where
        check_unit(unit, self._numbers[full].unit, where)
        return full

    def _channel(self, path: str) -> str:
        """The full path of a channel; a body alone stands for its frame origin."""
        if call := arguments_of(path):
            name, frames, of = call
            feet = [self._resolved("channels", frame) for frame in frames]
            return f"{name}({', '.join([*feet, *([f'of={of}'] if of else [])])})"
        target, dot, quantity = path.rpartition(".")
        try:
            return self._model.resolve(f"{target}:origin{dot}{quantity}")
        except ModelError:
            return self._resolved("channels", path)

    def _resolved(self, where: str, path: str) -> str:
        try:
            return self._model.resolve(path)
        except ModelError as error:
            raise _at(where, error) from None


def _values(definition: Definition, names: _Names) -> tuple[dict[str, np.ndarray], int]:
    """Full path -> (members,) values, and members of every group: those of the table, and what is drawn or combined."""
    table = {} if definition.table is None else columns(definition.placed(definition.table), "table")
    columns_of = {names.number(f"table, column {name!r}", name): values for name, values in table.items()}
    rows = len(next(iter(table.values()))) if table else 1
    varied: dict[str, np.ndarray] = {}
    if definition.vary:
        drawn = sample(
            definition.varied, definition.samples, definition.seed, correlation=definition.correlated, rows=rows
        )
        varied = {names.vary[path]: values for path, values in drawn.items()}
    members = len(next(iter(varied.values()))) if varied else rows
    return {path: np.repeat(values, members // rows) for path, values in columns_of.items()} | varied, members


def _exists(model: Model, path: str) -> bool:
    try:
        return bool(model.resolve(path))
    except ModelError:
        return False


def _at(where: str, error: ModelError) -> ModelError:
    """The error with the key that it arose at."""
    named = split(error.where.removeprefix("drive ").removeprefix("derive "))[0] in where
    name = "" if named else f"{error.where}, "
    return ModelError(where, f"{name}{error.found}", error.allowed, error.todo)

"""The goals of a study of poses, with their numbers in its model. Host only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.definition_keys import inside
from shiftjax.ensembles.study.goal_words import goal_of, limits_of
from shiftjax.errors import ModelError
from shiftjax.kinematics.paths.inputs import units_of
from shiftjax.kinematics.positioning.results.named_goals import with_goals
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model


def goals_in(definition: Definition, model: Model) -> tuple[Model, dict[str, Any]]:
    """The model with the numbers of goals, and keywords of `positions`; as it is of a study of another kind.

    Raises:
        ModelError: a goal or limits that the model does not have.
    """
    if definition.kind != "ik":
        return model, {}

    def where(name: str) -> str:
        return inside("goals", name.partition("_turn_")[0])

    units = units_of(model)
    goals = {name: goal_of(words := thaw(one), where(name), _unit(model, units, words))
             for name, one in definition.goals.items()}  # fmt: skip
    try:
        model, named = with_goals(model, goals, where)
    except ModelError as error:
        raise ModelError("goals", f"{error.where}: {error.found}", error.allowed, error.todo) from None
    limits = {}
    for path, ends in definition.limits.items():
        at = inside("limits", path)
        try:
            full = plain_coordinate(model, path, "limits")
        except ModelError as error:
            raise ModelError(at, error.found, error.allowed, error.todo) from None
        limits[full] = limits_of(thaw(ends), at, units[full])
    return model, {"goals": named} | ({"limits": limits} if limits else {})


def _unit(model: Model, units: Mapping[str, str], words: Any) -> str | None:
    """Of the coordinate that a goal is of; None of another goal, and of a coordinate that the model does not have."""
    path = words.get("coordinate") if isinstance(words, Mapping) else None
    try:
        return units.get(plain_coordinate(model, path, "goals")) if isinstance(path, str) else None
    except ModelError:
        return None  # it is refused where goals are named

"""Equations of coordinates, of a model and of a run, as functions of a run. Host only, no jax.

Unlike a function of Python a text can stand in a study, on the command line and in a store.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.constraints import CONSTRAINTS, CoordinateFunction
from shiftjax.errors import ModelError, shown
from shiftjax.joints import KINDS
from shiftjax.measures.equations import PLACE, equation, listed_equation
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import natural_key, split


def ties_in(model: Model) -> dict[str, CoordinateFunction]:
    """Path -> function of the equations in a model, in the order in which its plan counts them.

    Raises:
        ModelError: a text that is no equation of its joints' coordinates.
    """
    return {
        path: CoordinateFunction(
            item.joints,
            listed_equation(item.values["equation"], len(item.joints), f"{path}.equation"),
            unit_of_coordinate(item.joints[0], model),
        )
        for path, item in sorted(model.constraints(), key=lambda pair: natural_key(pair[0]))
        if CONSTRAINTS[item.type].by_text
    }


def unit_of_coordinate(path: str, model: Model) -> str:
    """Of a coordinate, "rad" or "m": what a tie is off by is measured in that of its first one."""
    joint, field = split(path)
    kind = KINDS[dict(model.joints())[joint].type]
    return kind.coordinates[kind.named(field)[0]].unit


def ties_of(given: Mapping[str, CoordinateFunction | str], model: Model) -> dict[str, CoordinateFunction]:
    """The ties of a run, those of texts made of their equations.

    Raises:
        ModelError: a text that is no such equation, a joint that there is not or that has no such coordinate.
    """
    return {name: _of_text(name, tie, model) if isinstance(tie, str) else tie for name, tie in given.items()}


def _of_text(name: str, text: str, model: Model) -> CoordinateFunction:
    where = f"tie {name}"
    function = equation(text, where)
    paths = tuple(plain_coordinate(model, one.removesuffix(PLACE), where) for one in function.coordinates)
    if len(set(paths)) < len(paths):
        raise ModelError(where, shown(text), "each coordinate under one name", "Write one name of it.")
    return CoordinateFunction(paths, function, unit_of_coordinate(paths[0], model))

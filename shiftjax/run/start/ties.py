"""Ties of a run that are texts, as functions of coordinates. Host only, no jax.

Unlike a function of Python a text can stand in a study, on the command line and in a store.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, shown
from shiftjax.measures.equations import PLACE, equation
from shiftjax.measures.ties import unit_of_coordinate
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model


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

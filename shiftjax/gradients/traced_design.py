"""Numbers of designs of which JAX traces some, as columns of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError
from shiftjax.gradients.derived import derived
from shiftjax.gradients.traced import is_traced
from shiftjax.mechanism.model import Model
from shiftjax.run.options import DesignOptions
from shiftjax.run.start.driven.drives import driven
from shiftjax.run.start.prepare import varied_values

Array = Any  # of JAX, traced


def traced_design(model: Model, design: DesignOptions) -> tuple[dict[str, Array], DesignOptions]:
    """The numbers of designs of which some are traced, those that follow from them among them.

    Returns:
        full path -> (B,), and the options of a design that has nothing left to vary or to derive.

    Raises:
        ModelError: as of `simulate`.
    """
    columns, assign = dict(design.vary or {}), design.assign
    refuse_assigned(assign)
    with jax.ensure_compile_time_eval():  # what follows from known numbers alone is known, also inside of jax.jit
        if design.derive or model.expressions:
            columns, assign = derived(model, design_of(model, columns), assign, design.derive or {})
    return design_of(model, columns), DesignOptions(None, assign, None)


def design_of(model: Model, vary: Mapping[str, Any]) -> dict[str, Array]:
    """Full path -> (B,) values, with the errors of `simulate`."""
    known = {path: column_of(path, values) for path, values in vary.items()}
    shapes = {path: np.zeros(values.shape) if is_traced(values) else values for path, values in known.items()}
    full = varied_values(model, shapes, model.numbers())
    return {path: array_of(values) for path, values in zip(full, known.values(), strict=True)}


def array_of(values: Any) -> Array:
    """Of JAX; known numbers stay known inside of jax.jit."""
    if is_traced(values):
        return jnp.asarray(values, float)
    with jax.ensure_compile_time_eval():
        return jnp.asarray(values, float)


def column_of(path: str, values: Any) -> Any:
    """One array, where a list has traced numbers."""
    if isinstance(values, list | tuple) and is_traced(values):
        return jnp.stack([jnp.asarray(value, float) for value in values])
    return values


def refuse_assigned(assign: object) -> None:
    """Refuses traced numbers where known ones belong."""
    for path, value in assign.items() if isinstance(assign, Mapping) else ():
        if is_traced(value):
            todo = f"Use vary={{{path!r}: [value]}}, one value a member."
            raise ModelError(f"assign {path}", "a number that JAX traces", "known numbers", todo)


def traced_drives(model: Model, drive: Mapping[str, Any]) -> tuple[Model, dict[str, Array], dict[str, Any]]:
    """As `run.start.driven.drives.driven`, where a drive may be traced speeds, (B,) one a member.

    Raises:
        ModelError: as there; traced speeds of another shape.
    """
    speeds = {name: column_of(name, motion) for name, motion in drive.items() if is_traced(motion)}
    for name, values in speeds.items():
        if values.ndim != 1:
            fault, allowed = f"traced numbers of shape {values.shape}", "one speed a member, shape (B,)"
            raise ModelError(f"drive {name}", fault, allowed, "Flatten it." if values.ndim else "Write [speed].")
    still = {name: np.zeros(values.shape) for name, values in speeds.items()}
    whole, columns, functions = driven(model, {**drive, **still})
    for name, values in speeds.items():
        (path,) = driven(model, {name: still[name]})[1]
        columns[path] = values
    return whole, columns, functions

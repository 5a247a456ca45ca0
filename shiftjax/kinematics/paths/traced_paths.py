"""The public `follow`: paths of poses, also of designs that JAX traces, with slopes of channels and metrics."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec

import jax
import jax.numpy as jnp

from shiftjax.formats.files import load
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design
from shiftjax.kinematics.paths.follow import follow as lead_along
from shiftjax.kinematics.paths.inputs import inputs_of
from shiftjax.kinematics.paths.path_function import PathFunction
from shiftjax.mechanism.model import Model
from shiftjax.run.arguments import check_arguments
from shiftjax.run.options import DesignOptions, Options, options_of
from shiftjax.run.results.result import Result

UNCHANGED = ("tie", "branch", "strict_start", "backend", "precision", "threads")  # options of every path that is led
OF_PATH = ("drive", "times", "order")  # arguments that no other run has
P = ParamSpec("P")


def front_door(lead: Callable[P, Result]) -> Callable[P, Result]:
    """`follow`, which JAX may trace with respect to the values of `vary`; where none is traced, it is `lead` itself."""
    signature = inspect.signature(lead)

    @functools.wraps(lead, assigned=("__name__", "__qualname__", "__doc__", "__annotations__"))
    def follow(*args: P.args, **kwargs: P.kwargs) -> Result:
        vary = kwargs.get("vary")
        if not isinstance(vary, Mapping) or not any(map(is_traced, vary.values())):
            return lead(*args, **kwargs)
        return _traced(dict(signature.bind(*args, **kwargs).arguments))

    return follow


def path_function(
    model: Model, names: Sequence[str], stated: Mapping[str, Any], design: DesignOptions, *, warns: bool = True
) -> PathFunction:
    """The path as a function of numbers of designs.

    Args:
        names: full paths of the numbers. stated: arguments of `follow`, but for its model. design: of what else there
            is, with nothing left to vary or to derive.

    Raises:
        ModelError: as of `follow` and `PathFunction`.
    """
    given = _options(stated)
    of_path = {name: stated[name] for name in OF_PATH if name in stated}
    rest = {name: stated[name] for name in UNCHANGED if name in stated}
    inputs = inputs_of(model, stated["drive"], stated.get("times"))
    lead = functools.partial(lead_along, model, **of_path, **rest)
    return PathFunction(lead, model, inputs, names, replace(given, design=design), warns=warns)


def _options(stated: Mapping[str, Any]) -> Options:
    """The checked options among arguments of `follow`."""
    given = options_of(**{name: value for name, value in stated.items() if name not in OF_PATH})
    check_arguments(**given.flat())
    return given


def _traced(stated: dict[str, Any]) -> Result:
    """The path of designs of which JAX traces numbers.

    Args:
        stated: arguments of `follow`.

    Raises:
        ModelError: as of `follow`; metrics without slopes, and such along an uneven path.
    """
    model = stated.pop("model")
    model = model if isinstance(model, Model) else load(model)
    given = _options(stated)
    columns, design = traced_design(model, given.design)
    with jax.ensure_compile_time_eval():
        path = path_function(model, tuple(columns), stated, design)
        static = path.static
    channels, metrics, status, certificate = path.split(path(jnp.stack([*columns.values()], axis=1)))
    stopped = jax.lax.stop_gradient
    return replace(
        static, channels=channels, metrics=metrics,
        status=stopped(status).astype(int), certificate={name: stopped(one) for name, one in certificate.items()},
        design=columns, messages=(), final=None, branch=None, extremes={}, log=(),
    )  # fmt: skip


follow = front_door(lead_along)

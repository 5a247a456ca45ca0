"""`equilibrium`: where a mechanism stays at rest under gravity, springs and loads, of one design or of many. Host code.

What members come to is a `Search`; where JAX traces numbers, a function that it differentiates (`differentiable`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.run.derive import Formula
from shiftjax.run.options import Options, options_of
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.statics.differentiable import TracedRest, any_traced
from shiftjax.statics.equilibria import Equilibrium, equilibrium_of
from shiftjax.statics.search import Search


def equilibrium(
    model: Model | str,
    *,
    unstable: bool = False,
    channels: Sequence[str] = (),
    keep: int | str | Sequence[int] = "none",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
) -> Equilibrium:
    """Where a mechanism stays at rest under gravity, springs and loads, of one design or of many.

    Args:
        model: a Model, a library name or a path.
        unstable: True takes the equilibrium of any kind to which Newton's method leads; else the mechanism goes
            downhill from where it stands, to one that is stable.
        channels: paths to record there, as `joint.reaction_force`; nothing moves.
        keep: the members that have the poses of all bodies recorded: "all", "none", how many, or a list of them.
        vary, assign, derive, drive, tie: as those of `simulate`; drivers must stand still.
        backend, precision, threads: as those of `simulate`, for what is recorded.

    Returns:
        where JAX traces numbers of `vary`, arrays of JAX with first derivatives in both modes, and no stability or
        messages, which are texts. Else poses at which forces vanish along all motions that loops allow, to rounding.
        Laws in time stand at 0; friction holds nothing, since it grows with speed from zero on; internal states of
        forces have settled. Where many steps downhill lead to no such pose the status is `no_equilibrium`.

    Raises:
        ModelError: anything the model or the arguments make impossible; a driver that moves.
    """
    given = options_of(
        channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, drive=drive, tie=tie, backend=backend,
        precision=precision, threads=threads,
    )  # fmt: skip
    if any_traced(given):
        return _traced(model if isinstance(model, Model) else load(model), given, unstable=unstable)
    search = Search(unstable=unstable)
    return equilibrium_of(search, search.result(model, given))


def _traced(model: Model, given: Options, *, unstable: bool) -> Equilibrium:
    """The equilibrium of numbers that JAX traces."""
    if given.recording.keep != "none":
        raise ModelError("keep", "a call that JAX traces", '"none": poses carry no derivatives', "Leave it out.")
    rest = TracedRest.of(model, given, unstable=unstable)
    plan, y = rest.host.file.prepared.plan, rest.y
    channels, units = rest.recorded(model, given)
    status = rest.status
    return Equilibrium(
        q=plan.by_coordinate(y["q"]), stability=np.zeros(0, "<U8"), squared_frequencies=rest.natural()[0],
        residual=0.0 * y["potential"], potential=y["potential"], channels=channels,
        units={**plan.coordinate_units(), **units},
        result=replace(rest.host.file_result, channels=channels, units=units, status=status, design=dict(rest.design),
                       messages=(), notes=()),
    )  # fmt: skip

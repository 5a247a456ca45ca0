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
from shiftjax.markup import html_lines
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.derive import Formula
from shiftjax.run.options import Options, options_of
from shiftjax.run.results.result import Result
from shiftjax.run.results.summary import rest_summary
from shiftjax.run.start.drives import Drivable
from shiftjax.statics.differentiable import TracedRest, any_traced
from shiftjax.statics.search import Search


@record
class Equilibrium:
    """Where B designs are in equilibrium, or one without a member axis.

    Attributes:
        q: coordinate -> (B,) its place [rad or m], of a ball (B, 4) or (B, 3); where no equilibrium was reached that of
            the last step.
        stability: (B,) "stable", "unstable" or "neutral"; "" where no equilibrium was reached.
        squared_frequencies: (B, k) of the undamped motions about it, ascending [rad^2/s^2]; negative ones leave it.
        residual: (B,) the largest generalized force that is left along a motion that loops allow [N m]; one along a
            motion in m counts times the model's length.
        potential: (B,) of gravity and springs [J].
        channels: path -> (B, ...) what was asked to be recorded; NaN where no equilibrium was reached.
        units: coordinate or channel path -> unit.
        result: of the mechanism assembled there, with status, messages, units, certificate and poses; a run goes on
            from it, `simulate(start=...)`.
    """

    q: dict[str, np.ndarray]
    stability: np.ndarray
    squared_frequencies: np.ndarray
    residual: np.ndarray
    potential: np.ndarray
    channels: dict[str, np.ndarray]
    units: dict[str, str]
    result: Result

    def __repr__(self) -> str:
        return "\n".join(rest_summary(self))

    def _repr_html_(self) -> str:
        return html_lines(rest_summary(self))

    @property
    def status(self) -> np.ndarray:
        """(B,) `Outcome` of every member."""
        return self.result.status

    @property
    def messages(self) -> tuple[str, ...]:
        """(B,) cause and remedy, "" where there is an equilibrium."""
        return self.result.messages


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


def equilibrium_of(search: Search, result: Result) -> Equilibrium:
    """What a search has come to, whose result this is."""
    pick = (lambda a: a) if result.batched else (lambda a: a[0])
    good = search.still & (np.atleast_1d(result.status) <= 0)
    hidden = {path: np.where(good.reshape(-1, *(1,) * (np.ndim(x) - 1)) if result.batched else good[0], x, np.nan)
              for path, x in result.channels.items()}  # fmt: skip
    return Equilibrium(
        q={one.path: pick(search.q[one.q] if one.plain else search.q[one.places].T)
           for one in search.prepared.plan.coordinates},
        stability=pick(np.where(good, search.stability, "")),
        squared_frequencies=pick(np.where(good[:, None], search.squared, np.nan)),
        residual=pick(search.residual),
        potential=pick(search.potential),
        channels={path: x[:, 0] if result.batched else x[0] for path, x in hidden.items()},
        units={**{one.path: "1" if one.quaternion else one.unit for one in search.prepared.plan.coordinates},
               **{path: result.units[path] for path in hidden}},
        result=replace(result, channels=hidden),
    )  # fmt: skip


def _traced(model: Model, given: Options, *, unstable: bool) -> Equilibrium:
    """The equilibrium of numbers that JAX traces."""
    if given.recording.keep != "none":
        raise ModelError("keep", "a call that JAX traces", '"none": poses carry no derivatives', "Leave it out.")
    rest = TracedRest.of(model, given, unstable=unstable)
    plan, y = rest.host.file.prepared.plan, rest.y
    q = {one.path: y["q"][:, one.q] if one.plain else y["q"][:, one.places] for one in plan.coordinates}
    channels, units = rest.recorded(model, given)
    status = rest.status
    return Equilibrium(
        q=q, stability=np.zeros(0, "<U8"), squared_frequencies=rest.natural()[0], residual=0.0 * y["potential"],
        potential=y["potential"], channels=channels,
        units={**{one.path: "1" if one.quaternion else one.unit for one in plan.coordinates}, **units},
        result=replace(rest.host.file_result, channels=channels, units=units, status=status, design=dict(rest.design),
                       messages=(), notes=()),
    )  # fmt: skip

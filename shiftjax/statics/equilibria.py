"""Where members of a search stand: an `Equilibrium`, of what the search and its result know. Host code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftjax.markup import html_lines
from shiftjax.record import record
from shiftjax.run.results.result import Result
from shiftjax.run.results.summary import rest_summary
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


def equilibrium_of(search: Search, result: Result) -> Equilibrium:
    """What a search has come to, whose result this is."""
    pick = (lambda a: a) if result.batched else (lambda a: a[0])
    good, plan = search.still & (np.atleast_1d(result.status) <= 0), search.prepared.plan
    hidden = {path: np.where(good.reshape(-1, *(1,) * (np.ndim(x) - 1)) if result.batched else good[0], x, np.nan)
              for path, x in result.channels.items()}  # fmt: skip
    return Equilibrium(
        q=plan.by_coordinate(pick(search.q.T)),
        stability=pick(np.where(good, search.stability, "")),
        squared_frequencies=pick(np.where(good[:, None], search.squared, np.nan)),
        residual=pick(search.residual),
        potential=pick(search.potential),
        channels={path: x[:, 0] if result.batched else x[0] for path, x in hidden.items()},
        units={**plan.coordinate_units(), **{path: result.units[path] for path in hidden}},
        result=replace(result, channels=hidden),
    )  # fmt: skip

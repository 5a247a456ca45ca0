"""Curves of equilibria along a load as they are told: poses, where mechanisms snap, buckle, tip or meet a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import one_of
from shiftjax.markup import html_lines
from shiftjax.record import record
from shiftjax.run.results.result import Result
from shiftjax.run.results.summary import load_summary
from shiftjax.statics.loads.load_plot import plot


@record
class CriticalPose:
    """A pose at which a mechanism snaps through or buckles, to some 1e-12 of its place.

    Attributes:
        kind: "limit": the load turns round, and the mechanism snaps; "branch": another curve of equilibria meets, as
            where a column buckles; "multiple": more than one other does.
        curve, member: whose. pose: the last one recorded before it. arclength: of the curve.
        factor: of the load; loads: number path -> its value there.
        q: coordinate -> its place [rad or m], of a ball its numbers. direction: speed -> its share of the motion in
            which it snaps or buckles, the largest one 1, metres in parts of the model's length.
        slopes: number of the design -> by it the slopes of "factor", of each load and of each coordinate, where they
            were asked for. NaN where a change of the number takes the pose away, as eccentricity does to buckling, so
            that curves only come near to each other; NaN of a "multiple" one, too.
    """

    kind: str
    curve: int
    member: int
    pose: int
    arclength: float
    factor: float
    loads: dict[str, float]
    q: dict[str, Any]
    direction: dict[str, float]
    slopes: dict[str, dict[str, Any]]


@record
class PassedEvent:
    """A pose at which an event happens, or the way of a joint ends, to some 1e-12 of its place.

    Attributes:
        name: of the event; of an end of a way the coordinate's path with `.lower` or `.upper`.
        direction: "up" or "down", in which the expression passes zero as the curve goes on; of an end of a way "up" is
            beyond it.
        curve, member: whose. pose: the last one recorded before it. arclength: of the curve.
        factor: of the load; loads: path -> its value there. q: coordinate -> its place [rad or m], of a ball its
            numbers.
        slopes: number of the design -> by it the slopes of "factor", of each load and of each coordinate, where they
            were asked for; NaN where the expression only touches zero.
    """

    name: str
    direction: str
    curve: int
    member: int
    pose: int
    arclength: float
    factor: float
    loads: dict[str, float]
    q: dict[str, Any]
    slopes: dict[str, dict[str, Any]]


@record
class LoadPath:
    """Curves of equilibria of one design or of many: C curves of n poses at most.

    Attributes:
        member: (C,) whose curves they are, those that begin under the first load before all others. begins: (C,) the
            number in `critical` of the pose where a curve branches off, -1 of those first ones.
        factor: (C, n) of the load: 0 is the first load, 1 the last; NaN after a curve has ended, as all other numbers.
        loads: path of a number, or of a coordinate that is put somewhere -> (C, n) its values.
        arclength: (C, n) of curves, radians, parts of the model's length and of the load factor alike.
        q: coordinate -> (C, n) its place [rad or m], of a ball (C, n, 4) or (C, n, 3).
        stability: (C, n) "stable", "unstable" or "neutral", "" after a curve has ended.
        squared_frequencies: (C, n, k) of undamped motions about the poses, ascending [rad^2/s^2].
        residual: (C, n) the largest generalized force that is left [N m]. potential: (C, n) of gravity and springs [J].
        critical: where members snap or buckle, curve by curve. events: where an event happens or the way of a joint
            ends, likewise. watched: the names of all that could. ends: (C,) why curves end.
        channels: path -> (C, n, ...) what was asked to be recorded. units: coordinate or channel path -> unit.
        slopes: path -> (C, n, ...) of channels by the value of the first load, along the curve, where they were asked
            for; beyond all bounds where that load turns round.
        design_slopes: number of the design -> channel or coordinate -> (C, n, ...) its slopes by that number, under the
            same loads, where they were asked for; NaN where a number opens loops.
        result: of the mechanism assembled at the poses, a member a curve: its parameter is the number of the pose, and
            "load_factor" is among its channels; None where JAX traces numbers.
    """

    member: np.ndarray
    begins: np.ndarray
    factor: np.ndarray
    loads: dict[str, np.ndarray]
    arclength: np.ndarray
    q: dict[str, np.ndarray]
    stability: np.ndarray
    squared_frequencies: np.ndarray
    residual: np.ndarray
    potential: np.ndarray
    critical: tuple[CriticalPose, ...]
    watched: tuple[str, ...]
    events: tuple[PassedEvent, ...]
    ends: tuple[str, ...]
    channels: dict[str, np.ndarray]
    slopes: dict[str, np.ndarray]
    design_slopes: dict[str, dict[str, np.ndarray]]
    units: dict[str, str]
    result: Result

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return html_lines(self._lines())

    def _lines(self) -> list[str]:
        return load_summary(self) if self.ends else ["curves of equilibria of numbers that JAX traces"]

    @property
    def status(self) -> np.ndarray:
        """(C,) `Outcome` of every curve."""
        return self.result.status

    def plot(self, coordinate: str = "") -> Any:
        """The load factor over a coordinate, or a channel of one number, as a figure of matplotlib: full lines where
        poses are stable, dashed ones elsewhere, dots where members snap, squares where they buckle, crosses at events.

        Raises:
            ModelError: no matplotlib; no such coordinate or channel.
        """
        return plot(self, coordinate)

    def range(self, end: str, begin: Sequence[str] | None = None) -> np.ndarray:
        """(C, 2) from which value of the first load to which one an event has not happened, once others have.

        As of a probe whose length is found by what joints yield: from where a joint first meets an end of its way to
        where the mechanism tips over.

        Args:
            end: name of the event; a curve on which it does not happen goes to its last pose.
            begin: names of events, of which the first one counts; all ends of ways of joints where left out. A curve
                on which none happens before `end` begins at its first pose.

        Raises:
            ModelError: no such event.
        """
        for name in (end, *(begin or ())):
            one_of("range", name, self.watched)
        starts = [name for name in self.watched if not name.isidentifier()] if begin is None else begin
        load, values = next(iter(self.loads.items()))
        out = np.full((len(values), 2), np.nan)
        for curve, here in enumerate(np.isfinite(values)):
            if here.any():
                passed = sorted((one for one in self.events if one.curve == curve), key=lambda one: one.arclength)
                last = next((k for k, one in enumerate(passed) if one.name == end), len(passed))
                low = [one.loads[load] for one in passed[:last] if one.name in starts]
                high = [one.loads[load] for one in passed[last : last + 1]]
                out[curve] = [*low, values[curve, here][0]][0], [*high, values[curve, here][-1]][0]
        return out

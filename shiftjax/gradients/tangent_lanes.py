"""The lanes of a run with tangents: what the host does with their numbers, done with their tangents too."""

from __future__ import annotations

import numpy as np

from shiftjax.gradients.complex_step import complex_step
from shiftjax.gradients.growth import PARTS, Growth
from shiftjax.gradients.tangent_programs import TangentLayout, TangentPrograms
from shiftjax.run.ensemble import Ensemble
from shiftjax.run.interpolation import interpolated

NOISE = {"f64": 1e-12, "f32": 1e-4}  # tangents by a change of a number of the size of itself, in rad or lengths


class TangentLanes(Ensemble):
    """Lanes whose programs are `TangentPrograms`: one recording, of all members."""

    @property
    def programs(self) -> TangentPrograms:
        found = self.recordings[0].programs
        assert isinstance(found, TangentPrograms)
        return found

    @property
    def places(self) -> TangentLayout:
        return self.programs.places

    def begin_metrics(self, members: np.ndarray) -> None:
        """The metrics of some members begin where they stand."""
        metrics = self.programs.metrics
        if metrics is None or not len(members):
            return
        self.evaluate("accumulate", members)
        table = self.table[:, members]
        own = self.places.rows_of_values("acc")
        for d in range(self.places.directions):
            rows = self.places.rows_of_tangents("acc", d)

            def begun(z: np.ndarray) -> np.ndarray:
                metrics.begin(z)
                return z

            table[rows] = complex_step(begun, table[own], table[rows])
        metrics.begin(table[own])
        self.table[:, members] = table

    def between(self, a: np.ndarray, b: np.ndarray, s: np.ndarray, span: np.ndarray) -> np.ndarray:
        """The table between two of the same members, tangents too."""
        out, plan = b.copy(), self.setup.plan
        groups = {"q": plan.nq, "x": plan.nv + plan.ns, "dx": plan.nv + plan.ns}
        starts = np.cumsum([0, *groups.values()])
        inside = {name: range(first, first + groups[name]) for name, first in zip(groups, starts, strict=False)}
        values = np.r_[tuple(self.places.rows_of_values(name) for name in groups)]

        def between(ends: np.ndarray) -> np.ndarray:
            return interpolated(plan, inside, ends[0], ends[1], s, span)

        ends = np.stack([a[values], b[values]])
        for d in range(self.places.directions):
            rows = np.r_[tuple(self.places.rows_of_tangents(name, d) for name in groups)]
            out[rows] = complex_step(between, ends, np.stack([a[rows], b[rows]]))
        out[values] = between(ends)
        return out


class Growing:
    """Notes how large the tangents of lanes are on their way, beginning where they stand; a `Notebook`.

    Args:
        relative: (B, k) by what part of themselves numbers change.
    """

    def __init__(self, lanes: TangentLanes, relative: np.ndarray) -> None:
        settings, plan = lanes.settings, lanes.setup.plan
        self._every = max(1, settings.steps // PARTS)
        floor = NOISE[lanes.setup.precision] * relative
        self._growth = Growth(plan, lanes.setup.length, settings.h * self._every, floor)
        self.note(lanes, np.flatnonzero(lanes.status <= 0))

    @property
    def values(self) -> np.ndarray:
        """(B, k) growth."""
        return self._growth.values

    def stops(self, clock: np.ndarray, until: np.ndarray) -> np.ndarray:
        """Clocks at which lanes are noted next on their way."""
        return np.minimum((np.floor(clock / self._every) + 1) * self._every, until)

    def note(self, lanes: Ensemble, members: np.ndarray, pattern: np.ndarray | int = 0) -> None:
        """Notes some lanes where they stand."""
        assert isinstance(lanes, TangentLanes)
        places, nv, settings = lanes.places, lanes.setup.plan.nv, lanes.settings
        q, x = (
            np.stack([lanes.table[places.rows_of_tangents(name, d)][:, members] for d in range(places.directions)], -1)
            for name in ("q", "x")
        )
        time = (lanes.row("clock")[members] - settings.before) * settings.h
        self._growth.tangents(members, time, q, x[:nv])

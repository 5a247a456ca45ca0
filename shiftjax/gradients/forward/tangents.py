"""Forward mode: the tangents of a whole run in some directions, along the schedule of the run.

What is differentiated is the discrete run: every step, projection, repartition, moved step and interpolated instant as
they were. A direction costs about as much as its lane program has more operations (`TangentPrograms`), so that forward
mode is for few directions; `DIRECTIONS` of them are taken at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import numpy as np

from shiftjax.errors import ModelError
from shiftjax.gradients.complex_step import complex_step
from shiftjax.gradients.forward.tangent_lanes import Growing, TangentLanes
from shiftjax.gradients.forward.tangent_programs import BATCHES, TangentFamily, TangentPrograms
from shiftjax.gradients.jumps.passages import Passages
from shiftjax.kernels.contract import Kernel, placed
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.measures.run_metrics import Metrics
from shiftjax.run.advance.first_lanes import begin_certificate, recordings_of
from shiftjax.run.advance.replay import replay
from shiftjax.run.advance.schedule import Schedule
from shiftjax.run.advance.settings import Settings
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start

DIRECTIONS = BATCHES[-1]  # at once


@dataclass(frozen=True)
class Directions:
    """Tangents of what a run of B members begins with, in k directions.

    Attributes:
        q: (nq, B, k) coordinates; v: (nv, B, k) speeds; states: (ns, B, k) of forces, as they are assembled.
        p: (np, B, k) numbers that the programs read, in the order of `Prepared.parameters`.
        relative: (1, B, k) by what part of themselves the numbers of a direction change, the largest; 1 where left out.
    """

    q: np.ndarray
    v: np.ndarray
    states: np.ndarray
    p: np.ndarray
    relative: np.ndarray | None = None

    def batches(self, size: int) -> Iterator[Directions]:
        """Some at a time, the last ones filled up with zeros to 1, 2 or `size`: fewer programs are compiled."""
        count = self.p.shape[2]
        for first in range(0, max(count, 1), size):
            batch = min(size, count - first)
            room = batch if batch <= 2 else size
            whole = np.ones((1, *self.p.shape[1:])) if self.relative is None else self.relative
            parts = (part[:, :, first : first + batch] for part in (self.q, self.v, self.states, self.p, whole))
            yield Directions(*(np.pad(part, ((0, 0), (0, 0), (0, room - batch))) for part in parts))


@dataclass(frozen=True)
class Tangents:
    """Tangents of a run of B members in k directions; not numbers where the run has none.

    Attributes:
        channels: (B, n, c, k) of the observed channels, n instants. metrics: (B, m, k) in the order of their names.
        start, end: (states, B, k) of coordinates, speeds and states of forces at the start, projected, and at the end.
        growth: (B, k) of each direction, as in `gradients.growth`. followed: (B, k) jumps whose shift is in them.
    """

    channels: np.ndarray
    metrics: np.ndarray
    start: np.ndarray
    end: np.ndarray
    growth: np.ndarray
    followed: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Tangents], count: int) -> Tangents:
        """Those of several batches of directions, `count` in all."""
        names = ("channels", "metrics", "start", "end", "growth", "followed")
        return cls(*(np.concatenate([getattr(part, name) for part in parts], -1)[..., :count] for name in names))


class Forward:
    """Tangents of runs of one model.

    Args:
        kernel: one that takes pieces as graphs. family: the programs. measured: metrics.

    Raises:
        ModelError: a metric that is a function of arrays.
    """

    def __init__(self, prepared: Prepared, kernel: Kernel, family: TangentFamily, measured: Metrics) -> None:
        for name in measured.functions_of_arrays:
            allowed, todo = "metrics that are texts", "Take the function of the channels, which have derivatives."
            raise ModelError(f"metric {name}", "a function of arrays, of which there is no derivative", allowed, todo)
        self.prepared, self.kernel, self.measured = prepared, kernel, measured
        self.family = family

    def run(
        self,
        schedule: Schedule,
        settings: Settings,
        began: Start,
        directions: Directions,
        batch: int = DIRECTIONS,
        passages: Passages | None = None,
    ) -> Tangents:
        """The tangents of a run.

        Args:
            schedule: of the run, which began assembled, not going on from another one. settings: with its step,
                steps, steps between outputs and time of the start. began: as it was assembled.
            batch: directions at once. passages: jumps that are followed.
        """
        span = (settings.h, settings.steps, settings.begin)
        schedule.check(self.prepared.plan, self.prepared.members, span, settings.singular)
        parts = [self._run(schedule, settings, began, some, passages) for some in directions.batches(batch)]
        return Tangents.joined(parts, directions.p.shape[2])

    def _run(
        self,
        schedule: Schedule,
        settings: Settings,
        began: Start,
        directions: Directions,
        passages: Passages | None,
    ) -> Tangents:
        k = directions.p.shape[2]
        assert directions.relative is not None  # a batch has one
        lanes = self._begin(self.family.of(k), schedule, settings, began, directions)
        start, growing = _states(lanes), Growing(lanes, directions.relative[0])
        lanes.tape, lanes.passages = growing, passages
        replay(lanes, schedule)
        end = _states(lanes)
        start[:, _never(schedule)] = end[:, _never(schedule)] = np.nan
        followed = np.repeat(lanes.followed[:, None], k, axis=1)
        return Tangents(self._channels(lanes), self._metrics(lanes), start, end, growing.values, followed)

    def _begin(
        self, programs: TangentPrograms, schedule: Schedule, settings: Settings, began: Start, directions: Directions
    ) -> TangentLanes:
        """The lanes at their start, projected, the first instant recorded, as `first_lanes.begin` has them."""
        setup, members = self.prepared.setup, self.prepared.members
        never = _never(schedule)
        recordings, which = recordings_of(settings, setup, [(programs, np.arange(members))], members)
        lanes = TangentLanes(
            setup=setup,
            kernel=self.kernel,
            settings=replace(settings, progress=lambda done: None),
            table=placed(self.kernel, LaneTable.zeros(programs.layout, members, DTYPES[setup.precision])),
            recordings=recordings,
            recorded=which,
            choice=schedule.start.copy(),
            known=[list(blocks) for blocks in schedule.blocks],
            ratio=np.ones((setup.blocks, members)),
            status=np.where(never, schedule.status, 0),
        )
        values = {
            "q": (began.q, directions.q),
            "x": (np.concatenate([began.v, began.states]), np.concatenate([directions.v, directions.states])),
            "p": (self.prepared.parameters(), directions.p),
        }
        for name, (value, tangent) in values.items():
            lanes.table.set(name, value, within=lanes.places.values_within(name))
            for d in range(programs.directions):
                lanes.table.set(name, tangent[:, :, d], within=lanes.places.tangents_within(name, d))
        lanes.table.set("fraction", 1.0)
        lanes.table.set("limit", np.inf)
        running = np.flatnonzero(~never)
        if len(running):
            lanes.evaluate("project", running)
            at_pose = np.zeros(members, bool) if began.at_pose is None else began.at_pose >= 0
            for s in range(setup.blocks):  # by their pivots it is told which instants lie next to a pose
                lanes.limit(s, running[~at_pose[running]])
            lanes.table.set("limit", np.inf)
            lanes.table.set("armed", 0.0)
            begin_certificate(lanes)
            lanes.begin_metrics(running)
            lanes.evaluate("observe", running)
        return lanes

    def _channels(self, lanes: TangentLanes) -> np.ndarray:
        """(B, n, c, k) tangents of what was recorded."""
        out, k = lanes.recordings[0].out, lanes.places.directions
        (members, ticks, _), width = out.shape, self.family.plain.width
        return out[:, :, width:].reshape(members, ticks, k, width).swapaxes(2, 3).astype(float)

    def _metrics(self, lanes: TangentLanes) -> np.ndarray:
        """(B, m, k) tangents of the metrics."""
        measured, places, members = self.measured, lanes.places, len(lanes.status)
        if not self.names:
            return np.zeros((members, 0, places.directions))
        rows = lanes.table.rows("acc", within=places.values_within("acc")).astype(float)

        def terms(z: np.ndarray) -> np.ndarray:
            return np.stack(measured.values_of_terms(z, lanes.settings.begin))

        with np.errstate(all="ignore"):
            values = terms(rows)
            metrics = np.broadcast_arrays(*measured.of_terms(list(values)).values())
        slopes = self._slopes(values)  # (m, terms, B)
        out = np.zeros((members, len(self.names), places.directions))
        for d in range(places.directions):
            change = complex_step(terms, rows, lanes.table.rows("acc", within=places.tangents_within("acc", d)))
            with np.errstate(all="ignore"):  # a term that is none says nothing of metrics without it
                out[:, :, d] = np.where((slopes == 0.0) | (change == 0.0), 0.0, slopes * change).sum(1).T
        out[(lanes.status > 0)[:, None] | ~np.isfinite(metrics).T] = np.nan
        return out

    def _slopes(self, values: np.ndarray) -> np.ndarray:
        """(m, terms, B) derivatives of the metrics by the values (terms, B) of their terms."""
        with jax.enable_x64(True):
            slopes = jax.vmap(jax.jacfwd(self._outer), -1, -1)(values)
        return np.stack([np.asarray(slopes[name]) for name in self.names])

    def _outer(self, terms: jax.Array) -> dict[str, jax.Array]:
        return self.measured.of_terms(list(terms))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the metrics."""
        return tuple(self.measured.units)


def _never(schedule: Schedule) -> np.ndarray:
    """(B,) members that did not begin, or not get anywhere."""
    return (schedule.status > 0) & (schedule.end == 0)


def _states(lanes: TangentLanes) -> np.ndarray:
    """(states, B, k) tangents of coordinates, speeds and states of forces."""
    return np.stack([lanes.tangents(("q", "x"), d).astype(float) for d in range(lanes.places.directions)], -1)

"""A mechanism whose sublinkages are solved one after the other: what a stage moves, and which loops are its own. Host
code.

A loop, a constraint and a goal belong to the latest stage that has a joint which moves it: then all other joints that
do are where earlier stages left them. The unknowns of a stage are the coordinates of its joints alone, so that its
matrices have as many columns, and that it never moves another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.dynamics.lane import Lane
from shiftjax.kinematics.positioning.open_loops import LoopRows
from shiftjax.kinematics.positioning.solving.edges import Edges, Regions
from shiftjax.kinematics.positioning.solving.levels import Answering, Local
from shiftjax.kinematics.positioning.solving.lone_loops import LoneLoops
from shiftjax.kinematics.positioning.solving.manifold import Goals
from shiftjax.kinematics.positioning.solving.still_rows import StillRows
from shiftjax.kinematics.stage_order import StageOrder
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.sublinkages import LinkageStage
from shiftjax.run.closing.closer import STEP_ANGLE, STEP_LENGTH
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.topology.plan import Plan


@dataclass(frozen=True, eq=False)
class StageColumns:
    """A stage in numbers of a plan.

    Attributes:
        q, v: (mq,), (mv,) its coordinates and speeds, ascending. rows: substructure -> its rows that belong to the
            stage, (k,). earlier: (e,) coordinates of earlier stages that these depend on.
    """

    stage: LinkageStage
    q: np.ndarray
    v: np.ndarray
    rows: Mapping[int, np.ndarray]
    earlier: np.ndarray

    def rows_of(self, plan: Plan) -> np.ndarray:
        """(m,) its rows among those of all substructures of its plan."""
        every = (plan.substructures[s].first_row + rows for s, rows in self.rows.items())
        return np.concatenate([np.zeros(0, int), *every])


def columns_of(model: Model, plan: Plan) -> tuple[StageColumns, ...]:
    """The stages of a model in their order; one where it has no sublinkages, or simultaneous ones alone."""
    order = StageOrder.of(model, plan)
    groups: dict[int, list[int]] = {}
    for k, stage in enumerate(order.of_group):
        groups.setdefault(stage, []).append(k)
    return tuple(_columns(plan, stage, k, order.of_joint, groups.get(k, ())) for k, stage in enumerate(order.stages))


def _columns(plan: Plan, stage: LinkageStage, number: int, place: Sequence[int], groups: Sequence[int]) -> StageColumns:
    joints = [joint for joint, where in zip(plan.joints, place, strict=True) if where == number]
    rows: dict[int, list[int]] = {}
    for s, block in enumerate(plan.substructures):
        for k in (k for k in groups if k in block.groups):
            first = plan.first_row(k)
            rows.setdefault(s, []).extend(range(first, first + plan.constraints[k].rows))
    before = {joint for k in groups for joint in plan.constraints[k].coupled if place[joint] < number}
    earlier = [plan.joints[joint] for joint in sorted(before)]
    return StageColumns(
        stage,
        _numbers((one.q, one.nq) for one in joints),
        _numbers((one.v, one.nv) for one in joints),
        {s: np.sort(np.array(some, int)) for s, some in rows.items()},
        _numbers((one.q, one.nq) for one in earlier),
    )


def _numbers(ranges: Iterable[tuple[int, int]]) -> np.ndarray:
    return np.array(sorted(k for first, count in ranges for k in range(first, first + count)), int)


@dataclass
class StageGoals(Goals):
    """Goals of a stage: all coordinates are given, those of the stage move.

    Attributes:
        columns: those of the stage.
    """

    stage: StageColumns | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.stage is not None
        self.columns = self.stage
        self.unit = self.every_unit[self.stage.v]
        self.cap = self.caps(closed=bool(self.stage.rows))
        self.loops = bool(self.stage.rows) and not self.opened

    @property
    def nv(self) -> int:
        return len(self.columns.v)

    @cached_property
    def longest_steps(self) -> np.ndarray:
        """(nq,) the longest step of each coordinate on the way after what drives."""
        out = np.full(self.plan.nq, STEP_ANGLE)
        for one in self.plan.coordinates:
            if one.unit == "m":
                out[one.places] = STEP_LENGTH * self.lane.length
        return out

    def local(self, level: int, q: np.ndarray, members: np.ndarray) -> Local:
        x, v = self.x[:, members], self.columns.v
        x[: self.plan.nq] = q
        at = self.levels[level].at(self.answers, x, members)
        if self.levels[level].curved:
            H = _columns_of(at.J[:, v], v)
            return Local(at.value, at.missed[:, v] * self.unit, H * self.unit * self.unit[:, None])
        return Local(at.value, at.missed, _columns_of(at.J, v) * self.unit)

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        out, where = q.copy(), self.columns.q
        if self.plain:
            out[where] += change.T * self.unit[:, None]
            return out
        whole = np.zeros((self.plan.nv, q.shape[1]))
        whole[self.columns.v] = change.T * self.unit[:, None]
        out[where] = host.retract(self.plan, q, whole)[where]  # which turns quaternions of others by a rounding
        return out

    def closure(self, q: np.ndarray, members: np.ndarray) -> StillRows:
        B = q.shape[1]
        if self.lone is not None or not self.loops:
            return StillRows(np.zeros((B, 0)), np.zeros((B, 0, self.nv)), self.lone and self.lone.at(q[:, 0]))
        return StillRows(*loop_rows(self.lane.of(members), q, self.columns))

    def edges(
        self,
        regions: Mapping[int, Regions],
        rows: Sequence[tuple[int, np.ndarray]],
        q: np.ndarray,
        members: np.ndarray,
    ) -> Edges:
        out = super().edges(regions, rows, q, members)
        out.J = _columns_of(out.J, self.columns.v)
        return out


def _columns_of(J: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Some columns of (B, m, n), in the order in memory of an array that was never larger: products add up in an order
    that depends on strides, and what drives comes to the same last bit without what is driven."""
    return np.ascontiguousarray(J[:, :, v])


def loop_rows(lane: Lane, q: np.ndarray, stage: StageColumns) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (B, m) of the loops of a stage, and their slopes (B, m, mv), dimensionless."""
    B, nv = q.shape[1], lane.plan.nv
    phi, J = [np.zeros((B, 0))], [np.zeros((B, 0, len(stage.v)))]
    for s, rows in stage.rows.items():
        values, slopes = host.closure(lane, q, s)
        wide = np.zeros((B, len(rows), nv))
        wide[:, :, list(lane.plan.substructures[s].columns)] = slopes[:, rows]
        phi.append(values[:, rows])
        J.append(_columns_of(wide, stage.v))
    return np.concatenate(phi, axis=1), np.concatenate(J, axis=1)


class StageLoops(LoneLoops):
    """The loops of a stage of one mechanism, as of `LoneLoops`.

    Args:
        every: all loops of the mechanism.
    """

    def __init__(self, every: LoneLoops, stage: StageColumns) -> None:
        self.lane, self.plan, self.speeds = every.lane, every.plan, len(stage.v)
        self.parts = [self._part(every, s, rows, stage) for s, rows in stage.rows.items()]
        self._residuals, self._entries = list[np.ndarray](), list[np.ndarray]()
        rows, columns, first = [np.zeros(0, int)], [np.zeros(0, int)], 0
        for part, (s, stage_rows) in zip(self.parts, stage.rows.items(), strict=True):
            speeds = np.asarray(self.plan.substructures[s].columns, int)[part.columns]
            entries = np.flatnonzero(np.isin(part.rows, stage_rows) & np.isin(speeds, stage.v))
            self._residuals.append(stage_rows if part is every.parts[s] else np.arange(len(stage_rows)))
            self._entries.append(entries)
            rows.append(first + np.searchsorted(stage_rows, part.rows[entries]))
            columns.append(np.searchsorted(stage.v, speeds[entries]))
            first += len(stage_rows)
        self.columns = np.concatenate(columns)
        self.kept, self.rows = np.unique(np.concatenate(rows), return_inverse=True)
        self._begin(self.parts)

    def _part(self, every: LoneLoops, s: int, rows: np.ndarray, stage: StageColumns) -> host.LoneClosure:
        """A substructure; of one that several stages share the rows of this one."""
        block = self.plan.substructures[s]
        if len(rows) == block.rows:
            return every.parts[s]
        columns = np.flatnonzero(np.isin(block.columns, stage.v))
        return host.LoneClosure(every.lane, s, (tuple(rows.tolist()), tuple(columns.tolist())))

    def _values_at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        phi, values = [np.zeros(0)], [np.zeros(0)]
        for part, rows, entries in zip(self.parts, self._residuals, self._entries, strict=True):
            every = part(q)
            phi.append(every[0][rows])
            values.append(every[1][entries])
        return np.concatenate(phi), np.concatenate(values)


class StageLoopRows(LoopRows):
    """The loops of a stage as a level, as of `LoopRows`."""

    def __init__(self, lane: StartLane, file_lane: StartLane, q: Sequence[float], stage: StageColumns) -> None:
        super().__init__(lane, file_lane, q)
        self._stage = stage
        stage_rows = stage.rows_of(self.plan)
        self.labels, self.sizes = [self.labels[k] for k in stage_rows], self.sizes[stage_rows]

    def at(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> Local:
        missed, slopes = loop_rows(self.lane.of(members), x[: self.plan.nq], self._stage)
        J = np.zeros((*missed.shape, self.plan.nv))
        J[:, :, self._stage.v] = slopes / self._speeds[self._stage.v]
        return Local(np.linalg.norm(missed, axis=1), missed, J)

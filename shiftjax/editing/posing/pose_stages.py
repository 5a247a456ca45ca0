"""In which order one mechanism that is posed by hand is solved, and which of its loops are open then. Host code."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.access.stated_state import StatedState, stated_state
from shiftjax.editing.posing.goal_states import MET, Shortfall, missing
from shiftjax.editing.posing.pose_history import PoseHistory, PoseStep
from shiftjax.errors import ModelError, shown
from shiftjax.kinematics.positioning.ground import Footing
from shiftjax.kinematics.positioning.open_loops import LoopRows
from shiftjax.kinematics.positioning.solving.lone_loops import CLOSED
from shiftjax.kinematics.positioning.solving.manifold import Goals
from shiftjax.kinematics.positioning.solving.solver import ITERATIONS, solved
from shiftjax.kinematics.positioning.stage_search import (
    GoalSearch,
    StageSearch,
    goal_stages,
    lone_of,
    solved_in_order,
    stages_in,
)
from shiftjax.kinematics.positioning.stages import columns_of, loop_rows
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.sublinkages import LinkageStage
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.plan import TreeCoordinate

ALONE = np.zeros(1, int)
UNIT = 1e-9  # by which a stated quaternion may be longer or shorter than 1: rounding of its numbers
NEAREST = (
    1e-3  # slope of |e|: more is no nearest pose, also of a search that ended early; of loops that can close it is 1
)


@record
class LoopGap:
    """By how much a loop is open at the joint at which it is cut, or a constraint is missed.

    Attributes:
        length, angle: [m], [rad] the distance and the turn that are missing, or all that a constraint misses.
    """

    length: float
    angle: float

    @property
    def text(self) -> str:
        """In words."""
        parts = ((self.length, "m"), (self.angle, "rad"))
        return " and ".join(
            f"{size:.3g} {unit}" for size, unit in parts if size > CLOSED and size > MET * max(self.length, self.angle)
        )


def closed_state(model: Model) -> StatedState:
    """Where a model that is posed begins.

    Raises:
        ModelError: loops that do not close.
    """
    state = stated_state(
        model, q=None, v=None, vary=None, assign=None, derive=None, drive=None, tie=None, start=None, time=None,
        massless=True,
    )  # fmt: skip
    if state.status[0] > 0:
        raise ModelError(model.name or "model", state.messages[0], "loops that close", "Correct it.")
    return state


class PoseStages:
    """The stages of one mechanism.

    Args:
        footing: of the mechanism.

    Attributes:
        stages: in their order. several: whether there are more than one.
    """

    def __init__(self, prepared: Prepared, footing: Footing) -> None:
        self._prepared, self._footing = prepared, footing
        self._columns = columns_of(prepared.model, prepared.plan)
        self.stages: tuple[LinkageStage, ...] = tuple(one.stage for one in self._columns)
        self.several = len(self.stages) > 1
        self._unasked = lone_of(footing.lone, self._columns) if self.several else []  # of which no pose was asked
        self._lone = [copy.copy(one) for one in self._unasked]
        self._known: tuple[GoalSearch, list[StageSearch]] | None = None

    def in_order(self, coordinates: dict[str, TreeCoordinate]) -> dict[str, TreeCoordinate]:
        """Coordinates of a plan by their paths, those of earlier stages first."""
        place = {int(q): k for k, stage in enumerate(self._columns) for q in stage.q}
        return dict(sorted(coordinates.items(), key=lambda one: place[one[1].q]))

    @property
    def driving(self) -> list[str]:
        """Coordinates of all stages but the last one, those of earlier stages first."""
        by_place = {one.q: one.path for one in self._prepared.plan.coordinates}
        return [by_place[q] for stage in self._columns[:-1] for q in stage.q.tolist() if q in by_place]

    def solved(self, search: GoalSearch, q: np.ndarray, iterations: int) -> np.ndarray:
        """Coordinates (nq,) led to where the goals of a search are met as far as they can be, stage by stage.

        Args:
            iterations: of a level; a whole step goes from no rows of loops that were chosen at other poses.
        """
        if not self.several:
            return solved(search.goals, q[:, None], ALONE, iterations).q[:, 0]
        stages = self._stages_in(search)
        if iterations == ITERATIONS and self._unasked:
            stages = [one.alone_with(copy.copy(lone)) for one, lone in zip(stages, self._unasked, strict=True)]
        return solved_in_order(stages, q[:, None], ALONE, iterations)[0][:, 0]

    def _stages_in(self, search: GoalSearch) -> list[StageSearch]:
        """The stages of a search: of one that differs from the last one in numbers of goals alone those of that."""
        known = self._known
        if known is None or known[0].structure is not search.structure:
            stages = stages_in(search, self._columns, self._lone)
        elif known[0].tasks is search.tasks:
            return known[1]
        else:
            stages = [stage.with_numbers(search) for stage in known[1]]
        self._known = search, stages
        return stages

    def missing(self, search: GoalSearch, weights: Sequence[float], q: np.ndarray) -> dict[int, Shortfall]:
        """As of `goal_states.missing`, of each goal in its stage."""
        if not self.several:
            return missing(search.goals, search.levels, weights, q)
        out = dict[int, Shortfall]()
        for stage in self._stages_in(search):
            if any(ranked.goals for ranked in stage.levels):
                out |= missing(stage.goals, stage.levels, weights, q)
        return out

    def goals_of(self, search: GoalSearch, goal: int) -> Goals:
        """The goals of the stage of one of them."""
        if not self.several:
            return search.goals
        return self._stages_in(search)[goal_stages(search, self._columns)[goal]].goals

    def turned(self, joint: str, first: np.ndarray, last: np.ndarray) -> float:
        """By how much a joint that turns any way stands elsewhere at other coordinates (nq,); a quaternion is minus
        itself."""
        one = next(one for one in self._prepared.plan.joints if one.path == joint)
        a, b = (q[one.q : one.q + one.nq] for q in (first, last))
        return float(min(np.abs(a - b).max(), np.abs(a + b).max()))

    def stated(self, q: Any, where: str) -> np.ndarray:
        """All coordinates (nq,), where they are a pose at which the loops of the first stage close.

        Raises:
            ModelError: others; quaternions of another length than 1, which would scale what they turn.
        """
        array, plan = real_array(q), self._prepared.plan
        if array is None or array.shape != (plan.nq,) or not np.isfinite(array).all():
            raise ModelError(where, shown(q), f"{plan.nq} finite numbers", "Take those of `coordinates`.")
        for one in (one for one in plan.coordinates if one.quaternion):
            if abs((size := float(np.linalg.norm(array[one.places]))) - 1.0) > UNIT:
                raise ModelError(
                    f"{where}: {one.path}", f"a quaternion of length {size:.9g}", "1", "Divide it by that."
                )
        if (gap := self.open_first(array)) > CLOSED:
            fault = f"coordinates at which loops are open by {gap:.3g}"
            raise ModelError(where, fault, "a pose at which loops close", "Use `stand`, which closes them.")
        return array

    # -- loops ---------------------------------------------------------------------------------------------------------

    def gap(self, q: np.ndarray) -> float:
        """Largest residual of all loops at coordinates (nq,), dimensionless."""
        if self._lone:
            return max(one.at(q).gap for one in self._lone)
        if self._footing.lone is not None:
            return self._footing.lone.at(q).gap
        return max((float(np.abs(phi).max(initial=0.0)) for phi in self._residuals(q)), default=0.0)

    def open_first(self, q: np.ndarray) -> float:
        """The same of the loops of the first stage, which nothing keeps from closing."""
        if not self.several:
            return self.gap(q)
        every = self._residuals(q)
        rows = self._columns[0].rows.items()
        return max((float(np.abs(every[s][some]).max(initial=0.0)) for s, some in rows), default=0.0)

    def stands_open(self, path: str, q: np.ndarray) -> bool:
        """Whether loops of the stage of a coordinate, or of an earlier one, are open at coordinates (nq,)."""
        place = next(one.q for one in self._prepared.plan.coordinates if one.path == path)
        number, every = next(k for k, one in enumerate(self._columns) if place in one.q), self._residuals(q)
        rows = [(s, some) for stage in self._columns[: number + 1] for s, some in stage.rows.items()]
        return any(float(np.abs(every[s][some]).max(initial=0.0)) > CLOSED for s, some in rows)

    def slope(self, q: np.ndarray) -> float:
        """Largest slope of |e| of what is open of a stage, by its own dimensionless speeds: 0 where it is as near as it
        comes."""
        out, lane = 0.0, self._footing.lane
        for phi, J in (loop_rows(lane, q[:, None], stage) for stage in self._columns):
            if np.abs(phi).max(initial=0.0) > CLOSED:
                out = max(out, float(np.linalg.norm(phi[0] @ J[0]) / np.linalg.norm(phi)))
        return out

    def _residuals(self, q: np.ndarray) -> list[np.ndarray]:
        blocks = range(len(self._prepared.plan.substructures))
        return [host.closure(self._footing.lane, q[:, None], s)[0][0] for s in blocks]

    def open_loops(self, q: np.ndarray) -> dict[str, LoopGap]:
        """Joint at which a loop is cut, or constraint -> by how much it is open, of those that are."""
        if self.gap(q) <= CLOSED:
            return {}
        rows, first, out = self._rows, 0, dict[str, LoopGap]()
        sizes = np.concatenate([*self._residuals(q), np.zeros(0)]) * rows.sizes
        long = np.array([label.endswith("[m]") for label in rows.labels])
        for block in self._prepared.plan.substructures:
            for group in (self._prepared.plan.constraints[k] for k in block.groups):
                some = np.arange(first, first := first + group.rows)
                length, angle = (float(np.linalg.norm(sizes[some[which]])) for which in (long[some], ~long[some]))
                if max(length, angle) > CLOSED:
                    out[group.name] = LoopGap(length, angle)
        return out

    def notes(self, q: np.ndarray) -> tuple[str, ...]:
        """What is open where driven sublinkages do not follow, a sentence; none where all loops are closed. Of a pose
        that is stated it need not be as little as can be."""
        if not self.several or not (gaps := self.open_loops(q)):
            return ()
        seen = {name: gap for name, gap in gaps.items() if max(gap.length, gap.angle) > MET} or gaps
        parts = ", ".join(f"{name} by {gap.text}" for name, gap in seen.items())
        if self.slope(q) > NEAREST:
            return (f"loops of what is driven are open, and could be open less: {parts}",)
        return (f"loops that what is driven cannot close are open, as little as can be: {parts}",)

    def refuse_open(self, q: np.ndarray, where: str) -> None:
        """Raises where loops are open at coordinates (nq,).

        Raises:
            ModelError: such loops.
        """
        if gaps := self.open_loops(q):
            todo = "Undo the last step, or pose what drives to where the rest follows."
            raise ModelError(where, f"loops that are open: {listed(gaps)}", "a pose at which all loops close", todo)

    @cached_property
    def _rows(self) -> LoopRows:
        start = self._prepared.file_start.q[:, 0].tolist()
        return LoopRows(self._footing.lane, self._prepared.file_lane(), start)


class StagedHistory(PoseHistory):
    """The history of a mechanism whose sublinkages are solved one after the other.

    Args:
        stages: of the mechanism.
    """

    def __init__(self, first: PoseStep, stages: PoseStages) -> None:
        super().__init__(first)
        self._stages = stages

    @property
    def stages(self) -> tuple[LinkageStage, ...]:
        """The order in which sublinkages are solved; one stage of all joints where there are none."""
        return self._stages.stages

    @property
    def driving(self) -> list[str]:
        """Coordinates of all stages but the last one, those of earlier stages first."""
        return self._stages.driving

    @property
    def gap(self) -> float:
        """Largest residual of all loops, dimensionless."""
        return self._stages.gap(self._now.q)

    @property
    def open_loops(self) -> dict[str, LoopGap]:
        """Joint at which a loop is cut -> by how much it is open, of sublinkages that do not follow."""
        return self._stages.open_loops(self._now.q)

    def refuse_open(self, where: str) -> None:
        """Raises where loops are open: a model of that pose would close them.

        Raises:
            ModelError: such loops.
        """
        self._stages.refuse_open(self._now.q, where)

    def _put(self, step: PoseStep, *notes: str) -> None:
        """Takes up a step, with notes on what is open, and on locks and limits that what drives overrides."""
        if self._stages.several:
            locked, limited = self._unkept(step.q, self.locks & step.locks, MET)
            at = listed(f"{path} stands at {value:.4g}" for path, value in limited.items())
            follows = "what is driven follows what drives it, not its"
            notes += (f"{follows} locks: {listed(locked)} moved",) if locked else ()
            notes += (f"{follows} limits: {at}",) if limited else ()
        super()._put(step, *notes, *self._stages.notes(step.q))

    def _unkept(self, q: np.ndarray, locks: frozenset[str], most: float) -> tuple[list[str], dict[str, float]]:
        """Of locks those that stand elsewhere than now at coordinates (nq,), by more than `most`, and of coordinates
        beyond limits where they stand."""
        raise NotImplementedError

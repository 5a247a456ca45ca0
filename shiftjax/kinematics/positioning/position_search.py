"""What one call of inverse kinematics asks, as rows and energies of mechanisms that stand somewhere. Host code."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from shiftjax.access.answers import Question, answers_of
from shiftjax.access.dynamic_terms import potential_energy
from shiftjax.access.kinematic_terms import mass
from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.access.stated_state import StatedState
from shiftjax.algebra import Scalar, norm_squared, sqrt
from shiftjax.errors import ModelError, shown
from shiftjax.kinematics.positioning.goals import Goal, Ranked
from shiftjax.kinematics.positioning.ground import Footing, number_of, parts_of
from shiftjax.kinematics.positioning.open_loops import LOOPS, LoopRows
from shiftjax.kinematics.positioning.potential import EnergyRows
from shiftjax.kinematics.positioning.rows import Tasks, coordinate_named
from shiftjax.kinematics.positioning.solving.lone_loops import LoneLoops
from shiftjax.kinematics.positioning.solving.manifold import Goals, LimitRows, Limits
from shiftjax.kinematics.stops import ends_of_ways
from shiftjax.mechanism.model import Model
from shiftjax.numerics.real_arrays import real_array
from shiftjax.topology.plan import Plan


class PositionSearch:
    """The mechanisms of one call, and its goals as rows.

    Args:
        stated: where members begin. levels: of the goals. limits: coordinate -> (low, high).
        footing: of these mechanisms, where it is known from another call. open_loops: whether loops are the first
            level.

    Attributes:
        levels: with that of limits, where there are any. goals: as the solver takes them. ground: of their questions.
        structure: the same object of searches that differ in numbers of goals alone.

    Raises:
        ModelError: goals and limits that the model does not have.
    """

    def __init__(
        self, model: Model, stated: StatedState, goals: Sequence[Goal], levels: Sequence[Ranked],
        limits: Mapping[str, Any] | None, footing: Footing | None = None, *, open_loops: bool = False,
    ) -> None:  # fmt: skip
        self.stated, self.structure = stated, object()
        prepared, self.plan = stated.prepared, stated.prepared.plan
        footing = footing or Footing.of(stated)
        ground, x = footing.ground, parts_of(stated)
        tasks = Tasks(model, self.plan, prepared.setup.length, goals, stated.q, ground)
        between, lane = _limits(model, stated, limits), footing.lane
        opened = open_loops and any(block.rows for block in self.plan.substructures)
        loops = [LoopRows(lane, prepared.file_lane(), prepared.file_start.q[:, 0].tolist())] if opened else []
        self.levels = [*(Ranked(LOOPS) for _ in loops), *([Ranked("limits")] if len(between.q) else ()), *levels]
        self.goals = Goals(
            self.plan, lane, answers_of(ground), x, [
                *loops,
                *([LimitRows(between, np.asarray(lane.units), _beyond(self.plan, between))] if len(between.q) else ()),
                *(EnergyRows(self.plan, self._energy(ground, x)) if one.energy else tasks.rows_of(one.goals)
                  for one in levels),
            ], between, None if opened else footing.lone, opened,
        )  # fmt: skip
        self.ground, self.tasks = ground, tasks

    def with_numbers(self, stated: StatedState, goals: Sequence[Goal], levels: Sequence[Ranked]) -> Self | None:
        """The search of other goals that differ from these in their numbers alone, of the same mechanisms elsewhere;
        None of all others. It shares all that does not depend on these numbers."""
        whole, limits = self.goals, self.levels[: len(self.levels) - len(levels)]
        if self.levels[len(limits) :] != [*levels] or any(one.energy for one in levels):
            return None
        tasks = Tasks(self.tasks.model, self.plan, self.tasks.length, goals, stated.q, self.ground)
        if tasks.structure != self.tasks.structure:
            return None
        out, rows = copy.copy(self), [tasks.rows_of(one.goals) for one in levels]
        out.stated, out.tasks, out.goals = stated, tasks, copy.copy(whole)
        out.goals.x, out.goals.levels = parts_of(stated), [*whole.levels[: len(limits)], *rows]
        return out

    def alone_with(self, lone: LoneLoops | None) -> Self:
        """The same search with other loops of its one mechanism, of which other poses were asked."""
        out = copy.copy(self)
        out.goals = copy.copy(self.goals)
        out.goals.lone = None if self.goals.opened else lone
        return out

    def _energy(self, ground: Ground, x: np.ndarray) -> float:
        """What energies are compared with [J]: that of all weight at the model's length, and the largest at a start."""
        answers = answers_of(ground)
        weight = answers.in_numpy(Question("weight", _weight), x)
        energy = answers.in_numpy(Question(("potential",), potential_energy), x)
        size = np.abs(np.concatenate([weight[:, 0] * ground.length, np.ravel(energy)]))
        return float(size[np.isfinite(size)].max(initial=0.0)) or 1.0


def _beyond(plan: Plan, limits: Limits) -> list[str]:
    paths = {one.q: f"{one.path} beyond its limits [{one.unit}]" for one in plan.coordinates}
    return [paths[int(k)] for k in limits.q]


def _weight(at: LaneState) -> list[Scalar]:
    nodes = [k for k, node in enumerate(at.plan.nodes) if k and not node.virtual]
    return [mass(at, nodes) * sqrt(norm_squared(at.lane.gravity()))]


def _limits(model: Model, stated: StatedState, given: Mapping[str, Any] | None) -> Limits:
    """Limits as arrays: those of the model, the tighter one of a stop and a limit, where a call names no others.

    Raises:
        ModelError: none of a coordinate of one number; ends that are no numbers, or in the wrong order.
    """
    plan, count = stated.prepared.plan, stated.q.shape[1]
    named: set[int] = set()
    ends: dict[int, np.ndarray] = {}  # coordinate of the plan -> (2, B)
    speeds = {one.q: one.v for one in plan.coordinates}
    for one in ends_of_ways(stated.prepared.model, plan):
        both = ends.setdefault(one.coordinate.q, np.repeat([[-np.inf], [np.inf]], count, axis=1))
        tighter = np.minimum if one.end > 0 else np.maximum
        both[max(one.end, 0)] = tighter(both[max(one.end, 0)], number_of(stated, one.number))
    for path, pair in (given or {}).items():
        where = f"limits {path}"
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise ModelError(where, shown(pair), "(low, high), either of which may be None", "Give both ends.")
        one = coordinate_named(model, plan, path, where)
        if one.q in named:
            raise ModelError(where, "limits of the joint twice", "each joint once", "Leave one of them out.")
        named.add(one.q)
        numbers = [np.asarray(free if end is None else real_array(end), float)
                   for end, free in zip(pair, (-np.inf, np.inf), strict=True)]  # fmt: skip
        if any(x.ndim > 1 or np.isnan(x).any() for x in numbers) or not (numbers[0] <= numbers[1]).all():
            raise ModelError(where, shown(pair), "low <= high, numbers or (B,) of them", "Exchange or mend them.")
        ends[one.q] = np.stack([np.broadcast_to(x, count) for x in numbers])
    for one in plan.coordinates:
        if one.q in ends and (crossed := np.flatnonzero((ends[one.q][0] > ends[one.q][1]) & (stated.status <= 0))).size:
            x, y = ends[one.q][:, crossed[0]]
            todo = "Correct its limits, or its stop; or give limits= of the call."
            raise ModelError(one.path, f"ends of its way {x:g} and {y:g}", "a lower end up to the upper one", todo)
    low, high = np.array([*ends.values()]).reshape(len(ends), 2, count).swapaxes(0, 1)
    places = np.array([*ends], int)
    return Limits(places, np.array([speeds[int(k)] for k in places], int), low, high)

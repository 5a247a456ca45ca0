"""Goals met stage by stage: what drives first, then what is driven, which never moves it. Host code.

Each stage is a problem of `solver` of its own. Before it its loops are led along: the coordinates of earlier stages
that they depend on go from where they were to where they are, a little at a time, and loops close after each, so that
no branch is left. Where they cannot close, as what is driven does not reach, they are a level of the stage that is as
near as it can be (Vona, Virtual Articulation and Kinematic Abstraction in Robotics, 2009, section 4.3).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from shiftjax.access.stated_state import StatedState
from shiftjax.kinematics.positioning.goals import Ranked
from shiftjax.kinematics.positioning.solving.damping import REACHED, Positioned
from shiftjax.kinematics.positioning.solving.levels import Level
from shiftjax.kinematics.positioning.solving.lone_loops import LoneLoops
from shiftjax.kinematics.positioning.solving.manifold import Goals, LimitRows, Limits, Manifold
from shiftjax.kinematics.positioning.solving.solver import ITERATIONS, solved
from shiftjax.kinematics.positioning.stage_following import followed, nothing_held
from shiftjax.kinematics.positioning.stages import (
    StageColumns,
    StageGoals,
    StageLoopRows,
    StageLoops,
)
from shiftjax.kinematics.stage_order import latest, stage_places
from shiftjax.topology.plan import Plan

LEAPS = 4  # searches more for loops that are still on their way
PROBED = (0.0, 0.137, -0.283)  # rad or parts of a length, by which coordinates are moved to see what moves a function


class GoalSearch(Protocol):
    """A search whose stages are asked for, as `position_search.PositionSearch`."""

    structure: object
    stated: StatedState
    plan: Plan
    goals: Goals
    levels: list[Ranked]
    tasks: Any


@dataclass
class StageSearch:
    """A stage of a search.

    Attributes:
        columns: what moves. levels: of its goals, with those of limits; goals by their numbers among all of the search.
        goals: as the solver takes them. reduced: the same, where loops may open.
    """

    columns: StageColumns
    levels: list[Ranked]
    goals: StageGoals
    search: GoalSearch

    @cached_property
    def reduced(self) -> StageGoals:
        prepared, lane = self.search.stated.prepared, self.goals.lane
        start = prepared.file_start.q[:, 0].tolist()
        loops = StageLoopRows(lane, prepared.file_lane(), start, self.columns)
        return _goals(self.search.goals, self.columns, [loops, *self.goals.levels], None, opened=True)

    def with_numbers(self, search: GoalSearch) -> StageSearch:
        """The stage of a search that differs in numbers of goals alone, as of `PositionSearch.with_numbers`."""
        if not any(ranked.goals for ranked in self.levels):
            return self
        goals = copy.copy(self.goals)
        goals.x = search.goals.x
        goals.levels = [
            search.tasks.rows_of(ranked.goals) if ranked.goals else level
            for ranked, level in zip(self.levels, self.goals.levels, strict=True)
        ]
        return StageSearch(self.columns, self.levels, goals, search)

    def alone_with(self, lone: StageLoops | None) -> StageSearch:
        """The same stage with other loops of its own."""
        goals = copy.copy(self.goals)
        goals.lone = None if goals.lone is None else lone
        return StageSearch(self.columns, self.levels, goals, self.search)


def stages_in(
    search: GoalSearch, columns: Sequence[StageColumns], lone: Sequence[StageLoops] = ()
) -> list[StageSearch]:
    """The stages of a search, each with its goals.

    Args:
        columns: of all stages. lone: their loops, of one mechanism that is alone; made where left out.
    """
    places, whole = goal_stages(search, columns), search.goals
    lone = lone or lone_of(whole.lone, columns)
    levels = list(zip(search.levels, whole.levels, strict=True))
    out = []
    for k, stage in enumerate(columns):
        parts: list[tuple[Ranked, Level]] = []
        for ranked, level in levels:
            numbers = tuple(goal for goal in ranked.goals if places[goal] == k)
            if isinstance(level, LimitRows):
                if len((some := _limits(level.limits, stage)).q):
                    labels = dict(zip(level.limits.q.tolist(), level.labels, strict=True))
                    parts.append((ranked, LimitRows(some, whole.every_unit, [labels[q] for q in some.q.tolist()])))
            elif numbers and ranked.energy:
                energy: Any = level
                parts.append((ranked, energy.of_stage(stage.rows_of(search.plan), stage.v)))
            elif numbers:
                parts.append((Ranked(ranked.name, numbers), search.tasks.rows_of(numbers)))
        goals = _goals(whole, stage, [level for _, level in parts], lone[k] if lone else None)
        out.append(StageSearch(stage, [ranked for ranked, _ in parts], goals, search))
    return out


def lone_of(every: LoneLoops | None, columns: Sequence[StageColumns]) -> list[StageLoops]:
    """The loops of stages of one mechanism; none where it is not evaluated alone."""
    return [] if every is None else [StageLoops(every, stage) for stage in columns]


def _goals(
    whole: Goals, stage: StageColumns, levels: Sequence[Level], lone: StageLoops | None, *, opened: bool = False
) -> StageGoals:
    some = _limits(whole.limits, stage)
    limits = Limits(some.q, np.searchsorted(stage.v, some.v), some.low, some.high)
    alone = lone if stage.rows and not opened else None
    return StageGoals(whole.plan, whole.lane, whole.answers, whole.x, levels, limits, alone, opened, stage)


def _limits(limits: Limits, stage: StageColumns) -> Limits:
    """Those of a stage, with speeds of the plan."""
    some = np.isin(limits.q, stage.q)
    return Limits(limits.q[some], limits.v[some], limits.low[some], limits.high[some])


def goal_stages(search: GoalSearch, columns: Sequence[StageColumns]) -> dict[int, int]:
    """Number of a goal -> number of its stage: the latest that has a joint which moves it, of an energy the last."""
    place, out = stage_places(search.plan, [one.stage for one in columns]), dict[int, int]()
    for goal in (goal for ranked in search.levels for goal in ranked.goals):
        task = search.tasks.tasks.get(goal)
        if task is None:
            out[goal] = len(columns) - 1
        else:
            out[goal] = latest(place, _moving(search, goal) if task.joints is None else task.joints)
    return out


def _moving(search: GoalSearch, goal: int) -> list[int]:
    """The joints whose speeds have slopes in the rows of a goal, where members with a pose begin, and near there."""
    goals, rows, moving = search.goals, search.tasks.rows_of([goal]), np.zeros(search.plan.nv, bool)
    members = np.flatnonzero(np.isfinite(search.stated.q).all(0))
    q, way = search.stated.q[:, members], np.sin(1.0 + np.arange(search.plan.nv))
    for size in PROBED:
        x = goals.x[:, members]
        x[: search.plan.nq] = goals.moved(q, np.broadcast_to(size * way, (len(members), len(way))))
        moving |= (rows.whole(goals.answers, x, members)[:, :, 1:] != 0.0).any((0, 1))  # NaN counts
    return [k for k, joint in enumerate(search.plan.joints) if moving[list(joint.speeds)].any()]


def solved_in_order(
    stages: Sequence[StageSearch], q: np.ndarray, members: np.ndarray, iterations: int = ITERATIONS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates (nq, B) of some members led through all stages, (B,) steps that were tried, and (B,) whether an
    energy was still on its way after the most of them.

    Args:
        q: (nq, B) at which loops close, but for those that were left as near as they came. iterations: of a level.
    """
    begun, at, tried, falling = q, q.copy(), np.zeros(q.shape[1], int), np.zeros(q.shape[1], bool)
    for stage in stages:
        at, closed = followed(stage.goals, begun, at, members)
        if not closed.all():
            apart = np.flatnonzero(~closed)
            came = _opened(stage, at[:, apart], members[apart], iterations)
            at[:, apart], tried[apart] = came.q, tried[apart] + came.iterations
            falling[apart] |= _falling(stage.reduced, came)
            near = apart[came.value[0] <= REACHED]
            if len(near):
                manifold = Manifold.of_loops(stage.goals, members[near])
                at[:, near], closed[near] = manifold.restored(at[:, near], nothing_held(stage.goals, near))
        some = np.flatnonzero(closed)
        if len(some) and stage.levels:
            came = solved(stage.goals, at[:, some], members[some], iterations)
            at[:, some], tried[some] = came.q, tried[some] + came.iterations
            falling[some] |= _falling(stage.goals, came)
    return at, tried, falling


def _falling(goals: Goals, came: Positioned) -> np.ndarray:
    """(B,) whether an energy was still on its way."""
    return np.asarray(came.unfinished[[k for k, level in enumerate(goals.levels) if level.curved]].any(0))


def _opened(stage: StageSearch, q: np.ndarray, members: np.ndarray, iterations: int) -> Positioned:
    """A stage whose loops do not close, from (nq, B) to where they are as near as they come: a leap far beyond reach
    takes several searches, unless these have the time of a picture."""
    came = solved(stage.reduced, q, members, iterations)
    for _ in range(LEAPS if iterations >= ITERATIONS else 0):
        left = np.flatnonzero(came.unfinished[0])
        if not len(left):
            break
        more = solved(stage.reduced, came.q[:, left], members[left], iterations)
        came.q[:, left], came.value[:, left], came.unfinished[:, left] = more.q, more.value, more.unfinished
        came.iterations[left] += more.iterations
    return came


def values_at(goals: Goals, q: np.ndarray, members: np.ndarray) -> Positioned:
    """Members at coordinates (nq, B), with the value of each level there."""
    out = Positioned.at(q, len(goals.levels))
    for level in range(len(goals.levels)):
        out.value[level] = goals.local(level, q, members).value
    return out

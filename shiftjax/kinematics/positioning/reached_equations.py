"""The equations that a reached pose solves, of which its slopes by designs and goals follow. Host code.

Problem: minimise |e_1|, then |e_2| among the poses at which |e_1| is least, and so on (`solver`). Where it stands, a
pose solves: all loops; e_k = 0 of each level that is met; of each that is not, that |e_k|^2 / 2 is stationary on the
equations of more important levels, with a multiplier of each (Nocedal, Wright, Numerical Optimization, section 12.3),
so that a level below keeps not only what is missed above, but that it is least. An end of a way, or of a region that is
met, is an equation where something presses against it: where the multiplier of a level has the sign of that, and not a
vanishing one (strict complementarity). One that a pose touches without pressing has slopes of either side, which is
said. Slopes of second order in what is missed are in it: curvature of levels that cannot be met.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.access.dynamic_terms import potential_energy
from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.algebra import Scalar, Vec, total, zeros
from shiftjax.dynamics.lane import Lane
from shiftjax.kinematics.positioning.function_rows import PoseFunction
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.potential import EnergyRows
from shiftjax.kinematics.positioning.rows import GoalRows, Task
from shiftjax.kinematics.positioning.solving.damping import REACHED
from shiftjax.run.closing.equations import Equations, closures, least_change

AT_END = 1e-8  # m or rad, dimensionless: so near an end a pose is at it
PRESSES = 1e-7  # of the largest slope of a level, by which an end that holds is pressed
TURNED = 1e-9  # rad, by which a rotation that is met may be off
FREE, LOW, HIGH = 0, -1, 1  # where rows of regions and coordinates are: within, at or beyond an end


@dataclass(frozen=True)
class RowState:
    """Where one row of a goal stands.

    Attributes:
        end: `FREE` of one that is within its region, `LOW` and `HIGH` of one that is at an end or beyond it; 0 for one
            that has a point. missed: whether it counts among what is missed. region: whether it has a region.
    """

    end: int
    missed: bool
    region: bool


@dataclass(frozen=True)
class Pattern:
    """What equations of members have in common: members of one pattern have the same graph.

    Attributes:
        levels: of each whether it is met, and of its tasks the rows and whether a rotation is met; of limits which
            coordinates are beyond which end. ends: of each coordinate with limits, at which it stands.
    """

    levels: tuple[tuple[bool, Any], ...]
    ends: tuple[int, ...]


@dataclass
class Reached:
    """Members at poses that solve a system.

    Attributes:
        equations: answers are coordinates (nq,), rows that are missed, in SI, and what else is observed. x: (count, K).
        members: (K,). rows: which of all rows these are. solved: (K,) whether the equations hold to rounding.
        touching: (K,) whether an end is touched that nothing presses.
    """

    equations: Equations
    x: np.ndarray
    members: np.ndarray
    rows: tuple[int, ...]
    solved: np.ndarray
    touching: np.ndarray


@dataclass
class _Stage:
    """A system on its way through the levels.

    Attributes:
        pending: answers that are ends which nothing has pressed so far, with their sides.
    """

    equations: Equations
    x: np.ndarray
    members: np.ndarray
    pending: tuple[tuple[int, int], ...]


@dataclass
class _Base:
    """The loops as equations, all else as answers.

    Attributes:
        objectives: level -> answer that is least. rows: level -> answers that vanish. ends: answers that do where
            something presses, with their sides. outputs: coordinates, then rows that are missed. missed: which.
    """

    equations: Equations
    objectives: dict[int, int]
    rows: dict[int, list[int]]
    ends: list[tuple[int, int]]
    outputs: list[int]
    missed: tuple[int, ...]


class ReachedEquations:
    """Systems of the poses that searches of the same designs and goals come to, each pattern built once.

    Args:
        observed: what else is answered there, last.
    """

    def __init__(self, observed: Sequence[PoseFunction] = ()) -> None:
        self.observed = tuple(observed)
        self._known: dict[Hashable, Any] = {}

    def of(self, search: PositionSearch, q: np.ndarray, value: np.ndarray, members: np.ndarray) -> list[Reached]:
        """Of some members that stand at (nq, B), with values of levels (K, B)."""
        groups: dict[Pattern, list[int]] = {}
        for k, pattern in enumerate(_patterns(search, q[:, members], value[:, members], members)):
            groups.setdefault(pattern, []).append(int(members[k]))
        return [one for pattern, some in groups.items() for one in self._solved(search, q, pattern, np.array(some))]

    def _made(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _solved(self, search: PositionSearch, q: np.ndarray, pattern: Pattern, members: np.ndarray) -> list[Reached]:
        key = pattern, search.ground.partition
        base: _Base = self._made(key, lambda: _base(search, pattern, self.observed))
        x = base.equations.inputs(q[:, members], inputs_of(search, members))
        stages = [(_Stage(base.equations, x, members, tuple(base.ends)), key)]
        for level, (met, _) in enumerate(pattern.levels):
            if met and base.rows.get(level):
                stages = [
                    (self._holding(one, base.rows[level], (*name, level)), (*name, level)) for one, name in stages
                ]
            elif level in base.objectives:
                stages = [new for one, name in stages for new in self._least(one, base.objectives[level], name)]
        return [self._reached(base, one, name) for one, name in stages]

    def _holding(self, stage: _Stage, rows: Sequence[int], key: Hashable) -> _Stage:
        return replace(stage, equations=self._made((key, "holding"), lambda: stage.equations.holding(rows)))

    def _least(self, stage: _Stage, objective: int, name: tuple[Any, ...]) -> list[tuple[_Stage, Any]]:
        """The stages after a level that is as good as it can be: one for each set of ends that it presses."""
        J, Y = stage.equations.slopes(stage.x)
        g, ends = Y[:, objective], [answer for answer, _ in stage.pending]
        borne = least_change(np.concatenate([J, Y[:, ends]], axis=1).transpose(0, 2, 1), g)[:, J.shape[1] :]
        sides = np.array([side for _, side in stage.pending])
        pressed = borne * sides < -PRESSES * np.abs(g).max(1, initial=0.0)[:, None] - 1e-12
        out = []
        for one in np.unique(pressed, axis=0):
            some = np.flatnonzero((pressed == one).all(1))
            active = [answer for (answer, _), holds in zip(stage.pending, one, strict=True) if holds]
            key = (*name, objective, tuple(active))
            holding = self._made((key, "holding"), lambda rows=active: stage.equations.holding(rows))
            made = self._made((key, "least"), lambda system=holding: system.stationary(objective))
            x = stage.x[:, some]
            slopes = holding.slopes(x)[0]
            multipliers = least_change(slopes.transpose(0, 2, 1), g[some])
            left = tuple(end for end, holds in zip(stage.pending, one, strict=True) if not holds)
            out.append((_Stage(made, np.concatenate([x, multipliers.T]), stage.members[some], left), key))
        return out

    def _reached(self, base: _Base, stage: _Stage, name: Hashable) -> Reached:
        equations: Equations = self._made((name, "answers"), lambda: stage.equations.answering(base.outputs))
        layout, x = equations.layout, stage.x
        nq = layout.plan.nq
        others = x[layout.first + len(layout.columns) :]
        q, others, size = equations.solved(x[:nq], x[nq : layout.first], others)
        out = equations.inputs(q, x[nq : layout.first], others)
        near = np.abs(q - x[:nq]).max(0, initial=0.0) < NEAR_POSE
        touching = np.full(len(stage.members), bool(stage.pending))
        return Reached(equations, out, stage.members, base.missed, (size < SOLVED) & near, touching)


SOLVED = 1e-9  # residual of a pose that solves its equations, dimensionless
NEAR_POSE = 1e-3  # rad or m, by which a pose that was come to may be off the one that solves them


def inputs_of(search: PositionSearch, members: np.ndarray) -> np.ndarray:
    """(P + given, K) numbers of the model, then of goals, lower and upper limits, states of forces."""
    limits, stated = search.goals.limits, search.stated
    extras = np.array(search.tasks.extras).reshape(-1, stated.q.shape[1])
    every = [stated.prepared.values, extras, limits.low, limits.high, stated.states]
    return np.concatenate([np.nan_to_num(one[:, members], posinf=0.0, neginf=0.0) for one in every])


def _patterns(search: PositionSearch, q: np.ndarray, value: np.ndarray, members: np.ndarray) -> list[Pattern]:
    """Of some members at (nq, K)."""
    goals, limits = search.goals, search.goals.limits
    length = goals.lane.length
    at, near = q[limits.q], AT_END * np.where(np.asarray(goals.unit)[limits.v] == 1.0, 1.0, length)[:, None]
    low, high = limits.low[:, members], limits.high[:, members]
    ends = np.where(at <= low + near, LOW, np.where(at >= high - near, HIGH, FREE))
    beyond = np.where(at < low - near, LOW, np.where(at > high + near, HIGH, FREE))
    x = goals.x[:, members]
    x[: goals.plan.nq] = q
    states = []
    for k, level in enumerate(goals.levels):
        met = value[k] <= REACHED
        if isinstance(level, GoalRows):
            values = level.values(goals.answers, x, members)
            states.append([(bool(m), _tasks(level, v, length, met=bool(m))) for m, v in zip(met, values, strict=True)])
        elif isinstance(level, EnergyRows):
            states.append([(False, "energy")] * len(members))
        else:
            states.append([(bool(m), tuple(map(int, one))) for m, one in zip(met, beyond.T, strict=True)])
    return [
        Pattern(tuple(level[k] for level in states), tuple(map(int, ends[:, k]))) for k in range(len(members))
    ]  # fmt: skip


def _tasks(level: GoalRows, values: np.ndarray, length: float, *, met: bool) -> Hashable:
    """Of each task its rows, and whether a rotation is met."""
    out, first = [], 0
    for task in level.goals:
        rows = []
        some = values[first : first + len(task.unit)]
        for value, (low, high), label in zip(some, task.ends, task.labels, strict=True):
            near = AT_END * (length if label.endswith("[m]") else 1.0)
            region = bool(high > low)
            end = LOW if value <= low + near else HIGH if value >= high - near else FREE
            off = value - low if end == LOW else value - high
            missed = not met and (not region or (end != FREE and abs(off) > near))
            rows.append(RowState(end if region else 0, missed, region))
        turned = [v for v, label in zip(some, task.labels, strict=True) if " about " in label]
        out.append((tuple(rows), bool(turned) and not task.ends.any() and bool(np.abs(turned).max() < TURNED)))
        first += len(task.unit)
    return tuple(out)


def _base(search: PositionSearch, pattern: Pattern, observed: Sequence[PoseFunction]) -> _Base:
    """The system of a pattern, before its levels make equations of answers."""
    prepared, plan, goals = search.stated.prepared, search.plan, search.goals
    E, L = len(search.tasks.extras), len(goals.limits.q)
    made = _Answers(search, pattern)

    def function(lane: Lane, q: Vec, given: Vec) -> tuple[Vec, Vec]:
        extras, low, high, states = given[:E], given[E : E + L], given[E + L : E + 2 * L], given[E + 2 * L :]
        ground: Ground = replace(search.ground, extras=E)
        varied = [lane.params.numbers[k] for k in ground.varied]
        at = LaneState(ground, [*q, *zeros(plan.nv), *states, 0.0, *varied, *extras])
        more = [x for one in observed for x in one.values(at)]
        return closures(lane, q, range(len(plan.substructures)), drivers=True), [*made.of(at, low, high), *more]

    equations = Equations.of(
        prepared.setup, prepared.own_numbers, prepared.places, range(plan.nv), function, given=E + 2 * L + plan.ns
    )
    outputs = [*range(made.first, equations.answers)]
    return _Base(equations, made.objectives, made.rows, made.ends, outputs, tuple(made.missed))


class _Answers:
    """The answers of a pattern in the order in which they are written, and which of them are what."""

    def __init__(self, search: PositionSearch, pattern: Pattern) -> None:
        self.search, self.pattern = search, pattern

    def of(self, at: LaneState, low: Vec, high: Vec) -> Vec:
        """All of them; lane code."""
        goals, self.ends, self.objectives, self.rows = self.search.goals, [], {}, {}
        written: Vec = []
        missed: list[tuple[int, Scalar]] = []
        first, beyond = 0, set[int]()
        limits = [(int(q), 1.0 / float(goals.unit[v]), low[k], high[k]) for k, (q, v) in
                  enumerate(zip(goals.limits.q, goals.limits.v, strict=True))]  # fmt: skip
        for k, (level, (met, state)) in enumerate(zip(goals.levels, self.pattern.levels, strict=True)):
            off: Vec = []
            if isinstance(level, EnergyRows):
                self.objectives[k] = len(written)
                energy = potential_energy(at)
                written.append(energy * (1.0 / level.size))
                missed.append((first, energy))
            elif isinstance(level, GoalRows):
                rows, ends, off, si = _goal_answers(at, level.goals, state, met=met)
                self.rows[k] = [*range(len(written), len(written) + len(rows))]
                written += rows
                self.ends += [(len(written) + i, side) for i, (_, side) in enumerate(ends)]
                written += [value for value, _ in ends]
                missed += [(first + row, value) for row, value in si]
            else:
                for i, (side, (place, scale, lower, upper)) in enumerate(zip(state, limits, strict=True)):
                    if not met and side != FREE:
                        value = at.q[place] - (lower if side == LOW else upper)
                        off.append(value * scale)
                        missed.append((first + i, value))
                        beyond.add(i)
            if off:
                self.objectives[k] = len(written)
                written.append(0.5 * total(x * x for x in off))
            first += len(level.labels)
        for i, (side, (place, scale, lower, upper)) in enumerate(zip(self.pattern.ends, limits, strict=True)):
            if side != FREE and i not in beyond:
                self.ends.append((len(written), side))
                written.append((at.q[place] - (lower if side == LOW else upper)) * scale)
        self.first, self.missed = len(written), [row for row, _ in missed]
        return [*written, *at.q, *(value for _, value in missed)]


def _goal_answers(
    at: LaneState, tasks: Sequence[Task], state: Any, *, met: bool
) -> tuple[Vec, list[tuple[Scalar, int]], Vec, list[tuple[int, Scalar]]]:
    """Of a level the rows that vanish, ends of regions with their sides, what is missed, dimensionless and in SI."""
    rows, ends, off, si, place = list[Scalar](), list[tuple[Scalar, int]](), list[Scalar](), [], 0
    for task, (states, turned) in zip(tasks, state, strict=True):
        for value, unit, (low, high), one, label in zip(
            task.values(at, turned), task.unit, task.ends, states, task.labels, strict=True
        ):
            scale = float(unit)
            beyond = value if not one.region else value - float(low if one.end == LOW else high)
            if one.missed:
                off.append(beyond * scale)
                si.append((place, beyond * (scale * (at.lane.length if "[m]" in label else 1.0))))
            elif not one.region:
                rows.append(value * scale)
            elif one.end != FREE:
                ends.append((beyond * scale, one.end))
            place += 1
    return rows, ends, off, si

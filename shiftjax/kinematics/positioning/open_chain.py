"""Open chains with goals of one level: a whole step of the damped method as lane code, for many poses. Host code.

The step is that of `solver`, but a limit holds where the slope of what is missed leads beyond it (Bertsekas, Projected
Newton methods, 1982), so that there are no rounds over sets of limits. With many members it is compiled.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.algebra import Scalar, Vec, dot, larger, largest, ratio, select, total, zeros
from shiftjax.dynamics.kinematics import retract
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.host_function import HostFunction
from shiftjax.kinematics.positioning.rows import GoalRows
from shiftjax.kinematics.positioning.solving.damping import EASY, FIRST, MET, MOST, STATIONARY, Positioned, following
from shiftjax.kinematics.positioning.solving.manifold import NEAR, SHORT, Goals, LimitRows
from shiftjax.kinematics.positioning.solving.projection import FLOOR
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.lanes.in_numpy import InNumpy

FEW = 512  # members below which NumPy does it: compiling takes some tenths of a second, once
ITERATIONS = 100
SHARE = 0.3  # of lanes that have ended, from which on they are taken out
PATIENCE = 12  # iterations after which what is missed must be a tenth smaller


class OpenChain:
    """Mechanisms without loops, all of whose goals are on one level."""

    def __init__(self, goals: Goals, ground: Ground) -> None:
        self.goals, self.plan, self.many = goals, goals.plan, goals.x.shape[1] >= FEW
        (level,) = (one for one in goals.levels if isinstance(one, GoalRows))
        self.level: GoalRows = level
        self.extras = np.array(level.question.extras).reshape(-1, goals.x.shape[1])
        self.ground = Ground(
            ground.plan, ground.partition, ground.numbers, ground.varied, ground.matrices, ground.length,
            ground.functions, extras=len(self.extras),
        )  # fmt: skip
        self.rest = np.delete(goals.x, np.r_[ground.parts["q"], ground.parts["v"]], axis=0)
        # coordinates, states, time and varied numbers, numbers of goals, limits, damping
        self.count = goals.plan.nq + len(self.rest) + len(self.extras) + 2 * len(goals.limits.q) + 1

    @staticmethod
    def serves(goals: Goals) -> bool:
        """Whether these mechanisms and goals are such."""
        kinds = [type(one) for one in goals.levels if not isinstance(one, LimitRows)]
        return not goals.loops and kinds == [GoalRows]

    def _step(self, values: Vec) -> Vec:
        """|e|^2, the square of its slope within limits, the largest change, and coordinates after a step; lane code."""
        plan, unit = self.plan, [float(x) for x in self.goals.unit]
        q, rest = values[: plan.nq], values[plan.nq : plan.nq + len(self.rest)]
        others = iter(values[plan.nq + len(self.rest) :])
        extras = [next(others) for _ in self.extras]
        at = LaneState(self.ground, [*q, *zeros(plan.nv), *rest, *extras])
        limits = [(int(v), int(k), next(others), next(others))
                  for v, k in zip(self.goals.limits.v, self.goals.limits.q, strict=True)]  # fmt: skip
        missed, J = self.level.lines(at)
        A = [[entry * unit[k] for k, entry in enumerate(line)] for line in J]
        slope = [total(line[k] * e for line, e in zip(A, missed, strict=True)) for k in range(plan.nv)]
        for v, k, low, high in limits:
            leaving = select(q[k] <= low + NEAR, select(slope[v] > 0.0, 0.0, 1.0), 1.0)
            leaving = select(q[k] >= high - NEAR, select(slope[v] < 0.0, 0.0, leaving), leaving)
            slope[v] = slope[v] * leaving
            for line in A:
                line[v] = line[v] * leaving
        size = dot(missed, missed)
        change = _damped_step(A, missed, larger(next(others) * size, _floor(A)))
        most = largest([abs(x) * (1.0 / float(cap)) for x, cap in zip(change, self.goals.cap, strict=True)])
        shorter = ratio(1.0, larger(most, 1.0))
        moved = retract(plan, q, {k: x * shorter * unit[k] for k, x in enumerate(change)})
        for _, k, low, high in limits:
            moved[k] = select(moved[k] < low, low, select(moved[k] > high, high, moved[k]))
        return [size, dot(slope, slope), largest([abs(x) for x in change]), *moved]

    @cached_property
    def _numpy(self) -> InNumpy:
        return InNumpy(graph_of(self._step, self.count))

    @cached_property
    def _compiled(self) -> HostFunction:
        slots = tuple(range(self.count + 3 + self.plan.nq))
        code = Code(lambda: graph_of(self._step, self.count))
        return HostFunction(Piece("inverse kinematics", code, slots[: self.count], slots[self.count :]))

    def _inputs(self, q: np.ndarray, members: np.ndarray, damping: np.ndarray) -> np.ndarray:
        """(inputs, B) of `_step`."""
        limits = self.goals.limits
        ends = np.stack([limits.low[:, members], limits.high[:, members]], axis=1).reshape(-1, len(members))
        return np.concatenate([q, self.rest[:, members], self.extras[:, members], ends, damping[None]])

    def _evaluated(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What is missed, its slope, the largest change, each (B,), and coordinates (nq, B) after the step."""
        if self.many:
            out = self._compiled(values).T
        else:
            out = np.empty((3 + self.plan.nq, values.shape[1]))
            self._numpy.into(list(values), list(out))
        return np.sqrt(out[0]), np.sqrt(out[1]), out[2], out[3:]

    def descended(self, q: np.ndarray, members: np.ndarray) -> Positioned:
        """From coordinates (nq, B) of some members to where nothing is gained any more, or only slowly."""
        B, nq, limits = len(members), self.plan.nq, self.goals.limits
        out = Positioned.at(q, len(self.goals.levels))
        out.q[limits.q] = np.clip(q[limits.q], limits.low[:, members], limits.high[:, members])
        out.value[:-1], out.value[-1] = 0.0, np.inf
        lanes = _Lanes(self._inputs(out.q, members, np.full(B, FIRST)), out.q.copy())
        for k in range(ITERATIONS):
            size, slope, most, moved = self._evaluated(lanes.values)
            good, damping = size < lanes.size, lanes.values[-1]
            easily = size < EASY * lanes.size
            lanes.best[:, good], lanes.size = lanes.values[:nq, good], np.where(good, size, lanes.size)
            damping[:] = following(damping, good, easily)
            back = np.flatnonzero(~good)
            if len(back):  # the step from where they were, shorter
                values = lanes.values[:, back]
                values[:nq] = lanes.best[:, back]
                _, slope[back], most[back], moved[:, back] = self._evaluated(values)
            lanes.values[:nq] = moved
            fresh = lanes.size < 0.9 * lanes.mark
            lanes.mark, lanes.since = np.where(fresh, lanes.size, lanes.mark), np.where(fresh, 0, lanes.since + 1)
            going = (lanes.size > MET) & (slope > STATIONARY * lanes.size) & (most > SHORT)
            going &= (damping < MOST) & (lanes.since < PATIENCE) & np.isfinite(most)
            lanes.ended |= ~going
            out.iterations[lanes.places[~lanes.ended]] += 1
            if lanes.ended.mean() > SHARE or k == ITERATIONS - 1:
                lanes.write(out)
                lanes = lanes.some(~lanes.ended)
                if not len(lanes.places):
                    break
        return out


class _Lanes:
    """Members on their way, of which some have ended.

    Attributes:
        values: (inputs, B) of the next step. best: (nq, B) where least is missed so far; size: (B,) how much.
        mark, since: (B,) what was missed when it last was a tenth less, and iterations since then. ended: (B,).
        places: (B,) their numbers in the outcome.
    """

    def __init__(self, values: np.ndarray, best: np.ndarray) -> None:
        B = values.shape[1]
        self.values, self.best = values, best
        self.size, self.mark = np.full(B, np.inf), np.full(B, np.inf)
        self.since, self.ended, self.places = np.zeros(B, int), np.zeros(B, bool), np.arange(B)

    def write(self, out: Positioned) -> None:
        """Notes where they are."""
        out.q[:, self.places], out.value[-1, self.places] = self.best, self.size

    def some(self, which: np.ndarray) -> _Lanes:
        """Some of them."""
        out = _Lanes(self.values[:, which], self.best[:, which])
        for name in ("size", "mark", "since", "ended", "places"):
            setattr(out, name, getattr(self, name)[which])
        return out


def _floor(A: list[Vec]) -> Scalar:
    """Damping at least, as of `projection.damped_step`."""
    return FLOOR / max(len(A), 1) * total(dot(line, line) for line in A) + 1e-300


def _damped_step(A: list[Vec], missed: Vec, damping: Scalar) -> Vec:
    """-A^T (A A^T + mu^2 I)^-1 e, by L D L^T (Golub, Van Loan, Matrix Computations, section 4.1)."""
    rows = len(A)
    G = [[dot(A[i], A[j]) for j in range(i + 1)] for i in range(rows)]
    for i in range(rows):
        G[i][i] = G[i][i] + damping
    L, D, y = [[0.0] * rows for _ in range(rows)], list[Scalar](), list(missed)
    for j in range(rows):
        D.append(G[j][j] - total([L[j][k] * L[j][k] * D[k] for k in range(j)]))
        for i in range(j + 1, rows):
            L[i][j] = ratio(G[i][j] - total([L[i][k] * L[j][k] * D[k] for k in range(j)]), D[j])
    for i in range(rows):
        y[i] = y[i] - total([L[i][k] * y[k] for k in range(i)])
    y = [ratio(value, pivot) for value, pivot in zip(y, D, strict=True)]
    for i in reversed(range(rows)):
        y[i] = y[i] - total([L[k][i] * y[k] for k in range(i + 1, rows)])
    return [-total([line[k] * value for line, value in zip(A, y, strict=True)]) for k in range(len(A[0]))]

"""How critical poses, and the loads under which mechanisms snap or buckle, go with numbers of a design. Host code.

At a critical pose the equilibrium F(x, mu, p) = 0 of coordinates, multipliers of loops and states of forces has a unit
vector w with w F_x = 0; where two curves meet w F_mu = 0, too. A limit point is a regular solution of both for x, w and
mu, and moves with every number. A branch point has one equation too many: a number p with w F_p = 0 moves it, any other
takes it away, as an eccentric load does to the buckling of a column (Golubitsky, Schaeffer, Singularities and Groups in
Bifurcation Theory I, chapter III; Seydel, Practical Bifurcation and Stability Analysis, section 5.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import qr

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec, is_zero
from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.tree import tree_terms
from shiftjax.run.closing.equations import Equations, least_change
from shiftjax.run.start.prepared import Prepared
from shiftjax.statics.at_rest import AtRest
from shiftjax.statics.loads.branching import Branching
from shiftjax.statics.loads.critical_poses import Critical
from shiftjax.statics.loads.design_rates import DesignRates
from shiftjax.statics.loads.load_curves import Loading
from shiftjax.statics.slopes import opened

SINGULAR = 1e-6  # of the largest singular value: less is none, since critical poses are good to 1e-11
SOLVER = 1e-9  # of the same, in the whole system, whose regular values are those of second derivatives
OPEN = 1e-6  # of the change of equations by a number: what no change of a pose takes back
BLIND = 1e-6  # part of a unit change along which the system has no stiffness


@dataclass
class CriticalSystem:
    """Equations of critical poses of one kind with the same independent rows of loops.

    Args:
        prepared: the model. loading: places that go with the load factor. limit: whether poses are limit points. rows:
            of every substructure those that are independent. size: of forces [N m], by which they are divided.
    """

    prepared: Prepared
    loading: Sequence[int]
    limit: bool
    rows: tuple[tuple[int, ...], ...]
    size: float

    def __post_init__(self) -> None:
        prepared, plan = self.prepared, self.prepared.plan
        self.bearing = sum(map(len, self.rows))
        others = self.bearing + plan.ns + (not self.limit)
        self.rest = Equations.of(
            prepared.setup, prepared.own_numbers, prepared.places, range(plan.nv), self._function, others=others,
            given=len(self.loading) + self.limit,
        )  # fmt: skip
        self.whole = self.rest.singular([])

    def _function(self, lane: Lane, q: Vec, others: Vec) -> tuple[Vec, Vec]:
        """Forces along all speeds, rates of states, and loops: a shift of the load factor away from the pose."""
        plan, units = self.prepared.plan, lane.units
        multipliers, states = others[: self.bearing], others[self.bearing : self.bearing + plan.ns]
        rest = others[self.bearing + plan.ns :]  # shift and slopes of numbers, or slopes and shift
        shift, slopes = (rest[-1], rest[:-1]) if self.limit else (rest[0], rest[1:])
        numbers = list(lane.params.numbers)
        for place, slope in zip(self.loading, slopes, strict=True):
            numbers[place] = numbers[place] + shift * slope
        lane = replace(lane, params=Parameters(numbers, lane.params.matrices))
        motion = lane.motion(q, [0.0] * plan.nv)
        tree = tree_terms(motion, lane.gravity(), states)
        force: Vec = [x * (unit / self.size) for x, unit in zip(tree.force, units, strict=True)]
        gaps, borne = list[Scalar](), iter(multipliers)
        for s, chosen in enumerate(self.rows):
            rows = lane.rows(motion, s)
            sizes = scales(rows.unit, lane.length)
            for k in chosen:
                gaps.append(rows.phi[k] / sizes[k])
                push = next(borne) * (1.0 / sizes[k])
                for speed, entry in rows.J[k].items():
                    if not is_zero(entry):
                        force[speed] = force[speed] + push * entry * units[speed]
        return [*force, *tree.rates, *gaps], []

    def slopes(
        self, poses: Sequence[Critical], members: np.ndarray, loading: Loading,
        ways: Sequence[Mapping[int, np.ndarray]], slope_ways: Sequence[np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """How K poses go with some numbers, W of them.

        Args:
            members: (K,) whose. loading: of them. ways: of each number, place in the plan -> (K,) rates. slope_ways:
                (P, K) how the slopes of the numbers that go with the load change.

        Returns:
            (W, K) of the load factor; (W, nv, K) speeds of coordinates; (W, ns, K) of states; NaN where a number takes
            the pose away, or nothing says where it goes.
        """
        x, count = self._solution(poses, members, loading)
        plan, K = self.prepared.plan, len(poses)
        A = self.whole.slopes(x)[0]
        if self.limit:
            shift = np.zeros((len(self.whole.layout.parameters), K))
            shift[count - 1] = 1.0
            A = np.concatenate([A, self.whole.tangent(x, shift)[0][:, :, None]], axis=2)
        inverse = np.linalg.pinv(A, rcond=SOLVER)
        left = np.abs(np.eye(A.shape[2]) - inverse @ A)
        at = A.shape[2] - 1 if self.limit else plan.nv + self.bearing + plan.ns
        factors = np.full((len(ways), K), np.nan)
        speeds = np.full((len(ways), plan.nv, K), np.nan)
        states = np.full((len(ways), plan.ns, K), np.nan)
        units = np.asarray(self.rest.layout.units)
        for row, (way, slope_way) in enumerate(zip(ways, slope_ways, strict=True)):
            change = np.zeros((len(self.whole.layout.parameters), K))
            for k, place in enumerate(self.prepared.places):
                change[k] = way.get(place, 0.0)
            first = len(self.prepared.places)
            change[first : first + len(self.loading)] = slope_way
            F = self.whole.tangent(x, change)[0]
            step = -(inverse @ F[:, :, None])[:, :, 0]
            missing = np.abs(F + (A @ step[:, :, None])[:, :, 0]).max(1)
            there = missing <= OPEN * np.maximum(np.abs(F).max(1), 1e-300)
            factors[row] = np.where(there & (left[:, at].max(1) < BLIND), step[:, at], np.nan)
            moved = np.where(there[:, None] & (left[:, : plan.nv].max(2) < BLIND), step[:, : plan.nv], np.nan)
            speeds[row] = moved.T * units[:, None]
            inner = slice(plan.nv + self.bearing, plan.nv + self.bearing + plan.ns)
            states[row] = np.where(there[:, None] & (left[:, inner].max(2) < BLIND), step[:, inner], np.nan).T
        return factors, speeds, states

    def _solution(self, poses: Sequence[Critical], members: np.ndarray, loading: Loading) -> tuple[np.ndarray, int]:
        """Inputs of the whole system (count, K), and how many parameters it has."""
        prepared, plan, K = self.prepared, self.prepared.plan, len(poses)
        q, states = (np.array([getattr(pose, name) for pose in poses]).T for name in ("q", "states"))
        p = prepared.values[:, members].copy()
        factor = np.array([pose.factor for pose in poses])
        for place, values in zip(loading.places, loading.values(factor), strict=True):
            p[prepared.places.index(place)] = values
        given = np.array([*loading.slopes.values(), *([np.zeros(K)] if self.limit else [])])
        p = np.concatenate([p, given])
        others = np.zeros((self.rest.layout.others, K))
        others[self.bearing : self.bearing + plan.ns] = states
        x = self.rest.inputs(q, p, others)
        J = self.rest.slopes(x)[0]
        borne = slice(plan.nv, plan.nv + self.bearing)
        others[: self.bearing] = -least_change(J[:, :, borne], self.rest.values(x)[0]).T
        x = self.rest.inputs(q, p, others)
        J = self.rest.slopes(x)[0]
        U, sizes, _ = np.linalg.svd(J)
        w = np.zeros((self.rest.rows, K))
        for k, pose in enumerate(poses):
            small = np.flatnonzero(np.append(sizes[k], np.zeros(U.shape[1] - sizes.shape[1])) <= SINGULAR * sizes[k, 0])
            null = U[k][:, small if len(small) else [-1]]
            toward = np.zeros(self.rest.rows)
            toward[: plan.nv] = pose.way[:-1]
            one = null @ (null.T @ toward) if len(small) > 1 else null[:, 0]
            w[:, k] = one / max(np.linalg.norm(one), 1e-300)
        return self.whole.inputs(q, p, np.concatenate([others, w])), len(self.rest.layout.parameters)


def critical_slopes(every: Branching, rates: DesignRates, paths: Sequence[str]) -> list[dict[str, dict[str, float]]]:
    """Of each critical pose, number of the design -> by it the slopes of the load factor, of loads and coordinates.

    Args:
        paths: full ones, of the numbers.
    """
    out: list[dict[str, dict[str, float]]] = [{} for _ in every.critical]
    if not paths:
        return out
    prepared, groups = every.search.prepared, dict[tuple[Any, ...], list[int]]()
    chosen: dict[tuple[Any, ...], tuple[tuple[int, ...], ...]] = {}
    for number, (curve, _, _, pose) in enumerate(every.critical):
        member = every.member[curve]
        rest = _rest_of(every, [member], np.array([pose.factor]))
        rows = _independent_rows(rest, pose.q[:, None])
        key = (pose.kind, rows, rest.ranks)
        groups.setdefault(key, []).append(number)
        chosen[key] = rows
    for key, which in groups.items():
        poses = [every.critical[k][3] for k in which]
        members = np.array([every.member[every.critical[k][0]] for k in which])
        factor, q = np.array([pose.factor for pose in poses]), np.array([pose.q for pose in poses]).T
        rest = _rest_of(every, members, factor)
        loading = every.loading.of(members)
        states = np.array([pose.states for pose in poses]).T
        size = float(rest.linear(q, states).size.max())
        system = CriticalSystem(prepared, loading.places, key[0] == "limit", chosen[key], size)
        ways = [rates.by(path, members, factor) for path in paths]
        bends = [rates.of_loading(path, members, loading.places) for path in paths]
        factors, speeds, _ = system.slopes(poses, members, loading, ways, bends)
        for row, path in enumerate(paths):
            lost = opened(rest, q, ways[row]) | (key[0] == "multiple")
            moved = rest.coordinate_rates(q, np.where(lost, np.nan, speeds[row]))
            shift = np.where(lost, np.nan, factors[row])
            loads = {place: ways[row].get(place, 0.0) + shift * slope for place, slope in loading.slopes.items()}
            for k, number in enumerate(which):
                named = {rates.name_of(place): float(x[k]) for place, x in loads.items()}
                places = {name: x if np.ndim(x) else float(x)
                          for name, x in prepared.plan.by_coordinate(moved[:, k]).items()}  # fmt: skip
                out[number][path] = {"factor": float(shift[k]), **named, **places}
    return out


def _rest_of(every: Branching, members: Sequence[int] | np.ndarray, factor: np.ndarray) -> AtRest:
    search, some = every.search, np.asarray(members)
    ranks = tuple(map(int, search.ranks[some[0]]))
    rest = AtRest(search.prepared.plan, search.prepared.lane_of(some, 1.0), ranks)
    return every.loading.of(some).at(rest, factor)


def _independent_rows(rest: AtRest, q: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Of every substructure, at one pose (nq, 1)."""
    rows = []
    for s, rank in enumerate(rest.ranks):
        J = host.closure(rest.lane, q, s)[1][0]
        order: Any = qr(J.T, mode="r", pivoting=True)[-1]
        rows.append(tuple(sorted(int(k) for k in order[:rank])))
    return tuple(rows)

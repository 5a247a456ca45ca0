"""Starts on a singular pose: the branch that the speeds lead along, and poses beside the start on both sides of it.

Problem: where loops lose rank several branches meet; the pose alone says neither how the mechanism goes on nor how it
accelerates. The speeds do: of the motions that the loops allow there to first order only the tangents of branches are
motions of the mechanism. The tangent is what the null spaces of closed poses on both sides agree on, and along it all
that the equations say is smooth through the pose, so that it can be taken from poses beside it.
Of loops that are led in time `singular_drives` says the same. Not decided here: a start at rest; speeds between two
tangents, or fewer than say which (the nearest branch is taken, and said to be unsure); poses of which whole
neighbourhoods are singular; two substructures on such poses at once. Host code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.dynamics.lane import Lane
from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.holding import pacing
from shiftjax.run.closing.host_evaluation import Loops
from shiftjax.run.closing.poses import close
from shiftjax.run.start.driven.singular_drives import ASIDE, BESIDE, RESTING, TURNS, UNSURE, BranchStart, LedWay
from shiftjax.run.start.geometries import Designs, designs_of
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import MIDDLE, NODES, Start
from shiftjax.topology.partition import blocks_of, complete_pivoting, rank_tolerance
from shiftjax.topology.plan import Plan

SURE = 1e-3  # pivots of some rows and columns, in parts of the largest one, that leave no doubt about their rank


def with_ways(prepared: Prepared, start: Start, moving: Callable[[], Start] | None = None) -> Start:
    """The starts, of those on a singular pose with the speeds of a branch, and with poses beside them.

    Args:
        moving: the same starts with their speeds, of which `start` has none; asked where a pose may be singular.
    """
    lane, out = prepared.lane_of(np.arange(prepared.members), 1.0), start
    for s in range(len(prepared.plan.substructures)):
        if (ranks := _ranks(prepared, lane, start, s)) is None:
            continue
        if moving is not None:
            start = out = moving()
            moving = None
        for member in _singular(prepared, lane, start, s, ranks):
            out = _with_way(prepared, out, int(member), s)
    return out


def _ranks(prepared: Prepared, lane: host.StartLane, start: Start, s: int) -> np.ndarray | None:
    """(B,) the rank of a substructure where members start; None where it has all that it can have in all of them."""
    block, plan = prepared.plan.substructures[s], prepared.plan
    good = _good(start)
    if not good.any():
        return None
    tolerance = rank_tolerance(block, prepared.setup.precision)
    designs = designs_of(plan, lane.params.numbers, prepared.members, lane.t)
    if not np.array_equal(designs.spread_last(start.q[:, designs.first]), start.q, equal_nan=True):
        designs = Designs.apart(prepared.members)
    enough = 1 if _led(plan, s) else 2
    limit = len(block.columns) - enough
    if (
        block.rows > limit  # else no rank is above it
        and _surely(lane.of(designs.first), start.q[:, designs.first], s, designs.of_member[good], tolerance) > limit
    ):
        return None
    _, J = host.closure(lane.of(designs.first), start.q[:, designs.first], s)
    ranks = np.where(good, designs.spread(complete_pivoting(J, tolerance).rank), len(block.columns))
    return ranks if int(ranks.min()) <= limit else None


def _surely(lane: Lane, q: np.ndarray, s: int, some: np.ndarray, tolerance: float) -> int:
    """A rank that a substructure has in all of some members, without complete pivoting of all: that of the first one,
    where its partition has good pivots in the others, too; else 0.

    Args:
        q: (nq, B). some: (K,) of the members.
    """
    structure, first = lane.plan.substructures[s], some[:1]
    block = blocks_of(complete_pivoting(host.closure(lane.of(first), q[:, first], s)[1], tolerance), structure)[0]
    ratio = host.block_monitors(lane, q, s, block)[1]
    return len(block.dependent) if (ratio[some] > SURE).all() else 0


def _good(start: Start) -> np.ndarray:
    """(B,) members that begin on a closed pose."""
    return start.closed & np.isfinite(start.q).all(0)


def _led(plan: Plan, s: int) -> bool:
    """Whether something moves a substructure in time."""
    return any(plan.constraints[k].time_dependent for k in plan.substructures[s].groups)


def _singular(prepared: Prepared, lane: host.StartLane, start: Start, s: int, ranks: np.ndarray) -> np.ndarray:
    """Members of which a substructure has less rank, of `_ranks`, where they start than on poses beside it."""
    plan, block = prepared.plan, prepared.plan.substructures[s]
    if ranks.min() == min(block.rows, len(block.columns)):  # more has no pose
        return np.zeros(0, int)
    tolerance = rank_tolerance(block, prepared.setup.precision)
    lowest = np.flatnonzero(ranks == ranks.min())[:1]
    loops, q = Loops(plan, lane.of(lowest), s), start.q[:, lowest]
    if _led(plan, s):
        beside = LedWay(loops, q, tolerance).rank_beside(start.v[loops.columns, lowest[0]] / loops.unit)
    else:
        beside = _rank_beside(loops, q, tolerance)
    return np.flatnonzero(ranks < max(beside, int(ranks[_good(start)].max())))


def _rank_beside(loops: Loops, q: np.ndarray, tolerance: float) -> int:
    """The most rank of one member's poses beside a closed one."""
    N, rank = _null_space(loops.at(q)[1][0], tolerance), 0
    for way in (*N.T, *-N.T, N.sum(1)):
        there, gap = close(loops.plan, loops.lane, loops.moved(q, BESIDE * way[None]), loops.index, ())
        if gap[0] <= CLOSED:
            rank = max(rank, int(complete_pivoting(loops.at(there)[1], tolerance).rank[0]))
    return rank


def _null_space(J: np.ndarray, tolerance: float) -> np.ndarray:
    """(n, dof) orthonormal."""
    _, size, rows = np.linalg.svd(J)
    rank = int((size > tolerance * max(size.max(initial=0.0), 1e-300)).sum())
    return rows[rank:].T


def _with_way(prepared: Prepared, start: Start, member: int, s: int) -> Start:
    """The start of one member, whose substructure s is on a singular pose there."""
    plan = prepared.plan
    ways, at_pose = start.ways, start.at_pose
    if at_pose is None or ways is None:
        at_pose = np.full(prepared.members, -1)
        ways = np.full((len(NODES), plan.nq + plan.nv + 1, prepared.members), np.nan)
    at_pose, ways, v, unsure = at_pose.copy(), ways.copy(), start.v.copy(), start.unsure.copy()
    if at_pose[member] >= 0:
        ways[:, :, member] = np.nan
        return replace(start, ways=ways)
    at_pose[member] = s
    loops = Loops(plan, prepared.lane_of(np.array([member]), 1.0), s)
    tolerance = rank_tolerance(plan.substructures[s], prepared.setup.precision)
    way = (LedWay if _led(plan, s) else _Way)(loops, start.q[:, [member]], tolerance)
    stated = pacing(plan, loops.at(start.q[:, [member]])[1][0], s, prepared.statements.speeds)[1]
    branch = way.branch(v[loops.columns, member] / loops.unit, tuple(stated) if start.held_speeds else ())
    if branch is not None:
        unsure[member] |= branch.unsure
        v[loops.columns, member] = branch.speeds * loops.unit
        for k, (q, moved) in enumerate(branch.poses):
            beside = v[:, member].copy()
            beside[loops.columns] = moved * loops.unit
            ways[k, :, member] = np.concatenate([q[:, 0], beside, [NODES[k] * branch.late]])
    return replace(start, v=v, unsure=unsure, ways=ways, at_pose=at_pose)


def _pace(tangent: np.ndarray, speeds: np.ndarray, stated: tuple[int, ...]) -> float:
    """How fast a branch is run through: as the first stated speed says that it has, else as near as can be."""
    for column in stated:
        if abs(tangent[column]) > UNSURE:
            return float(speeds[column] / tangent[column])
    return float(tangent @ speeds / (tangent @ tangent))


class _Way:
    """Closed poses of one substructure of one member along a branch through a singular pose.

    Args:
        q: (nq, 1) of the pose.

    Attributes:
        freedoms: motions that the loops allow there to first order, more than the mechanism has.
    """

    def __init__(self, loops: Loops, q: np.ndarray, tolerance: float) -> None:
        self.loops, self.q, self.tolerance = loops, q, tolerance
        self.freedoms = _null_space(loops.at(q)[1][0], tolerance).shape[1]

    def _closed(self, q: np.ndarray, still: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray] | None:
        """A closed pose near one, and its null space."""
        there, gap = close(self.loops.plan, self.loops.lane, q, self.loops.index, still)
        return (there, _null_space(self.loops.at(there)[1][0], self.tolerance)) if gap[0] <= CLOSED else None

    def branch(self, speeds: np.ndarray, stated: tuple[int, ...]) -> BranchStart | None:
        """The branch of some speeds; see `LedWay`."""
        size = float(np.linalg.norm(speeds))
        if size <= RESTING or (tangent := self.tangent(speeds)) is None:
            return None
        between = bool(np.linalg.norm(size * tangent - speeds) > UNSURE * size)
        poses = self.poses(tangent if between else speeds / size)
        if not poses:
            return None
        tangent = np.asarray(MIDDLE) @ np.array([moved for _, moved in poses])
        pace = _pace(tangent, speeds, stated if between else ())
        unsure = between or len(stated) < self.freedoms
        return BranchStart(pace * tangent, [(q, pace * moved) for q, moved in poses], 0.0, unsure)

    def tangent(self, speeds: np.ndarray) -> np.ndarray | None:
        """(n,) unit tangent of the branch nearest to some speeds, None where none was found."""
        way = speeds / np.linalg.norm(speeds)
        for _ in range(TURNS):
            sides = [self._closed(self.loops.moved(self.q, side * BESIDE * way[None])) for side in (1.0, -1.0)]
            if any(side is None or side[1].shape[1] >= self.freedoms for side in sides):
                return None
            mean = np.mean([Z @ (Z.T @ way) for _, Z in (side for side in sides if side is not None)], axis=0)
            if np.linalg.norm(mean) < 0.1:
                return None
            way = mean / np.linalg.norm(mean)
        return way

    def poses(self, tangent: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """(nq, 1) coordinates and (n,) tangents of the poses `NODES` along a tangent, none where one cannot be closed;
        the independent coordinates are run through as along a line, with its part of the tangent.
        """
        near = self._closed(self.loops.moved(self.q, BESIDE * tangent[None]))
        if near is None:
            return []
        pivots = complete_pivoting(self.loops.at(near[0])[1], self.tolerance)
        dependent = pivots.columns[0, : int(pivots.rank[0])]
        free = np.setdiff1d(np.arange(len(tangent)), dependent)
        out: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for side in (1, -1):
            q, way = self.q, tangent
            for k in range(1, max(NODES) + 1):
                pose = self._closed(self.loops.moved(q, side * ASIDE * way[None]), tuple(free.tolist()))
                if pose is None or pose[1].shape[1] != len(free):
                    return []
                q, Z = pose
                way = Z @ np.linalg.solve(Z[free], tangent[free])
                out[side * k] = q, way
        return [out[k] for k in NODES]

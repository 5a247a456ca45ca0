"""The file's own pose of a substructure: closed, as much of what is stated kept as loops allow. Host code.

What can be held there is judged at the closed pose. A pose that closes only by letting go what the file states is given
up for the best of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftjax.memory_cache import forget_oldest
from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.holding import columns_of, holdable
from shiftjax.run.closing.host_evaluation import StartLane, closure, stated_coordinates
from shiftjax.run.closing.poses import close, nearest
from shiftjax.run.closing.walks import Way, walk
from shiftjax.run.start.branches import MOVED, NEAR, blocks_of_signs, distances, spread_poses, units_of
from shiftjax.run.start.tied import Tied
from shiftjax.topology.plan import Plan

UNSTATED = 1e-2  # weight of a joint that says nothing, when joints are moved least
KEPT = 16  # files whose poses are remembered

_poses: dict[tuple[Any, ...], tuple[np.ndarray, tuple[Tied, ...], tuple[Any, ...]]] = {}  # and what ids belong to


class _Pose(NamedTuple):
    """A pose (nq, 1), the joints that are held there, None where it is open, and how many freedoms they leave."""

    q: np.ndarray
    holding: list[int] | None
    free: int


def closed_file(plan: Plan, lane: StartLane, order: Sequence[int]) -> tuple[np.ndarray, tuple[Tied, ...]]:
    """The file's pose (nq, 1) with every substructure closed, and what is held in each; not to be written into.

    Sought once for the same numbers: a run asks for it twice, and so does every later run of the model. Of a mechanism
    with 140 numbers whose joints state no closed pose a search takes a second of processor time.

    Args:
        lane: of the file's own numbers. order: as of `closed_file_pose`.
    """
    owners = (plan, lane.functions, lane.params.matrices)
    key = (*map(id, owners), np.array(lane.params.numbers).tobytes(), lane.length, lane.t, tuple(order))
    known = _poses.get(key)
    if known is None:
        forget_oldest(_poses, KEPT - 1)
        q = stated_coordinates(lane, 1)
        tied = tuple(closed_file_pose(plan, lane, q, s, order) for s in range(len(plan.substructures)))
        q.setflags(write=False)
        known = _poses[key] = q, tied, owners
    return known[:2]


def closed_file_pose(plan: Plan, lane: StartLane, q: np.ndarray, index: int, order: Sequence[int]) -> Tied:
    """Closes the file's pose, in place in q (nq, 1), and says what is held there.

    Args:
        order: coordinates whose displacement is stated, the most binding first.
    """
    return _FilePose(plan, lane, q.copy(), index, order).into(q)


class _FilePose:
    """The search for the pose of one substructure.

    Attributes:
        target: (nq, 1) what the file says; stated: those of `order` in this substructure; weight: (n,) of moves.
    """

    def __init__(self, plan: Plan, lane: StartLane, target: np.ndarray, index: int, order: Sequence[int]) -> None:
        self.plan, self.lane, self.target, self.index, self.order = plan, lane, target, index, order
        self.weight = np.full(len(plan.substructures[index].columns), UNSTATED)
        self.weight[columns_of(plan, index, order)] = 1.0
        self.stated = [k for k in order if columns_of(plan, index, [k])]

    def into(self, q: np.ndarray) -> Tied:
        """Writes the pose into q (nq, 1)."""
        plan, index, weight = self.plan, self.index, self.weight
        pose = self._closed(q)
        if pose.holding is None or self._missed(pose).max(initial=0.0) > (MOVED if pose.free else NEAR):
            pose = self._searched(pose)
        missed = self._missed(pose)
        binding = [self.stated.index(k) for k in pose.holding or () if k in self.stated]
        led = any(plan.constraints[k].prescribes for k in plan.substructures[index].groups)  # others follow a driver
        far = missed[binding].max(initial=0.0) > MOVED or missed.max(initial=0.0) > NEAR
        holding, free = ([], 0) if pose.holding is None else (pose.holding, pose.free)
        columns = columns_of(plan, index, holding)
        q[:] = pose.q
        if free and any(k < 1.0 for k in weight):
            q[:] = nearest(plan, self.lane, pose.q, index, columns, self.target, weight)
        _, J = closure(self.lane, q, index)
        judged = [] if free or not holding else [k for k in range(len(weight)) if k not in columns]
        vague = not led and (pose.holding is None or far)
        return Tied(index, holding, free, judged, weight, J, blocks_of_signs(J[0], judged), self.stated, vague)

    def _missed(self, pose: _Pose) -> np.ndarray:
        """(J, 1) by how much the stated joints are not where they are stated, dimensionless."""
        return distances(self.plan, pose.q, self.target, self.stated) / units_of(self.plan, self.lane, self.stated)

    def _closed(self, q: np.ndarray) -> _Pose:
        """From one open pose to a closed one near it, then to the stated displacements."""
        plan, lane, index = self.plan, self.lane, self.index
        phi, J = closure(lane, q, index)
        near = q
        if np.abs(phi).max() > CLOSED:
            near, size = close(plan, lane, q, index, (), self.weight)
            if not size[0] <= CLOSED:
                near, size = close(plan, lane, q, index, ())
            if not size[0] <= CLOSED:
                return _Pose(near, None, 0)
            _, J = closure(lane, near, index)
        holding, free = holdable(plan, J[0], index, self.order)
        one = np.arange(1)
        way = Way(index, lambda members, fraction: lane, one, holding, near.copy(), self.target, np.ones(1))
        return _Pose(walk(plan, near, way).q, holding, free)

    def _merit(self, pose: _Pose) -> tuple[float, ...]:
        """The smaller the better: what of the stated is missed, in its order; then how far joints have moved."""
        if pose.holding is None:
            return (np.inf,)
        missed, inside = self._missed(pose)[:, 0], self.plan.coordinates_in(self.index)
        every = distances(self.plan, pose.q, self.target, inside)
        heavy = [self.weight[columns_of(self.plan, self.index, [k])].max(initial=0.0) for k in inside]
        return (0.0, *np.where(missed <= MOVED, 0.0, missed), float(np.asarray(heavy) @ every[:, 0]))

    def _searched(self, best: _Pose) -> _Pose:
        """The best of many poses: the one that keeps most of what is stated, then the nearest one."""
        plan, lane, index, target = self.plan, self.lane, self.index, self.target
        free = [k for k in plan.coordinates_in(index) if k not in self.order]
        for guess in spread_poses(plan, target[:, 0], free, lane.length):
            pose = self._closed(guess[:, None])
            if self._merit(pose) < self._merit(best):
                best = pose
        holding = best.holding or []
        for count in range(len(holding) - 1, -1, -1):  # from the file's own pose, the least binding let go
            q, size = close(plan, lane, target, index, columns_of(plan, index, holding[:count]), self.weight)
            if size[0] <= CLOSED and self._merit(best._replace(q=q)) < self._merit(best):
                return best._replace(q=q)
        return best

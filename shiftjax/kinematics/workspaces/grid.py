"""Which points of a grid a mechanism reaches, and how far each is from the end of what it does. Host code.

Problem: closures F(q) = 0 leave at least as many freedoms as coordinates P are asked for; of which points of a grid is
there a q within limits? From closed poses the grid is flooded: a point is reached from one beside it by Newton's method
on F and P, many at once. Where that fails, the straight way between both is followed with strides that are halved, to
the point or to the end of the way: a fold, where w (F, P)_q = 0 as on boundary curves, a limit of a joint, or the end
of the branch that is asked for, where the margin s of a block of the Jacobian vanishes, with s_q = u J_q v of its
singular vectors. Ends are points of the boundary, with their normals, and a distance to it is that to the nearest plane
through one.
Properties: what is reached does not depend on the order of the points but where sheets of poses cross.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import KDTree

from shiftjax.kinematics.workspaces.reaching import CLOSED, Reaching
from shiftjax.run.closing.equations import least_change

LEAP = 0.6  # rad or parts of the length that a coordinate may move from point to point
CHUNK = 8192  # points at a time
NEWTON = 8  # iterations
SMALL = 2.0**-12  # of the way between two points: shorter strides are none
FLAT = 0.05  # of the largest singular value: the smallest one where poses meet
APART = 0.1  # of the smallest singular value but one: a smaller one alone is that of a fold
FROM_AFAR = 8  # poses that are led to a point which is reached from none beside it
EDGE = 1e-2  # rad or parts of the length: of a joint that is at its limit


@dataclass
class Flood:
    """A grid that is being flooded.

    Args:
        reaching: what is asked. axes: values of each coordinate.

    Attributes:
        reached: (n, ...) of the points. edges, normals: (K, D) points of the boundary, and out of what is reached.
    """

    reaching: Reaching
    axes: tuple[np.ndarray, ...]
    edges: np.ndarray = field(init=False)
    normals: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.shape = tuple(len(axis) for axis in self.axes)
        self.points = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, len(self.axes))
        self._reached = np.zeros(len(self.points), bool)
        self._q = np.full((self.reaching.plan.nq, len(self.points)), np.nan)
        self.edges, self.normals = (np.zeros((0, len(self.axes))) for _ in range(2))
        self._towards = np.zeros(0, int)

    @property
    def reached(self) -> np.ndarray:
        return self._reached.reshape(self.shape)

    # -- flooding -----------------------------------------------------------------------------------------------------

    def begin(self, poses: np.ndarray) -> None:
        """Floods from closed poses (nq, K), each at the grid's point that is nearest to it."""
        at = self.reaching.base.values(self.reaching.base.inputs(poses, self.reaching.numbers(poses)))[1]
        near = np.stack([np.abs(axis[:, None] - x).argmin(0) for axis, x in zip(self.axes, at.T, strict=True)])
        goals = np.ravel_multi_index(tuple(near), self.shape)
        goals, first = np.unique(goals, return_index=True)
        q, arrived, _ = self._walked(poses[:, first], goals)
        self._take(goals[arrived], q[:, arrived])
        self._spread(goals[arrived])
        if self.reaching.meetings:
            self._from_afar(poses, at)

    def _from_afar(self, poses: np.ndarray, at: np.ndarray) -> None:
        """Floods on to points beside reached ones to which closed poses (nq, K) at places (K, D) lead straight.

        A branch ends within what it reaches on some sheets of its poses, and goes on on others.
        """
        tree, tried = KDTree(at), np.zeros(len(self.points), bool)
        count = min(FROM_AFAR, len(at))
        while len(rim := self._beside(np.flatnonzero(self._reached), tried)):
            tried[rim] = True
            near = tree.query(self.points[rim], count)[1].reshape(len(rim), -1)
            goals = np.repeat(rim, count)
            q, arrived, _ = self._walked(poses[:, near.ravel()], goals)
            new, first = np.unique(goals[arrived], return_index=True)
            self._take(new, q[:, arrived][:, first])
            self._spread(new)

    def _beside(self, active: np.ndarray, tried: np.ndarray) -> np.ndarray:
        """Points beside some others that are not reached, and were not tried."""
        nothing = np.zeros((2 * len(self.shape), len(self.points)), bool)
        goals = np.unique(self._pairs(active, nothing)[1])
        return goals[~tried[goals]]

    def _spread(self, active: np.ndarray) -> None:
        """Floods on from points that are reached: first by single steps, then along ways where these failed."""
        tried = np.zeros((2 * len(self.shape), len(self.points)), bool)
        while len(active):
            stuck: list[np.ndarray] = []
            while len(active):
                begin, goal, way = self._pairs(active, tried)
                goal, one = np.unique(goal, return_index=True)  # from one of those beside it at a time
                begin = begin[one]
                tried[way[one], goal] = True
                q, good = self._stepped(self._q[:, begin], goal)
                self._take(goal[good], q[:, good])
                stuck.append(np.stack([begin[~good], goal[~good]]))
                active = np.union1d(goal[good], begin)
            begin, goal = np.concatenate(stuck, axis=1)
            begin, goal = begin[~self._reached[goal]], goal[~self._reached[goal]]
            q, arrived, ends = self._walked(self._q[:, begin], goal)
            self._note(ends, goal[~arrived])
            self._take(goal[arrived], q[:, arrived])
            active = np.unique(goal[arrived])

    def _pairs(self, active: np.ndarray, tried: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, those beside them that are not reached and were not tried from there, and in which direction."""
        index = np.array(np.unravel_index(active, self.shape))
        out: list[np.ndarray] = []
        for way, (axis, step) in enumerate(itertools.product(range(len(self.shape)), (-1, 1))):
            beside = index.copy()
            beside[axis] += step
            inside = (beside[axis] >= 0) & (beside[axis] < self.shape[axis])
            goal = np.asarray(np.ravel_multi_index(tuple(beside[:, inside]), self.shape))
            left = ~self._reached[goal] & ~tried[way, goal]
            out.append(np.stack([active[inside][left], goal[left], np.full(int(left.sum()), way)]))
        begin, goal, way = np.concatenate(out, axis=1)
        return begin, goal, way

    def _take(self, goal: np.ndarray, q: np.ndarray) -> None:
        self._reached[goal] = True
        self._q[:, goal] = q

    # -- steps --------------------------------------------------------------------------------------------------------

    def _stepped(self, q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses (nq, K) at points of the grid, from those beside them, and whether they are there."""
        out, good = q.copy(), np.zeros(len(goal), bool)
        for first in range(0, len(goal), CHUNK):
            some = slice(first, first + CHUNK)
            out[:, some], good[some] = self._solved(q[:, some], self.points[goal[some]])
        return out, good

    def _solved(self, q: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        base, n = self.reaching.base, self.reaching.plan.nv
        x, far, size = base.inputs(q, self.reaching.numbers(q)), np.zeros(len(goals)), np.full(len(goals), np.inf)
        going = np.arange(len(goals))
        length = self._sizes
        for _ in range(NEWTON):
            F, P = base.values(x[:, going])
            right = np.concatenate([F, (P - goals[going]) / length], axis=1)
            now = np.abs(right).max(1, initial=0.0)
            better = now < 0.5 * size[going]
            size[going] = now
            keep = (now > 1e-15) & (far[going] < LEAP) & (better | (now > CLOSED))
            going = going[keep]
            if not len(going):
                break
            J, G = base.slopes(x[:, going])
            step = -_least(np.concatenate([J, G / length[:, None]], axis=1), right[keep])
            far[going] += np.abs(step[:, :n]).max(1, initial=0.0)
            x[:, going] = base.moved(x[:, going], step)
        there = x[: self.reaching.plan.nq]
        good = (size < CLOSED) & (far < LEAP) & self.reaching.within(there, 1e-12)
        if good.any():
            good[good] = self.reaching.closed(there[:, good])
        return there, good

    @property
    def _sizes(self) -> np.ndarray:
        """(D,) what makes coordinates dimensionless."""
        return np.array([1.0 if unit == "rad" else self.reaching.prepared.setup.length for unit in self.reaching.units])

    def _walked(self, q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poses as far as straight ways lead to points, whether they are there, and (K, D) ends of the others."""
        q, ends = q.copy(), self.points[goal]
        begin = self.reaching.base.values(self.reaching.base.inputs(q, self.reaching.numbers(q)))[1]
        share, stride = np.zeros(len(goal)), np.ones(len(goal))
        while len(going := np.flatnonzero((share < 1.0) & (stride > SMALL))):
            to = np.minimum(share[going] + stride[going], 1.0)
            aims = begin[going] + to[:, None] * (ends[going] - begin[going])
            there, good = self._solved(q[:, going], aims)
            q[:, going[good]] = there[:, good]
            share[going[good]] = to[good]
            stride[going] = np.where(good, stride[going], 0.5 * stride[going])
        arrived = share >= 1.0
        return q, arrived, np.concatenate([begin + share[:, None] * (ends - begin), q.T], axis=1)[~arrived]

    # -- the boundary -------------------------------------------------------------------------------------------------

    def _note(self, ends: np.ndarray, goals: np.ndarray) -> None:
        """Takes ends of ways (K, D + nq) to points (K,) as points of the boundary, with their normals."""
        D, base = len(self.axes), self.reaching.base
        for first in range(0, len(ends), CHUNK):
            some = ends[first : first + CHUNK]
            q = some[:, D:].T.copy()
            J, G = base.slopes(base.inputs(q, self.reaching.numbers(q)))
            limit, normals = self._at_limits(q, J, G)
            U, sizes, _ = np.linalg.svd(np.concatenate([J, G / self._sizes[:, None]], axis=1))
            fold = ~limit & (sizes[:, -1] < FLAT * sizes[:, 0])
            across = U[fold, -D:, -1] / self._sizes
            edge = sizes[fold, -1:] > APART * sizes[fold, -2:-1]  # of two folds: it has no normal
            normals[fold] = np.where(edge, 0.0, across / np.linalg.norm(across, axis=1)[:, None])
            good = fold | limit
            self.edges = np.concatenate([self.edges, some[good, :D]])
            self.normals = np.concatenate([self.normals, normals[good]])
            self._towards = np.concatenate([self._towards, goals[first : first + CHUNK][good]])

    def _at_limits(self, q: np.ndarray, J: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether a joint is at a limit, or the branch ends (K,), and normals of what that bounds (K, D), at poses
        (nq, K).

        Args:
            J, G: slopes of the closures and of the coordinates of the workspace.
        """
        good, normals = np.zeros(q.shape[1], bool), np.zeros((q.shape[1], len(self.axes)))
        limits, units = self.reaching.limits, np.asarray(self.reaching.base.layout.units)
        ways = [one.end * (one.value - q[one.place]) / units[one.speed] for one in limits]
        room = np.array([*ways, *self.reaching.margins(q)])
        if not len(room):
            return good, normals
        nearest = room.argmin(0)
        for k in range(len(room)):
            some = np.flatnonzero((nearest == k) & (room[k] < EDGE))
            if len(some):
                every = np.concatenate([J[some], G[some]], axis=1)
                to = np.zeros((len(some), every.shape[2]))
                if k < len(limits):
                    to[:, limits[k].speed] = limits[k].end
                else:
                    to = -self.reaching.margin_slopes(k - len(limits), q[:, some])
                normal = least_change(every.transpose(0, 2, 1), to)[:, -len(self.axes) :]
                size = np.linalg.norm(normal, axis=1)
                normals[some], good[some] = normal / np.maximum(size, 1e-300)[:, None], size > 0.0
        return good, normals

    def margins(self) -> np.ndarray:
        """(n, ...) distances to the boundary, negative outside; NaN where no boundary was met.

        Ends of ways to points that are reached otherwise lie within.
        """
        outer = ~self._reached[self._towards]
        if not outer.any():
            return np.full(self.shape, np.nan)
        edges, normals = self.edges[outer], self.normals[outer]
        distance, which = KDTree(edges).query(self.points)
        normals = normals[which]
        height = np.abs(((self.points - edges[which]) * normals).sum(1))
        spacing = float(np.linalg.norm([np.diff(axis).max(initial=0.0) for axis in self.axes]))
        aside = np.sqrt(np.maximum(distance**2 - height**2, 0.0))
        margin = np.where(normals.any(1) & (aside < spacing), height, distance)
        return np.where(self._reached, margin, -margin).reshape(self.shape)


def _least(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(K, n) the least x of J x = right, by normal equations; of a J that loses rank the damped one."""
    A = J @ J.transpose(0, 2, 1)
    m = A.shape[1]
    A[:, range(m), range(m)] += 1e-14 * np.maximum(np.trace(A, axis1=1, axis2=2) / max(m, 1), 1e-300)[:, None]
    return (J.transpose(0, 2, 1) @ np.linalg.solve(A, right[:, :, None]))[:, :, 0]

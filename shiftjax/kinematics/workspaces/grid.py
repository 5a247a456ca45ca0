"""Which points of a grid a mechanism reaches, and how far each is from the end of what it does. Host code.

Problem: closures F(q) = 0 leave at least as many freedoms as coordinates P are asked for; of which points of a grid is
there a q within limits? From closed poses the grid is flooded: a point is reached from one beside it by Newton's method
on F and P, many at once. Where that fails, the straight way between both is followed with strides that are halved, to
the point or to the end of the way: a fold, where w (F, P)_q = 0 as on boundary curves, or a limit of a joint. Ends are
points of the boundary, with their normals, and a distance to it is that to the nearest plane through one.
Properties: what is reached does not depend on the order of the points but where sheets of poses cross.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import cKDTree

from shiftjax.kinematics.workspaces.reaching import CLOSED, Reaching
from shiftjax.run.closing.equations import least_change

LEAP = 0.6  # rad or parts of the length that a coordinate may move from point to point
CHUNK = 8192  # points at a time
NEWTON = 8  # iterations
SMALL = 2.0**-12  # of the way between two points: shorter strides are none
NEAREST = 8  # planes of the boundary that are asked


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

    @property
    def reached(self) -> np.ndarray:
        return self._reached.reshape(self.shape)

    # -- flooding -----------------------------------------------------------------------------------------------------

    def begin(self, poses: np.ndarray) -> None:
        """Floods from closed poses (nq, K), each at the grid's point that is nearest to it."""
        at = self.reaching.base.values(self.reaching.base.inputs(poses, self.reaching.none(poses)))[1]
        near = np.stack([np.abs(axis[:, None] - x).argmin(0) for axis, x in zip(self.axes, at.T, strict=True)])
        goals = np.ravel_multi_index(tuple(near), self.shape)
        goals, first = np.unique(goals, return_index=True)
        q, arrived, _ = self._walked(poses[:, first], goals)
        self._take(goals[arrived], q[:, arrived])
        self._spread(goals[arrived])

    def _spread(self, fresh: np.ndarray) -> None:
        tried: set[tuple[int, int]] = set()
        stuck: list[tuple[int, int]] = []
        while True:
            while len(fresh):
                pairs = [pair for pair in self._pairs(fresh) if pair not in tried]
                tried.update(pairs)
                if not pairs:
                    break
                begin, goal = np.array(pairs).T
                one = np.unique(goal, return_index=True)[1]  # from one of its neighbours at a time
                later = np.setdiff1d(np.arange(len(goal)), one)
                tried.difference_update(pairs[k] for k in later)
                begin, goal = begin[one], goal[one]
                q, good = self._stepped(self._q[:, begin], goal)
                self._take(goal[good], q[:, good])
                stuck += list(zip(begin[~good].tolist(), goal[~good].tolist(), strict=True))
                again = np.unique(begin[np.isin(goal, goal[~good])]) if len(later) else np.zeros(0, int)
                left = np.array([pairs[k][0] for k in later], int)
                fresh = np.unique(np.concatenate([goal[good], again, left]))
            stuck = [pair for pair in stuck if not self._reached[pair[1]]]
            if not stuck:
                return
            begin, goal = np.array(stuck).T
            q, arrived, ends = self._walked(self._q[:, begin], goal)
            self._note(ends)
            self._take(goal[arrived], q[:, arrived])
            fresh, stuck = np.unique(goal[arrived]), []
            if not len(fresh):
                return

    def _pairs(self, fresh: np.ndarray) -> list[tuple[int, int]]:
        """Points and those beside them that are not reached."""
        index = np.array(np.unravel_index(fresh, self.shape))
        out: list[tuple[int, int]] = []
        for axis, step in itertools.product(range(len(self.shape)), (-1, 1)):
            beside = index.copy()
            beside[axis] += step
            inside = (beside[axis] >= 0) & (beside[axis] < self.shape[axis])
            goal = np.ravel_multi_index(tuple(beside[:, inside]), self.shape)
            open_ = ~self._reached[goal]
            out += zip(fresh[inside][open_].tolist(), goal[open_].tolist(), strict=True)
        return out

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
        x, far, size = base.inputs(q, self.reaching.none(q)), np.zeros(len(goals)), np.full(len(goals), np.inf)
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
        """Poses as far as straight ways lead to points, whether they are there, and (K, D) ends of those that are not."""
        q, ends = q.copy(), self.points[goal]
        begin = self.reaching.base.values(self.reaching.base.inputs(q, self.reaching.none(q)))[1]
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

    def _note(self, ends: np.ndarray) -> None:
        """Takes ends of ways (K, D + nq) as points of the boundary: those that are folds to rounding."""
        D = len(self.axes)
        q = ends[:, D:].T.copy()
        if not q.shape[1]:
            return
        J = np.concatenate(self.reaching.base.slopes(self.reaching.base.inputs(q, self.reaching.none(q))), axis=1)
        w = np.linalg.svd(J)[0][:, :, -1].T
        there, others, size = self._singular.solved(q, self.reaching.none(q), w)
        image = self._singular.values(self._singular.inputs(there, self.reaching.none(there), others))[1]
        cell = np.array([np.diff(axis).max(initial=0.0) for axis in self.axes])
        fold = (size < CLOSED) & (np.abs(image - ends[:, :D]) < cell).all(1) & self.reaching.within(there, 1e-9)
        normal = others[-D:, fold].T
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        # poses are on the side from which the way came
        inside = ((self._from(ends[fold, D:].T) - image[fold]) * normal).sum(1)
        normal[inside > 0.0] *= -1.0
        limit, places, normals = self._at_limits(ends[~fold])
        self.edges = np.concatenate([self.edges, image[fold], places[limit]])
        self.normals = np.concatenate([self.normals, normal, normals[limit]])

    @property
    def _singular(self):
        if not hasattr(self, "_made"):
            self._made = self.reaching.base.singular(range(len(self.axes)))
        return self._made

    def _from(self, q: np.ndarray) -> np.ndarray:
        return self.reaching.base.values(self.reaching.base.inputs(q, self.reaching.none(q)))[1]

    def _at_limits(self, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of ends of ways (K, D + nq) whether a joint is at a limit there, its place (K, D) and normals (K, D)."""
        D = len(self.axes)
        q = ends[:, D:].T
        good, normals = np.zeros(len(ends), bool), np.zeros((len(ends), D))
        if not (len(ends) and self.reaching.limits):
            return good, ends[:, :D], normals
        J, G = self.reaching.base.slopes(self.reaching.base.inputs(q, self.reaching.none(q)))
        room = np.array([one.end * (one.value - q[one.place]) for one in self.reaching.limits])
        nearest = room.argmin(0)
        for k, limit in enumerate(self.reaching.limits):
            some = np.flatnonzero((nearest == k) & (room[k] < 0.05))
            if len(some):
                column = next(one.v for one in self.reaching.plan.coordinates if one.q == limit.place)
                every = np.concatenate([J[some], G[some]], axis=1)
                to = np.zeros((len(some), every.shape[2]))
                to[:, column] = limit.end
                normal = least_change(every.transpose(0, 2, 1), to)[:, -D:]
                size = np.linalg.norm(normal, axis=1)
                normals[some], good[some] = normal / np.maximum(size, 1e-300)[:, None], size > 0.0
        return good, ends[:, :D], normals

    def margins(self) -> np.ndarray:
        """(n, ...) distances to the boundary, negative outside; NaN where no boundary was met."""
        if not len(self.edges):
            return np.full(self.shape, np.nan)
        tree = cKDTree(self.edges)
        distance, which = tree.query(self.points, k=min(NEAREST, len(self.edges)))
        distance, which = distance.reshape(len(self.points), -1), which.reshape(len(self.points), -1)
        off = self.points[:, None] - self.edges[which]
        height = np.abs((off * self.normals[which]).sum(2))
        aside = np.sqrt(np.maximum(distance**2 - height**2, 0.0))
        spacing = float(np.linalg.norm([np.diff(axis).max(initial=0.0) for axis in self.axes]))
        to_plane = np.where(aside <= spacing, height, distance).min(1)
        return np.where(self._reached, to_plane, -to_plane).reshape(self.shape)


def _least(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(K, n) the least x of J x = right, by normal equations; of a J that loses rank the damped one."""
    A = J @ J.transpose(0, 2, 1)
    m = A.shape[1]
    A[:, range(m), range(m)] += 1e-14 * np.maximum(np.trace(A, axis1=1, axis2=2) / max(m, 1), 1e-300)[:, None]
    return (J.transpose(0, 2, 1) @ np.linalg.solve(A, right[:, :, None]))[:, :, 0]

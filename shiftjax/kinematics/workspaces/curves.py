"""Curves over which a plane of two coordinates folds, and those on which a joint is at its limit, traced. Host code.

Problem: closures F(q) = 0 leave two freedoms, and P(q) are two coordinates. Where w (F, P)_q = 0 of a unit vector w, P
reaches no farther along the part d of w that is P's: a curve of folds. With z the motion at rest of P, kappa =
z w (F, P)_qq z says to which side: d . dP = kappa t^2 / 2, two poses there and none beyond (Haug, Luh, Adkins, Wang,
Numerical algorithms for mapping boundaries of manipulator workspaces, J. Mech. Des. 118 (1996) 228). On the curve of a
limit there is one pose on the side to which the joint can move, and so there is where the branch ends that is asked for
and assemblies meet. Curves are followed by their arclength in all unknowns
(Allgower, Georg, Numerical Continuation Methods, chapter 2), and cut where what they do changes: at cusps and corners,
where their image turns round, and where another joint reaches its limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from shiftjax.kinematics.workspaces.one_branch import BranchEnd
from shiftjax.kinematics.workspaces.reaching import Limit, Reaching
from shiftjax.run.closing.equations import Equations

TURN = 0.06  # rad of the tangent in one stride: areas of circles come to 1e-8
LONGEST, FIRST, FINEST = 0.25, 0.02, 1e-7  # strides, dimensionless
MOST = 4000  # nodes of a curve
CLOSED = 1e-11  # residual of a node
EDGE = 1e-9  # rad or m: an end of an arc at a limit
SAME = 1e-6  # of poses and vectors of one node
FAR = 100.0  # of the model's length, or rad: a curve that goes so far is open
MEETS = 1e-8  # margin of a point, on the curve to 1e-11, at which assemblies meet


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve.

    Attributes:
        q: (nq,) coordinates; others: the other unknowns. tangent: (U,) of the unknowns. image: (2,) P, and slope: (2,)
            its change by arclength. normal: (2,) of the image; side: of the poses there, along it; motion: (n,) z.
            turning: what changes its sign where the image turns round; beyond: what is positive beyond a limit, and
            off: what is off the branch that is asked for.
    """

    q: np.ndarray
    others: np.ndarray
    tangent: np.ndarray
    image: np.ndarray
    slope: np.ndarray
    normal: np.ndarray
    side: float
    motion: np.ndarray
    turning: float
    beyond: np.ndarray
    off: np.ndarray

    @property
    def events(self) -> np.ndarray:
        """What changes its sign where a curve is cut."""
        return np.array([self.turning, *self.beyond, *self.off])

    @property
    def feasible(self) -> bool:
        """Whether no joint is beyond a limit."""
        return bool((self.beyond < 0.0).all())


@dataclass
class CurveArc:
    """A part of a curve along which nothing changes but the place.

    Attributes:
        nodes: of it; strides: between them, of arclength. limit: whose curve it is; None of a fold. open: whether its
            curve goes on for ever, or its end was not met. jump: poses that end on it: both beside a fold, of which a
            branch may have one alone; one beside a limit.
    """

    nodes: list[CurvePoint]
    strides: np.ndarray
    limit: Limit | BranchEnd | None
    open: bool
    jump: int


class CurveFamily:
    """Curves of one system of equations.

    Args:
        reaching: what is asked. limit: of which joint, or of the branch; None for folds.

    Attributes:
        meeting: (K,) which ends of the branch the curve lies on that is followed.
    """

    def __init__(self, reaching: Reaching, limit: Limit | BranchEnd | None) -> None:
        self.reaching, self.limit = reaching, limit
        self.others = [one for one in reaching.limits if one != limit]
        self.meeting = np.zeros(len(reaching.meetings), bool)
        if isinstance(limit, BranchEnd):
            self._index = reaching.meetings.index(limit)
            self.equations: Equations = reaching.meeting(limit)
        else:
            self.equations = reaching.folds if limit is None else reaching.at_limit(limit)
        self.n, self.units = len(reaching.columns), self.equations.layout.units
        self.limited = {one.place for one in reaching.limits}

    # -- points -------------------------------------------------------------------------------------------------------

    def seeds(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (nq, K) and other unknowns of points of the curves, from closed poses (nq, B)."""
        x = self.equations.inputs(poses, self.reaching.numbers(poses))
        if self.limit is None:
            J = np.concatenate(self.reaching.base.slopes(x[: self.reaching.base.layout.count]), axis=1)
            others = np.linalg.svd(J)[0][:, :, -1].T
        elif isinstance(self.limit, BranchEnd):
            others = np.linalg.svd(self.reaching.block(self.limit, poses))[0][:, :, -1].T
        else:
            poses = poses.copy()
            poses[self.limit.place] = self.limit.value
            others = np.zeros((0, poses.shape[1]))
        q, others, size = self.equations.solved(poses, self.reaching.numbers(poses), others)
        good = (size < CLOSED) & self.reaching.closed(q)
        return q[:, good], others[:, good]

    def node(self, q: np.ndarray, others: np.ndarray, before: np.ndarray | None) -> CurvePoint:
        """The node at a solution, its tangent along the one before."""
        x = self.equations.inputs(q[:, None], self.reaching.values[:, None], others[:, None])
        slopes, of_image = (one[0] for one in self.equations.slopes(x))
        image = self.equations.values(x)[1][0]
        tangent = np.linalg.svd(slopes)[2][-1]
        if before is not None and tangent @ before < 0.0:
            tangent = -tangent
        slope = of_image @ tangent
        J, P = (one[0] for one in self.reaching.base.slopes(x[: self.reaching.base.layout.count]))
        if self.limit is None:
            direction = others[-2:] / np.linalg.norm(others[-2:])
            z = np.linalg.svd(np.concatenate([J, P]))[2][-1]
            side = z @ slopes[: self.n, : self.n] @ z
            turning = float(slope @ np.array([-direction[1], direction[0]]))
        else:
            direction = np.array([-slope[1], slope[0]]) / max(np.linalg.norm(slope), 1e-300)
            z = self._inward(q, J, tangent)
            side = float(direction @ P @ z)
            turning = side
        beyond = np.array([(q[one.place] - one.value) * one.end for one in self.others])
        off = -self.reaching.margins(q[:, None])[~self.meeting, 0]
        return CurvePoint(q, others, tangent, image, slope, direction, side, z, float(turning), beyond, off)

    def _inward(self, q: np.ndarray, J: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """(n,) the motion across a limit's curve that leads a joint into its way, or a pose onto the branch."""
        assert self.limit is not None
        _, _, V = np.linalg.svd(np.vstack([J, tangent[: self.n]]))
        z = V[-1]
        if isinstance(self.limit, BranchEnd):
            before, behind = self.reaching.beside(q, z)[self._index]
            return z if behind > before else -z
        return z if z[self.limit.speed] * self.limit.end < 0.0 else -z

    def _jump(self, seed: CurvePoint) -> int:
        """How many poses beside a curve end on it, and are of the branch; 0 where it counts as another one, too.

        Where the coordinates are functions of the inputs assemblies meet on folds alone.
        """
        if not self.meeting.any():
            return 2 if self.limit is None else 1
        beside = np.all(self.reaching.beside(seed.q, seed.motion)[self.meeting] > 0.0, axis=0)
        if self.limit is None:
            return int(beside.sum())
        if isinstance(self.limit, BranchEnd):
            first = int(np.flatnonzero(self.meeting)[0])
            at_limits = any(abs(seed.q[one.place] - one.value) < EDGE for one in self.reaching.limits)
            flat = abs(seed.side) < MEETS * max(float(np.linalg.norm(seed.slope)), 1e-300)
            if flat or at_limits or first != self._index or beside.all():
                return 0
        return int(beside[1])

    def _seed(self, q: np.ndarray, others: np.ndarray) -> tuple[CurvePoint, int] | None:
        """The point of a curve that is to be followed, and its jump; None of another one."""
        self.meeting = np.abs(self.reaching.margins(q[:, None])[:, 0]) < MEETS
        seed = self.node(q, others, None)
        jump = self._jump(seed) if seed.feasible else 0
        return (seed, jump) if jump else None

    # -- curves -------------------------------------------------------------------------------------------------------

    def arcs(self, poses: np.ndarray) -> Iterator[CurveArc]:
        """All curves within limits that are met from closed poses (nq, B), cut into arcs; those on the branch."""
        traced: list[list[CurvePoint]] = []
        q, others = self.seeds(poses)
        at_limit = self.limit.place if isinstance(self.limit, Limit) else None
        for k in range(q.shape[1]):
            for place in self.reaching.turned(q[:, k], at_limit).T:
                seed = self._seed(place, others[:, k])
                if seed is not None and not any(self._on(nodes, seed[0]) for nodes in traced):
                    nodes, closed = self._traced(seed[0])
                    traced.append(nodes)
                    yield from self._cut(nodes, closed, seed[1])

    def _on(self, nodes: list[CurvePoint], seed: CurvePoint) -> bool:
        """Whether a point lies on a traced curve."""
        gaps = np.array([np.abs(self._apart(one, seed)).max() for one in nodes])
        k = int(gaps.argmin())
        if gaps[k] > 2.0 * LONGEST:
            return False
        at, tangent = nodes[k], nodes[k].tangent
        for _ in range(3):  # onto the curve, next to the point
            gap = self._apart(seed, at)
            at = self._ahead(at, float(gap @ tangent)) or at
            tangent = at.tangent
        return bool(np.abs(self._apart(at, seed)).max() < SAME)

    def _apart(self, one: CurvePoint, other: CurvePoint) -> np.ndarray:
        """(U,) from one node to another: whole turns count nothing, nor does the sign of w."""
        gap = np.zeros(self.n)
        for c in self.reaching.plan.coordinates:
            if c.plain:
                step = one.q[c.q] - other.q[c.q]
                if c.unit == "rad" and c.q not in self.limited:
                    step -= 2.0 * np.pi * np.round(step / (2.0 * np.pi))
                gap[c.v] = step / self.units[c.v]
            else:
                k = np.arange(c.nv)
                gap[c.v + k] = (one.q[c.places] - other.q[c.places])[-c.nv :]
        sign = -1.0 if one.others @ other.others < 0.0 else 1.0
        return np.concatenate([gap, sign * one.others - other.others])

    def _arclength(self, one: CurvePoint, other: CurvePoint) -> float:
        """Of the curve between two nodes: that of a circle through both."""
        half = 0.5 * _turn(one, other)
        return float(np.linalg.norm(self._apart(other, one))) * half / np.sin(half)

    def _traced(self, seed: CurvePoint) -> tuple[list[CurvePoint], bool]:
        """Nodes of the curve through a seed: round to it, or just beyond limits; and whether round to it."""
        nodes, closed = self._followed(seed)
        if closed:
            return nodes, True
        back, _ = self._followed(self._reversed(seed))
        rest = [self._reversed(one) for one in back[:0:-1]]
        return [*rest, *nodes], False

    def _reversed(self, node: CurvePoint) -> CurvePoint:
        """The node of the curve that goes the other way: normals of folds stay, those of limits turn with it."""
        there = replace(node, tangent=-node.tangent, slope=-node.slope, turning=-node.turning)
        return there if self.limit is None else replace(there, normal=-node.normal, side=-node.side)

    def _followed(self, seed: CurvePoint) -> tuple[list[CurvePoint], bool]:
        nodes, stride, fastest = [seed], FIRST, float(np.linalg.norm(seed.slope))
        while len(nodes) < MOST and stride > FINEST:
            there = self._ahead(nodes[-1], stride)
            turn = np.inf if there is None else max(_turn(nodes[-1], there), _bend(nodes[-1], there, fastest))
            if there is None or turn > 2.0 * TURN:
                stride *= 0.5
                continue
            gap = self._apart(seed, nodes[-1])
            ahead = gap @ nodes[-1].tangent
            if len(nodes) > 3 and 0.0 < ahead <= 1.2 * stride and np.linalg.norm(gap) < 1.1 * ahead + SAME:
                last = self._like(seed, nodes[-1])
                return [*nodes, last], True
            nodes.append(there)
            fastest = max(fastest, float(np.linalg.norm(there.slope)))
            if not there.feasible or self._far(there):
                break
            stride = min(LONGEST, stride * min(2.0, max(0.5, TURN / max(turn, 1e-9))))
        return nodes, False

    def _like(self, seed: CurvePoint, before: CurvePoint) -> CurvePoint:
        """The first node of a closed curve as its last one: w may have changed its sign on the way round."""
        sign = -1.0 if before.others @ seed.others < 0.0 else 1.0
        return self.node(seed.q, sign * seed.others, before.tangent)

    def _far(self, node: CurvePoint) -> bool:
        return any(abs(node.q[c.q]) / self.units[c.v] > FAR for c in self.reaching.plan.coordinates if c.plain)

    def _ahead(self, node: CurvePoint, stride: float) -> CurvePoint | None:
        """The node a stride along the tangent; None where the curve is not met there."""
        numbers = self.reaching.values[:, None]
        x = self.equations.inputs(node.q[:, None], numbers, node.others[:, None])
        x = self.equations.moved(x, stride * node.tangent[None])
        nq, others = len(node.q), x[self.equations.layout.count - self.equations.layout.others :]
        q, others, size = self.equations.solved(x[:nq], numbers, others, 8)
        if size[0] > CLOSED:
            return None
        there = self.node(q[:, 0], others[:, 0], node.tangent)
        gap = self._apart(there, node)
        if np.linalg.norm(gap - stride * node.tangent) > 0.2 * abs(stride) + SAME:
            return None
        return there

    def _cut(self, nodes: list[CurvePoint], closed: bool, jump: int) -> Iterator[CurveArc]:
        """A curve in arcs, ends of which are where an event is zero."""
        part, lengths, arcs = [nodes[0]], list[float](), list[tuple[list[CurvePoint], list[float]]]()
        for before, after in itertools.pairwise(nodes):
            for _, there in sorted(self._crossings(before, after), key=lambda pair: pair[0]):
                part.append(there)
                lengths.append(self._arclength(part[-2], there))
                arcs.append((part, lengths))
                part, lengths = [there], []
            part.append(after)
            lengths.append(self._arclength(part[-2], after))
        if closed and arcs:  # where a curve was begun is no end of an arc
            first, strides_of_first = arcs.pop(0)
            part, lengths = [*part, *first[1:]], [*lengths, *strides_of_first]
        arcs.append((part, lengths))
        endless = not closed and nodes[0].feasible | nodes[-1].feasible
        for one, strides in arcs:
            within = len(one) > 2 or (len(one) == 2 and all(node.beyond.max(initial=-1.0) < EDGE for node in one))
            if within and self._on_branch(one, strides):
                yield CurveArc(one, np.array(strides), self.limit, endless, jump)

    def _on_branch(self, nodes: Sequence[CurvePoint], strides: Sequence[float]) -> bool:
        """Whether an arc, that does not leave the branch or come to it but at its ends, is on it."""
        inner = nodes[len(nodes) // 2] if len(nodes) > 2 else self._ahead(nodes[0], 0.5 * strides[0]) or nodes[0]
        return bool((inner.off < 0.0).all())

    def _crossings(self, before: CurvePoint, after: CurvePoint) -> Iterator[tuple[float, CurvePoint]]:
        for k, (first, last) in enumerate(zip(before.events, after.events, strict=True)):
            if first * last < 0.0:
                turn = _turn(before, after)  # nodes are those next to the ends of tangents
                step = self._arclength(before, after) * np.tan(turn) / turn

                def event(x: float, k: int = k, step: float = step) -> float:
                    inside = self._ahead(before, x * step) if 0.0 < x < 1.0 else None
                    return float((inside or (before if x < 0.5 else after)).events[k])

                share = _root(event)
                yield share, self._ahead(before, share * step) or after


def _turn(one: CurvePoint, other: CurvePoint) -> float:
    """The angle between two tangents [rad]; not so small that it could not be divided by."""
    return max(float(np.arccos(np.clip(one.tangent @ other.tangent, -1.0, 1.0))), 1e-6)


def _bend(one: CurvePoint, other: CurvePoint, fastest: float) -> float:
    """By how much the slope of the image differs at two nodes: an angle where it goes as fast as it does anywhere."""
    return float(np.linalg.norm(other.slope - one.slope)) / max(fastest, 1e-12)


def _root(function: Callable[[float], float]) -> float:
    """Where a function that changes its sign from 0 to 1 vanishes, by Brent's method."""
    root: Any = brentq(function, 0.0, 1.0, xtol=1e-13)
    return float(root)

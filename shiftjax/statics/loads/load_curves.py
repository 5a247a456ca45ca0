"""Equilibria followed along a load by arclength, many curves at once: tangents, strides, corrections. Host code.

Problem: Z^T f(q, mu) = 0 on the closure manifold, numbers of the model linear in the load factor mu: curves in (q, mu).
A stride goes along the tangent, and Newton's method comes back to the curve in the plane across it, so that limit
points, where mu turns round, are poses like others (Riks 1979; Allgower, Georg, Numerical Continuation Methods,
chapters 2 and 8). Lengths of curves count radians, metres in parts of the model's length, and the load factor alike.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from shiftjax.dynamics.kinematics import Parameters
from shiftjax.statics.at_rest import AtRest, Linear, all_finite, along

ITERATIONS = 12
STILL, SHORT = 1e-14, 1e-9  # corrections that change nothing, and that may be rounding where one is not halved
LONGEST = 0.1  # stride, whatever the distance of poses
ALIKE = 1e-8  # singular values, in parts of the size of forces, at a pose to be told from a branch point by nothing
AWAY = 0.3  # of a stride, by which corrections may lead away from its tangent


@dataclass
class Loading:
    """Numbers of the model that go with the load factor from one value to another.

    Attributes:
        places: in the plan. first, last: (P, C) where the factor is 0 and 1.
    """

    places: tuple[int, ...]
    first: np.ndarray
    last: np.ndarray

    def of(self, curves: np.ndarray) -> Loading:
        """Those of some curves."""
        return replace(self, first=self.first[:, curves], last=self.last[:, curves])

    def at(self, rest: AtRest, factor: np.ndarray) -> AtRest:
        """Mechanisms under a load factor (C,)."""
        numbers = list(rest.lane.params.numbers)
        for place, values in zip(self.places, self.values(factor), strict=True):
            numbers[place] = values
        return replace(rest, lane=replace(rest.lane, params=Parameters(numbers, rest.lane.params.matrices)))

    def values(self, factor: np.ndarray) -> np.ndarray:
        """(P, C) at load factors (C,)."""
        return self.first + factor * (self.last - self.first)

    @property
    def slopes(self) -> dict[int, np.ndarray]:
        """Place -> (C,) by the load factor."""
        return dict(zip(self.places, self.last - self.first, strict=True))


@dataclass
class Poses:
    """Equilibria, and how they go on.

    Attributes:
        q: (nq, C); states: (ns, C); factor: (C,). linear: about them. shift: (C, nv) the motion of loops that a growing
            load factor takes by itself, of numbers that are lengths; push: (C, k) the forces along Z that come with it.
        ways: (C, nv + 1) unit tangents, speeds and then the factor. bordered: (C,) the determinant that tells branch
            points. neutral: (C,) whether a motion beside the tangent has no stiffness.
    """

    q: np.ndarray
    states: np.ndarray
    factor: np.ndarray
    linear: Linear
    shift: np.ndarray
    push: np.ndarray
    ways: np.ndarray
    bordered: np.ndarray
    neutral: np.ndarray

    def some(self, curves: np.ndarray) -> Poses:
        """Those of some curves."""
        return Poses(self.q[:, curves], self.states[:, curves], self.factor[curves], self.linear.some(curves),
                     self.shift[curves], self.push[curves], self.ways[curves], self.bordered[curves],
                     self.neutral[curves])  # fmt: skip

    def put(self, curves: np.ndarray, other: Poses) -> None:
        """Takes the poses of some curves from others."""
        self.q[:, curves], self.states[:, curves], self.factor[curves] = other.q, other.states, other.factor
        for name in ("shift", "push", "ways", "bordered", "neutral"):
            getattr(self, name)[curves] = getattr(other, name)
        for one in fields(Linear):
            getattr(self.linear, one.name)[curves] = getattr(other.linear, one.name)

    def matrix(self) -> np.ndarray:
        """(C, k, k + 1) of [y, d mu] to changes of the forces, in parts of their size."""
        size = np.maximum(self.linear.size, 1e-300)[:, None, None]
        return np.concatenate([-self.linear.K, self.push[:, :, None]], axis=2) / size

    def bent(self, ways: np.ndarray) -> np.ndarray:
        """(C, k + 1, k + 1) that matrix with a last row: the part along unit vectors (C, nv + 1)."""
        row = np.concatenate([along(self.linear.Z, ways[:, :-1]), self.along_factor(ways)[:, None]], axis=1)
        return np.concatenate([self.matrix(), row[:, None, :]], axis=1)

    def along_factor(self, ways: np.ndarray) -> np.ndarray:
        """(C,) parts of unit vectors (C, nv + 1) along a growing factor, with the motion that it takes."""
        return (ways[:, :-1] * self.shift).sum(1) + ways[:, -1]

    def whole(self, change: np.ndarray) -> np.ndarray:
        """(C, nv + 1) of changes [y, d mu] (C, k + 1)."""
        speeds = (self.linear.Z @ change[:, :-1, None])[:, :, 0] + self.shift * change[:, -1:]
        return np.concatenate([speeds, change[:, -1:]], axis=1)


def poses_at(
    rest: AtRest, loading: Loading, q: np.ndarray, states: np.ndarray, factor: np.ndarray, ahead: np.ndarray
) -> Poses:
    """What is known at equilibria; tangents point as vectors `ahead` (C, nv + 1) do."""
    here = loading.at(rest, factor)
    linear, parts = here.about(q, states)
    shift = here.shifted(parts, q, loading.slopes)
    way = {"q": shift.T * here.units[:, None]}
    force, rates = here.slopes(q, states, linear.multipliers, way, loading.slopes)
    k = linear.K.shape[1]
    push = along(linear.Z, force)
    if rates.shape[1]:
        following = np.linalg.pinv(linear.first_order[:, k:, 2 * k :]) @ rates[:, :, None]
        push = push - (linear.first_order[:, :k, 2 * k :] @ following)[:, :, 0]
    poses = Poses(q, states, factor, linear, shift, push, np.zeros_like(ahead), np.zeros(len(factor)),
                  np.zeros(len(factor), bool))  # fmt: skip
    scale = np.sqrt(1.0 + (shift * shift).sum(1))
    matrix = poses.matrix()
    matrix[:, :, -1] /= scale[:, None]
    good = all_finite(matrix)
    _, sizes, right = np.linalg.svd(np.where(good[:, None, None], matrix, 0.0))
    poses.neutral[:] = (sizes <= ALIKE).any(1)
    free = np.concatenate([sizes <= ALIKE, np.ones((len(factor), 1), bool)], axis=1)  # both curves at a branch point
    toward = np.concatenate([along(linear.Z, ahead[:, :-1]), scale[:, None] * ahead[:, -1:]], axis=1)
    parts = np.where(free, (right @ toward[:, :, None])[:, :, 0], 0.0)
    change = (right.transpose(0, 2, 1) @ parts[:, :, None])[:, :, 0]
    change /= np.maximum(np.linalg.norm(change, axis=1), 1e-300)[:, None]
    change[:, -1] /= scale
    poses.ways[:] = poses.whole(change)
    poses.bordered[:] = np.linalg.det(np.where(good[:, None, None], poses.bent(poses.ways), np.nan))
    return poses


def corrected(
    rest: AtRest, loading: Loading, poses: Poses, ways: np.ndarray, lengths: np.ndarray, across: np.ndarray
) -> tuple[Poses, np.ndarray]:
    """Equilibria some way from others, and (C,) whether there are any near.

    Args:
        ways: (C, nv + 1) along which a stride of `lengths` (C,) goes. across: (C, nv + 1) corrections have no part
            along these: tangents, or the load factor where that is to be reached.
    """
    change, C = ways * lengths[:, None], len(lengths)
    q, states, factor = poses.q, poses.states, poses.factor
    closed, last, off = np.ones(C, bool), np.full(C, np.inf), np.zeros(C)
    done, good, out = np.zeros(C, bool), np.zeros(C, bool), poses
    for _ in range(ITERATIONS):
        go = ~done
        factor = np.where(go, factor + change[:, -1], factor)
        here = loading.at(rest, factor)
        moved, ends = here.closed(here.moved(q, np.where(go[:, None], change[:, :-1], 0.0)))
        q, closed = np.where(go, moved, q), closed & (ends | done)
        states = np.where(go, here.settled(q, states), states)
        out = poses_at(rest, loading, q, states, factor, across)
        bent = out.bent(across)
        right = np.concatenate([-out.linear.force / np.maximum(out.linear.size, 1e-300)[:, None], np.zeros((C, 1))], 1)
        sound = np.isfinite(bent).all((1, 2)) & np.isfinite(right).all(1) & closed
        step = np.linalg.pinv(np.where(sound[:, None, None], bent, 0.0), rcond=1e-13) @ right[:, :, None]
        change = out.whole(np.where(sound[:, None], step[:, :, 0], 0.0))
        size = np.abs(change).max(1)
        slow = size > 0.5 * last
        there = (size <= STILL) | (slow & (size < SHORT))
        good |= ~done & sound & there
        off += np.where(done, 0.0, size)
        done |= there | ~sound | (size > LONGEST)
        last = size
        if done.all():
            break
    return out, good & (off <= AWAY * np.abs(lengths) + SHORT)

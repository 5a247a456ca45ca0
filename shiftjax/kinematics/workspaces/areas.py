"""Slopes of the area that a mechanism reaches by the numbers of its design. Host code.

The area changes by what its boundary moves over: dA = integral of v . n along it, v . n the speed along the outward
normal (Reynolds' transport theorem). Of a fold, where w (F, P)_q = 0, it is w (F, P)_p / |w_P| along w_P: how poses
move counts nothing. Of a limit w are the multipliers of the closures and of the limit with which (F, P)_q vanishes
across the curve. Integrals are those of Gauss and Legendre along the cubics that have the area; at each place the pose
of the curve is sought again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.kinematics.workspaces.curves import CurveArc, CurveFamily
from shiftjax.kinematics.workspaces.plane import GAUSS, Arrangement, points, rates
from shiftjax.kinematics.workspaces.reaching import Reaching
from shiftjax.run.closing.equations import least_change

ALONG = 3  # corrections along a curve, from the node that is nearest: to 1e-9 of a stride
NEAR = 1e-6  # of the size of the boundary: a pose on it is at its place
ACROSS = 1.0 - 1e-6  # cosine of the normal of a fold with that of its image
ALIKE = 0.9  # cosine of the angle between a curve and the nodes that are taken for its own, where it crosses itself


def area_slopes(reaching: Reaching, arcs: Sequence[CurveArc], plane: Arrangement) -> np.ndarray:
    """(P,) by the numbers that vary, of an area that the arrangement of these arcs has."""
    total = np.zeros(len(reaching.values))
    for k in plane.boundary:
        side = plane.sides[plane.groups[k][0]]
        arc, sign = arcs[side.source], 1.0 if plane.left[k] > 0 else -1.0
        order = np.concatenate([np.arange(len(side.cubics)) + t for t in GAUSS[0]])
        at, along = (np.concatenate([of(side.cubics, t) for t in GAUSS[0]]) for of in (points, rates))
        weights = np.repeat(GAUSS[1], len(side.cubics)) * np.linalg.norm(along, axis=1)
        right = np.stack([along[:, 1], -along[:, 0]], axis=1)  # out of what is reached, where that is on the left
        right /= np.maximum(np.linalg.norm(right, axis=1), 1e-300)[:, None]
        speeds, good = _normal_speeds(CurveFamily(reaching, arc.limit), arc, at, right, NEAR * plane.size)
        if not good.any():
            return np.full(len(total), np.nan)
        steady = np.argsort(order[good])
        known = order[good][steady]
        total += [sign * (np.interp(order, known, row[good][steady]) * weights).sum() for row in speeds]
    return total


def _normal_speeds(
    family: CurveFamily, arc: CurveArc, at: np.ndarray, right: np.ndarray, within: float
) -> tuple[np.ndarray, np.ndarray]:
    """(P, K) speeds of a curve at places (K, 2) on it along unit normals (K, 2), by the numbers that vary; and (K,)
    whether they are known: next to a corner the equations are those of another curve, too.

    Args:
        within: of a place, where a pose on the curve must be [m or rad].
    """
    x = _there(family, arc, at, right)
    base, nq = family.reaching.base, family.reaching.plan.nq
    good = np.linalg.norm(family.equations.values(x)[1] - at, axis=1) < within
    if family.limit is None:
        w = x[family.equations.layout.count - family.equations.layout.others :]
        size = np.maximum(np.linalg.norm(w[-2:], axis=0), 1e-300)
        cosine = (w[-2:].T * right).sum(1) / size
        bars = w * (np.sign(cosine) / size)
        speeds = base.adjoint(base.inputs(x[:nq], family.reaching.numbers(x[:nq])), bars)
        return speeds, good & (np.abs(cosine) > ACROSS)
    J, P = family.equations.slopes(x)
    w = -least_change(J.transpose(0, 2, 1), np.einsum("kij,ki->kj", P, right))
    return family.equations.adjoint(x, np.concatenate([w, right], axis=1).T), good


def _there(family: CurveFamily, arc: CurveArc, at: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(count, K) inputs of the equations of a curve at places (K, 2) on its image."""
    images, slopes = (np.array([getattr(node, name) for node in arc.nodes]) for name in ("image", "slope"))
    gaps = np.linalg.norm(at[:, None] - images, axis=2)
    sine = np.abs(right @ slopes.T) / np.maximum(
        np.linalg.norm(right, axis=1)[:, None] * np.linalg.norm(slopes, axis=1), 1e-300
    )
    alike = sine < np.sqrt(1.0 - ALIKE**2)
    nearest = np.where(alike | ~alike.any(1, keepdims=True), gaps, np.inf).argmin(1)
    nodes = [arc.nodes[k] for k in nearest]
    q, others = (np.stack([getattr(node, name) for node in nodes], axis=1) for name in ("q", "others"))
    tangent = np.array([node.tangent for node in nodes])
    numbers = family.reaching.numbers(q)
    for _ in range(ALONG):
        x = family.equations.inputs(q, numbers, others)
        by_unknowns, of_image = family.equations.slopes(x)
        new = np.linalg.svd(by_unknowns)[2][:, -1]
        tangent = new * np.sign((new * tangent).sum(1))[:, None]
        slope = np.einsum("kij,kj->ki", of_image, tangent)
        off = at - family.equations.values(x)[1]
        step = (off * slope).sum(1) / np.maximum((slope * slope).sum(1), 1e-300)
        x = family.equations.moved(x, step[:, None] * tangent)
        nq, rest = len(q), family.equations.layout.count - family.equations.layout.others
        q, others, _ = family.equations.solved(x[:nq], numbers, x[rest:])
    return family.equations.inputs(q, numbers, others)


class AreaFunction:
    """Areas (B, 1) of numbers of designs (B, P), as `gradients.transforms.Differentiable`.

    Args:
        answer: areas (B,) and their slopes (B, P), NaN where there is none; what was asked last is remembered.
    """

    outputs = 1

    def __init__(self, answer: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> None:
        self._answer = answer
        self._last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def run(self, x: np.ndarray) -> np.ndarray:
        return self._at(x)[0][:, None]

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        return np.where(dx != 0.0, self._at(x)[1] * dx, 0.0).sum(1)[:, None]

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        return np.where(y_bar != 0.0, self._at(x)[1] * y_bar, 0.0)

    def _at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._last is None or not np.array_equal(self._last[0], x):
            self._last = (x.copy(), *self._answer(x))
        return self._last[1:]

"""Numbers of a skeleton as one complex vector, of which they are entire functions: a way between two mechanisms.

Directions and orientations are exponentials of complex rotation vectors. Host code.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from shiftjax.run.assemblies.skeleton import (
    BALL,
    DISTANCE,
    EYE,
    LOOP,
    PLANAR,
    SHIFT,
    SPHERICAL,
    TURN,
    Posed,
    ScrewNumbers,
    Skeleton,
    applied,
)

SMALL = 1e-8  # of squared angles: below it series of two terms are exact to rounding


def exponential(w: np.ndarray) -> np.ndarray:
    """(P, 3, 3) rotations of complex rotation vectors (P, 3)."""
    square = (w * w).sum(1)
    near = np.abs(square) < SMALL
    angle = np.sqrt(np.where(near, 1.0, square))
    first = np.where(near, 1.0 - square / 6.0, np.sin(angle) / angle)
    second = np.where(near, 0.5 - square / 24.0, (1.0 - np.cos(angle)) / np.where(near, 1.0, square))
    skew = np.zeros((len(w), 3, 3), complex)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        skew[:, i, j], skew[:, j, i] = -w[:, k], w[:, k]
    return EYE + first[:, None, None] * skew + second[:, None, None] * np.matmul(skew, skew)


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """(P, 4) a complex quaternion of q q = 1 of each rotation (P, 3, 3)."""
    squares = np.stack(
        [1.0 + s @ np.diagonal(R, axis1=1, axis2=2).T for s in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))]
    ).T
    largest = np.abs(squares).argmax(1)
    odd = [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]]
    even = [R[:, 2, 1] + R[:, 1, 2], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 0] + R[:, 0, 1]]
    columns = np.array(  # 4 q_i q_j: the row of the largest component gives all
        [
            [squares[:, 0], odd[0], odd[1], odd[2]],
            [odd[0], squares[:, 1], even[2], even[1]],
            [odd[1], even[2], squares[:, 2], even[0]],
            [odd[2], even[1], even[0], squares[:, 3]],
        ]
    )
    row = columns[largest, :, np.arange(len(R))]
    q = row / (2.0 * np.sqrt(squares[np.arange(len(R)), largest])[:, None])
    return np.where(np.real(q[:, :1]) < 0.0, -q, q)


def logarithm(R: np.ndarray) -> np.ndarray:
    """(P, 3) a complex rotation vector of each rotation (P, 3, 3)."""
    q = quaternion_of(R)
    sine = np.sqrt((q[:, 1:] ** 2).sum(1))
    near = np.abs(sine) < 1e-9
    half = np.arccos(np.where(near, 1.0, q[:, 0]))
    return np.where(near, 2.0, 2.0 * half / np.where(near, 1.0, np.sin(half)))[:, None] * q[:, 1:]


@cache
def _free(skeleton: Skeleton) -> dict[int, int]:
    """Motion -> which one it is of three shifts and a ball in a row: of a body that moves freely.

    Its shifts are along x, y and z of every mechanism, since what they span might vanish on the way to another one.
    """
    out: dict[int, int] = {}
    for branch in (branch for closure in skeleton.closures for branch in closure.branches):
        for first in range(len(branch) - 3):
            row = branch[first : first + 4]
            if [skeleton.motions[k] for k in row] == [SHIFT, SHIFT, SHIFT, BALL]:
                out |= dict(zip(row, range(4), strict=True))
    return out


def base_axis(skeleton: Skeleton, k: int) -> np.ndarray:
    """(3,) the axis of a motion whose rotation vector is 0."""
    if k in _free(skeleton):
        return EYE[_free(skeleton)[k]]
    return EYE[0] if skeleton.space == PLANAR and skeleton.motions[k] == SHIFT else EYE[2]


def _to_axis(base: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """(P, 3) rotation vectors that turn a base axis to given ones."""
    cosine = axis @ base
    across = np.cross(np.broadcast_to(base, axis.shape), axis)
    sine = np.sqrt((across**2).sum(1))
    near = np.abs(sine) < 1e-9
    angle = np.arccos(np.where(near, 0.0, cosine))
    way = across * (np.where(near, 1.0, angle / np.where(near, 1.0, np.sin(angle))))[:, None]
    opposite = near & (np.real(cosine) < 0.0)
    way[opposite] = np.pi * EYE[(np.argmax(np.abs(base)) + 1) % 3]
    if opposite.any() and base[0] == 1.0:  # in the plane a turn about its normal
        way[opposite] = np.pi * EYE[2]
    return way


def vector_of(skeleton: Skeleton, numbers: ScrewNumbers) -> np.ndarray:
    """(P, K) the vector of given numbers."""
    parts = []
    for k, motion in enumerate(skeleton.motions):
        if motion != BALL:
            parts.append(_to_axis(base_axis(skeleton, k), numbers.axis[:, k]))
        parts.append(numbers.center[:, k])
    for k, closure in enumerate(skeleton.closures):
        parts.append(logarithm(numbers.end_R[:, k]) if closure.kind == LOOP else numbers.other[:, k])
        parts += [numbers.end_p[:, k], numbers.size[:, k, None]]
    return np.concatenate(parts, axis=1)


@cache
def _places(skeleton: Skeleton) -> tuple[np.ndarray, ...]:
    """Where rotation vectors of axes, centers, ends' rotation vectors or other points, ends' places and squares stand.

    The first row has -1 for balls, which have no axis.
    """
    turns, centers, ends, at = [], [], [], 0
    for motion in skeleton.motions:
        turns.append([-1] * 3 if motion == BALL else [at, at + 1, at + 2])
        at += 0 if motion == BALL else 3
        centers.append([at, at + 1, at + 2])
        at += 3
    for _ in skeleton.closures:
        ends.append(range(at, at + 7))
        at += 7
    end = np.array([[*one] for one in ends], int).reshape(-1, 7)
    return np.array(turns, int), np.array(centers, int), end[:, :3], end[:, 3:6], end[:, 6]


def numbers_of(skeleton: Skeleton, vector: np.ndarray) -> ScrewNumbers:
    """The inverse of `vector_of`."""
    turns, centers, firsts, places, squares = _places(skeleton)
    axes = turns[:, 0] >= 0
    loops = np.array([closure.kind == LOOP for closure in skeleton.closures])
    P, n = len(vector), int(axes.sum())
    w = np.concatenate([vector[:, turns[axes]], vector[:, firsts[loops]]], axis=1)
    R = exponential(w.reshape(-1, 3)).reshape(P, n + int(loops.sum()), 3, 3)
    axis, end_R = np.zeros((P, len(turns), 3), complex), np.zeros((P, len(loops), 3, 3), complex)
    base = np.array([base_axis(skeleton, int(k)) for k in np.flatnonzero(axes)]).reshape(-1, 3)
    axis[:, axes] = np.einsum("pkij,kj->pki", R[:, :n], base)
    end_R[:, loops] = R[:, n:]
    other = np.where(loops[:, None], 0.0, vector[:, firsts])
    return ScrewNumbers(axis, vector[:, centers], end_R, vector[:, places], other, vector[:, squares])


def generic(skeleton: Skeleton) -> np.ndarray:
    """(K,) 1 where a mechanism of the skeleton's space may have any number, 0 where that leaves the space."""
    planar, spherical = skeleton.space == PLANAR, skeleton.space == SPHERICAL
    point = [1, 1, 0] if planar else [0, 0, 0] if spherical else [1, 1, 1]
    turn = [0, 0, 1] if planar else [1, 1, 1]
    parts: list[int] = []
    for k, motion in enumerate(skeleton.motions):
        if motion != BALL:
            parts += [0, 0, 0] if (motion == TURN and planar) or k in _free(skeleton) else turn
        parts += [0, 0, 0] if motion == SHIFT or k in _free(skeleton) else point
    for closure in skeleton.closures:
        parts += turn if closure.kind == LOOP else point
        parts += [*point, int(closure.kind == DISTANCE)]
    return np.array(parts)


def drawn(skeleton: Skeleton, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (K,) of a generic complex mechanism, and values (values,) at which it is closed."""
    mask = generic(skeleton)
    vector = mask * (random.normal(size=len(mask)) + 0.5j * random.normal(size=len(mask)))
    X = np.array(
        random.uniform(-np.pi, np.pi, skeleton.first_value[-1]) + 0.3j * random.normal(size=skeleton.first_value[-1])
    )
    for at in skeleton.balls:
        X[at : at + 4] /= np.sqrt((X[at : at + 4] ** 2).sum())
    numbers = numbers_of(skeleton, vector[None])
    posed = Posed(skeleton, numbers, X[None])
    for k, closure in enumerate(skeleton.closures):
        (R, p), (S, r) = (posed.pose(branch) for branch in closure.branches)
        inverse = np.swapaxes(R, 1, 2)
        if closure.kind == LOOP:
            numbers.end_R[:, k], numbers.end_p[:, k] = inverse @ S, applied(inverse, r - p)
        elif closure.kind == DISTANCE:
            d = applied(R, numbers.end_p[:, k]) + p - applied(S, numbers.other[:, k]) - r
            numbers.size[:, k] = (d * d).sum(1)
        else:
            numbers.end_p[:, k] = applied(inverse, applied(S, numbers.other[:, k]) + r - p)
    return vector_of(skeleton, numbers)[0], X


def features(skeleton: Skeleton, X: np.ndarray) -> np.ndarray:
    """(P, features) what is alike for values of one pose: cosines and sines, shifts, products of quaternions."""
    out = []
    for motion, at in zip(skeleton.motions, skeleton.first_value, strict=False):
        if motion == TURN:
            out += [np.cos(X[:, at]), np.sin(X[:, at])]
        elif motion == SHIFT:
            out.append(X[:, at])
        else:
            q = X[:, at : at + 4]
            out += [q[:, i] * q[:, j] for i in range(4) for j in range(i, 4)]
    return np.stack(out, axis=1)


def distinct(skeleton: Skeleton, X: np.ndarray, near: float = 1e-6) -> np.ndarray:
    """(P,) index of the first member that has the same pose, of each."""
    F = features(skeleton, X)
    out = np.arange(len(F))
    for k in range(1, len(F)):
        off = np.abs(F[:k] - F[k]).max(1) / (1.0 + np.abs(F[k]).max())
        if (j := int(off.argmin())) < k and off[j] < near:
            out[k] = out[j]
    return out

"""How many roots generic mechanisms of a skeleton have, where that is proved, and by whom."""

from __future__ import annotations

import numpy as np

from shiftjax.record import record
from shiftjax.run.assemblies.skeleton import (
    BALL,
    DISTANCE,
    LOOP,
    PLANAR,
    SHIFT,
    SPATIAL,
    SPHERICAL,
    TURN,
    ScrewNumbers,
    Skeleton,
)


@record
class RootCount:
    """A proved number of roots with its source; None where none is known here."""

    count: int | None
    source: str


FLAT = 1e-7  # sines by which axes may miss a plane, parts of the length by which they may miss a point
UNKNOWN = RootCount(None, "no proved number of roots is known for this group")
LEE_LIANG = "Lee, Liang 1988; Raghavan, Roth 1993"
ONE_LOOP = {0: (16, LEE_LIANG), 1: (16, LEE_LIANG), 2: (8, LEE_LIANG), 3: (2, LEE_LIANG)}  # shifts of six


def root_count(skeleton: Skeleton) -> RootCount:
    """Of a generic mechanism, in poses: complex ones count."""
    motions, closures = skeleton.motions, skeleton.closures
    kinds = [closure.kind for closure in closures]
    shifts, plain = motions.count(SHIFT), BALL not in motions
    if kinds == [LOOP] and plain and skeleton.space == SPATIAL and len(motions) == 6 and shifts in ONE_LOOP:
        return RootCount(*ONE_LOOP[shifts])
    if kinds == [LOOP] and skeleton.space == SPHERICAL and motions == (TURN,) * 3:
        return RootCount(2, "a spherical triangle")
    if kinds == [LOOP] * 2 and skeleton.space == PLANAR and motions == (TURN,) * 6:
        return RootCount(6, "Primrose, Freudenstein, Roth 1967; Gosselin, Sefrioui, Richard 1992")
    if kinds == [LOOP] * 2 and skeleton.space == SPHERICAL and motions == (TURN,) * 6:
        return RootCount(8, "Gosselin, Sefrioui, Richard 1994")
    if kinds == [DISTANCE] * 6 and _one_body(skeleton):
        return RootCount(40, "Ronga, Vust 1992; Mourrain 1993; Wampler 1996")
    return UNKNOWN


def count_of(skeleton: Skeleton, numbers: ScrewNumbers) -> RootCount:
    """Of members that are no generic ones: fewer, where that is proved of all; else as `root_count`."""
    ring = [closure.kind for closure in skeleton.closures] == [LOOP] and not skeleton.closures[0].branches[1]
    if ring and skeleton.space == SPATIAL and skeleton.motions == (TURN,) * 6 and _wrist(skeleton, numbers):
        return RootCount(8, "three axes in a row meet in a point: Pieper 1968")
    return root_count(skeleton)


def _wrist(skeleton: Skeleton, numbers: ScrewNumbers) -> bool:
    """Whether three axes of a ring that follow one another meet in a point, of all members."""
    order = list(skeleton.closures[0].branches[0])
    axis, center = numbers.axis[:, order], numbers.center[:, order]
    R, p = numbers.end_R[:, 0], numbers.end_p[:, 0]
    axis = np.real(np.concatenate([axis, np.einsum("pij,pkj->pki", R, axis[:, :2])], axis=1))  # once around
    center = np.real(np.concatenate([center, np.einsum("pij,pkj->pki", R, center[:, :2]) + p[:, None]], axis=1))
    for first in range(len(order)):
        lines = slice(first, first + 3)
        off = center[:, lines] - common_point(axis[:, lines], center[:, lines])[:, None]
        bent = np.abs(np.cross(axis[:, lines][:, :2], axis[:, lines][:, 1:])).max((1, 2)) > FLAT
        if np.abs(np.cross(axis[:, lines], off)).max() < FLAT and bent.all():
            return True
    return False


def common_point(axis: np.ndarray, center: np.ndarray) -> np.ndarray:
    """(P, 3) the point nearest to all lines of given directions and points (P, n, 3)."""
    across = np.eye(3) - axis[..., :, None] * axis[..., None, :]
    return np.linalg.solve(across.sum(1) + 1e-12 * np.eye(3), (across @ center[..., None]).sum(1))[:, :, 0]


def _one_body(skeleton: Skeleton) -> bool:
    """Whether all distances are to points of one body that three shifts and a ball move freely."""
    moving = {branch for closure in skeleton.closures for branch in closure.branches}
    return sorted(skeleton.motions) == sorted((SHIFT,) * 3 + (BALL,)) and moving == {(), (0, 1, 2, 3)}

"""How many roots generic mechanisms of a skeleton have, where that is proved, and by whom.

Sources: E. J. F. Primrose, On the input-output equation of the general 7R-mechanism, Mechanism and Machine Theory 21
(1986); H.-Y. Lee, C.-G. Liang, Displacement analysis of the general spatial 7-link 7R mechanism, ibid. 23 (1988); M.
Raghavan, B. Roth, A general solution for the inverse kinematics of all series chains, Romansy 8 (1990), and Inverse
kinematics of the general 6R manipulator and related linkages, Journal of Mechanical Design 115 (1993); D. L. Pieper,
The kinematics of manipulators under computer control (1968); K. H. Hunt, Structural kinematics of in-parallel-actuated
robot-arms, Journal of Mechanisms, Transmissions, and Automation in Design 105 (1983); C. M. Gosselin, J. Sefrioui,
M. J. Richard, on planar platforms, Mechanism and Machine Theory 27 (1992), and on spherical ones, Journal of Mechanical
Design 116 (1994); F. Ronga, T. Vust, Stewart platforms without computer? (1992); B. Mourrain, The 40 generic positions
of a parallel robot (1993); C. W. Wampler, Forward displacement analysis of general six-in-parallel SPS platform
manipulators using soma coordinates, Mechanism and Machine Theory 31 (1996). `benchmarks/start_roots.py counts` counts
them anew.
"""

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
SERIES = "Raghavan, Roth 1990"
ONE_LOOP = {  # shifts of six
    0: (16, "Primrose 1986; Lee, Liang 1988; Raghavan, Roth 1993"), 1: (16, SERIES), 2: (8, SERIES),
    3: (2, "a spherical triangle, then linear equations"),
}  # fmt: skip


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
        return RootCount(6, "Hunt 1983; Gosselin, Sefrioui, Richard 1992")
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

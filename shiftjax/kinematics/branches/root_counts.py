"""How many roots generic mechanisms of a skeleton have, where that is proved, and by whom."""

from __future__ import annotations

from shiftjax.kinematics.branches.skeleton import (
    BALL,
    DISTANCE,
    LOOP,
    PLANAR,
    SHIFT,
    SPATIAL,
    SPHERICAL,
    TURN,
    Skeleton,
)
from shiftjax.record import record


@record
class RootCount:
    """A proved number of roots with its source; None where none is known here."""

    count: int | None
    source: str


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


def _one_body(skeleton: Skeleton) -> bool:
    """Whether all distances are to points of one body that three shifts and a ball move freely."""
    moving = {branch for closure in skeleton.closures for branch in closure.branches}
    return sorted(skeleton.motions) == sorted((SHIFT,) * 3 + (BALL,)) and moving == {(), (0, 1, 2, 3)}

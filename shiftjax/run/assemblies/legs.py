"""Platforms on six legs of two crossing turns and a ball: six distances first, then each leg by itself. Host code.

Problem: loops of legs between one body and a platform, each leg two turns whose axes meet in a point, and a ball (a
universal joint and a ball joint, with a slide between them that stands). The point and the ball are always as far apart
as at the reference pose, so that the platform is one on six distances (Gough's). Where it stands a leg has two poses:
that in which it points to the ball, and that with both turns half a turn further round: two roots of a square
polynomial each. Refused: other loops; legs whose axes do not meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.run.assemblies.charts import quaternion_of
from shiftjax.run.assemblies.groups import MotionGroup
from shiftjax.run.assemblies.root_counts import FLAT, common_point
from shiftjax.run.assemblies.skeleton import (
    BALL,
    DISTANCE,
    LOOP,
    SHIFT,
    SPATIAL,
    TURN,
    Closure,
    ScrewNumbers,
    Skeleton,
    across,
    applied,
    turned,
)

LEGS = ((TURN, TURN, BALL), (BALL, TURN, TURN))
COUNT = 6  # of a platform that legs leave no freedom


@dataclass
class Platform:
    """A skeleton of legs with a platform of its own: three shifts and a ball more, then the groups of its solution.

    Attributes:
        groups: the platform's, then one for each leg.
    """

    skeleton: Skeleton
    numbers: ScrewNumbers
    groups: Sequence[MotionGroup]


def platform_of(skeleton: Skeleton, numbers: ScrewNumbers) -> Platform | None:
    """The same mechanism with its platform as a body that moves freely; None where it is none on such legs."""
    ties = skeleton.closures
    if skeleton.space != SPATIAL or len(ties) != COUNT - 1 or any(tie.kind != LOOP for tie in ties):
        return None
    shared = set(ties[0].branches).intersection(*(tie.branches for tie in ties))
    if len(shared) != 1:
        return None
    (first,) = shared
    legs, R, p = [first], [np.broadcast_to(np.eye(3), numbers.end_R[:, 0].shape)], [np.zeros_like(numbers.end_p[:, 0])]
    for k, tie in enumerate(ties):  # the platform is the end of the first leg: E = T M of all others
        turn, place = numbers.end_R[:, k], numbers.end_p[:, k]
        if tie.branches[0] != first:
            turn = np.swapaxes(turn, 1, 2)
            place = -applied(turn, place)
        legs.append(tie.branches[1] if tie.branches[0] == first else tie.branches[0])
        R.append(turn)
        p.append(place)
    if not all(tuple(skeleton.motions[k] for k in leg) in LEGS for leg in legs) or len({*sum(legs, ())}) != 3 * COUNT:
        return None
    ends = [_ends(skeleton, numbers, leg) for leg in legs]
    if any(end is None for end in ends):
        return None
    return _with_platform(skeleton, numbers, legs, (R, p), [end for end in ends if end is not None])


def _ends(skeleton: Skeleton, numbers: ScrewNumbers, leg: Sequence[int]) -> tuple[np.ndarray, np.ndarray] | None:
    """(P, 3) each: the ends of a leg that stay as far apart, on the base and on the platform, at the reference pose."""
    turns = [k for k in leg if skeleton.motions[k] == TURN]
    ball = next(k for k in leg if skeleton.motions[k] == BALL)
    axis, center = np.real(numbers.axis[:, turns]), np.real(numbers.center[:, turns])
    point = common_point(axis, center)
    if np.abs(np.cross(axis, center - point[:, None])).max() > FLAT:
        return None
    cross, center = point.astype(complex), numbers.center[:, ball]
    return (cross, center) if skeleton.motions[leg[-1]] == BALL else (center, cross)


def _with_platform(
    skeleton: Skeleton, numbers: ScrewNumbers, legs: Sequence[tuple[int, ...]],
    ways: tuple[Sequence[np.ndarray], Sequence[np.ndarray]], ends: Sequence[tuple[np.ndarray, np.ndarray]],
) -> Platform:  # fmt: skip
    """Three shifts along x, y, z and a ball about the middle of the platform's ends, then distances and loops of it."""
    n, P = len(skeleton.motions), numbers.members
    body = (n, n + 1, n + 2, n + 3)
    place = [_back(R, p, end) for R, p, (_, end) in zip(*ways, ends, strict=True)]  # as T takes them along
    axis = np.concatenate([numbers.axis, np.tile(np.eye(4, 3, dtype=complex), (P, 1, 1))], axis=1)
    center = np.concatenate([numbers.center, np.zeros((P, 3, 3)), np.mean(place, axis=0)[:, None]], axis=1)
    base = [end for end, _ in ends]
    still = np.tile(np.eye(3, dtype=complex), (P, COUNT, 1, 1))
    apart = np.stack([((one - other) ** 2).sum(1) for one, other in ends], axis=1)
    loops = [Closure(LOOP, (leg, body)) for leg in legs]
    inverse = [np.swapaxes(R, 1, 2) for R in ways[0]]
    back = [-applied(R, p) for R, p in zip(inverse, ways[1], strict=True)]  # E M^-1 = T
    nothing = np.zeros((P, COUNT, 3), complex)
    larger = Skeleton(
        (*skeleton.motions, SHIFT, SHIFT, SHIFT, BALL),
        (*[Closure(DISTANCE, ((), body))] * COUNT, *loops),
        SPATIAL,
    )
    screws = ScrewNumbers(
        axis, center,
        np.concatenate([still, np.stack(inverse, axis=1)], axis=1),
        np.concatenate([np.stack(base, axis=1), np.stack(back, axis=1)], axis=1),
        np.concatenate([np.stack(place, axis=1), nothing], axis=1),
        np.concatenate([apart, np.zeros((P, COUNT))], axis=1),
    )  # fmt: skip
    groups = [MotionGroup(body, tuple(range(COUNT)))]
    groups += [MotionGroup(tuple(sorted(leg)), (COUNT + k,)) for k, leg in enumerate(legs)]
    return Platform(larger, screws, groups)


def _back(R: np.ndarray, p: np.ndarray, end: np.ndarray) -> np.ndarray:
    """M of an end of a leg, which E = T M takes where the platform's motion T takes that point of the platform."""
    return applied(R, end) + p


def is_leg(skeleton: Skeleton) -> bool:
    """Whether a skeleton is one leg whose end stands: two turns and a ball in a row."""
    ring = [tie.kind for tie in skeleton.closures] == [LOOP] and skeleton.space == SPATIAL
    return ring and skeleton.closures[0].branches == ((0, 1, 2), ()) and skeleton.motions in LEGS


@np.errstate(all="ignore")  # of legs that point along an axis of their own, whose roots are double or no numbers
def roots_of_legs(skeleton: Skeleton, numbers: ScrewNumbers) -> np.ndarray:
    """(P, 2, values) at which legs close: E M = 1."""
    inverse = np.swapaxes(numbers.end_R[:, 0], 1, 2)
    R, p = inverse, -applied(inverse, numbers.end_p[:, 0])  # E
    turns = (0, 1) if skeleton.motions[0] == TURN else (1, 2)
    ball = 2 if turns == (0, 1) else 0
    axes = [numbers.axis[:, k] for k in turns]
    meeting = common_point(*(np.real(x[:, list(turns)]) for x in (numbers.axis, numbers.center))).astype(complex)
    c = numbers.center[:, ball]
    if ball == 0:  # E^-1 = B(-y) A(-x) Ball^-1 is a leg with the ball at its end
        R, p, axes = numbers.end_R[:, 0], numbers.end_p[:, 0], axes[::-1]
    out = []
    for x, y in _pointed(axes[0], axes[1], c - meeting, applied(R, c) + p - meeting):
        turn = np.matmul(turned(axes[0], x), turned(axes[1], y))
        q = quaternion_of(np.matmul(np.swapaxes(turn, 1, 2), R))
        if ball == 0:
            out.append(np.concatenate([q * [1.0, -1.0, -1.0, -1.0], -y[:, None], -x[:, None]], axis=1))
        else:
            out.append(np.concatenate([x[:, None], y[:, None], q], axis=1))
    return np.stack(out, axis=1)


def _pointed(a: np.ndarray, b: np.ndarray, u: np.ndarray, v: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Both (x, y) for which a turn by y about b and then one by x about a take u to v, (P, 3) all.

    What a turn about a leaves: a . u(y) = a . v, of cos y and sin y a linear equation, of exp(i y) a square one.
    """
    along = (b * u).sum(1)[:, None] * b
    level, cosine, sine = ((a * w).sum(1) for w in (along, u - along, across(b, u)))
    off = level - (a * v).sum(1)
    lead, last = cosine - 1j * sine, cosine + 1j * sine
    root = np.sqrt(off * off - lead * last)
    root = np.where(np.real(np.conj(off) * root) < 0.0, -root, root)
    out = []
    for r in (-(off + root) / lead, -last / (off + root)):
        y = -1j * np.log(r)
        w = applied(turned(b, y), u)
        flat, goal = w - (a * w).sum(1)[:, None] * a, v - (a * v).sum(1)[:, None] * a
        size = (flat * flat).sum(1)
        x = -1j * np.log(((flat * goal).sum(1) + 1j * (a * across(flat, goal)).sum(1)) / size)
        out.append((x, y))
    return out

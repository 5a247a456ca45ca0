"""Which motions and closures of a skeleton are solved together, in which order; and each group as a table knows it.

Problem: blocks of the smallest size such that each depends on those before it: the block triangular form of the pattern
of rows and columns, in which rows of one closure stay together. In a plane they are the Assur groups. Host code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.record import record
from shiftjax.run.assemblies.root_counts import FLAT, common_point
from shiftjax.run.assemblies.skeleton import (
    BALL,
    EYE,
    LOOP,
    PLANAR,
    SHIFT,
    SPATIAL,
    SPHERICAL,
    TURN,
    Closure,
    ScrewNumbers,
    Skeleton,
)
from shiftjax.topology.block_triangular import block_triangular


@record
class MotionGroup:
    """Motions and closures of a skeleton that are solved together."""

    motions: tuple[int, ...]
    closures: tuple[int, ...]


def groups_of(skeleton: Skeleton) -> list[MotionGroup]:
    """In the order in which they can be solved; one where closures and motions do not match."""
    columns = [k for k, motion in enumerate(skeleton.motions) for _ in range(3 if motion == BALL else 1)]
    rows = [(i, row) for i, tie in enumerate(skeleton.closures) for row in skeleton.rows_of(tie)]
    everything = [MotionGroup(tuple(range(len(skeleton.motions))), tuple(range(len(skeleton.closures))))]
    if len(rows) != len(columns):
        return everything
    moving = [_alone(tie) for tie in skeleton.closures]

    def there(i: int, row: int, k: int) -> bool:
        tie = skeleton.closures[i]
        return k in moving[i] and not (tie.kind == LOOP and row < 3 and skeleton.motions[k] == SHIFT)

    blocks = block_triangular([[there(i, row, k) for k in columns] for i, row in rows])
    parts = [({rows[r][0] for r in block}, {columns[c] for c in places}) for block, places in blocks]
    return _whole(parts)


def _alone(tie: Closure) -> set[int]:
    """The motions that move the ends of a closure apart."""
    first, second = map(set, tie.branches)
    return first ^ second


def _whole(parts: Sequence[tuple[set[int], set[int]]]) -> list[MotionGroup]:
    """Parts joined until none shares a closure or a motion with another; what stands between them comes along."""
    joined: list[tuple[set[int], set[int]]] = []
    for closures, motions in parts:
        new = (set(closures), set(motions))
        for k, (others, places) in enumerate(joined):
            if others & closures or places & motions:
                for more, further in joined[k:]:
                    new[0].update(more)
                    new[1].update(further)
                del joined[k:]
                break
        joined.append(new)
    return [MotionGroup(tuple(sorted(motions)), tuple(sorted(closures))) for closures, motions in joined]


@dataclass
class Standard:
    """A group as tables know it: a sole loop as a ring, motions as closures meet them, turns of a plane about +z.

    Attributes:
        places: (values,) where its values stand among those of the group; signs: (values,) by which they are those.
    """

    skeleton: Skeleton
    numbers: ScrewNumbers
    places: np.ndarray
    signs: np.ndarray

    def values(self, X: np.ndarray) -> np.ndarray:
        """(..., values) of the group, of those of the standard form."""
        out = np.empty_like(X)
        with np.errstate(invalid="ignore"):  # roots that are no numbers
            out[..., self.places] = X * self.signs
        return out


def standard(skeleton: Skeleton, numbers: ScrewNumbers) -> Standard:
    """Of a reduced skeleton in its space."""
    skeleton, numbers = _ring(skeleton, numbers)
    skeleton, numbers = _in_line(skeleton, numbers)
    met = (k for closure in skeleton.closures for branch in closure.branches for k in branch)
    order = list(dict.fromkeys([*met, *range(len(skeleton.motions))]))
    firsts = skeleton.first_value
    places = np.array([at for k in order for at in range(firsts[k], firsts[k + 1])])
    name = {k: i for i, k in enumerate(order)}
    closures = tuple(
        Closure(tie.kind, tuple(tuple(name[k] for k in branch) for branch in tie.branches)) for tie in skeleton.closures
    )
    skeleton = Skeleton(tuple(skeleton.motions[k] for k in order), closures, skeleton.space)
    axis, center = numbers.axis[:, order], numbers.center[:, order]
    signs = np.ones(len(places))
    if skeleton.space == PLANAR:
        for k, motion in enumerate(skeleton.motions):
            if motion == TURN:
                signs[skeleton.first_value[k]] = np.sign(np.real(axis[0, k, 2]))
                axis[:, k] = EYE[2]
    return Standard(skeleton, replace(numbers, axis=axis, center=center), places, signs)


def _in_line(skeleton: Skeleton, numbers: ScrewNumbers) -> tuple[Skeleton, ScrewNumbers]:
    """Distances and points with the shorter branch first: what they compare may be exchanged."""
    closures = list(skeleton.closures)
    end_p, other = numbers.end_p.copy(), numbers.other.copy()
    for k, tie in enumerate(closures):
        if tie.kind != LOOP and len(tie.branches[0]) > len(tie.branches[1]):
            closures[k] = Closure(tie.kind, tie.branches[::-1])
            end_p[:, k], other[:, k] = numbers.other[:, k], numbers.end_p[:, k]
    return replace(skeleton, closures=tuple(closures)), replace(numbers, end_p=end_p, other=other)


def _ring(skeleton: Skeleton, numbers: ScrewNumbers) -> tuple[Skeleton, ScrewNumbers]:
    """E1 M = E2 of a sole loop as E2^-1 E1 M = 1."""
    if len(skeleton.closures) != 1 or skeleton.closures[0].kind != LOOP or BALL in skeleton.motions:
        return skeleton, numbers
    first, second = skeleton.closures[0].branches
    axis = numbers.axis.copy()
    axis[:, list(second)] *= -1.0
    ring = Closure(LOOP, ((*second[::-1], *first), ()))
    return replace(skeleton, closures=(ring,)), replace(numbers, axis=axis)


def in_its_space(skeleton: Skeleton, numbers: ScrewNumbers) -> tuple[Skeleton, ScrewNumbers]:
    """The skeleton as one of a plane or about a point where its numbers are; the plane then is x-y, the point 0."""
    turns = [k for k, motion in enumerate(skeleton.motions) if motion == TURN]
    shifts = [k for k, motion in enumerate(skeleton.motions) if motion == SHIFT]
    if BALL in skeleton.motions or not turns:
        return skeleton, numbers
    normal = np.real(numbers.axis[:, turns[0]])
    across = np.abs(np.cross(np.real(numbers.axis[:, turns]), normal[:, None])).max(initial=0.0)
    along = np.abs((np.real(numbers.axis[:, shifts]) * normal[:, None]).sum(2)).max(initial=0.0)
    if max(across, along) < FLAT:
        return replace(skeleton, space=PLANAR), _laid_flat(skeleton, numbers, normal)
    if not shifts and all(tie.kind == LOOP for tie in skeleton.closures):
        point = common_point(np.real(numbers.axis[:, turns]), np.real(numbers.center[:, turns]))
        off = np.real(numbers.center[:, turns]) - point[:, None]
        if np.abs(np.cross(np.real(numbers.axis[:, turns]), off)).max() < FLAT:
            there = replace(numbers, center=np.zeros_like(numbers.center), end_p=np.zeros_like(numbers.end_p))
            return replace(skeleton, space=SPHERICAL), there
    return replace(skeleton, space=SPATIAL), numbers


def _laid_flat(skeleton: Skeleton, numbers: ScrewNumbers, normal: np.ndarray) -> ScrewNumbers:
    """The numbers along axes of which z is the normal (P, 3)."""
    x = np.eye(3)[np.abs(normal).argmin(1)]
    x -= (x * normal).sum(1)[:, None] * normal
    x /= np.linalg.norm(x, axis=1)[:, None]
    Q = np.stack([x, np.cross(normal, x), normal], axis=1)
    flat = [
        np.einsum("pij,pkj->pki", Q, given) for given in (numbers.axis, numbers.center, numbers.end_p, numbers.other)
    ]
    for k, motion in enumerate(skeleton.motions):
        if motion == TURN:
            flat[0][:, k] = np.sign(np.real(flat[0][:, k, 2:])) * [0.0, 0.0, 1.0]
        else:
            flat[0][:, k, 2] = 0.0
    end_R = np.einsum("pij,pkjl,pml->pkim", Q, numbers.end_R, Q)
    return ScrewNumbers(flat[0], flat[1], end_R, flat[2], flat[3], numbers.size)

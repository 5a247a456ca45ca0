"""Loops that stay in one plane, and the three of their coordinates that close them. Build-time code.

Problem: may three coordinates of a loop be found in closed form, as two circles that meet, or a circle and a line? They
may where all the loop's coordinates turn about parallel axes or slide across them, whatever the numbers: that is
looked at, on coordinates and varied numbers at random, in any plane of space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.dynamics.kinematics import Motion, SpeedScrew
from shiftjax.joints.primitives import Rotation, Translation
from shiftjax.plan_elements import RowGroup
from shiftjax.record import record

PARALLEL = 1e-14  # rad between axes that are one direction: a few roundings, which a gap of 1e-13 does not show
EXACT = 1e-12  # of an axis that is one of the base: its planes have no others' components then
TURN, SLIDE = "turn", "slide"
KINDS_OF = {Rotation: TURN, Translation: SLIDE}  # those that come from them may do more


@record
class RingMotion:
    """A coordinate of a loop as it is met on the way round: the real branch back to the base, the virtual one out.

    Attributes:
        joint: of the plan. screw: which of that joint's. speed: its place among all. q: the same of the coordinate.
        sign: +1, or -1 where the way goes against it; of turns about the other side of the plane the opposite.
    """

    kind: str
    joint: int
    screw: int
    speed: int
    q: int
    sign: float


@record
class PlanarDyad:
    """A planar loop and the three motions that close it.

    Attributes:
        group: the rows of the loop. axes: two unit vectors of its plane, along the axes of its base.
        ring: its unknown coordinates. turns: all its coordinates that turn.
    """

    group: RowGroup
    axes: tuple[tuple[float, ...], tuple[float, ...]]
    ring: tuple[RingMotion, ...]
    turns: tuple[RingMotion, ...]


def planar_dyad(motion: Motion, group: RowGroup, speeds: Sequence[int]) -> PlanarDyad | None:
    """The dyad of some speeds of a loop; None where the loop does not stay in a plane, or they do not close it.

    Args:
        motion: of several members, (B,) arrays, whose coordinates and varied numbers are at random: what holds for all
            of them holds whatever they are.
    """
    assert group.loop is not None
    chain, loop = motion.chain(group.loop.base), group.loop
    back = [one for index in loop.real_branch for one in _coordinates(motion, chain.screws_of(index), index, -1.0)]
    out = [one for index in loop.virtual_branch for one in _coordinates(motion, chain.screws_of(index), index, 1.0)]
    coordinates = [*reversed(back), *out]
    normal = next((one.direction[0] for one in coordinates if one.kind == TURN), None)
    if normal is None or not all(one.stays_across(normal) for one in coordinates):
        return None
    ring = [one.about(normal) for one in coordinates if one.speed in speeds]
    if len(ring) != 3 or all(one.kind == SLIDE for one in ring):
        return None
    turns = tuple(one.about(normal) for one in coordinates if one.kind == TURN)
    return PlanarDyad(group, _axes(normal), tuple(ring), turns)


@dataclass
class _Coordinate:
    """A coordinate of a loop; `direction` (B, 3) of its axis at several poses."""

    kind: str
    joint: int
    screw: int
    speed: int
    q: int
    sign: float
    direction: np.ndarray

    def stays_across(self, normal: np.ndarray) -> bool:
        """Whether it always turns about a normal (3,), or slides across it."""
        along = self.direction @ normal
        if self.kind == TURN:
            return bool(np.abs(np.cross(self.direction, normal)).max() < PARALLEL and (along * along[0] > 0.0).all())
        return self.kind == SLIDE and bool(np.abs(along).max() < PARALLEL)

    def about(self, normal: np.ndarray) -> RingMotion:
        side = float(np.sign(self.direction[0] @ normal)) if self.kind == TURN else 1.0
        return RingMotion(self.kind, self.joint, self.screw, self.speed, self.q, side * self.sign)


def _coordinates(motion: Motion, screws: Sequence[SpeedScrew], index: int, sign: float) -> list[_Coordinate]:
    """Of a joint, from its end near ground on."""
    joint = motion.plan.joints[index]
    if any(len(primitive.units) != 1 for primitive in joint.kind.primitives):
        return [_Coordinate("", index, 0, joint.v, joint.q, sign, np.zeros((1, 3)))]
    out = [
        _Coordinate(KINDS_OF.get(type(one), ""), index, k, joint.v + k, joint.q + k, sign, _direction(screw))
        for k, (one, screw) in enumerate(zip(joint.kind.primitives, screws, strict=True))
    ]
    return out[::-1] if joint.reverse else out


def _direction(screw: SpeedScrew) -> np.ndarray:
    """(B, 3) of its axis, or of its velocity where it does not turn."""
    angular, velocity = (
        np.stack(np.broadcast_arrays(*map(np.atleast_1d, x)), axis=1) for x in (screw.angular, screw.velocity)
    )
    return angular if angular.any() else velocity


def _axes(normal: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Two unit vectors whose product is the normal."""
    k = int(np.abs(normal).argmax())
    if abs(normal[k]) > 1.0 - EXACT:
        first, second = np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
        return (
            (tuple(first.tolist()), tuple(second.tolist()))
            if normal[k] > 0.0
            else (tuple(second.tolist()), tuple(first.tolist()))
        )
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    first /= np.linalg.norm(first)
    return tuple(first.tolist()), tuple(np.cross(normal, first).tolist())

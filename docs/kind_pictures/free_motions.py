"""The free motions of a joint, measured on the kind itself: its pose at neighbouring coordinates, by differences.

So a picture shows what the kind does and not what somebody thought of it, also of a kind that somebody else wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftjax.algebra import Mat, Vec, identity, matmul, matvec, plus, zeros
from shiftjax.joints import JointKind

AXIS = (0.42, 0.25, 0.87)  # of a joint that has one of its own: no axis of a frame
STEP = 1e-4  # of a displacement [rad or m]; the error of a central difference is of its square
LARGE = 0.25  # of a number of a kind that has no default
LEANING = 0.8  # rad, of the second of three turns whose first and third axis else fall together
SMALL = 1e-6  # of a unit motion: less is none


class FreeMotion(NamedTuple):
    """What one speed of a joint does to the child, for a unit of it, in axes of the parent's frame.

    Attributes:
        name: of its coordinate, "q[0]", or "v[0]" where a quaternion or rotation vector has no coordinate for it.
        turning: (3,) angular velocity [rad/s for rad/s, or for m/s].
        sliding: (3,) velocity of the child frame's origin [m/s].
        coordinate: which of the kind's coordinates it belongs to.
    """

    name: str
    turning: np.ndarray
    sliding: np.ndarray
    coordinate: int

    @property
    def turns(self) -> bool:
        return bool(np.linalg.norm(self.turning) > SMALL)

    @property
    def pitch(self) -> float:
        """Way along its axis for a radian [m]; 0 of a turn alone."""
        return float(self.turning @ self.sliding / (self.turning @ self.turning)) if self.turns else 0.0

    @property
    def direction(self) -> np.ndarray:
        """Of its axis, or of its slide."""
        way = self.turning if self.turns else self.sliding
        return way / (np.linalg.norm(way) or 1.0)


def numbers(kind: JointKind) -> dict[str, Any]:
    """Numbers of a joint to draw the kind with: defaults, else middling ones."""
    further = {field.name: LARGE if field.default is None else field.default for field in kind.fields}
    length = float(np.linalg.norm(AXIS))
    return {"axis": [x / length for x in AXIS], **further}


def drawn_coordinates(kind: JointKind) -> list[list[float]]:
    """Coordinates to draw a kind at: 0, but for three turns of which else two would be about one line."""
    q = [[1.0, 0.0, 0.0, 0.0] if c.primitive.quaternion else [0.0] * c.nq for c in kind.coordinates]
    motions = free_motions(kind, q)
    turns = [m for m in motions if m.turns]
    single = all(kind.coordinates[m.coordinate].nv == 1 for m in turns)
    if single and len(turns) == 3 and abs(turns[0].direction @ turns[2].direction) > 1.0 - SMALL:
        q[turns[1].coordinate] = [LEANING]
    return q


def free_motions(kind: JointKind, q: Sequence[Sequence[float]]) -> list[FreeMotion]:
    """The motion of each speed of a kind.

    Args:
        q: its coordinates, those of each primitive by themselves.
    """
    n, out = numbers(kind), list[FreeMotion]()
    for place, coordinate in enumerate(kind.coordinates):
        for k in range(coordinate.nv):
            speed = [float(j == k) for j in range(coordinate.nv)]
            rate = coordinate.primitive.rate(q[place], speed)
            ahead, behind = (
                pose(
                    kind,
                    [*q[:place], [x + s * STEP * r for x, r in zip(q[place], rate, strict=True)], *q[place + 1 :]],
                    n,
                )
                for s in (1.0, -1.0)
            )
            turned = (np.array(ahead[0]) - np.array(behind[0])) / (2.0 * STEP) @ np.array(pose(kind, q, n)[0]).T
            skew = 0.5 * (turned - turned.T)
            letter = f"v[{coordinate.v + k}]" if kind.placed else "q" if kind.nq == 1 else f"q[{coordinate.q}]"
            sliding = (np.array(ahead[1]) - np.array(behind[1])) / (2.0 * STEP)
            out.append(FreeMotion(letter, np.array([skew[2, 1], skew[0, 2], skew[1, 0]]), sliding, place))
    return out


def pose(kind: JointKind, q: Sequence[Sequence[float]], n: Mapping[str, Any]) -> tuple[Mat, Vec]:
    """Rotation and translation of the child's frame in the parent's."""
    R, p = identity(), zeros()
    for primitive, values in zip(kind.primitives, q, strict=True):
        turned, shifted = primitive.motion(values, n)
        R, p = matmul(R, turned), plus(p, matvec(R, shifted))
    return R, p

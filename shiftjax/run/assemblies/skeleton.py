"""A mechanism as products of complex exponentials of screws, whose closures are analytic: what paths are followed on.

Problem: residuals and Jacobian of closures at complex coordinates and complex numbers of the mechanism. An angle x
enters by cos x and sin x, so that c^2 + s^2 = 1 holds for complex ones, too, a shift by itself, a ball by a quaternion
of q q = 1. Every motion is that of a screw at the reference pose, where all coordinates are 0 (product of exponentials:
Lynch, Park, Modern Robotics, section 4.1). Lengths are dimensionless. Host code; arrays have members first, (P, ...).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import accumulate

import numpy as np

from shiftjax.record import record

TURN, SHIFT, BALL = "turn", "shift", "ball"
LOOP, DISTANCE, POINT = "loop", "distance", "point"
PLANAR, SPHERICAL, SPATIAL = "planar", "spherical", "spatial"
LOOP_ROWS = {
    PLANAR: (2, 3, 4),
    SPHERICAL: (0, 1, 2),
    SPATIAL: (0, 1, 2, 3, 4, 5),
}  # rotation about x, y, z, then x, y, z
EYE = np.eye(3)


@cache
def _ends_of(sizes: tuple[int, ...]) -> list[int]:
    """Where parts of some sizes begin, and the end."""
    return [0, *accumulate(sizes)]


@record
class Closure:
    """What ties the ends of two branches together: motions in their order, from where both begin."""

    kind: str  # LOOP, DISTANCE or POINT
    branches: tuple[tuple[int, ...], ...]  # two


@record
class Skeleton:
    """The structure of closures, without numbers. Equal ones have the same generic roots.

    Attributes:
        motions: TURN, SHIFT or BALL each. space: which rows of loops count.
    """

    motions: tuple[str, ...]
    closures: tuple[Closure, ...]
    space: str

    @property
    def first_value(self) -> list[int]:
        """Where each motion stands in a vector of values; its end as the last entry."""
        return _ends_of(tuple(4 if motion == BALL else 1 for motion in self.motions))

    @property
    def first_column(self) -> list[int]:
        """Where each motion stands in a vector of changes; its end as the last entry."""
        return _ends_of(tuple(3 if motion == BALL else 1 for motion in self.motions))

    @property
    def balls(self) -> list[int]:
        """First values of the quaternions."""
        return [at for at, motion in zip(self.first_value, self.motions, strict=False) if motion == BALL]

    def rows_of(self, closure: Closure) -> tuple[int, ...]:
        """Rows that a closure has: of a loop some of six, of a point its axes, of a distance one."""
        if closure.kind == LOOP:
            return LOOP_ROWS[self.space]
        return (0,) if closure.kind == DISTANCE else (0, 1) if self.space == PLANAR else (0, 1, 2)

    @property
    def rows(self) -> int:
        return sum(len(self.rows_of(closure)) for closure in self.closures)

    @property
    def still(self) -> np.ndarray:
        """(values,) of the reference pose."""
        out = np.zeros(self.first_value[-1], complex)
        out[self.balls] = 1.0
        return out


@dataclass
class ScrewNumbers:
    """Of P members of a skeleton, at the reference pose; complex.

    Attributes:
        axis, center: (P, motions, 3) unit direction of a turn or shift; a point of the line of a turn, of a ball its
            own.
        end_R, end_p: (P, closures, 3, 3) and (P, closures, 3): of a loop the end of its first branch, seen from that of
            the second; else the point of the first branch is `end_p`, of the second `other`. size: (P, closures)
            squares of distances.
    """

    axis: np.ndarray
    center: np.ndarray
    end_R: np.ndarray
    end_p: np.ndarray
    other: np.ndarray
    size: np.ndarray

    def of(self, members: np.ndarray | slice) -> ScrewNumbers:
        """Those of some members."""
        return replace(self, **{item.name: getattr(self, item.name)[members] for item in fields(self)})

    @property
    def members(self) -> int:
        return len(self.axis)


Pose = tuple[np.ndarray, np.ndarray]  # (P, 3, 3), (P, 3)
Lines = tuple[slice | list[int], np.ndarray, np.ndarray, np.ndarray]  # columns, then (P, n, 3) each


def applied(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(P, 3) vectors turned by (P, 3, 3)."""
    return np.matmul(R, x[..., None])[..., 0]


def across(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product of (P, 3); a third of the time of `numpy.cross`."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def turned(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """(P, 3, 3) turns about unit axes by complex angles."""
    c, sine = np.cos(angle), np.sin(angle)[:, None] * axis
    u = (1.0 - c)[:, None] * axis
    out = u[:, :, None] * axis[:, None, :]
    out[:, (0, 1, 2), (0, 1, 2)] += c[:, None]
    out[:, (2, 0, 1), (1, 2, 0)] += sine
    out[:, (1, 2, 0), (2, 0, 1)] -= sine
    return out


def of_quaternion(q: np.ndarray) -> np.ndarray:
    """(P, 3, 3) of complex quaternions (P, 4) with q q = 1."""
    w, v = q[:, 0], q[:, 1:]
    out = 2.0 * v[:, :, None] * v[:, None, :] + (2.0 * w * w - 1.0)[:, None, None] * EYE
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, i, j] -= 2.0 * w * v[:, k]
        out[:, j, i] += 2.0 * w * v[:, k]
    return out


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(P, 4) products of quaternions."""
    w = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(1)
    return np.concatenate([w[:, None], a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + across(a[:, 1:], b[:, 1:])], axis=1)


class Posed:
    """A skeleton at values X (P, values): poses of the ends of its branches, residuals and Jacobian."""

    def __init__(self, skeleton: Skeleton, numbers: ScrewNumbers, X: np.ndarray) -> None:
        self.skeleton, self.numbers, self.X = skeleton, numbers, X
        self._before: dict[int, Pose | None] = {}  # of every motion
        self._ends: dict[tuple[int, ...], Pose | None] = {(): None}  # None is no motion at all
        self._lines: dict[tuple[int, ...], Lines] = {}

    def end(self, branch: tuple[int, ...]) -> Pose | None:
        """What the motions of a branch do, one after the other; None where there are none."""
        if branch not in self._ends:
            before = self.end(branch[:-1])
            self._before[branch[-1]] = before
            R, p = self._motion(branch[-1])
            self._ends[branch] = (R, p) if before is None else _product(before, (R, p))
        return self._ends[branch]

    def _motion(self, k: int) -> Pose:
        at, motion = self.skeleton.first_value[k], self.skeleton.motions[k]
        if motion == SHIFT:
            R = np.broadcast_to(EYE.astype(complex), (len(self.X), 3, 3))
            return R, self.X[:, at, None] * self.numbers.axis[:, k]
        center = self.numbers.center[:, k]
        if motion == BALL:
            R = of_quaternion(self.X[:, at : at + 4])
        else:
            R = turned(self.numbers.axis[:, k], self.X[:, at])
        return R, center - applied(R, center)

    def line(self, k: int, axis: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Axis and center (P, 3) of a motion where those before it have taken it."""
        axis = self.numbers.axis[:, k] if axis is None else axis
        before, center = self._before[k], self.numbers.center[:, k]
        if before is None:
            return axis, center
        return applied(before[0], axis), applied(before[0], center) + before[1]

    def residuals(self) -> np.ndarray:
        """(P, rows): of a loop the antisymmetric part of its turn and the gap; |d|^2 less its square over 2."""
        out = []
        for k, closure in enumerate(self.skeleton.closures):
            phi = self._gap(k, closure)[0]
            out.append(phi[:, list(self.skeleton.rows_of(closure))])
        return np.concatenate(out, axis=1)

    def _gap(self, k: int, closure: Closure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All residuals of a closure, and the points of both branches that they compare."""
        first, second = (self.end(branch) for branch in closure.branches)
        p = self.numbers.end_p[:, k]
        a = p if first is None else applied(first[0], p) + first[1]
        if closure.kind == LOOP:
            b = np.zeros_like(a) if second is None else second[1]
            relative = self._relative(k, first, second)
            vee = 0.5 * np.stack(
                [
                    relative[:, 2, 1] - relative[:, 1, 2],
                    relative[:, 0, 2] - relative[:, 2, 0],
                    relative[:, 1, 0] - relative[:, 0, 1],
                ],
                axis=1,
            )
            return np.concatenate([vee, a - b], axis=1), a, b
        other = self.numbers.other[:, k]
        b = other if second is None else applied(second[0], other) + second[1]
        d = a - b
        if closure.kind == POINT:
            return d, a, b
        return 0.5 * ((d * d).sum(1) - self.numbers.size[:, k])[:, None], a, b

    def _relative(self, k: int, first: Pose | None, second: Pose | None) -> np.ndarray:
        """(P, 3, 3) the turn that a loop has left, from the end of one branch to that of the other."""
        R = self.numbers.end_R[:, k] if first is None else np.matmul(first[0], self.numbers.end_R[:, k])
        return R if second is None else np.matmul(R, np.swapaxes(second[0], 1, 2))

    def turn_left(self) -> np.ndarray:
        """(P,) by how much the turns of loops differ from none: at a half turn their residuals vanish, too."""
        worst = np.zeros(len(self.X))
        for k, closure in enumerate(self.skeleton.closures):
            if closure.kind == LOOP:
                first, second = (self.end(branch) for branch in closure.branches)
                worst = np.maximum(worst, np.abs(self._relative(k, first, second) - EYE).max((1, 2)))
        return worst

    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (P, rows) and Jacobian (P, rows, columns); exact where loops have no turn left."""
        residuals, blocks = [], []
        for k, closure in enumerate(self.skeleton.closures):
            phi, a, b = self._gap(k, closure)
            rows = list(self.skeleton.rows_of(closure))
            J = np.zeros((len(phi), self.skeleton.first_column[-1], 6), complex)
            for branch, end, sign in zip(closure.branches, (a, b), (1.0, -1.0), strict=True):
                if branch:
                    self._fill(J, branch, end, sign)
            J = np.swapaxes(J, 1, 2)
            if closure.kind == DISTANCE:
                J = np.matmul((a - b)[:, None, :], J[:, 3:])
            residuals.append(phi[:, rows])
            blocks.append(J[:, rows] if closure.kind != POINT else J[:, 3:][:, rows])
        return np.concatenate(residuals, axis=1), np.concatenate(blocks, axis=1)

    def _fill(self, J: np.ndarray, branch: tuple[int, ...], end: np.ndarray, sign: float) -> None:
        """Adds what changes of a branch do to its end: turns, then shifts, as rows of J (P, columns, 6)."""
        columns, turns, axis, center = self._lines_of(branch)
        J[:, columns, 3:] += sign * (across(turns, end[:, None] - center) + (axis - turns))
        J[:, columns, :3] += sign * turns

    def _lines_of(self, branch: tuple[int, ...]) -> Lines:
        """Columns of a branch, as a slice where they are in a row; axes of turns, 0 of shifts; all axes; centers."""
        if branch not in self._lines:
            columns, turns, lines = [], [], []
            for k in branch:
                ball = self.skeleton.motions[k] == BALL
                for j in range(3 if ball else 1):
                    given = np.broadcast_to(EYE[j].astype(complex), (len(self.X), 3)) if ball else None
                    lines.append(self.line(k, given))
                    columns.append(self.skeleton.first_column[k] + j)
                    turns.append(self.skeleton.motions[k] != SHIFT)
            axis, center = (np.stack(x, axis=1) for x in zip(*lines, strict=True))
            row = columns == list(range(columns[0], columns[-1] + 1))  # a slice is many times as fast as a list
            places = slice(columns[0], columns[-1] + 1) if row else columns
            self._lines[branch] = places, axis * np.array(turns, float)[:, None], axis, center
        return self._lines[branch]

    @cached_property
    def _zero(self) -> Pose:
        members = len(self.X)
        return np.broadcast_to(EYE.astype(complex), (members, 3, 3)), np.zeros((members, 3), complex)

    def pose(self, branch: tuple[int, ...]) -> Pose:
        """As `end`, of no motions the identity."""
        end = self.end(branch)
        return self._zero if end is None else end


def _product(first: Pose, second: Pose) -> Pose:
    return np.matmul(first[0], second[0]), applied(first[0], second[1]) + first[1]


def moved(skeleton: Skeleton, X: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Values (P, values) after changes (P, columns): sums, and quaternions turned on the left."""
    out = X.copy()
    for motion, at, column in zip(skeleton.motions, skeleton.first_value, skeleton.first_column, strict=False):
        if motion != BALL:
            out[:, at] += change[:, column]
            continue
        step = np.concatenate([np.ones((len(X), 1)), 0.5 * change[:, column : column + 3]], axis=1)
        out[:, at : at + 4] = times(step, X[:, at : at + 4])
    return normal(skeleton, out)


def normal(skeleton: Skeleton, X: np.ndarray) -> np.ndarray:
    """Values whose quaternions have q q = 1, in place."""
    for at in skeleton.balls:
        q = X[:, at : at + 4]
        q /= np.sqrt((q * q).sum(1))[:, None]
    return X


def rates(skeleton: Skeleton, X: np.ndarray, change: np.ndarray) -> np.ndarray:
    """(P, values) derivatives of values along changes (P, columns)."""
    out = np.zeros_like(X)
    for motion, at, column in zip(skeleton.motions, skeleton.first_value, skeleton.first_column, strict=False):
        if motion == BALL:
            step = np.concatenate([np.zeros((len(X), 1)), 0.5 * change[:, column : column + 3]], axis=1)
            out[:, at : at + 4] = times(step, X[:, at : at + 4])
        else:
            out[:, at] = change[:, column]
    return out


def reduced(
    skeleton: Skeleton, numbers: ScrewNumbers, X: np.ndarray, free: Sequence[int], closures: Sequence[int]
) -> tuple[Skeleton, ScrewNumbers]:
    """What is left of some closures where all motions but the free ones stand at X (P, values); those renumbered."""
    still = X.copy()
    for k in free:
        at = slice(skeleton.first_value[k], skeleton.first_value[k + 1])
        still[:, at] = skeleton.still[at]
    posed, place = Posed(skeleton, numbers, still), {k: i for i, k in enumerate(free)}
    ties = [skeleton.closures[k] for k in closures]
    ends = [tuple(posed.pose(branch) for branch in tie.branches) for tie in ties]
    axis, center = (np.zeros((len(X), len(free), 3), complex) for _ in range(2))
    for k in free:
        if k in posed._before:
            axis[:, place[k]], center[:, place[k]] = posed.line(k)
    end_R, end_p, other = [], [], []
    for k, tie, (first, second) in zip(closures, ties, ends, strict=True):
        a = applied(first[0], numbers.end_p[:, k]) + first[1]
        R = np.matmul(first[0], numbers.end_R[:, k])
        if tie.kind == LOOP:  # E1 F1 M = E2 F2 as E1 (F1 M F2^-1) = E2
            R = np.matmul(R, np.swapaxes(second[0], 1, 2))
            a = a - applied(R, second[1])
        end_R.append(R)
        end_p.append(a)
        other.append(applied(second[0], numbers.other[:, k]) + second[1])
    ties_left = tuple(
        Closure(tie.kind, tuple(tuple(place[k] for k in branch if k in place) for branch in tie.branches))
        for tie in ties
    )
    left = ScrewNumbers(
        axis,
        center,
        np.stack(end_R, axis=1),
        np.stack(end_p, axis=1),
        np.stack(other, axis=1),
        numbers.size[:, list(closures)],
    )
    return Skeleton(tuple(skeleton.motions[k] for k in free), ties_left, skeleton.space), left

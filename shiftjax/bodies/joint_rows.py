"""The rows of a joint between two free bodies: what its motions bar, as functions of both frames. Lane code, and NumPy.

Problem: a kind says what it lets its child do, by a motion M(q) and a screw for a unit of each speed. Wanted are the
functions of the frames' poses that vanish where the child is at M(q) for some q, as many as the kind bars directions.

With e = (e_r, e_t), the rotation vector and the way from where the child is to M(q), the coordinates q are those of the
nearest M(q): S^T D e = 0 with the screws S, and D = 1 for metres, length^2 for radians. The rows are W e, where W spans
what no screw reaches, W S = 0: W e = 0 says that e is in the span of S, of which S^T D e = 0 leaves only e = 0. So the
rows vanish together exactly where the joint is whole, and there their derivatives are W: the wrenches that do no work
on the joint, whatever the length. Elsewhere they go by q, too: by forward mode, and dq by the implicit function.

W has rows of turns, n . e_r with n across the axes of all turns, and rows of ways, b . (e_t - V c), where c are the
turns that e_r is made of and V their ways, with b across what the joint slides along. Where nothing turns, or nothing
slides, all directions are barred, and the rows are along the axes of the world; else along directions in the parent's
frame, of which two across one line are chosen by the line (Duff et al., Building an Orthonormal Basis, Revisited,
2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    cross,
    dot,
    identity,
    matmul,
    matvec,
    minus,
    plus,
    scale,
    select,
    total,
    transpose,
    unit,
    zeros,
)
from shiftjax.errors import ModelError
from shiftjax.joints.kind import JointKind
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.rotations import vector_of_rotation
from shiftjax.run.closing.host_evaluation import per_member

INDEPENDENT = 1e-6  # of unit vectors at arbitrary coordinates: what is left of one across the others
SETTLED = 1e-12  # rad, or of the length: a change of the nearest coordinates that is rounding
ITERATIONS = 30  # of Newton's method for them; from the measured ones it takes none where the joint is whole
FARTHEST = 0.5  # rad, or of the length: a step of theirs, which far from the joint may lead anywhere
TWIST = 6  # a turn about, and a way along, each axis


class ScrewPattern(NamedTuple):
    """Which screws of a kind turn in independent directions, and which others slide in them."""

    turns: tuple[int, ...]
    slides: tuple[int, ...]


class BarredMotion(NamedTuple):
    """Outputs of the lane function of a joint: conditions of the nearest coordinates, rows of turns and of ways.

    Where `whole_turns`, or `whole_ways`, the rows are a vector in the parent's axes that is barred in all directions.
    """

    nearest: Vec
    turns: Vec
    ways: Vec
    whole_turns: bool
    whole_ways: bool


def motion_and_screws(
    kind: JointKind, q: Sequence[Scalar], n: Mapping[str, Any]
) -> tuple[Mat, Vec, list[Vec], list[Vec]]:
    """Rotation and origin of the child's frame in the parent's; of each speed its turn, and the way of the origin."""
    R, p = identity(), zeros()
    places: list[tuple[Vec, Vec, Vec]] = []
    first = 0
    for primitive in kind.primitives:
        rotation, shift = primitive.motion(q[first : first + primitive.nq], n)
        before = R
        p, R = plus(p, matvec(R, shift)), matmul(R, rotation)
        places += [(angular, velocity, p) for angular, velocity in primitive.screws(before, R, n)]
        first += primitive.nq
    ways = [plus(velocity, cross(angular, minus(p, point))) for angular, velocity, point in places]
    return R, p, [angular for angular, _, _ in places], ways


def pattern_of(kind: JointKind, n: Mapping[str, Any]) -> ScrewPattern:
    """The pattern at arbitrary coordinates, of two places the larger one: no singular pose of the joint decides."""
    random = np.random.default_rng(0)
    best = ScrewPattern((), ())
    for _ in range(2):
        q = arbitrary(kind, random)
        _, _, turns, ways = motion_and_screws(kind, [*map(float, q)], n)
        axes, shifts = np.array(turns, float).reshape(-1, 3), np.array(ways, float).reshape(-1, 3)
        picked = _independent(axes)
        parts = np.linalg.lstsq(axes[picked].T, axes.T, rcond=None)[0] if picked else np.zeros((0, len(axes)))
        slides = shifts - parts.T @ shifts[picked]  # of each screw, less the turns that undo its own
        slides[picked] = 0.0
        there = ScrewPattern(tuple(picked), tuple(_independent(slides)))
        best = max(best, there, key=lambda one: len(one.turns + one.slides))
    return best


def arbitrary(kind: JointKind, random: np.random.Generator) -> np.ndarray:
    """(nq,) coordinates of some pose of the joint, away from special ones."""
    parts: list[np.ndarray] = []
    for primitive in kind.primitives:
        part = random.uniform(0.3, 1.1, primitive.nq)
        parts.append(part / np.linalg.norm(part) if primitive.quaternion else part)
    return np.concatenate(parts) if parts else np.zeros(0)


def _independent(vectors: np.ndarray) -> list[int]:
    """Which of some vectors (n, 3) are independent of those before them."""
    picked: list[int] = []
    for k, vector in enumerate(vectors):
        basis = vectors[picked]
        rest = vector - basis.T @ np.linalg.lstsq(basis.T, vector, rcond=None)[0] if picked else vector
        if np.linalg.norm(rest) > INDEPENDENT * max(1.0, float(np.linalg.norm(vector))):
            picked.append(k)
    return picked


def rows_of(
    kind: JointKind,
    pattern: ScrewPattern,
    R: Mat,
    p: Vec,
    q: Vec,
    n: Mapping[str, Any],
    length: Scalar,
    normal: Vec | None,
) -> BarredMotion:
    """The rows at a pose of the child's frame in the parent's, and at coordinates; lane code.

    Args:
        normal: of the plane in which all moves, in the parent's frame: rows in it alone; None in space.
    """
    there, place, turns, ways = motion_and_screws(kind, q, n)
    off, way = vector_of_rotation(matmul(there, transpose(R))), minus(place, p)
    nearest = [length * length * dot(w, off) + dot(v, way) for w, v in zip(turns, ways, strict=True)]
    axes = [turns[k] for k in pattern.turns]
    parts = parts_along(axes, off)
    left = minus(way, _sum(parts, [ways[k] for k in pattern.turns]))
    slides = []
    for k in pattern.slides:
        undone = _sum(parts_along(axes, turns[k]), [ways[j] for j in pattern.turns])
        slides.append(minus(ways[k], undone))
    if normal is None:
        about, along = across(axes), across(slides)
    else:
        about = [] if axes else [normal]
        along = [unit(cross(normal, slides[0]))] if len(slides) == 1 else [] if slides else None
    return BarredMotion(
        nearest,
        off if about is None else [dot(direction, off) for direction in about],
        left if along is None else [dot(direction, left) for direction in along],
        about is None,
        along is None,
    )


def across(directions: Sequence[Vec]) -> list[Vec] | None:
    """Unit vectors that span what is across all of some independent directions; None where that is everything."""
    if not directions:
        return None
    if len(directions) == 1:
        return across_one(unit(directions[0]))
    return [unit(cross(directions[0], directions[1]))] if len(directions) == 2 else []


def across_one(u: Vec) -> list[Vec]:
    """Two unit vectors across one another and a unit vector; those of the axes where it is along one.

    The formula of Duff et al. about the largest entry, so that no rounding of an entry near 0 turns them about. Weights
    put ties between entries at lines that nobody draws.
    """
    chosen, largest = _about(u, 2), 1.23 * abs(u[2])
    for k, weight in ((1, 1.11), (0, 1.0)):
        size = weight * abs(u[k])
        ahead = size > largest
        chosen = [
            [select(ahead, a, b) for a, b in zip(*pair, strict=True)] for pair in zip(_about(u, k), chosen, strict=True)
        ]
        largest = select(ahead, size, largest)
    return chosen


def _about(u: Vec, k: int) -> list[Vec]:
    """The two unit vectors by the formula about entry k, which must not be 0."""
    order = [(k + 1) % 3, (k + 2) % 3, k]
    a, b, c = (u[place] for place in order)
    sign = select(c < 0.0, -1.0, 1.0)
    factor = -1.0 / (sign + c)
    pair = [
        [1.0 + sign * a * a * factor, sign * a * b * factor, -sign * a],
        [a * b * factor, sign + b * b * factor, -b],
    ]
    return [[vector[order.index(place)] for place in range(3)] for vector in pair]


def parts_along(axes: Sequence[Vec], vector: Vec) -> Vec:
    """Parts of a vector along some independent axes, by least squares: the normal equations, eliminated."""
    matrix = [[dot(a, b) for b in axes] for a in axes]
    right = [dot(a, vector) for a in axes]
    count = range(len(axes))
    for k in count:
        for i in range(k + 1, len(axes)):
            factor = matrix[i][k] / matrix[k][k]
            matrix[i] = minus(matrix[i], scale(factor, matrix[k]))
            right[i] = right[i] - factor * right[k]
    for i in reversed(count):
        known = total(matrix[i][j] * right[j] for j in range(i + 1, len(axes)))
        right[i] = (right[i] - known) / matrix[i][i]
    return right


def _sum(parts: Sequence[Scalar], vectors: Sequence[Vec]) -> Vec:
    out = zeros()
    for part, vector in zip(parts, vectors, strict=True):
        out = plus(out, scale(part, vector))
    return out


class JointState(NamedTuple):
    """Rows of N joints of one kind, and what they follow by.

    Attributes:
        q: (N, nq) the nearest coordinates. follows: (N, nv, 6) change of their displacements for a unit twist.
        turns, ways: (N, m) rows. turns_by_twist, ways_by_twist: their derivatives (N, m, 6) for twists of the child
            before the parent, about and along the parent's axes, at the child's origin.
    """

    q: np.ndarray
    follows: np.ndarray
    turns: np.ndarray
    ways: np.ndarray
    turns_by_twist: np.ndarray
    ways_by_twist: np.ndarray


class JointRows:
    """The rows of a kind of joint on NumPy, with derivatives of forward mode.

    Args:
        shapes: of the joint's numbers, by field. planar: whether all moves in one plane.

    Attributes:
        counts: conditions of the nearest coordinates, rows of turns and of ways; of ways that are barred in all
            directions three, in a plane, too. whole_turns, whole_ways: as of `BarredMotion`.
    """

    def __init__(
        self, kind: JointKind, pattern: ScrewPattern, shapes: Iterable[tuple[str, tuple[int, ...]]], *, planar: bool
    ) -> None:
        self.kind, self.pattern, self.shapes, self.planar = kind, pattern, dict(shapes), planar
        self.counts, self.whole_turns, self.whole_ways = (0, 0, 0), False, False
        count = 16 + kind.nq + sum(int(np.prod(shape)) for shape in self.shapes.values())
        graph = graph_of(self._outputs, count)
        moving = range(12 + kind.nq)
        self._run = InNumpy(forward(graph, count, moving, range(sum(self.counts)), TWIST + kind.nv))

    def at(
        self,
        R: np.ndarray,
        p: np.ndarray,
        near: np.ndarray,
        numbers: Mapping[str, np.ndarray],
        normal: np.ndarray,
        length: float,
    ) -> JointState:
        """The rows of N joints.

        Args:
            R, p: (N, 3, 3), (N, 3) pose of the child's frame in the parent's. near: (N, nq) coordinates within half a
                turn of which angles are taken. numbers: by field (N, ...). normal: (N, 3), of planar ones alone.
            length: by which radians are weighted [m].
        """
        first, second, third = self.counts
        units = np.array([length if unit == "rad" else 1.0 for unit in self.kind.units])
        given = [
            np.full(len(R), length),
            *np.moveaxis(normal, -1, 0),
            *(x for name in self.shapes for x in _flat(numbers[name])),
        ]
        q = self._measured(R, p, near, numbers)
        for _ in range(ITERATIONS):
            values, slopes, back, step = self._newton(R, p, q, given, units)
            size = np.nan_to_num(np.abs(step * units).max(1, initial=0.0))  # of poses that are no numbers none
            if not size.max(initial=0.0) > SETTLED * length:
                break
            q = self._moved(q, step * np.minimum(1.0, FARTHEST * length / np.maximum(size, SETTLED))[:, None])
        else:
            values, slopes, back, _ = self._newton(R, p, q, given, units)
        follows = -back @ slopes[:, :first, :TWIST]
        rows = slopes[:, first:, :TWIST] + slopes[:, first:, TWIST:] @ follows
        turns, ways = values[:, first : first + second], values[:, first + second :]
        return JointState(q, follows, turns, ways, rows[:, :second], rows[:, second : second + third])

    def _newton(
        self, R: np.ndarray, p: np.ndarray, q: np.ndarray, given: Sequence[np.ndarray], units: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Outputs and slopes at coordinates, the inverse (N, nv, nv) of the conditions, and the step (N, nv) of q."""
        values, slopes = self._evaluated(R, p, q, given)
        conditions = self.counts[0]
        by_q = slopes[:, :conditions, TWIST:] / units[:, None] / units
        by_q = np.where(np.isfinite(by_q).all((1, 2), keepdims=True), by_q, 0.0)
        back = np.linalg.pinv(by_q, rcond=INDEPENDENT) / units[:, None] / units
        return values, slopes, back, -(back @ values[:, :conditions, None])[:, :, 0]

    def _outputs(self, x: list[Scalar]) -> Vec:
        """Lane code of all inputs: R by rows, p, q, the length, the plane's normal, numbers."""
        rest = iter(x)
        R = [[next(rest) for _ in range(3)] for _ in range(3)]
        p, q, (length,), normal = ([next(rest) for _ in range(count)] for count in (3, self.kind.nq, 1, 3))
        n = {name: _nested(rest, shape) for name, shape in self.shapes.items()}
        rows = rows_of(self.kind, self.pattern, R, p, q, n, length, normal if self.planar else None)
        self.counts = len(rows.nearest), len(rows.turns), len(rows.ways)
        self.whole_turns, self.whole_ways = rows.whole_turns, rows.whole_ways
        return [*rows.nearest, *rows.turns, *rows.ways]

    def _evaluated(
        self, R: np.ndarray, p: np.ndarray, q: np.ndarray, given: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(N, m) outputs, and (N, m, 6 + nv) their slopes along twists and speeds."""
        members, total_rows, directions = len(R), sum(self.counts), TWIST + self.kind.nv
        seeds = np.zeros((directions, 12 + self.kind.nq, members))
        for k, axis in enumerate(np.eye(3)):
            seeds[k, :9] = np.cross(axis, R, axisb=1, axisc=1).reshape(members, 9).T
            seeds[3 + k, 9:12] = axis[:, None]
        for k, speed in enumerate(np.eye(self.kind.nv)):
            seeds[TWIST + k, 12:] = self._rates(q, np.broadcast_to(speed, (members, self.kind.nv))).T
        inputs = [*R.reshape(members, 9).T, *p.T, *q.T, *given, *seeds.reshape(-1, members)]
        out = per_member(self._run(inputs), members)
        slopes = out[total_rows:].reshape(directions, total_rows, members)
        return out[:total_rows].T, np.moveaxis(slopes, (0, 1, 2), (2, 1, 0))

    def _measured(
        self, R: np.ndarray, p: np.ndarray, near: np.ndarray, numbers: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """(N, nq) coordinates to begin with, of a kind whose poses cannot be measured those `near`."""
        q, n = near.copy(), {name: _nested(iter(_flat(numbers[name])), shape) for name, shape in self.shapes.items()}
        try:
            measured = self.kind.measured([[R[:, i, j] for j in range(3)] for i in range(3)], [*p.T], n)
        except ModelError:
            return q
        for k, value in enumerate(measured):
            q[:, k] = value
        for one in self.kind.coordinates:
            if one.nq == 1 and one.unit == "rad":
                q[:, one.q] += 2.0 * np.pi * np.round((near[:, one.q] - q[:, one.q]) / (2.0 * np.pi))
        return q

    def _rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(N, nq) rates of coordinates for speeds (N, nv)."""
        out = np.zeros_like(q)
        for one in self.kind.coordinates:
            part = one.primitive.rate([*q[:, one.q : one.q + one.nq].T], [*v[:, one.v : one.v + one.nv].T])
            for k, rate in enumerate(part):
                out[:, one.q + k] = rate
        return out

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        q = q + self._rates(q, step)
        for one in self.kind.coordinates:
            if one.primitive.quaternion:
                part = slice(one.q, one.q + 4)
                q[:, part] /= np.linalg.norm(q[:, part], axis=1, keepdims=True)
        return q


@lru_cache(maxsize=128)
def joint_rows(
    kind: JointKind, pattern: ScrewPattern, shapes: tuple[tuple[str, tuple[int, ...]], ...], *, planar: bool
) -> JointRows:
    """Those of `JointRows`, made once: graphs of a kind take 20 ms."""
    return JointRows(kind, pattern, shapes, planar=planar)


def _flat(values: np.ndarray) -> np.ndarray:
    """(count, N) of (N, ...)."""
    return values.reshape(len(values), -1).T


def _nested(values: Iterator[Scalar], shape: Sequence[int]) -> Any:
    return [_nested(values, shape[1:]) for _ in range(shape[0])] if shape else next(values)

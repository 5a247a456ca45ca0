"""Planar dyads in closed form: three motions of a planar loop whose others are known. Lane code.

Problem: a loop of turns about parallel axes and slides across them, of whose coordinates all but three are known;
wanted is the change of these three that closes it. About the loop as it stands, open, they are a ring of finite motions

    E1(x1) E2(x2) E3(x3) M = 1,   M = R_virtual R_real^-1 of the two ends that are to meet,

products of exponentials of its own screws (Murray, Li, Sastry, A Mathematical Introduction to Robotic Manipulation,
section 3.2), so that any tree, chord and frames will do. A point on the third axis does not see the third motion: of
three turns

    E1 (a + E2 b) = g,   a, b, g between the centers and to where the third one is to be,

is a triangle of three known sides, with w = a.a + b.b - g.g and four times its signed area +-sqrt(4 a.a b.b - w^2);
with a slide a circle meets a line. The sign of this root is that of the loop as it stands, the assembly; where both
meet, at the ends of travels and at crossings, it is 0. A negative discriminant is taken for 0: the pose is the nearest
one then, and its gap says so. Changes are arcs of small angles, accurate where a step is believed; `planar_loops` finds
the dyads of a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.algebra import (
    Scalar,
    Vec,
    atan2,
    dot,
    floor,
    is_zero,
    larger,
    matmul,
    matvec,
    minus,
    plus,
    quotient,
    scale,
    select,
    sqrt,
    total,
    transpose,
)
from shiftjax.constraints.loop_closure import loop_ends
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.planar_loops import SLIDE, TURN, PlanarDyad

ARC_TERMS = 9  # of the arc tangent: up to 0.13 rad the next one is below half a rounding
Point = list[Scalar]  # two components along the axes of a plane


@dataclass
class DyadRoot:
    """The root of the discriminant, with the sign of the assembly: of the loop as it stood, and closed.

    Attributes:
        size: of the number that it is the root of, as large as the root itself.
    """

    before: Scalar
    after: Scalar
    size: Scalar


@dataclass
class DyadMove:
    """How a dyad closes.

    Attributes:
        change: speed -> change of its coordinate [rad or m]. root: None where there is one assembly.
    """

    change: dict[int, Scalar]
    root: DyadRoot | None = None


def closed_dyad(dyad: PlanarDyad, lane: Lane, q: Vec) -> DyadMove:
    """The change of coordinates that closes a loop, with the assembly that it has as it stands."""
    plane = _Plane(dyad, lane, q)
    kinds = [motion.kind for motion in dyad.ring]
    slides = kinds.count(SLIDE)
    if slides == 2:
        return plane.one_turn(kinds.index(TURN))
    if slides == 0:
        return plane.three_turns()
    return (plane.slide_first, plane.slide_between, plane.slide_last)[kinds.index(SLIDE)]()


class _Plane:
    """The loop as it stands, in its plane.

    Attributes:
        c: of turns the centers; d: of slides the directions, as the ring goes. rest: by which the whole must turn.
    """

    def __init__(self, dyad: PlanarDyad, lane: Lane, q: Vec) -> None:
        self.dyad = dyad
        _, chain, virtual, self.R, p = loop_ends(dyad.group, lane.motion(q, None))
        self.virtual, self.p, self.p_virtual = virtual, self._flat(p), self._flat(virtual.p)
        screws = [chain.screws_of(motion.joint)[motion.screw] for motion in dyad.ring]
        self.c = [self._flat(screw.point) for screw in screws]
        ring = zip(dyad.ring, screws, strict=True)
        self.d = [scale(motion.sign, self._flat(screw.velocity)) for motion, screw in ring]
        angle = self._drawn_angle(lane) + total([motion.sign * q[motion.q] for motion in dyad.turns])
        self.rest = -_without_turns(angle)

    def _flat(self, vector: Vec) -> Point:
        return [dot(axis, vector) for axis in self.dyad.axes]

    def _drawn_angle(self, lane: Lane) -> Scalar:
        """The angle of M where all coordinates are 0."""
        _, _, virtual, R, _ = loop_ends(self.dyad.group, lane.motion([0.0] * lane.plan.nq, None))
        cosine, sine = self._flat(matvec(matmul(virtual.R, transpose(R)), list(self.dyad.axes[0])))
        return atan2(sine, cosine)

    def _back(self, x: Point) -> Point:
        """M^-1 of a point."""
        away = minus(x, self.p_virtual)
        return self.p if all(map(is_zero, away)) else plus(self.p, self._turned_back(away))

    def _turned_back(self, x: Point) -> Point:
        """M^-1 of a direction."""
        first, second = self.dyad.axes
        vector = plus(scale(x[0], first), scale(x[1], second))
        return self._flat(matvec(self.R, matvec(transpose(self.virtual.R), vector)))

    def three_turns(self) -> DyadMove:
        c1, c2, c3 = self.c
        a, b, g = minus(c2, c1), minus(c3, c2), minus(self._back(c3), c1)
        aa, bb, gg = dot(a, a), dot(b, b), dot(g, g)
        w = aa + bb - gg
        before = 2.0 * _cross(a, b)
        root = _signed_root(4.0 * (aa * bb) - w * w, before)
        half = quotient(0.5, gg)
        along, across = half * (aa - bb + gg), half * root
        u = [along * g[0] + across * g[1], along * g[1] - across * g[0]]  # a, turned by the first motion
        first, both = _arc(a, u), _arc(b, minus(g, u))
        return DyadMove(self._changes(first, both - first, self.rest - both), DyadRoot(before, root, aa + bb))

    def slide_first(self) -> DyadMove:
        """x1 d + c2 + E2 a = M^-1 c3."""
        _, c2, c3 = self.c
        a = minus(c3, c2)
        x, g, root = _on_a_circle(minus(self._back(c3), c2), self.d[0], a)
        second = _arc(a, g)
        return DyadMove(self._changes(x, second, self.rest - second), root)

    def slide_last(self) -> DyadMove:
        """E1 a = M^-1 (c2 - x3 d) - c1."""
        c1, c2, _ = self.c
        a = minus(c2, c1)
        x, g, root = _on_a_circle(minus(self._back(c2), c1), self._turned_back(self.d[2]), a)
        first = _arc(a, g)
        return DyadMove(self._changes(first, self.rest - first, x), root)

    def slide_between(self) -> DyadMove:
        """E1 (a + x2 d) = M^-1 c3 - c1."""
        c1, _, c3 = self.c
        d, a, g = self.d[1], minus(c3, c1), minus(self._back(c3), c1)
        middle, off, gg = dot(a, d), _cross(d, a), dot(g, g)
        root = _signed_root(gg - off * off, middle)
        x = quotient(gg - dot(a, a), middle + root)
        first = _arc(plus(a, scale(x, d)), g)
        return DyadMove(self._changes(first, x, self.rest - first), DyadRoot(middle, root, abs(middle) + abs(off)))

    def one_turn(self, place: int) -> DyadMove:
        """The turn is that of the whole, M^-1; slides before it are as they stand, those after it are turned."""
        shifts = [k for k in range(3) if k != place]
        u, v = (self._turned_back(self.d[k]) if k > place else self.d[k] for k in shifts)
        right = minus(self._back(self.c[place]), self.c[place])
        inverse = quotient(1.0, _cross(u, v))
        changes: list[Scalar] = [inverse * _cross(right, v), inverse * _cross(u, right)]
        changes.insert(place, self.rest)
        return DyadMove(self._changes(*changes))

    def _changes(self, *changes: Scalar) -> dict[int, Scalar]:
        """By speed: of turns with the sign of the ring, which directions of slides have already."""
        return {
            motion.speed: motion.sign * x if motion.kind == TURN else x
            for motion, x in zip(self.dyad.ring, changes, strict=True)
        }


def _cross(a: Point, b: Point) -> Scalar:
    return a[0] * b[1] - a[1] * b[0]


def _on_a_circle(g: Point, d: Point, a: Point) -> tuple[Scalar, Point, DyadRoot]:
    """The smaller x with |g - x d| = |a|, and g - x d."""
    middle, off, aa = dot(g, d), _cross(d, g), dot(a, a)
    root = _signed_root(aa - off * off, -middle)
    x = quotient(dot(g, g) - aa, middle - root)  # middle and the root have opposite signs
    return x, minus(g, scale(x, d)), DyadRoot(-middle, root, abs(middle) + abs(off))


def _signed_root(square: Scalar, sign: Scalar) -> Scalar:
    root = sqrt(larger(square, 0.0))
    return select(sign < 0.0, -root, root)


def _without_turns(angle: Scalar) -> Scalar:
    """An angle without whole turns."""
    return angle - 2.0 * np.pi * floor(angle * (0.5 / np.pi) + 0.5)


def _arc(a: Point, b: Point) -> Scalar:
    """The small angle from a to b; even and odd terms apart, since what follows waits for them."""
    t = quotient(_cross(a, b), dot(a, b))
    square, parts = t * t, [0.0, 0.0]
    fourth = square * square
    for k in reversed(range(ARC_TERMS)):
        parts[k % 2] = fourth * parts[k % 2] + (-1.0) ** k / (2 * k + 1)
    return t * (square * parts[1] + parts[0])

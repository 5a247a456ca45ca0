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
one then, and its gap says so. Changes are small turns, of sines that are linear in the root and accurate where a step
is believed (`small_angles`); `planar_loops` finds the dyads of a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from shiftjax.dynamics.small_angles import SmallTurn

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


Change = Scalar | tuple[SmallTurn, ...]  # of a slide [m], and of what turns


@dataclass
class DyadMove:
    """How a dyad closes.

    Attributes:
        change: speed -> change of its coordinate [rad or m]. turned: speed -> the turns that this change is made of.
        root: None where there is one assembly. turns: the whole turns of the loop as it stood [rad].
    """

    change: dict[int, Scalar]
    turned: dict[int, tuple[SmallTurn, ...]]
    root: DyadRoot | None
    turns: Scalar


def turned_by(dyad: PlanarDyad, lane: Lane, q: Vec, turns: Scalar) -> Scalar:
    """The angle [rad] by which a planar loop does not come round, whole turns left out: M is a rotation by it.

    Turns about parallel axes add up, so that it is the angle of the rotation matrices, with no sine taken.
    """
    return _angle(dyad, lane, q) - turns


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
        angle = _angle(dyad, lane, q)
        self.turns = 2.0 * np.pi * floor(angle * (0.5 / np.pi) + 0.5)
        self.rest = self.turns - angle

    def _flat(self, vector: Vec) -> Point:
        return [dot(axis, vector) for axis in self.dyad.axes]

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
        """With u = along g + across (g turned back by a right angle) the crosses of a and u, and of b and g - u, are
        linear in the root: what waits for it waits for one operation."""
        c1, c2, c3 = self.c
        a, b, g = minus(c2, c1), minus(c3, c2), minus(self._back(c3), c1)
        aa, bb, gg = dot(a, a), dot(b, b), dot(g, g)
        w = aa + bb - gg
        before = 2.0 * _cross(a, b)
        root = _signed_root(4.0 * (aa * bb) - w * w, before)
        half, inverse = quotient(0.5, gg), quotient(1.0, aa * bb)
        along = half * (aa - bb + gg)
        of_a, of_b = inverse * bb, inverse * aa  # over the squares of their lengths
        first = SmallTurn.of_sine(of_a * (along * _cross(a, g)) - root * (of_a * (half * dot(a, g))))
        both = SmallTurn.of_sine(of_b * ((1.0 - along) * _cross(b, g)) + root * (of_b * (half * dot(b, g))))
        turns = ((first,), (both, first.back()), (SmallTurn.by(self.rest), both.back()))
        return self._move(turns, DyadRoot(before, root, aa + bb))

    def slide_first(self) -> DyadMove:
        """x1 d + c2 + E2 a = M^-1 c3."""
        _, c2, c3 = self.c
        a = minus(c3, c2)
        x, g, root = _on_a_circle(minus(self._back(c3), c2), self.d[0], a)
        second = _arc(a, g, quotient(1.0, dot(a, a)))
        return self._move((x, (second,), (SmallTurn.by(self.rest), second.back())), root)

    def slide_last(self) -> DyadMove:
        """E1 a = M^-1 (c2 - x3 d) - c1."""
        c1, c2, _ = self.c
        a = minus(c2, c1)
        x, g, root = _on_a_circle(minus(self._back(c2), c1), self._turned_back(self.d[2]), a)
        first = _arc(a, g, quotient(1.0, dot(a, a)))
        return self._move(((first,), (SmallTurn.by(self.rest), first.back()), x), root)

    def slide_between(self) -> DyadMove:
        """E1 (a + x2 d) = M^-1 c3 - c1."""
        c1, _, c3 = self.c
        d, a, g = self.d[1], minus(c3, c1), minus(self._back(c3), c1)
        middle, off, gg = dot(a, d), _cross(d, a), dot(g, g)
        root = _signed_root(gg - off * off, middle)
        x = quotient(gg - dot(a, a), middle + root)
        first = _arc(plus(a, scale(x, d)), g, quotient(1.0, gg))
        turns = ((first,), x, (SmallTurn.by(self.rest), first.back()))
        return self._move(turns, DyadRoot(middle, root, abs(middle) + abs(off)))

    def one_turn(self, place: int) -> DyadMove:
        """The turn is that of the whole, M^-1; slides before it are as they stand, those after it are turned."""
        shifts = [k for k in range(3) if k != place]
        u, v = (self._turned_back(self.d[k]) if k > place else self.d[k] for k in shifts)
        right = minus(self._back(self.c[place]), self.c[place])
        inverse = quotient(1.0, _cross(u, v))
        changes: list[Change] = [inverse * _cross(right, v), inverse * _cross(u, right)]
        changes.insert(place, (SmallTurn.by(self.rest),))
        return self._move(changes, None)

    def _move(self, changes: Sequence[Change], root: DyadRoot | None) -> DyadMove:
        """By speed: turns with the sign of the ring, which directions of slides have already."""
        out = DyadMove({}, {}, root, self.turns)
        for motion, change in zip(self.dyad.ring, changes, strict=True):
            if isinstance(change, tuple):
                turns = change if motion.sign > 0.0 else tuple(turn.back() for turn in change)
                out.turned[motion.speed] = turns
                change = total([turn.angle for turn in turns])
            out.change[motion.speed] = change
        return out


def _angle(dyad: PlanarDyad, lane: Lane, q: Vec) -> Scalar:
    """The angle of M [rad], whole turns included: what it is where all coordinates are 0, and what they turn."""
    _, _, virtual, R, _ = loop_ends(dyad.group, lane.motion([0.0] * lane.plan.nq, None))
    around = matvec(matmul(virtual.R, transpose(R)), list(dyad.axes[0]))
    cosine, sine = (dot(axis, around) for axis in dyad.axes)
    return atan2(sine, cosine) + total([motion.sign * q[motion.q] for motion in dyad.turns])


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


def _arc(a: Point, b: Point, inverse: Scalar) -> SmallTurn:
    """The turn from a to b, which are of one length; `inverse` is 1 / a.a."""
    return SmallTurn.of_sine(_cross(a, b) * inverse)

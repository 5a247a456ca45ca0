"""Turns by up to `SMALL` rad, to a rounding: their angles, sines and cosines; lane code.

Problem: an angle whose sine and cosine are known is turned by little; wanted are those of the new angle. They are the
old ones turned by that little (addition theorem), which takes two thirds of the operations of a sine and a cosine, and
what waits for them waits a third as long where the sine of the turn is known before the turn itself.
Polynomials through Chebyshev's nodes of the squares (Trefethen, Approximation Theory and Approximation Practice,
chapter 8), off by less than 1e-17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shiftjax.algebra import LaneValue, Scalar, cos, sin

SMALL = 0.135  # rad
# The highest power first, y = x^2: sin x = x + x y S(y), cos x = 1 + y C(y), arcsin x = x + x y A(y), and the cosine of
# an angle whose sine is x is 1 + y R(y).
S = (2.754818919718486e-06, -1.9841268801354362e-04, 8.33333333329543e-03, -1.6666666666666666e-01)
C = (2.4791545565417174e-05, -1.3888887745025598e-03, 4.166666666624974e-02, -4.999999999999998e-01)
A = (
    1.8138388028803843e-02, 2.2355903157828434e-02, 3.0382098723242348e-02, 4.4642856482376946e-02,
    7.500000000103288e-02, 1.666666666666664e-01,
)  # fmt: skip
R = (
    -2.141383984725626e-02, -2.732500573569263e-02, -3.906267788113375e-02, -6.24999992385064e-02,
    -1.2500000000119083e-01, -4.999999999999997e-01,
)  # fmt: skip


@dataclass
class SmallTurn:
    """A turn by an angle [rad], its sine, and its cosine less 1."""

    angle: Scalar
    sine: Scalar
    less: Scalar

    @classmethod
    def by(cls, angle: Scalar) -> SmallTurn:
        """That of an angle."""
        y = angle * angle
        return cls(angle, angle + angle * y * _polynomial(S, y), y * _polynomial(C, y))

    @classmethod
    def of_sine(cls, x: Scalar) -> SmallTurn:
        """That whose sine is x."""
        y = x * x
        return cls(x + x * y * _polynomial(A, y), x, y * _polynomial(R, y))

    def back(self) -> SmallTurn:
        """The opposite one."""
        return SmallTurn(-self.angle, -self.sine, self.less)


def note_turned(before: Scalar, turns: Sequence[SmallTurn], after: Scalar) -> None:
    """Lets the sine and cosine of an angle, in code that follows, be those of the angle before some turns."""
    if not (type(before) is LaneValue and type(after) is LaneValue):
        return
    s, c = sin(before), cos(before)
    for turn in turns:
        s, c = s + (s * turn.less + c * turn.sine), c + (c * turn.less - s * turn.sine)
    after.graph.note_pair(after.ref, s.ref, c.ref)


def _polynomial(coefficients: Sequence[float], y: Scalar) -> Scalar:
    """Even and odd powers apart, since what follows waits for them."""
    square, parts = y * y, [0.0, 0.0]
    for k, one in enumerate(coefficients):
        parts[k % 2] = square * parts[k % 2] + one
    last = (len(coefficients) - 1) % 2
    return y * parts[1 - last] + parts[last]

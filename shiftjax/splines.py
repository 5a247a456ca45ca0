"""Tables on lane scalars: cubic splines and straight lines between knots, and surfaces over two variables.

A table becomes pieces [t_k, a, b, c, d] with f(t) = a + b s + c s^2 + d s^3, s = t - t_k. The second derivatives M_k of
the spline solve a tridiagonal system (de Boor, A Practical Guide to Splines, chapter IV), here by elimination without
pivoting, which a dominant diagonal allows. All of it is lane code: of a table of constants it leaves the pieces, of
varied values or times a number of operations that is linear in the knots.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from shiftjax.algebra import Scalar, ratio, select

Piece = list[Scalar]  # t_k, a, b, c, d
Derivatives = tuple[Scalar, Scalar, Scalar]  # value, first and second derivative


def straight(times: Sequence[Scalar], values: Sequence[Scalar]) -> list[Piece]:
    """Straight lines from knot to knot."""
    slopes = _slopes(times, values)
    return [[t, y, slope, 0.0, 0.0] for t, y, slope in zip(times, values, slopes, strict=False)]


def cubic(
    times: Sequence[Scalar],
    values: Sequence[Scalar],
    first_rate: Scalar | None = None,
    last_rate: Scalar | None = None,
    *,
    periodic: Scalar | None = None,
) -> list[Piece]:
    """The cubic spline with continuous second derivative.

    Args:
        times: (n,) rising; values: (n,), n at least 2.
        first_rate, last_rate: derivatives at the ends; where None the second derivative is zero there (natural).
        periodic: 1 where first and second derivative are the same at both ends, -1 where they change sign there.
    """
    steps, slopes = _steps(times), _slopes(times, values)
    if periodic is None:
        M = _curvatures(steps, slopes, first_rate, last_rate)
    else:
        M = _periodic_curvatures(steps, slopes, periodic)
    pieces: list[Piece] = []
    for k, (h, slope) in enumerate(zip(steps, slopes, strict=True)):
        b = slope - 1.0 / 6.0 * (h * (2.0 * M[k] + M[k + 1]))
        pieces.append([times[k], values[k], b, 0.5 * M[k], 1.0 / 6.0 * ratio(M[k + 1] - M[k], h)])
    return pieces


def evaluated(knots: Sequence[Scalar], pieces: Sequence[Piece], t: Scalar) -> Derivatives:
    """Value and derivatives at t; piece k holds left of knot k, a value at a knot belongs to the piece on its right."""
    start, a, b, c, d = _picked(knots, pieces, t)
    s = t - start
    value = a + s * (b + s * (c + s * d))
    rate = b + s * (2.0 * c + 3.0 * (s * d))
    return value, rate, 2.0 * c + 6.0 * (s * d)


def natural(knots: Sequence[Scalar], values: Sequence[Scalar], t: Scalar) -> Derivatives:
    """Value and derivatives of the natural spline at t, straight on beyond its ends: all three continuous."""
    pieces = cubic(knots, values)
    ends: list[Piece] = []
    for k, piece in ((0, pieces[0]), (-1, pieces[-1])):
        value, rate = end_of(piece, knots[k])
        ends.append([knots[k], value, rate, 0.0, 0.0])
    return evaluated(list(knots), [ends[0], *pieces, ends[1]], t)


class SurfacePoint(NamedTuple):
    """A height z over x and y, its slopes, and how they change."""

    z: Scalar
    x: Scalar
    y: Scalar
    xx: Scalar
    xy: Scalar
    yy: Scalar

    def plus(self, other: SurfacePoint) -> SurfacePoint:
        """Of the sum of two heights."""
        return SurfacePoint(*(a + b for a, b in zip(self, other, strict=True)))


def bicubic(
    xs: Sequence[Scalar], ys: Sequence[Scalar], rows: Sequence[Sequence[Scalar]], x: Scalar, y: Scalar
) -> SurfacePoint:
    """The surface of natural splines along x through each row, and of natural splines along y through those.

    Args:
        rows: (len(ys), len(xs)) heights.
    """
    along = [natural(xs, row, x) for row in rows]
    z, slope, bend = (natural(ys, [derivatives[k] for derivatives in along], y) for k in range(3))
    return SurfacePoint(z[0], slope[0], z[1], bend[0], slope[1], z[2])


def end_of(piece: Piece, t: Scalar) -> tuple[Scalar, Scalar]:
    """Value and rate of a piece at a time."""
    value, rate, _ = evaluated((), [piece], t)
    return value, rate


def _picked(knots: Sequence[Scalar], pieces: Sequence[Piece], t: Scalar) -> Piece:
    """The coefficients of the piece at t: one comparison a knot, in a tree, so that no long chain of selects waits."""
    if len(pieces) == 1:
        return pieces[0]
    half = len(pieces) // 2
    left, right = _picked(knots[: half - 1], pieces[:half], t), _picked(knots[half:], pieces[half:], t)
    before = t < knots[half - 1]
    return [select(before, a, b) for a, b in zip(left, right, strict=True)]


def _steps(times: Sequence[Scalar]) -> list[Scalar]:
    return [b - a for a, b in pairwise(times)]


def _slopes(times: Sequence[Scalar], values: Sequence[Scalar]) -> list[Scalar]:
    rises = [b - a for a, b in pairwise(values)]
    return [ratio(rise, h) for rise, h in zip(rises, _steps(times), strict=True)]


def _curvatures(h: Sequence[Scalar], slopes: Sequence[Scalar], first: Scalar | None, last: Scalar | None) -> Piece:
    """(n,) second derivatives at the knots: h M + 2 (h + h') M' + h' M'' = 6 (slope' - slope), and the two ends."""
    lower: list[Scalar] = [0.0, *h[:-1], 0.0 if last is None else h[-1]]
    upper: list[Scalar] = [0.0 if first is None else h[0], *h[1:], 0.0]
    middle = [2.0 * (a + b) for a, b in pairwise(h)]
    ends = [1.0 if rate is None else 2.0 * step for rate, step in ((first, h[0]), (last, h[-1]))]
    bends = [6.0 * (b - a) for a, b in pairwise(slopes)]
    right = [
        0.0 if first is None else 6.0 * (slopes[0] - first),
        *bends,
        0.0 if last is None else 6.0 * (last - slopes[-1]),
    ]
    return _tridiagonal(lower, [ends[0], *middle, ends[1]], upper, right)


def _periodic_curvatures(h: Sequence[Scalar], slopes: Sequence[Scalar], sign: Scalar) -> list[Scalar]:
    """(n,) second derivatives, the last the first times a sign: the corners of the system by Sherman and Morrison's
    formula."""
    if len(h) == 1:
        return [0.0, 0.0]
    before = [h[-1], *h[:-1]]
    diagonal = [2.0 * (a + b) for a, b in zip(before, h, strict=True)]
    right = [6.0 * (b - a) for a, b in zip([sign * slopes[-1], *slopes[:-1]], slopes, strict=True)]
    # A = T + u v^T with u = (g, 0 ... 0, corner), v = (1, 0 ... 0, corner / g), g = -diagonal[0]: T stays dominant.
    corner, g = sign * h[-1], -diagonal[0]
    diagonal[0], diagonal[-1] = diagonal[0] - g, diagonal[-1] - ratio(corner * corner, g)
    u: list[Scalar] = [g, *[0.0] * (len(h) - 2), corner]
    y = _tridiagonal(before, list(diagonal), h, right)
    z = _tridiagonal(before, list(diagonal), h, u)
    along = [x[0] + ratio(corner, g) * x[-1] for x in (y, z)]
    factor = ratio(along[0], 1.0 + along[1])
    M = [a - factor * b for a, b in zip(y, z, strict=True)]
    return [*M, sign * M[0]]


def _tridiagonal(
    lower: Sequence[Scalar], diagonal: list[Scalar], upper: Sequence[Scalar], right: Sequence[Scalar]
) -> list[Scalar]:
    """Solves a diagonally dominant tridiagonal system; lower[0] and the last of upper are not read."""
    x = list(right)
    for k in range(1, len(x)):
        factor = ratio(lower[k], diagonal[k - 1])
        diagonal[k] -= factor * upper[k - 1]
        x[k] -= factor * x[k - 1]
    x[-1] = ratio(x[-1], diagonal[-1])
    for k in reversed(range(len(x) - 1)):
        x[k] = ratio(x[k] - upper[k] * x[k + 1], diagonal[k])
    return x

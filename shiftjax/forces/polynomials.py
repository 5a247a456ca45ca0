"""Polynomials of force elements on lane scalars: ascending in joints, descending and piecewise in restraints."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import Scalar, select


def ascending(c: Sequence[Scalar], x: Scalar) -> Scalar:
    """c[0] + c[1] x + c[2] x^2 + ... (Horner)."""
    out: Scalar = 0.0
    for coefficient in reversed(c):
        out = out * x + coefficient
    return out


def antiderivative(c: Sequence[Scalar]) -> list[Scalar]:
    """Ascending coefficients of the integral from 0."""
    return [0.0, *(1.0 / (k + 1) * coefficient for k, coefficient in enumerate(c))]


def piecewise(knots: Sequence[Scalar], pieces: Sequence[Sequence[Scalar]], x: Scalar) -> Scalar:
    """Piece k applies for x < knots[k]; at a knot the piece on its right applies."""
    out = ascending(pieces[-1], x)
    for knot, piece in zip(reversed(knots), reversed(pieces[:-1]), strict=True):
        out = select(x < knot, ascending(piece, x), out)
    return out


def derivative(c: Sequence[Scalar]) -> list[Scalar]:
    """Ascending coefficients of the derivative."""
    return [float(k) * coefficient for k, coefficient in enumerate(c)][1:]


def sides(knots: Sequence[Scalar], pieces: Sequence[Sequence[Scalar]]) -> list[tuple[Scalar, Scalar, Scalar, Scalar]]:
    """At every knot the values of the pieces on its left and on its right, then their slopes."""
    both = list(zip(knots, pieces, pieces[1:], strict=False))
    slopes = [(ascending(derivative(a), knot), ascending(derivative(b), knot)) for knot, a, b in both]
    return [(ascending(a, knot), ascending(b, knot), *pair) for (knot, a, b), pair in zip(both, slopes, strict=True)]


def piecewise_integral(knots: Sequence[Scalar], pieces: Sequence[Sequence[Scalar]], x: Scalar) -> Scalar:
    """Continuous antiderivative, zero at the first knot (at 0 where there is none)."""
    integrals = [antiderivative(piece) for piece in pieces]
    if not knots:
        return ascending(integrals[0], x)
    lower = [knots[0], *knots]
    level: Scalar = 0.0
    values: list[Scalar] = []
    for k, integral in enumerate(integrals):
        if k > 1:
            span = ascending(integrals[k - 1], knots[k - 1]) - ascending(integrals[k - 1], lower[k - 1])
            level += span
        values.append(level + (ascending(integral, x) - ascending(integral, lower[k])))
    out = values[-1]
    for knot, value in zip(reversed(knots), reversed(values[:-1]), strict=True):
        out = select(x < knot, value, out)
    return out


def integrals_between(knots: Sequence[Scalar], pieces: Sequence[Sequence[Scalar]], places: int) -> list[list[Scalar]]:
    """Of every piece between knots the integrals from the left one to places equally far apart, up to the right one."""
    out: list[list[Scalar]] = []
    for left, right, piece in zip(knots, knots[1:], pieces[1:], strict=False):
        integral = antiderivative(piece)
        ends = [left + k / places * (right - left) for k in range(1, places + 1)]
        out.append([ascending(integral, end) - ascending(integral, left) for end in ends])
    return out

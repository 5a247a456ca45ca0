"""exp, sinh, cosh, tanh.

x = k ln 2 + r with |r| <= ln 2 / 2, in two parts of ln 2 of which k times the first is exact: Cody and Waite, Software
Manual for the Elementary Functions (1980), chapter 6. e^r is its Taylor series: thirteen products cost less than the
division of a rational function of half the degree, on vectors as on graphics processors.
"""

from __future__ import annotations

import math

from shiftjax.algebra import LaneValue, Scalar, select
from shiftjax.kernels.elementary.lane_bits import (
    FORMATS,
    Format,
    clamped,
    nearest,
    polynomial,
    power_of_two,
    with_sign,
)

LOG2_E = 1.4426950408889634
# fdlibm e_exp.c and e_expf.c (Sun Microsystems; Cygnus): the first part of ln 2 has 32 bits, or 15
LN2 = {"f64": (6.93147180369123816490e-01, 1.90821492927058770002e-10), "f32": (6.9314575195e-01, 1.4286067653e-06)}
TERMS = {"f64": 13, "f32": 7}  # of e^r: the next one is 4e-18, or 5e-9, of it
SINH_TERMS = {"f64": 19, "f32": 11}  # degree of the odd series up to 1; the next term is 2e-20, or 1e-10
RANGE = {"f64": (-747.0, 712.0), "f32": (-105.0, 90.0)}  # beyond, e^x is 0 or infinite, e^x / 2 too
TANH_ONE = {"f64": 22.0, "f32": 10.0}  # the tangent of larger numbers is 1
TANH_SMALL = 0.625
# Cephes tanh.c and tanhf.c (S. L. Moshier): tanh x = x + x^3 P(x^2) / Q(x^2) up to TANH_SMALL, highest power first
TANH = {
    "f64": (
        (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
        (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
    ),
    "f32": (
        (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1),
        (1.0,),
    ),
}


def exp(x: LaneValue, precision: str) -> Scalar:
    """e^x"""
    return scaled_exp(x, 0.0, precision)


def scaled_exp(x: LaneValue, rest: Scalar, precision: str, shift: float = 0.0) -> Scalar:
    """2^shift e^(x + rest), a rest that is far smaller than 1."""
    of = FORMATS[precision]
    k, power = _reduced(clamped(x, *RANGE[precision]), rest, precision)
    return _times_power(power, k + shift, of)


def _reduced(x: Scalar, rest: Scalar, precision: str) -> tuple[Scalar, Scalar]:
    """k and e^(x + rest - k ln 2)."""
    high, low = LN2[precision]
    k = nearest(x * LOG2_E, FORMATS[precision])
    r = (x - k * high) - k * low + rest
    series = polynomial(r, [1.0 / math.factorial(n) for n in range(TERMS[precision], 1, -1)])
    return k, 1.0 + (r + r * r * series)


def _times_power(x: Scalar, k: Scalar, of: Format) -> Scalar:
    """x 2^k of an x near 1, in two steps: the first is exact, the second rounds where the result has few digits."""
    half = nearest(k * 0.5, of)
    return x * power_of_two(half) * power_of_two(k - half)


def cosh(x: LaneValue, precision: str) -> Scalar:
    """(e^x + e^-x) / 2"""
    half = scaled_exp(abs(x), 0.0, precision, -1.0)
    return half + 0.25 / half


def sinh(x: LaneValue, precision: str) -> Scalar:
    """(e^x - e^-x) / 2, up to 1 its Taylor series."""
    square = x * x
    series = polynomial(square, [1.0 / math.factorial(n) for n in range(SINH_TERMS[precision], 1, -2)])
    half = scaled_exp(abs(x), 0.0, precision, -1.0)
    return select(abs(x) < 1.0, x + x * square * series, with_sign(half - 0.25 / half, x))


def tanh(x: LaneValue, precision: str) -> Scalar:
    """1 - 2 / (e^2x + 1), up to 0.625 a rational function of which the same division is made."""
    size, square, (above, below) = abs(x), x * x, TANH[precision]
    k, power = _reduced(2.0 * select(size > TANH_ONE[precision], TANH_ONE[precision], size), 0.0, precision)
    small = size < TANH_SMALL
    numerator = select(small, size * square * polynomial(square, above), -2.0)
    denominator = select(small, polynomial(square, below), power * power_of_two(k) + 1.0)
    return with_sign(select(small, size, 1.0) + numerator / denominator, x)

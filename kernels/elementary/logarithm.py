"""log and pow.

A number is 2^k m; log m = 2 artanh s with s = (m - c) / (m + c) for c near m, whose logarithm is known. Method and
coefficients: fdlibm e_log.c and e_pow.c (Sun Microsystems), in f32 FreeBSD's e_logf.c; here powers go by natural
logarithms, with products of which the error is known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from shiftjax.algebra import LaneValue, Scalar, floor, select
from shiftjax.kernels.elementary.exponential import LN2, scaled_exp
from shiftjax.kernels.elementary.lane_bits import (
    FORMATS,
    clamped,
    equal,
    exact_product_plus,
    exponent,
    polynomial,
    power_of_two,
    with_sign,
)

ROOT_2 = 1.4142135623730951
# (log(1 + f) - 2 s) / s^3 as a polynomial in s^2, s = f / (2 + f), highest power first
SERIES = {
    "f64": (
        1.479819860511658591e-01,
        1.531383769920937332e-01,
        1.818357216161805012e-01,
        2.222219843214978396e-01,
        2.857142874366239149e-01,
        3.999999999940941908e-01,
        6.666666666666735130e-01,
    ),
    "f32": (0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693),
}
# (3 artanh s / s - 3 - s^2) / s^4 likewise; f32: 3/5, 3/7, ... themselves, of which the next is 2e-12 of the logarithm
SHORT_SERIES = {
    "f64": (
        2.06975017800338417784e-01,
        2.30660745775561754067e-01,
        2.72728123808534006489e-01,
        3.33333329818377432918e-01,
        4.28571428578550184252e-01,
        5.99999999999994648725e-01,
    ),
    "f32": (3 / 11, 3 / 9, 3 / 7, 3 / 5),
}
# log 1.5 and 2/3 in two parts, the first of log 1.5 a multiple of the last digit of that of ln 2
LOG_1_5 = {"f64": (0.4054651079932228, 1.1494160890290935e-10), "f32": (0.40545654296875, 8.565139414381978e-06)}
TWO_THIRDS = {"f64": (0.6666666666666666, 3.700743415417188e-17), "f32": (0.6666666865348816, -1.9868214925130207e-08)}
LARGEST_POWER = {"f64": 2.0**70, "f32": 2.0**40}  # larger ones take every number but 1 to 0 or infinity


def log(x: LaneValue, precision: str) -> Scalar:
    """The natural logarithm."""
    high, low = LN2[precision]
    k, m = _parts(x, precision)
    large = m > ROOT_2
    k, f = select(large, k + 1.0, k), select(large, 0.5 * m, m) - 1.0
    s = f / (2.0 + f)
    half = 0.5 * f * f
    square = s * s
    rest = s * (half + square * polynomial(square, SERIES[precision]))
    value = k * high - ((half - (rest + k * low)) - f)
    value = select(equal(x, math.inf), x, value)
    return select(x > 0.0, value, select(equal(x, 0.0), -math.inf, math.nan))


def _parts(x: LaneValue, precision: str) -> tuple[Scalar, Scalar]:
    """k and m in [1, 2) of x = 2^k m > 0."""
    of = FORMATS[precision]
    tiny, up = x < 2.0 ** (of.least + of.bits), of.bits + 1.0  # half of what is not tiny is a normal number
    x = select(tiny, x * 2.0**up, x)
    k = exponent(x)
    return select(tiny, k - up, k), (0.5 * x) * power_of_two(1.0 - k)


class TwoParts(NamedTuple):
    """A number as a sum, of which the second is about a rounding of the first."""

    high: Scalar
    low: Scalar


def _logarithm(x: LaneValue, precision: str) -> TwoParts:
    """log x of x > 0 to some 66 bits, in f32 36: an exponent of 700 leaves those of a number."""
    k, m = _parts(x, precision)
    middle, large = m > math.sqrt(1.5), m > math.sqrt(3.0)
    k, m = select(large, k + 1.0, k), select(large, 0.5 * m, m)
    near = select(middle, select(large, 1.0, 1.5), 1.0)
    first, second = LOG_1_5[precision]
    offset = TwoParts(*(select(middle, select(large, 0.0, part), 0.0) for part in (first, second)))
    s = _quotient(m, near)
    product = _times_series(s, precision)
    high, low = LN2[precision]
    exact = k * high + offset.high
    total = exact + product.high
    return TwoParts(total, (product.high - (total - exact)) + (product.low + (k * low + offset.low)))


def _quotient(m: Scalar, near: Scalar) -> TwoParts:
    """(m - near) / (m + near)"""
    difference, total = m - near, m + near
    lost = m - (total - near)
    inverse = 1.0 / total
    s = difference * inverse
    rest = exact_product_plus(-s, total, difference) - s * lost
    return TwoParts(s, rest * inverse)


def _times_series(s: TwoParts, precision: str) -> TwoParts:
    """2 artanh s = s (2 + 2/3 s^2 + ...)"""
    square = s.high * s.high
    error = exact_product_plus(s.high, s.high, -square) + 2.0 * (s.high * s.low)
    third, rest = TWO_THIRDS[precision]
    part = square * third
    factors = tuple(c * 2.0 / 3.0 for c in SHORT_SERIES[precision])
    small = (exact_product_plus(square, third, -part) + square * rest) + error * third
    small = small + square * square * polynomial(square, factors)
    total = 2.0 + part
    low = (part - (total - 2.0)) + small
    high = s.high * total
    return TwoParts(high, exact_product_plus(s.high, total, -high) + (s.high * low + s.low * total))


def power(x: LaneValue, y: Scalar, precision: str) -> Scalar:
    """x^y with the special values of C99 (ISO/IEC 9899:1999, F.9.4.4); a known y is neither 0 nor infinite."""
    size, (high, low) = abs(x), _logarithm(abs(x), precision)
    factor = clamped(y, -LARGEST_POWER[precision], LARGEST_POWER[precision])
    product = factor * high
    rest = exact_product_plus(factor, high, -product) + factor * low
    value = scaled_exp(product, clamped(rest, -1.0, 1.0), precision)
    # of zero and infinity
    small = select(y < 0.0, math.inf, select(y > 0.0, 0.0, y))
    large = select(y < 0.0, 0.0, select(y > 0.0, math.inf, y))
    value = select(equal(size, 0.0), small, select(equal(size, math.inf), large, value))
    # of negative numbers
    whole, even = equal(floor(y), y), equal(floor(0.5 * y), 0.5 * y)
    undefined = select(whole, value, select(equal(size, math.inf), value, math.nan))
    value = select(x < 0.0, undefined, value)
    value = select(whole, select(even, value, with_sign(value, x)), value)
    return select(equal(y, 0.0), 1.0, select(equal(x, 1.0), 1.0, value))

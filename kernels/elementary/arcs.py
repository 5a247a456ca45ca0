"""asin, acos, atan, atan2.

Coefficients: fdlibm e_asin.c and s_atan.c (Sun Microsystems), in f32 Cephes asinf.c (S. L.
Moshier) and FreeBSD s_atanf.c.
"""

from __future__ import annotations

from shiftjax.algebra import LaneValue, Scalar, select, sqrt
from shiftjax.kernels.elementary.lane_bits import FORMATS, either, equal, polynomial, with_sign

# pi in two parts
PI = {"f64": (3.141592653589793, 1.2246467991473532e-16), "f32": (3.1415927410125732, -8.742277657347586e-08)}
# asin x = x + x^3 P(x^2) / Q(x^2) up to 1/2, highest power first
SINE = {
    "f64": (
        (
            3.47933107596021167570e-05,
            7.91534994289814532176e-04,
            -4.00555345006794114027e-02,
            2.01212532134862925881e-01,
            -3.25565818622400915405e-01,
            1.66666666666666657415e-01,
        ),
        (
            7.70381505559019352791e-02,
            -6.88283971605453293030e-01,
            2.02094576023350569471e00,
            -2.40339491173441421878e00,
            1.0,
        ),
    ),
    "f32": ((4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1), (1.0,)),
}
# atan t = t - t^3 P(t^2) up to 0.4375, highest power first
TANGENT = {
    "f64": (
        1.62858201153657823623e-02,
        -3.65315727442169155270e-02,
        4.97687799461593236017e-02,
        -5.83357013379057348645e-02,
        6.66107313738753120669e-02,
        -7.69187620504482999495e-02,
        9.09088713343650656196e-02,
        -1.11111104054623557880e-01,
        1.42857142725034663711e-01,
        -1.99999999998764832476e-01,
        3.33333333333329318027e-01,
    ),
    "f32": (6.1687607318e-02, -1.0648017377e-01, 1.4253635705e-01, -1.9999158382e-01, 3.3333328366e-01),
}
# tangents between angles: 1/2 is near from the first one on, then 1, then infinity; the last is that of 3 pi / 8
SMALL, MIDDLE, LARGE = 0.4375, 0.6875, 2.414213562373095
# atan 1/2, pi/4, pi/2 in two parts
ANGLES = {
    "f64": (
        (0.4636476090008061, 2.2698777452961687e-17),
        (0.7853981633974483, 3.061616997868383e-17),
        (1.5707963267948966, 6.123233995736766e-17),
    ),
    "f32": (
        (0.46364760398864746, 5.012158671e-09),
        (0.7853981852531433, -2.185569414e-08),
        (1.5707963705062866, -4.371138829e-08),
    ),
}


def _sine_parts(x: LaneValue, precision: str) -> tuple[Scalar, Scalar, Scalar]:
    """Whether |x| is at most 1/2; r and c of an arc r + c r: asin |x| then, else half of acos |x|."""
    size, (above, below) = abs(x), SINE[precision]
    small = size <= 0.5
    square = select(small, x * x, 0.5 * (1.0 - size))
    root = select(small, size, sqrt(square))
    rest = square * polynomial(square, above)
    return small, root, rest / polynomial(square, below) if len(below) > 1 else rest


def arc_sine(x: LaneValue, precision: str) -> Scalar:
    """asin x; beyond 1/2 pi/2 - acos x, of which half of pi/2 is added last: nothing before it is above 1."""
    (first, second), (small, root, rest) = PI[precision], _sine_parts(x, precision)
    beyond = 0.25 * first + ((0.25 * first - 2.0 * root) - (2.0 * root * rest - 0.5 * second))
    return with_sign(select(small, root + root * rest, beyond), x)


def arc_cosine(x: LaneValue, precision: str) -> Scalar:
    """acos x"""
    (first, second), (small, root, rest) = PI[precision], _sine_parts(x, precision)
    arc = root + root * rest
    near_zero = 0.5 * first - (with_sign(arc, x) - 0.5 * second)
    return select(small, near_zero, select(x < 0.0, first - (2.0 * arc - second), 2.0 * arc))


def arc_tangent(x: LaneValue, precision: str) -> Scalar:
    """atan x"""
    rise = abs(x)
    return with_sign(_angle(rise, 1.0, rise - 1.0, rise < SMALL, precision), x)


def _angle(rise: Scalar, run: Scalar, difference: Scalar, small: Scalar, precision: str) -> Scalar:
    """atan (rise / run) of numbers that are not negative, as an angle whose tangent is near and the rest.

    Args:
        difference: rise - run. small: whether that angle is 0.
    """
    (half, quarter, right), middle, large = ANGLES[precision], rise < MIDDLE * run, rise > LARGE * run

    def chosen(zero: Scalar, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        return select(small, zero, select(middle, a, select(large, c, b)))

    above = chosen(rise, 2.0 * rise - run, difference, -run)
    t = above / chosen(run, 2.0 * run + rise, rise + run, rise)
    square = t * t
    rest = t * (square * polynomial(square, TANGENT[precision]))
    high, low = (chosen(0.0, *parts) for parts in zip(half, quarter, right, strict=True))
    return high + (t - (rest - low))


def arc_tangent_of(y: LaneValue, x: Scalar, precision: str) -> Scalar:
    """atan2(y, x), with the special values of C99 (ISO/IEC 9899:1999, F.9.1.4); an x that is known is 1."""
    if type(x) is float:
        return arc_tangent(y, precision)
    of, rise, run = FORMATS[precision], abs(y), abs(x)
    huge = 2.0 ** (of.most - 2)  # beyond, the sum of both may be infinite
    factor = select(either(rise > huge, run > huge), 0.25, 1.0)
    rise, run = factor * rise, factor * run
    small = either(rise < SMALL * run, equal(rise, 0.0))
    difference = select(equal(rise, run), 0.0, rise - run)
    run = select(equal(run, 0.0), select(small, 1.0, run), run)
    angle = _angle(rise, run, difference, small, precision)
    first, second = PI[precision]
    return with_sign(select(with_sign(1.0, x) < 0.0, first - (angle - second), angle), y)

"""Rotations and poses, once: matrices, rotation vectors, quaternions (w first), on the scalars of `algebra`.

They serve lane code, host evaluation with one NumPy entry per member, and drawing. A pose maps coordinates of a body or
frame to coordinates of its reference frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    asin,
    atan2,
    cos,
    cross,
    dot,
    identity,
    is_zero,
    known,
    largest,
    matmul,
    minus,
    norm_squared,
    plus,
    ratio,
    scale,
    select,
    sin,
    sqrt,
    total,
    unit,
)

NEARLY_EQUAL = 1e-9  # rad between quaternions: below, sin(s x)/sin(x) is s to rounding
AXES: dict[str, Vec] = {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "z": [0.0, 0.0, 1.0]}


def along(axis: str, custom: Sequence[Scalar] | None) -> Vec:
    """The unit vector along x, y or z by letter, else along a custom direction."""
    return AXES.get(axis) or unit(custom or AXES["z"])


def rotation_about(axis: Sequence[Scalar], angle: Scalar) -> Mat:
    """Rotation by `angle` [rad] about the unit vector `axis` (Rodrigues); an axis along x, y or z folds."""
    if is_zero(angle):
        return identity()
    c, s = cos(angle), sin(angle)
    k = 1.0 - c
    x, y, z = axis
    out = [[0.0] * 3 for _ in range(3)]
    skew = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    for i in range(3):
        for j in range(3):
            square = axis[i] * axis[j]
            if i == j and known(square) and abs(square) == 1.0:
                out[i][j] = 1.0
            else:
                out[i][j] = (c if i == j else 0.0) + k * square + s * skew[i][j]
    return out


def rotation_of_vector(r: Sequence[Scalar]) -> Mat:
    """exp of a rotation vector [rad], smooth at zero: through the quaternion (1, r/2 ...) of Rodrigues' formula.

    sin(x)/x and (1 - cos x)/x^2 are taken from their series below x = 1e-4, where it is exact to rounding.
    """
    if all(is_zero(a) for a in r):
        return identity()
    x2 = norm_squared(r)
    small = x2 < 1e-8
    safe = select(small, 1.0, x2)
    x = sqrt(safe)
    half = sin(0.5 * x)
    a = select(small, 1.0 - 1.0 / 6.0 * x2, ratio(sin(x), x))
    b = select(small, 0.5 - 1.0 / 24.0 * x2, ratio(2.0 * (half * half), safe))
    skew = [[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]]
    square = matmul(skew, skew)
    return [[(1.0 if i == j else 0.0) + (a * skew[i][j] + b * square[i][j]) for j in range(3)] for i in range(3)]


def rotation_of_quaternion(e: Sequence[Scalar]) -> Mat:
    """Rotation matrix of a unit quaternion, w first (not normalised here)."""
    w, x, y, z = e
    two = [2.0 * a for a in (x, y, z)]
    xx, yy, zz = two[0] * x, two[1] * y, two[2] * z
    xy, xz, yz = two[0] * y, two[0] * z, two[1] * z
    wx, wy, wz = two[0] * w, two[1] * w, two[2] * w
    return [
        [1.0 - (yy + zz), xy - wz, xz + wy],
        [xy + wz, 1.0 - (xx + zz), yz - wx],
        [xz - wy, yz + wx, 1.0 - (xx + yy)],
    ]


def quaternion_product(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vec:
    """Hamilton product, w first."""
    vector = plus(plus(scale(a[0], b[1:]), scale(b[0], a[1:])), cross(a[1:], b[1:]))
    return [a[0] * b[0] - dot(a[1:], b[1:]), *vector]


def quaternion_of_rotation(R: Mat) -> Vec:
    """Unit quaternion (w first, w >= 0 unless it is 0) of a rotation matrix: Shepperd's four cases as selects."""
    trace = total([R[0][0], R[1][1], R[2][2]])
    best = largest([trace, R[0][0], R[1][1], R[2][2]])
    off = [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]]
    pair = [R[1][2] + R[2][1], R[2][0] + R[0][2], R[0][1] + R[1][0]]
    cases: list[Vec] = [[1.0 + trace, *off]]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        vector: Vec = [0.0, 0.0, 0.0]
        vector[i] = 1.0 + 2.0 * R[i][i] - trace
        vector[j], vector[k] = pair[k], pair[j]
        cases.append([off[i], *vector])
    chosen = cases[3]
    for score, case in ((R[1][1], cases[2]), (R[0][0], cases[1]), (trace, cases[0])):
        chosen = [select(score < best, old, new) for old, new in zip(chosen, case, strict=True)]
    length = sqrt(total([x * x for x in chosen]))
    sign = select(chosen[0] < 0.0, -1.0 / length, 1.0 / length)
    return [sign * x for x in chosen]


def vector_of_rotation(R: Mat) -> Vec:
    """Logarithm of a rotation [rad], accurate up to and at pi (through the quaternion with w >= 0)."""
    w, *vector = quaternion_of_rotation(R)
    size = sqrt(norm_squared(vector))
    small = size < 1e-9  # the angle is 2 size there to all digits
    safe = select(small, 1.0, size)
    return scale(select(small, 2.0, ratio(2.0 * atan2(size, w), safe)), vector)


def quaternion_of_vector(r: Sequence[Scalar]) -> Vec:
    """Unit quaternion (w first) of a rotation vector [rad] (Grassia, Practical parameterization of rotations using the
    exponential map, 1998, equation 3)."""
    x2 = norm_squared(r)
    small = x2 < 1e-6  # below, the next term of the series is 1e-15
    half = 0.5 * sqrt(select(small, 1.0, x2))
    size = select(small, 0.5 - x2 * (1.0 / 48.0), 0.5 * ratio(sin(half), half))
    return [select(small, 1.0 - x2 * (0.125 - x2 * (1.0 / 384.0)), cos(half)), *scale(size, r)]


def vector_of_quaternion(e: Sequence[Scalar]) -> Vec:
    """Rotation vector [rad] of a unit quaternion, at most pi long: 4 arcsin(|u| / sqrt(2 (1 + w))) along u."""
    w, *u = scale(select(e[0] < 0.0, -1.0, 1.0), e)
    x2 = norm_squared(u)
    small = x2 < 1e-10
    size = sqrt(select(small, 1.0, x2))
    return scale(select(small, 2.0 + x2 * (1.0 / 3.0), ratio(4.0 * asin(ratio(size, sqrt(2.0 * (1.0 + w)))), size)), u)


def recharted(r: Sequence[Scalar]) -> Vec:
    """The rotation vector [rad] of the same rotation that is at most pi long: (1 - 2 pi / |r|) r beyond (Grassia 1998,
    section 3.1), for |r| up to 2 pi."""
    x2 = norm_squared(r)
    far = math.pi**2 < x2
    return scale(select(far, 1.0 - ratio(2.0 * math.pi, sqrt(select(far, x2, 1.0))), 1.0), r)


def vector_rate(r: Sequence[Scalar], w: Sequence[Scalar]) -> Vec:
    """r' = w + r x w / 2 + c r x (r x w), c = (1 - |r|/2 cot(|r|/2)) / |r|^2: of a rotation vector r [rad].

    w is the angular velocity in the axes of what turns; singular at |r| = 2 pi (Bullo, Murray, Proportional derivative
    control on the Euclidean group, 1995, lemma 3). Below |r|^2 = 0.01 c is its series, to 1e-15.
    """
    x2 = norm_squared(r)
    small = x2 < 0.01
    half = 0.5 * sqrt(select(small, 1.0, x2))
    series = 1.0 / 12.0 + x2 * (1.0 / 720.0 + x2 * (1.0 / 30240.0 + x2 * (1.0 / 1209600.0)))
    c = select(small, series, ratio(1.0 - ratio(half * cos(half), sin(half)), select(small, 1.0, x2)))
    across = cross(r, w)
    return plus(w, plus(scale(0.5, across), scale(c, cross(r, across))))


def vector_speed(r: Sequence[Scalar], rate: Sequence[Scalar]) -> Vec:
    """The inverse of `vector_rate`: w = r' - b r x r' + c r x (r x r'), b = (1 - cos|r|) / |r|^2, c = (|r| - sin|r|) /
    |r|^3."""
    x2 = norm_squared(r)
    small = x2 < 0.01
    safe = select(small, 1.0, x2)
    x = sqrt(safe)
    sine = sin(0.5 * x)
    b = select(small, 0.5 - x2 * (1 / 24 - x2 * (1 / 720 - x2 * (1 / 40320))), ratio(2.0 * (sine * sine), safe))
    series = 1 / 6 - x2 * (1 / 120 - x2 * (1 / 5040 - x2 * (1 / 362880)))
    c = select(small, series, ratio(x - sin(x), safe * x))
    across = cross(r, rate)
    return plus(rate, plus(scale(-b, across), scale(c, cross(r, across))))


def rotated(e: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
    """A vector rotated by a unit quaternion: v + 2 w (u x v) + 2 u x (u x v) for the quaternion (w, u)."""
    w, u = e[0], e[1:]
    once = cross(u, v)
    return plus(v, scale(2.0, plus(scale(w, once), cross(u, once))))


def conjugate(e: Sequence[Scalar]) -> Vec:
    """The quaternion of the inverse rotation."""
    return [e[0], -e[1], -e[2], -e[3]]


def normalized(e: Sequence[Scalar]) -> Vec:
    """The unit quaternion along e."""
    return scale(1.0 / sqrt(norm_squared(e)), e)


def angle_between(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Angle [rad] between unit quaternions, half that of the rotation from one to the other.

    The half-angle form is accurate for small angles, where arccos of the product loses half of the digits.
    """
    return 2.0 * atan2(sqrt(norm_squared(minus(b, a))), sqrt(norm_squared(plus(a, b))))


def slerp(a: Sequence[Scalar], b: Sequence[Scalar], s: Scalar) -> Vec:
    """Unit quaternions on the shorter great arc from a (s = 0) to b (s = 1).

    (sin((1-s) x) a + sin(s x) b) / sin(x), x the angle between them (Shoemake, Animating rotation with quaternion
    curves, 1985).
    """
    b = scale(select(dot(a, b) < 0.0, -1.0, 1.0), b)
    x, rest = angle_between(a, b), 1.0 - s
    near = x < NEARLY_EQUAL
    sine = select(near, 1.0, sin(x))
    part_a = select(near, rest, sin(rest * x) / sine)
    part_b = select(near, s, sin(s * x) / sine)
    return normalized(plus(scale(part_a, a), scale(part_b, b)))

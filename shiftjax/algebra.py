"""Scalars of a lane, with structural zeros and ones, and the vectors, rotations and screws made of them.

A scalar is a Python float (known exactly while the program is built) or a lane value: a traced JAX scalar, or a NumPy
array with one entry a member. Known numbers are folded here and nowhere else, so that a planar mechanism gets planar
code. JAX is imported at the first traced value, never by a file that only reads models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

Scalar = Any  # float | np.ndarray (B,) | jax tracer ()
Vec = list[Scalar]  # three scalars
Mat = list[list[Scalar]]  # rows of scalars
Screw = tuple[Vec, Vec]  # angular and linear part, about the point and along the axes of its context

_lax: Any = None


def _jax() -> Any:
    global _lax
    if _lax is None:
        from jax import lax

        _lax = lax
    return _lax


def known(a: Scalar) -> bool:
    """True for a number known while the program is built."""
    return type(a) is float


def is_zero(a: Scalar) -> bool:
    return type(a) is float and a == 0.0


def _like(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """Both operands as traced values of one dtype (a known number becomes a constant)."""
    if type(a) is float:
        return np.asarray(a, b.dtype), b
    if type(b) is float:
        return a, np.asarray(b, a.dtype)
    return a, b


def _binary(name: str, host: Callable[[Any, Any], Any]) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(a: Scalar, b: Scalar) -> Scalar:
        if type(a) is float and type(b) is float:
            return float(host(a, b))
        if _on_host(a) and _on_host(b):
            return host(a, b)
        return getattr(_jax(), name)(*_like(a, b))

    return apply


def _on_host(a: Scalar) -> bool:
    return type(a) is float or isinstance(a, np.ndarray)


def _unary(name: str, folded: Callable[[float], float], host: Callable[[Any], Any]) -> Callable[[Scalar], Scalar]:
    def apply(a: Scalar) -> Scalar:
        if type(a) is float:
            return float(folded(a))
        return host(a) if isinstance(a, np.ndarray) else getattr(_jax(), name)(a)

    return apply


_add = _binary("add", lambda a, b: a + b)
_sub = _binary("sub", lambda a, b: a - b)
_mul = _binary("mul", lambda a, b: a * b)
_div = _binary("div", lambda a, b: a / b)
atan2 = _binary("atan2", np.arctan2)
power = _binary("pow", lambda a, b: a**b)
less = _binary("lt", lambda a, b: a < b)
_neg = _unary("neg", lambda a: -a, np.negative)
absolute = _unary("abs", abs, np.abs)
sqrt = _unary("sqrt", math.sqrt, np.sqrt)
sin = _unary("sin", math.sin, np.sin)
cos = _unary("cos", math.cos, np.cos)
exp = _unary("exp", math.exp, np.exp)
log = _unary("log", math.log, np.log)
tanh = _unary("tanh", math.tanh, np.tanh)


def add(a: Scalar, b: Scalar) -> Scalar:
    if type(a) is float and a == 0.0:
        return b
    if type(b) is float and b == 0.0:
        return a
    return _add(a, b)


def sub(a: Scalar, b: Scalar) -> Scalar:
    if type(b) is float and b == 0.0:
        return a
    if type(a) is float and a == 0.0:
        return neg(b)
    return 0.0 if a is b else _sub(a, b)


def neg(a: Scalar) -> Scalar:
    if type(a) is float:
        return -a if a != 0.0 else 0.0
    return _neg(a)


def mul(a: Scalar, b: Scalar) -> Scalar:
    if type(b) is float and type(a) is not float:
        a, b = b, a
    if type(a) is float:
        if a == 0.0:
            return 0.0
        if a == 1.0:
            return b
        if a == -1.0:
            return neg(b)
    return _mul(a, b)


def div(a: Scalar, b: Scalar) -> Scalar:
    if is_zero(a):
        return 0.0
    if type(b) is float:
        return mul(1.0 / b, a)
    return _div(a, b)


def select(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """`yes` where the condition (from `less`) holds, else `no`."""
    if type(condition) is float:
        return yes if condition else no
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    lax = _jax()
    if type(yes) is float and type(no) is float:
        if yes == no:
            return yes
        dtype = np.float64 if _x64() else np.float32
        return lax.select(condition, np.asarray(yes, dtype), np.asarray(no, dtype))
    return lax.select(condition, *_like(yes, no))


def _x64() -> bool:
    import jax

    return bool(jax.config.read("jax_enable_x64"))


def total(values: Sequence[Scalar]) -> Scalar:
    return reduce(add, values, 0.0)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two; one machine instruction, which may lose a NaN: a step's finiteness is its machine's affair."""
    return max(a, b) if known(a) and known(b) else select(less(a, b), b, a)


def largest(values: Sequence[Scalar]) -> Scalar:
    """The largest of some values, 0 for none."""
    return reduce(larger, values) if values else 0.0


def dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """Sum of products; zeros known while building cost nothing."""
    out: Scalar = 0.0
    for a, b in zip(x, y, strict=True):
        out = add(out, mul(a, b))
    return out


def plus(x: Sequence[Scalar], y: Sequence[Scalar]) -> Vec:
    return [add(a, b) for a, b in zip(x, y, strict=True)]


def minus(x: Sequence[Scalar], y: Sequence[Scalar]) -> Vec:
    return [sub(a, b) for a, b in zip(x, y, strict=True)]


def scale(s: Scalar, x: Sequence[Scalar]) -> Vec:
    return [mul(s, a) for a in x]


def negative(x: Sequence[Scalar]) -> Vec:
    return [neg(a) for a in x]


def zeros(n: int = 3) -> Vec:
    return [0.0] * n


def cross(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vec:
    return [
        sub(mul(a[1], b[2]), mul(a[2], b[1])),
        sub(mul(a[2], b[0]), mul(a[0], b[2])),
        sub(mul(a[0], b[1]), mul(a[1], b[0])),
    ]


def identity() -> Mat:
    return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def matvec(M: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> Vec:
    return [dot(row, x) for row in M]


def matmul(A: Sequence[Sequence[Scalar]], B: Sequence[Sequence[Scalar]]) -> Mat:
    columns = list(zip(*B, strict=True))
    return [[dot(row, column) for column in columns] for row in A]


def transpose(M: Sequence[Sequence[Scalar]]) -> Mat:
    return [list(column) for column in zip(*M, strict=True)]


def norm_squared(x: Sequence[Scalar]) -> Scalar:
    return dot(x, x)


def unit(x: Sequence[Scalar]) -> Vec:
    """The unit vector along x; exact for a vector that already has length one."""
    square = norm_squared(x)
    return list(x) if known(square) and square == 1.0 else scale(div(1.0, sqrt(square)), x)


def rotation_about(axis: Sequence[Scalar], angle: Scalar) -> Mat:
    """Rotation by `angle` [rad] about the unit vector `axis` (Rodrigues); an axis along x, y or z folds."""
    if is_zero(angle):
        return identity()
    c, s = cos(angle), sin(angle)
    k = sub(1.0, c)
    x, y, z = axis
    out = [[0.0] * 3 for _ in range(3)]
    skew = [[0.0, neg(z), y], [z, 0.0, neg(x)], [neg(y), x, 0.0]]
    for i in range(3):
        for j in range(3):
            square = mul(axis[i], axis[j])
            if i == j and known(square) and abs(square) == 1.0:
                out[i][j] = 1.0
            else:
                out[i][j] = add(add(c if i == j else 0.0, mul(k, square)), mul(s, skew[i][j]))
    return out


def rotation_of_vector(r: Sequence[Scalar]) -> Mat:
    """exp of a rotation vector [rad], smooth at zero: through the quaternion (1, r/2 ...) of Rodrigues' formula.

    sin(x)/x and (1 - cos x)/x^2 are taken from their series below x = 1e-4, where it is exact to rounding.
    """
    if all(is_zero(a) for a in r):
        return identity()
    x2 = norm_squared(r)
    small = less(x2, 1e-8)
    safe = select(small, 1.0, x2)
    x = sqrt(safe)
    half = sin(mul(0.5, x))
    a = select(small, sub(1.0, mul(1.0 / 6.0, x2)), div(sin(x), x))
    b = select(small, sub(0.5, mul(1.0 / 24.0, x2)), div(mul(2.0, mul(half, half)), safe))
    skew = [[0.0, neg(r[2]), r[1]], [r[2], 0.0, neg(r[0])], [neg(r[1]), r[0], 0.0]]
    square = matmul(skew, skew)
    return [
        [add(1.0 if i == j else 0.0, add(mul(a, skew[i][j]), mul(b, square[i][j]))) for j in range(3)] for i in range(3)
    ]


def rotation_of_quaternion(e: Sequence[Scalar]) -> Mat:
    """Rotation matrix of a unit quaternion, w first (not normalised here)."""
    w, x, y, z = e
    two = [mul(2.0, a) for a in (x, y, z)]
    xx, yy, zz = mul(two[0], x), mul(two[1], y), mul(two[2], z)
    xy, xz, yz = mul(two[0], y), mul(two[0], z), mul(two[1], z)
    wx, wy, wz = mul(two[0], w), mul(two[1], w), mul(two[2], w)
    return [
        [sub(1.0, add(yy, zz)), sub(xy, wz), add(xz, wy)],
        [add(xy, wz), sub(1.0, add(xx, zz)), sub(yz, wx)],
        [sub(xz, wy), add(yz, wx), sub(1.0, add(xx, yy))],
    ]


def quaternion_product(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vec:
    """Hamilton product, w first."""
    vector = plus(plus(scale(a[0], b[1:]), scale(b[0], a[1:])), cross(a[1:], b[1:]))
    return [sub(mul(a[0], b[0]), dot(a[1:], b[1:])), *vector]

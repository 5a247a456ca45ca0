"""Scalars of a lane, with structural zeros and ones, and the vectors and matrices made of them.

A scalar is a Python float (a constant at trace time) or a lane value: a traced JAX scalar, or a NumPy array with one
entry per member. Constants are folded here and nowhere else, so that a planar mechanism gets planar code. JAX is
imported at the first traced value, never by a file that only reads models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import reduce
from typing import Any

import numpy as np

Scalar = Any  # float | np.ndarray (B,) | jax tracer ()
Vec = list[Scalar]  # three scalars
Mat = list[list[Scalar]]  # rows of scalars
Screw = tuple[Vec, Vec]  # angular and linear part, about the point and along the axes of its context
NUMPY = np.ndarray | np.generic  # evaluated by NumPy on the host: an operation on (1,)[0] returns a NumPy scalar

_lax: Any = None


def _jax() -> Any:
    global _lax
    if _lax is None:
        from jax import lax

        _lax = lax
    return _lax


def known(a: Scalar) -> bool:
    """True for a constant known at trace time."""
    return type(a) is float


def is_zero(a: Scalar) -> bool:
    return type(a) is float and a == 0.0


def _like(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """Both operands as traced values of one dtype (a Python float becomes a constant)."""
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
    return type(a) is float or isinstance(a, NUMPY)


def _unary(name: str, folded: Callable[[float], float], host: Callable[[Any], Any]) -> Callable[[Scalar], Scalar]:
    def apply(a: Scalar) -> Scalar:
        if type(a) is float:
            try:
                return float(folded(a))
            except ValueError:  # as arrays do: the sine of infinity is not a number
                return math.nan
        return host(a) if isinstance(a, NUMPY) else getattr(_jax(), name)(a)

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
floor = _unary("floor", math.floor, np.floor)


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
    if isinstance(condition, NUMPY):
        return np.where(condition, yes, no)
    lax = _jax()
    if type(yes) is float and type(no) is float:
        if yes == no:
            return yes
        dtype = np.float64 if _x64() else np.float32
        yes, no = np.asarray(yes, dtype), np.asarray(no, dtype)
    # members stand in arrays where a derivative is taken on the host; () in the code of a lane
    yes, no = (np.broadcast_to(x, condition.shape) if isinstance(x, NUMPY) else x for x in _like(yes, no))
    return lax.select(condition, yes, no)


def _x64() -> bool:
    import jax

    return bool(jax.config.read("jax_enable_x64"))


def total(values: Sequence[Scalar]) -> Scalar:
    return reduce(add, values, 0.0)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two; one machine instruction, which may drop a NaN: the kernel checks finiteness of every step."""
    return max(a, b) if known(a) and known(b) else select(less(a, b), b, a)


def largest(values: Sequence[Scalar]) -> Scalar:
    """The largest of some values, 0 for none."""
    return reduce(larger, values) if values else 0.0


def dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """Sum of products; constant zeros cost nothing."""
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


def derivative(
    function: Callable[[Sequence[Scalar]], Scalar], x: Sequence[Scalar], direction: Sequence[Scalar]
) -> tuple[Scalar, Scalar]:
    """Value of a scalar function at x and its derivative along a direction, by JAX's forward mode.

    Args:
        function: pure; called with JAX values whatever x holds.
        x, direction: (n,) scalars of one kind: lane values, or numbers and NumPy arrays of one length.
    """
    import jax
    from jax.core import Tracer

    values = [*x, *direction]
    on_host = all(map(_on_host, values))
    with jax.enable_x64(True) if on_host else nullcontext():
        shape = np.broadcast_shapes(*(np.shape(a) for a in values))
        kind = np.float64 if on_host else next(a.dtype for a in values if not _on_host(a))
        full = [jax.numpy.broadcast_to(jax.numpy.asarray(a, kind), shape) for a in values]
        value, slope = jax.jvp(lambda *point: function(point), tuple(full[: len(x)]), tuple(full[len(x) :]))
    if not on_host or isinstance(value, Tracer):
        return value, slope
    return (np.asarray(value), np.asarray(slope)) if shape else (float(value), float(slope))


def norm_squared(x: Sequence[Scalar]) -> Scalar:
    return dot(x, x)


def unit(x: Sequence[Scalar]) -> Vec:
    """The unit vector along x; exact for a vector that already has length one."""
    square = norm_squared(x)
    return list(x) if known(square) and square == 1.0 else scale(div(1.0, sqrt(square)), x)

"""Scalars of a lane, with structural zeros and ones, and the vectors and matrices made of them.

A scalar is a Python float (a constant, known while the graph is built), a `LaneValue` (a place in the graph that is
being built, `lanes.graph`), or, where lane code is evaluated as it is written, a NumPy array with one entry a member.
Constants are folded here and nowhere else, so that a planar mechanism gets planar code. A function that a user wrote
with `jax.numpy` is traced with scalars of JAX, which pass through, too (`lanes.outside`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

Scalar = Any  # float | LaneValue | np.ndarray (B,)
Vec = list[Scalar]  # three scalars
Mat = list[list[Scalar]]  # rows of scalars
Screw = tuple[Vec, Vec]  # angular and linear part, about the point and along the axes of its context
NUMPY = np.ndarray | np.generic  # evaluated by NumPy on the host: an operation on (1,)[0] returns a NumPy scalar


class LaneValue:
    """A number of a lane that is known only when the graph runs: a reference into the graph."""

    __slots__ = ("graph", "ref")

    def __init__(self, graph: Any, ref: int) -> None:
        self.graph, self.ref = graph, ref

    def __repr__(self) -> str:
        return f"LaneValue({self.graph.nodes[self.ref >> 1][0]})"

    def __add__(self, other: Any) -> Scalar:
        return add(self, _operand(other))

    def __radd__(self, other: Any) -> Scalar:
        return add(_operand(other), self)

    def __sub__(self, other: Any) -> Scalar:
        return sub(self, _operand(other))

    def __rsub__(self, other: Any) -> Scalar:
        return sub(_operand(other), self)

    def __mul__(self, other: Any) -> Scalar:
        return mul(self, _operand(other))

    def __rmul__(self, other: Any) -> Scalar:
        return mul(_operand(other), self)

    def __truediv__(self, other: Any) -> Scalar:
        return div(self, _operand(other))

    def __rtruediv__(self, other: Any) -> Scalar:
        return div(_operand(other), self)

    def __neg__(self) -> LaneValue:
        return LaneValue(self.graph, self.ref ^ 1)

    def __pos__(self) -> LaneValue:
        return self

    def __abs__(self) -> Scalar:
        return absolute(self)

    def __pow__(self, other: Any) -> Scalar:
        if isinstance(other, (int, np.integer)):
            return LaneValue(self.graph, self.graph.power(self.ref, int(other)))
        return power(self, _operand(other))

    def __rpow__(self, other: Any) -> Scalar:
        return power(_operand(other), self)

    def __lt__(self, other: Any) -> Scalar:
        return less(self, _operand(other))

    def __gt__(self, other: Any) -> Scalar:
        return less(_operand(other), self)

    def __le__(self, other: Any) -> Scalar:
        return _at_most(self, _operand(other))

    def __ge__(self, other: Any) -> Scalar:
        return _at_most(_operand(other), self)

    def __bool__(self) -> bool:
        raise TypeError("a lane value is not known yet, so that nothing can be decided by it: use `algebra.select`")

    def __float__(self) -> float:
        raise TypeError("a lane value is not known yet: use the functions of `shiftjax.algebra` in place of `math`")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "a lane value is not known yet, so that it is no array: use the functions of `shiftjax.algebra`"
        )

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        if function is not np.where or len(given) != 3 or options:
            raise TypeError(
                f"numpy.{function.__name__} of a lane value is no operation of a graph: use `shiftjax.algebra`"
            )
        return select(given[0], *map(_operand, given[1:]))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        operation = UFUNCS.get(ufunc.__name__)
        if operation is None or method != "__call__" or options:
            raise TypeError(
                f"numpy.{ufunc.__name__} of a lane value is no operation of a graph: use `shiftjax.algebra`, "
                f"or one of {', '.join(sorted(UFUNCS))}"
            )
        return operation(*map(_operand, inputs))


def _operand(value: Any) -> Scalar:
    """What an operator is given beside a lane value, as a scalar."""
    if type(value) is float or type(value) is LaneValue:
        return value
    if isinstance(value, (int, float, np.number)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return float(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value
    raise TypeError(f"{type(value).__name__} beside a lane value: a number or another lane value is allowed")


def known(a: Scalar) -> bool:
    """True for a constant known while the graph is built."""
    return type(a) is float


def is_zero(a: Scalar) -> bool:
    """True for a known zero."""
    return type(a) is float and a == 0.0


def _binary(build: Callable[[Any, int, int], int], host: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    def apply(a: Scalar, b: Scalar) -> Scalar:
        if type(a) is LaneValue:
            graph = a.graph
            if type(b) is float:
                return LaneValue(graph, build(graph, a.ref, graph.literal(b)))
            if type(b) is LaneValue and b.graph is graph:
                return LaneValue(graph, build(graph, a.ref, b.ref))
        if type(a) is LaneValue or type(b) is LaneValue:
            graph = _innermost(a, b)
            return LaneValue(graph, build(graph, _ref(graph, a), _ref(graph, b)))
        if type(a) is float and type(b) is float:
            return float(host(a, b))
        if _on_host(a) and _on_host(b):
            return host(a, b)
        return _in_jax(name, a, b)

    return apply


def _innermost(*values: Scalar) -> Any:
    """The graph that is being built: that of a function from outside, if another one is built around it."""
    return max((value.graph for value in values if type(value) is LaneValue), key=lambda graph: graph.level)


def _ref(graph: Any, value: Scalar) -> int:
    """The reference of a scalar in a graph; what belongs to another one, or to members, becomes an input."""
    if type(value) is float:
        return graph.literal(value)
    return value.ref if type(value) is LaneValue and value.graph is graph else graph.captured(value)


def _on_host(a: Scalar) -> bool:
    return type(a) is float or isinstance(a, NUMPY)


def _unary(
    build: Callable[[Any, int], int], folded: Callable[[float], float], host: Callable[[Any], Any], name: str
) -> Callable[[Scalar], Scalar]:
    def apply(a: Scalar) -> Scalar:
        if type(a) is LaneValue:
            return LaneValue(a.graph, build(a.graph, a.ref))
        if type(a) is float:
            try:
                return float(folded(a))
            except ValueError:  # as arrays do: the sine of infinity is not a number
                return math.nan
        return host(a) if isinstance(a, NUMPY) else _in_jax(name, a)

    return apply


def _in_jax(name: str, *values: Any) -> Any:
    """An operation on the scalars with which a user's function is traced: whoever has them has imported JAX."""
    lax = getattr(sys.modules.get("jax"), "lax", None)
    dtype = next((a.dtype for a in values if hasattr(a, "dtype")), None)
    if lax is None or dtype is None:
        raise TypeError(f"no scalar of a lane: {', '.join(type(a).__name__ for a in values)}")
    return getattr(lax, name)(*(np.asarray(a, dtype) if type(a) is float else a for a in values))


def _plain(name: str) -> Callable[[Any, int], int]:
    return lambda graph, a: graph.node(name, a)


_add = _binary(lambda graph, a, b: graph.add(a, b), lambda a, b: a + b, "add")
_sub = _binary(lambda graph, a, b: graph.add(a, b ^ 1), lambda a, b: a - b, "sub")
_mul = _binary(lambda graph, a, b: graph.mul(a, b), lambda a, b: a * b, "mul")
quotient = _binary(
    lambda graph, a, b: graph.div(a, b), lambda a, b: a / b, "div"
)  # rounded once, also by a known number
atan2 = _binary(lambda graph, a, b: graph.node("atan2", a, b), np.arctan2, "atan2")
power = _binary(lambda graph, a, b: graph.node("pow", a, b), lambda a, b: a**b, "pow")
less = _binary(lambda graph, a, b: graph.node("lt", a, b), lambda a, b: a < b, "lt")
_at_most = _binary(lambda graph, a, b: graph.node("le", a, b), lambda a, b: a <= b, "le")
_neg = _unary(lambda graph, a: a ^ 1, lambda a: -a, np.negative, "neg")
absolute = _unary(lambda graph, a: graph.absolute(a), abs, np.abs, "abs")
sqrt = _unary(_plain("sqrt"), math.sqrt, np.sqrt, "sqrt")
sin = _unary(lambda graph, a: graph.sin(a), math.sin, np.sin, "sin")
cos = _unary(lambda graph, a: graph.cos(a), math.cos, np.cos, "cos")
exp = _unary(_plain("exp"), math.exp, np.exp, "exp")
log = _unary(_plain("log"), math.log, np.log, "log")
tanh = _unary(_plain("tanh"), math.tanh, np.tanh, "tanh")
floor = _unary(_plain("floor"), math.floor, np.floor, "floor")


def add(a: Scalar, b: Scalar) -> Scalar:
    """a + b; a known zero costs nothing."""
    if type(a) is float and a == 0.0:
        return b
    if type(b) is float and b == 0.0:
        return a
    return _add(a, b)


def sub(a: Scalar, b: Scalar) -> Scalar:
    """a - b; a known zero costs nothing, and the difference of one object and itself is a known zero."""
    if type(b) is float and b == 0.0:
        return a
    if type(a) is float and a == 0.0:
        return neg(b)
    return 0.0 if a is b else _sub(a, b)


def neg(a: Scalar) -> Scalar:
    """-a; there is no known negative zero."""
    if type(a) is float:
        return -a if a != 0.0 else 0.0
    return _neg(a)


def mul(a: Scalar, b: Scalar) -> Scalar:
    """a b; known factors 0, 1 and -1 cost nothing."""
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
    """a / b; by a known number it is the product with its reciprocal."""
    if is_zero(a):
        return 0.0
    if type(b) is float:
        return mul(1.0 / b, a)
    return quotient(a, b)


def select(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """`yes` where the condition (a comparison) holds, else `no`."""
    if type(condition) in (float, bool):
        return yes if condition else no
    if type(condition) is LaneValue or type(yes) is LaneValue or type(no) is LaneValue:
        if type(yes) is float and type(no) is float and yes == no:
            return yes
        graph = _innermost(condition, yes, no)
        return LaneValue(graph, graph.select(*(_ref(graph, x) for x in (condition, no, yes))))
    if isinstance(condition, NUMPY):
        return np.where(condition, yes, no)
    return sys.modules["jax"].numpy.where(condition, yes, no)


UFUNCS: dict[str, Callable[..., Scalar]] = {
    **{"add": add, "subtract": sub, "multiply": mul, "divide": div, "negative": neg, "absolute": absolute},
    **{"arctan2": atan2, "power": power, "float_power": power, "less": less, "less_equal": _at_most},
    **{"greater": lambda a, b: less(b, a), "greater_equal": lambda a, b: _at_most(b, a)},
    **{"sqrt": sqrt, "sin": sin, "cos": cos, "exp": exp, "log": log, "tanh": tanh, "floor": floor},
    **{"square": lambda a: mul(a, a), "positive": lambda a: a},
}


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


def norm_squared(x: Sequence[Scalar]) -> Scalar:
    return dot(x, x)


def unit(x: Sequence[Scalar]) -> Vec:
    """The unit vector along x; exact for a vector that already has length one."""
    square = norm_squared(x)
    return list(x) if known(square) and square == 1.0 else scale(div(1.0, sqrt(square)), x)

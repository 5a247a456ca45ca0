"""Scalars of a lane, with structural zeros and ones, and the vectors and matrices made of them.

A scalar is a Python float (a constant, known while the graph is built) or a `LaneValue` (a place in the graph that is
being built, `lanes.graph`), and is calculated with by operators. Constants are folded here and nowhere else, so that a
planar mechanism gets planar code: `0.0 * x` is 0.0, `x + 0.0` and `1.0 * x` are x, `x - x` is 0.0. NumPy arrays pass
through, for poses that are stored, and so do scalars of JAX, for functions that a user wrote with `jax.numpy`
(`lanes.outside`).
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

Scalar = Any  # float | LaneValue; np.ndarray for stored poses
Vec = list[Scalar]  # three scalars
Mat = list[list[Scalar]]  # rows of scalars
Screw = tuple[Vec, Vec]  # angular and linear part, about the point and along the axes of its context
NUMPY = np.ndarray | np.generic  # an operation on (1,)[0] returns a NumPy scalar


class LaneValue:
    """A number of a lane that is known only when the graph runs: a reference into the graph."""

    __slots__ = ("graph", "ref")

    def __init__(self, graph: Any, ref: int) -> None:
        self.graph, self.ref = graph, ref

    def __repr__(self) -> str:
        return f"LaneValue({self.graph.nodes[self.ref >> 1][0]})"

    def __add__(self, other: Any) -> Scalar:
        if type(other) is LaneValue:
            graph = self.graph
            return LaneValue(graph, graph.add(self.ref, other.ref)) if other.graph is graph else _sum(self, other)
        return self if (other := _known(other)) == 0.0 else _sum(self, other)

    def __radd__(self, other: Any) -> Scalar:
        number = other if type(other) is float else _known(other)
        return self if number == 0.0 else _sum(number, self)

    def __sub__(self, other: Any) -> Scalar:
        if type(other) is LaneValue:
            graph = self.graph
            if other is self:
                return 0.0
            return (
                LaneValue(graph, graph.add(self.ref, other.ref ^ 1))
                if other.graph is graph
                else _difference(self, other)
            )
        return self if (other := _known(other)) == 0.0 else _difference(self, other)

    def __rsub__(self, other: Any) -> Scalar:
        return -self if (number := _known(other)) == 0.0 else _difference(number, self)

    def __mul__(self, other: Any) -> Scalar:
        if type(other) is LaneValue:
            graph = self.graph
            return LaneValue(graph, graph.mul(self.ref, other.ref)) if other.graph is graph else _product(self, other)
        return self.__rmul__(other)

    def __rmul__(self, other: Any) -> Scalar:
        number = other if type(other) is float else _known(other)
        if number == 0.0:
            return 0.0
        if number == 1.0:
            return self
        return -self if number == -1.0 else _product(number, self)

    def __truediv__(self, other: Any) -> Scalar:
        """By a known number it is the product with its reciprocal; `quotient` is rounded once."""
        return quotient(self, other) if type(other) is LaneValue else self.__rmul__(1.0 / _known(other))

    def __rtruediv__(self, other: Any) -> Scalar:
        return 0.0 if (number := _known(other)) == 0.0 else quotient(number, self)

    def __neg__(self) -> LaneValue:
        return LaneValue(self.graph, self.ref ^ 1)

    def __pos__(self) -> LaneValue:
        return self

    def __abs__(self) -> Scalar:
        return LaneValue(self.graph, self.graph.absolute(self.ref))

    def __pow__(self, other: Any) -> Scalar:
        if isinstance(other, (int, np.integer)):
            return LaneValue(self.graph, self.graph.power(self.ref, int(other)))
        return _power(self, _operand(other))

    def __rpow__(self, other: Any) -> Scalar:
        return _power(_operand(other), self)

    def __lt__(self, other: Any) -> Scalar:
        return _less(self, _operand(other))

    def __gt__(self, other: Any) -> Scalar:
        return _less(_operand(other), self)

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
    return value if type(value) is LaneValue else _known(value)


def _known(value: Any) -> float:
    """The same of what is no lane value."""
    if type(value) is float:
        return value
    if isinstance(value, (int, float, np.number)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return float(value)
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
    """The reference of a scalar in a graph; what belongs to another one becomes an input."""
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


_sum = _binary(lambda graph, a, b: graph.add(a, b), operator.add, "add")
_difference = _binary(lambda graph, a, b: graph.add(a, b ^ 1), operator.sub, "sub")
_product = _binary(lambda graph, a, b: graph.mul(a, b), operator.mul, "mul")
_power = _binary(lambda graph, a, b: graph.node("pow", a, b), operator.pow, "pow")
_less = _binary(lambda graph, a, b: graph.node("lt", a, b), operator.lt, "lt")
_at_most = _binary(lambda graph, a, b: graph.node("le", a, b), operator.le, "le")
# rounded once, also by a known number
quotient = _binary(lambda graph, a, b: graph.div(a, b), operator.truediv, "div")
atan2 = _binary(lambda graph, a, b: graph.node("atan2", a, b), np.arctan2, "atan2")
sqrt = _unary(_plain("sqrt"), math.sqrt, np.sqrt, "sqrt")
sin = _unary(lambda graph, a: graph.sin(a), math.sin, np.sin, "sin")
cos = _unary(lambda graph, a: graph.cos(a), math.cos, np.cos, "cos")
exp = _unary(_plain("exp"), math.exp, np.exp, "exp")
log = _unary(_plain("log"), math.log, np.log, "log")
asin = _unary(_plain("asin"), math.asin, np.arcsin, "asin")
tanh = _unary(_plain("tanh"), math.tanh, np.tanh, "tanh")
floor = _unary(_plain("floor"), math.floor, np.floor, "floor")


def ratio(a: Scalar, b: Scalar) -> Scalar:
    """a / b, rounded alike whether a is known or not: by a known number it is the product with its reciprocal."""
    if known(a) and known(b):
        return 0.0 if a == 0.0 else 1.0 / b * a
    return a / b


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
    **{"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv},
    **{"power": _power, "float_power": _power, "negative": operator.neg, "absolute": abs, "positive": operator.pos},
    **{"less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge},
    **{"sqrt": sqrt, "sin": sin, "cos": cos, "exp": exp, "log": log, "tanh": tanh, "floor": floor, "arctan2": atan2},
    "square": lambda a: a * a,
}


def total(values: Iterable[Scalar]) -> Scalar:
    return reduce(operator.add, values, 0.0)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two; one machine instruction, which may drop a NaN: the kernel checks finiteness of every step."""
    return max(a, b) if known(a) and known(b) else select(a < b, b, a)


def largest(values: Sequence[Scalar]) -> Scalar:
    """The largest of some values, 0 for none."""
    return reduce(larger, values) if values else 0.0


def dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """Sum of products; constant zeros cost nothing."""
    out: Scalar = 0.0
    for a, b in zip(x, y, strict=True):
        if type(a) is float:
            if a == 0.0 and type(b) is LaneValue:
                continue
        elif type(b) is float and b == 0.0 and type(a) is LaneValue:
            continue
        out = out + a * b
    return out


def plus(x: Sequence[Scalar], y: Sequence[Scalar]) -> Vec:
    return [a + b for a, b in zip(x, y, strict=True)]


def minus(x: Sequence[Scalar], y: Sequence[Scalar]) -> Vec:
    return [a - b for a, b in zip(x, y, strict=True)]


def scale(s: Scalar, x: Sequence[Scalar]) -> Vec:
    return [s * a for a in x]


def negative(x: Sequence[Scalar]) -> Vec:
    return [-a for a in x]


def zeros(n: int = 3) -> Vec:
    return [0.0] * n


def basis_vector(place: int, count: int) -> Vec:
    """(count,) 1 at a place, 0 elsewhere."""
    out = zeros(count)
    out[place] = 1.0
    return out


def cross(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vec:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
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
    return list(x) if known(square) and square == 1.0 else scale(1.0 / sqrt(square), x)

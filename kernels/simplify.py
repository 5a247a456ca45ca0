"""Simplifies a ClosedJaxpr of scalars to a list of distinct operations: inlining, value numbering, dead code removal.

A *reference* is `2 * node + negative`: the sign is part of the reference, so that negation costs nothing, `(-a) * b`
and `a * (-b)` are one product, and a fused multiply-add can include them. Products and quotients stay exact; a sum
whose terms are all negated may change the sign of an exact zero, on which only `atan2` depends: its programs keep every
sum as written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftjax.kernels.lane_program import DTYPES

if TYPE_CHECKING:  # its import takes a tenth of a start from a warm cache
    from jax.extend.core import ClosedJaxpr

Key = tuple[Any, ...]

UNARY = {"sqrt", "exp", "log", "tanh", "asin", "acos", "atan", "sinh", "cosh", "floor", "ceil", "sign", "is_finite"}
COPIES = {"copy", "copy_p", "stop_gradient", "reduce_precision", "optimization_barrier"}
SHAPE_COPIES = {"broadcast_in_dim", "reshape", "squeeze"}  # of a scalar to a scalar
INNER = {"jaxpr", "call_jaxpr", "fun_jaxpr"}  # parameters that hold the body of pjit, closed_call, custom_jvp, ...
SWAPPED = {"gt": "lt", "ge": "le"}


def _power_of_two(number: float) -> bool:
    """Whether a product by it, or by its reciprocal, is exact (far from overflow)."""
    return math.frexp(number)[0] == 0.5 and 1e-30 < number < 1e30


class Graph:
    """Operations in order; `nodes[k]` is (operation, argument references...) and `outputs` are references."""

    def __init__(self, *, signed_zeros: bool = False) -> None:
        self.nodes: list[Key] = []
        self.outputs: list[int] = []
        self.signed_zeros = signed_zeros
        self._known: dict[Key, int] = {}

    def node(self, *key: Any) -> int:
        """The reference of the operation `key`, added when it is new."""
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.nodes)
            self.nodes.append(key)
        return 2 * number

    def const(self, value: float) -> int:
        """The reference of a constant; negative ones are negated references."""
        value = float(value)
        if math.copysign(1.0, value) < 0:
            return self.node("const", -value) + 1
        return self.node("const", value)

    def value(self, ref: int) -> float | None:
        """The value of a constant, None for others."""
        node = self.nodes[ref >> 1]
        if node[0] != "const":
            return None
        return -node[1] if ref & 1 else node[1]

    def is_boolean(self, ref: int) -> bool:
        """Whether `ref` is a boolean."""
        node = self.nodes[ref >> 1]
        return node[0] in BOOLEANS or (node[0] == "select" and self.is_boolean(node[2]))

    def add(self, a: int, b: int) -> int:
        """a + b, normalised so that the first term is positive."""
        if a > b:
            a, b = b, a
        if self.signed_zeros:
            return self.node("add", a, b)
        if self.value(a) == 0.0:
            return b
        if self.value(b) == 0.0:
            return a
        sign = a & 1
        return self.node("add", a ^ sign, b ^ sign) ^ sign

    def mul(self, a: int, b: int) -> int:
        """a * b; a factor 1 is dropped, and a power of two in a factor of a constant joins it, which rounds nothing."""
        sign = (a ^ b) & 1
        a, b = a & ~1, b & ~1
        for number, other in ((self.value(a), b), (self.value(b), a)):
            joined = self._joined(number, other) if number else None
            if joined is not None:
                return self.mul(*joined) ^ sign
        if self.value(a) == 1.0:
            return b ^ sign
        if self.value(b) == 1.0:
            return a ^ sign
        return self.node("mul", min(a, b), max(a, b)) ^ sign

    def _joined(self, number: float, ref: int) -> tuple[int, int] | None:
        """number * ref as another constant and what it multiplies, where `ref` is a product by a power of two."""
        name, *factors = self.nodes[ref >> 1]
        if name == "mul":
            for one, other in (factors, factors[::-1]):
                inner = self.value(one)
                if inner is not None and _power_of_two(inner) and 1e-30 < abs(number * inner) < 1e30:
                    return self.const(number * inner), other
        return None

    def div(self, a: int, b: int) -> int:
        """a / b; a product where b is a power of two."""
        number = self.value(b & ~1)
        if number is not None and _power_of_two(number):
            return self.mul(a, self.const(1.0 / number) ^ (b & 1))
        return self.node("div", a & ~1, b & ~1) ^ ((a ^ b) & 1)

    def power(self, a: int, n: int) -> int:
        """a ** n by squaring."""
        if n < 0:
            return self.div(self.const(1.0), self.power(a, -n))
        if n == 0:
            return self.const(1.0)
        half = self.power(a, n // 2) if n > 1 else None
        if half is None:
            return a
        square = self.mul(half, half)
        return self.mul(square, a) if n & 1 else square

    def compare(self, name: str, a: int, b: int) -> int:
        """A comparison; only lt, le, eq and ne remain."""
        if name in SWAPPED:
            name, a, b = SWAPPED[name], b, a
        return self.node(name, a, b)

    def select(self, which: int, if_false: int, if_true: int) -> int:
        """if_true where `which`, else if_false."""
        return if_true if if_false == if_true else self.node("select", which, if_true, if_false)


def _table() -> dict[str, Callable[[Graph, list[int], dict[str, Any]], int]]:
    table: dict[str, Callable[[Graph, list[int], dict[str, Any]], int]] = {
        "add": lambda g, x, p: g.add(x[0], x[1]),
        "add_any": lambda g, x, p: g.add(x[0], x[1]),
        "sub": lambda g, x, p: g.add(x[0], x[1] ^ 1),
        "mul": lambda g, x, p: g.mul(x[0], x[1]),
        "div": lambda g, x, p: g.div(x[0], x[1]),
        "neg": lambda g, x, p: x[0] ^ 1,
        "sin": lambda g, x, p: g.node("sin", x[0] & ~1) ^ (x[0] & 1),
        "cos": lambda g, x, p: g.node("cos", x[0] & ~1),
        "tan": lambda g, x, p: g.div(g.node("sin", x[0] & ~1), g.node("cos", x[0] & ~1)) ^ (x[0] & 1),
        "abs": lambda g, x, p: g.node("abs", x[0] & ~1),
        "square": lambda g, x, p: g.mul(x[0], x[0]),
        "integer_pow": lambda g, x, p: g.power(x[0], p["y"]),
        "rsqrt": lambda g, x, p: g.div(g.const(1.0), g.node("sqrt", x[0])),
        "max": lambda g, x, p: g.node("max", min(x), max(x)),
        "min": lambda g, x, p: g.node("min", min(x), max(x)),
        "atan2": lambda g, x, p: g.node("atan2", x[0], x[1]),
        "pow": lambda g, x, p: g.node("pow", x[0], x[1]),
        "clamp": lambda g, x, p: g.node("min", *sorted((g.node("max", *sorted((x[0], x[1]))), x[2]))),
        "not": lambda g, x, p: g.node("not", x[0]),
    }
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        table[name] = lambda g, x, p, name=name: g.compare(name, x[0], x[1])
    for name in ("and", "or"):
        table[name] = lambda g, x, p, name=name: g.node(name, min(x), max(x))
    for name in UNARY:
        table[name] = lambda g, x, p, name=name: g.node(name, x[0])
    return table


HANDLERS = _table()
BOOLEANS = {"lt", "le", "eq", "ne", "and", "or", "not", "is_finite", "true", "false"}


def simplify(closed: ClosedJaxpr, precision: str) -> Graph:
    """The distinct live operations of `closed` for a kernel of `precision`.

    Raises:
        NotImplementedError: an unsupported primitive.
        TypeError: arrays, integers, or float32 code for an f64 kernel.
    """
    check_jaxpr(closed, precision)
    graph = Graph(signed_zeros=_uses_atan2(closed.jaxpr))
    arguments = [graph.node("in", k) for k in range(len(closed.jaxpr.invars))]
    graph.outputs = _inline(graph, closed.jaxpr, closed.consts, arguments, precision)
    for ref in graph.outputs:
        if graph.is_boolean(ref):
            raise TypeError("an output of a piece is a boolean: select numbers by it instead")
    return _without_dead_code(graph)


def check_jaxpr(closed: ClosedJaxpr, precision: str) -> None:
    """Raises for code that is not scalar, or was traced in float32 for an f64 kernel."""
    for var in (*closed.jaxpr.invars, *closed.jaxpr.outvars):
        _check(var.aval, precision)


def _check(aval: Any, precision: str) -> None:
    if aval.shape != ():
        raise TypeError(f"a piece works on scalars, found an array of shape {aval.shape}")
    if precision == "f64" and aval.dtype == np.float32:
        raise TypeError(
            "an f64 kernel was given code traced in float32: trace it under jax.enable_x64(True) with float64 arguments"
        )
    if aval.dtype not in (np.dtype(name) for name in (*DTYPES.values(), "bool")):
        raise TypeError(f"a piece works on floats and booleans, found {aval.dtype}")


def _uses_atan2(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name == "atan2" or any(_uses_atan2(_body(eqn)[0]) for key in INNER if key in eqn.params)
        for eqn in jaxpr.eqns
    )


def _body(eqn: Any) -> tuple[Any, Sequence[Any]] | tuple[None, tuple[()]]:
    for key in ("call_jaxpr", "jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(key)
        if inner is not None:
            return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())
    return None, ()


def _inline(graph: Graph, jaxpr: Any, consts: Sequence[Any], arguments: list[int], precision: str) -> list[int]:
    env: dict[Any, int] = dict(zip(jaxpr.invars, arguments, strict=True))
    env.update(zip(jaxpr.constvars, (graph.const(float(c)) for c in consts), strict=True))
    handlers = HANDLERS

    def read(atom: Any) -> int:
        return _literal(graph, atom.val) if hasattr(atom, "val") else env[atom]  # a Literal has a value, a Var a name

    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        refs = [read(atom) for atom in eqn.invars]
        handler = handlers.get(name)
        if handler is not None:
            env[eqn.outvars[0]] = handler(graph, refs, eqn.params)
        elif name == "select_n" and len(refs) == 3:
            env[eqn.outvars[0]] = graph.select(*refs)
        elif name == "convert_element_type":
            env[eqn.outvars[0]] = _convert(graph, refs[0], eqn, precision)
        elif name in COPIES or (name in SHAPE_COPIES and eqn.outvars[0].aval.shape == ()):
            env.update(zip(eqn.outvars, refs, strict=True))
        else:
            inner, inner_consts = _body(eqn)
            if inner is None:
                raise NotImplementedError(f"primitive {name!r} is not part of the scalar language of lane programs")
            env.update(zip(eqn.outvars, _inline(graph, inner, inner_consts, refs, precision), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _literal(graph: Graph, value: Any) -> int:
    if np.asarray(value).dtype == np.bool_:
        return graph.node("true" if value else "false")
    return graph.const(float(value))


def _convert(graph: Graph, ref: int, eqn: Any, precision: str) -> int:
    source, target = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    _check(eqn.outvars[0].aval, precision)
    if source == target or (source.kind == "f" and target.kind == "f"):
        return ref
    if source == np.bool_:
        return graph.node("select", ref, graph.const(1.0), graph.const(0.0))
    if target == np.bool_:
        return graph.node("ne", ref, graph.const(0.0))
    literal = graph.value(ref)
    if literal is None:
        raise TypeError(f"a piece works on floats and booleans, found {source} converted to {target}")
    return graph.const(literal)


def _without_dead_code(graph: Graph) -> Graph:
    """The same graph without dead operations."""
    live = bytearray(len(graph.nodes))
    for ref in graph.outputs:
        live[ref >> 1] = 1
    for number in range(len(graph.nodes) - 1, -1, -1):
        if live[number] and graph.nodes[number][0] not in ("in", "const"):
            for ref in graph.nodes[number][1:]:
                live[ref >> 1] = 1
    new: list[int] = [0] * len(graph.nodes)
    result = Graph(signed_zeros=graph.signed_zeros)
    for number, node in enumerate(graph.nodes):
        if live[number]:
            new[number] = 2 * len(result.nodes)
            if node[0] in ("in", "const"):
                result.nodes.append(node)
            else:
                result.nodes.append((node[0], *(new[ref >> 1] | (ref & 1) for ref in node[1:])))
    result.outputs = [new[ref >> 1] | (ref & 1) for ref in graph.outputs]
    return result

"""A graph of scalar operations with value numbering: what pieces are simplified to, derived from and emitted from.

A *reference* is `2 * node + negative`: the sign is part of the reference, so that negation costs nothing, `(-a) * b`
and `a * (-b)` are one product, and a fused multiply-add can include them. Products and quotients stay exact; a sum
whose terms are all negated may change the sign of an exact zero, on which only `atan2` depends: its programs keep every
sum as written.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Key = tuple[Any, ...]

ZERO, ONE = ("const", 0.0), ("const", 1.0)
SWAPPED = {"gt": "lt", "ge": "le"}
BOOLEANS = {"lt", "le", "eq", "ne", "and", "or", "not", "is_finite", "true", "false"}

# Operations of which nothing is differentiated: constants, truth values, and functions that are constant in steps.
STEPS = {"in", "const", "floor", "ceil", "sign", *BOOLEANS}


def _power_of_two(number: float) -> bool:
    """Whether a product by it, or by its reciprocal, is exact (far from overflow)."""
    return math.frexp(number)[0] == 0.5 and 1e-30 < number < 1e30


class Graph:
    """Operations in order; `nodes[k]` is (operation, argument references...) and `outputs` are references.

    Args:
        signed_zeros: whether every sum is kept as written. single: whether constants are rounded to float32.
        level: how many graphs are being built around this one. count: of its inputs, behind which stand those that
            `outer` lists, scalars from around it.
    """

    def __init__(self, *, signed_zeros: bool = False, single: bool = False, level: int = 0, count: int = 0) -> None:
        self.nodes: list[Key] = []
        self.outputs: list[int] = []
        self.signed_zeros, self.single, self.level, self.count = signed_zeros, single, level, count
        self.outer: list[Any] = []
        self._known: dict[Key, int] = {}
        self._pairs: dict[int, tuple[int, int]] = {}  # angle -> its sine and cosine, where they are known otherwise

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

    def digest(self) -> str:
        """SHA-256 of all that decides what is computed."""
        return hashlib.sha256(repr((self.signed_zeros, self.single, self.nodes, self.outputs)).encode()).hexdigest()

    def literal(self, value: float) -> int:
        """The reference of a number that stands in lane code, as the kernel rounds it; no known zero is negative."""
        return self.const((float(np.float32(value)) if self.single else value) + 0.0)

    def captured(self, value: Any) -> int:
        """The reference of a scalar that a function from outside has from the graph around its own.

        Raises:
            TypeError: nothing is around this graph.
        """
        if self.level == 0:
            raise TypeError(f"{type(value).__name__} beside a lane value: a number or another lane value is allowed")
        where = next((k for k, known in enumerate(self.outer) if known is value), len(self.outer))
        if where == len(self.outer):
            self.outer.append(value)
        return self.node("in", self.count + where)

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
        nodes = self.nodes
        if nodes[a >> 1] == ZERO:
            return b
        if nodes[b >> 1] == ZERO:
            return a
        sign = a & 1
        key = ("add", a ^ sign, b ^ sign)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(nodes)
            nodes.append(key)
        return 2 * number ^ sign

    def mul(self, a: int, b: int) -> int:
        """a * b; a factor 1 is dropped, and a power of two in a factor of a constant joins it, which rounds nothing."""
        sign = (a ^ b) & 1
        a, b = a & ~1, b & ~1
        nodes = self.nodes
        if nodes[a >> 1][0] == "const" or nodes[b >> 1][0] == "const":
            simpler = self._by_constant(a, b)
            if simpler is not None:
                return simpler ^ sign
        key = ("mul", a, b) if a < b else ("mul", b, a)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(nodes)
            nodes.append(key)
        return 2 * number ^ sign

    def _by_constant(self, a: int, b: int) -> int | None:
        """a * b where one of them is a constant, if it is no product of its own."""
        nodes = self.nodes
        for number, other in ((nodes[a >> 1], b), (nodes[b >> 1], a)):
            joined = self._joined(number[1], other) if number[0] == "const" and number[1] else None
            if joined is not None:
                return self.mul(*joined)
        if nodes[a >> 1] == ONE:
            return b
        return a if nodes[b >> 1] == ONE else None

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

    def sin(self, a: int) -> int:
        """sin a, an odd function."""
        pair = self._pairs.get(a & ~1)
        return (self.node("sin", a & ~1) if pair is None else pair[0]) ^ (a & 1)

    def cos(self, a: int) -> int:
        """cos a, an even function."""
        pair = self._pairs.get(a & ~1)
        return self.node("cos", a & ~1) if pair is None else pair[1]

    def note_pair(self, a: int, sine: int, cosine: int) -> None:
        """Lets sin a and cos a, where they are asked for from here on, be references that are there already."""
        self._pairs[a & ~1] = sine ^ (a & 1), cosine

    def absolute(self, a: int) -> int:
        """|a|"""
        return self.node("abs", a & ~1)

    def compare(self, name: str, a: int, b: int) -> int:
        """A comparison; only lt, le, eq and ne remain."""
        if name in SWAPPED:
            name, a, b = SWAPPED[name], b, a
        return self.node(name, a, b)

    def select(self, which: int, if_false: int, if_true: int) -> int:
        """if_true where `which`, else if_false."""
        return if_true if if_false == if_true else self.node("select", which, if_true, if_false)


def without_dead_code(graph: Graph) -> Graph:
    """The same graph without dead operations."""
    nodes = graph.nodes
    live = bytearray(len(nodes))
    for ref in graph.outputs:
        live[ref >> 1] = 1
    for number in range(len(nodes) - 1, -1, -1):
        if live[number]:
            node = nodes[number]
            if len(node) == 3:  # most are sums and products
                live[node[1] >> 1] = live[node[2] >> 1] = 1
            elif node[0] not in ("in", "const"):
                for ref in node[1:]:
                    live[ref >> 1] = 1
    new: list[int] = [0] * len(nodes)
    result = Graph(signed_zeros=graph.signed_zeros, single=graph.single, level=graph.level, count=graph.count)
    result.outer = graph.outer
    add = result.nodes.append
    for number, node in enumerate(nodes):
        if live[number]:
            new[number] = 2 * len(result.nodes)
            if len(node) == 3:
                name, a, b = node
                add((name, new[a >> 1] | (a & 1), new[b >> 1] | (b & 1)))
            elif node[0] in ("in", "const"):
                add(node)
            else:
                add((node[0], *[new[ref >> 1] | (ref & 1) for ref in node[1:]]))
    result.outputs = [new[ref >> 1] | (ref & 1) for ref in graph.outputs]
    return result


def copy_into(new: Graph, graph: Graph, inputs: Callable[[int], int] | None = None) -> list[int]:
    """Adds a graph to another one; returns the references of its nodes there.

    Args:
        inputs: the reference that stands for an input; the input of the same number where left out.
    """
    copies: list[int] = []
    for name, *arguments in graph.nodes:
        if name == "mul" or name == "add":  # most are
            a, b = arguments
            function = new.mul if name == "mul" else new.add
            copies.append(function(copies[a >> 1] ^ (a & 1), copies[b >> 1] ^ (b & 1)))
        elif name == "in":
            copies.append(new.node("in", arguments[0]) if inputs is None else inputs(arguments[0]))
        else:
            copies.append(copied(new, name, arguments, lambda ref: copies[ref >> 1] ^ (ref & 1)))
    return copies


def copied(new: Graph, name: str, arguments: Sequence, at: Callable[[int], int]) -> int:
    """An operation or a constant in another graph, folded as that folds it; `at` gives copies of references."""
    if name == "const":
        return new.literal(arguments[0])
    refs = [at(ref) for ref in arguments]
    if name == "add":
        return new.add(*refs)
    if name == "mul":
        return new.mul(*refs)
    if name == "div":
        return new.div(*refs)
    if name == "select":
        return new.select(refs[0], refs[2], refs[1])
    if name in ("sin", "cos", "abs"):
        return {"sin": new.sin, "cos": new.cos, "abs": new.absolute}[name](*refs)
    return new.node(name, *refs)

"""Derivatives of the operations of a graph: what forward and reverse mode multiply by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Copies(Protocol):
    """A copy of a graph: what the derivatives of operations are made in."""

    new: Any  # a `Graph`

    def at(self, ref: int) -> int:
        """The copy of a reference."""
        ...


Partials = Callable[[Copies, int, tuple[int, ...], int], "list[int | None]"]  # of y = f(x), times a factor


def _product(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    return [r.new.mul(bar, r.at(x[1])), r.new.mul(bar, r.at(x[0]))]


def _quotient(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    part = r.new.div(bar, r.at(x[1]))
    return [part, r.new.mul(part, y) ^ 1]


def _choice(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    which, zero = r.at(x[0]), r.new.const(0.0)
    return [None, r.new.select(which, zero, bar), r.new.select(which, bar, zero)]


def _extreme(better: str) -> Partials:
    def partials(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
        first, zero = r.new.compare(better, r.at(x[0]), r.at(x[1])), r.new.const(0.0)
        return [r.new.select(first, zero, bar), r.new.select(first, bar, zero)]

    return partials


def _sine(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    return [r.new.mul(bar, r.new.node("cos", r.at(x[0]) & ~1))]


def _cosine(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    argument = r.at(x[0])
    return [r.new.mul(bar, r.new.node("sin", argument & ~1) ^ (argument & 1) ^ 1)]


def _root(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    rests = r.new.compare("eq", y, r.new.const(0.0))
    return [r.new.select(rests, r.new.div(r.new.mul(bar, r.new.const(0.5)), y), r.new.const(0.0))]


def _magnitude(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    return [r.new.mul(bar, r.new.node("sign", r.at(x[0])))]


def _power(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    new, base, exponent = r.new, r.at(x[0]), r.at(x[1])
    lower = new.node("pow", base, new.add(exponent, new.const(-1.0)))
    slope = new.mul(new.mul(bar, exponent), lower)
    return [slope, None if new.value(exponent) is not None else new.mul(new.mul(bar, y), new.node("log", base))]


def _arc_tangent2(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
    new, a, b = r.new, r.at(x[0]), r.at(x[1])
    part = new.div(bar, new.add(new.mul(a, a), new.mul(b, b)))
    return [new.mul(part, b), new.mul(part, a) ^ 1]


def _slope(of: Callable[[Any, int, int], int]) -> Partials:
    """The rule of a function of one argument: its derivative at x, where it is y."""

    def partials(r: Copies, y: int, x: tuple[int, ...], bar: int) -> list[int | None]:
        return [r.new.mul(bar, of(r.new, r.at(x[0]), y))]

    return partials


def _one_minus_square(g: Any, x: int) -> int:
    return g.add(g.const(1.0), g.mul(x, x) ^ 1)


PARTIALS: dict[str, Partials] = {
    "add": lambda r, y, x, bar: [bar, bar],
    "mul": _product,
    "div": _quotient,
    "select": _choice,
    "max": _extreme("gt"),
    "min": _extreme("lt"),
    "sin": _sine,
    "cos": _cosine,
    "sqrt": _root,
    "abs": _magnitude,
    "pow": _power,
    "atan2": _arc_tangent2,
    "exp": _slope(lambda g, x, y: y),
    "log": _slope(lambda g, x, y: g.div(g.const(1.0), x)),
    "tanh": _slope(lambda g, x, y: _one_minus_square(g, y)),
    "asin": _slope(lambda g, x, y: g.div(g.const(1.0), g.node("sqrt", _one_minus_square(g, x)))),
    "acos": _slope(lambda g, x, y: g.div(g.const(1.0), g.node("sqrt", _one_minus_square(g, x))) ^ 1),
    "atan": _slope(lambda g, x, y: g.div(g.const(1.0), g.add(g.const(1.0), g.mul(x, x)))),
    "sinh": _slope(lambda g, x, y: g.node("cosh", x)),
    "cosh": _slope(lambda g, x, y: g.node("sinh", x)),
}

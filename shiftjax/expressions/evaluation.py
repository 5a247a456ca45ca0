"""Values of expressions: scalars of lane code over channels or metrics, arrays over numbers of a design or columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Vec
from shiftjax.errors import ModelError, nearest
from shiftjax.expressions.dialects import FUNCTIONS, LANES, NUMBERS, Dialect
from shiftjax.expressions.expression import (
    ARITHMETIC,
    Expression,
    FunctionCall,
    Name,
    Negative,
    NumberLiteral,
    Operation,
    Pick,
    Vector,
    is_plain,
    written,
)


def evaluate(node: Expression, values: Mapping[str, Vec], where: str) -> Vec:
    """The scalars of an expression; lane code.

    Args:
        values: of the names in it, `t` among them where there is one.

    Raises:
        ModelError: anything in it that is not allowed, vectors that do not fit together.
    """
    return _Evaluation(values, where, LANES).guarded(node)


def evaluate_number(node: Expression, numbers: Mapping[str, Any], where: str) -> Any:
    """The value of an expression of numbers in braces, each one number or one a member.

    Args:
        numbers: by the names in braces; asked for those that the expression has.

    Raises:
        ModelError: anything in it that is not allowed.
    """
    (value,) = _Evaluation(numbers, where, NUMBERS).guarded(node)
    return value


def constant(node: Expression) -> float | None:
    """The value of plain numbers and what is calculated of them, None of anything else."""
    if not is_plain(node):
        return None
    try:
        return float(_Evaluation({}, "", LANES).of(node)[0])
    except ArithmeticError:
        return None


class _Evaluation:
    """Of one expression."""

    def __init__(self, values: Mapping[str, Any], where: str, dialect: Dialect) -> None:
        self.values, self.where, self.dialect = values, where, dialect

    def guarded(self, node: Expression) -> list[Any]:
        try:
            return self.of(node)
        except (ArithmeticError, RecursionError, MemoryError):
            raise self.refused(_quoted(node), self.dialect.allowed) from None

    def refused(self, fault: str, allowed: str, todo: str = "") -> ModelError:
        return self.dialect.refused(self.where, fault, allowed, todo)

    def of(self, node: Expression) -> list[Any]:
        """The values of a node: one, or those of a vector."""
        match node:
            case NumberLiteral(value):
                return [self.dialect.number(value)]
            case Name("pi", False):
                return [self.dialect.number(math.pi)]
            case Name():
                return self.named(node)
            case Negative(of):
                return [self.dialect.negative(value) for value in self.of(of)]
            case Operation(sign, left, right) if sign in ARITHMETIC:
                return self.paired(sign, self.of(left), self.of(right))
            case FunctionCall(function, arguments, ()):
                return self.called(function, [self.of(argument) for argument in arguments])
            case Vector(items) if self.dialect.vectors:
                return [value for item in items for value in self.of(item)]
            case Pick(of, place) if self.dialect.vectors:
                return [self.picked(self.of(of), place)]
        raise self.refused(_quoted(node), self.dialect.allowed)

    def named(self, name: Name) -> list[Any]:
        if not self.dialect.vectors:
            if not name.braces:
                todo = f"Is it a path? Write {{{name.text}}}."
                raise self.refused(repr(name.text), self.dialect.allowed, todo)
            return [self.values[name.text]]
        if name.text not in self.values:
            hint = nearest(name.text, FUNCTIONS) or "A channel is written with its object, as crank.q."
            raise self.refused(repr(name.text), "channels by path, t, pi", hint)
        return list(self.values[name.text])

    def picked(self, vector: Sequence[Any], place: Expression) -> Any:
        at = constant(place)
        if at is None or not at.is_integer() or not 0 <= at < len(vector):
            allowed = f"a whole number from 0 to {len(vector) - 1}"
            raise self.refused(f"[{written(place)}]", allowed, "Count from 0.")
        return vector[int(at)]

    def paired(self, sign: str, left: list[Any], right: list[Any]) -> list[Any]:
        """A sum or product, number by number; a single number goes with each of a vector in products only."""
        operation, spread = self.dialect.operations[sign], sign in ("*", "/", "**")
        if len(left) == len(right):
            return [operation(a, b) for a, b in zip(left, right, strict=True)]
        if spread and len(right) == 1:
            return [operation(a, right[0]) for a in left]
        if sign == "*" and len(left) == 1:
            return [operation(left[0], b) for b in right]
        fault = f"vectors of {len(left)} and {len(right)} numbers"
        raise self.refused(fault, "vectors of one size", "Pick with [k].")

    def called(self, name: str, arguments: list[list[Any]]) -> list[Any]:
        apply, known = self.dialect.functions.get(name), self.dialect.functions
        if apply is None:
            raise self.refused(f"{name}(...)", self.dialect.allowed, nearest(name, known))
        count = FUNCTIONS[name].count
        if len(arguments) != count:
            raise self.refused(f"{name} of {len(arguments)}", f"{name} of {count}", "Correct it.")
        if len({len(argument) for argument in arguments}) > 1:
            raise self.refused(f"{name} of vectors of different sizes", "vectors of one size", "Pick with [k].")
        if FUNCTIONS[name].of_vectors:
            return [apply(*arguments)]
        return [apply(*values) for values in zip(*arguments, strict=True)]


def _quoted(node: Expression) -> str:
    try:
        return repr(written(node)[:80])
    except RecursionError:
        return "a long expression"

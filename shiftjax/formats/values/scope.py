"""Expressions of a file: numbers in quotes, as "2.4 * L", over its parameters and points.

An expression is in the units of its file, as a number there would be: names have the values that the file gives them,
angles of functions are in its unit of angles. It is brought to SI as a text, by factors, where the units are no SI.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from shiftjax.expressions.expression import (
    Expression,
    FunctionCall,
    Name,
    NumberLiteral,
    Operation,
    names,
    replaced,
    written,
)
from shiftjax.expressions.grammar import parse
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.parameters import OVER_NAMES, path_of_name, value_of_text
from shiftjax.quantities import WORDS

OF_ANGLES, TO_ANGLES = ("sin", "cos", "tan"), ("asin", "acos", "atan", "atan2")
DERIVED = ("N", "J", "W", "Pa")  # words of units that a file's unit of force changes


class Expressed(float):
    """A number in SI that follows from others.

    Attributes:
        text: the expression in SI. where: it stands in the file.
    """

    text: str
    where: str

    @staticmethod
    def of(value: float, text: str, where: str) -> Expressed:
        out = Expressed(value)
        out.text, out.where = text, where
        return out

    def __mul__(self, factor: float) -> Expressed:
        """The number in other units."""
        if factor == 1.0:
            return self
        node = Operation("*", NumberLiteral(factor), parse(self.text, self.where, OVER_NAMES))
        return Expressed.of(float(self) * factor, written(node), self.where)


class Scope:
    """What expressions of a document may name.

    Args:
        units: of the document.
    """

    def __init__(self, units: Units) -> None:
        self.units = units
        self.values: dict[str, float] = {}  # path -> value in SI
        self.factors: dict[str, float] = {}  # path -> factor to SI of its unit
        self.read: list[Expressed] = []  # all that were read

    def number(self, text: str, where: str, scale: float) -> float:
        """The value in SI of a number in quotes: one that follows from others where the text has names.

        Args:
            scale: to SI, of the unit that the number is in.

        Raises:
            ModelError: no expression; names that the document does not have; a value that is not finite.
        """
        in_si = text_in_si(text, where, scale, self.units, self.factors)
        value = value_of_text(in_si, where, self.values)
        if not has_names(in_si, where):
            return value
        self.read.append(Expressed.of(value, in_si, where))
        return self.read[-1]


def has_names(text: str, where: str) -> bool:
    """Whether an expression is more than a constant."""
    return any(name != Name("pi") for name in names(parse(text, where, OVER_NAMES)))


def text_in_si(text: str, where: str, scale: float, units: Units, factors: Mapping[str, float]) -> str:
    """The expression that gives the number in SI from values in SI.

    Args:
        scale: to SI, of the unit that the number is in. factors: path -> to SI, of the unit a name has in the file.

    Raises:
        ModelError: no expression.
    """
    node = parse(text, where, OVER_NAMES, lambda unit: _factor(unit, units))
    if isinstance(node, Name) and factors.get(path_of_name(node.text)) == scale:
        return written(node)
    node = _in_si(node, units.angle, factors)
    return written(node if scale == 1.0 else Operation("*", NumberLiteral(scale), node))


def _in_si(node: Expression, angle: float, factors: Mapping[str, float]) -> Expression:
    """The value that an expression has in the units of the file, from values in SI."""
    if isinstance(node, Name):
        factor = factors.get(path_of_name(node.text), 1.0)
        return node if factor == 1.0 else Operation("/", node, NumberLiteral(factor))
    node = replaced(node, lambda part: _in_si(part, angle, factors))
    if isinstance(node, FunctionCall) and angle != 1.0:
        if node.function in OF_ANGLES:
            return replaced(node, lambda part: Operation("*", NumberLiteral(angle), part))
        if node.function in TO_ANGLES:
            return Operation("/", node, NumberLiteral(angle))
    return node


def _factor(unit: str, units: Units) -> float:
    """The factor to SI of the file's unit of what a unit beside a number measures: 1e-3 of "cm" in a file in mm."""
    out = 1.0
    above, *below = unit.split("/")
    for words, sign in ((above, 1), *((part, -1) for part in below)):
        for word in words.split():
            name, _, exponent = word.partition("^")
            derived = "N" if name == "kN" else name
            dimensions = {derived: 1} if derived in DERIVED else WORDS[name][1]
            factor = math.prod(units.factor(base) ** count for base, count in dimensions.items())
            out *= factor ** (sign * int(exponent or 1))
    return out

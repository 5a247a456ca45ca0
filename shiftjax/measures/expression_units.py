"""The unit of an expression: followed where it stays, `MIXED` where it would be made of several."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shiftjax.expressions.dialects import FUNCTIONS
from shiftjax.expressions.expression import Expression, FunctionCall, Name, Negative, Operation, Pick, Vector, is_plain

MIXED = "mixed"  # the unit of what is made of several


def unit_of(node: Expression, units: Mapping[str, str]) -> str | None:
    """The unit of an expression, `MIXED` where it is none of its parts', None for plain numbers.

    Args:
        units: of the names in it.
    """
    if is_plain(node):
        return None
    match node:
        case Name(text):
            return units.get(text, MIXED)
        case Pick(of) | Negative(of):
            return unit_of(of, units)
        case Vector(items):
            return _common([unit_of(item, units) for item in items])
        case Operation("+" | "-", left, right):
            return _common([unit_of(left, units), unit_of(right, units)])
        case Operation("*" | "/" as sign, left, right):
            return _of_product(unit_of(left, units), unit_of(right, units), divided=sign == "/")
        case FunctionCall(function, arguments) if function in FUNCTIONS:
            of_arguments = FUNCTIONS[function].unit == "kept"
            return _common([unit_of(a, units) for a in arguments]) if of_arguments else FUNCTIONS[function].unit
    return MIXED


def by_parameter(unit: str, parameter: str) -> str:
    """The unit of what is by another parameter than time, of that of the same by time.

    "rad/s" by an angle is "rad/rad", an instant in "s" a place in "rad".
    """
    return unit if parameter == "s" else re.sub(r"(?<![A-Za-z])s(?![A-Za-z])", parameter, unit)


def _of_product(left: str | None, right: str | None, *, divided: bool) -> str | None:
    """The unit of a product or quotient: that of the only part that has one, none of a ratio of equal ones."""
    if right in (None, "1"):
        return left or right
    if divided:
        return "1" if left == right != MIXED else MIXED
    return right if left in (None, "1") else MIXED


def _common(units: list[str | None]) -> str | None:
    different = {unit for unit in units if unit is not None}
    return None if not different else different.pop() if len(different) == 1 else MIXED

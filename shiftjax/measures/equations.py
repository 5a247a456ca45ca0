"""Equations that tie coordinates of joints, as texts: `left.q == -2 * right.q`. Host only, no jax.

In the language of metrics, of coordinates `JOINT.q` or `JOINT.NAME.q` and the time `t` [s]; two sides of `==` are
equal, one expression alone is zero. In a model file, which lists the joints, they are `q[0]`, `q[1]` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.errors import ModelError, shown
from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import RELATIONS, Expression, Operation, names, parts
from shiftjax.expressions.grammar import parse
from shiftjax.record import record

TIME, PLACE, LISTED = "t", ".q", "q"
ALLOWED = 'an equation or an expression that is zero, of coordinates and the time t, as "left.q == -2 * right.q"'
OF_FILE = 'an equation or an expression that is zero, of q[0], q[1], ... and the time t, as "q[0] == -2 * q[1]"'


@record
class Equation:
    """An expression that stays zero, of coordinates by their names in it, and of the time."""

    where: str
    node: Expression
    coordinates: tuple[str, ...]

    @property
    def timeless(self) -> bool:
        """Whether time is not in it."""
        return _timeless(self.node)

    def __call__(self, q: Sequence[Any], t: Any) -> Any:
        values = {name: [value] for name, value in zip(self.coordinates, q, strict=True)}
        return evaluate(self.node, {**values, TIME: [t]}, self.where)[0]


def equation(text: str, where: str) -> Equation:
    """The equation of a text.

    Raises:
        ModelError: a text that is none, is of no coordinate, or of several numbers.
    """
    node = _zero(text, where, ALLOWED)
    used = list(dict.fromkeys(one.text for one in names(node) if one.text not in (TIME, "pi")))
    strange = [one for one in used if not one.endswith(PLACE)]
    if strange or not used:
        fault = f"{strange[0]!r} in {text!r}"[:120] if strange else shown(text)
        raise ModelError(where, fault, ALLOWED, "Write the place of a joint as JOINT.q.")
    _refuse_several(node, {one: [0.5] for one in used}, where)
    return Equation(where, node, tuple(used))


@record
class ListedEquation:
    """An expression that stays zero, of coordinates by their places in a list, and of the time."""

    where: str
    node: Expression

    @property
    def timeless(self) -> bool:
        """Whether time is not in it."""
        return _timeless(self.node)

    def __call__(self, q: Sequence[Any], t: Any) -> Any:
        return evaluate(self.node, {LISTED: list(q), TIME: [t]}, self.where)[0]


def listed_equation(text: str, count: int, where: str) -> ListedEquation:
    """The equation of a text of so many coordinates in a list.

    Raises:
        ModelError: a text that is none, names something else than q and t, or a place beyond the list.
    """
    node = _zero(text, where, OF_FILE)
    used = {one.text for one in names(node)} - {TIME, "pi"}
    if used != {LISTED}:
        fault = f"{min(used - {LISTED})!r} in {text!r}"[:120] if used - {LISTED} else shown(text)
        raise ModelError(where, fault, OF_FILE, "Write the displacement of the first of its joints as q[0].")
    _refuse_several(node, {LISTED: [0.5] * count}, where)
    return ListedEquation(where, node)


def _zero(text: str, where: str, allowed: str) -> Expression:
    """What is zero where an equation holds."""
    node = parse(text, where, LANES)
    if isinstance(node, Operation) and node.sign == "==":
        node = Operation("-", node.left, node.right)
    if _relates(node):
        raise ModelError(where, shown(text), allowed, "Write one ==, or none.")
    return node


def _refuse_several(node: Expression, coordinates: Mapping[str, list[float]], where: str) -> None:
    try:
        size = len(evaluate(node, {**coordinates, TIME: [0.5]}, where))
    except ArithmeticError:  # at these numbers only
        size = 1
    if size != 1:
        raise ModelError(where, f"{size} numbers", "one number", "Make a tie of each.")


def _timeless(node: Expression) -> bool:
    return all(one.text != TIME for one in names(node))


def _relates(node: Expression) -> bool:
    return (isinstance(node, Operation) and node.sign in RELATIONS) or any(map(_relates, parts(node)))

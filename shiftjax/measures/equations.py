"""Equations that tie coordinates of joints, as texts: `left.q == -2 * right.q`. Host only, no jax.

In the language of metrics, of coordinates `JOINT.q` or `JOINT.NAME.q` and the time `t` [s]; two sides of `==` are
equal, one expression alone is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.measures.dialects import LANES
from shiftjax.measures.evaluation import evaluate
from shiftjax.measures.expression import RELATIONS, Expression, Operation, names, parts
from shiftjax.measures.grammar import parse
from shiftjax.record import record

TIME, PLACE = "t", ".q"
ALLOWED = 'an equation or an expression that is zero, of coordinates and the time t, as "left.q == -2 * right.q"'


@record
class Equation:
    """An expression that stays zero, of coordinates by their names in it, and of the time."""

    where: str
    node: Expression
    coordinates: tuple[str, ...]

    def __call__(self, q: Sequence[Any], t: Any) -> Any:
        values = {name: [value] for name, value in zip(self.coordinates, q, strict=True)}
        return evaluate(self.node, {**values, TIME: [t]}, self.where)[0]


def equation(text: str, where: str) -> Equation:
    """The equation of a text.

    Raises:
        ModelError: a text that is none, is of no coordinate, or of several numbers.
    """
    node = parse(text, where, LANES)
    if isinstance(node, Operation) and node.sign == "==":
        node = Operation("-", node.left, node.right)
    if _relates(node):
        raise ModelError(where, repr(text)[:80], ALLOWED, "Write one ==, or none.")
    used = list(dict.fromkeys(one.text for one in names(node) if one.text not in (TIME, "pi")))
    strange = [one for one in used if not one.endswith(PLACE)]
    if strange or not used:
        fault = f"{strange[0]!r} in {text!r}"[:120] if strange else repr(text)[:80]
        raise ModelError(where, fault, ALLOWED, "Write the place of a joint as JOINT.q.")
    try:
        size = len(evaluate(node, {**{one: [0.5] for one in used}, TIME: [0.5]}, where))
    except ArithmeticError:  # at these numbers only
        size = 1
    if size != 1:
        raise ModelError(where, f"{size} numbers", "one number", "Make a tie of each.")
    return Equation(where, node, tuple(used))


def _relates(node: Expression) -> bool:
    return (isinstance(node, Operation) and node.sign in RELATIONS) or any(map(_relates, parts(node)))

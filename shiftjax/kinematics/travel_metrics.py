"""Metrics of travels, as `range(rocker_pivot)` or `low(a) / turning_margin(b)`: expressions of what `travel` answers.

Host only, no jax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.errors import nearest, shown
from shiftjax.expressions.dialects import FUNCTIONS, LANES
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import Expression, FunctionCall, Name, replaced, written
from shiftjax.expressions.grammar import parse
from shiftjax.kinematics.inputs import units_of
from shiftjax.kinematics.travel_metric_texts import EXAMPLE, text_of
from shiftjax.measures.aims import NO_AIM, Aim, aim_of
from shiftjax.measures.expression_units import MIXED, unit_of
from shiftjax.measures.run_metrics import check_name
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.record import record

OF_ENDS = {"low": ("low",), "high": ("high",), "range": ("low", "high")}  # term -> the ends that it needs
OF_DEAD_POINTS = {"at_low": ("low",), "at_high": ("high",)}
TERMS = ("begin", *OF_ENDS, "turning_margin", *OF_DEAD_POINTS)


@record
class TravelTerm:
    """What is asked of the travel of a joint.

    Attributes:
        name: one of `TERMS`. joint: the full path of its coordinate. other: of the one whose place at a dead point is
            meant, "" of other terms. unit: rad or m.
    """

    name: str
    joint: str
    other: str
    unit: str

    def text(self) -> str:
        """What tells it from others."""
        return f"{self.name}({self.joint}{', ' if self.other else ''}{self.other})"

    @property
    def ends(self) -> tuple[str, ...]:
        """Of the travel, which must be there."""
        return {**OF_ENDS, **OF_DEAD_POINTS}.get(self.name, ())


@record
class TravelMetric:
    """An expression of terms, which stand in it by their texts; and which of its values are good."""

    text: str
    node: Expression
    terms: tuple[TravelTerm, ...]
    unit: str
    aim: Aim = NO_AIM


def travel_metrics(model: Model, wanted: Mapping[str, Any] | None) -> dict[str, TravelMetric]:
    """The metrics of travels of a model's joints.

    Args:
        wanted: name -> a text, or a mapping of it as `of` and of what is good of it.

    Raises:
        ModelError: what is no such metric; no such joint.
    """
    out, units = dict[str, TravelMetric](), units_of(model)
    for name, words in (wanted or {}).items():
        check_name(name)
        where, terms = f"metric {name}", dict[str, TravelTerm]()
        text = text_of(words, where)

        def term(call: FunctionCall, where: str = where, terms: dict[str, TravelTerm] = terms) -> Name:
            one = _term(model, call, where, units)
            terms[one.text()] = one
            return Name(one.text())

        node = _over_terms(parse(text, where, LANES), where, term)
        if not terms:
            raise LANES.refused(where, shown(text), f"a call of {', '.join(TERMS)}", f"Write it like {EXAMPLE}.")
        if (size := len(evaluate(node, {one: [1.0] for one in terms}, where))) != 1:
            raise LANES.refused(where, f"{size} numbers", "one number", "Make a metric of each.")
        unit = unit_of(node, {one: term.unit for one, term in terms.items()}) or "1"
        aim = aim_of(words, where, "" if unit == MIXED else unit)
        out[name] = TravelMetric(text, node, tuple(terms.values()), unit, aim)
    return out


def _over_terms(node: Expression, where: str, term: Callable[[FunctionCall], Name]) -> Expression:
    """The expression with the name of a term for every call of one."""
    if isinstance(node, FunctionCall) and node.function in TERMS:
        return term(node)
    if isinstance(node, FunctionCall) and node.function not in FUNCTIONS:
        hint = nearest(node.function, (*TERMS, *FUNCTIONS))
        raise LANES.refused(where, f"{node.function}(...), of travels", ", ".join(TERMS), hint)
    if isinstance(node, Name) and node.text != "pi":
        todo = f"Write range({node.text}) for how far it goes, or another of {', '.join(TERMS)} of it."
        raise LANES.refused(where, f"{node.text} outside of {', '.join(TERMS)}", "joints inside of these", todo)
    return replaced(node, lambda inner: _over_terms(inner, where, term))


def _term(model: Model, call: FunctionCall, where: str, units: Mapping[str, str]) -> TravelTerm:
    wanted = 2 if call.function in OF_DEAD_POINTS else 1
    at, given = f"{where}: {call.function}", call.arguments
    if len(given) != wanted or call.options or not all(isinstance(one, Name) for one in given):
        allowed = f"{call.function}({', '.join(('joint', 'other joint')[:wanted])})"
        raise LANES.refused(at, written(call), allowed, f"Write it like {EXAMPLE}.")
    joints = [plain_coordinate(model, one.text, at) for one in given if isinstance(one, Name)]
    unit = "m" if call.function == "turning_margin" else units[joints[-1]]
    return TravelTerm(call.function, joints[0], joints[1] if wanted == 2 else "", unit)

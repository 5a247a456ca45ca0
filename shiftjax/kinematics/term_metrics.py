"""Metrics that are expressions of terms, as `range(rocker_pivot)` or `radius() / 0.1`: what those of travels and of
workspaces share. Host only, no jax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from shiftjax.errors import nearest, shown
from shiftjax.expressions.dialects import FUNCTIONS, LANES
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import Expression, FunctionCall, Name, replaced
from shiftjax.expressions.grammar import parse
from shiftjax.measures.aims import NO_AIM, Aim, aim_of, text_without_aim
from shiftjax.measures.expression_units import MIXED, unit_of
from shiftjax.measures.run_metrics import check_name
from shiftjax.record import record


class StatedTerm(Protocol):
    """What a call in an expression stands for."""

    @property
    def unit(self) -> str: ...
    def text(self) -> str:
        """What tells it from others."""
        ...


T = TypeVar("T", bound=StatedTerm)


@record
class TermMetric(Generic[T]):
    """An expression of terms, which stand in it by their texts; and which of its values are good."""

    text: str
    node: Expression
    terms: tuple[T, ...]
    unit: str
    aim: Aim = NO_AIM


@record
class TermWords(Generic[T]):
    """How terms are written.

    Attributes:
        names: the functions. of: what they are terms of, for messages. example: of a metric.
        term: that of a call, at a place of the file. outside: of a name that stands outside of calls, and of the place,
            the error.
    """

    names: Sequence[str]
    of: str
    example: str
    term: Callable[[FunctionCall, str], T]
    outside: Callable[[str, str], Exception]


def term_metrics(wanted: Mapping[str, Any] | None, words: TermWords[T]) -> dict[str, TermMetric[T]]:
    """The metrics of some terms.

    Args:
        wanted: name -> a text, or a mapping of it as `of` and of what is good of it.

    Raises:
        ModelError: what is no such metric; what `words` raise.
    """
    return {name: _metric(name, given, words) for name, given in (wanted or {}).items()}


def _metric(name: str, given: Any, words: TermWords[T]) -> TermMetric[T]:
    check_name(name)
    where, terms = f"metric {name}", dict[str, T]()
    text = text_without_aim(given, where, words.example)
    node = _over_terms(parse(text, where, LANES), where, words, terms)
    if not terms:
        allowed = f"a call of {', '.join(words.names)}"
        raise LANES.refused(where, shown(text), allowed, f"Write it like {words.example}.")
    if (size := len(evaluate(node, {one: [1.0] for one in terms}, where))) != 1:
        raise LANES.refused(where, f"{size} numbers", "one number", "Make a metric of each.")
    unit = unit_of(node, {one: term.unit for one, term in terms.items()}) or "1"
    aim = aim_of(given, where, "" if unit == MIXED else unit)
    return TermMetric(text, node, tuple(terms.values()), unit, aim)


def _over_terms(node: Expression, where: str, words: TermWords[T], terms: dict[str, T]) -> Expression:
    """The expression with the name of a term for every call of one, which are added to the terms."""
    if isinstance(node, FunctionCall) and node.function in words.names:
        one = words.term(node, where)
        terms[one.text()] = one
        return Name(one.text())
    if isinstance(node, FunctionCall) and node.function not in FUNCTIONS:
        hint = nearest(node.function, (*words.names, *FUNCTIONS))
        raise LANES.refused(where, f"{node.function}(...), of {words.of}", ", ".join(words.names), hint)
    if isinstance(node, Name) and node.text != "pi":
        raise words.outside(node.text, where)
    return replaced(node, lambda inner: _over_terms(inner, where, words, terms))

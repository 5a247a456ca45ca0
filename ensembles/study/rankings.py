"""Rankings of members in words, `best:5:swing` and its like, and which values are good. Host only, no jax.

One grammar for `[keep]`, `shiftjax top` and every choice of members. `largest` and `smallest` are of the numbers
themselves; `best` and `worst` are of what the study says is good, and where it says nothing, whoever ranks says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.expressions.evaluation import constant
from shiftjax.expressions.expression import Expression, Name, Negative, Operation
from shiftjax.measures.aims import TAKEN_FOR_GOOD
from shiftjax.record import record

JUDGED = ("worst", "best")  # by what is good
ENDS = (*JUDGED, "largest", "smallest")
_RANKING = re.compile(
    r"(worst|best|largest|smallest)(?::([0-9]{1,15})(?:(?::|\s+by\s+)(\S(?:.*?\S)??))?)?(?:\s+of\s+(\S.*))?", re.DOTALL
)


@record
class Ranking:
    """The first members by a column.

    Attributes:
        end: one of `ENDS`. count: how many, as it was written; None where it was not.
        column: a name or an expression, "" where none is given.
        among: the choice of members that are ranked, "" for all.
    """

    end: str
    count: int | None
    column: str
    among: str


def ranking(text: str) -> Ranking | None:
    """The ranking that a text is, None where it is none."""
    match = _RANKING.fullmatch(text.strip())
    if match is None:
        return None
    count = None if match[2] is None else int(match[2])
    return Ranking(match[1], count, match[3] or "", match[4] or "")


def rising(end: str, good: str) -> bool:
    """Whether the smallest values come first.

    Args:
        good: "small" or "large"; "" where nothing is stated, for which small is taken.
    """
    if end not in JUDGED:
        return end == "smallest"
    return (end == "best") == ((good or TAKEN_FOR_GOOD) == "small")


def assumed(end: str, column: str, good: str) -> str:
    """What a ranking assumes, a sentence without its point; "" where it assumes nothing."""
    if end not in JUDGED or good:
        return ""
    return f"small {column} is taken as good, since the study says nothing of it (good = ...)"


def senses(
    metrics: Mapping[str, Any], extremes: Iterable[tuple[str, str, str]], objective: Expression | None
) -> dict[str, str]:
    """Metric -> which of its values are good, of those of which the study says so anywhere.

    Args:
        metrics: name -> words, of which `good` says it.
        extremes: where, metric and sense of what `[keep]` says.
        objective: what is made small.

    Raises:
        ModelError: two places that contradict each other.
    """
    stated: dict[str, tuple[str, str]] = {}  # metric -> sense and where it is stated
    towards = None if objective is None else _direction(objective, metrics)
    all_of_them = [(f"metrics.{name}.good", name, w["good"]) for name, w in metrics.items() if _says_good(w)]
    all_of_them += [("optimize.objective", *towards)] if towards else []
    all_of_them += [entry for entry in extremes if entry[1] in metrics]
    for where, name, good in all_of_them:
        before, place = stated.setdefault(name, (good, where))
        if before != good:
            fault = f"{good} values of {name} as good, of which {place} says that {before} ones are"
            raise ModelError(where, fault, "one sense of a metric", "Leave it out in one of them, or turn it round.")
    return {name: good for name, (good, _) in stated.items()}


def _says_good(words: Any) -> bool:
    return isinstance(words, Mapping) and bool(words.get("good"))


def _direction(node: Expression, metrics: Mapping[str, Any]) -> tuple[str, str] | None:
    """The one metric that an expression rises or falls with everywhere, and which of its values are good where the
    expression is made small; None where it is not as simple as a multiple of a metric."""
    if isinstance(node, Name):
        return (node.text, "small") if node.text in metrics else None
    if isinstance(node, Negative):
        return _turned(_direction(node.of, metrics))
    if not isinstance(node, Operation):
        return None
    left, right = constant(node.left), constant(node.right)
    if node.sign in ("+", "-") and (left is None) != (right is None):
        side = _direction(node.left if left is None else node.right, metrics)
        return _turned(side) if node.sign == "-" and right is None else side
    if node.sign == "*" and (left is None) != (right is None):
        factor = left if left is not None else right
        side = _direction(node.left if left is None else node.right, metrics)
    elif node.sign == "/" and right is not None:
        factor, side = right, _direction(node.left, metrics)
    else:
        return None
    return None if not factor else side if factor > 0.0 else _turned(side)


def _turned(side: tuple[str, str] | None) -> tuple[str, str] | None:
    return None if side is None else (side[0], "large" if side[1] == "small" else "small")

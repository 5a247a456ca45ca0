"""The words of metrics of travels, as `range(rocker_pivot)`, and the joints that they name. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.errors import ModelError, shown, wrong
from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.expression import names
from shiftjax.expressions.grammar import parse
from shiftjax.measures.aims import without_aim

EXAMPLE = "range(rocker_pivot), or at_high(rocker_pivot, crank_pivot)"


def joints_in(words: Any) -> tuple[str, ...]:
    """The joints that a metric names, as the user wrote them; none of one that is no expression."""
    try:
        node = parse(text_of(words, ""), "", LANES)
    except ModelError:
        return ()
    return tuple(name.text for name in names(node) if name.text != "pi")


def text_of(words: Any, where: str) -> str:
    """The expression of a metric's words."""
    if isinstance(words, str):
        return words
    if not isinstance(words, Mapping):
        raise wrong(where, words, f"a text, as {EXAMPLE}")
    rest = without_aim(words)
    if set(rest) != {"of"} or not isinstance(rest["of"], str):
        raise ModelError(
            where, shown(dict(words)), "`of`, a text, with `good` and `limits`", f"Write of = '{EXAMPLE}'."
        )
    return rest["of"]

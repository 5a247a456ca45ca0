"""The words of metrics of travels, as `range(rocker_pivot)`, and the joints that they name. Host only, no jax."""

from __future__ import annotations

from typing import Any

from shiftjax.errors import ModelError
from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.expression import names
from shiftjax.expressions.grammar import parse
from shiftjax.measures.aims import text_without_aim

EXAMPLE = "range(rocker_pivot), or at_high(rocker_pivot, crank_pivot)"


def joints_in(words: Any) -> tuple[str, ...]:
    """The joints that a metric names, as the user wrote them; none of one that is no expression."""
    try:
        node = parse(text_without_aim(words, "", EXAMPLE), "", LANES)
    except ModelError:
        return ()
    return tuple(name.text for name in names(node) if name.text != "pi")

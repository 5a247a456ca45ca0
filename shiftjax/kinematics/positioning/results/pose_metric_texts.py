"""The words of metrics of reached poses: expressions of channels there, of `missed(level)` and of `reached()`. Host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftjax.errors import ModelError, nearest
from shiftjax.expressions.dialects import FUNCTIONS, LANES
from shiftjax.expressions.expression import Expression, FunctionCall, Name, NumberLiteral, is_path, names, replaced
from shiftjax.measures.aims import text_without_aim
from shiftjax.measures.metric_texts import parsed

MISSED, REACHED = "missed", "reached"
EXAMPLE = "missed(target), or norm(tool.position)"


def channels_in(words: Any) -> tuple[str, ...]:
    """The channels that a metric names, as the user wrote them; none of one that is no expression."""
    try:
        node = parsed(text_of(words, ""), "")
        return tuple(one.text for one in names(over_terms(node, "", None)) if is_channel(one))
    except ModelError:
        return ()


def text_of(words: Any, where: str) -> str:
    """The expression of a metric's words."""
    return text_without_aim(words, where, EXAMPLE)


def missed_of(level: str) -> str:
    """What an expression calls that which is missed of a level."""
    return f"{MISSED}({level})"


def is_channel(name: Name) -> bool:
    return is_path(name) and not name.text.startswith((f"{MISSED}(", f"{REACHED}("))


def over_terms(node: Expression, where: str, levels: Sequence[str] | None) -> Expression:
    """The expression with a name for every call of a term. Without levels any is allowed."""
    if isinstance(node, FunctionCall) and node.function in (MISSED, REACHED):
        level = _level_of(node)
        if level is None or (node.function == MISSED and levels is not None and level not in levels):
            allowed = f"{REACHED}(), or {MISSED} of one of {', '.join(levels or ())}"
            raise LANES.refused(where, f"{node.function}({level or '...'})", allowed, f"Write it like {EXAMPLE}.")
        return Name(missed_of(level) if node.function == MISSED else f"{REACHED}()", braces=True)
    if isinstance(node, FunctionCall) and node.function not in FUNCTIONS:
        hint = nearest(node.function, (MISSED, REACHED, *FUNCTIONS))
        raise LANES.refused(where, f"{node.function}(...), of a pose", "expressions of channels", hint)
    return replaced(node, lambda inner: over_terms(inner, where, levels))


def _level_of(call: FunctionCall) -> str | None:
    """The level in a call; "" of `reached()`, None of anything that is neither."""
    if call.options or len(call.arguments) != (call.function == MISSED):
        return None
    if not call.arguments:
        return ""
    (given,) = call.arguments
    if isinstance(given, NumberLiteral):
        return f"{given.value:g}"
    return given.text if isinstance(given, Name) else None

"""What is good of a metric: its small values or its large ones, and those within limits. Host only, no jax.

A metric that says nothing of it has no sense; figures of the certificate have one by what they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shiftjax.errors import ModelError, need_number, one_of, shown, wrong
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.quantities import in_si
from shiftjax.record import record

GOOD = ("small", "large")
AIM = ("good", "limits")  # words of a metric that say nothing of how it is computed
LARGE_IS_GOOD = ("pivot_ratio",)  # of the certificate; of all its other figures small values are
TAKEN_FOR_GOOD = "small"  # where nothing is stated, for want of anything better: whoever takes it says so
LIMITS = '[lowest, highest], in SI or as "12 mm"; "-inf" and "inf" for none'
ATTRIBUTES = ("lower_limit", "upper_limit")  # of a column in a store


@record
class Aim:
    """What is good of a metric.

    Attributes:
        good: "small", "large", or "" where nothing is stated.
        limits: lowest and highest value that is allowed [unit of the metric], infinite for none; None without.
    """

    good: str = ""
    limits: tuple[float, float] | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """What a column of a store says of it."""
        stated: dict[str, Any] = {"good": self.good} if self.good else {}
        return stated | (dict(zip(ATTRIBUTES, map(_text, self.limits), strict=True)) if self.limits else {})


NO_AIM = Aim()


def aim_of(words: Any, where: str, unit: str = "") -> Aim:
    """The aim of a metric's words, none of a text.

    Args:
        unit: of the metric, which that of a limit has to measure, too; "" where it is not known.

    Raises:
        ModelError: a sense that is none, limits that are none.
    """
    if not isinstance(words, Mapping):
        return NO_AIM
    if "good" in words:
        one_of(f"{where}.good", words["good"], GOOD)
    limits = _limits(words["limits"], f"{where}.limits", unit) if "limits" in words else None
    return Aim(words.get("good", ""), limits)


def aim_in(attributes: Mapping[Any, Any]) -> Aim:
    """The aim that a column of a store says."""
    limits = [float(attributes[name]) for name in ATTRIBUTES if name in attributes]
    return Aim(str(attributes.get("good", "")), (limits[0], limits[1]) if len(limits) == 2 else None)


def without_aim(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a metric that say how it is computed."""
    return {key: value for key, value in words.items() if key not in AIM}


def text_without_aim(words: Any, where: str, example: str) -> str:
    """The expression of a metric whose words are that, or a mapping of it as `of` and of what is good of it.

    Args:
        example: of such an expression.

    Raises:
        ModelError: neither.
    """
    if isinstance(words, str):
        return words
    if not isinstance(words, Mapping):
        raise wrong(where, words, f"a text, as {example}")
    rest = without_aim(words)
    if set(rest) != {"of"} or not isinstance(rest["of"], str):
        allowed, todo = "`of`, a text, with `good` and `limits`", f"Write of = '{example}'."
        raise ModelError(where, shown(dict(words)), allowed, todo)
    return rest["of"]


def with_good(words: str | Mapping[str, Any], good: str) -> str | dict[str, Any]:
    """The words of a metric with a sense that follows from elsewhere; "" for none."""
    if not good:
        return words if isinstance(words, str) else dict(words)
    return {"of": words, "good": good} if isinstance(words, str) else {**words, "good": good}


def sense_of(name: str, stated: str) -> str:
    """Which values of a column are good: of the certificate by what it is, else what is stated, "" for nothing."""
    if name in CERTIFICATE:
        return "large" if name in LARGE_IS_GOOD else "small"
    return stated


def _text(limit: float) -> float | str:
    """A number as JSON has it."""
    return limit if math.isfinite(limit) else str(limit)


def _limits(words: Any, where: str, unit: str) -> tuple[float, float]:
    if isinstance(words, str) or not isinstance(words, list | tuple) or len(words) != 2:
        raise ModelError(where, shown(words), LIMITS, "Give two.")
    low, high = (_limit(word, f"{where}[{k}]", unit) for k, word in enumerate(words))
    if not low < high or low == math.inf or high == -math.inf or (math.isinf(low) and math.isinf(high)):
        raise ModelError(where, shown(words), LIMITS, "Turn them round, or give one at least.")
    return low, high


def _limit(word: Any, where: str, unit: str) -> float:
    if word in ("-inf", "inf") or (isinstance(word, float) and math.isinf(word)):
        return float(word)
    if not isinstance(word, str):
        need_number(where, word, LIMITS)
        return float(word)
    return in_si(word, unit or None, where)

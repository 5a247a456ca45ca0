"""Ticks of axes at round numbers, with labels that tell them apart. Plain numbers."""

from __future__ import annotations

import math

MOST_DIGITS = 7  # of a label; where numbers differ later, labels say by how much they differ from a round one
PLAIN = 1e-3, 1e6  # largest number of an axis whose labels have no exponents
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """At most so many values between two ends, and their labels."""
    if not (math.isfinite(low) and math.isfinite(high)) or not high - low > 8 * math.ulp(max(abs(low), abs(high))):
        return [(low, f"{low:.6g}")] if math.isfinite(low) else []
    raw, values = (high - low) / max(most - 1, 1), [low]
    while len(values) < 2:
        step = _round_above(raw)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        values = [k * step for k in range(first, last + 1)]
        raw = step / 2.1  # the next smaller one
    return list(zip(values, labels(values), strict=True))


def _round_above(raw: float) -> float:
    """The round step that is not smaller."""
    size = 10.0 ** math.floor(math.log10(raw))
    return next(factor * size for factor in STEPS if factor * size >= raw * (1 - 1e-9))


def labels(values: list[float]) -> list[str]:
    """Texts of increasing numbers, as short as may be, no two alike."""
    largest, reach = max(abs(value) for value in values), max(values) - min(values)
    kind = "f" if PLAIN[0] <= largest < PLAIN[1] else "e"
    for digits in range(MOST_DIGITS):
        texts = [_text(value, digits, kind) for value in values]
        exact = all(abs(float(t) - v) <= 1e-6 * reach for t, v in zip(texts, values, strict=True))
        if exact and len(set(texts)) == len(texts):
            return texts
    base = f"{values[0]:.6g}"
    apart = [value - float(base) for value in values]
    for digits in range(1, 16):
        texts = [f"{value:+.{digits}g}" for value in apart]
        exact = all(abs(float(t) - a) <= 1e-2 * reach for t, a in zip(texts, apart, strict=True))
        if exact and len(set(texts)) == len(texts):
            break
    return [base + text for text in texts]


def _text(value: float, digits: int, kind: str) -> str:
    if kind == "e" and abs(value) > 0:
        number, _, power = f"{value:.{digits}e}".partition("e")
        return f"{number}e{int(power)}"
    text = f"{value:.{digits if kind == 'f' else 0}f}"
    return text.removeprefix("-") if not float(text) else text

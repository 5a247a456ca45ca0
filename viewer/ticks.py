"""Ticks of axes at round numbers, with labels that tell them apart. Plain numbers."""

from __future__ import annotations

import math

MOST_DIGITS = 7  # of a label; where numbers differ later, labels say by how much they differ from a round one
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """At most so many values between two ends, and their labels."""
    if not (math.isfinite(low) and math.isfinite(high)) or not high > low:
        return [(low, f"{low:.6g}")] if math.isfinite(low) else []
    raw = (high - low) / max(most - 1, 1)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * size for factor in STEPS if factor * size >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [k * step for k in range(first, last + 1)]
    if len(values) < 2:
        values = [low, high]
    return list(zip(values, labels(values), strict=True))


def labels(values: list[float]) -> list[str]:
    """Texts of increasing numbers, as short as may be, no two alike."""
    for digits in range(1, MOST_DIGITS + 1):
        texts = [_text(value, digits) for value in values]
        exact = all(math.isclose(float(t), v, rel_tol=1e-9, abs_tol=1e-9 * _reach(values))
                    for t, v in zip(texts, values, strict=True))  # fmt: skip
        if exact and len(set(texts)) == len(texts):
            return texts
    base = f"{values[0]:.6g}"
    apart = [value - float(base) for value in values]
    digits = next((n for n in range(1, 16) if len({f"{a:.{n}g}" for a in apart}) == len(apart)), 15)
    return [f"{base}{value:+.{digits}g}" for value in apart]


def _text(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    return "0" if text == "-0" else text


def _reach(values: list[float]) -> float:
    return max(values) - min(values)

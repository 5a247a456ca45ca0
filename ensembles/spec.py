"""Parses the arguments of `--vary` and `--set`.

`PATH=low:high` uniform, `PATH=low:high:n` a grid of n points, `PATH=low:high~sobol`, `~lhs`, `~uniform`,
`~loguniform`, and `PATH=mean:sd~normal`. A path whose names hold `.`, `[` or `=` is quoted with backticks.
"""

from __future__ import annotations

import math
import re

from shiftjax.errors import ModelError, nearest
from shiftjax.record import record

DISTRIBUTIONS = ("uniform", "sobol", "lhs", "normal", "loguniform")
FORMS = "low:high, low:high:n, low:high~uniform|sobol|lhs|loguniform, mean:sd~normal"
_PATH = re.compile(r"((?:`[^`]*`|[^`=])+)=(.*)", re.DOTALL)


@record
class Vary:
    """One varied number of a study.

    Attributes:
        path: number of the model, as the user wrote it.
        low: smallest value; the mean of a normal distribution.
        high: largest value; the standard deviation of a normal distribution.
        points: points of the grid, 0 where values are drawn.
        distribution: one of `DISTRIBUTIONS`, "grid" for a grid.
    """

    path: str
    low: float
    high: float
    points: int = 0
    distribution: str = "uniform"


def split_assignment(text: str, option: str) -> tuple[str, str]:
    """PATH=VALUE -> (path, value); the equals signs inside backticks belong to the path."""
    match = _PATH.fullmatch(text)
    if match is None or not match[1].strip() or not match[2].strip():
        raise ModelError(option, repr(text), "PATH=VALUE", "Write the path, an equals sign and the value.")
    return match[1].strip(), match[2].strip()


def number(text: str, where: str) -> float:
    """A finite number written by a user."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(where, repr(text), "a finite number", "Write it like 0.25 or 3e-2.")
    return value


def parse_set(text: str) -> tuple[str, float]:
    """`--set PATH=VALUE`."""
    path, value = split_assignment(text, "--set")
    return path, number(value, f"--set {path}")


def parse_vary(text: str) -> Vary:
    """`--vary PATH=low:high[:n|~dist]`."""
    path, value = split_assignment(text, "--vary")
    where = f"--vary {path}"
    span, tilde, distribution = value.partition("~")
    parts = span.split(":")
    if tilde and distribution not in DISTRIBUTIONS:
        hint = nearest(distribution, DISTRIBUTIONS)
        raise ModelError(where, f"distribution {distribution!r}", ", ".join(DISTRIBUTIONS), hint or f"Forms: {FORMS}.")
    if len(parts) not in (2, 3) or (tilde and len(parts) == 3):
        raise ModelError(where, repr(value), FORMS, "Give two bounds; a grid has a third part and no distribution.")
    low, high = (number(part, where) for part in parts[:2])
    if len(parts) == 3:
        return Vary(path, low, high, _points(parts[2], low, high, where), "grid")
    checked = Vary(path, low, high, 0, distribution or "uniform")
    _check_bounds(checked, where)
    return checked


def _points(text: str, low: float, high: float, where: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ModelError(where, f"{text!r} grid points", "a whole number from 1", "Write low:high:n, as 0:1:11.")
    if (low == high) != (int(text) == 1):
        found = f"{text} points from {low:g} to {high:g}"
        raise ModelError(where, found, "two or more different points", "Use --set for one value.")
    return int(text)


def _check_bounds(vary: Vary, where: str) -> None:
    if vary.distribution == "normal":
        if vary.high <= 0.0:
            raise ModelError(where, f"sd {vary.high:g}", "a positive standard deviation", "Write mean:sd~normal.")
    elif vary.low >= vary.high:
        raise ModelError(where, f"{vary.low:g}:{vary.high:g}", "low below high", "Exchange the two bounds.")
    elif vary.distribution == "loguniform" and vary.low <= 0.0:
        raise ModelError(where, f"low {vary.low:g}", "positive bounds", "A logarithmic range cannot reach zero.")

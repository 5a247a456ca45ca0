"""Parses the arguments of `--vary` and `--set`.

`PATH=low:high` uniform, `PATH=low:high:n` a grid of n points, `PATH=low:high~sobol`, `~lhs`, `~uniform`,
`~loguniform`, and `PATH=mean:sd~normal`. A path whose names hold `.`, `[` or `=` is quoted with backticks. A number is
in SI or stands with its unit: `PATH=10deg:40deg`.
"""

from __future__ import annotations

import dataclasses
import re

from shiftjax.errors import ModelError, nearest, need, need_count, need_number, one_of
from shiftjax.formats.units import split_quantity, unit_in_si
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
        unit: of low and high, such as "deg"; SI where empty.
    """

    path: str
    low: float
    high: float
    points: int = 0
    distribution: str = "uniform"
    unit: str = ""

    def __post_init__(self) -> None:
        where = "Vary: "
        need(where + "path", self.path, str, "the path of a number")
        need(where + "unit", self.unit, str, "the name of a unit")
        for name, value in (("low", self.low), ("high", self.high)):
            need_number(where + name, value, "a finite number")
        need_count(where + "points", self.points, 0)
        one_of(where + "distribution", self.distribution, (*DISTRIBUTIONS, "grid"))

    def in_si(self) -> Vary:
        """The same with its numbers in SI."""
        factor, _ = unit_in_si(self.unit, f"--vary {self.path}")
        return dataclasses.replace(self, low=self.low * factor, high=self.high * factor, unit="")


def split_assignment(text: str, option: str) -> tuple[str, str]:
    """PATH=VALUE -> (path, value); the equals signs inside backticks belong to the path."""
    match = _PATH.fullmatch(text)
    if match is None or not match[1].strip() or not match[2].strip():
        raise ModelError(option, repr(text), "PATH=VALUE", "Write the path, an equals sign and the value.")
    return match[1].strip(), match[2].strip()


def parse_set(text: str) -> tuple[str, float, str]:
    """`--set PATH=VALUE` -> path, value in SI, the unit that was written, "" where none."""
    path, value = split_assignment(text, "--set")
    number, unit = split_quantity(value, f"--set {path}")
    return path, number * unit_in_si(unit, f"--set {path}")[0], unit


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
    (low, unit), (high, other) = (split_quantity(part, where) for part in parts[:2])
    if unit != other:
        found = f"{unit or 'no unit'!r} and {other or 'no unit'!r}"
        raise ModelError(
            where, found, "the same unit at both numbers, or none", f"Write LOW{unit or other}:HIGH{unit or other}."
        )
    if len(parts) == 3:
        return Vary(path, low, high, _points(parts[2], low, high, where), "grid", unit)
    checked = Vary(path, low, high, 0, distribution or "uniform", unit)
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

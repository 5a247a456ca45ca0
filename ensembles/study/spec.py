"""How a number varies: the words of `--vary`, `--set` and of a study's `[vary]`.

`low:high` uniform, `low:high:n` a grid of n points, `[1, 2, 5]` a grid of these, `low:high~sobol`, `~lhs`, `~uniform`,
`~loguniform`, `mean:sd~normal`, `~lognormal`, `low:mode:high~triangular`; a second `~sobol` or `~lhs` says which points
the other laws are drawn with, as `mean:sd~normal~sobol`. On the command line the path stands before them, as
`PATH=low:high`; one whose names hold `.`, `[` or `=` is quoted with backticks. A number is in SI or stands with its
unit: `10deg:40deg`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.errors import ModelError, nearest, need, need_count, need_number, one_of, shown
from shiftjax.quantities import split_quantity, unit_in_si
from shiftjax.record import record

SPREADING = ("sobol", "lhs")  # points of a unit cube that fill it more evenly than independent draws
DISTRIBUTIONS = ("uniform", "sobol", "lhs", "normal", "lognormal", "loguniform", "triangular")
AXES = ("grid", "list")  # combined as a product, not drawn
FORMS = (
    "low:high, low:high:n, [1, 2, 5], low:high~uniform|sobol|lhs|loguniform, mean:sd~normal|lognormal,"
    " low:mode:high~triangular"
)
NUMBERS = {  # law -> its numbers, as a table names them; the fields of `Vary` are low and high, and mode between them
    **dict.fromkeys(("uniform", "sobol", "lhs", "loguniform", "grid"), ("low", "high")),
    **dict.fromkeys(("normal", "lognormal"), ("mean", "sd")),
    "triangular": ("low", "mode", "high"),
    "list": (),
}
_PATH = re.compile(r"((?:`[^`]*`|[^`=])+)=(.*)", re.DOTALL)


@record
class Vary:
    """One varied number of a study.

    Attributes:
        path: number of the model, as the user wrote it.
        low: smallest value; the mean of a normal or lognormal distribution.
        high: largest value; the standard deviation of a normal or lognormal distribution, of the values themselves.
        points: points of the grid, 0 where values are drawn.
        distribution: one of `DISTRIBUTIONS`, "grid" for a grid, "list" for stated values.
        unit: of low, high, mode and values, such as "deg"; SI where empty.
        mode: most likely value of a triangular distribution; the middle where None.
        values: of a list.
        sampling: "sobol" or "lhs", where another distribution is drawn with such points; "" for independent draws.
    """

    path: str
    low: float
    high: float
    points: int = 0
    distribution: str = "uniform"
    unit: str = ""
    mode: float | None = None
    values: tuple[float, ...] = ()
    sampling: str = ""

    def __post_init__(self) -> None:
        where = "Vary: "
        need(where + "path", self.path, str, "the path of a number")
        need(where + "unit", self.unit, str, "the name of a unit")
        for name, value in (("low", self.low), ("high", self.high), *(("values", x) for x in self.values)):
            need_number(where + name, value, "a finite number")
        if self.mode is not None:
            need_number(where + "mode", self.mode, "a finite number")
        need_count(where + "points", self.points, 0)
        one_of(where + "distribution", self.distribution, (*DISTRIBUTIONS, *AXES))
        one_of(where + "sampling", self.sampling, ("", *SPREADING))

    @property
    def is_axis(self) -> bool:
        """Whether its values are combined with those of other paths, not drawn."""
        return self.distribution in AXES

    @property
    def drawn_with(self) -> str:
        """The points that it is drawn with: "sobol", "lhs", or "" for independent draws."""
        return self.distribution if self.distribution in SPREADING else self.sampling

    def in_si(self) -> Vary:
        """The same with its numbers in SI."""
        factor, _ = unit_in_si(self.unit, f"--vary {self.path}")
        mode = None if self.mode is None else self.mode * factor
        values = tuple(value * factor for value in self.values)
        return dataclasses.replace(
            self, low=self.low * factor, high=self.high * factor, unit="", mode=mode, values=values
        )


def split_assignment(text: str, option: str) -> tuple[str, str]:
    """PATH=VALUE -> (path, value); the equals signs inside backticks belong to the path."""
    match = _PATH.fullmatch(text)
    if match is None or not match[1].strip() or not match[2].strip():
        raise ModelError(option, repr(text), "PATH=VALUE", "Write the path, an equals sign and the value.")
    return match[1].strip(), match[2].strip()


def parse_set(text: str) -> tuple[str, float, str]:
    """`--set PATH=VALUE` -> path, value in SI, the unit that was written, "" where none."""
    path, value = split_assignment(text, "--set")
    return path, *assigned(value, f"--set {path}")


def assigned(words: str | float, where: str) -> tuple[float, str]:
    """A number or a text such as "30deg" -> value in SI, the unit that was written, "" where none."""
    if not isinstance(words, str):
        need_number(where, words, 'a finite number, or a text with its unit, as "30deg"')
        return float(words), ""
    number, unit = split_quantity(words, where)
    return number * unit_in_si(unit, where)[0], unit


def parse_vary(text: str) -> Vary:
    """`--vary PATH=low:high[:n|~dist]`."""
    path, value = split_assignment(text, "--vary")
    return varied(path, value, f"--vary {path}")


def varied(path: str, words: str | Sequence[Any] | Mapping[str, Any], where: str) -> Vary:
    """How a path varies, from a text, a list of values, or a table of a law and its numbers.

    Args:
        where: the option or key that the words stand at, for errors.

    Raises:
        ModelError: words that are none of these, numbers that the law cannot have.
    """
    if isinstance(words, Mapping):
        vary = _of_table(path, words, where)
    elif isinstance(words, str):
        text = words.strip()
        vary = _of_list(path, _items(text, where), where) if text.startswith("[") else _of_text(path, text, where)
    elif isinstance(words, list | tuple):
        vary = _of_list(path, words, where)
    else:
        todo = "Give one value to all members with set."
        raise ModelError(where, shown(words), f"a list, a table, or a text such as {FORMS}", todo)
    _check(vary, where)
    return vary


def _of_text(path: str, text: str, where: str) -> Vary:
    span, *laws = text.split("~")
    distribution = laws[0] if laws else ""
    parts = span.split(":")
    if laws and distribution not in DISTRIBUTIONS:
        hint = nearest(distribution, DISTRIBUTIONS)
        raise ModelError(where, f"distribution {distribution!r}", ", ".join(DISTRIBUTIONS), hint or f"Forms: {FORMS}.")
    if parts[0].strip() in DISTRIBUTIONS:
        todo = f"A law stands behind its numbers: {':'.join(parts[1:])}~{parts[0].strip()}."
        raise ModelError(where, repr(text), FORMS, todo)
    for points in laws[1:]:
        one_of(f"{where}, points of ~{distribution}", points, SPREADING)
    three = not laws or distribution == "triangular"
    if len(parts) not in ((2, 3) if three else (2,)) or len(laws) > 2:
        raise ModelError(where, repr(text), FORMS, "Give two bounds; a grid has a third part and no distribution.")
    mode = parts.pop(1) if laws and len(parts) == 3 else None
    numbers = [split_quantity(part, where) for part in parts[:2]] + ([split_quantity(mode, where)] if mode else [])
    (low, high, *middle), unit = _of_one_unit(numbers, where)
    if len(parts) == 3:
        return Vary(path, low, high, _points(parts[2], where), "grid", unit)
    sampling = laws[1] if laws[1:] else ""
    return Vary(path, low, high, 0, distribution or "uniform", unit, middle[0] if middle else None, sampling=sampling)


def _of_one_unit(numbers: Sequence[tuple[float, str]], where: str) -> tuple[list[float], str]:
    """Numbers that have the same unit, and the unit."""
    units = list(dict.fromkeys(unit for _, unit in numbers))
    if len(units) > 1:
        fault = " and ".join(repr(unit or "no unit") for unit in units)
        unit = next(filter(None, units))
        todo = f"Write LOW{unit}:HIGH{unit}."
        raise ModelError(where, fault, "the same unit at all numbers, or none", todo)
    return [value for value, _ in numbers], units[0] if units else ""


def _items(text: str, where: str) -> list[str]:
    if not text.endswith("]"):
        raise ModelError(where, repr(text[:80]), "a list, as [1, 2, 5]", "Close the bracket.")
    return [item.strip() for item in text[1:-1].split(",") if item.strip()]


def _of_list(path: str, items: Sequence[Any], where: str, unit: str = "") -> Vary:
    numbers = []
    for k, item in enumerate(items):
        if isinstance(item, str):
            numbers.append(split_quantity(item, where))
        else:
            need_number(f"{where}[{k}]", item, "a finite number")
            numbers.append((float(item), ""))
    values, common = _of_one_unit(numbers, where)
    if not values or len(set(values)) < len(values):
        fault = "no values" if not values else "a value twice"
        raise ModelError(where, fault, "different values", "List each value once.")
    return Vary(path, min(values), max(values), 0, "list", unit or common, values=tuple(values))


def _of_table(path: str, words: Mapping[str, Any], where: str) -> Vary:
    """`{distribution = "triangular", low = 1, mode = 2, high = 4, unit = "deg", sampling = "sobol"}` and its like."""
    law = words.get("distribution", "list" if "values" in words else "grid" if "points" in words else "uniform")
    one_of(f"{where}.distribution", law, NUMBERS)
    special = {"grid": ("points",), "list": ("values",)}.get(law, ("sampling",))
    known = ("distribution", *NUMBERS[law], *special, "unit")
    for key in words:
        if key not in known:
            todo = nearest(str(key), known) or "Leave it out."
            raise ModelError(f"{where}.{key}", f"a key that {law} does not have", ", ".join(known), todo)
    optional = ("mode", "sampling")
    missing = [key for key in (*NUMBERS[law], *special) if key not in words and key not in optional]
    if missing:
        raise ModelError(where, f"{law} without {', '.join(missing)}", ", ".join(known), "Add it.")
    unit = words.get("unit", "")
    need(f"{where}.unit", unit, str, 'the name of a unit, as "deg"')
    unit_in_si(unit, f"{where}.unit")
    if law == "list":
        need(f"{where}.values", words["values"], (list, tuple), "a list of numbers")
        return _of_list(path, words["values"], f"{where}.values", unit)
    for key in NUMBERS[law]:
        if key in words:
            need_number(f"{where}.{key}", words[key], "a finite number")
    numbers = {key: float(words[key]) for key in NUMBERS[law] if key in words}
    if law == "grid":
        need_count(f"{where}.points", words["points"], 1)
        return Vary(path, numbers["low"], numbers["high"], int(words["points"]), "grid", unit)
    sampling = words.get("sampling", "")
    one_of(f"{where}.sampling", sampling or SPREADING[0], SPREADING)
    low, high = (numbers[NUMBERS[law][k]] for k in (0, -1))
    return Vary(path, low, high, 0, law, unit, numbers.get("mode"), sampling=sampling)


def _points(text: str, where: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ModelError(where, f"{text!r} grid points", "a whole number from 1", "Write low:high:n, as 0:1:11.")
    return int(text)


def _check(vary: Vary, where: str) -> None:
    """Raises where the numbers of a law do not go together."""
    low, high, law = vary.low, vary.high, vary.distribution
    if law == "list":
        return
    if law == "grid":
        if (low == high) != (vary.points == 1):
            fault = f"{vary.points} points from {low:g} to {high:g}"
            raise ModelError(where, fault, "two or more different points", "Give one value to all members with set.")
    elif law in ("normal", "lognormal"):
        if high <= 0.0:
            raise ModelError(where, f"sd {high:g}", "a positive standard deviation", f"Write mean:sd~{law}.")
        if law == "lognormal" and low <= 0.0:
            raise ModelError(where, f"mean {low:g}", "a positive mean", "A lognormal number is above zero.")
    elif low >= high:
        raise ModelError(where, f"{low:g}:{high:g}", "low below high", "Exchange the two bounds.")
    elif law == "loguniform" and low <= 0.0:
        raise ModelError(where, f"low {low:g}", "positive bounds", "A logarithmic range cannot reach zero.")
    elif vary.mode is not None and not low <= vary.mode <= high:
        fault = f"mode {vary.mode:g} outside {low:g} to {high:g}"
        raise ModelError(where, fault, "a mode within the bounds", "Write low:mode:high~triangular.")
    if law in SPREADING and vary.sampling not in ("", law):
        raise ModelError(where, f"{law} and {vary.sampling}", "one of them", "Leave one of them out.")

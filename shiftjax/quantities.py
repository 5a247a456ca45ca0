"""Quantities as users write them, "200 mm": words of units, their factors to SI, what they measure."""

from __future__ import annotations

import math
import re

from shiftjax.errors import ModelError, nearest

FACTORS: dict[str, dict[str, float]] = {
    "angle": {"radians": 1.0, "degrees": math.pi / 180.0},
    "length": {"meters": 1.0, "millimeters": 1e-3, "centimeters": 1e-2, "inches": 0.0254, "feet": 0.3048},
    "mass": {"kilograms": 1.0, "grams": 1e-3, "tonnes": 1e3, "pounds": 0.45359237},
    "time": {"seconds": 1.0, "milliseconds": 1e-3, "minutes": 60.0},
    "force": {"newtons": 1.0, "kilonewtons": 1e3, "pounds_force": 4.4482216152605},
}
SHORT = {
    "angle": {"rad": "radians", "radian": "radians", "deg": "degrees", "degree": "degrees"},
    "length": {"m": "meters", "meter": "meters", "metre": "meters", "metres": "meters", "mm": "millimeters"}
    | {"millimeter": "millimeters", "cm": "centimeters", "in": "inches", "inch": "inches", "ft": "feet"},
    "mass": {"kg": "kilograms", "kilogram": "kilograms", "g": "grams", "gram": "grams", "lb": "pounds"},
    "time": {"s": "seconds", "second": "seconds", "ms": "milliseconds", "min": "minutes"},
    "force": {"N": "newtons", "newton": "newtons", "kN": "kilonewtons", "lbf": "pounds_force"},
}

# Words that a unit beside a number may be made of: factor to SI, and what remains of it in rad, m, kg and s.
BASE = {"angle": "rad", "length": "m", "mass": "kg", "time": "s"}
WORDS: dict[str, tuple[float, dict[str, int]]] = {
    **{word: (FACTORS[kind][name], {BASE[kind]: 1}) for kind in BASE for word, name in SHORT[kind].items()},
    "rpm": (2.0 * math.pi / 60.0, {"rad": 1, "s": -1}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}),
    "kN": (1e3, {"kg": 1, "m": 1, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}),
    "1": (1.0, {}),
}
COMMON = "deg, rad, mm, cm, m, in, g, kg, ms, s, N, kN, rpm and their products and quotients, as deg/s or kg m^2"
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)


def unit_in_si(unit: str, where: str) -> tuple[float, dict[str, int]]:
    """Factor to SI of a unit such as "deg", "mm/s", "kg m^2", and its powers of rad, m, kg and s.

    Raises:
        ModelError: a word that is no unit.
    """
    factor, powers = 1.0, dict[str, int]()
    above, *below = unit.split("/")
    for words, sign in ((above, 1), *((part, -1) for part in below)):
        for word in words.split():
            name, _, exponent = word.partition("^")
            if name not in WORDS or not re.fullmatch(r"\d?", exponent):
                todo = nearest(name, WORDS) or "`shiftjax info MODEL --paths` shows the unit of every number."
                raise ModelError(where, f"unit {unit!r}", COMMON, todo)
            scale, dimensions = WORDS[name]
            power = sign * int(exponent or 1)
            factor *= scale**power
            for base, count in dimensions.items():
                powers[base] = powers.get(base, 0) + power * count
    return factor, {base: count for base, count in powers.items() if count}


def split_quantity(text: str, where: str) -> tuple[float, str]:
    """A number as a user writes it and the unit beside it: "30deg" -> (30.0, "deg"), "0.5" -> (0.5, "").

    Raises:
        ModelError: no finite number, or a unit that is none.
    """
    match = _NUMBER.fullmatch(text.strip())
    value = float(match[1]) if match else math.nan
    if match is None or not math.isfinite(value):
        raise ModelError(where, repr(text), "a finite number", "Write it like 0.25 or 3e-2, or with its unit, 30deg.")
    unit_in_si(match[2], where)
    return value, match[2].strip()


def check_unit(unit: str, expected: str, where: str) -> None:
    """Raises unless a unit that a user wrote ("" where none) measures what the number's own unit does."""
    if unit and unit_in_si(unit, where)[1] != unit_in_si(expected, where)[1]:
        raise ModelError(where, f"unit {unit!r}", f"a unit of {expected}", "Correct the unit, or the path.")


def in_si(text: str, unit: str | None, where: str) -> float:
    """A quantity that a user wrote, "200 mm", in SI; a number alone is taken as it is.

    Args:
        unit: of the number that it is meant for; None where it may be any.

    Raises:
        ModelError: no finite number, a unit that is none, or one of something else.
    """
    number, written = split_quantity(text, where)
    if unit is not None:
        check_unit(written, unit, where)
    return number * unit_in_si(written, where)[0]

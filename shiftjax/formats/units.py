"""Units of a file and the factors that bring its numbers to SI."""

from __future__ import annotations

import math
from collections.abc import Mapping

from shiftjax.field import filled
from shiftjax.record import record

FACTORS: dict[str, dict[str, float]] = {
    "angle": {"radians": 1.0, "degrees": math.pi / 180.0},
    "length": {"meters": 1.0, "millimeters": 1e-3, "centimeters": 1e-2, "inches": 0.0254, "feet": 0.3048},
    "mass": {"kilograms": 1.0, "grams": 1e-3, "tonnes": 1e3, "pounds": 0.45359237},
    "time": {"seconds": 1.0, "milliseconds": 1e-3, "minutes": 60.0},
}
SHORT = {
    "angle": {"rad": "radians", "radian": "radians", "deg": "degrees", "degree": "degrees"},
    "length": {"m": "meters", "meter": "meters", "metre": "meters", "metres": "meters", "mm": "millimeters"}
    | {"millimeter": "millimeters", "cm": "centimeters", "in": "inches", "inch": "inches", "ft": "feet"},
    "mass": {"kg": "kilograms", "kilogram": "kilograms", "g": "grams", "gram": "grams", "lb": "pounds"},
    "time": {"s": "seconds", "second": "seconds", "ms": "milliseconds", "min": "minutes"},
}


@record
class Units:
    """Factors to SI; forces and torques follow from mass, length and time, also where angles are degrees."""

    angle: float = 1.0
    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    def factor(self, unit: str, x: str = "m", power: int = 0) -> float:
        """What brings a number to SI.

        Args:
            unit: as in the table of fields: "kg m^2", "{x}/s". x: unit of the displacement meant by {x}.
            power: k of a coefficient of x^k.
        """
        own = {"rad": self.angle, "m": self.length, "kg": self.mass, "s": self.time, "1": 1.0}
        own["N"] = self.mass * self.length / self.time**2
        own["W"], own["J"], own["Pa"] = own["N"] * own["m"] / own["s"], own["N"] * own["m"], own["N"] / own["m"] ** 2
        above, _, below = filled(unit, x, power).partition("/")
        out = 1.0
        for words, sign in ((above, 1), (below, -1)):
            for word in words.split():
                name, _, exponent = word.partition("^")
                out *= own[name] ** (sign * int(exponent or 1))
        return out

    @staticmethod
    def of(names: Mapping[str, str]) -> Units:
        return Units(**{kind: FACTORS[kind][name] for kind, name in names.items()})

"""Units of a file and the factors that bring its numbers to SI."""

from __future__ import annotations

import math
from collections.abc import Mapping

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
    """Factors to SI; a coefficient of x^k has the unit of the force over that of x^k."""

    angle: float = 1.0
    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    @property
    def acceleration(self) -> float:
        return self.length / self.time**2

    @property
    def inertia(self) -> float:
        return self.mass * self.length**2

    def displacement(self, kind: str) -> float:
        """Factor of a displacement that is an angle ("rad") or a length ("m")."""
        return self.angle if kind == "rad" else self.length

    def coefficient(self, kind: str, power: int, *, rate: bool) -> float:
        """Factor of the coefficient of x^power in a torque (x an angle) or force; x is a rate in dampers.

        Torques are mass length^2 / time^2 also where angles are degrees.
        """
        torque = self.mass * self.length / self.time**2 * (self.length if kind == "rad" else 1.0)
        x = self.displacement(kind) / (self.time if rate else 1.0)
        return torque / x**power

    @staticmethod
    def of(names: Mapping[str, str]) -> Units:
        return Units(**{kind: FACTORS[kind][name] for kind, name in names.items()})

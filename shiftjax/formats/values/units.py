"""Units of a file and the factors that bring its numbers to SI."""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.field import filled
from shiftjax.quantities import FACTORS
from shiftjax.record import record


@record
class Units:
    """Factors to SI, also where angles are degrees.

    Attributes:
        force: of forces, and with the length of torques, energies and pressures; None where it follows from mass,
            length and time.
    """

    angle: float = 1.0
    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0
    force: float | None = None

    def factor(self, unit: str, x: str = "m", power: int = 0) -> float:
        """What brings a number to SI.

        Args:
            unit: as in the table of fields: "kg m^2", "{x}/s". x: unit of the displacement meant by {x}.
            power: k of a coefficient of x^k.
        """
        factors = {"rad": self.angle, "m": self.length, "kg": self.mass, "s": self.time, "1": 1.0}
        factors["N"] = self.mass * self.length / self.time**2 if self.force is None else self.force
        factors["W"], factors["J"], factors["Pa"] = (
            factors["N"] * factors["m"] / factors["s"],
            factors["N"] * factors["m"],
            factors["N"] / factors["m"] ** 2,
        )
        above, _, below = filled(unit, x, power).partition("/")
        out = 1.0
        for words, sign in ((above, 1), (below, -1)):
            for word in words.split():
                name, _, exponent = word.partition("^")
                out *= factors[name] ** (sign * int(exponent or 1))
        return out

    @staticmethod
    def of(names: Mapping[str, str]) -> Units:
        return Units(**{kind: FACTORS[kind][name] for kind, name in names.items()})

"""What every constraint gives: rows of Phi(q, t) = 0 and what their time derivatives need.

nu = -Phi_t with J v = nu, and gamma = -(J v)_q v - 2 Phi_qt v - Phi_tt with J a = gamma (design, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shiftjax.algebra import Scalar, Vec


@dataclass
class Rows:
    """Rows of constraints, in true units.

    phi, nu, gamma: (m,); J: one dict a row, speed index -> entry, structural zeros left out; unit: (m,) "rad" or "m".
    """

    phi: Vec = field(default_factory=list)
    J: list[dict[int, Scalar]] = field(default_factory=list)
    nu: Vec = field(default_factory=list)
    gamma: Vec = field(default_factory=list)
    unit: list[str] = field(default_factory=list)

    def extend(self, other: Rows) -> None:
        """More rows below these."""
        for name in ("phi", "J", "nu", "gamma", "unit"):
            getattr(self, name).extend(getattr(other, name))


def scales(units: list[str] | tuple[str, ...], length: float) -> list[float]:
    """What makes rows or speeds dimensionless: 1 for rad, the model's length for m."""
    return [length if unit == "m" else 1.0 for unit in units]

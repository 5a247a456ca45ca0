"""What every constraint gives: rows of Phi(q, t) = 0 and what their time derivatives need.

nu = -Phi_t with J v = nu, and gamma = -(J v)_q v - 2 Phi_qt v - Phi_tt with J a = gamma (design, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shiftjax.algebra import Mat, Scalar, Vec


@dataclass
class Rows:
    """Rows of constraints, in true units: `unit` 1 for rad and the model's length for metres makes them dimensionless.

    phi, nu, gamma: (m,); J: one dict a row, speed index -> entry, structural zeros left out; unit: (m,).
    turns: for every loop the orientations of its virtual and real end (assembly takes the rotation between them).
    """

    phi: Vec = field(default_factory=list)
    J: list[dict[int, Scalar]] = field(default_factory=list)
    nu: Vec = field(default_factory=list)
    gamma: Vec = field(default_factory=list)
    unit: list[float] = field(default_factory=list)
    turns: list[tuple[Mat, Mat]] = field(default_factory=list)

    def extend(self, other: Rows) -> None:
        for name in ("phi", "J", "nu", "gamma", "unit", "turns"):
            getattr(self, name).extend(getattr(other, name))

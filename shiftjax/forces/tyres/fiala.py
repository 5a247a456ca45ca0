"""Fiala's tyre: a beam on an elastic foundation of brushes under even pressure (Fiala, VDI-Zeitschrift 96, 1954, 973).

Formulas as in the documentation of Adams Tire, "Using the Fiala Handling Force Model". U = u_max - (u_max - u_min) s
falls with the slip s = sqrt(kappa^2 + tan^2 alpha).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.algebra import Scalar, larger, ratio, select, sqrt, tanh
from shiftjax.field import Field, Role, number
from shiftjax.forces.tyres.tyre import RELAXATION, SIZES, SLIPS, SURFACE, Contact, Tyre, TyreLoad

TINY = 1e-12  # N: keeps quotients finite where nothing touches
LEAST_FRICTION = 1e-3  # of a slip far beyond those of the model
NUMBERS = (
    *SIZES,
    Field("width", "of the tyre", "number", Role.LENGTH, "m", required=True, least=0.0),
    Field("c_slip", "slope of the force along, of a slip of 1", "number", Role.NUMBER, "N", required=True, above=0.0),
    Field("c_alpha", "slope of the force across", "number", Role.NUMBER, "N/rad", required=True, above=0.0),
    Field("u_max", "friction of no slip", "number", Role.NUMBER, "1", 1.0, above=0.0),
    Field("u_min", "friction of a slip of 1", "number", Role.NUMBER, "1", 0.9, least=0.0),
    number("rolling_resistance", "m", "how far the load's middle is ahead of the wheel's", default=0.0),
    *SURFACE,
)


class Fiala(Tyre):
    """Fx = c_slip kappa, Fy = U Fz (1 - H^3), Mz = U Fz width (1 - H) H^3, H = 1 - c_alpha |tan alpha| / (3 U Fz).

    Beyond kappa = U Fz / (2 c_slip) Fx = U Fz - (U Fz)^2 / (4 kappa c_slip); beyond H = 0 Fy = U Fz and Mz = 0.
    """

    doc = "Fiala's tyre: brushes on a beam, under even pressure; camber does nothing."
    fields = NUMBERS

    def tyre_load(self, n: Mapping[str, Any], contact: Contact, kappa: Scalar, tangent: Scalar) -> TyreLoad:
        slip = sqrt(kappa * kappa + tangent * tangent)
        friction = larger(n["u_max"] - (n["u_max"] - n["u_min"]) * slip, LEAST_FRICTION)
        most = friction * contact.load
        pulled = n["c_slip"] * kappa
        slides = abs(pulled) > 0.5 * most
        left = most - ratio(most * most, 4.0 * larger(abs(pulled), TINY))
        along = select(slides, select(kappa > 0.0, left, -left), pulled)
        bent = ratio(n["c_alpha"] * tangent, 3.0 * larger(most, TINY))
        size = abs(bent)
        inside = 3.0 * bent - 3.0 * bent * size + bent * bent * bent
        across = most * select(size > 1.0, select(bent > 0.0, 1.0, -1.0), inside)
        rest = 1.0 - size
        aligning = -(most * n["width"]) * select(size > 1.0, 0.0, bent * (rest * rest * rest))
        resistance = n["rolling_resistance"] * contact.load * tanh(ratio(contact.forward, n["low_speed"]))
        return TyreLoad(along, across, aligning, resistance)

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return super().faults(n) | {"a u_min above u_max": n["u_min"] > n["u_max"]}


class TransientFiala(Fiala):
    """The same of slips that build up over a relaxation length: du/dt = -slip speed - |V| u / relaxation (Pacejka)."""

    doc = "Fiala's tyre whose slips build up over a relaxation length, down to a stand."
    fields, states, transient = (*NUMBERS, *RELAXATION), SLIPS, True

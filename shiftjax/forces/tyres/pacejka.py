"""Pacejka's tyre, the Magic Formula of PAC2002 (Pacejka, Tyre and Vehicle Dynamics, 2002, section 4.3.2).

Names of coefficients are those of its property files (`.tir`), in small letters; scaling factors are 1 where left out,
all others 0. A tyre stands on both sides of a car as it is. Slips are those of ISO: a positive alpha is a slip to the
left, kappa is positive when driving.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shiftjax.algebra import Scalar, atan2, cos, exp, larger, ratio, select, sin, sqrt
from shiftjax.field import Field, Role, number
from shiftjax.forces.tyres.tyre import RELAXATION, SIZES, SLIPS, SURFACE, Contact, Tyre, TyreLoad

TINY = 1e-9  # N: keeps quotients finite where nothing touches
SCALING = ("lfzo lcx lmux lex lkx lhx lvx lgax lcy lmuy ley lky lhy lvy lgay ltr lres lgaz lxal lyka lvyka ls lmx lvmx "
           "lmy").split()  # fmt: skip
COEFFICIENTS = (
    "pcx1 pdx1 pdx2 pdx3 pex1 pex2 pex3 pex4 pkx1 pkx2 pkx3 phx1 phx2 pvx1 pvx2 rbx1 rbx2 rcx1 rex1 rex2 rhx1 "
    "pcy1 pdy1 pdy2 pdy3 pey1 pey2 pey3 pey4 pky1 pky2 pky3 phy1 phy2 phy3 pvy1 pvy2 pvy3 pvy4 rby1 rby2 rby3 rcy1 "
    "rey1 rey2 rhy1 rhy2 rvy1 rvy2 rvy3 rvy4 rvy5 rvy6 qsx1 qsx2 qsx3 qsy1 qsy2 qsy3 qsy4 "
    "qbz1 qbz2 qbz3 qbz4 qbz5 qbz9 qbz10 qcz1 qdz1 qdz2 qdz3 qdz4 qdz6 qdz7 qdz8 qdz9 qez1 qez2 qez3 qez4 qez5 "
    "qhz1 qhz2 qhz3 qhz4 ssz1 ssz2 ssz3 ssz4"
).split()
NUMBERS = (
    *SIZES,
    Field("fnomin", "nominal load", "number", Role.NUMBER, "N", required=True, above=0.0),
    Field("longvl", "speed at which it was measured", "number", Role.NUMBER, "m/s", 16.6, above=0.0),
    *(number(name, "1", "a coefficient of the Magic Formula", default=0.0) for name in COEFFICIENTS),
    *(number(name, "1", "a scaling factor of the Magic Formula", default=1.0) for name in SCALING),
    *SURFACE,
)


class Pacejka(Tyre):
    """Forces and torques of combined slip, with camber, at the wheel's load."""

    doc = "Pacejka's tyre, the Magic Formula of PAC2002: combined slip, camber, load."
    fields = NUMBERS

    def tyre_load(self, n: Mapping[str, Any], contact: Contact, kappa: Scalar, tangent: Scalar) -> TyreLoad:
        state = _State(n, contact, kappa, atan2(-tangent, 1.0))
        along, across = state.along(), state.across()
        return TyreLoad(along, across, state.aligning(along, across), state.rolling(along), state.overturning(across))


class TransientPacejka(Pacejka):
    """The same of slips that build up over a relaxation length: du/dt = -slip speed - |V| u / relaxation."""

    doc = "Pacejka's tyre whose slips build up over a relaxation length, down to a stand."
    fields, states, transient = (*NUMBERS, *RELAXATION), SLIPS, True


class _State:
    """The formulas at one slip; names are Pacejka's.

    Args:
        n: numbers of the tyre. kappa, alpha: slips along, and across [rad].
    """

    def __init__(self, n: Mapping[str, Any], contact: Contact, kappa: Scalar, alpha: Scalar) -> None:
        self.n, self.contact, self.kappa, self.alpha = n, contact, kappa, alpha
        self.Fz, nominal = contact.load, n["fnomin"] * n["lfzo"]
        self.dfz = ratio(self.Fz - nominal, nominal)
        self.gamma = atan2(contact.camber, sqrt(larger(1.0 - contact.camber * contact.camber, TINY)))
        self._pure_along()
        self._pure_across()

    def _grown(self, *names: str) -> Scalar:
        """c_1 + c_2 dfz + c_3 dfz^2."""
        value: Scalar = 0.0
        for name in reversed(names):
            value = value * self.dfz + self.n[name]
        return value

    def _pure_along(self) -> None:
        n, Fz, dfz = self.n, self.Fz, self.dfz
        slip = self.kappa + self._grown("phx1", "phx2") * n["lhx"]
        tilt = self.gamma * n["lgax"]
        C = n["pcx1"] * n["lcx"]
        D = self._grown("pdx1", "pdx2") * (1.0 - n["pdx3"] * tilt * tilt) * n["lmux"] * Fz
        E = _at_most_one(self._grown("pex1", "pex2", "pex3") * (1.0 - n["pex4"] * _sign(slip)) * n["lex"])
        self.Kx = Fz * self._grown("pkx1", "pkx2") * exp(n["pkx3"] * dfz) * n["lkx"]
        shift = Fz * self._grown("pvx1", "pvx2") * n["lvx"] * n["lmux"]
        self.Fx0 = D * sin(_shape(_part(self.Kx, C * D), C, E, slip)) + shift

    def _pure_across(self) -> None:
        n, Fz = self.n, self.Fz
        tilt = self.gamma * n["lgay"]
        self.SHy = self._grown("phy1", "phy2") * n["lhy"] + n["phy3"] * tilt
        slip = self.alpha + self.SHy
        self.Cy = n["pcy1"] * n["lcy"]
        self.muy = self._grown("pdy1", "pdy2") * (1.0 - n["pdy3"] * tilt * tilt) * n["lmuy"]
        D = self.muy * Fz
        E = self._grown("pey1", "pey2") * (1.0 - (n["pey3"] + n["pey4"] * tilt) * _sign(slip)) * n["ley"]
        nominal = n["fnomin"] * n["lfzo"]
        rise = sin(2.0 * atan2(Fz, n["pky2"] * nominal))
        self.Ky = n["pky1"] * nominal * rise * (1.0 - n["pky3"] * abs(tilt)) * n["lky"]
        lift = self._grown("pvy1", "pvy2") * n["lvy"] + self._grown("pvy3", "pvy4") * tilt
        self.SVy = Fz * lift * n["lmuy"]
        self.By = _part(self.Ky, self.Cy * D)
        self.Fy0 = D * sin(_shape(self.By, self.Cy, _at_most_one(E), slip)) + self.SVy

    def along(self) -> Scalar:
        """Fx of both slips."""
        n, shift = self.n, self.n["rhx1"]
        B = n["rbx1"] * cos(_atan(n["rbx2"] * self.kappa)) * n["lxal"]
        E = _at_most_one(self._grown("rex1", "rex2"))
        weight = ratio(cos(_shape(B, n["rcx1"], E, self.alpha + shift)), cos(_shape(B, n["rcx1"], E, shift)))
        return self.Fx0 * weight

    def across(self) -> Scalar:
        """Fy of both slips."""
        n, shift = self.n, self._grown("rhy1", "rhy2")
        B = n["rby1"] * cos(_atan(n["rby2"] * (self.alpha - n["rby3"]))) * n["lyka"]
        E = _at_most_one(self._grown("rey1", "rey2"))
        weight = ratio(cos(_shape(B, n["rcy1"], E, self.kappa + shift)), cos(_shape(B, n["rcy1"], E, shift)))
        D = self.muy * self.Fz * (self._grown("rvy1", "rvy2") + n["rvy3"] * self.gamma)
        self.SVyk = D * cos(_atan(n["rvy4"] * self.alpha)) * sin(n["rvy5"] * _atan(n["rvy6"] * self.kappa)) * n["lvyka"]
        return self.Fy0 * weight + self.SVyk

    def aligning(self, Fx: Scalar, Fy: Scalar) -> Scalar:
        """Mz of both slips: the trail of Fy, what is left at no trail, and the arm of Fx."""
        n, Fz, radius = self.n, self.Fz, self.n["radius"]
        tilt = self.gamma * n["lgaz"]
        slip = self.alpha + self._grown("qhz1", "qhz2") + self._grown("qhz3", "qhz4") * tilt
        rest = self.alpha + self.SHy + _part(self.SVy, self.Ky)
        pulls = ratio(self.Kx * self.kappa, _away(self.Ky))
        slip, rest = (_sign(x) * _atan(sqrt(_tan(x) * _tan(x) + pulls * pulls + 1e-300)) for x in (slip, rest))
        grip = ratio(n["lky"], n["lmuy"])
        B = self._grown("qbz1", "qbz2", "qbz3") * (1.0 + n["qbz4"] * tilt + n["qbz5"] * abs(tilt)) * grip
        C = n["qcz1"]
        D = Fz * self._grown("qdz1", "qdz2") * (1.0 + n["qdz3"] * tilt + n["qdz4"] * tilt * tilt)
        lean = 1.0 + (n["qez4"] + n["qez5"] * tilt) * (2.0 / math.pi) * _atan(B * C * slip)
        E = _at_most_one(self._grown("qez1", "qez2", "qez3") * lean)
        trail = ratio(D * radius, n["fnomin"]) * n["ltr"] * cos(_shape(B, C, E, slip)) * cos(self.alpha)
        left = self._grown("qdz6", "qdz7") * n["lres"] + self._grown("qdz8", "qdz9") * tilt
        turn = Fz * left * radius * n["lmuy"] * cos(_atan((n["qbz9"] * grip + n["qbz10"] * self.By * self.Cy) * rest))
        arm = n["ssz1"] + ratio(n["ssz2"] * Fy, n["fnomin"]) + self._grown("ssz3", "ssz4") * self.gamma
        return -trail * (Fy - self.SVyk) + turn * cos(self.alpha) + arm * radius * n["ls"] * Fx

    def rolling(self, Fx: Scalar) -> Scalar:
        """The torque against rolling, -My."""
        n, pace = self.n, ratio(self.contact.forward, self.n["longvl"])
        way = ratio(self.contact.forward, sqrt(self.contact.forward * self.contact.forward + n["low_speed"] ** 2))
        drag = n["qsy1"] + ratio(n["qsy2"] * Fx, n["fnomin"]) + n["qsy3"] * abs(pace) + n["qsy4"] * pace**4
        return n["radius"] * self.Fz * drag * n["lmy"] * way

    def overturning(self, Fy: Scalar) -> Scalar:
        """Mx."""
        n = self.n
        part = n["qsx1"] * n["lvmx"] - n["qsx2"] * self.gamma + ratio(n["qsx3"] * Fy, n["fnomin"])
        return n["radius"] * self.Fz * part * n["lmx"]


def _shape(B: Scalar, C: Scalar, E: Scalar, x: Scalar) -> Scalar:
    """C atan(B x - E (B x - atan(B x)))."""
    bent = B * x
    return C * _atan(bent - E * (bent - _atan(bent)))


def _atan(x: Scalar) -> Scalar:
    return atan2(x, 1.0)


def _tan(x: Scalar) -> Scalar:
    return ratio(sin(x), cos(x))


def _sign(x: Scalar) -> Scalar:
    return select(x > 0.0, 1.0, -1.0)


def _at_most_one(x: Scalar) -> Scalar:
    return 1.0 - larger(1.0 - x, 0.0)


def _away(x: Scalar) -> Scalar:
    """x, and a little more where it is zero."""
    return x + select(x > 0.0, TINY, -TINY)


def _part(x: Scalar, y: Scalar) -> Scalar:
    """x / y; nearly 0 where both vanish, as without load."""
    return ratio(x, _away(y))

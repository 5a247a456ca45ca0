"""Friction in a joint: regularised Coulomb friction, and bristles that stick.

Neither jumps where the joint comes to rest, so that slopes pass through both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, exp, ratio, tanh
from shiftjax.field import number
from shiftjax.forces.kind import ForceKind, Load, State
from shiftjax.plan_elements import ForceElement, MotionView


class CoulombFriction(ForceKind):
    """Q = -level tanh(q' / slip_speed) - viscous q': it creeps under a load where a true one sticks."""

    joints, dissipates, drawing = 1, True, "friction"
    fields = (
        number("level", "{f}", "of dry friction", least=0.0),
        number("slip_speed", "{x}/s", "below which dry friction fades", above=0.0),
        number("viscous", "{f} s/{x}", "of the lubricant", default=0.0, least=0.0),
    )

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (joint,) = motion.values(element.numbers), element.coordinates
        v = motion.speed(joint)
        force = n["level"] * tanh(ratio(v, n["slip_speed"])) + n["viscous"] * v
        load.add_generalized(motion.speed_index(joint), -force)
        load.dissipate(force * v)
        return ()


class LuGre(ForceKind):
    """Bristles of deflection z that slide at a level which falls with speed, from static to kinetic (LuGre).

    Q = -stiffness z - damping z' - viscous q', z' = q' - |q'| stiffness z / g, g = kinetic + (static - kinetic)
    exp(-(q' / stribeck_speed)^2) (Canudas de Wit, Olsson, Astrom, Lischinsky, IEEE Trans. Automatic Control 40, 1995,
    419). The bristles store stiffness z^2 / 2. Steps must resolve their own vibration.
    """

    doc = "Bristles of deflection z that stick, then slide at a level which falls with speed from static to kinetic."
    joints, dissipates, drawing = 1, True, "friction"
    fields = (
        number("static", "{f}", "level at which it breaks loose", above=0.0),
        number("kinetic", "{f}", "level of sliding", above=0.0),
        number("stribeck_speed", "{x}/s", "at which the level falls", above=0.0),
        number("stiffness", "{f}/{x}", "of the bristles", above=0.0),
        number("damping", "{f} s/{x}", "of the bristles", default=0.0, least=0.0),
        number("viscous", "{f} s/{x}", "of the lubricant", default=0.0, least=0.0),
    )
    states = (State("bend", "{x}", "how far the bristles bend"),)

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (joint,), (z,) = motion.values(element.numbers), element.coordinates, states
        v = motion.speed(joint)
        part = ratio(v, n["stribeck_speed"])
        level = n["kinetic"] + (n["static"] - n["kinetic"]) * exp(-(part * part))
        spring = n["stiffness"] * z
        rate = v - ratio(abs(v) * spring, level)
        force = spring + n["damping"] * rate + n["viscous"] * v
        load.add_generalized(motion.speed_index(joint), -force)
        load.add_potential(0.5 * spring * z)
        load.dissipate(force * v - spring * rate)
        return [rate]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return {"a kinetic level above the static one": n["kinetic"] > n["static"]}

"""Limit stops at the ends of a coordinate's way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, larger, ratio, select
from shiftjax.field import number
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.plan_elements import ForceElement, MotionView

FAR = 1e9  # rad or m: no end there


class LimitStop(ForceKind):
    """Springs of stiffness k beyond both ends, that set in over the first `blend` of their depth and never hold back.

    The spring's force is k d^2 / (2 blend) up to a depth d of `blend`, then k (d - blend / 2): its slope does not jump,
    so that gradients pass. The damper c grows in over the same depth; together they never pull.
    """

    doc = "Stiff, damped springs beyond both ends of a joint's way, that set in smoothly and never pull."
    joints, dissipates, drawing = 1, True, "spring"
    fields = (
        number("lower", "{x}", "end of the way", default=-FAR),
        number("upper", "{x}", "end of the way", default=FAR),
        number("k", "{f}/{x}", "stiffness of the ends", least=0.0),
        number("c", "{f} s/{x}", "damping at the ends", default=0.0, least=0.0),
        number("blend", "{x}", "depth over which they set in", above=0.0),
    )

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (joint,) = motion.values(element.numbers), element.coordinates
        q, v, k, blend = motion.coordinate(joint), motion.speed(joint), n["k"], n["blend"]
        for sign, beyond, rate in ((-1.0, q - n["upper"], v), (1.0, n["lower"] - q, -v)):
            depth = larger(beyond, 0.0)
            part, deep = ratio(depth, blend), depth > blend
            spring = k * select(deep, depth - 0.5 * blend, 0.5 * depth * part)
            stored = k * select(
                deep,
                0.5 * depth * (depth - blend) + 1.0 / 6.0 * (blend * blend),
                1.0 / 6.0 * (depth * depth * part),
            )
            force = larger(spring + n["c"] * rate * select(deep, 1.0, part), 0.0)
            load.add_generalized(motion.speed_index(joint), sign * force)
            load.add_potential(stored)
            load.dissipate((force - spring) * rate)
        return ()

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        lower, upper = n["lower"], n["upper"]
        return {
            "neither a lower nor an upper end": (lower <= -FAR) & (upper >= FAR),
            "a lower end that is not below the upper one": lower >= upper,
        }

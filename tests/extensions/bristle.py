"""Friction by bristles that bend before they slide (Dahl 1968).

It sticks, and needs no jump of a force.
"""

from shiftjax.field import number
from shiftjax.forces import FORCES, ForceKind, State


class Bristle(ForceKind):
    """Q = -k z with z' = q' - |q'| k z / slip.

    The bristles store k z^2 / 2, sliding takes |q'| (k z)^2 / slip.
    """

    joints, dissipates = 1, True
    fields = (
        number("k", "{f}/{x}", "stiffness of the bristles"),
        number("slip", "{f}", "force at which they slide"),
    )
    states = (State("bend", "{x}", "how far the bristles bend"),)

    def apply(self, element, motion, load, states):
        n, (joint,) = motion.values(element.numbers), element.coordinates
        force, speed = n["k"] * states[0], motion.speed(joint)
        sliding = abs(speed) * force / n["slip"]
        load.add_generalized(motion.speed_index(joint), -force)
        load.add_potential(0.5 * force * states[0])
        load.dissipate(force * sliding)
        return [speed - sliding]


FORCES["my_bristle"] = Bristle()

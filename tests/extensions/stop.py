"""Stops at both ends of a joint's way.

Springs that harden with their depth, and damp, but never hold back.
"""

from shiftjax.algebra import larger
from shiftjax.field import number
from shiftjax.forces import FORCES, ForceKind


class Stop(ForceKind):
    """Q = -k d^2 max(1 + c d', 0) at depth d beyond either end.

    Between the ends there is no force.
    """

    joints, dissipates = 1, True
    fields = (
        number("lower", "{x}", "end of the way"),
        number("upper", "{x}", "end of the way"),
        number("k", "{f}/{x}^2", "stiffness of the end"),
        number("c", "s/{x}", "damping at the end", default=0.0),
    )

    def apply(self, element, motion, load, states):
        n, (joint,) = motion.values(element.numbers), element.coordinates
        q, v = motion.coordinate(joint), motion.speed(joint)
        for sign, beyond, rate in (
            (-1.0, q - n["upper"], v),
            (1.0, n["lower"] - q, -v),
        ):
            depth = larger(beyond, 0.0)
            spring = n["k"] * depth**2
            force = spring * larger(1.0 + n["c"] * rate, 0.0)
            load.add_generalized(motion.speed_index(joint), sign * force)
            load.add_potential(spring * depth / 3.0)
            load.dissipate((force - spring) * rate)
        return ()


FORCES["my_stop"] = Stop()

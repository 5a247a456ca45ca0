"""A Maxwell element on a joint: a spring and a damper in series.

The stretch of the spring is a state of its own.
"""

from shiftjax.field import number
from shiftjax.forces import FORCES, ForceKind, State


class Maxwell(ForceKind):
    """Q = -k s with s' = q' - k s / c.

    The spring stores k s^2 / 2, the damper takes (k s)^2 / c.
    """

    joints, dissipates = 1, True
    fields = (
        number("k", "{f}/{x}", "stiffness of the spring"),
        number("c", "{f} s/{x}", "of the damper"),
    )
    states = (State("stretch", "{x}", "the stretch of the spring"),)

    def apply(self, element, motion, load, states):
        n, (joint,) = motion.values(element.numbers), element.coordinates
        force = n["k"] * states[0]
        load.add_generalized(motion.speed_index(joint), -force)
        load.add_potential(0.5 * force * states[0])
        load.dissipate(force**2 / n["c"])
        return [motion.speed(joint) - force / n["c"]]


FORCES["maxwell"] = Maxwell()

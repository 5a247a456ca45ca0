"""A ball on a plane (Hunt and Crossley 1975).

A spring that hardens with its depth, and a damper that never pulls.
"""

from shiftjax.algebra import larger
from shiftjax.field import number
from shiftjax.forces import FORCES, ForceKind
from shiftjax.plan_elements import ORIGIN


class Contact(ForceKind):
    """N = k d^2 max(1 + c d', 0) at depth d.

    The depth is along the z axis of the second frame; the spring stores
    k d^3 / 3.
    """

    frames, dissipates = 2, True
    fields = (
        number("radius", "m", "of the ball"),
        number("k", "N/m^2", "of the plane"),
        number("c", "s/m", "of the plane"),
    )

    def apply(self, element, motion, load, states):
        n, (ball, plane) = motion.values(element.numbers), element.frames
        depth = larger(n["radius"] - motion.point(ball, relative=plane)[2], 0.0)
        rate = -motion.velocity(ball, relative=plane)[2]
        spring = n["k"] * depth**2
        force = spring * larger(1.0 + n["c"] * rate, 0.0)
        load.add_force_at(
            ball, ORIGIN, [0.0, 0.0, force], axes=plane, reaction=plane
        )
        load.add_potential(spring * depth / 3.0)
        load.dissipate((force - spring) * rate)
        return ()


FORCES["my_contact"] = Contact()

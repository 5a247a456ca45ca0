"""A spring with a rest position and a damper along a joint."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import Scalar
from shiftjax.field import number
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.plan_elements import ForceElement, MotionView


class JointSpring(ForceKind):
    """Q = -k (q - rest) - c q'."""

    joints, dissipates, drawing = 1, True, "spring"
    fields = (
        number("k", "{f}/{x}", "stiffness of the spring"),
        number("rest", "{x}", "displacement without force", default=0.0),
        number("c", "{f} s/{x}", "of the damper beside it", default=0.0),
    )

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (joint,) = motion.values(element.numbers), element.coordinates
        stretch, damping = motion.coordinate(joint) - n["rest"], n["c"] * motion.speed(joint)
        load.add_generalized(motion.speed_index(joint), -(n["k"] * stretch) - damping)
        load.add_potential(0.5 * n["k"] * stretch * stretch)
        load.dissipate(damping * motion.speed(joint))
        return ()

"""Stiffness and damping written in a joint: Q = -sum c_k q^k and Q = -sum d_k q'^k, ascending."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import Scalar
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.forces.polynomials import antiderivative, ascending
from shiftjax.plan_elements import ForceElement, MotionView


class JointStiffness(ForceKind):
    """The polynomial of the displacement."""

    joints, listed = 1, False

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        (coordinate,) = element.coordinates
        c, q = motion.values(element.numbers)["stiffness"], motion.coordinate(coordinate)
        load.add_generalized(motion.speed_index(coordinate), -ascending(c, q))
        load.add_potential(ascending(antiderivative(c), q))
        return ()


class JointDamping(ForceKind):
    """The polynomial of the speed."""

    joints, listed, dissipates = 1, False, True

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        if motion.v is not None:
            (coordinate,) = element.coordinates
            v = motion.speed(coordinate)
            force = ascending(motion.values(element.numbers)["damping"], v)
            load.add_generalized(motion.speed_index(coordinate), -force)
            load.dissipate(force * v)
        return ()

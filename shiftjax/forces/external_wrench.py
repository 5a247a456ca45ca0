"""An external wrench on a body, in world axes, as applied by `run.live`.

Its numbers are lane values, constant over a step: the force [N] at the body's origin, and the moment [N m].
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import Scalar, dot
from shiftjax.field import Field, Role
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.plan_elements import ORIGIN, ForceElement, MotionView


class ExternalWrench(ForceKind):
    """Force and moment on the body of one frame."""

    frames, listed, dissipates = 1, False, True
    fields = (
        Field("external_force", "in world axes, at the body's origin", "vector", Role.LOAD, "N"),
        Field("external_moment", "in world axes", "vector", Role.LOAD, "N m"),
    )

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (placed,) = motion.values(element.numbers), element.frames
        force, moment = n["external_force"], n["external_moment"]
        load.add_wrench_at(placed, ORIGIN, force, moment)
        if motion.v is not None:
            load.supply(dot(moment, motion.angular_velocity(placed)) + dot(force, motion.velocity(placed)))
        return ()

"""An external wrench on a body, in world axes, as applied by `run.live`.

Its numbers are lane values, constant over a step: the force [N] at the body's origin, and the moment [N m].
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import Scalar, add, cross, dot, plus
from shiftjax.field import Field, Role
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.plan_elements import ForceElement, MotionView


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
        origin = motion.chain(rooted=True).node(placed.node).p
        load.add_wrench(placed.node, plus(moment, cross(origin, force)), force)
        if motion.v is not None:
            body = motion.chain().node(placed.node)
            load.supply(add(dot(moment, body.w), dot(force, plus(body.u, cross(body.w, body.p)))))
        return ()

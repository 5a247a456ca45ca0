"""A wrench from outside on a body, in world axes: what `live.Live` pulls with.

Its six numbers are `BODY.external_force[k]` [N], at the body's origin, and `BODY.external_moment[k]` [N m]; they are
lane values, constant over a step.
"""

from __future__ import annotations

from shiftjax.algebra import add, cross, dot, plus
from shiftjax.dynamics.kinematics import Motion
from shiftjax.forces.load import Load

NUMBERS = tuple(f"external_{what}[{k}]" for what in ("force", "moment") for k in range(3))


def apply(motion: Motion, load: Load, node: int) -> None:
    """Adds the wrench on one node's body to the load."""
    path = motion.plan.nodes[node].path
    force, moment = (motion.params.vector(f"{path}.external_{what}") for what in ("force", "moment"))
    load.pull(node, plus(moment, cross(motion.chain(rooted=True).node(node).p, force)), force)
    if motion.v is not None:
        body = motion.chain().node(node)
        load.power = add(load.power, add(dot(moment, body.w), dot(force, plus(body.u, cross(body.w, body.p)))))

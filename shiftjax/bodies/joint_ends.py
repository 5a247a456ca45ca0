"""Which frames of which bodies each joint of a model is between, loops uncut. Host code."""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.plan_elements import PlacedFrame
from shiftjax.record import record
from shiftjax.topology.plan import Plan, TreeJoint


@record
class JointEnds:
    """A joint as the user wrote it: from a frame of its parent to one of its child."""

    joint: TreeJoint
    parent: PlacedFrame
    child: PlacedFrame


def joint_ends(plan: Plan) -> dict[str, JointEnds]:
    """By the paths of joints; where a loop is cut, the real body stands in place of the virtual one."""
    real = {group.loop.virtual: group.frames[0] for group in plan.constraints if group.loop is not None}
    out: dict[str, JointEnds] = {}
    for joint in plan.joints:
        near, far = joint.near_place, real.get(joint.far, joint.far_place)
        out[joint.path] = JointEnds(joint, far, near) if joint.reverse else JointEnds(joint, near, far)
    return out


def places_of_bodies(plan: Plan, bodies: Mapping[str, int]) -> dict[int, int]:
    """Node of the plan -> place of its body among `bodies`, -1 of ground."""
    return {k: bodies.get(node.path, -1) for k, node in enumerate(plan.nodes)}

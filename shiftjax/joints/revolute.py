"""Revolute joints: one rotation about an axis of the joint frames."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Rotation


def hinge(axis: str) -> JointKind:
    return JointKind((Rotation(axis),), "hinge", doc=f"turns about {axis if axis in 'xyz' else 'the axis'}")


REVOLUTES = {"Rx": hinge("x"), "Ry": hinge("y"), "Rz": hinge("z"), "revolute": hinge("axis")}

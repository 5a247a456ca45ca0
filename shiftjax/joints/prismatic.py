"""Prismatic joints: one translation along an axis of the joint frames."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Translation


def slider(axis: str) -> JointKind:
    return JointKind((Translation(axis),), "slider", doc=f"slides along {axis if axis in 'xyz' else 'the axis'}")


PRISMATICS = {"Tx": slider("x"), "Ty": slider("y"), "Tz": slider("z"), "prismatic": slider("axis")}

"""Prismatic joints: one translation along an axis of the joint frames."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Translation


def slider(axis: str) -> JointKind:
    return JointKind((Translation(axis),), "slider")


PRISMATICS = {"Tx": slider("x"), "Ty": slider("y"), "Tz": slider("z"), "prismatic": slider("axis")}

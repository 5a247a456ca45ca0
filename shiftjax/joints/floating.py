"""Six degrees of freedom: the child frame's origin along the parent's axes, then a quaternion or rotation vector."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Ball, RotationVector, Translation

FLOAT = JointKind(
    (Translation("x"), Translation("y"), Translation("z"), Ball()),
    "free",
    ("x", "y", "z", "rotation"),
    free=True,
    doc="moves and turns any way",
)
FLOAT_VECTOR = JointKind(
    (Translation("x"), Translation("y"), Translation("z"), RotationVector()),
    "free",
    ("x", "y", "z", "rotation"),
    free=True,
    doc="moves and turns any way; its last coordinates are a rotation vector",
)

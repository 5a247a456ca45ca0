"""Six degrees of freedom: the origin of the child frame along the parent's axes, then a unit quaternion."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Ball, Translation

FLOAT = JointKind(
    (Translation("x"), Translation("y"), Translation("z"), Ball()),
    "free",
    ("x", "y", "z", "rotation"),
    free=True,
    doc="moves and turns any way",
)

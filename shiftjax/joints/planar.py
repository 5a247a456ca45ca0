"""Planar joint: a plane of the child slides on the parent's x-y plane and turns about its normal z."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Rotation, Translation

PLANAR = JointKind(
    (Translation("x"), Translation("y"), Rotation("z")),
    "plate",
    ("x", "y", "angle"),
    doc="slides on x-y of the parent and turns about z",
)

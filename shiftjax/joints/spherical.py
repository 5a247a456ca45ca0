"""Ball joint: a unit quaternion, free of gimbal lock; or a rotation vector, as many numbers as speeds."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Ball, RotationVector

SPHERICAL = JointKind((Ball(),), "ball", doc="turns about its point, any way")
SPHERICAL_VECTOR = JointKind(
    (RotationVector(),), "ball", doc="turns about its point, any way; its coordinates are a rotation vector"
)

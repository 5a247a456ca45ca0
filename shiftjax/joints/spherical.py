"""Ball joint: a unit quaternion, free of gimbal lock."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Ball

SPHERICAL = JointKind((Ball(),), "ball", doc="turns about its point, any way")

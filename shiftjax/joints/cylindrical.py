"""Cylindrical joint: an angle about an axis and a slide along it."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Rotation, Translation

CYLINDRICAL = JointKind(
    (Rotation("axis"), Translation("axis")),
    "cylinder",
    ("angle", "slide"),
    doc="turns about the axis and slides along it",
)

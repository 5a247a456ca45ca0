"""Universal (Hooke, Cardan) joint: an angle about x of the parent's frame, then one about y of the cross."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Rotation

UNIVERSAL = JointKind(
    (Rotation("x"), Rotation("y")), "cross", ("first", "second"), doc="turns about x of the parent, then y of the cross"
)

"""Fixed joint (weld): no degree of freedom, only the displacement T, R of the file."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind

RIGID = JointKind((), "weld", doc="does not move")

"""Translational (Cartesian) joints: the child moves along two or three axes of the parent's frame, and never turns."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Translation

TRANSLATIONAL = {
    "translational_2d": JointKind(
        (Translation("x"), Translation("y")), "plate", ("x", "y"), doc="slides on x-y of the parent"
    ),
    "translational_3d": JointKind(
        (Translation("x"), Translation("y"), Translation("z")),
        "plate",
        ("x", "y", "z"),
        doc="moves along x, y, z of the parent and never turns",
    ),
}

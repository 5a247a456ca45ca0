"""Joints that hold a point of the child on a line or a plane of the parent: in a slot, on a rail, on a table."""

from __future__ import annotations

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Ball, Rotation, Translation

POINT_JOINTS = {
    "pin_slider": JointKind(
        (Translation("x"), Rotation("z")), "slot", ("slide", "angle"), doc="a pin in a slot along x, turning about z"
    ),
    "point_slider": JointKind(
        (Translation("x"), Ball()),
        "ball_slider",
        ("slide", "rotation"),
        doc="a ball on a rail along x, turning any way",
    ),
    "point_plane": JointKind(
        (Translation("x"), Translation("y"), Ball()),
        "ball_plate",
        ("x", "y", "rotation"),
        doc="a ball on x-y of the parent, turning any way",
    ),
}

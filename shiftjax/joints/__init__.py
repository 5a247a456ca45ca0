"""The table of joint kinds; no other code depends on a joint's type. A new kind is one file and one entry."""

from __future__ import annotations

from shiftjax.joints.cylindrical import CYLINDRICAL
from shiftjax.joints.euler import EULER
from shiftjax.joints.floating import FLOAT, FLOAT_VECTOR
from shiftjax.joints.kind import JointKind
from shiftjax.joints.planar import PLANAR
from shiftjax.joints.point_joints import POINT_JOINTS
from shiftjax.joints.prismatic import PRISMATICS
from shiftjax.joints.revolute import REVOLUTES
from shiftjax.joints.rigid import RIGID
from shiftjax.joints.screw import SCREW
from shiftjax.joints.spherical import SPHERICAL, SPHERICAL_VECTOR
from shiftjax.joints.translational import TRANSLATIONAL
from shiftjax.joints.universal import UNIVERSAL
from shiftjax.registry import Registry

KINDS: Registry[JointKind] = Registry(
    "joint kind",
    {
        **REVOLUTES,
        **PRISMATICS,
        "rigid": RIGID,
        "float": FLOAT,
        "float_vector": FLOAT_VECTOR,
        "spherical": SPHERICAL,
        "spherical_vector": SPHERICAL_VECTOR,
        "cylindrical": CYLINDRICAL,
        "universal": UNIVERSAL,
        "planar": PLANAR,
        "screw": SCREW,
        **TRANSLATIONAL,
        **POINT_JOINTS,
        **EULER,
    },
)

__all__ = ["KINDS", "JointKind"]

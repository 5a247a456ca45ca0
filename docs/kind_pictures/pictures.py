"""The picture of every kind of the catalogue: of joints made of their motions, of others by a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.constraints import ConstraintKind
from shiftjax.docs.kind_pictures.bearing_pictures import SEATS
from shiftjax.docs.kind_pictures.body_force_pictures import BODY_FORCES
from shiftjax.docs.kind_pictures.coupling_pictures import COUPLINGS
from shiftjax.docs.kind_pictures.drawing import Drawing
from shiftjax.docs.kind_pictures.frame_pictures import FRAMED
from shiftjax.docs.kind_pictures.joint_force_pictures import JOINT_FORCES, RESTRAINTS
from shiftjax.docs.kind_pictures.joint_pictures import joint_picture
from shiftjax.docs.kind_pictures.law_pictures import DRIVERS, LOADS
from shiftjax.docs.kind_pictures.pose_pictures import POSES_IN_TIME
from shiftjax.forces import ForceKind
from shiftjax.joints import JointKind

PICTURES: Mapping[str, Callable[[Any], Drawing]] = {
    **COUPLINGS,
    **FRAMED,
    **DRIVERS,
    **POSES_IN_TIME,
    **LOADS,
    **JOINT_FORCES,
    **SEATS,
    **BODY_FORCES,
    **RESTRAINTS,
}  # kind of constraint, driver or force -> what draws it; a new kind is a line in one of these


def picture(name: str, kind: JointKind | ConstraintKind | ForceKind) -> Drawing:
    """The picture of a kind; a kind of force or constraint that is in no table has an empty one.

    Args:
        name: under which the kind is registered.
    """
    if isinstance(kind, JointKind):
        return joint_picture(kind)
    return PICTURES[name](kind) if name in PICTURES else Drawing(f"No picture of {name}")

"""The table of force kinds. A new kind is one file and one entry."""

from __future__ import annotations

from shiftjax.forces.external_wrench import ExternalWrench
from shiftjax.forces.joint_polynomials import JointDamping, JointStiffness
from shiftjax.forces.kind import ForceKind, Load, State
from shiftjax.forces.restraints import Damper, Friction, Spring
from shiftjax.plan_elements import ForceElement
from shiftjax.table import Table

FORCES: Table[ForceKind] = Table(
    "force kind",
    {
        "stiffness": JointStiffness(),
        "damping": JointDamping(),
        "spring": Spring(),
        "damper": Damper(),
        "friction": Friction(),
        "external_wrench": ExternalWrench(),
    },
)

__all__ = ["FORCES", "ForceElement", "ForceKind", "Load", "State"]

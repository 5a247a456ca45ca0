"""The table of force kinds. A new kind is one file and one entry."""

from __future__ import annotations

import shiftjax.time_laws as time_laws
from shiftjax.forces.external_wrench import ExternalWrench
from shiftjax.forces.joint_polynomials import JointDamping, JointStiffness
from shiftjax.forces.kind import Course, ForceKind, Load, State, Switch
from shiftjax.forces.loads import ConstantWrench, HarmonicWrench, JointLoad, TableWrench
from shiftjax.forces.restraints import Damper, Friction, Spring
from shiftjax.plan_elements import ForceElement
from shiftjax.registry import Registry

FORCES: Registry[ForceKind] = Registry(
    "force kind",
    {
        "stiffness": JointStiffness(),
        "damping": JointDamping(),
        "spring": Spring(),
        "damper": Damper(),
        "friction": Friction(),
        "external_wrench": ExternalWrench(),
        "constant_load": JointLoad(time_laws.Constant()),
        "harmonic_load": JointLoad(time_laws.Harmonic(from_start=False)),
        "polynomial_load": JointLoad(time_laws.Polynomial()),
        "table_load": JointLoad(time_laws.Table(of_load=True)),
        "constant_wrench": ConstantWrench(),
        "harmonic_wrench": HarmonicWrench(),
        "table_wrench": TableWrench(),
    },
)

__all__ = ["FORCES", "Course", "ForceElement", "ForceKind", "Load", "State", "Switch"]

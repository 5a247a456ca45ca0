"""The table of force kinds. A new kind is one file and one entry."""

from __future__ import annotations

import shiftjax.time_laws as time_laws
from shiftjax.forces.actuators import DcMotor, Servo, TorqueCurve
from shiftjax.forces.bearings import (
    BallFriction,
    BearingBristles,
    BearingFriction,
    PlateFriction,
    SleeveFriction,
    SlideBristles,
    SlideFriction,
)
from shiftjax.forces.bushing import Bushing
from shiftjax.forces.controllers import FramePositionPid, FrameSpeedPid, JointPositionPid, JointSpeedPid
from shiftjax.forces.external_wrench import ExternalWrench
from shiftjax.forces.joint_friction import CoulombFriction, LuGre
from shiftjax.forces.joint_polynomials import JointDamping, JointStiffness
from shiftjax.forces.joint_springs import JointSpring
from shiftjax.forces.kind import Course, ForceKind, Load, Pressed, State, Switch
from shiftjax.forces.loads import ConstantWrench, HarmonicWrench, JointLoad, TableWrench
from shiftjax.forces.penalty_contact import BallOnBall, BallOnPlane, BallOnTerrain, CapsuleOnPlane, EllipsoidOnPlane
from shiftjax.forces.restraints import Damper, Friction, Spring
from shiftjax.forces.slots import PinInSlot
from shiftjax.forces.stops import LimitStop
from shiftjax.forces.tyres.fiala import Fiala, TransientFiala
from shiftjax.forces.tyres.pacejka import Pacejka, TransientPacejka
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
        "joint_spring": JointSpring(),
        "bushing": Bushing(),
        "stop": LimitStop(),
        "coulomb_friction": CoulombFriction(),
        "lugre_friction": LuGre(),
        "bearing_friction": BearingFriction(),
        "slide_friction": SlideFriction(),
        "sleeve_friction": SleeveFriction(),
        "plate_friction": PlateFriction(),
        "ball_friction": BallFriction(),
        "bearing_bristles": BearingBristles(),
        "slide_bristles": SlideBristles(),
        "servo": Servo(),
        "dc_motor": DcMotor(),
        "torque_curve": TorqueCurve(),
        "joint_position_pid": JointPositionPid(),
        "joint_speed_pid": JointSpeedPid(),
        "frame_position_pid": FramePositionPid(),
        "frame_speed_pid": FrameSpeedPid(),
        "fiala_tyre": Fiala(),
        "transient_fiala_tyre": TransientFiala(),
        "pacejka_tyre": Pacejka(),
        "transient_pacejka_tyre": TransientPacejka(),
        "ball_on_plane": BallOnPlane(),
        "capsule_on_plane": CapsuleOnPlane(),
        "ellipsoid_on_plane": EllipsoidOnPlane(),
        "ball_on_ball": BallOnBall(),
        "ball_on_terrain": BallOnTerrain(),
        "pin_in_slot": PinInSlot(),
    },
)

__all__ = ["FORCES", "Course", "ForceElement", "ForceKind", "Load", "Pressed", "State", "Switch"]

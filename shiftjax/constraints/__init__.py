"""The table of constraint kinds. A new kind is one file and one entry."""

from __future__ import annotations

import shiftjax.time_laws as time_laws
from shiftjax.constraints import couplings
from shiftjax.constraints.between_frames import BETWEEN_FRAMES
from shiftjax.constraints.cam import Cam
from shiftjax.constraints.coordinate_function import (
    CoordinateFunction,
    EquationOfCoordinates,
    FunctionOfCoordinates,
)
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.constraints.driver import Driver, DriverByLaw, DriverKind, FunctionOfTime, TimeFunction
from shiftjax.constraints.drives import ConstantSpeed, Harmonic, Polynomial
from shiftjax.constraints.frame_drivers import FrameAngleDriver, FrameDriver
from shiftjax.constraints.geneva import Geneva
from shiftjax.constraints.guides import PointOnCurve, PointOnSurface
from shiftjax.constraints.kind import ANY, ConstraintKind, Rows, scales
from shiftjax.constraints.loop_closure import LoopClosure
from shiftjax.constraints.pose_drivers import POSE_DRIVERS, PoseDriver
from shiftjax.plan_elements import Loop, RowGroup
from shiftjax.registry import Registry

CONSTRAINTS: Registry[ConstraintKind] = Registry(
    "constraint kind",
    {
        "loop": LoopClosure(),
        "driver": Driver(),
        "function": FunctionOfCoordinates(),
        "equation": EquationOfCoordinates(),
        "gear": couplings.Gear(),
        "belt": couplings.Belt(),
        "rack": couplings.Rack(),
        "screw_coupling": couplings.ScrewCoupling(),
        "planetary": couplings.Planetary(),
        "differential": couplings.Differential(),
        "mimic": couplings.Mimic(),
        "geneva": Geneva(),
        **BETWEEN_FRAMES,
        "cam": Cam(),
        "point_on_curve": PointOnCurve(),
        "point_on_surface": PointOnSurface(),
        "constant_speed": DriverByLaw(time_laws.ConstantRate()),
        "harmonic": DriverByLaw(time_laws.Harmonic(from_start=True)),
        "polynomial": DriverByLaw(time_laws.Polynomial()),
        "table": DriverByLaw(time_laws.Table(of_load=False)),
        "acceleration_table": DriverByLaw(time_laws.AccelerationTable()),
        "frame_harmonic": FrameDriver(time_laws.Harmonic(from_start=False)),
        "frame_polynomial": FrameDriver(time_laws.Polynomial()),
        "frame_table": FrameDriver(time_laws.Table(of_load=False)),
        "frame_angle_harmonic": FrameAngleDriver(time_laws.Harmonic(from_start=False)),
        "frame_angle_polynomial": FrameAngleDriver(time_laws.Polynomial()),
        "frame_angle_table": FrameAngleDriver(time_laws.Table(of_load=False)),
        **POSE_DRIVERS,
    },
)

__all__ = [
    "ANY",
    "CONSTRAINTS",
    "Asked",
    "ConstantSpeed",
    "ConstraintKind",
    "CoordinateFunction",
    "DerivedConstraint",
    "DriverKind",
    "FunctionOfTime",
    "Harmonic",
    "Loop",
    "Polynomial",
    "PoseDriver",
    "RowGroup",
    "Rows",
    "TimeFunction",
    "scales",
]

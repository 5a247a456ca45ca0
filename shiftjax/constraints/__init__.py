"""The table of constraint kinds. A new kind is one file and one entry."""

from __future__ import annotations

from shiftjax.constraints.coordinate_function import CoordinateFunction, FunctionOfCoordinates
from shiftjax.constraints.driver import Driver, Harmonic, TimeFunction
from shiftjax.constraints.kind import ConstraintKind, Rows, scales
from shiftjax.constraints.loop_closure import LoopClosure
from shiftjax.plan_elements import Loop, RowGroup
from shiftjax.table import Table

CONSTRAINTS: Table[ConstraintKind] = Table(
    "constraint kind", {"loop": LoopClosure(), "driver": Driver(), "function": FunctionOfCoordinates()}
)

__all__ = [
    "CONSTRAINTS",
    "ConstraintKind",
    "CoordinateFunction",
    "Harmonic",
    "Loop",
    "RowGroup",
    "Rows",
    "TimeFunction",
    "scales",
]

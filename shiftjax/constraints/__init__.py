"""Constraint rows of a substructure: loop closures and prescribed coordinates, one abstraction."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import Scalar
from shiftjax.constraints.driver import Harmonic, driver_row
from shiftjax.constraints.loop_closure import loop_rows
from shiftjax.constraints.rows import Rows
from shiftjax.dynamics.kinematics import Motion
from shiftjax.joints import KINDS
from shiftjax.topology.plan import Plan, Substructure


def substructure_rows(
    motion: Motion, block: Substructure, length: float, t: Scalar, motions: Sequence[Harmonic]
) -> Rows:
    """All rows of one substructure, loops first."""
    rows = Rows()
    for k in block.loops:
        rows.extend(loop_rows(motion, motion.plan.loops[k], length))
    for k in block.drivers:
        driver = motion.plan.drivers[k]
        joint = motion.plan.joints[driver.joint]
        unit = length if KINDS[joint.kind].unit == "m" else 1.0
        rows.extend(driver_row(motion.q[joint.q], joint.v, unit, motions[driver.function], t))
    return rows


def speed_units(plan: Plan, length: float) -> list[float]:
    """(nv,) unit of every speed: the model's length for a sliding motion [m], 1 for a turning one."""
    out: list[float] = []
    for joint in plan.joints:
        for primitive in KINDS[joint.kind].primitives:
            out += [length if primitive.linear else 1.0] * primitive.nv
    return out


__all__ = ["Harmonic", "Rows", "speed_units", "substructure_rows"]

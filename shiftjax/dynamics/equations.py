"""The equations of motion of one lane, and the minimum-norm correction that closes its loops.

Lane functions only: scalars in, scalars out; `run.programs.lane_program` divides them into pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shiftjax.algebra import Scalar, Vec, is_zero, largest, total
from shiftjax.constraints import Rows
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.lane import BlockSolution, Lane
from shiftjax.dynamics.reactions import with_loads
from shiftjax.dynamics.reduced import Reduced, sparse_product
from shiftjax.dynamics.reduction import Column
from shiftjax.dynamics.tree import tree_terms
from shiftjax.topology.partition import Block


@dataclass
class Acceleration:
    """dx of one state: accelerations, rates of the forces' states, and the power of non-conservative forces."""

    a: Vec
    rates: Vec
    power: Scalar
    worst_mass_pivot: Scalar
    kinetic: Scalar
    potential: Scalar


def accelerate(
    lane: Lane,
    motion: Motion,
    states: Sequence[Scalar],
    Z: list[Column],
    particular: Column,
    reduced: Reduced | None,
    blocks: Sequence[Block],
) -> Acceleration:
    """Reduced equations of motion on the given null space.

    Args:
        reduced: Z^T H Z of this pose, if computed before. blocks: the partition, of which forces that depend on what
            joints bear need to know.
    """
    tree = tree_terms(motion, lane.gravity(), states)
    reduced = reduced or Reduced(motion, Z)
    if lane.plan.bears:
        a = reduced.acceleration(tree.force, particular)
        motion = with_loads(lane, blocks, motion, states, a, lambda force: reduced.acceleration(force, {}))
        tree = tree_terms(motion, lane.gravity(), states)
    a = reduced.acceleration(tree.force, particular)
    power = tree.power
    if lane.plan.time_dependent:
        power += _prescribed_power(motion, tree.force, reduced, a)
    return Acceleration(a, tree.rates, power, reduced.worst_pivot, tree.kinetic, tree.potential)


def _prescribed_power(motion: Motion, force: Vec, reduced: Reduced, a: Vec) -> Scalar:
    """Power of rows with nu != 0: the constraint forces -J^T lambda = H a - (tau - h), along the speeds."""
    assert motion.v is not None
    balance = sparse_product(reduced.H, dict(enumerate(a)))
    free = {speed for tree in reduced.trees for speed in tree.speeds}  # unconstrained
    return total([v * (balance.get(k, 0.0) - force[k]) for k, v in enumerate(motion.v) if k not in free])


def null_space(solutions: Sequence[BlockSolution], free: Sequence[int]) -> list[Column]:
    """Columns of Z over all speeds, deepest speed first, so that a tree's Z^T H Z factors without fill-in."""
    columns: dict[int, Column] = {k: {k: 1.0} for k in free}
    for solution in solutions:
        for column in solution.Z:
            columns[next(iter(column))] = column
    return [columns[k] for k in sorted(columns, reverse=True)]


def least_change(motion: Motion, solutions: Sequence[BlockSolution], free: Sequence[int]) -> tuple[Column, Reduced]:
    """The particular solutions without their part along the null space, in the mass metric of the whole mechanism.

    For coordinates and speeds alike. In the metric 1 (rad), 1/l^2 (m) coordinates of N-four-bars that pass their flat
    pose were wrong by 8e-6 rad after 10 s, in the mass metric by 4e-9 (256 random speeds, test_references.py).
    """
    reduced = Reduced(motion, null_space(solutions, free))
    return reduced.minimum_norm({k: x for solution in solutions for k, x in solution.particular.items()}), reduced


def gaps(all_rows: Sequence[Rows], v: Vec, length: float) -> tuple[Scalar, Scalar]:
    """Largest |Phi| [m] and largest |J v - nu| [m/s or rad/s] over all rows, secondary ones included.

    Angles of Phi count times the model's length, so that a gap and its limit keep their ratio whatever the size.
    """
    reach = {"m": 1.0, "rad": length}
    phi = [
        abs(reach[unit] * x) for rows in all_rows for x, unit in zip(rows.phi, rows.unit, strict=True) if not is_zero(x)
    ]
    residual = [abs(x) for rows in all_rows for x in rows.velocity_residual(v) if not is_zero(x)]
    return largest(phi), largest(residual)

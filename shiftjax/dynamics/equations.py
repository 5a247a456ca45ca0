"""The equations of one lane, piece by piece: loops of a substructure, accelerations, projection, energy, monitors.

Lane functions only: scalars in, scalars out; `program` decides which of them share a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.algebra import (
    Scalar,
    Vec,
    absolute,
    add,
    div,
    dot,
    is_zero,
    largest,
    mul,
    norm_squared,
    plus,
    quaternion_product,
    scale,
    sqrt,
    sub,
    total,
)
from shiftjax.constraints import Harmonic, Rows, speed_units, substructure_rows
from shiftjax.dynamics.kinematics import Motion, Parameters
from shiftjax.dynamics.reduction import Reduction, largest_entry
from shiftjax.dynamics.tree import Column, Reduced, composite_mass_matrix, sparse_product, tree_terms
from shiftjax.joints import KINDS
from shiftjax.topology.partition import Block
from shiftjax.topology.plan import Plan

MONITORS_PER_BLOCK = (
    3  # largest |B_ij|; squared pivot condition, for its trigger; the same, for the window of singular steps
)


@dataclass
class Lane:
    """What the lane functions of one program share."""

    plan: Plan
    params: Parameters
    length: float
    motions: Sequence[Harmonic]
    t: Scalar

    @property
    def units(self) -> list[float]:
        return speed_units(self.plan, self.length)

    def gravity(self) -> Vec:
        return self.params.vector("model_parameters.gravity")

    def motion(self, q: Vec, v: Vec | None) -> Motion:
        return Motion(self.plan, self.params, q, v)

    def of(self, members: np.ndarray) -> Lane:
        """The same for some of its members, where lane values are NumPy arrays."""
        numbers = {k: v[members] if isinstance(v, np.ndarray) else v for k, v in self.params.numbers.items()}
        return replace(self, params=Parameters(numbers, self.params.matrices))

    def rows(self, motion: Motion, index: int) -> Rows:
        return substructure_rows(motion, self.plan.substructures[index], self.length, self.t, self.motions)


@dataclass
class BlockSolution:
    """Z and the particular solution of one substructure, with its monitors."""

    rows: Rows
    Z: list[Column]
    particular: Column
    b_norm: Scalar
    squared_condition: Scalar  # (largest over smallest pivot)^2


def solve_block(lane: Lane, block: Block, rows: Rows, right: Vec) -> BlockSolution:
    """Z of J_Pd B = -J_Pi, and the dependent values x of J_Pd x = right_P."""
    reduction = Reduction(rows, block.primary, block.dependent, block.independent, lane.units)
    sides = [*reduction.columns_of_B(), [right[k] for k in block.primary]]
    X, squared_condition = reduction.solve(sides)
    B = X[:-1]
    particular = {k: x for k, x in reduction.in_true_units(X[-1]).items() if not is_zero(x)}
    return BlockSolution(rows, reduction.null_columns(B), particular, largest_entry(B), squared_condition)


def retract(plan: Plan, q: Vec, change: Column) -> Vec:
    """q (+) change: added to plain coordinates, composed with quaternions, which come out normalised."""
    out = list(q)
    for joint in plan.joints:
        a, b = joint.q, joint.v
        for primitive in KINDS[joint.kind].primitives:
            step = [change.get(b + k, 0.0) for k in range(primitive.nv)]
            if primitive.quaternion:
                e = q[a : a + 4]
                if any(not is_zero(s) for s in step):
                    e = quaternion_product(e, [1.0, *scale(0.5, step)])
                out[a : a + 4] = scale(div(1.0, sqrt(norm_squared(e))), e)
            else:
                out[a : a + primitive.nq] = plus(q[a : a + primitive.nq], step)
            a, b = a + primitive.nq, b + primitive.nv
    return out


@dataclass
class Acceleration:
    """dx of one state: accelerations and the power of what is not conservative."""

    a: Vec
    power: Scalar
    worst_mass_pivot: Scalar
    kinetic: Scalar
    potential: Scalar


def accelerate(
    lane: Lane, motion: Motion, Z: list[Column], particular: Column, reduced: Reduced | None
) -> Acceleration:
    """Reduced equations of motion on the given null space; `reduced` where Z^T H Z of this pose is at hand."""
    tree = tree_terms(motion, lane.gravity())
    reduced = reduced or Reduced(composite_mass_matrix(motion), Z)
    a = reduced.acceleration(tree.force, particular)
    power = tree.power
    if lane.plan.drivers:
        power = add(power, _driver_power(motion, tree.force, reduced, a))
    return Acceleration(a, power, reduced.worst_pivot, tree.kinetic, tree.potential)


def _driver_power(motion: Motion, force: Vec, reduced: Reduced, a: Vec) -> Scalar:
    """Power of rows with nu != 0: the constraint forces -J^T lambda = H a - (tau - h), along the speeds."""
    assert motion.v is not None
    balance = sparse_product(reduced.H, dict(enumerate(a)))
    return total([mul(v, sub(balance.get(k, 0.0), force[k])) for k, v in enumerate(motion.v)])


def null_space(solutions: Sequence[BlockSolution], free: Sequence[int]) -> list[Column]:
    """Columns of Z over all speeds, deepest speed first, so that a tree's Z^T H Z fills in nothing."""
    columns: dict[int, Column] = {k: {k: 1.0} for k in free}
    for solution in solutions:
        for column in solution.Z:
            columns[next(iter(column))] = column
    return [columns[k] for k in sorted(columns, reverse=True)]


def least_change(motion: Motion, solutions: Sequence[BlockSolution], free: Sequence[int]) -> tuple[Column, Reduced]:
    """The particular solutions less their part along the null space, in the mass metric of the whole mechanism.

    Serves coordinates and speeds alike. In the metric 1 (rad), 1/l^2 (m) coordinates of N-four-bars that pass their
    flat pose came out 8e-6 rad off after 10 s, in the mass metric 4e-9 (256 random speeds, `tests/test_references.py`).
    """
    reduced = Reduced(composite_mass_matrix(motion), null_space(solutions, free))
    return reduced.nearest({k: x for solution in solutions for k, x in solution.particular.items()}), reduced


def velocity_residual(rows: Rows, v: Vec) -> Vec:
    """J v - nu of every row, true units."""
    return [
        sub(dot(list(entries.values()), [v[k] for k in entries]), nu)
        for entries, nu in zip(rows.J, rows.nu, strict=True)
    ]


def gaps(all_rows: Sequence[Rows], v: Vec) -> tuple[Scalar, Scalar]:
    """Largest |Phi| and largest |J v - nu| over all rows, secondary ones included [m or rad, per second]."""
    phi = [absolute(x) for rows in all_rows for x in rows.phi if not is_zero(x)]
    residual = [absolute(x) for rows in all_rows for x in velocity_residual(rows, v) if not is_zero(x)]
    return largest(phi), largest(residual)

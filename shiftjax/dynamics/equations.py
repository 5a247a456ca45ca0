"""The equations of one lane, piece by piece: constraints of a substructure, accelerations, projection, monitors.

Lane functions only: scalars in, scalars out; `run.lane_program` decides which of them share a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.algebra import (
    Scalar,
    Vec,
    absolute,
    add,
    dot,
    is_zero,
    largest,
    mul,
    scale,
    sub,
    total,
)
from shiftjax.constraints import CONSTRAINTS, Rows, scales
from shiftjax.dynamics.kinematics import Motion, Parameters, quaternion_places, speed_units
from shiftjax.dynamics.reduction import Reduction, largest_entry
from shiftjax.dynamics.tree import Column, Reduced, composite_mass_matrix, sparse_product, tree_terms
from shiftjax.rotations import normalized, quaternion_product
from shiftjax.topology.partition import Block
from shiftjax.topology.plan import Plan

MONITORS_PER_BLOCK = 3  # largest |B_ij|; squared pivot condition, for its trigger; the same, for the singular window
GRAVITY = (0, 1, 2)  # its places in the vector of numbers


@dataclass
class Lane:
    """What the lane functions of one program share.

    Attributes:
        length: the size of the model [m], by which rows and speeds in metres are made dimensionless.
        functions: of time and coordinates, that the user gave. t: time [s].
    """

    plan: Plan
    params: Parameters
    length: float
    functions: Sequence[Any]
    t: Scalar

    @property
    def units(self) -> list[float]:
        """(nv,) what makes each speed dimensionless."""
        return scales(speed_units(self.plan), self.length)

    def gravity(self) -> Vec:
        return self.params.at(GRAVITY)

    def motion(self, q: Vec, v: Vec | None) -> Motion:
        return Motion(self.plan, self.params, q, v, self.t, self.functions)

    def of(self, members: np.ndarray) -> Lane:
        """The same for some of its members, where lane values are NumPy arrays."""
        numbers = [v[members] if isinstance(v, np.ndarray) else v for v in self.params.numbers]
        return replace(self, params=Parameters(numbers, self.params.matrices))

    def rows(self, motion: Motion, index: int) -> Rows:
        """All rows of one substructure."""
        rows = Rows()
        for k in self.plan.substructures[index].groups:
            group = self.plan.constraints[k]
            rows.extend(CONSTRAINTS[group.kind].rows(group, motion))
        return rows

    def residuals(self, motion: Motion, index: int, rows: Rows) -> Vec:
        """What assembly brings to zero: Phi, rotation logarithms in place of what is exact only when closed."""
        found: Vec = []
        for k in self.plan.substructures[index].groups:
            group = self.plan.constraints[k]
            part = slice(len(found), len(found) + group.rows)
            own = Rows(*(getattr(rows, name)[part] for name in ("phi", "J", "nu", "gamma", "unit")))
            found += CONSTRAINTS[group.kind].residual(group, motion, own)
        return found


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
    reduction = Reduction(rows, block.primary, block.dependent, block.independent, lane.units, lane.length)
    sides = [*reduction.columns_of_B(), [right[k] for k in block.primary]]
    X, squared_condition = reduction.solve(sides)
    B = X[:-1]
    particular = {k: x for k, x in reduction.in_true_units(X[-1]).items() if not is_zero(x)}
    return BlockSolution(rows, reduction.null_columns(B), particular, largest_entry(B), squared_condition)


def retract(plan: Plan, q: Vec, change: Column) -> Vec:
    """q (+) change: added to plain coordinates, composed with quaternions, which come out normalised."""
    turned = dict(quaternion_places(plan))
    out, at, speed = list(q), 0, 0
    while at < plan.nq:
        if at not in turned:
            out[at] = add(q[at], change.get(speed, 0.0))
            at, speed = at + 1, speed + 1
            continue
        step, e = [change.get(speed + k, 0.0) for k in range(3)], q[at : at + 4]
        if any(not is_zero(s) for s in step):
            e = quaternion_product(e, [1.0, *scale(0.5, step)])
        out[at : at + 4] = normalized(e)
        at, speed = at + 4, speed + 3
    return out


@dataclass
class Acceleration:
    """dx of one state: accelerations, rates of the forces' states, and the power of what is not conservative."""

    a: Vec
    rates: Vec
    power: Scalar
    worst_mass_pivot: Scalar
    kinetic: Scalar
    potential: Scalar


def accelerate(
    lane: Lane, motion: Motion, states: Sequence[Scalar], Z: list[Column], particular: Column, reduced: Reduced | None
) -> Acceleration:
    """Reduced equations of motion on the given null space; `reduced` where Z^T H Z of this pose is at hand."""
    tree = tree_terms(motion, lane.gravity(), states)
    reduced = reduced or Reduced(composite_mass_matrix(motion), Z)
    a = reduced.acceleration(tree.force, particular)
    power = tree.power
    if lane.plan.moves:
        power = add(power, _prescribed_power(motion, tree.force, reduced, a))
    return Acceleration(a, tree.rates, power, reduced.worst_pivot, tree.kinetic, tree.potential)


def _prescribed_power(motion: Motion, force: Vec, reduced: Reduced, a: Vec) -> Scalar:
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

"""A lane: a plan with the numbers of one design, and its constraint rows. Lane code: scalars in, scalars out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from shiftjax.algebra import Scalar, Vec, is_zero
from shiftjax.constraints import CONSTRAINTS, Rows, scales
from shiftjax.dynamics.kinematics import Motion, Parameters, speed_units
from shiftjax.dynamics.reduction import Column, Reduction, largest_entry
from shiftjax.lanes.member_values import MemberValues
from shiftjax.topology.partition import Block
from shiftjax.topology.plan import GRAVITY, Plan


@dataclass
class BlockSolution:
    """Z and the particular solution of one substructure, with its monitors."""

    rows: Rows
    Z: list[Column]
    particular: Column
    b_norm: Scalar
    squared_condition: Scalar  # (largest over smallest pivot)^2


@dataclass
class Lane:
    """Context of the lane functions of one program.

    Attributes:
        length: characteristic length [m], by which rows and speeds in metres are made dimensionless.
        functions: the user's, of time and coordinates. t: time [s].
    """

    plan: Plan
    params: Parameters
    length: float
    functions: Sequence[Any]
    t: Scalar

    @cached_property
    def units(self) -> list[float]:
        """(nv,) factors that make the speeds dimensionless."""
        return scales(speed_units(self.plan), self.length)

    def gravity(self) -> Vec:
        return self.params.at(GRAVITY)

    def motion(self, q: Vec, v: Vec | None) -> Motion:
        return Motion(self.plan, self.params, q, v, self.t, self.functions)

    def in_graph(self, members: MemberValues) -> Self:
        """The lane whose numbers, NumPy arrays, are lane values of members."""
        numbers, (t,) = members.lane_values(self.params.numbers), members.lane_values([self.t])
        return replace(self, params=Parameters(numbers, self.params.matrices), t=t)

    def of(self, members: np.ndarray) -> Lane:
        """The lane of a subset of members, where lane values are NumPy arrays."""
        numbers = [v[members] if isinstance(v, np.ndarray) else v for v in self.params.numbers]
        t = self.t[members] if isinstance(self.t, np.ndarray) else self.t
        return replace(self, params=Parameters(numbers, self.params.matrices), t=t)

    def rows(self, motion: Motion, index: int) -> Rows:
        """All rows of one substructure."""
        rows = Rows()
        for k in self.plan.substructures[index].groups:
            group = self.plan.constraints[k]
            rows.extend(CONSTRAINTS[group.kind].rows(group, motion))
        return rows

    def residuals(self, motion: Motion, index: int, rows: Rows) -> Vec:
        """The residuals of assembly: Phi, with rotation logarithms in place of rows that are exact only when closed."""
        residuals: Vec = []
        for k in self.plan.substructures[index].groups:
            group = self.plan.constraints[k]
            part = slice(len(residuals), len(residuals) + group.rows)
            selected = Rows(*(getattr(rows, name)[part] for name in ("phi", "J", "nu", "gamma", "unit")))
            residuals += CONSTRAINTS[group.kind].residual(group, motion, selected)
        return residuals

    def reduction(self, block: Block, rows: Rows) -> Reduction:
        """The linear system with J_Pd of one substructure under a partition."""
        return Reduction(rows, block.primary, block.dependent, block.independent, self.units, self.length)

    def solve(self, block: Block, rows: Rows, right: Vec, *, at_once: bool = False) -> BlockSolution:
        """Z of J_Pd B = -J_Pi, and the dependent values x of J_Pd x = right_P; `at_once` as of `solve_blockwise`."""
        reduction = self.reduction(block, rows)
        sides = [*reduction.columns_of_B(), [right[k] for k in block.primary]]
        X, squared_condition = reduction.solve(sides, at_once=at_once)
        B = X[:-1]
        particular = {k: x for k, x in reduction.in_true_units(X[-1]).items() if not is_zero(x)}
        return BlockSolution(rows, reduction.null_columns(B), particular, largest_entry(B), squared_condition)

"""The KKT systems of one pose: factors, solutions, and the residuals whose tangents are the systems' right-hand sides.

Problem: x solves H x + J_P^T lambda = f, J_P x = g. H is singular over the speeds of the cut tree, so that systems are
solved on the null space Z of J_P. In some direction, let r and s be the tangents of the residuals
f - H x - J_P^T lambda and g - J_P x with x and lambda held. Then those of x and lambda solve

    H x' + J_P^T lambda' = r,  J_P x' = s

(implicit differentiation; Griewank, Walther, Evaluating Derivatives, section 15.1): no factor is differentiated, and
the factors of one pose serve all its systems and all directions. Lane code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shiftjax.algebra import Scalar, Vec, dot, is_zero, known, minus, negative, zeros
from shiftjax.constraints import Rows
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.reduced import Reduced, sparse_dot, sparse_product
from shiftjax.dynamics.reduction import Column, Reduction
from shiftjax.dynamics.tree import tree_terms
from shiftjax.numerics.orthogonal import OrthogonalFactors
from shiftjax.topology.block_triangular import block_triangular
from shiftjax.topology.partition import Partition, free_speeds


class PrimaryFactors:
    """J_Pd of one substructure, factored block by block of its block triangular form; dimensionless inside."""

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction
        self.A = reduction.matrix()
        self.blocks = [
            (rows, columns, OrthogonalFactors([[self.A[i][j] for j in columns] for i in rows]))
            for rows, columns in block_triangular([[not is_zero(entry) for entry in row] for row in self.A])
        ]

    def solve(self, b: Vec) -> Vec:
        """x of J_Pd x = b."""
        x: Vec = [0.0] * len(b)
        seen: list[int] = []
        for rows, columns, factors in self.blocks:
            right = [b[i] - dot([self.A[i][j] for j in seen], [x[j] for j in seen]) for i in rows]
            for j, value in zip(columns, factors.solve(right), strict=True):
                x[j] = value
            seen += columns
        return x

    def particular(self, right: Vec) -> Column:
        """The dependents' values x of J_Pd x = right, in true units; right: over the primary rows."""
        of = self.reduction
        scaled = [of.row_scale[row] * b for row, b in zip(of.primary, right, strict=True)]
        return of.in_true_units(self.solve(scaled))

    def null_columns(self) -> list[Column]:
        """Z of this substructure."""
        factors = self.reduction.row_scale
        sides = self.reduction.columns_of_B()
        primary = self.reduction.primary
        B = [self.solve([factors[row] * b[k] for k, row in enumerate(primary)]) for b in sides]
        return self.reduction.null_columns(B)

    def multipliers(self, right: Vec) -> Vec:
        """Lambda of J_Pd^T lambda = right_d over the primary rows, in true units; right: (nv,) generalised forces."""
        of = self.reduction
        b = [of.unit[speed] * right[speed] for speed in of.dependent]
        x: Vec = [0.0] * len(b)
        done: list[int] = []
        for rows, columns, factors in reversed(self.blocks):
            rest = [b[j] - dot([self.A[i][j] for i in done], [x[i] for i in done]) for j in columns]
            for i, value in zip(rows, factors.solve_transposed(rest), strict=True):
                x[i] = value
            done += rows
        return [of.row_scale[row] * value for row, value in zip(of.primary, x, strict=True)]


class System:
    """H and J_P of one pose with their factors.

    Args:
        motion: of the pose, with speeds where accelerations are asked for.
    """

    def __init__(self, lane: Lane, motion: Motion, partition: Partition) -> None:
        self.lane, self.motion, self.plan = lane, motion, motion.plan
        self.rows = [lane.rows(motion, k) for k in range(len(self.plan.substructures))]
        blocks = list(zip(partition.blocks, self.rows, strict=True))
        self.factors = [PrimaryFactors(lane.reduction(block, rows)) for block, rows in blocks]
        columns: dict[int, Column] = {k: {k: 1.0} for k in free_speeds(self.plan)}
        for factors in self.factors:
            columns |= {next(iter(column)): column for column in factors.null_columns()}
        self.reduced = Reduced(motion, [columns[k] for k in sorted(columns, reverse=True)])
        self.primary = [(rows, row) for block, rows in blocks for row in block.primary]

    def adjoint(self, y: Vec) -> tuple[Vec, Vec, Vec]:
        """w, H w and mu of H w + J_P^T mu = y, J_P w = 0."""
        w: Column = {}
        momentum: Column = {}
        by_speed = dict(enumerate(y))
        for part in self.reduced.parts:
            x = part.solve([sparse_dot(column, by_speed) for column in part.Z])
            w |= part.along(x)
            for column, value in zip(part.HZ, x, strict=True):
                for speed, entry in column.items():
                    momentum[speed] = momentum.get(speed, 0.0) + entry * value
        for tree in self.reduced.trees:
            w |= tree.solve(by_speed)
            momentum |= {speed: y[speed] for speed in tree.speeds}
        speeds = range(self.plan.nv)
        product = [momentum.get(speed, 0.0) for speed in speeds]
        return [w.get(speed, 0.0) for speed in speeds], product, self.multipliers(minus(y, product))

    @property
    def null_space(self) -> list[Column]:
        """Z, the speeds of articulated trees apart."""
        return [column for part in self.reduced.parts for column in part.Z]

    def solve(self, projected: Vec, g: Vec, f: Vec) -> Vec:
        """x of H x + J_P^T lambda = f, J_P x = g.

        Args:
            projected: Z^T f on `null_space`. g: over all primary rows. f: (nv,) of which articulated trees alone read.
        """
        projections, rows = iter(projected), iter(g)
        particular: Column = {}
        for factors in self.factors:
            particular |= factors.particular([next(rows) for _ in factors.reduction.primary])
        x = dict(particular)
        for part in self.reduced.parts:
            # (H Z)^T x is shorter than Z^T H x where freedoms are few
            right = [next(projections) - sparse_dot(column, particular) for column in part.HZ]
            for speed, value in part.along(part.solve(right)).items():
                x[speed] = x.get(speed, 0.0) + value
        for tree in self.reduced.trees:
            x |= tree.solve(dict(enumerate(f)))
        return [x.get(speed, 0.0) for speed in range(self.plan.nv)]

    def multipliers(self, right: Vec) -> Vec:
        """Lambda of J_P^T lambda = right in the rows of the dependents, over all primary rows."""
        return [value for factors in self.factors for value in factors.multipliers(right)]

    def along(self, x: Vec) -> Vec:
        """J_P x."""
        return [_product(rows, row, x) for rows, row in self.primary]

    def across(self, lam: Vec) -> Vec:
        """J_P^T lambda."""
        out = zeros(self.plan.nv)
        for (rows, row), value in zip(self.primary, lam, strict=True):
            for speed, entry in rows.J[row].items():
                out[speed] = out[speed] + entry * value
        return out


def _product(rows: Rows, row: int, x: Vec) -> Scalar:
    entries = rows.J[row]
    return dot(list(entries.values()), [x[speed] for speed in entries])


@dataclass
class KktResiduals:
    """Of a KKT system at its solution.

    Attributes:
        free: (nv,) f - H x. closing: over all primary rows, g - J_P x.
    """

    system: System
    free: Vec
    closing: Vec

    def multipliers(self) -> Vec:
        """Lambda, over all primary rows."""
        return self.system.multipliers(self.free)

    def forces(self, given: Sequence[Scalar]) -> Vec:
        """(nv,) f - H x - J_P^T lambda with given multipliers; what is known at trace time stays what it is."""
        fixed = [x if known(x) else value for x, value in zip(self.multipliers(), given, strict=True)]
        return minus(self.free, self.system.across(fixed))


def of_accelerations(system: System, states: Sequence[Scalar], a: Vec) -> tuple[KktResiduals, Vec]:
    """Those of accelerations (nv,), by one recursive Newton-Euler pass, and the rates of forces' states (ns,)."""
    tree = tree_terms(system.motion, system.lane.gravity(), states, a)
    gamma = [rows.gamma[row] for rows, row in system.primary]
    return KktResiduals(system, tree.force, minus(gamma, system.along(a))), tree.rates


def of_correction(system: System, x: Vec, closing: Vec) -> KktResiduals:
    """Those of a least correction x (nv,) in the mass metric.

    Args:
        closing: over all primary rows, J_P x + Phi of coordinates, J_P (v + x) - nu of speeds.
    """
    inertial = sparse_product(system.reduced.H, dict(enumerate(x)))
    return KktResiduals(system, [-inertial.get(k, 0.0) for k in range(system.plan.nv)], negative(closing))


def corrected_coordinates(system: System, x: Vec) -> Vec:
    """J_P x + Phi of the primary rows."""
    return [change + rows.phi[row] for change, (rows, row) in zip(system.along(x), system.primary, strict=True)]


def corrected_speeds(system: System, v: Vec) -> Vec:
    """J_P v - nu of the primary rows, of the corrected speeds v."""
    return [speed - rows.nu[row] for speed, (rows, row) in zip(system.along(v), system.primary, strict=True)]

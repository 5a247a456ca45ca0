"""Adjoints of accelerations and of least corrections through their KKT systems. Lane code.

Problem: x solves H x + J_P^T lambda = f, J_P x = g, where H, J_P, f and g depend on what the gradient is taken of. With
the cotangent y of x, H w + J_P^T mu = y and J_P w = 0, the cotangents of all else are the gradient of the Lagrangian

    L = w . (f - H x) - lambda . J_P w - mu . (J_P x - g)

with w, lambda, mu and x held (Giles, Pierce, An Introduction to the Adjoint Approach to Design): no factor is
differentiated, and the factors of one pose serve all its systems. H is singular over the speeds of the cut tree, so
both systems are solved on the null space Z of J_P. x is known: it is what a run has recorded.

f - H a of accelerations is one recursive Newton-Euler pass; H x of corrections is made of the entries of H, which the
factors need anyway: so the adjoint of a projection is 3 to 6 % shorter than by momenta of the bodies where joints are
parallel, and as much longer in space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shiftjax.algebra import Mat, Scalar, Vec, add, div, dot, is_zero, known, minus, mul, neg, scale, sub
from shiftjax.constraints import Rows
from shiftjax.dynamics.kinematics import Motion, quaternion_places
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.reduced import Reduced, sparse_dot, sparse_product
from shiftjax.dynamics.reduction import Column, Reduction
from shiftjax.dynamics.tree import tree_terms
from shiftjax.rotations import conjugate, quaternion_product
from shiftjax.topology.block_triangular import block_triangular
from shiftjax.topology.partition import Partition, free_speeds
from shiftjax.topology.plan import Plan


@dataclass
class Multipliers:
    """What solves a KKT system and its adjoint: w over all speeds, lambda and mu over all primary rows."""

    w: Vec
    lam: Vec
    mu: Vec

    @property
    def all(self) -> Vec:
        """w, lambda, mu in one list."""
        return [*self.w, *self.lam, *self.mu]

    def held(self, values: Sequence[Scalar]) -> Multipliers:
        """Given values in their places; what is known at trace time stays what it is."""
        fixed = [x if known(x) else value for x, value in zip(self.all, values, strict=True)]
        n, m = len(self.w), len(self.lam)
        return Multipliers(fixed[:n], fixed[n : n + m], fixed[n + m :])


class OrthogonalFactors:
    """A = Q R with orthogonal columns Q and a unit upper triangular R, for solves with A and with its transpose.

    As in `reduction.gram_schmidt` (Golub, Van Loan, section 5.2.8), which keeps no factors.
    """

    def __init__(self, A: Mat) -> None:
        r = len(A)
        self.Q = [[A[i][j] for i in range(r)] for j in range(r)]
        self.R: Mat = [[0.0] * r for _ in range(r)]
        self.inverses: Vec = []
        for k, q in enumerate(self.Q):
            self.inverses.append(div(1.0, dot(q, q)))
            for j in range(k + 1, r):
                s = dot(q, self.Q[j])
                if not is_zero(s):
                    self.R[k][j] = mul(s, self.inverses[k])
                    self.Q[j] = minus(self.Q[j], scale(self.R[k][j], q))

    def solve(self, b: Vec) -> Vec:
        """x of A x = b."""
        x: Vec = []
        for q, inverse in zip(self.Q, self.inverses, strict=True):
            x.append(mul(dot(q, b), inverse))
            b = minus(b, scale(x[-1], q))
        for i in reversed(range(len(x))):
            x[i] = sub(x[i], dot(self.R[i][i + 1 :], x[i + 1 :]))
        return x

    def solve_transposed(self, b: Vec) -> Vec:
        """x of A^T x = b."""
        y: Vec = []
        for i, value in enumerate(b):
            y.append(sub(value, dot([self.R[k][i] for k in range(i)], y)))
        y = [mul(inverse, value) for inverse, value in zip(self.inverses, y, strict=True)]
        return [dot(y, [q[i] for q in self.Q]) for i in range(len(y))]


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
            right = [sub(b[i], dot([self.A[i][j] for j in seen], [x[j] for j in seen])) for i in rows]
            for j, value in zip(columns, factors.solve(right), strict=True):
                x[j] = value
            seen += columns
        return x

    def null_columns(self) -> list[Column]:
        """Z of this substructure."""
        units = self.reduction.row_unit
        sides = self.reduction.columns_of_B()
        primary = self.reduction.primary
        B = [self.solve([mul(1.0 / units[row], b[k]) for k, row in enumerate(primary)]) for b in sides]
        return self.reduction.null_columns(B)

    def multipliers(self, right: Vec) -> Vec:
        """Lambda of J_Pd^T lambda = right_d over the primary rows, in true units; right: (nv,) generalised forces."""
        of = self.reduction
        b = [mul(of.unit[speed], right[speed]) for speed in of.dependent]
        x: Vec = [0.0] * len(b)
        done: list[int] = []
        for rows, columns, factors in reversed(self.blocks):
            rest = [sub(b[j], dot([self.A[i][j] for i in done], [x[i] for i in done])) for j in columns]
            for i, value in zip(rows, factors.solve_transposed(rest), strict=True):
                x[i] = value
            done += rows
        return [mul(1.0 / of.row_unit[row], value) for row, value in zip(of.primary, x, strict=True)]


class System:
    """H and J_P of one pose with their factors.

    Args:
        motion: of the pose, with speeds where accelerations are asked for.
    """

    def __init__(self, lane: Lane, motion: Motion, partition: Partition) -> None:
        self.lane, self.motion, self.plan = lane, motion, motion.plan
        self.rows = [lane.rows(motion, k) for k in range(len(self.plan.substructures))]
        own = list(zip(partition.blocks, self.rows, strict=True))
        self.factors = [PrimaryFactors(lane.reduction(block, rows)) for block, rows in own]
        columns: dict[int, Column] = {k: {k: 1.0} for k in free_speeds(self.plan)}
        for factors in self.factors:
            columns |= {next(iter(column)): column for column in factors.null_columns()}
        self.reduced = Reduced(motion, [columns[k] for k in sorted(columns, reverse=True)])
        self.primary = [(rows, row) for block, rows in own for row in block.primary]

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
                    momentum[speed] = add(momentum.get(speed, 0.0), mul(entry, value))
        for tree in self.reduced.trees:
            w |= tree.solve(by_speed)
            momentum |= {speed: y[speed] for speed in tree.speeds}
        speeds = range(self.plan.nv)
        product = [momentum.get(speed, 0.0) for speed in speeds]
        return [w.get(speed, 0.0) for speed in speeds], product, self.multipliers(minus(y, product))

    def multipliers(self, right: Vec) -> Vec:
        """Lambda of J_P^T lambda = right in the rows of the dependents, over all primary rows."""
        return [value for factors in self.factors for value in factors.multipliers(right)]

    def along(self, x: Vec) -> Vec:
        """J_P x."""
        return [_product(rows, row, x) for rows, row in self.primary]


def _product(rows: Rows, row: int, x: Vec) -> Scalar:
    entries = rows.J[row]
    return dot(list(entries.values()), [x[speed] for speed in entries])


class AccelerationAdjoint:
    """The adjoint of accelerations and of the rates of forces' states at one state.

    Args:
        a: (nv,) accelerations of this state.
    """

    def __init__(self, system: System, states: Sequence[Scalar], a: Vec) -> None:
        self.system, self.a = system, a
        self.tree = tree_terms(system.motion, system.lane.gravity(), states, a)

    def multipliers(self, a_bar: Vec) -> Multipliers:
        """Those of the cotangent of a."""
        w, _, mu = self.system.adjoint(a_bar)
        return Multipliers(w, self.system.multipliers(self.tree.force), mu)

    def lagrangian(self, held: Multipliers, rates_bar: Vec) -> Scalar:
        """The scalar whose gradient is the cotangent of all that a and the rates depend on."""
        gamma = [rows.gamma[row] for rows, row in self.system.primary]
        residual = minus(self.system.along(self.a), gamma)
        free = add(dot(held.w, self.tree.force), dot(rates_bar, self.tree.rates))
        return sub(sub(free, dot(held.lam, self.system.along(held.w))), dot(held.mu, residual))


class CorrectionAdjoint:
    """The adjoint of a least correction in the mass metric: H x + J_P^T lambda = 0, J_P x + residual = 0.

    Args:
        x: (nv,) the correction of coordinates or speeds.
    """

    def __init__(self, system: System, x: Vec) -> None:
        self.system = system
        self.inertial = sparse_product(system.reduced.H, dict(enumerate(x)))

    def multipliers(self, x_bar: Vec) -> tuple[Multipliers, Vec]:
        """Those of the cotangent of x, and H w."""
        w, momentum, mu = self.system.adjoint(x_bar)
        right = [neg(self.inertial.get(speed, 0.0)) for speed in range(self.system.plan.nv)]
        return Multipliers(w, self.system.multipliers(right), mu), momentum

    def lagrangian(self, held: Multipliers, closing: Vec) -> Scalar:
        """The scalar whose gradient is the cotangent of what x depends on; closing: J_P x + residual."""
        inertial = sparse_dot(dict(enumerate(held.w)), self.inertial)
        rest = add(dot(held.lam, self.system.along(held.w)), dot(held.mu, closing))
        return neg(add(inertial, rest))


def corrected_coordinates(system: System, x: Vec) -> Vec:
    """J_P x + Phi of the primary rows."""
    return [add(change, rows.phi[row]) for change, (rows, row) in zip(system.along(x), system.primary, strict=True)]


def corrected_speeds(system: System, v: Vec) -> Vec:
    """J_P v - nu of the primary rows, of the corrected speeds v."""
    return [sub(speed, rows.nu[row]) for speed, (rows, row) in zip(system.along(v), system.primary, strict=True)]


def change_between(plan: Plan, before: Vec, after: Vec) -> Vec:
    """(nv,) the change that `kinematics.retract` has made of coordinates, also of quaternions that were not unit."""
    quaternions = dict(quaternion_places(plan))
    out: Vec = []
    at = 0
    while at < plan.nq:
        if at not in quaternions:
            out.append(sub(after[at], before[at]))
            at += 1
            continue
        turn = quaternion_product(conjugate(before[at : at + 4]), after[at : at + 4])
        out += scale(div(2.0, turn[0]), turn[1:])
        at += 4
    return out

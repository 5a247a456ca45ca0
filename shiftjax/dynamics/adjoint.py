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

from shiftjax.algebra import Scalar, Vec, dot, known, minus
from shiftjax.dynamics.kkt import System
from shiftjax.dynamics.reduced import sparse_dot, sparse_product
from shiftjax.dynamics.tree import tree_terms


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

    def lagrangian(self, fixed: Multipliers, rates_bar: Vec) -> Scalar:
        """The scalar whose gradient is the cotangent of all that a and the rates depend on."""
        gamma = [rows.gamma[row] for rows, row in self.system.primary]
        residual = minus(self.system.along(self.a), gamma)
        free = dot(fixed.w, self.tree.force) + dot(rates_bar, self.tree.rates)
        return free - dot(fixed.lam, self.system.along(fixed.w)) - dot(fixed.mu, residual)


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
        right = [-self.inertial.get(speed, 0.0) for speed in range(self.system.plan.nv)]
        return Multipliers(w, self.system.multipliers(right), mu), momentum

    def lagrangian(self, fixed: Multipliers, closing: Vec) -> Scalar:
        """The scalar whose gradient is the cotangent of what x depends on; closing: J_P x + residual."""
        inertial = sparse_dot(dict(enumerate(fixed.w)), self.inertial)
        rest = dot(fixed.lam, self.system.along(fixed.w)) + dot(fixed.mu, closing)
        return -(inertial + rest)

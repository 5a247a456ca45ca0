"""What one writes first: the same mechanism in jax.numpy arrays for one member, and jax.vmap around it.

Positions from joint angles, everything else by jax.jacfwd; accelerations from the mass matrix and the loops' Jacobian
with a little damping of the redundant rows; RK4, and two Newton corrections of angles and speeds a step. Small dense
solves are written out: batched LAPACK calls inside a loop were seen to hang on two cores (jax 0.10.2).
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from peers.revolute_tree import Tree, closing_points, consistent_speeds

REDUNDANT = 1e-10  # of the largest diagonal entry: rows that say nothing new get no force


def cholesky_solve(A: jax.Array, b: jax.Array) -> jax.Array:
    """x of A x = b, A positive definite (n, n), unrolled."""
    n = A.shape[0]
    L = jnp.zeros_like(A)
    for j in range(n):
        column = A[:, j] - L @ L[j]
        L = L.at[j:, j].set(column[j:] / jnp.sqrt(column[j]))
    y = jnp.zeros_like(b)
    for i in range(n):
        y = y.at[i].set((b[i] - L[i] @ y) / L[i, i])
    x = jnp.zeros_like(b)
    for i in reversed(range(n)):
        x = x.at[i].set((y[i] - L[:, i] @ x) / L[i, i])
    return x


class Mechanism:
    """Functions of one member: q (n,) angles from the start pose [rad], v (n,) speeds, mass () of one varied body."""

    def __init__(self, tree: Tree, varied: int) -> None:
        self.tree, self.varied = tree, varied
        self.n = len(tree.links)
        self.start = np.array([link.speed for link in tree.links])
        J = np.asarray(jax.jacfwd(self.gaps)(jnp.zeros(self.n)))
        self.speeds = consistent_speeds(self.start, J)

    def poses(self, q: jax.Array) -> list[tuple[jax.Array, jax.Array]]:
        """Motion of every link since the start: rotation (3, 3) and shift (3,) in world axes."""
        placed: list[tuple[jax.Array, jax.Array]] = []
        for k, link in enumerate(self.tree.links):
            x, y, z = link.axis_W
            skew = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            turn = jnp.eye(3) + jnp.sin(q[k]) * skew + (1.0 - jnp.cos(q[k])) * (skew @ skew)
            shift = link.anchor_W - turn @ link.anchor_W
            R, p = placed[link.parent] if link.parent >= 0 else (jnp.eye(3), jnp.zeros(3))
            placed.append((R @ turn, R @ shift + p))
        return placed

    def gaps(self, q: jax.Array) -> jax.Array:
        """(m,) what the loops are open by [m]."""
        placed = [*self.poses(q), (jnp.eye(3), jnp.zeros(3))]  # ground has the number -1
        rows = []
        for cut in self.tree.cuts:
            (R1, p1), (R2, p2) = placed[cut.first], placed[cut.second]
            rows += [R1 @ point + p1 - R2 @ point - p2 for point in closing_points(self.tree, cut)]
        return jnp.concatenate(rows)

    def energies(self, q: jax.Array, v: jax.Array, mass: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Kinetic and potential energy [J]."""
        placed, rates = jax.jvp(self.poses, (q,), (v,))
        kinetic, potential = jnp.zeros(()), jnp.zeros(())
        for k, (link, (R, p), (R_rate, p_rate)) in enumerate(zip(self.tree.links, placed, rates, strict=True)):
            m = mass if k == self.varied else jnp.asarray(link.body.mass)
            centre = link.p_WB + link.R_WB @ np.array(link.body.center_of_mass)
            speed = R_rate @ centre + p_rate
            spin = R_rate @ R.T
            omega = jnp.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            I_W = R @ (link.R_WB @ np.array(link.body.inertia.matrix) @ link.R_WB.T) @ R.T
            kinetic += 0.5 * m * (speed @ speed) + 0.5 * omega @ I_W @ omega
            potential -= m * (self.tree.gravity @ (R @ centre + p))
        return kinetic, potential

    def acceleration(self, q: jax.Array, v: jax.Array, mass: jax.Array) -> jax.Array:
        """M a + J' lambda = d(T - V)/dq - M' v, J a = -J' v (Lagrange, index 1)."""

        def momentum(q: jax.Array, v: jax.Array) -> jax.Array:
            return jax.grad(lambda s: self.energies(q, s, mass)[0])(v)

        M = jax.jacfwd(momentum, argnums=1)(q, v)
        drift = jax.jvp(lambda x: momentum(x, v), (q,), (v,))[1]

        def lagrangian(x: jax.Array) -> jax.Array:
            kinetic, potential = self.energies(x, v, mass)
            return kinetic - potential

        J = jax.jacfwd(self.gaps)(q)
        bias = jax.jvp(lambda x: jax.jvp(self.gaps, (x,), (v,))[1], (q,), (v,))[1]
        free = cholesky_solve(M, jax.grad(lagrangian)(q) - drift)
        return free - self.least(M, J, J @ free + bias)

    def least(self, M: jax.Array, J: jax.Array, rows: jax.Array) -> jax.Array:
        """The smallest x in the metric M with J x = rows."""
        W = cholesky_solve(M, J.T)
        A = J @ W
        A = A + REDUNDANT * jnp.max(jnp.diag(A)) * jnp.eye(len(A))
        return W @ cholesky_solve(A, rows)

    def step(self, q: jax.Array, v: jax.Array, mass: jax.Array, h: float) -> tuple[jax.Array, jax.Array]:
        """One RK4 step, then the loops are closed again."""
        a1 = self.acceleration(q, v, mass)
        v2 = v + 0.5 * h * a1
        a2 = self.acceleration(q + 0.5 * h * v, v2, mass)
        v3 = v + 0.5 * h * a2
        a3 = self.acceleration(q + 0.5 * h * v2, v3, mass)
        v4 = v + h * a3
        a4 = self.acceleration(q + h * v3, v4, mass)
        q = q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
        v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        M = jax.jacfwd(lambda s: jax.grad(lambda u: self.energies(q, u, mass)[0])(s))(v)
        J = jax.jacfwd(self.gaps)(q)
        q = q - self.least(M, J, self.gaps(q))
        J = jax.jacfwd(self.gaps)(q)
        return q, v - self.least(M, J, J @ v)

    def ensemble(self, h: float, steps: int) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
        """Compiled run of a whole ensemble: masses (B,) -> angles and speeds (B, n) at the end."""

        def one(mass: jax.Array) -> tuple[jax.Array, jax.Array]:
            state = (jnp.zeros(self.n), jnp.asarray(self.speeds))
            return jax.lax.fori_loop(0, steps, lambda _, s: self.step(*s, mass, h), state)

        return jax.jit(jax.vmap(one))

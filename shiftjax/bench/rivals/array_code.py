"""A straightforward implementation: the same mechanism in jax.numpy arrays for one member, and jax.vmap of a step.

Screws about the world's origin, angular part first; mass matrix and bias by einsum over bodies; accelerations from the
mass matrix and the loops' Jacobian, with a little damping of its redundant rows; RK4, then one correction of angles and
one of speeds. The small dense systems are eliminated in array operations: `jnp.linalg.solve` of a batch deadlocked on
two cores (jax 0.10.2, 1 024 members, Bricard).
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.bench.rivals.hinge_tree import HingeTree, Link, centre, hinge_points, start_speeds
from shiftjax.bench.rivals.rival import Race

MEMBERS = 256  # more are no faster a member
REDUNDANT = 1e-10  # of the largest diagonal entry: regularisation of redundant rows
State = tuple[jax.Array, jax.Array]


def _cross_rows(a: jax.Array, b: jax.Array) -> jax.Array:
    a, b = jnp.broadcast_arrays(a, b)
    return jnp.cross(a, b)


def skew(x: jax.Array | np.ndarray) -> jax.Array:
    """(3, 3) matrix of the cross product with x."""
    return jnp.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def crossed(V: jax.Array, S: jax.Array) -> jax.Array:
    """(..., 6) motion cross product of screws."""
    angular = _cross_rows(V[..., :3], S[..., :3])
    linear = _cross_rows(V[..., :3], S[..., 3:]) + _cross_rows(V[..., 3:], S[..., :3])
    return jnp.concatenate([angular, linear], axis=-1)


def solve(A: jax.Array, b: jax.Array) -> jax.Array:
    """x of A x = b, A positive definite (n, n), b (n,) or (n, m): Gauss and Jordan without pivoting."""
    n = A.shape[0]
    T = jnp.concatenate([A, b.reshape(n, -1)], axis=1)

    def eliminate(k: jax.Array, T: jax.Array) -> jax.Array:
        row = T[k] / T[k, k]
        return (T - T[:, k][:, None] * row[None, :]).at[k].set(row)

    T = jax.lax.fori_loop(0, n, eliminate, T)
    return T[:, n:].reshape(b.shape)


class ArrayMechanism:
    """Functions of one member: q (n,) angles from the start pose [rad], v (n,) speeds, mass () of one varied body."""

    def __init__(self, tree: HingeTree, varied: int) -> None:
        self.tree, self.varied = tree, varied
        self.n = len(tree.links)
        carries = np.eye(self.n)  # [k, i]: hinge i carries link k
        for k, link in enumerate(tree.links):
            if link.parent >= 0:
                carries[k] += carries[link.parent]
        self.carries = jnp.asarray(carries)
        self.speeds = start_speeds(tree)

    def pose(self, q: jax.Array) -> tuple[list[State], jax.Array]:
        """Motion of every link since the start, rotation (3, 3) and shift (3,), and the hinges' screws (n, 6)."""
        placed: list[State] = []
        screws = []
        for k, link in enumerate(self.tree.links):
            R, p = placed[link.parent] if link.parent >= 0 else (jnp.eye(3), jnp.zeros(3))
            K = skew(link.axis_W)
            turn = jnp.eye(3) + jnp.sin(q[k]) * K + (1.0 - jnp.cos(q[k])) * (K @ K)
            axis, anchor = R @ link.axis_W, R @ link.anchor_W + p
            screws.append(jnp.concatenate([axis, jnp.cross(anchor, axis)]))
            placed.append((R @ turn, R @ (link.anchor_W - turn @ link.anchor_W) + p))
        return placed, jnp.stack(screws)

    def inertia(self, link: Link, mass: jax.Array, placed: State) -> jax.Array:
        """(6, 6) spatial inertia of a link about the world's origin."""
        R, p = placed
        R_WB = R @ link.R_WB
        c = skew(R @ centre(link) + p)
        I_W = R_WB @ np.array(link.body.inertia.matrix) @ R_WB.T + mass * c @ c.T
        return jnp.block([[I_W, mass * c], [mass * c.T, mass * jnp.eye(3)]])

    def closure(self, placed: list[State], S: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Gaps of the loops (m,) [m], their Jacobian (m, n) and the acceleration without joint accelerations."""
        V = self.carries @ (S * v[:, None])
        A = self.carries @ (crossed(V, S) * v[:, None])
        gaps, rows, biases = [], [], []
        for cut in self.tree.cuts:
            for point in hinge_points(self.tree, cut):
                ends = [self._point(placed, S, V, A, k, point) for k in (cut.first, cut.second)]
                gap, row, bias = (a - b for a, b in zip(*ends, strict=True))
                gaps.append(gap)
                rows.append(row)
                biases.append(bias)
        return jnp.concatenate(gaps), jnp.concatenate(rows), jnp.concatenate(biases)

    def _point(self, placed: list[State], S: jax.Array, V: jax.Array, A: jax.Array, k: int, point: np.ndarray) -> tuple:
        """A point of link k: its place (3,), Jacobian (3, n) and acceleration (3,) without joint accelerations."""
        if k < 0:
            return jnp.asarray(point), jnp.zeros((3, self.n)), jnp.zeros(3)
        R, p = placed[k]
        x = R @ point + p
        J = (S[:, 3:] + _cross_rows(S[:, :3], x)) * self.carries[k][:, None]
        velocity = V[k, 3:] + jnp.cross(V[k, :3], x)
        return x, J.T, A[k, 3:] + jnp.cross(A[k, :3], x) + jnp.cross(V[k, :3], velocity)

    def masses(self, placed: list[State], mass: jax.Array) -> jax.Array:
        links = enumerate(self.tree.links)
        return jnp.stack(
            [
                self.inertia(link, mass if k == self.varied else jnp.asarray(link.body.mass), placed[k])
                for k, link in links
            ]
        )

    def mass_matrix(self, inertias: jax.Array, S: jax.Array) -> jax.Array:
        return jnp.einsum("ki,ia,kab,jb,kj->ij", self.carries, S, inertias, S, self.carries, optimize="optimal")

    def acceleration(self, q: jax.Array, v: jax.Array, mass: jax.Array) -> jax.Array:
        """M a + h = J' lambda, J a = -J' v."""
        placed, S = self.pose(q)
        inertias = self.masses(placed, mass)
        V = self.carries @ (S * v[:, None])
        A = self.carries @ (crossed(V, S) * v[:, None]) - jnp.concatenate([jnp.zeros(3), self.tree.gravity])
        momentum = jnp.einsum("kab,kb->ka", inertias, V)
        torque = _cross_rows(V[:, :3], momentum[:, :3]) + _cross_rows(V[:, 3:], momentum[:, 3:])
        wrench = jnp.concatenate([torque, _cross_rows(V[:, :3], momentum[:, 3:])], axis=1)
        wrench += jnp.einsum("kab,kb->ka", inertias, A)
        bias = jnp.sum((self.carries.T @ wrench) * S, axis=1)
        _, J, rest = self.closure(placed, S, v)
        M = self.mass_matrix(inertias, S)
        free = -solve(M, bias)
        return free - self.least(M, J, J @ free + rest)

    def least(self, M: jax.Array, J: jax.Array, rows: jax.Array) -> jax.Array:
        """The smallest x in the metric M with J x = rows."""
        W = solve(M, J.T)
        A = J @ W
        A = A + REDUNDANT * jnp.max(jnp.diag(A)) * jnp.eye(len(A))
        return W @ solve(A, rows)

    def step(self, q: jax.Array, v: jax.Array, mass: jax.Array, h: float) -> State:
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
        placed, S = self.pose(q)
        M = self.mass_matrix(self.masses(placed, mass), S)
        gap, J, _ = self.closure(placed, S, v)
        q = q - self.least(M, J, gap)
        J = self.closure(*self.pose(q), v)[1]
        return q, v - self.least(M, J, J @ v)

    def runner(self, h: float) -> EnsembleRun:
        """Runs of whole ensembles."""
        return EnsembleRun(self, h)


class EnsembleRun:
    """A run of a whole ensemble: masses (B,), steps -> angles and speeds (B, n) at the end."""

    def __init__(self, mechanism: ArrayMechanism, h: float) -> None:
        self._mechanism = mechanism
        self._step = jax.jit(jax.vmap(lambda q, v, mass: mechanism.step(q, v, mass, h)))

    def __call__(self, masses: jax.Array, steps: int) -> State:
        return self.on(self.begin(masses), masses, steps)

    def begin(self, masses: jax.Array) -> State:
        """Angles and speeds (B, n) at the start."""
        mechanism = self._mechanism
        return jnp.zeros((len(masses), mechanism.n)), jnp.tile(jnp.asarray(mechanism.speeds), (len(masses), 1))

    def on(self, state: State, masses: jax.Array, steps: int) -> State:
        """Some steps more."""
        for _ in range(steps):
            state = self._step(*state, masses)
        return state


class ArrayEntrant:
    """See `rival.Entrant`; numbers are doubles."""

    precision = "f64"

    def __init__(self, race: Race) -> None:
        self.masses = race.some(MEMBERS)
        with jax.enable_x64(True):
            self._run = ArrayMechanism(race.tree, race.varied).runner(race.step)
        self.device = jax.default_backend() if jax.default_backend() == "cpu" else jax.devices()[0].device_kind

    def run(self, steps: int) -> State:
        """See `rival.Entrant.run`."""
        with jax.enable_x64(True):
            return self._run(jnp.asarray(self.masses), steps)

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.path`."""
        with jax.enable_x64(True):
            states = [self._run.begin(jnp.asarray(self.masses))]
            for _ in range(steps // every):
                states.append(self._run.on(states[-1], jnp.asarray(self.masses), every))
        q, v = (np.stack([np.asarray(one) for one in side]) for side in zip(*states, strict=True))
        return q, v


class ArrayRival:
    """See `rival.Rival`: what one would write without this library."""

    settings: Mapping[str, str] = {"plain": "jax.vmap of a step in arrays, loops closed after every step"}

    def enter(self, race: Race, setting: str) -> ArrayEntrant:
        """See `rival.Rival.enter`."""
        return ArrayEntrant(race)

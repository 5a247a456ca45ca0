"""Gauss-Newton and Levenberg-Marquardt: a sum of squares of residuals made small. Run-time, JAX.

Of one start with residuals r and J = dr/dz = Q R, the step d minimises |R d + Q^T r|^2 + damping |D d|^2, D the norms
of the columns of J (Moré, The Levenberg-Marquardt algorithm, 1978). From a point that is not better the start goes back
to the last good one: Levenberg-Marquardt with more damping, Gauss-Newton half as far. J comes of tangents of the runs,
all parameters at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.optimization.one_start import (
    Row,
    Seen,
    State,
    advanced,
    begun,
    filled,
    is_good,
    jumps_and_growth,
)
from shiftjax.ensembles.optimization.problem import DescentMethod, Problem

Array = Any  # of JAX, traced
DAMPING, LEAST = 1e-2, 1e-12  # at the beginning, and at least
MORE, LESS = 4.0, 0.2  # times the damping, after a point that is not better, and one that is


class LeastSquares(DescentMethod):
    """Gauss-Newton, or Levenberg-Marquardt where steps are damped."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._damped = problem.wanted.method == "levenberg_marquardt"

    def see(self, state: State) -> Seen:
        """Runs the points of those starts that have not ended."""
        members = np.flatnonzero(state["ended"] == 0)
        numbers, slopes = self._placed(state["z"][members])
        x = self.problem.designs(members, numbers)
        outputs, status = self.problem.runs.outputs(x)
        changes = np.moveaxis(self.problem.runs.tangent(x), 0, 2)  # (n, O, P)
        scores = self._judged(np.where(status[:, None] > 0, 0.0, outputs), np.nan_to_num(changes), slopes)
        scores |= jumps_and_growth(self.problem.runs.doubts)
        return filled(state, members, {**scores, "numbers": numbers, "status": status})

    # -- of one start --------------------------------------------------------------------------------------------------

    def _begin(self, z: Array, home: Array) -> Row:
        count = len(z)
        row = begun(z, home, len(self.problem.names))
        triangle, projected = jnp.zeros((count, count)), jnp.zeros(count)
        return {**row, "damping": jnp.asarray(DAMPING), "triangle": triangle, "projected": projected}

    def _judge(self, outputs: Array, changes: Array, slopes: Array) -> Row:
        """What is seen of outputs (O,) and their changes (O, P) with the parameters."""
        residuals, pushed = jax.linearize(self.problem.residuals, outputs)
        jacobian = jax.vmap(pushed, in_axes=1, out_axes=1)(changes) * slopes
        short = max(0, jacobian.shape[1] - jacobian.shape[0])
        wide = jnp.pad(jacobian, ((0, short), (0, 0)))
        q, triangle = jnp.linalg.qr(wide)
        cost, zero = jnp.sum(residuals**2) / 2, jnp.zeros(())
        return {
            "metrics": outputs[self.problem.runs.recorded :],
            "objective": cost, "excess": zero, "unmet": zero, "by": jnp.zeros(0), "merit": cost,
            "gradient": jacobian.T @ residuals,
            "triangle": triangle, "projected": q.T @ jnp.pad(residuals, (0, short)),
        }  # fmt: skip

    def _advance(self, row: Row, seen: Row) -> Row:
        wanted = self.problem.wanted
        good = is_good(row, seen, down=True)
        first = ~jnp.isfinite(row["base_merit"])  # nothing to go back to but the model's own design
        damping = jnp.where(good, jnp.maximum(LEAST, LESS * row["damping"]), MORE * row["damping"])
        damping = jnp.where(first, row["damping"], damping)
        triangle = jnp.where(good, seen["triangle"], row["triangle"])
        projected = jnp.where(good, seen["projected"], row["projected"])
        base = jnp.where(good, row["z"], row["base"])
        ahead = base + self._step(triangle, projected, damping)
        out = advanced(row, seen, ahead, good, (wanted.tolerance, wanted.constraint_tolerance))
        out |= {"damping": damping, "triangle": triangle, "projected": projected}
        if self._damped:
            out["z"] = jnp.where(good | first, out["z"], ahead)
        return jax.tree.map(lambda new, old: jnp.where(row["ended"] > 0, old, new), out, row)

    def _step(self, triangle: Array, projected: Array, damping: Array) -> Array:
        sizes = jnp.sqrt(jnp.sum(triangle**2, axis=0))
        weights = jnp.sqrt(damping if self._damped else 0.0) * jnp.where(sizes > 0, sizes, 1.0)
        whole = jnp.concatenate([triangle, jnp.diag(weights)])
        return jnp.linalg.lstsq(whole, -jnp.concatenate([projected, jnp.zeros_like(projected)]))[0]

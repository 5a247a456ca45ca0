"""Gauss-Newton and Levenberg-Marquardt in a box: a sum of squares of residuals made small. Run-time, JAX.

Of one start at u with residuals r and J = dr/du = Q R, the step d minimises |R d + Q^T r|^2 + damping |D d|^2 among
those that stay between the bounds, D the largest norms so far of the columns of J (Moré, The Levenberg-Marquardt
algorithm, 1978): which numbers then stand at a bound, a complementarity problem says; the others are those of a
least-squares problem of their columns (Kanzow, Yamashita, Fukushima, Levenberg-Marquardt methods with strong local
convergence properties for solving nonlinear equations with convex constraints, 2004). The damping follows the ratio of
what the sum fell by to what the linear model promised (Nielsen, Damping parameter in Marquardt's method, 1999).
Gauss-Newton goes half as far from a point that is not better. J comes of tangents of the runs, all parameters at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.optimization.methods.complementarity import complementary
from shiftjax.ensembles.optimization.methods.one_start import Row, Seen, State, advanced, begun, chosen, ending
from shiftjax.ensembles.optimization.methods.projected import ProjectedMethod, falls
from shiftjax.ensembles.optimization.problem import Problem
from shiftjax.ensembles.optimization.space import MemberwiseFunction

Array = Any  # of JAX, traced
DAMPING, LEAST, MOST = 1e-3, 1e-15, 1e30  # at the beginning, at least, at most
LESS = 0.1  # times the damping at least, after a step as good as promised
HIDDEN, STILL = 1e-12, 1e-11  # of the sum, and of the box: what rounding of a run hides
RIDGE = 1e-14  # of the largest square of a column: which numbers are at bounds is told of singular systems, too


class LeastSquares(ProjectedMethod):
    """Gauss-Newton, or Levenberg-Marquardt where steps are damped."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._damped = problem.wanted.method == "levenberg_marquardt"
        self._factored = MemberwiseFunction(self._factor)

    def _sloped(self, rows: State, scores: Seen) -> Seen:
        changes = np.moveaxis(self.problem.runs.tangent(scores["x"]), 0, 2)  # (n, O, P)
        return self._factored(scores["outputs"], changes, scores["at"])

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], type]]:
        count = len(self.problem.parameters)
        return {**super()._shapes(), "triangle": ((count, count), float), "projected": ((count,), float)}

    # -- of one start --------------------------------------------------------------------------------------------------

    def _begin(self, z: Array, home: Array) -> Row:
        count, none = len(z), jnp.asarray(0.0)
        row = {**begun(z, home, len(self.problem.names)), "damping": jnp.asarray(DAMPING), "factor": jnp.asarray(2.0)}
        row |= {"triangle": jnp.zeros((count, count)), "projected": jnp.zeros(count), "promised": none}
        return {**row, "columns": jnp.zeros(count)}

    def _judge(self, row: Row, seen: Row) -> Row:
        residuals = self.problem.residuals(seen["outputs"])
        cost, zero = jnp.sum(residuals**2) / 2, jnp.zeros(())
        scores = {"metrics": seen["outputs"][self.problem.runs.recorded :], "objective": cost, "merit": cost}
        scores |= {"excess": zero, "unmet": zero, "by": jnp.zeros(0)}
        return {**scores, "accepted": falls(row, {**seen, **scores}, row["promised"])}

    def _factor(self, outputs: Array, changes: Array, at: Array) -> Row:
        """The triangle of the Jacobian of residuals, of outputs (O,) and their changes (O, P) with the parameters."""
        residuals, pushed = jax.linearize(self.problem.residuals, outputs)
        jacobian = jax.vmap(pushed, in_axes=1, out_axes=1)(changes) * self.box.slopes(at)
        short = max(0, jacobian.shape[1] - jacobian.shape[0])
        q, triangle = jnp.linalg.qr(jnp.pad(jacobian, ((0, short), (0, 0))))
        projected = q.T @ jnp.pad(residuals, (0, short))
        return {"gradient": jacobian.T @ residuals, "triangle": triangle, "projected": projected}

    def _advance(self, row: Row, seen: Row) -> Row:
        wanted = self.problem.wanted
        good = seen["accepted"] > 0
        first = ~jnp.isfinite(row["base_merit"])  # nothing to go back to but the model's own design
        way = self.box.projected(seen["at"], seen["gradient"])
        size = jnp.linalg.norm(way)
        out = advanced(row, seen, good, wanted.constraint_tolerance, size)
        for name in ("triangle", "projected"):
            out[name] = jnp.where(good, seen[name], row[name])
        sizes = jnp.linalg.norm(seen["triangle"], axis=0)
        out["columns"] = jnp.where(good, jnp.maximum(row["columns"], sizes), row["columns"])
        self._damp(out, row, seen, good, first)
        ahead, out["promised"] = self._step(out)
        half = (seen["at"] + row["base"]) / 2
        turned = ~good & first if self._damped else ~good
        out["z"] = jnp.where(turned, half, ahead)
        # A column's cosine with the residuals says how much of their sum it can take away (Moré 1978); one that only
        # leads out of the box takes none.
        moves = jnp.abs(jnp.where(way == 0.0, 0.0, seen["gradient"]))
        cosine = jnp.max(moves / jnp.where(sizes > 0, sizes, 1.0)) / jnp.sqrt(2.0 * seen["merit"])
        arrived = good & ((size <= wanted.tolerance) | (cosine <= wanted.tolerance))
        out["ended"] = ending(out, arrived | self._exhausted(row, seen, good | first))
        return chosen(row["ended"] > 0, row, out)

    def _exhausted(self, row: Row, seen: Row, good: Array) -> Array:
        """Whether the first step from its base, hardly damped, fails where rounding hides what it promised."""
        far = jnp.max(jnp.abs(seen["at"] - row["base"]))
        little = (row["promised"] <= HIDDEN * row["base_merit"]) | (far <= STILL)
        return ~good & (row["in_a_row"] == 0) & (row["damping"] <= DAMPING) & little & (seen["status"] <= 0)

    def _damp(self, out: Row, row: Row, seen: Row, good: Array, first: Array) -> None:
        """Less damping after a step as good as promised, more after one that is not, faster and faster."""
        promised = row["promised"]
        ratio = (row["base_merit"] - seen["merit"]) / jnp.where(promised > 0, promised, jnp.inf)
        better = row["damping"] * jnp.maximum(LESS, 1.0 - (2.0 * ratio - 1.0) ** 3)
        damping = jnp.where(good, better, row["damping"] * row["factor"])
        out["damping"] = jnp.where(first, row["damping"], jnp.clip(damping, LEAST, MOST))
        out["factor"] = jnp.where(jnp.logical_or(good, first), 2.0, 2.0 * row["factor"])

    def _step(self, row: Row) -> tuple[Array, Array]:
        """The next point, and by how much the linear model says that the sum falls there."""
        base, triangle, projected = row["base"], row["triangle"], row["projected"]
        low, high = self.box.lower - base, self.box.upper - base
        sizes = jnp.where(row["columns"] > 0, row["columns"], 1.0)
        weights = jnp.sqrt(row["damping"] if self._damped else 0.0) * sizes
        gradient = triangle.T @ projected
        ridge = jnp.maximum(weights**2, RIDGE * jnp.max(sizes) ** 2)
        at_bounds, side = complementary(triangle.T @ triangle + jnp.diag(ridge), gradient, low, high)
        free, fixed = side == 0, jnp.where(side == 0, 0.0, at_bounds)
        whole = jnp.concatenate([triangle * free, jnp.diag(weights * free)])
        right = -jnp.concatenate([projected + triangle @ fixed, jnp.zeros_like(projected)])
        step = jnp.clip(jnp.where(free, jnp.linalg.lstsq(whole, right)[0], fixed), low, high)
        promised = -(gradient @ step + jnp.sum((triangle @ step) ** 2) / 2)
        return self.box.inside(base + step), promised

"""L-BFGS in a box: a metric of the last steps, bounds by projection, a line search in each iteration. Run-time, JAX.

Numbers that stand at a bound across which the merit falls are not moved; among the others the step is that of L-BFGS,
from those parts of its memory (Bertsekas, Projected Newton methods for optimization problems with simple constraints,
SIAM Journal on Control and Optimization 20, 1982; Schmidt, Kim, Sra, Projected Newton-type methods in machine learning,
2011). It is moved into the box, shortened before where that no longer leads down. The point is taken back along the way
there until the merit falls by a share of what its slope promises (Armijo), which takes no slopes. The memory holds
accepted steps only; the first step, for which nothing is known, goes a tenth of the box far. Constraints are in an
augmented Lagrangian: where a correction changes nothing, nothing is forgotten; other multipliers forget no curvature,
another penalty does.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.optimization.methods.lagrangian import begun_multipliers, corrected, judged
from shiftjax.ensembles.optimization.methods.one_start import Row, Seen, State, advanced, begun, chosen, ending
from shiftjax.ensembles.optimization.methods.projected import ProjectedMethod, falls
from shiftjax.ensembles.optimization.problem import Problem
from shiftjax.errors import ModelError

Array = Any  # of JAX, traced
MEMORY = 10  # steps
FIRST = 0.1  # of the box: the longest way of a number in a step for which nothing is known
LONGEST = 0.5  # of the box, in any step
CURVED = 1e-10  # cosine of a step and the change of the gradient along it, above which it is remembered
ENDS = 12  # shares of a step, each half as long, that are looked at for one that leads down once moved into the box
NEAR = 0.1  # of what is unmet: a gradient below it is small enough for other multipliers
PATIENCE = 4  # iterations without a better point, each with so many tries


class LimitedMemory(ProjectedMethod):
    """L-BFGS."""

    tries = 10

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        options = dict(problem.wanted.options)
        self._size = int(options.pop("memory_size", MEMORY))
        if options or self._size < 1:
            raise ModelError(
                "optimize.options", ", ".join(options) or "memory_size below 1", "memory_size", "Leave it."
            )

    def _sloped(self, rows: State, scores: Seen) -> Seen:
        slopes = self._placed(scores["at"])[1]
        bars = self.problem.runs.adjoint(scores["x"], scores["bars"][None])[0]
        return {"gradient": (bars + self.problem.of_parameters(scores["direct"])) * slopes}

    # -- of one start --------------------------------------------------------------------------------------------------

    def _begin(self, z: Array, home: Array) -> Row:
        row = {**begun(z, home, len(self.problem.names)), **begun_multipliers(self.problem)}
        none = jnp.zeros((self._size, len(z)))
        return {**row, "slope": jnp.zeros_like(z), "steps": none, "changes": none, "again": jnp.asarray(0)}

    def _judge(self, row: Row, seen: Row) -> Row:
        metrics = seen["outputs"][self.problem.runs.recorded :]
        scores, bars, direct = judged(self.problem, metrics, seen["x"], row["multipliers"], row["penalty"])
        promised = -jnp.sum(row["slope"] * (seen["at"] - row["base"]))
        accepted = falls(row, {**seen, **scores}, promised)
        return {**scores, "accepted": accepted, "bars": bars, "direct": direct}

    def _advance(self, row: Row, seen: Row) -> Row:
        wanted = self.problem.wanted
        good = seen["accepted"] > 0
        size = jnp.linalg.norm(self.box.projected(seen["at"], seen["gradient"]))
        out = advanced(row, seen, good, wanted.constraint_tolerance, size)
        self._remember(out, row, seen, good)
        out["slope"], out["again"] = jnp.where(good, seen["gradient"], row["slope"]), jnp.asarray(0)
        arrived = good & (size <= wanted.tolerance) & (seen["unmet"] <= wanted.constraint_tolerance)
        out["ended"] = ending(out, arrived, PATIENCE)
        again = jnp.asarray(False)
        if len(self.problem.equal):
            again = self._correct(out, row, seen, good)
        first = ~jnp.isfinite(row["base_merit"]) & ~good
        ahead = self._ahead(out["base"], out["slope"], out["steps"], out["changes"])
        out["z"] = jnp.where(first, (seen["at"] + row["base"]) / 2, jnp.where(again, out["base"], ahead))
        return chosen(row["ended"] > 0, row, out)

    def _remember(self, out: Row, row: Row, seen: Row, good: Array) -> None:
        """Puts an accepted step into the memory; forgets all where no way there led down."""
        step, change = seen["at"] - row["base"], seen["gradient"] - row["slope"]
        curved = jnp.sum(step * change) > CURVED * jnp.linalg.norm(step) * jnp.linalg.norm(change)
        new = good & curved & jnp.isfinite(row["base_merit"]) & (row["again"] == 0)
        for name, value in (("steps", step), ("changes", change)):
            longer = jnp.concatenate([row[name][1:], value[None]])
            out[name] = jnp.where(good, jnp.where(new, longer, row[name]), 0.0)

    def _correct(self, out: Row, row: Row, seen: Row, good: Array) -> Any:
        """Corrects multipliers and penalty now and then, also where nothing better is found.

        Returns:
            Whether the last good point must be looked at again, since its merit is another one now.
        """
        by = jnp.where(good, seen["by"], row["base_by"])
        near = good & (out["base_gradient"] <= jnp.maximum(self.problem.wanted.tolerance, NEAR * out["base_unmet"]))
        now = near | (good & (row["since"] + 1 >= self.problem.wanted.correction_every))
        now = (now | ((out["in_a_row"] >= PATIENCE - 1) & jnp.isfinite(out["base_merit"]))) & (out["ended"] == 0)
        multipliers, penalty = corrected(self.problem, out, row, by, now)
        again = jnp.logical_or(multipliers, penalty)
        for name in ("steps", "changes"):
            out[name] = jnp.where(penalty, 0.0, out[name])
        out["base_merit"] = jnp.where(again, jnp.inf, out["base_merit"])
        out["in_a_row"] = jnp.where(again, 0, out["in_a_row"])
        out["again"] = again.astype(int)
        return again

    def _ahead(self, base: Array, gradient: Array, steps: Array, changes: Array) -> Array:
        """The next point, down from the last good one."""
        way = self.box.projected(base, gradient)
        free = way != 0.0
        down = jnp.where(free, -gradient, 0.0)
        metric, known = self._through_memory(down, free, steps, changes)
        plain = down * FIRST / jnp.maximum(jnp.max(jnp.abs(down)), np.finfo(float).tiny)
        step = jnp.where(known & (jnp.sum(metric * gradient) < 0), metric * self.problem.wanted.learning_rate, plain)
        step = step * jnp.minimum(1.0, LONGEST / jnp.maximum(jnp.max(jnp.abs(step)), np.finfo(float).tiny))
        shares = 0.5 ** jnp.arange(ENDS)
        ends = self.box.inside(base + shares[:, None] * step)
        leads = (ends - base) @ gradient < 0
        return jnp.where(jnp.any(leads), ends[jnp.argmax(leads)], self.box.inside(base + shares[-1] * plain))

    def _through_memory(self, down: Array, free: Array, steps: Array, changes: Array) -> tuple[Array, Array]:
        """The two loops of L-BFGS among the free numbers (Nocedal, Wright 2006, algorithm 7.4), and whether a step is
        remembered that is curved among them."""
        steps, changes = jnp.where(free, steps, 0.0), jnp.where(free, changes, 0.0)
        curvature = jnp.sum(steps * changes, axis=1)
        sizes = jnp.linalg.norm(steps, axis=1) * jnp.linalg.norm(changes, axis=1)
        valid = curvature > CURVED * sizes
        rho = jnp.where(valid, 1.0 / jnp.where(valid, curvature, 1.0), 0.0)
        shares = [jnp.zeros(())] * self._size
        scale = jnp.asarray(1.0)
        for k in reversed(range(self._size)):
            shares[k] = rho[k] * jnp.sum(steps[k] * down)
            down = down - shares[k] * changes[k]
        for k in range(self._size):
            scale = jnp.where(valid[k], curvature[k] / jnp.where(valid[k], jnp.sum(changes[k] ** 2), 1.0), scale)
        down = scale * down
        for k in range(self._size):
            down = down + steps[k] * (shares[k] - rho[k] * jnp.sum(changes[k] * down))
        return down, jnp.any(valid)

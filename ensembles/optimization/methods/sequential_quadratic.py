"""Sequential quadratic programming in a box and a trust region: an objective with constraints. Run-time, JAX.

Of one start with objective f, constraints c and slopes g and A, all of them scaled by the first gradients, the step d
minimises g d + d B d / 2 + the price of what the linear constraints c + A d are violated by, within the bounds and no
further than the radius in any number. That always has a solution; step and multipliers, which cannot exceed their
prices, are one complementarity problem (Fletcher, Practical Methods of Optimization, 1987, section 14.4). Prices grow
where more of the violation could be removed (Byrd, Nocedal, Waltz, Steering exact penalty methods for nonlinear
programming, 2008). One far above its multiplier rejects steps along a curved constraint, so at each accepted point they
come half of the way down to their multipliers (Powell, A fast algorithm for nonlinearly constrained optimization
calculations, 1978), but only where that hardly changes the merit there: else what was gained for one price could be
lost for another, for ever. B is of damped BFGS (the same), and the radius follows the ratio of what f + the price of
violations fell by to what was promised. A point that is rejected though its run has a value is corrected once with the
constraints seen there, so that curved constraints do not keep steps short (Nocedal, Wright, Numerical Optimization,
2006, section 18.3), unless they are further off than the step is long: it is too long then.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.optimization.methods.complementarity import complementary
from shiftjax.ensembles.optimization.methods.one_start import (
    Row,
    Seen,
    State,
    advanced,
    begun,
    chosen,
    ending,
    is_finite,
)
from shiftjax.ensembles.optimization.methods.projected import ROUNDING, ProjectedMethod, falls
from shiftjax.ensembles.optimization.problem import Problem
from shiftjax.ensembles.study.optimization_words import DescentEnding
from shiftjax.errors import ModelError

Array = Any  # of JAX, traced
RADIUS, FARTHEST = 1.0, 1e3  # of the box: at the beginning, at most
GOOD, POOR = 0.75, 0.25  # ratios of fall to promise
SHORTEST, SHORTER = 0.1, 0.5  # of the step, the radius after it is rejected: at least, at most
DAMPED = 0.2  # of the curvature of B along a step, which a change of it has at least
DEARER, TOP, RAISED = 10.0, 1e5, 5  # prices: times, to see what could be removed, at most in an iteration
REMOVED = 0.1  # of the violation that can be removed, to be removed
CHEAPER = 0.1  # of what a step promises: the most that lower prices may change the merit by
UNSEEN = 1e-10  # violation, of constraints that change by 1 across the box at first, which is none to prices
ABOVE = 1.5  # times a multiplier, its price at least
RIDGE = 1e-12  # of the matrix of constraints: makes equal ones share a multiplier
HIDDEN = 1e-12  # of the merit: what rounding of a run hides


class SequentialQuadratic(ProjectedMethod):
    """SQP with an exact penalty."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if problem.wanted.options:
            names = ", ".join(dict(problem.wanted.options))
            raise ModelError("optimize.options", names, "none with sqp", "Leave it out.")
        self._run_for = np.array([True, *problem.of_runs])

    def _sloped(self, rows: State, scores: Seen) -> Seen:
        slopes = self._placed(scores["at"])[1]
        bars, x = np.moveaxis(scores["bars"], 1, 0), scores["x"]  # (1 + C, n, M)
        of = np.moveaxis(scores["direct"], 1, 0)[:, :, self.problem.columns]
        asked = np.flatnonzero(self._run_for)
        if len(asked) <= len(self.problem.parameters):
            of[asked] += self.problem.runs.adjoint(x, bars[asked])
        else:
            of += np.einsum("knm,pnm->knp", bars, self.problem.runs.tangent(x)[:, :, self.problem.runs.recorded :])
        of *= slopes
        return {"gradient": of[0], "rows": np.moveaxis(of[1:], 0, 1)}

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], type]]:
        shape = (len(self.problem.equal), len(self.problem.parameters))
        return {**super()._shapes(), "rows": (shape, float)}

    # -- of one start --------------------------------------------------------------------------------------------------

    def _begin(self, z: Array, home: Array) -> Row:
        count, one = len(self.problem.equal), jnp.asarray(1.0)
        row = {**begun(z, home, len(self.problem.names)), "hessian": jnp.eye(len(z)), "updates": jnp.asarray(0)}
        row |= {"gradient": jnp.zeros_like(z), "rows": jnp.zeros((count, len(z))), "by": jnp.zeros(count)}
        row |= {"multipliers": jnp.zeros(count), "prices": jnp.full(count, self.problem.wanted.penalty)}
        row |= {"scale": one, "scales": jnp.ones(count), "radius": jnp.asarray(RADIUS), "promised": jnp.asarray(0.0)}
        return {**row, "corrected": jnp.asarray(0)}

    def _judge(self, row: Row, seen: Row) -> Row:
        metrics = seen["outputs"][self.problem.runs.recorded :]

        def values(metrics: Array, x: Array) -> Array:
            objective, by = self.problem.value(metrics, x)
            return jnp.append(objective, by)

        both = values(metrics, seen["x"])
        bars, direct = jax.jacrev(values, argnums=(0, 1))(metrics, seen["x"])
        excess = self.problem.excess(both[1:])
        scores = {"metrics": metrics, "objective": both[0], "by": both[1:], "excess": excess, "unmet": excess}
        scores["merit"] = self._merit(row, both[0], both[1:])
        accepted = falls(row, {**seen, **scores}, row["promised"])
        return {**scores, "accepted": accepted, "bars": bars, "direct": direct}

    def _merit(self, row: Row, objective: Array, by: Array) -> Array:
        return row["scale"] * objective + jnp.sum(row["prices"] * self.problem.violations(row["scales"] * by))

    def _advance(self, row: Row, seen: Row) -> Row:
        wanted = self.problem.wanted
        good, first = seen["accepted"] > 0, ~jnp.isfinite(row["base_merit"])
        out = advanced(row, seen, good, wanted.constraint_tolerance, row["base_gradient"])
        for name in ("gradient", "rows", "by"):
            out[name] = jnp.where(good, seen[name], row[name])
        self._scale(out, row, good & first)
        self._bend(out, row, seen, good & ~first)
        again = self._limit(out, row, seen, good, first)
        g, rows, by = out["scale"] * out["gradient"], out["scales"][:, None] * out["rows"], out["scales"] * out["by"]
        there = out["scales"] * seen["by"] - rows @ (seen["at"] - out["base"])  # constraints corrected by those seen
        step, multipliers, prices, promised = self._programmed(out, g, rows, jnp.where(again, there, by), by, good)
        out |= {"multipliers": multipliers, "prices": prices, "promised": jnp.where(again, row["promised"], promised)}
        out["base_merit"] = jnp.where(first & ~good, jnp.inf, self._merit(out, out["base_objective"], out["by"]))
        half = (seen["at"] + row["base"]) / 2
        out["z"] = jnp.where(first & ~good, half, self.box.inside(out["base"] + step))
        way = self.box.projected(out["base"], (g + rows.T @ multipliers) / out["scale"])
        out["base_gradient"] = jnp.where(good, jnp.linalg.norm(way), row["base_gradient"])
        self._end(out, row, seen, good, first, step)
        return chosen(row["ended"] > 0, row, out)

    def _end(self, out: Row, row: Row, seen: Row, good: Array, first: Array, step: Array) -> None:
        wanted, allowed = self.problem.wanted, self.problem.wanted.constraint_tolerance
        met = out["base_excess"] <= allowed
        active = (out["multipliers"] == 0.0) | (jnp.abs(out["by"]) <= allowed)
        arrived = good & (out["base_gradient"] <= wanted.tolerance) & met & jnp.all(active)
        size, inner = jnp.abs(out["base_merit"]), jnp.max(jnp.abs(step)) < 0.1 * out["radius"]
        nothing = good & inner & (out["promised"] <= ROUNDING * size)  # is to be gained
        unseen = HIDDEN * size + ROUNDING * jnp.sum(row["prices"] * (1.0 + row["scales"] * jnp.abs(out["by"])))
        hidden = ~good & ~first & (row["in_a_row"] == 0) & (row["promised"] <= unseen) & (seen["status"] <= 0)
        code = ending(out, arrived | ((nothing | hidden) & met))
        out["ended"] = jnp.where((code == 0) & (nothing | hidden) & ~met, int(DescentEnding.stalled), code)

    def _scale(self, out: Row, row: Row, begins: Array) -> None:
        """Scales of objective and constraints by their first gradients."""
        steep = jnp.max(jnp.abs(out["gradient"]))
        out["scale"] = jnp.where(begins & (steep > 0), 1.0 / jnp.where(steep > 0, steep, 1.0), row["scale"])
        steeps = jnp.maximum(jnp.max(jnp.abs(out["rows"]), axis=1, initial=0.0), 1e-3 * jnp.abs(out["by"]))
        scales = jnp.where(steeps > 0, 1.0 / jnp.where(steeps > 0, steeps, 1.0), 1.0)
        out["scales"] = jnp.where(begins, scales, row["scales"])

    def _bend(self, out: Row, row: Row, seen: Row, good: Array) -> None:
        """The curvature of the Lagrangian along an accepted step, as damped BFGS."""
        step = seen["at"] - row["base"]
        change = row["scale"] * (seen["gradient"] - row["gradient"])
        change = change + (row["multipliers"] * row["scales"]) @ (seen["rows"] - row["rows"])
        along = step @ change
        begins = (row["updates"] == 0) & (along > 0)
        size = jnp.where(begins, along / jnp.where(begins, step @ step, 1.0), 1.0)
        hessian = jnp.where(begins, size * jnp.eye(len(step)), row["hessian"])
        bent = hessian @ step
        curvature = step @ bent
        less = along < DAMPED * curvature
        share = jnp.where(less, (1 - DAMPED) * curvature / jnp.where(less, curvature - along, 1.0), 1.0)
        change = share * change + (1 - share) * bent
        along = step @ change
        new = good & (along > 0) & (curvature > 0)
        safe = jnp.where(new, along, 1.0), jnp.where(new, curvature, 1.0)
        update = jnp.outer(change, change) / safe[0] - jnp.outer(bent, bent) / safe[1]
        out["hessian"] = jnp.where(new, hessian + update, row["hessian"])
        out["updates"] = row["updates"] + jnp.where(new, 1, 0)

    def _limit(self, out: Row, row: Row, seen: Row, good: Array, first: Array) -> Array:
        """The radius by what the last step was worth; whether a rejected one is corrected instead."""
        far = jnp.max(jnp.abs(seen["at"] - row["base"]))
        ratio = (row["base_merit"] - seen["merit"]) / jnp.where(row["promised"] > 0, row["promised"], jnp.inf)
        longer = (ratio > GOOD) & (far >= 0.9 * row["radius"])
        after = jnp.where(longer, 2.0 * row["radius"], jnp.where(ratio < POOR, 0.5 * row["radius"], row["radius"]))
        over = jnp.sum(self.problem.violations(row["scales"] * seen["by"]))
        again = ~good & ~first & (row["corrected"] == 0) & is_finite(seen) & (over > 0) & (over <= far)
        lowest = row["promised"] / (2.0 * (seen["merit"] - row["base_merit"] + row["promised"]))  # of a parabola
        share = jnp.where(is_finite(seen) & (lowest > 0), jnp.clip(lowest, SHORTEST, SHORTER), SHORTER)
        shorter = share * jnp.minimum(far, row["radius"])
        radius = jnp.where(good, after, jnp.where(again, row["radius"], shorter))
        out["radius"] = jnp.where(first, row["radius"], jnp.minimum(radius, FARTHEST))
        out["corrected"] = again.astype(int)
        return again

    def _programmed(
        self, row: Row, gradient: Array, rows: Array, by: Array, plain: Array, may_fall: Array
    ) -> tuple[Array, Array, Array, Array]:
        """The step, its multipliers, prices, and by how much the model says that the merit falls.

        Args:
            by: (C,) of the constraints that are made linear. plain: (C,) at the base. may_fall: whether prices may.
        """
        low = jnp.maximum(self.box.lower - row["base"], -row["radius"])
        high = jnp.minimum(self.box.upper - row["base"], row["radius"])
        hessian, none, count = row["hessian"], jnp.zeros(len(by)), len(gradient)
        ridge = RIDGE * (jnp.sum(rows**2, axis=1) / (jnp.trace(hessian) / count) + 1.0)
        matrix = jnp.block([[hessian, rows.T], [-rows, jnp.diag(ridge)]])
        vector = jnp.concatenate([gradient, -by])

        def solved(prices: Array) -> tuple[Array, Array, Array]:
            lower = jnp.concatenate([low, jnp.where(self.problem.equal, -prices, none)])
            w, _ = complementary(matrix, vector, lower, jnp.concatenate([high, prices]))
            return w[:count], w[count:], jnp.sum(self.problem.violations(by + rows @ w[:count]))

        least = solved(TOP * row["prices"])[2]
        before = jnp.sum(self.problem.violations(by))
        unseen = UNSEEN * (1.0 + before)
        enough = least + (1 - REMOVED) * jnp.maximum(before - least, 0.0) + unseen

        def dearer(state: tuple[Array, ...]) -> tuple[Array, ...]:
            prices = DEARER * state[0]
            return prices, *solved(prices), state[-1] + 1

        start = (row["prices"], *solved(row["prices"]), jnp.asarray(0))
        prices, step, multipliers, left, _ = jax.lax.while_loop(
            lambda state: (state[3] > enough) & (state[-1] < RAISED), dearer, start
        )
        needed = ABOVE * jnp.abs(multipliers)
        prices = jnp.where(left <= unseen, jnp.maximum(prices, needed), prices)
        over, ahead = self.problem.violations(plain), self.problem.violations(plain + rows @ step)
        fall = -(gradient @ step + step @ hessian @ step / 2)
        lower = (prices + jnp.minimum(prices, needed)) / 2
        alike = jnp.sum((prices - lower) * over) <= CHEAPER * (fall + jnp.sum(lower * (over - ahead)))
        prices = jnp.where(may_fall & (left <= unseen) & alike, lower, prices)
        return step, multipliers, prices, fall + jnp.sum(prices * (over - ahead))

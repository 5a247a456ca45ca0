"""The augmented Lagrangian of constraints. Run-time, JAX.

Of one start, with objective f, excess c of every constraint, multipliers l and penalty m, the merit is
    f + sum over equalities of (l c + m c^2 / 2) + sum over inequalities of (max(0, l + m c)^2 - l^2) / (2 m);
every few iterations the multipliers become l + m c, at least 0 of inequalities, and the penalty grows where what is
unmet, c or of inequalities max(c, -l / m), did not fall to a quarter (Nocedal, Wright, Numerical Optimization, 2006,
algorithm 17.4). A constraint that was never active leaves the merit as it is, to the last bit.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from shiftjax.ensembles.optimization.methods.one_start import Row
from shiftjax.ensembles.optimization.problem import Problem

Array = Any  # of JAX, traced
GROWTH, FALL = 4.0, 0.25  # of the penalty, where what is unmet did not fall so far


def begun_multipliers(problem: Problem) -> Row:
    """Multipliers and penalty of a start that begins."""
    none = jnp.zeros(len(problem.equal))
    row = {"multipliers": none, "base_by": none, "penalty": jnp.asarray(problem.wanted.penalty)}
    return {**row, "since": jnp.asarray(0), "last_unmet": jnp.asarray(jnp.inf)}


def judged(problem: Problem, metrics: Array, x: Array, multipliers: Array, penalty: Array) -> tuple[Row, Array, Array]:
    """What is seen of metrics (M,) of a design x (V,), and the slopes of the merit with both."""

    def merit(metrics: Array, x: Array) -> tuple[Array, tuple[Array, Array]]:
        objective, by = problem.value(metrics, x)
        return objective + _of_constraints(problem, by, multipliers, penalty), (objective, by)

    (total, (objective, by)), (bars, direct) = jax.value_and_grad(merit, argnums=(0, 1), has_aux=True)(metrics, x)
    unmet = jnp.where(problem.equal, jnp.abs(by), jnp.abs(jnp.maximum(by, -multipliers / penalty)))
    scores = {"objective": objective, "by": by, "excess": problem.excess(by), "merit": total}
    return {"metrics": metrics, **scores, "unmet": jnp.max(unmet, initial=0.0)}, bars, direct


def _of_constraints(problem: Problem, by: Array, multipliers: Array, penalty: Array) -> Array:
    equality = multipliers * by + penalty * by**2 / 2
    inequality = (jnp.maximum(0.0, multipliers + penalty * by) ** 2 - multipliers**2) / (2 * penalty)
    return jnp.sum(jnp.where(problem.equal, equality, inequality))


def corrected(problem: Problem, out: Row, row: Row, by: Array, now: Array) -> tuple[Array, Array]:
    """Corrects multipliers and penalty in `out` where it is time to, and says whether either changed.

    Args:
        by: (C,) excess of the constraints at the last good point.
    """
    unmet, penalty = out["base_unmet"], row["penalty"]
    moved = row["multipliers"] + penalty * by
    moved = jnp.where(problem.equal, moved, jnp.maximum(0.0, moved))
    slow = (unmet > FALL * row["last_unmet"]) & (unmet > problem.wanted.constraint_tolerance)
    out["multipliers"] = jnp.where(now, moved, row["multipliers"])
    out["penalty"] = jnp.where(now & slow, GROWTH * penalty, penalty)
    out["last_unmet"] = jnp.where(now, unmet, row["last_unmet"])
    out["since"], out["base_by"] = jnp.where(now, 0, row["since"] + 1), by
    return jnp.any(out["multipliers"] != row["multipliers"]), out["penalty"] != penalty

"""Descent with optimisers of optax, constraints by an augmented Lagrangian. Run-time, JAX.

Of one start, with objective f, excess c of every constraint, multipliers l and penalty m, the merit is
    f + sum over equalities of (l c + m c^2 / 2) + sum over inequalities of (max(0, l + m c)^2 - l^2) / (2 m);
every few iterations the multipliers become l + m c, at least 0 of inequalities, and the penalty grows where what is
unmet, c or of inequalities max(c, -l / m), did not fall to a quarter (Nocedal, Wright, Numerical Optimization, 2006,
algorithm 17.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

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
from shiftjax.ensembles.study.optimization_words import MONOTONE, Wanted
from shiftjax.errors import ModelError

Array = Any  # of JAX, traced
GROWTH, FALL = 4.0, 0.25  # of the penalty, where what is unmet did not fall so far
TIRED = 6  # points in a row that are not good, after which the multipliers are corrected
LONGEST = 2.0  # change of a free number in a step of a method that goes down; from bound to bound it is about 8


class Descent(DescentMethod):
    """Descent with an optimiser of optax."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        wanted = problem.wanted
        self._optimiser = optimiser(wanted)
        self._down = wanted.method in MONOTONE

    def see(self, state: State) -> Seen:
        """Runs the points of those starts that have not ended."""
        members = np.flatnonzero(state["ended"] == 0)
        some = {name: state[name][members] for name in ("z", "multipliers", "penalty")}
        numbers, slopes = self._placed(some["z"])
        x = self.problem.designs(members, numbers)
        outputs, status = self.problem.runs.outputs(x)
        scores, bars = self._judged(outputs[:, self.problem.runs.recorded :], some["multipliers"], some["penalty"])
        scores["gradient"] = self.problem.runs.adjoint(x, bars[None])[0] * slopes
        scores |= jumps_and_growth(self.problem.runs.doubts)
        return filled(state, members, {**scores, "numbers": numbers, "status": status})

    # -- of one start --------------------------------------------------------------------------------------------------

    def _begin(self, z: Array, home: Array) -> Row:
        row = begun(z, home, len(self.problem.names))
        none = jnp.zeros(len(self.problem.equal))
        more = {"multipliers": none, "base_by": none, "penalty": jnp.asarray(self.problem.wanted.penalty)}
        more["since"] = jnp.asarray(0)
        return {**row, **more, "last_unmet": jnp.asarray(jnp.inf), "optimiser": self._optimiser.init(z)}

    def _judge(self, metrics: Array, multipliers: Array, penalty: Array) -> tuple[Row, Array]:
        """What is seen of metrics, and the cotangents of them."""

        def merit(metrics: Array) -> tuple[Array, tuple[Array, Array]]:
            objective, by = self.problem.value(metrics)
            return objective + self._lagrangian(by, multipliers, penalty), (objective, by)

        (total, (objective, by)), bars = jax.value_and_grad(merit, has_aux=True)(metrics)
        excess = jnp.max(jnp.where(self.problem.equal, jnp.abs(by), jnp.maximum(by, 0.0)), initial=0.0)
        unmet = jnp.max(
            jnp.abs(jnp.where(self.problem.equal, by, jnp.maximum(by, -multipliers / penalty))), initial=0.0
        )
        scores = {"objective": objective, "by": by, "excess": excess, "unmet": unmet, "merit": total}
        return {"metrics": metrics, **scores}, bars

    def _lagrangian(self, by: Array, multipliers: Array, penalty: Array) -> Array:
        equality = multipliers * by + penalty * by**2 / 2
        inequality = (jnp.maximum(0.0, multipliers + penalty * by) ** 2 - multipliers**2) / (2 * penalty)
        return jnp.sum(jnp.where(self.problem.equal, equality, inequality))

    def _advance(self, row: Row, seen: Row) -> Row:
        wanted = self.problem.wanted
        good = is_good(row, seen, down=self._down)
        changes, state = self._optimiser.update(seen["gradient"], row["optimiser"], row["z"])
        fresh = self._optimiser.init(row["z"])
        if self._down:
            changes, state = self._downward(changes, seen["gradient"], state, fresh)
        out = advanced(row, seen, row["z"] + changes, good, (wanted.tolerance, wanted.constraint_tolerance))
        out["optimiser"] = _chosen(good, state, row["optimiser"])
        if len(self.problem.equal):
            self._correct(out, row, seen, good, fresh)
        return _chosen(row["ended"] > 0, row, out)

    def _downward(self, changes: Array, gradient: Array, state: Any, fresh: Any) -> tuple[Array, Any]:
        """A step that goes down and is no longer than `LONGEST`; curvature that points up is forgotten."""
        descends = jnp.sum(changes * gradient) < 0
        changes = jnp.where(descends, changes, -gradient)
        return changes * jnp.minimum(1.0, LONGEST / jnp.max(jnp.abs(changes))), _chosen(descends, state, fresh)

    def _correct(self, out: Row, row: Row, seen: Mapping[str, Array], good: Array, fresh: Any) -> None:
        """Corrects multipliers and penalty now and then, also where nothing better is found.

        A method that goes down looks at the last good point again, whose merit is another one now.
        """
        wanted = self.problem.wanted
        by = jnp.where(good, seen["by"], row["base_by"])
        since, unmet, penalty = row["since"] + 1, out["base_unmet"], row["penalty"]
        now = good & (since >= wanted.correction_every)
        now = now | ((out["in_a_row"] >= TIRED) & jnp.isfinite(out["base_merit"])) if self._down else now
        moved = row["multipliers"] + penalty * by
        moved = jnp.where(self.problem.equal, moved, jnp.maximum(0.0, moved))
        slow = (unmet > FALL * row["last_unmet"]) & (unmet > wanted.constraint_tolerance)
        out["multipliers"] = jnp.where(now, moved, row["multipliers"])
        out["penalty"] = jnp.where(now & slow, GROWTH * penalty, penalty)
        out["last_unmet"] = jnp.where(now, unmet, row["last_unmet"])
        out["since"], out["base_by"] = jnp.where(now, 0, since), by
        if self._down:
            out["z"] = jnp.where(now, out["base"], out["z"])
            out["base_merit"] = jnp.where(now, jnp.inf, out["base_merit"])
            out["in_a_row"] = jnp.where(now, 0, out["in_a_row"])
            out["optimiser"] = _chosen(now, fresh, out["optimiser"])


def _chosen(first: Array, one: Any, other: Any) -> Any:
    """One nest of arrays or another."""
    return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)


def optimiser(wanted: Wanted) -> optax.GradientTransformation:
    """The optimiser of optax that is asked for.

    Raises:
        ModelError: an option that it does not have.
    """
    rate: Any = wanted.learning_rate
    if wanted.final_learning_rate is not None:
        rate = optax.exponential_decay(rate, wanted.iterations, wanted.final_learning_rate / rate)
    options = dict(wanted.options)
    if wanted.method in MONOTONE:  # points that go up are halved back here
        options["linesearch"] = None
    try:
        return getattr(optax, wanted.method)(rate, **options)
    except TypeError as error:
        allowed = f"options of optax.{wanted.method}"
        raise ModelError("optimize.options", str(error), allowed, "Correct it, or leave it out.") from None

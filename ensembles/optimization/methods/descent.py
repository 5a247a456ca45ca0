"""Descent with optimisers of optax in a box, constraints by an augmented Lagrangian. Run-time, JAX.

A step of the optimiser is projected into the box (Bertsekas, On the Goldstein-Levitin-Polyak gradient projection
method, IEEE Transactions on Automatic Control 21, 1976). Numbers that stand at a bound across which the merit falls get
no gradient, so that what the optimiser remembers of them does not grow while they cannot move.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax

from shiftjax.ensembles.optimization.methods.lagrangian import begun_multipliers, corrected, judged
from shiftjax.ensembles.optimization.methods.one_start import (
    Row,
    Seen,
    State,
    advanced,
    begun,
    chosen,
    ending,
    filled,
    is_finite,
    jumps_and_growth,
)
from shiftjax.ensembles.optimization.problem import DescentMethod, Problem
from shiftjax.ensembles.study.optimization_words import Wanted
from shiftjax.errors import ModelError

Array = Any  # of JAX, traced
QUARTER = 4.0  # of the distance of two bounds is the unit of a step: a rate of 0.05 is 1/80 of it


class Descent(DescentMethod):
    """Descent with an optimiser of optax."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._optimiser, self.box = optimiser(problem.wanted), problem.space
        both = np.isfinite(self.box.lower) & np.isfinite(self.box.upper)
        self._units = np.where(both, QUARTER, 1.0)  # in the box, or in the size of numbers without two bounds
        self._middle = np.where(both, 0.5, 0.0)  # to which weights decay, where an optimiser has that

    def see(self, state: State) -> Seen:
        """Runs the points of those starts that have not ended."""
        members = np.flatnonzero(state["ended"] == 0)
        some = {name: state[name][members] for name in ("z", "multipliers", "penalty")}
        numbers, slopes = self._placed(some["z"])
        x = self.problem.designs(members, numbers)
        outputs, status = self.problem.runs.outputs(x)
        metrics = outputs[:, self.problem.runs.recorded :]
        scores, bars, direct = self._judged(metrics, x, some["multipliers"], some["penalty"])
        scores["gradient"] = (self.problem.runs.adjoint(x, bars[None])[0] + self.problem.of_parameters(direct)) * slopes
        scores |= jumps_and_growth(self.problem.runs.doubts)
        once = np.ones(len(members), np.int32)
        counts = {"at": some["z"], "tried": once, "sloped": once}
        return filled(state, members, {**scores, **counts, "numbers": numbers, "status": status})

    # -- of one start --------------------------------------------------------------------------------------------------

    def _begin(self, z: Array, home: Array) -> Row:
        row = {**begun(z, home, len(self.problem.names)), **begun_multipliers(self.problem)}
        return {**row, "optimiser": self._optimiser.init(self._weights(z))}

    def _weights(self, z: Array) -> Array:
        """What the optimiser knows of the free numbers."""
        return self._units * (z - self._middle)

    def _judge(self, metrics: Array, x: Array, multipliers: Array, penalty: Array) -> tuple[Row, Array, Array]:
        return judged(self.problem, metrics, x, multipliers, penalty)

    def _advance(self, row: Row, seen: Row) -> Row:
        wanted = self.problem.wanted
        way = self.box.projected(row["z"], seen["gradient"])
        good, size = is_finite(seen), jnp.linalg.norm(way)
        slope = jnp.where(way == 0.0, 0.0, seen["gradient"]) / self._units
        changes, state = self._optimiser.update(slope, row["optimiser"], self._weights(row["z"]))
        out = advanced(row, seen, good, wanted.constraint_tolerance, size)
        ahead = self.box.inside(row["z"] + changes / self._units)
        out["z"] = jnp.where(good, ahead, (row["z"] + row["base"]) / 2)
        out["optimiser"] = chosen(good, state, row["optimiser"])
        arrived = good & (size <= wanted.tolerance) & (seen["unmet"] <= wanted.constraint_tolerance)
        out["ended"] = ending(out, arrived)
        if len(self.problem.equal):
            by = jnp.where(good, seen["by"], row["base_by"])
            corrected(self.problem, out, row, by, good & (row["since"] + 1 >= wanted.correction_every))
        return chosen(row["ended"] > 0, row, out)


def optimiser(wanted: Wanted) -> optax.GradientTransformation:
    """The optimiser of optax that is asked for.

    Raises:
        ModelError: an option that it does not have.
    """
    rate: Any = wanted.learning_rate
    if wanted.final_learning_rate is not None:
        rate = optax.exponential_decay(rate, wanted.iterations, wanted.final_learning_rate / rate)
    try:
        return getattr(optax, wanted.method)(rate, **dict(wanted.options))
    except TypeError as error:
        allowed = f"options of optax.{wanted.method}"
        raise ModelError("optimize.options", str(error), allowed, "Correct it, or leave it out.") from None

"""Descent with optimisers of optax, constraints by an augmented Lagrangian. Run-time, JAX.

Of one start, with objective f, excess c of every constraint, multipliers l and penalty m, the merit is
    f + sum over equalities of (l c + m c^2 / 2) + sum over inequalities of (max(0, l + m c)^2 - l^2) / (2 m);
every few iterations the multipliers become l + m c, at least 0 of inequalities, and the penalty grows where the
excess did not fall to a quarter (Nocedal, Wright, Numerical Optimization, 2006, algorithm 17.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from shiftjax.ensembles.optimization.one_start import Row, advanced, begun, is_good
from shiftjax.ensembles.optimization.problem import Problem
from shiftjax.ensembles.optimization.space import ByMember
from shiftjax.ensembles.optimization.words import MONOTONE, Wanted
from shiftjax.errors import ModelError

Array = Any  # of JAX, traced
GROWTH, FALL = 4.0, 0.25  # of the penalty, where the excess did not fall so far
Seen = dict[str, np.ndarray]  # what was found of every start, each (N, ...)
State = dict[str, Any]  # of every start, arrays (N, ...)


class Descent:
    """A method of the problem's starts: `begin`, then `see` and `advance` in turns."""

    def __init__(self, problem: Problem) -> None:
        self.problem, wanted = problem, problem.wanted
        self._optimiser = optimiser(wanted)
        self._down = wanted.method in MONOTONE
        self._begun, self._placed = ByMember(self._begin), ByMember(problem.place)
        self._judged, self._advanced = ByMember(self._judge), ByMember(self._advance)

    def begin(self) -> State:
        """The state of all starts, before anything is run."""
        z = self.problem.starts()
        return self._begun(z, np.broadcast_to(self.problem.home(), z.shape))

    def place(self, z: np.ndarray) -> np.ndarray:
        """(N, P) parameters of free numbers (N, P)."""
        return self._placed(z)[0]

    def see(self, state: State) -> Seen:
        """Runs the points of those starts that have not ended."""
        members = np.flatnonzero(state["ended"] == 0)
        some = {name: state[name][members] for name in ("z", "multipliers", "penalty")}
        numbers, slopes = self._placed(some["z"])
        x = self.problem.designs(members, numbers)
        outputs, status = self.problem.runs.outputs(x)
        found, bars = self._judged(outputs[:, self.problem.runs.recorded :], some["multipliers"], some["penalty"])
        found["gradient"] = self.problem.runs.adjoint(x, bars[None])[0] * slopes
        return filled(state, members, {**found, "numbers": numbers, "status": status})

    def advance(self, state: State, seen: Seen) -> State:
        """The state after the points were seen. Nothing is run, so that a stored history gives the same state again."""
        return self._advanced(state, seen)

    # -- of one start --------------------------------------------------------------------------------------------------

    def _begin(self, z: Array, home: Array) -> Row:
        row = begun(z, home, len(self.problem.names))
        multipliers = jnp.zeros(len(self.problem.equal))
        more = {"multipliers": multipliers, "penalty": jnp.asarray(self.problem.wanted.penalty)}
        return {**row, **more, "last_excess": jnp.asarray(jnp.inf), "optimiser": self._optimiser.init(z)}

    def _judge(self, metrics: Array, multipliers: Array, penalty: Array) -> tuple[Row, Array]:
        """What is seen of metrics, and the cotangents of them."""

        def merit(metrics: Array) -> tuple[Array, tuple[Array, Array]]:
            objective, by = self.problem.value(metrics)
            return objective + self._lagrangian(by, multipliers, penalty), (objective, by)

        (total, (objective, by)), bars = jax.value_and_grad(merit, has_aux=True)(metrics)
        excess = jnp.max(jnp.where(self.problem.equal, jnp.abs(by), jnp.maximum(by, 0.0)), initial=0.0)
        return {"metrics": metrics, "objective": objective, "by": by, "excess": excess, "merit": total}, bars

    def _lagrangian(self, by: Array, multipliers: Array, penalty: Array) -> Array:
        equality = multipliers * by + penalty * by**2 / 2
        inequality = (jnp.maximum(0.0, multipliers + penalty * by) ** 2 - multipliers**2) / (2 * penalty)
        return jnp.sum(jnp.where(self.problem.equal, equality, inequality))

    def _advance(self, row: Row, seen: Row) -> Row:
        wanted = self.problem.wanted
        good = is_good(row, seen, down=self._down)
        changes, state = self._optimiser.update(seen["gradient"], row["optimiser"], row["z"])
        out = advanced(row, seen, row["z"] + changes, good, (wanted.tolerance, wanted.constraint_tolerance))
        out["optimiser"] = jax.tree.map(lambda new, old: jnp.where(good, new, old), state, row["optimiser"])
        if len(self.problem.equal):
            self._correct(out, row, seen, good)
        return jax.tree.map(lambda new, old: jnp.where(row["ended"] > 0, old, new), out, row)

    def _correct(self, out: Row, row: Row, seen: Mapping[str, Array], good: Array) -> None:
        """Corrects multipliers and penalty now and then."""
        now = good & (out["asked"] % self.problem.wanted.correction_every == 0)
        penalty, by = row["penalty"], seen["by"]
        moved = row["multipliers"] + penalty * by
        moved = jnp.where(self.problem.equal, moved, jnp.maximum(0.0, moved))
        slow = (seen["excess"] > FALL * row["last_excess"]) & (seen["excess"] > self.problem.wanted.constraint_tolerance)
        out["multipliers"] = jnp.where(now, moved, row["multipliers"])
        out["penalty"] = jnp.where(now & slow, GROWTH * penalty, penalty)
        out["last_excess"] = jnp.where(now, seen["excess"], row["last_excess"])
        merit = seen["objective"] + self._lagrangian(by, out["multipliers"], out["penalty"])
        out["base_merit"] = jnp.where(now, merit, out["base_merit"])


def filled(state: State, members: np.ndarray, found: Seen) -> Seen:
    """What was found of some starts as that of all: 0 for those that have ended, and no NaN but an infinite merit for
    those whose run, objective or gradient is none."""
    finite = (found["status"] <= 0) & np.isfinite(found["merit"]) & np.isfinite(found["objective"])
    finite &= np.isfinite(found["gradient"]).all(axis=1)
    out = {}
    for name, values in found.items():
        axes = (slice(None), *(None,) * (values.ndim - 1))
        lost = np.inf if name in ("merit", "objective", "excess") else 0
        values = values if name in ("status", "numbers") else np.where(finite[axes], values, lost)
        out[name] = np.zeros((len(state["z"]), *values.shape[1:]), values.dtype)
        out[name][members] = values
    return out


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

"""The state of a start that all methods share: its last good point, its best design, how it ended. Run-time, JAX.

A point is good where the run reaches its end and objective and gradient are finite numbers, and, with a method that
goes down only, the merit falls enough. From any other the start turns back. A start none of whose points was good yet
turns to the model's own design.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.study.optimization_words import DescentEnding
from shiftjax.gradients.doubts import Doubts

Array = Any  # of JAX, traced
Row = dict[str, Any]  # arrays of one start
Seen = dict[str, np.ndarray]  # what was seen of every start, each (N, ...)
State = dict[str, Any]  # of every start, arrays (N, ...)
WHATEVER = ("status", "numbers", "at", "tried", "sloped")  # of every point, whatever came of it
PATIENCE = 30  # points in a row that are not good, each half as far away


def begun(z: Array, home: Array, metrics: int) -> Row:
    """A start at free numbers z (P,) whose model's own design is at `home` (P,)."""
    inf, none = jnp.asarray(jnp.inf), jnp.asarray(0)
    best = {"best": z, "best_objective": inf, "best_excess": inf, "best_metrics": jnp.zeros(metrics)}
    best |= {"best_jumps": none, "best_growth": jnp.asarray(0.0)}
    good = {"base": home, "base_merit": inf, "base_objective": inf, "base_excess": inf, "base_unmet": inf}
    good |= {"base_gradient": inf, "base_uncertain": none}
    counts = dict.fromkeys(("ran", "halved", "in_a_row", "ended", "asked", "runs", "slopes"), none)
    return {"z": z, **good, **best, **counts}


def advanced(row: Row, seen: Mapping[str, Array], good: Array, allowed: float, size: Array) -> Row:
    """The start after a point was seen, but for the next one and whether it ends here.

    Args:
        seen: `at` (P,), the point; its metrics, status, jumps, growth, uncertain, objective, excess, merit, by how
            much it does not meet the conditions of its constraints, `unmet`, how many points were `tried`, it the last,
            and how many `sloped`, with slopes. good: whether it is.
        allowed: excess of constraints. size: of the gradient there.
    """
    below = (seen["excess"] <= allowed) & (seen["objective"] < row["best_objective"])
    closer = jnp.where(row["best_excess"] <= allowed, below, below | (seen["excess"] < row["best_excess"]))
    first_allowed = (seen["excess"] <= allowed) & (row["best_excess"] > allowed)
    better = good & (closer | first_allowed)
    out = dict(row)
    best = {"best": seen["at"], "best_metrics": seen["metrics"]}
    best |= {f"best_{name}": seen[name] for name in ("objective", "excess", "jumps", "growth")}
    base = {"base": seen["at"], "base_gradient": size}
    base |= {f"base_{name}": seen[name] for name in ("merit", "objective", "excess", "unmet", "uncertain")}
    for is_new, values in ((better, best), (good, base)):
        out |= {name: jnp.where(is_new, value, row[name]).astype(row[name].dtype) for name, value in values.items()}
    out["ran"] = jnp.where(seen["status"] <= 0, 1, row["ran"])
    out["in_a_row"] = jnp.where(good, 0, row["in_a_row"] + 1)
    out["halved"] = row["halved"] + seen["tried"] - jnp.where(good, 1, 0)
    out["asked"], out["runs"] = row["asked"] + 1, row["runs"] + seen["tried"]
    out["slopes"] = row["slopes"] + seen["sloped"]
    return out


def ending(row: Row, arrived: Array, patience: int = PATIENCE) -> Array:
    """How a start ended, 0 where it goes on, after as many points in a row that are not good as there is patience.

    It does not converge by slopes that may be wrong.
    """
    arrived = arrived & (row["base_uncertain"] == 0)
    tired = jnp.where(row["ran"] > 0, int(DescentEnding.stalled), int(DescentEnding.infeasible))
    return jnp.where(arrived, int(DescentEnding.converged), jnp.where(row["in_a_row"] >= patience, tired, 0))


def chosen(first: Array, one: Any, other: Any) -> Any:
    """One nest of arrays or another."""
    return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)


def is_finite(seen: Mapping[str, Any]) -> Any:
    """Whether a point has a value: its run reached its end, and what follows is a number."""
    finite = seen["status"] <= 0
    for name in ("merit", "objective", "excess"):
        finite = finite & jnp.isfinite(seen[name])
    return finite


def jumps_and_growth(doubts: Doubts) -> Seen:
    """What gradients say of themselves: how often forces jumped, which they ignore, how small changes grow, and whether
    a slope of a metric may be wrong."""
    uncertain = doubts.uncertain.astype(np.int32)
    return {"jumps": doubts.jumps.astype(np.int32), "growth": np.nan_to_num(doubts.growth), "uncertain": uncertain}


def filled(state: State, members: np.ndarray, scores: Seen) -> Seen:
    """What was seen of some starts as that of all: 0 for those that have ended, and no NaN but an infinite merit for
    those whose run, objective or gradient is none."""
    finite = (scores["status"] <= 0) & np.isfinite(scores["merit"]) & np.isfinite(scores["objective"])
    finite &= np.isfinite(scores["gradient"]).all(axis=1)
    out = {}
    for name, values in scores.items():
        axes = (slice(None), *(None,) * (values.ndim - 1))
        lost = np.inf if name in ("merit", "objective", "excess", "unmet") else 0
        values = values if name in WHATEVER else np.where(finite[axes], values, np.asarray(lost, values.dtype))
        out[name] = np.zeros((len(state["z"]), *values.shape[1:]), values.dtype)
        out[name][members] = values
    return out

"""The state of a start that all methods share: its last good point, its best design, how it ended. Run-time, JAX.

A point is good where the run reaches its end and objective and gradient are finite numbers, and, with a method that
goes down only, the merit is less than at the last good one. From any other the start turns half way back. A start none
of whose points was good yet turns to the model's own design.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.study.optimization_words import DescentEnding
from shiftjax.gradients.doubts import Doubts

Array = Any  # of JAX, traced
Row = dict[str, Any]  # arrays of one start
Seen = dict[str, np.ndarray]  # what was seen of every start, each (N, ...)
State = dict[str, Any]  # of every start, arrays (N, ...)
PATIENCE = 30  # points in a row that are not good, each half as far away


def begun(z: Array, home: Array, metrics: int) -> Row:
    """A start at free numbers z (P,) whose model's own design is at `home` (P,)."""
    inf, none = jnp.asarray(jnp.inf), jnp.asarray(0)
    best = {"best": z, "best_objective": inf, "best_excess": inf, "best_metrics": jnp.zeros(metrics)}
    best |= {"best_jumps": none, "best_growth": jnp.asarray(0.0)}
    good = {"base": home, "base_merit": inf, "base_objective": inf, "base_excess": inf, "base_unmet": inf}
    good["base_gradient"] = inf
    return {"z": z, **good, **best, "ran": none, "halved": none, "in_a_row": none, "ended": none, "asked": none}


def advanced(row: Row, seen: Mapping[str, Array], ahead: Array, good: Array, tolerances: tuple[float, float]) -> Row:
    """The start after a point was seen.

    Args:
        seen: metrics, status, jumps, growth, uncertain, objective, excess, merit, gradient of the point, and by how
            much it does not meet the conditions of its constraints, `unmet`. ahead: (P,) the next one, from a good one.
        good: whether it is. tolerances: of the gradient's norm, and of the excess of constraints.
    """
    size = jnp.sqrt(jnp.sum(seen["gradient"] ** 2))
    allowed = tolerances[1]
    below = (seen["excess"] <= allowed) & (seen["objective"] < row["best_objective"])
    closer = jnp.where(row["best_excess"] <= allowed, below, below | (seen["excess"] < row["best_excess"]))
    first_allowed = (seen["excess"] <= allowed) & (row["best_excess"] > allowed)
    better = good & (closer | first_allowed)
    out = dict(row)
    for name, value in (("best", row["z"]), ("best_objective", seen["objective"]), ("best_excess", seen["excess"])):
        out[name] = jnp.where(better, value, row[name])
    out["best_metrics"] = jnp.where(better, seen["metrics"], row["best_metrics"])
    values = {"base": row["z"], "base_gradient": size}
    values |= {f"base_{name}": seen[name] for name in ("merit", "objective", "excess", "unmet")}
    for name, value in values.items():
        out[name] = jnp.where(good, value, row[name])
    for name in ("jumps", "growth"):
        out[f"best_{name}"] = jnp.where(better, seen[name], row[f"best_{name}"]).astype(row[f"best_{name}"].dtype)
    out["ran"] = jnp.where(seen["status"] <= 0, 1, row["ran"])
    out["in_a_row"] = jnp.where(good, 0, row["in_a_row"] + 1)
    out["halved"] = row["halved"] + jnp.where(good, 0, 1)
    out["asked"] = row["asked"] + 1
    out["z"] = jnp.where(good, ahead, (row["z"] + row["base"]) / 2)
    arrived = good & (size <= tolerances[0]) & (seen["unmet"] <= allowed) & (seen["uncertain"] == 0)
    tired = jnp.where(out["ran"] > 0, int(DescentEnding.stalled), int(DescentEnding.infeasible))
    out["ended"] = jnp.where(arrived, int(DescentEnding.converged), jnp.where(out["in_a_row"] >= PATIENCE, tired, 0))
    return out


def is_good(row: Row, seen: Mapping[str, Array], *, down: bool) -> Array:
    """Whether a point is good."""
    finite = jnp.isfinite(seen["merit"]) & (seen["status"] <= 0)
    return finite & (seen["merit"] < row["base_merit"]) if down else finite


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
        values = values if name in ("status", "numbers") else np.where(finite[axes], values, lost)
        out[name] = np.zeros((len(state["z"]), *values.shape[1:]), values.dtype)
        out[name][members] = values
    return out

"""What methods share that keep to the box of their bounds by projection and go down only. Run-time, JAX.

A point is run without slopes first. It is accepted where the merit falls by a share of what the step promised; only
then are its slopes taken. What was seen of a point says whether it was, so that a stored history leads to the same
state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.optimization.methods.one_start import Row, Seen, State, filled, is_finite, jumps_and_growth
from shiftjax.ensembles.optimization.problem import DescentMethod, Problem
from shiftjax.ensembles.optimization.space import MemberwiseFunction

Array = Any  # of JAX, traced
FORGOTTEN = ("x", "outputs", "bars", "direct")  # of what was seen: what follows from the rest, or is not needed again
ENOUGH = 1e-4  # of the promised fall of the merit
ROUNDING = 1e-15  # of the merit, within which two values are equal


class ProjectedMethod(DescentMethod):
    """A method whose numbers are in a box.

    Attributes:
        tries: points on the way to the one that is wanted, at most, in an iteration.
    """

    tries = 1

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.box = problem.space
        self._turned = MemberwiseFunction(self._nearer)

    def see(self, state: State) -> Seen:
        """Runs the points of those starts that have not ended; those that are not accepted nearer to the last one."""
        members = np.flatnonzero(state["ended"] == 0)
        rows = {name: values[members] for name, values in state.items()}
        scores = self._tried(members, rows, rows["z"])
        scores["tried"] = np.ones(len(members), np.int32)
        for _ in range(self.tries - 1):
            again = np.flatnonzero(~scores["accepted"])
            if not len(again):
                break
            some = {name: values[again] for name, values in rows.items()}
            points = self._turned(some, {name: values[again] for name, values in scores.items()})
            for name, values in self._tried(members[again], some, points).items():
                scores[name][again] = values
            scores["tried"][again] += 1
        return filled(state, members, self._with_slopes(members, rows, scores))

    def _tried(self, members: np.ndarray, rows: State, at: np.ndarray) -> Seen:
        """What comes of points, without slopes."""
        numbers, _ = self._placed(at)
        x = self.problem.designs(members, numbers)
        outputs, status = self.problem.runs.outputs(x)
        seen = {"at": at, "x": x, "outputs": np.where(status[:, None] > 0, 0.0, outputs), "status": status}
        return {**seen, "numbers": numbers, **self._judged(rows, seen)}

    def _with_slopes(self, members: np.ndarray, rows: State, scores: Seen) -> Seen:
        """What was seen, with the slopes of the points that are accepted, 0 of the others."""
        accepted = np.flatnonzero(scores["accepted"])
        whole = len(accepted) == len(members)  # whose runs are remembered
        some = rows if whole else {name: values[accepted] for name, values in rows.items()}
        of_some = scores if whole else {name: values[accepted] for name, values in scores.items()}
        slopes = self._sloped(some, of_some) | jumps_and_growth(self.problem.runs.doubts) if len(accepted) else {}
        scores["sloped"] = scores["accepted"].astype(np.int32)
        for name, (shape, dtype) in self._shapes().items():
            scores[name] = np.zeros((len(members), *shape), dtype)
            if name in slopes:
                scores[name][accepted] = slopes[name]
        scores["accepted"] = scores["accepted"] & np.isfinite(scores["gradient"]).all(axis=1)
        scores["accepted"] = scores["accepted"].astype(np.int32)
        return {name: values for name, values in scores.items() if name not in FORGOTTEN}

    def _sloped(self, rows: State, scores: Seen) -> Seen:
        """Slopes of points: `gradient`, by the numbers in the box, and what else `_shapes` names."""
        raise NotImplementedError

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Shape of what slopes give of one start."""
        counts = dict.fromkeys(("jumps", "uncertain"), ((), np.int32))
        return {"gradient": ((len(self.problem.parameters),), float), **counts, "growth": ((), float)}

    # -- of one start --------------------------------------------------------------------------------------------------

    def _nearer(self, row: Row, seen: Row) -> Array:
        """A point between the last good one and one that is not accepted: half way, or where a parabola through both
        is lowest."""
        way = seen["at"] - row["base"]
        slope = jnp.sum(row.get("slope", jnp.zeros_like(way)) * way)
        rise = seen["merit"] - row["base_merit"] - slope
        lowest = jnp.where((slope < 0) & (rise > 0), -slope / (2 * rise), 0.5)
        share = jnp.where(is_finite(seen) & jnp.isfinite(lowest), jnp.clip(lowest, 0.1, 0.5), 0.5)
        return row["base"] + share * way


def falls(row: Row, seen: Mapping[str, Array], promised: Array) -> Array:
    """Whether the merit falls by enough of what was promised, or stays equal within rounding where no more was
    promised and no step was shortened; every point that has a value does where there was none before."""
    fall, size = row["base_merit"] - seen["merit"], jnp.abs(row["base_merit"])
    equal = (row["in_a_row"] == 0) & (promised <= ROUNDING * size) & (fall >= -ROUNDING * size)
    enough = (fall > 0) & (fall >= ENOUGH * promised)
    return is_finite(seen) & (~jnp.isfinite(row["base_merit"]) | enough | equal)

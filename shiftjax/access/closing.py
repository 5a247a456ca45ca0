"""Closing loops inside JAX: all places and speeds from the independent ones, with exact first and second derivatives.

Newton's method on J_d x = -Phi with the independent coordinates held. Its iterations are not differentiated: from where
they end two more steps are, of which each leaves an error of the square of that before, so that the derivatives of the
closed pose by everything come out to second order (Bolte, Pauwels, Vaiter, One-Step Differentiation of Iterative
Algorithms, 2023; Griewank, Walther, Evaluating Derivatives, chapter 15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from shiftjax.access.answers import Answers, Nested, Question
from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.dynamics.kinematics import retract
from shiftjax.dynamics.reduction import Column
from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import listed

ITERATIONS = 12  # from 30 degrees away four-bars need 6
DIFFERENTIATED = 2
CLOSED = 1e-8  # parts of the model's length, rad: in double precision all that converge end near 1e-15
CLOSED_SINGLE = 1e-4


def _newton_step(at: LaneState) -> Nested:
    """(nq,) coordinates after one step, the independent ones as they are."""
    change: Column = {}
    for block, rows in zip(at.ground.partition.blocks, at.rows, strict=True):
        change |= {k: -x for k, x in at.lane.solve(block, rows, rows.phi).particular.items()}
    return retract(at.plan, list(at.q), change)


NEWTON_STEP, SPEEDS = Question("newton step", _newton_step), Question("speeds", LaneState.following_speeds)
GAPS = Question("phi", lambda at: [x for rows in at.rows for x in rows.phi])


def independent_places(ground: Ground) -> list[int]:
    """Where the independent coordinates stand among all.

    Raises:
        ModelError: those of balls and floating bodies among them, which are no rates of coordinates.
    """
    places = {one.v: one.q for one in ground.plan.coordinates if one.plain}
    names = ground.plan.speed_names()
    if odd := [names[k] for k in ground.independent if k not in places]:
        todo = "Name others by `independent` of the configuration, or take `function`."
        raise ModelError("closed_function", f"{listed(odd)} independent", "coordinates of one number", todo)
    return [places[k] for k in ground.independent]


class LoopsInJax:
    """All places and speeds of one member by the independent ones, near a pose.

    Args:
        inputs: coordinates, speeds -> all numbers of a state, in the order of `Ground.parts`.
    """

    def __init__(self, answers: Answers, inputs: Callable[[Any, Any], Sequence[Any]], dtype: Any) -> None:
        self.answers, self.inputs, self.dtype = answers, inputs, dtype
        ground = answers.ground
        self.places = jnp.asarray(independent_places(ground), int)
        self.speeds = jnp.asarray(ground.independent, int)
        self.rest = jnp.zeros(ground.plan.nv, dtype)

    def _ask(self, question: Question, q: Any, v: Any) -> Any:
        return self.answers.in_jax(question, self.inputs(q, v), self.dtype)

    def closed(self, near: Any, q: Any, v: Any) -> tuple[Any, Any]:
        """(nq,) coordinates and (nv,) speeds; NaN where Newton's method does not end.

        Args:
            near: (nq,) a pose from which it begins. q, v: (n,) the independent ones.
        """

        def step(_: int, pose: Any) -> Any:
            return self._ask(NEWTON_STEP, pose, self.rest)

        begun = near.at[self.places].set(q)
        pose = jax.lax.stop_gradient(jax.lax.fori_loop(0, ITERATIONS, step, begun))
        pose = pose.at[self.places].set(q)
        for k in range(DIFFERENTIATED):
            pose = step(k, pose)
        gaps = self._ask(GAPS, pose, self.rest)
        limit = CLOSED if self.dtype == jnp.float64 else CLOSED_SINGLE
        good = jnp.max(jnp.abs(gaps), initial=0.0) < limit * max(1.0, self.answers.ground.length)
        pose = jnp.where(good, pose, jnp.full_like(pose, jnp.nan))
        return pose, self._ask(SPEEDS, pose, self.rest.at[self.speeds].set(v))

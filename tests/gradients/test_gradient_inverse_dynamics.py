"""Slopes of inverse dynamics (D24): against differences, and what has none."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.gradients.inverse_dynamics import inverse_dynamics
from tests.mechanics.test_inverse_dynamics import FOUR, LOOPS

SLOPE = 1e-6  # relative: central differences of 1e-5


def test_slopes_are_those_of_differences() -> None:
    """Of a torque on another joint than that which is known to move, with a mass and with the motion itself."""

    def torque(mass: Any, q: Any) -> Any:
        motion = {"j0": (q, jnp.array([3.0, 2.0]), jnp.array([1.0, -1.0]))}
        answer = inverse_dynamics(FOUR, motion, forces=["j3"], vary={"b1.mass": jnp.reshape(mass, 1)})
        assert answer.units == {"j3": "N m"}
        return jnp.sum(answer.forces["j3"])

    mass, q, h = jnp.asarray(1.2), jnp.array([0.4, 1.7]), 1e-5
    value, slopes = jax.value_and_grad(torque, (0, 1))(mass, q)
    assert abs(value - torque(mass, q)) < LOOPS * abs(value)
    by_mass = (torque(mass + h, q) - torque(mass - h, q)) / (2 * h)
    moved = [(torque(mass, q.at[k].add(h)) - torque(mass, q.at[k].add(-h))) / (2 * h) for k in range(2)]
    assert abs(slopes[0] - by_mass) < SLOPE * abs(by_mass)
    assert np.abs(slopes[1] - np.array(moved)).max() < SLOPE * np.abs(moved).max()


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"times": [0.0, 1.0]}, "times: found a call that JAX traces"),
        ({"forces": ["j0", "j3"]}, "found 2 of them for 1 freedoms, in a call that JAX traces"),
        ({"forces": ["j3"], "channels": ["j1.reaction_force"]}, r"channels of loads, j1\.reaction_force"),
    ],
)
def test_what_has_no_slopes_is_refused(more: dict[str, Any], match: str) -> None:
    q = jnp.array([0.4, 1.7])
    with pytest.raises(ModelError, match=match):
        jax.grad(lambda x: inverse_dynamics(FOUR, {"j0": (x, q, q)}, **more).forces["j0"].sum())(q)

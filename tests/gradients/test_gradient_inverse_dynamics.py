"""Slopes of inverse dynamics (D24): against differences, and what has none."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.inverse.inverse_dynamics import inverse_dynamics
from shiftjax.outcome import Outcome
from shiftjax.run.assemble import assemble
from tests.inverse.test_inverse_dynamics import FOUR, LOOPS, asked, loop
from tests.inverse.test_inverse_instants import DEAD

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


def test_a_result_is_refused_by_name() -> None:
    run = assemble(FOUR, channels=asked("j0"))

    def torque(mass: Any) -> Any:
        return inverse_dynamics(FOUR, {"j0": run}, vary={"b1.mass": mass}).forces["j0"].sum()

    with pytest.raises(ModelError, match="motion j0: found a result, in a call that JAX traces"):
        jax.grad(torque)(jnp.ones(1))


def test_a_dead_centre_has_a_status_and_no_slope() -> None:
    """Compiled, by forward mode: the other instant has the force and the slope that it has alone."""

    def torque(mass: Any, q: Any) -> Any:
        motion = {"j0": (q, jnp.full(len(q), 2.0), jnp.ones(len(q)))}
        answer = inverse_dynamics(FOUR, motion, forces=["j3"], vary={"b1.mass": jnp.reshape(mass, 1)})
        return answer.forces["j3"], answer.status

    mass = jnp.asarray(1.2)
    (forces, status), (slopes, _) = jax.jit(
        lambda mass: jax.jvp(lambda m: torque(m, np.array([DEAD, 0.4])), (mass,), (jnp.ones(()),))
    )(mass)
    alone = jax.grad(lambda m: torque(m, np.array([0.4]))[0].sum())(mass)
    assert status.tolist() == [[int(Outcome.singular_pose), 0]]
    assert np.isnan(forces[0, 0]) and np.isfinite(forces[0, 1])
    assert abs(slopes[0, 1] - alone) < LOOPS * abs(alone)


def test_the_end_of_a_travel_is_no_matter_of_the_next_millisecond() -> None:
    """Coupler and rocker are in line at -1.7722 rad, 0.4 ms from the instant."""
    model = loop(links=(0.4, 0.3, 0.4))

    def answer(q: Any) -> Any:
        return inverse_dynamics(model, {"j0": (q, np.array([-5.0]), np.array([0.0]))})

    q, h = np.array([-1.77]), 1e-7
    traced = jax.jit(lambda x: (answer(x).status, answer(x).forces["j0"]))(q)
    assert traced[0].tolist() == answer(q).status.tolist() == [0]
    slope = jax.grad(lambda x: answer(x).forces["j0"].sum())(jnp.asarray(q))
    low, high = (answer(q + step).forces["j0"] for step in (-h, h))
    assert abs(slope[0] - (high[0] - low[0]) / (2 * h)) < 1e-3 * abs(slope[0])  # of curvature over 2 mrad, squared

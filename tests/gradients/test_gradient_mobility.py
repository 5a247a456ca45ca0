"""Numbers whose neighbours do not move: closed poses beside the design, and no motion through them (F25)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import shiftjax
from shiftjax import Model, ModelError, Outcome
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.gradients.start.assembled_start import StartDerivative
from shiftjax.run.options import options_of

CRANK, COUPLER = np.deg2rad(60.0), np.deg2rad(-33.0)
TURNED = 1e-3  # rad
CENTRAL = 1e-5  # relative, of differences at steps of 1e-3


def four_bar_with_a_ball() -> Model:
    """A planar four-bar whose last pivot is a ball: the axis of the pin before it may turn about the rocker's line."""
    turned = Rotation.from_euler("y", CRANK + COUPLER)
    pin = Rotation.from_euler("y", CRANK).apply([0.2, 0, 0]) + turned.apply([0.5, 0, 0])
    x, _, z = np.array([0.5, 0.0, 0.0]) - pin
    along = Rotation.from_euler("y", np.arctan2(-z, x)) * turned.inv()
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 9.81)).frame("ground", T=(0.5, 0.0, 0.0))
    a = builder.assembly("a")
    inertia: dict[str, Any] = {"inertia": (1e-3, 1e-2, 1e-2)}
    tip = {"T": [0.5, 0.0, 0.0], "R": along.as_matrix().tolist()}
    a.body("crank", mass=0.5, center_of_mass=(0.1, 0.0, 0.0), frames={"tip": (0.2, 0.0, 0.0)}, **inertia)
    a.body("coupler", mass=1.2, center_of_mass=(0.25, 0.0, 0.0), frames={"tip": tip}, **inertia)
    a.body("rocker", mass=1.0, center_of_mass=(0.2, 0, 0), frames={"end": (float(np.hypot(x, z)), 0, 0)}, **inertia)
    a.joint("crank_pivot", "Ry", child="crank", initial_displacement=CRANK, initial_velocity=6.0)
    a.joint("crank_pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=COUPLER)
    a.joint("rocker_pin", "Ry", parent=("coupler", "tip"), child="rocker")
    a.joint("ball", "spherical", parent=("fixed", "ground"), child=("rocker", "end"))
    return builder.build()


def last(path: str, values: Any) -> Any:
    given: dict[str, Any] = {"span": 0.2, "hold": ["crank_pivot"], "metrics": {"x": "final(crank_pivot.q)"}}
    return shiftjax.simulate(four_bar_with_a_ball(), vary={path: values}, **given)


def test_an_axis_that_locks_a_loop_when_it_turns_is_refused() -> None:
    """The pose stays closed, the runs beside it stand still: a slope of the design alone is none."""
    path = "a:coupler:tip.rotation[0]"
    beside = last(path, np.array([-TURNED, 0.0, TURNED]))
    assert beside.status.tolist() == [Outcome.start_changed, 0, Outcome.start_changed], "locked, they start at rest"
    with pytest.raises(ModelError, match=r"rotation\[0\]: found a derivative by a number for whose neighbours a loop"):
        jax.grad(lambda turn: last(path, turn).metrics["x"].sum())(jnp.array([0.0]))


@pytest.mark.parametrize("path", ["a:coupler:tip.T[0]", "a:rocker.mass"])
def test_numbers_that_leave_the_plane_as_it_is_have_slopes(path: str) -> None:
    value = four_bar_with_a_ball().numbers()[path]
    slope = jax.grad(lambda x: last(path, x).metrics["x"].sum())(jnp.array([value]))
    low, high = last(path, value + np.array([-1e-3, 1e-3])).metrics["x"]
    np.testing.assert_allclose(slope, (high - low) / 2e-3, rtol=CENTRAL)


PLANAR = {
    "four_bar": {"T[0]", "T[2]", "rotation[1]"},
    "jansen": {"T[0]", "T[2]", "rotation[1]"},
    "scissor_lift": {"T[0]", "T[2]", "rotation[1]"},
}


@pytest.mark.parametrize("model", PLANAR)
def test_what_stays_in_the_plane_of_library_models_takes_no_mobility(model: str) -> None:
    """Every length and angle in the plane has a derivative where the start is held."""
    loaded = shiftjax.load(model)
    paths = [path for path in loaded.numbers() if ":" in path and path.rsplit(".", 1)[-1] in PLANAR[model]]
    given = options_of(span=0.01, step=1e-3, output_step=0.01, metrics={"x": "final(energy.kinetic)"})
    begun = DifferentiableRun(loaded, paths, given, traced=()).begun
    derivative = StartDerivative(begun.prepared, begun.start, [])
    groups = list(derivative._groups())
    for group in groups:
        moving = [derivative._moving(group, s) for s in range(len(group.loops))]
        assert any(moves.any() for moves in moving)  # they have rows too many
        for k in range(len(paths)):
            assert not derivative._locks(group, k, moving).any(), paths[k]

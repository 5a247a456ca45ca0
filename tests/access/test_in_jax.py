"""What is asked of a configuration inside JAX (D35, D26): batched, jitted, differentiated, loops closed there, too."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from tests.support.models.small_loop import bar_states, loop_states

ROUNDING = 1e-12  # relative: the same operations by NumPy and by XLA, which fuses some
SLOPES = 1e-10  # relative: derivatives of quotients
DIFFERENCE = 1e-6  # relative: central differences with steps of 1e-5
STEP = 1e-5


@pytest.fixture(scope="module")
def at() -> Any:
    return loop_states()


@pytest.fixture(scope="module")
def bars() -> Any:
    return bar_states()


def test_functions_of_jax_are_batched_by_vmap_d35(at: Any) -> None:
    """Of a spatial loop: all members at once, jitted."""
    for name, arguments in (("jacobian", ("rod:tip",)), ("mass_matrix", ())):
        f = at.function(name, *arguments, constrained=True)
        many = getattr(at, name)(*arguments, constrained=True)
        inside = jax.jit(jax.vmap(f))(at.q, at.v, at.numbers)
        assert np.abs(np.asarray(inside) - many).max() < ROUNDING * max(1.0, np.abs(many).max()) * 100


def test_slopes_by_jax_are_those_of_the_graph_d26(bars: Any) -> None:
    """By coordinates, speeds and numbers, through the accelerations of a closed loop."""
    q, v, numbers = bars.q[1], bars.v[1], {path: x[1] for path, x in bars.numbers.items()}
    by_place, by_speed, by_number = jax.jit(jax.jacfwd(bars.function("accelerations"), argnums=(0, 1, 2)))(
        q, v, numbers
    )
    for slope, wrt in ((by_place, "q"), (by_speed, "v"), (by_number["four_bar:coupler.mass"], "coupler.mass")):
        expected = bars.derivative("accelerations", wrt=wrt)[1]
        assert np.abs(slope - expected).max() < SLOPES * np.abs(expected).max()
    energy = bars.function("kinetic_energy")
    hessian = jax.jit(jax.hessian(energy, argnums=1))(q, v, numbers)
    assert np.abs(hessian - bars.mass_matrix()[1]).max() < ROUNDING
    for name, arguments in (("rate", ("mass_matrix",)), ("derivative", ("kinetic_energy",))):
        inside = jax.jit(bars.function(name, *arguments))(q, v, numbers)
        assert np.abs(inside - getattr(bars, name)(*arguments)[1]).max() < ROUNDING


def test_loops_are_closed_inside_jax_d35(bars: Any) -> None:
    """By the crank alone: the same states as closed on the host; slopes and second slopes by crank and length."""

    def bar(q: float = 0.7, length: float = 0.5) -> Any:
        return shiftjax.configuration(
            "four_bar", {"crank_pivot": q}, {"crank_pivot": 2.0}, vary={"coupler:tip.T[0]": length}
        )

    at = bar()
    twist = jax.jit(at.closed_function("twist", "coupler:tip"))
    q, v = jnp.array([0.7]), jnp.array([2.0])
    far = twist(q + 0.4, v, {"coupler:tip.T[0]": 0.52})
    assert np.abs(far - bar(1.1, 0.52).twist("coupler:tip")).max() < ROUNDING * 100
    assert np.isnan(twist(q, v, {"coupler:tip.T[0]": 5.0})).any()  # no such loop
    pose = at.closed_function("pose", "coupler:tip")

    @jax.jit
    def slopes(q: Any, length: Any) -> Any:
        def height(q: Any, length: Any) -> Any:
            return pose(q, v, {"coupler:tip.T[0]": length})[2, 3]

        return jax.grad(height, argnums=(0, 1))(q, length), jax.hessian(height)(q, length)

    (by_crank, by_length), bend = slopes(q, 0.5)
    assert by_crank[0] == pytest.approx(float(at.jacobian("coupler:tip", constrained=True)[5, 0]), rel=SLOPES)
    expected = at.derivative("pose", "coupler:tip", wrt="coupler:tip.T[0]", closed=True)[2, 3]
    assert by_length == pytest.approx(float(expected), rel=SLOPES)
    ends = [bar(0.7 + h).jacobian("coupler:tip", constrained=True)[5, 0] for h in (STEP, -STEP)]
    assert bend[0, 0] == pytest.approx((ends[0] - ends[1]) / (2 * STEP), rel=DIFFERENCE)
    with pytest.raises(shiftjax.ModelError, match="of many members"):
        bars.closed_function("mass")(q)
    with pytest.raises(shiftjax.ModelError, match="coordinates of one number"):
        loop_states().closed_function("mass")

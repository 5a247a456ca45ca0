"""Slopes of equilibria and small motions by numbers of the model, in both modes: closed forms, differences. M19.
Row 20 of kinematics."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from tests.statics.test_equilibrium import ARCH, LENGTH, LOAD, REST, STIFF, B, scissor
from tests.statics.test_modes import G, ball_chain, chain, sprung_four_bar

CLOSED_FORM = 1e-9  # row 20
DIFFERENCES = 2e-7  # of the largest slope: h^2 at h = 1e-4 of the numbers, and roundings over h
ADJOINT = 1e-12  # of the sum: both modes are the same products


def test_a_scissor_lies_lower_under_a_smaller_push() -> None:
    """theta = atan(W / F): d theta / d F = - W / (W^2 + F^2)."""
    model, push = scissor(1, 0.8, push=80.0), jnp.array([60.0, 120.0])

    def angle(load: Any) -> Any:
        return -shiftjax.equilibrium(model, unstable=True, vary={"push.load": -load}).q["lift:up_pin1"]

    slope = jax.jit(jax.jacrev(angle))(push)
    exact = np.diag(-LOAD / (LOAD**2 + push**2))
    assert np.abs(slope - exact).max() < CLOSED_FORM * np.abs(exact).max()
    assert np.abs(jax.jit(jax.jacfwd(angle))(push) - exact).max() < CLOSED_FORM * np.abs(exact).max()
    assert LENGTH == 0.6  # of the bars, on which it does not depend


def test_an_arch_softens_on_its_way_to_the_snap() -> None:
    """P'(y) y' = 1, and m omega^2 = 2 k (1 - L b^2 / (b^2 + y^2)^(3/2)) along it."""

    def both(load: Any) -> tuple[Any, Any]:
        stand = shiftjax.equilibrium(ARCH, vary={"load.load": -load[None]})
        return stand.q["arch:way"][0], stand.squared_frequencies[0, 0]

    (y, square), (dy, dsquare) = jax.jit(lambda x: jax.jvp(both, (x,), (1.0,)))(jnp.array(5.0))
    far = B * B + y * y
    stiffness = 2.0 * STIFF * (1.0 - REST * B * B / far**1.5)
    bend = 6.0 * STIFF * REST * B * B * y / far**2.5
    assert square == pytest.approx(float(stiffness), rel=CLOSED_FORM)
    assert dy == pytest.approx(-1.0 / float(stiffness), rel=CLOSED_FORM)  # P falls where it rises
    assert dsquare == pytest.approx(float(bend * dy), rel=CLOSED_FORM)


def test_a_pendulum_swings_slower_where_it_is_longer() -> None:
    """f = sqrt(g / L) / 2 pi, zeta = c / (2 m L^2 omega): their slopes by L, and those of the eigenvalues."""
    model, length, c, m = chain((1.0,), k=0.0, c=0.4), jnp.array([0.5, 2.0]), 0.4, 2.0

    def swing(length: Any) -> Any:
        modes = shiftjax.modes(model, vary={"rod0.center_of_mass[2]": -length})
        return modes.frequencies[:, 0], modes.damping_ratios[:, 0], jnp.imag(modes.eigenvalues[:, 1])

    _, slopes = jax.jit(lambda x: jax.jvp(swing, (x,), (jnp.ones(2),)))(length)
    omega = np.sqrt(G / length)
    exact = -omega / length / (4.0 * np.pi), -1.5 * c / (2.0 * m * omega * length**3)
    assert np.abs(slopes[0] / exact[0] - 1.0).max() < CLOSED_FORM
    assert np.abs(slopes[1] / exact[1] - 1.0).max() < CLOSED_FORM
    damped = jax.jacfwd(lambda x: jnp.sqrt(G / x - (c / (2.0 * m * x * x)) ** 2))(length)
    assert np.abs(slopes[2] / jnp.diag(damped) - 1.0).max() < CLOSED_FORM


CASES = {
    "four-bar": (sprung_four_bar(0.15), {"spring.k": 25.0, "coupler:tip.T[0]": None, "rocker.mass": None}),
    "balls": (ball_chain("spherical"), {"tie.coefficients[0][0]": 30.0, "rod0.mass": None, "rod0:tip.T[0]": None}),
    "suspension": (shiftjax.load("double_wishbone"), {"model_parameters.gravity[2]": 9.81}),
}


def outcomes(model: Any, numbers: dict[str, Any]) -> Any:
    """(B, M) coordinates, squared frequencies, potential, M, C, K."""
    stand, swing = shiftjax.equilibrium(model, vary=numbers), shiftjax.modes(model, vary=numbers)
    parts = [*stand.q.values(), stand.squared_frequencies, stand.potential, swing.M, swing.C, swing.K]
    count = len(stand.potential)
    return (jnp if isinstance(stand.potential, jax.Array) else np).concatenate(
        [part.reshape(count, -1) for part in parts], axis=1
    )


@pytest.mark.parametrize("case", CASES)
def test_slopes_are_those_of_differences_and_of_each_other(case: str) -> None:
    model, given = CASES[case]
    known = model.numbers()
    x = np.array([value if value is not None else known[model.resolve(path)] for path, value in given.items()])
    steps = np.diag(1e-4 * np.abs(x))
    ends = outcomes(model, dict(zip(given, np.concatenate([x + steps, x - steps]).T, strict=True)))

    def whole(x: Any) -> Any:
        return outcomes(model, {path: x[k : k + 1] for k, path in enumerate(given)})[0]

    slopes = np.asarray(jax.jit(jax.jacfwd(whole))(jnp.array(x)))
    for path, slope, high, low, step in zip(given, slopes.T, ends, ends[len(x) :], steps.sum(1), strict=False):
        difference = (high - low) / (2.0 * step)
        size = max(np.abs(difference).max(), np.abs(high).max(), np.abs(low).max())
        assert np.abs(slope - difference).max() < DIFFERENCES * size, path
    weights = np.cos(np.arange(len(slopes)))
    back = jax.jit(lambda x: jax.vjp(whole, x)[1](jnp.asarray(weights))[0])(jnp.array(x))
    assert back @ x == pytest.approx(weights @ slopes @ x, rel=1e-9, abs=1e-9)


def test_reactions_have_slopes_too() -> None:
    """The pin of a bar bears its weight; at a slide F = W / tan theta."""
    model = scissor(1, 0.7)

    def push(load: Any) -> Any:
        drive = {"slide": shiftjax.Polynomial([LENGTH * np.cos(0.7)])}
        stand = shiftjax.equilibrium(
            model, drive=drive, channels=["slide.drive_load"], vary={"weight.force[2]": -load[None]}
        )
        return stand.channels["slide.drive_load"].ravel()[0]

    assert jax.grad(push)(jnp.array(LOAD)) == pytest.approx(-1.0 / np.tan(0.7), rel=1e-8)


def test_members_without_an_equilibrium_have_no_slopes_and_leave_the_others_alone() -> None:
    def places(length: Any) -> Any:
        stand = shiftjax.equilibrium("four_bar", vary={"coupler:tip.T[0]": length})
        return stand.q["four_bar:rocker_pivot"], stand.status

    length = jnp.array([0.5, 1.2])
    (q, status), (slope, _) = jax.jvp(places, (length,), (jnp.ones(2),))
    assert status.tolist() == [Outcome.ok, Outcome.not_assembled]
    assert np.isfinite(q).tolist() == [True, False] and np.isfinite(slope).tolist() == [True, False]
    with pytest.raises(ModelError, match="equilibria"):
        jax.jit(lambda x: shiftjax.modes("four_bar", settle=False, vary={"coupler:tip.T[0]": x}).frequencies)(length)

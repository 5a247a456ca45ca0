"""Slopes through stops and other kinks of forces: those of the motion, against arcs in closed form (F25)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import shiftjax
from shiftjax import GradientWarning
from shiftjax.gradients.jumps import passages
from shiftjax.mechanism.model import Model
from shiftjax.run.programs.integrators import METHODS
from shiftjax.run.programs.stages import stages
from tests.gradients.test_gradient_doubts import KEY, slider

SPEEDS = np.array([1.0, 1.3, 2.0])  # m/s; all reach the stop at 0.05 m
SPAN, STOP, FREE = 0.3, 0.05, 100.0  # s, m, N/m of the spring that always acts on 1 kg
OF_A_STAY = 1.0  # slopes of n steps beyond the stop are off by (pi / n)^2 of the largest, measured up to a half of it
MODES = 1e-11  # forward and reverse mode add up in other orders
FINE = 1e-4  # s; a hundred times as exact as the step that is compared with it


def stop(stiffness: float) -> Model:
    return slider([[0.0], [stiffness, -STOP * stiffness]], [STOP], "spring")


def run(model: Model, step: float, metrics: dict[str, str] | None = None, span: float = SPAN) -> Callable[[Any], Any]:
    """The last speed, or some metrics, for initial speeds."""
    wanted = metrics or {"x": "final(slide.v)"}
    given: dict[str, Any] = {"span": span, "step": step, "metrics": wanted, "output_step": span}
    measured = lambda v: shiftjax.simulate(model, vary={KEY: v}, **given).metrics  # noqa: E731
    return measured if metrics else lambda v: measured(v)["x"]


def reverse(function: Callable[[Any], Any]) -> np.ndarray:
    return np.asarray(jax.grad(lambda v: function(v).sum())(jnp.array(SPEEDS)))


def forward(function: Callable[[Any], Any]) -> np.ndarray:
    return np.asarray(jax.jvp(function, (jnp.array(SPEEDS),), (jnp.ones(len(SPEEDS)),))[1])


def reverse_of_each(metrics: Callable[[Any], Any]) -> dict[str, Any]:
    """Of several metrics of one run."""
    return jax.jacrev(lambda v: {name: values.sum() for name, values in metrics(v).items()})(jnp.array(SPEEDS))


def forward_of_each(metrics: Callable[[Any], Any]) -> dict[str, Any]:
    return jax.jvp(lambda v: dict(metrics(v)), (jnp.array(SPEEDS),), (jnp.ones(len(SPEEDS)),))[1]


def quietly(mode: Callable[..., Any], function: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mode(function)


def exact(speed: float, stiffness: float) -> float:
    """Speed at the end of the span, arc by arc: x'' = -100 x, and beyond the stop - k (x - 0.05) as well."""
    x, v, t, beyond = -0.1, speed, 0.0, False
    while True:
        more = stiffness if beyond else 0.0
        omega, rest = np.sqrt(FREE + more), more * STOP / (FREE + more)
        a, b = x - rest, v / omega

        def at(s: Any, a: float = a, b: float = b, omega: float = omega, rest: float = rest) -> tuple[Any, Any]:
            c, sine = np.cos(omega * s), np.sin(omega * s)
            return rest + a * c + b * sine, omega * (b * c - a * sine)

        grid = np.linspace(1e-7, SPAN - t, 4000)
        leaves = np.flatnonzero((at(grid)[0] >= STOP) != beyond)
        if not len(leaves):
            return at(SPAN - t)[1]
        k = max(int(leaves[0]), 1)
        s: Any = brentq(lambda s, at=at: at(s)[0] - STOP, grid[k - 1], grid[k], xtol=1e-15)
        (x, v), t, beyond = at(s), t + s, not beyond


def wanted(stiffness: float, delta: float = 1e-5) -> np.ndarray:
    """By differences of order 4."""
    moved = np.array([[exact(v + m * delta, stiffness) for v in SPEEDS] for m in (-2, -1, 1, 2)])
    return np.array([1.0, -8.0, 8.0, -1.0]) @ moved / (12 * delta)


@pytest.mark.parametrize("mode", [reverse, forward])
@pytest.mark.parametrize(
    ("stiffness", "step"), [(1e5, 2e-3), (1e5, 1e-3), (1e4, 1e-3), (1e5, 1e-4), (500.0, 1e-3), (2000.0, 5e-4)]
)
def test_slopes_are_those_of_the_motion(mode: Callable[..., np.ndarray], stiffness: float, step: float) -> None:
    """Through stays of 5, 10, 31, 99, 128 and 137 steps, without a word; before they were off by pi / n and more."""
    right, steps = wanted(stiffness), np.pi / np.sqrt(FREE + stiffness) / step
    slopes = quietly(mode, run(stop(stiffness), step))
    np.testing.assert_allclose(slopes, right, rtol=0, atol=OF_A_STAY * (np.pi / steps) ** 2 * np.abs(right).max())


def test_they_converge_with_the_square_of_the_step() -> None:
    right = wanted(2000.0)
    off = [np.abs(quietly(reverse, run(stop(2000.0), step)) - right).max() for step in (2e-3, 1e-4)]
    assert off[1] < off[0] / 100  # 400 but for where in its step a stop is met; of the first order it were 20


SEVERAL = slider([[600.0, 30.0], [0.0], [800.0, -40.0]], [-0.05, 0.05], "spring")  # to and fro between two stops
DAMPER = slider([[1.0, 0.0], [8.0, -2.1]], [0.3], "damper")


@pytest.mark.parametrize(("model", "limits"), [(SEVERAL, (5e-4, 5e-4, 5e-4)), (DAMPER, (1e-4, 1e-4, 1e-4))])
def test_several_passages_and_integrals(model: Model, limits: tuple[float, ...]) -> None:
    """Both modes alike, in steps of 1 ms; limits are about thrice the errors seen; stays are of over 100 steps."""
    metrics: dict[str, str] = dict(zip("xyz", ("final(slide.v)", "integral(slide.a)", "rms(slide.a)"), strict=True))
    fine, coarse = (run(model, step, metrics, 0.9) for step in (FINE, 1e-3))
    every = reverse_of_each(fine)
    backward, ahead = (quietly(mode, coarse) for mode in (reverse_of_each, forward_of_each))
    for name, within in zip(metrics, limits, strict=True):
        right = every[name]
        size = np.abs(right).max()
        np.testing.assert_allclose(backward[name], right, rtol=0, atol=within * size, err_msg=name)
        np.testing.assert_allclose(ahead[name], backward[name], rtol=0, atol=MODES * size, err_msg=name)


def test_a_stop_passed_in_three_steps_is_warned_of() -> None:
    """No correction helps where steps do not see the stop."""
    with pytest.warns(GradientWarning, match=r"member \d: .* a:the rub is passed in [23] steps"):
        slopes = reverse(run(stop(1e6), 1e-3))
    assert np.abs(slopes / wanted(1e6) - 1.0).max() > 0.05


def test_more_passages_than_are_followed_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the stay is: 128 steps here."""
    monkeypatch.setattr(passages, "MOST", 1)
    with pytest.warns(GradientWarning, match=r"a:the rub is passed in 1\d\d steps"):
        slopes = reverse(run(stop(500.0), 1e-3))
    right = wanted(500.0)
    assert np.abs(slopes - right).max() > 0.04 * np.abs(right).max()


def test_members_do_not_depend_on_each_other() -> None:
    slopes = reverse(run(stop(1e4), 1e-3))
    alone = [jax.grad(lambda v: run(stop(1e4), 1e-3)(v[None])[0])(v) for v in jnp.array(SPEEDS)]
    assert np.array_equal(slopes, alone)


@pytest.mark.parametrize("name", METHODS)
def test_stages_are_those_of_the_method(name: str) -> None:
    """Of any method: weights add up to one, and all of a step lies between its ends."""
    of = stages(METHODS[name])
    assert sum(stage.weight for stage in of) == pytest.approx(1.0, abs=1e-14)
    assert all(stage.drift == pytest.approx(stage.at) == pytest.approx(stage.gain) for stage in of)
    assert of[0].at == 0.0 and max(stage.at for stage in of) <= 1.0

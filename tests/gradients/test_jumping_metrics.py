"""Slopes of metrics of what jumps with a force: integrals against closed forms, instants with a warning (F25)."""

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
from tests.gradients.test_gradient_passages import STEP, slider

SPAN, KNOT, FORCE, KEY = 0.25, 0.02, 3.0, "slide.initial_velocity"
OF_STEPS = 2e-2  # two steps of the 0.1 s to the passage: instants of jumps are off by a step
SPEEDS = np.array([1.5, 2.0])  # both pass the knot once
PUSH = "slide.a + 100 * slide.q"  # -3 m/s^2 beyond the knot, 0 before it
INTEGRALS = {
    "gain": "integral(slide.a)",
    "push": f"mean({PUSH})",
    "square": f"rms({PUSH})",
    "reaction": "integral(slide.reaction_force[0])",
}


def run(speeds: Any, metrics: dict[str, str], **more: Any) -> dict[str, Any]:
    model = slider("spring", (0.0, FORCE, KNOT))
    return dict(shiftjax.simulate(model, vary={KEY: speeds}, span=SPAN, step=STEP, metrics=metrics, **more).metrics)


def passing(speed: float) -> tuple[float, float]:
    """When the mass passes the knot, x = -0.1 cos 10 t + v / 10 sin 10 t, and how that changes with its speed."""
    x = lambda t: -0.1 * np.cos(10 * t) + speed / 10 * np.sin(10 * t)  # noqa: E731
    t: Any = brentq(lambda t: x(t) - KNOT, 0.0, 0.15)
    return t, -np.sin(10 * t) / 10 / (np.sin(10 * t) + speed * np.cos(10 * t))


def forward(function: Callable[[Any], Any]) -> np.ndarray:
    return np.asarray(jax.jvp(function, (jnp.array(SPEEDS),), (jnp.ones(len(SPEEDS)),))[1])


def reverse(function: Callable[[Any], Any]) -> np.ndarray:
    return np.asarray(jax.grad(lambda v: function(v).sum())(jnp.array(SPEEDS)))


@pytest.mark.parametrize("mode", [forward, reverse])
def test_integrals_have_what_the_jump_of_their_expression_adds(mode: Callable[..., np.ndarray]) -> None:
    """The gain of speed is that of the integral; the push acts from the passage to the end."""
    speeds = mode(lambda v: run(v, {"x": "final(slide.v)"})["x"])
    t, later = np.array([passing(speed) for speed in SPEEDS]).T
    share = (SPAN - t) / SPAN
    wanted = {
        "gain": speeds - 1.0,
        "push": FORCE * later / SPAN,
        "square": -FORCE * later / SPAN / 2 / np.sqrt(share),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {name: mode(lambda v, name=name: run(v, INTEGRALS)[name]) for name in INTEGRALS}
    for name, slope in wanted.items():
        np.testing.assert_allclose(found[name], slope, rtol=OF_STEPS, err_msg=name)
    np.testing.assert_allclose(found["reaction"], found["gain"], rtol=1e-9)  # of 1 kg


def test_both_modes_agree() -> None:
    for name in INTEGRALS:
        along = lambda v, name=name: run(v, INTEGRALS)[name]  # noqa: E731
        np.testing.assert_allclose(forward(along), reverse(along), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("level", ["-1.5", "-0.5, down", "-2.5, any"])
def test_the_instant_at_which_a_jump_crosses_a_level(mode: Callable[..., np.ndarray], level: str) -> None:
    """It is that of the jump, in whatever formula; one on the way to the knot is that of the level."""
    later = np.array([passing(speed)[1] for speed in SPEEDS])
    metrics = {"when": f"2 * first_crossing({PUSH}, {level})", "before": "first_crossing(slide.a, 9.5)"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        when, before = (mode(lambda v, name=name: run(v, metrics)[name]) for name in metrics)
    np.testing.assert_allclose(when, 2 * later, rtol=OF_STEPS)
    t = [brentq(lambda t, v=v: np.cos(10 * t) - v * np.sin(10 * t) - 0.95, 0.0, 0.1) for v in SPEEDS]  # type: ignore[misc]
    sine, cosine = np.sin(10 * np.array(t)), np.cos(10 * np.array(t))
    np.testing.assert_allclose(before, -sine / 10 / (sine + SPEEDS * cosine), rtol=OF_STEPS)


@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("text", [f"settling_time({PUSH}, -3, 0.5)", f"first_crossing({PUSH} - 40 * slide.q, -3.8)"])
def test_other_instants_of_jumps_are_warned_of(mode: Callable[..., np.ndarray], text: str) -> None:
    """As where the level is no farther from the jump than its channel moves in a step."""
    with pytest.warns(GradientWarning, match="2 of 2 members, first member 0: the slope of the metric when ignores"):
        mode(lambda v: run(v, {"when": text})["when"])

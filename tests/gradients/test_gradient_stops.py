"""Slopes through stops: a hard one throws a mass back in few steps, and is warned of; others say nothing (F25)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax import GradientWarning
from tests.gradients.test_gradient_doubts import KEY, slider

SPEEDS = np.array([1.0, 1.3, 2.0])  # m/s; all reach the stop at 0.05 m
FINE, RIGHT = 1e-5, 0.06  # s; and how far slopes are off without a warning, of the largest


def run(stiffness: float, step: float) -> Callable[[Any], Any]:
    model = slider([[0.0], [stiffness, -0.05 * stiffness]], [0.05], "spring")
    given: dict[str, Any] = {"span": 0.3, "step": step, "metrics": {"x": "final(slide.v)"}, "output_step": 0.3}
    return lambda v: shiftjax.simulate(model, vary={KEY: v}, **given).metrics["x"]


def reverse(function: Callable[[Any], Any]) -> np.ndarray:
    return np.asarray(jax.grad(lambda v: function(v).sum())(jnp.array(SPEEDS)))


def forward(function: Callable[[Any], Any]) -> np.ndarray:
    return np.asarray(jax.jvp(function, (jnp.array(SPEEDS),), (jnp.ones(len(SPEEDS)),))[1])


@pytest.mark.parametrize("mode", [reverse, forward])
def test_a_hard_stop_is_warned_of(mode: Callable[..., np.ndarray]) -> None:
    """Of the members that reach it; their slopes are off by a fifth to 130 %."""
    with pytest.warns(GradientWarning, match=r"3 of 3 members, first member 0: .* a:the rub is passed in 10 steps"):
        slopes = mode(run(1e5, 1e-3))
    right = reverse(run(1e5, FINE))
    off = np.abs(slopes / right - 1.0)
    assert (off > 0.15).all()


@pytest.mark.parametrize(("stiffness", "step"), [(500.0, 1e-3), (2e4, 1e-4), (1e5, 4e-5)])
def test_what_is_passed_in_many_steps_says_nothing(stiffness: float, step: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slopes = reverse(run(stiffness, step))
    right = reverse(run(stiffness, FINE))
    np.testing.assert_allclose(slopes, right, rtol=0, atol=RIGHT * np.abs(right).max())

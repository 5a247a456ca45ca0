"""Gradients across events that set numbers of joints and bodies (D12), and of extremes at the instant of a set (D8)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from shiftjax import Event, GradientWarning, Model, ModelError, load, simulate
from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.gradients.planning import Planner
from shiftjax.run.options import options_of

# Instants of events are located to 1e-10 of a step, and slopes of the clock are differences over 2 % of one.
CLOSED = 1e-8
MEASURED = 2e-7  # in parts, of central differences over 1e-5: measured 3e-8
H = 1e-5
HOW: list[dict[str, Any]] = [{"step": 5e-3}, {"tolerance": 1e-6}]
NAMES = ["steps", "tolerance"]


def built(kind: str, **joint: Any) -> Model:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81 if kind == "screw" else 0.0))
    part = builder.assembly("a").body("nut", mass=2.0, inertia=(0.01, 0.01, 0.02))
    part.joint("thread", kind, child="nut", **joint)
    part.force("brake", "joint_spring", joint="thread", k=0.0, c=0.0)
    part.force("push", "constant_load", joint="thread", load=-1.0)
    return builder.build()


SCREW = built("screw", axis=(0.0, 0.0, 1.0), pitch=0.05)
SLED = built("Tz", initial_velocity=1.0)
CHANGE = Event("thread.q + 1.5", "down", "set", values={"thread.pitch": 0.02, "nut.mass": 3.0})


def test_a_screw_whose_pitch_and_mass_change_where_it_comes_by() -> None:
    """D12: against central differences: the instant moves, coordinates and speeds stay, the nut jumps."""

    def value(*x: Any) -> Any:
        vary = dict(zip(("nut.mass", "thread.pitch", "thread.initial_velocity"), x, strict=True))
        metrics = {"v": "final(thread.v)", "i": "integral(nut.position[2])", "m": "minimum(nut.velocity[2])"}
        run = simulate(SCREW, 1.0, 5e-3, events={"e": CHANGE}, vary=vary, metrics=metrics, accuracy="local")
        return run.metrics["v"] + 10.0 * run.metrics["i"] + run.metrics["m"]

    x = [np.array([2.0, 2.5]), np.array([0.05, 0.04]), np.array([-1.0, -0.5])]
    slopes = jax.grad(lambda *x: value(*x).sum(), (0, 1, 2))(*x)
    for k, slope in enumerate(slopes):
        up, down = ([y + sign * H * (j == k) for j, y in enumerate(x)] for sign in (1.0, -1.0))
        np.testing.assert_allclose(slope, (value(*up) - value(*down)) / (2 * H), rtol=MEASURED)


def test_loops_that_jump_have_no_derivative() -> None:
    """D12: by the name of the event; what is planned are differences. Masses of loops have one."""
    metrics = {"x": "final(crank_pivot.q)"}

    def crank(mass: Any, path: str) -> Any:
        events = {"e": Event("crank_pivot.q - 1.6", "up", "set", values={path: 0.17})}
        run = simulate(
            "four_bar", 0.2, 2e-3, events=events, vary={"rocker.mass": mass}, metrics=metrics, accuracy="local"
        )
        return run.metrics["x"].sum()

    masses = np.array([1.0])
    for slope_of in (jax.grad(crank), jax.jit(jax.grad(crank), static_argnums=1), jax.jacfwd(crank)):
        with pytest.raises(
            ModelError, match=r"event e: values: four_bar:crank:tip\.T\[0\]: found set, of a run that is"
        ):
            slope_of(masses, "crank:tip.T[0]")
    slope = jax.grad(crank)(masses, "coupler.mass")
    difference = (crank(masses + H, "coupler.mass") - crank(masses - H, "coupler.mass")) / (2 * H)
    np.testing.assert_allclose(slope[0], difference, rtol=1e-5)  # of 1e-3, from differences of 1e-8
    changing = Event("t - 0.1", "up", "set", values={"crank:tip.T[0]": 0.17})
    given = options_of(span=0.2, step=2e-3, events={"e": changing}, metrics=metrics)
    planner = Planner(DifferentiableRun(load("four_bar"), ["four_bar:rocker.mass"], given).begun)
    assert {planner.planned(1, 1, 2).direction, *planner.planned(1, 1, 2).costs} == {"differences"}
    with pytest.raises(ModelError, match=r"direction.*reverse.*event e sets a number of closed loops"):
        planner.planned(1, 1, 2, direction="reverse")


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_an_extreme_at_the_instant_of_a_set(how: dict[str, Any]) -> None:
    """D8: a sled under -1 N is pushed by 1 N from 0.2 m on, where it is slowest, at t: v t - t^2 / 2m = 0.2. Slopes of
    such an instant were up to nine times too large with a tolerance, or of the other sign, one without a warning. The
    end of a step before and the beginning of the one behind were one or the other by the last bit.
    """
    events = {"e": Event("thread.q - 0.2", "up", "set", values={"push.load": 1.0})}

    def slowest(speed: Any, mass: Any, what: str) -> Any:
        vary = {"thread.initial_velocity": speed, "nut.mass": mass}
        run = simulate(SLED, 0.9, **how, events=events, vary=vary, metrics={"m": what}, accuracy="local")
        return run.metrics["m"]

    v, m = np.array([1.2, 1.7, 0.8]), np.array([1.0, 1.3, 1.1])
    t = m * (v - np.sqrt(v**2 - 0.4 / m))
    dv, dm = -t / (v - t / m), -(t**2) / (2 * m**2) / (v - t / m)
    with pytest.warns(GradientWarning, match="not of its extreme"):
        slopes = jax.grad(lambda *x: slowest(*x, "time_of_minimum(thread.v)").sum(), (0, 1))(v, m)
    np.testing.assert_allclose(slowest(v, m, "time_of_minimum(thread.v)"), t, atol=CLOSED)
    np.testing.assert_allclose(slopes, [dv, dm], atol=CLOSED)


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_an_extreme_that_a_set_makes_an_expression_jump_to(how: dict[str, Any]) -> None:
    """D8: a damper of 3 N s/m that is switched on at 0.5 m slows most at that instant, by -3 v / m. What the step
    behind it begins with was left out: 4 % of it in long steps, 1 % in fixed ones, and slopes with it."""
    events = {"e": Event("thread.q - 0.5", "up", "set", values={"brake.c": 3.0})}

    def least(speed: Any, mass: Any, what: str) -> Any:
        vary = {"thread.initial_velocity": speed, "nut.mass": mass}
        still = SLED.replace({"push.load": 0.0})
        run = simulate(still, 0.9, **how, events=events, vary=vary, metrics={"m": what}, accuracy="local")
        return run.metrics["m"]

    v, m = np.array([1.2, 1.7]), np.array([1.0, 1.3])
    np.testing.assert_allclose(least(v, m, "minimum(thread.a)"), -3.0 * v / m, atol=CLOSED)
    np.testing.assert_allclose(least(v, m, "time_of_minimum(thread.a)"), 0.5 / v, atol=CLOSED)
    slopes = jax.grad(lambda *x: least(*x, "minimum(thread.a)").sum(), (0, 1))(v, m)
    np.testing.assert_allclose(slopes, [-3.0 / m, 3.0 * v / m**2], atol=CLOSED)
    slopes = jax.grad(lambda *x: least(*x, "time_of_minimum(thread.a)").sum(), (0, 1))(v, m)
    np.testing.assert_allclose(slopes, [-0.5 / v**2, np.zeros(2)], atol=CLOSED)

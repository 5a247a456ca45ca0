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
from shiftjax.run.start.driven.drives import driven

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


FOUR_BAR = load("four_bar")
SCREW = built("screw", axis=(0.0, 0.0, 1.0), pitch=0.05)
SLED = built("Tz", initial_velocity=1.0)
CHANGE = Event("thread.q + 1.5", "down", "set", values={"thread.pitch": 0.02, "nut.mass": 3.0})


def test_a_screw_whose_pitch_and_mass_change_where_it_comes_by() -> None:
    """D12: against central differences: the instant moves, coordinates and speeds stay, the nut jumps."""

    def value(*x: Any) -> Any:
        paths = ("nut.mass", "thread.pitch", "thread.initial_velocity")
        vary: dict[str, Any] = dict(zip(paths, x, strict=True))
        metrics = {"v": "final(thread.v)", "i": "integral(nut.position[2])", "m": "minimum(nut.velocity[2])"}
        run = simulate(SCREW, 1.0, 5e-3, events={"e": CHANGE}, vary=vary, metrics=metrics, accuracy="local")
        return run.metrics["v"] + 10.0 * run.metrics["i"] + run.metrics["m"]

    x = [np.array([2.0, 2.5]), np.array([0.05, 0.04]), np.array([-1.0, -0.5])]
    slopes = jax.grad(lambda *x: value(*x).sum(), (0, 1, 2))(*x)
    for k, slope in enumerate(slopes):
        up, down = ([y + sign * H * (j == k) for j, y in enumerate(x)] for sign in (1.0, -1.0))
        np.testing.assert_allclose(slope, (value(*up) - value(*down)) / (2 * H), rtol=MEASURED)


def linkage(events: dict[str, Event], *x: Any, **more: Any) -> Any:
    """What a four-bar comes to, by the mass of its rocker, the length of its coupler, and the speed of its crank."""
    metrics = {
        "v": "final(rocker_pivot.v)", "i": "integral(rocker_pivot.q)", "m": "maximum(coupler:tip.position[0])",
        "r": "integral(rocker_pivot.reaction_force[0])", "t": "time_of(e)",
    }  # fmt: skip
    paths = ("rocker.mass", "coupler:tip.T[0]", "crank_pivot.initial_velocity")
    vary: dict[str, Any] = dict(zip(paths, x, strict=False))
    run = simulate(FOUR_BAR, 0.2, 2e-3, events=events, vary=vary, metrics=metrics, accuracy="local", **more)
    return run.metrics["v"] + 10.0 * run.metrics["i"] + run.metrics["m"] + 0.1 * run.metrics["r"] + run.metrics["t"]


def test_a_crank_that_is_shortened_where_it_comes_by() -> None:
    """D12: against central differences: the instant, the pose at which loops are closed again and its speeds move."""
    events = {"e": Event("crank_pivot.q - 1.6", "up", "set", values={"crank:tip.T[0]": 0.17, "coupler.mass": 1.5})}
    x = [np.array([1.0, 1.4]), np.array([0.5, 0.52]), np.array([6.0, 7.0])]
    slopes = jax.grad(lambda *x: linkage(events, *x).sum(), (0, 1, 2))(*x)
    for k, slope in enumerate(slopes):
        up, down = ([y + sign * H * (j == k) for j, y in enumerate(x)] for sign in (1.0, -1.0))
        difference = (linkage(events, *up) - linkage(events, *down)) / (2 * H)
        np.testing.assert_allclose(slope, difference, rtol=MEASURED, atol=MEASURED)


def test_driven_loops_that_jump_have_no_derivative() -> None:
    """D12: they are refused by the name of the event; what is planned are differences."""
    events = {"e": Event("t - 0.1", "up", "set", values={"crank:tip.T[0]": 0.17})}
    led: dict[str, Any] = {"drive": {"crank_pivot": 3.0}}
    refused = r"event e: values: four_bar:crank:tip\.T\[0\]: found a number of loops that are driven"
    for slope in (jax.grad, lambda f: jax.jit(jax.grad(f)), jax.jacfwd):
        with pytest.raises(ModelError, match=refused):
            slope(lambda mass: linkage(events, mass, **led).sum())(np.array([1.0]))
    model, _, _ = driven(FOUR_BAR, led["drive"])
    given = options_of(span=0.2, step=2e-3, events=events, metrics={"x": "final(crank_pivot.q)"})
    planner = Planner(DifferentiableRun(model, ["four_bar:rocker.mass"], given).begun)
    assert {planner.planned(1, 1, 2).direction, *planner.planned(1, 1, 2).costs} == {"differences"}
    with pytest.raises(ModelError, match=r"direction.*reverse.*event e sets four_bar:crank:tip.*loops that are driven"):
        planner.planned(1, 1, 2, direction="reverse")


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_an_extreme_at_the_instant_of_a_set(how: dict[str, Any]) -> None:
    """D8: a sled under -1 N is pushed by 1 N from 0.2 m on, where it is slowest, at t: v t - t^2 / 2m = 0.2. Slopes of
    such an instant were up to nine times too large with a tolerance, or of the other sign, one without a warning. The
    end of a step before and the beginning of the one behind were one or the other by the last bit.
    """
    events = {"e": Event("thread.q - 0.2", "up", "set", values={"push.load": 1.0})}

    def slowest(what: str, speed: Any, mass: Any) -> Any:
        vary = {"thread.initial_velocity": speed, "nut.mass": mass}
        run = simulate(SLED, 0.9, **how, events=events, vary=vary, metrics={"m": what}, accuracy="local")
        return run.metrics["m"]

    v, m = np.array([1.2, 1.7, 0.8]), np.array([1.0, 1.3, 1.1])
    t = m * (v - np.sqrt(v**2 - 0.4 / m))
    dv, dm = -t / (v - t / m), -(t**2) / (2 * m**2) / (v - t / m)
    with pytest.warns(GradientWarning, match="not of its extreme"):
        slopes = jax.grad(lambda v, m: slowest("time_of_minimum(thread.v)", v, m).sum(), (0, 1))(v, m)
    np.testing.assert_allclose(slowest("time_of_minimum(thread.v)", v, m), t, atol=CLOSED)
    np.testing.assert_allclose(slopes, [dv, dm], atol=CLOSED)


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_an_extreme_that_a_set_makes_an_expression_jump_to(how: dict[str, Any]) -> None:
    """D8: a damper of 3 N s/m that is switched on at 0.5 m slows most at that instant, by -3 v / m. What the step
    behind it begins with was left out: 4 % of it in long steps, 1 % in fixed ones, and slopes with it."""
    events = {"e": Event("thread.q - 0.5", "up", "set", values={"brake.c": 3.0})}

    def least(what: str, speed: Any, mass: Any) -> Any:
        vary = {"thread.initial_velocity": speed, "nut.mass": mass}
        still = SLED.replace({"push.load": 0.0})
        run = simulate(still, 0.9, **how, events=events, vary=vary, metrics={"m": what}, accuracy="local")
        return run.metrics["m"]

    v, m = np.array([1.2, 1.7]), np.array([1.0, 1.3])
    np.testing.assert_allclose(least("minimum(thread.a)", v, m), -3.0 * v / m, atol=CLOSED)
    np.testing.assert_allclose(least("time_of_minimum(thread.a)", v, m), 0.5 / v, atol=CLOSED)
    slopes = jax.grad(lambda v, m: least("minimum(thread.a)", v, m).sum(), (0, 1))(v, m)
    np.testing.assert_allclose(slopes, [-3.0 / m, 3.0 * v / m**2], atol=CLOSED)
    slopes = jax.grad(lambda v, m: least("time_of_minimum(thread.a)", v, m).sum(), (0, 1))(v, m)
    np.testing.assert_allclose(slopes, [-0.5 / v**2, np.zeros(2)], atol=CLOSED)

"""Gradients of runs that events stop or whose numbers they set (D8), against closed forms and central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from shiftjax import Event, Model, ModelError, Result, simulate
from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.gradients.planning import Planner
from shiftjax.run.options import options_of

# Steps of rk4 hold parabolas, and slopes of the clock polynomials of degree four: what is left is the zero, which is
# located to 1e-10 of a step, and rounding of 1e-16 in differences over 2 % of one.
CLOSED = 1e-8
# Central differences over 1e-5 of runs whose events are located to 1e-10 of a step, times what the law jumps by.
MEASURED = 3e-6
H = 1e-5
HOW: list[dict[str, Any]] = [{"step": 0.01}, {"tolerance": 1e-10}]
NAMES = ["steps", "tolerance"]
HEIGHTS, GRAVITY, FLOORS = np.array([2.0, 1.3]), np.array([-9.81, -5.0]), np.array([0.5, 0.2])
SPEEDS = np.array([0.8, 1.7])  # the first passes the line at the end of a step, to the bit of the clock


def slider(**joint: float) -> ModelBuilder:
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    part = builder.assembly("a").body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    part.joint("slide", "Tz", child="mass", **joint)
    part.force("brake", "constant_load", joint="slide", load=0.0)
    return builder


def falling() -> Model:
    builder = slider(initial_displacement=2.0).parameter("floor", 0.5, unit="length")
    return builder.event("ground", "slide.q - parameters.floor", direction="down", action="stop").build()


BALL, SLED = falling(), slider(initial_velocity=1.0).build()
LINE = {"line": Event("slide.q - 0.5", "up", "set", values={"brake.load": -2.0})}


def ball(gravity: Any, height: Any, floor: Any, **how: Any) -> Result:
    vary = {"model_parameters.gravity[2]": gravity, "slide.initial_displacement": height, "parameters.floor": floor}
    metrics = {"t": "time_of(ground)", "v": "final(slide.v)", "fell": "peak_to_peak(slide.q)"}
    return simulate(BALL, 1.0, **how, vary=vary, metrics=metrics, accuracy="local")


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_a_fall_that_ends_at_a_height(how: dict[str, Any]) -> None:
    """t = sqrt(2 (h - f) / g), v = -sqrt(2 (h - f) g), by the gravity -g, the height h and the floor f."""
    given = (GRAVITY, HEIGHTS, FLOORS)
    values, back = jax.vjp(lambda *x: ball(*x, **how).metrics, *given)
    way, g = HEIGHTS - FLOORS, -GRAVITY
    t, v = np.sqrt(2 * way / g), np.sqrt(2 * way * g)
    np.testing.assert_allclose(values["t"], t, atol=CLOSED)
    zero = {name: np.zeros(2) for name in values}
    exact = {
        "t": (t / (2 * g), 1 / v, -1 / v),
        "v": (v / (2 * g), -g / v, g / v),
        "fell": (np.zeros(2), np.ones(2), -np.ones(2)),
    }
    for name, slopes in exact.items():
        for slope, expected in zip(back({**zero, name: np.ones(2)}), slopes, strict=True):
            np.testing.assert_allclose(slope, expected, atol=CLOSED, err_msg=name)


def braked(speed: Any, mass: Any, events: Any = LINE, **how: Any) -> Result:
    metrics = {"way": "final(slide.q)", "work": "integral(slide.v * slide.v)", "push": "integral(slide.a * slide.a)"}
    return simulate(
        SLED, 0.9, **how, events=events, vary={"slide.initial_velocity": speed, "mass.mass": mass}, metrics=metrics,
        channels=["slide.v"], output_step=0.3, accuracy="local",
    )  # fmt: skip


@pytest.mark.parametrize("how", [{"step": 5e-3}, HOW[1]], ids=NAMES)
def test_a_brake_that_a_line_switches_on(how: dict[str, Any]) -> None:
    """At v to x = 0.5, then with a = -2 / m for s = T - 0.5 / v: T v - s^2 / m, and what integrals of it come to."""
    masses, T = np.array([1.0, 1.3]), 0.9
    result, back = jax.vjp(lambda *x: (lambda r: (r.metrics, r.channels["slide.v"]))(braked(*x, **how)), SPEEDS, masses)
    a, s, ds = 2 / masses, T - 0.5 / SPEEDS, 0.5 / SPEEDS**2
    work = SPEEDS**2 * T - SPEEDS * a * s**2 + a**2 * s**3 / 3
    atol = 2e-5 if "step" in how else CLOSED  # of the trapezes of steps
    np.testing.assert_allclose(result[0]["work"], work, atol=atol)
    np.testing.assert_allclose(result[0]["push"], a**2 * s, atol=CLOSED)  # no step takes the law before for its begin
    zero = jax.tree.map(np.zeros_like, result)
    exact = {
        "way": (T - a * s * ds, s**2 / masses**2),
        "work": (2 * SPEEDS * T - a * s**2 - 2 * SPEEDS * a * s * ds + a**2 * s**2 * ds,
                 (SPEEDS * a * s**2 - 2 * a**2 * s**3 / 3) / masses),
        "push": (a**2 * ds, -2 * a**2 * s / masses),
    }  # fmt: skip
    for name, slopes in exact.items():
        bars = ({**zero[0], name: np.ones(2)}, zero[1])
        for slope, expected in zip(back(bars), slopes, strict=True):
            np.testing.assert_allclose(slope, expected, atol=atol if name == "work" else CLOSED, err_msg=name)
    for k, time in enumerate(result_time := [0.0, 0.3, 0.6, 0.9]):
        bars = np.zeros((2, len(result_time)))
        bars[:, k] = 1.0
        slope, _ = back((zero[0], bars))
        expected = np.where(time > 0.5 / SPEEDS, 1 - a * ds, 1.0)
        np.testing.assert_allclose(slope, expected, atol=CLOSED)


def differences(value: Callable[..., Any], x: list[np.ndarray], k: int) -> np.ndarray:
    up, down = ([y + sign * H * (j == k) for j, y in enumerate(x)] for sign in (1.0, -1.0))
    return (np.asarray(value(*up)) - np.asarray(value(*down))) / (2 * H)


def test_several_events_in_a_step_and_a_stop_behind_them() -> None:
    """Against central differences: each instant moves with those before it."""
    events = {
        "on": Event("slide.q - 0.31", "up", "set", values={"brake.load": 3.0}),
        "off": Event("slide.q - 0.34", "up", "set", values={"brake.load": -1.0}),
        "end": Event("slide.q + 0.02 * slide.v - 0.38", "up", "stop"),
    }

    def speed(*x: Any) -> Any:
        run = simulate(
            SLED, 1.0, 0.1, events=events, vary=dict(zip(("slide.initial_velocity", "mass.mass"), x, strict=True)),
            metrics={"v": "final(slide.v)", "t": "time_of(end)"}, accuracy="local",
        )  # fmt: skip
        return run.metrics["v"] + 3.0 * run.metrics["t"]

    x = [SPEEDS, np.array([1.0, 1.3])]
    slopes = jax.grad(lambda *x: speed(*x).sum(), (0, 1))(*x)
    for k in range(2):
        np.testing.assert_allclose(slopes[k], differences(speed, x, k), atol=MEASURED)


@pytest.mark.parametrize("how", [{"step": 2e-3}, {"tolerance": 1e-11}], ids=NAMES)
def test_a_closed_loop_whose_gravity_changes(how: dict[str, Any]) -> None:
    """Against central differences, of a four-bar that is weightless from an angle on and ends at another one."""
    events = {
        "float": Event("crank_pivot.q - 1.6", "up", "set", values={"model_parameters.gravity[2]": 0.0}),
        "end": Event("rocker_pivot.v", action="stop"),
    }

    def value(mass: Any, speed: Any) -> Any:
        vary = {"coupler.mass": mass, "crank_pivot.initial_velocity": speed}
        metrics = {"x": "final(crank_pivot.q)", "i": "integral(crank_pivot.v * crank_pivot.v)"}
        run = simulate("four_bar", 0.5, **how, events=events, vary=vary, metrics=metrics, accuracy="local")
        return run.metrics["x"] + run.metrics["i"]

    x = [np.array([1.0, 1.5]), np.array([6.0, 8.0])]
    slopes = jax.grad(lambda *x: value(*x).sum(), (0, 1))(*x)
    for k in range(2):
        np.testing.assert_allclose(slopes[k], differences(value, x, k), atol=MEASURED, rtol=MEASURED)


def test_what_is_asked_behind_a_stop_has_no_slope() -> None:
    """As it has no value: NaN for the member that has stopped, and for no other one."""
    stop = {"line": Event("slide.q - 0.5", "up", "stop")}

    def behind(speed: Any) -> Any:
        return braked(speed, np.ones(2), stop, step=5e-3).channels["slide.v"][:, -1]

    slow = np.array([0.5, 1.7])
    _, back = jax.vjp(behind, slow)
    with pytest.warns(UserWarning, match="member"):
        (slopes,) = back(np.ones(2))
    assert slopes[0] == 1.0 and np.isnan(slopes[1])


def test_forward_mode_is_refused_by_name_and_not_planned() -> None:
    with pytest.raises(ModelError, match=r"event line: action: found set.*differentiated forward.*jax\.grad"):
        jax.jvp(lambda v: braked(v, np.ones(2), step=5e-3).metrics["way"], (SPEEDS,), (np.ones(2),))
    given = options_of(span=0.9, step=5e-3, events=LINE, metrics={"way": "final(slide.q)"})
    planner = Planner(DifferentiableRun(SLED, ["a:mass.mass"], given).begun)
    assert {planner.planned(50, 1, 2).direction, *planner.planned(50, 1, 2).costs} == {"reverse", "differences"}
    with pytest.raises(ModelError, match=r"direction.*forward.*an event stops members"):
        planner.planned(50, 1, 2, direction="forward")

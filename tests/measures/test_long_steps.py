"""Metrics over steps that a tolerance chose: as exact as these, by the motion within them; their derivatives."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.simulate import simulate as traceable
from shiftjax.measures.interval import NODES, Instant, Interval
from shiftjax.measures.step_path import StepPath
from shiftjax.run.simulate import simulate
from shiftjax.topology.analysis import analyze

EXACT = 1e-12  # of polynomials that the rules have to give
METRICS = {
    "mean": "mean(rocker_pivot.q)",
    "rms": "rms(rocker_pivot.v)",
    "integral": "integral(crank_pivot.v)",
    "energy": "mean(energy.kinetic)",
    "largest": "maximum(rocker_pivot.q)",
    "smallest": "minimum(rocker_pivot.v)",
    "crossing": "first_crossing(rocker_pivot.v, 0)",
    "at": "value_at(rocker_pivot.q, 0.3333)",
    "distance": "path_distance(coupler:tip.position, [[0.1, 0, 0.2], [0.2, 0, 0.3]])",
}
NEAR = 10.0  # errors of these in tolerances, over a second; speeds are ten times as large as angles
SMALL = 1e-9  # of RK4 with steps of 0.1 ms: 2e-10 at most in what it gives, trapezoids apart


def interval(function: Any, begin: float = 0.3, span: float = 0.4) -> Interval:
    times = [begin + span * (1 + node) / 2 for node in NODES]
    return Interval(tuple(Instant(t, list(np.atleast_1d(function(t)))) for t in times))


def test_a_curve_through_five_instants() -> None:
    """A polynomial of degree four: its integral (to degree seven), values, extremes, crossings, and nearest point."""
    top = interval(lambda t: 1.0 - (t - 0.45) ** 2 + (t - 0.45) ** 4)
    high = top.highest()
    assert high.t == pytest.approx(0.45, abs=1e-9) and high.value[0] == pytest.approx(1.0, abs=EXACT)
    assert top.lowest().t == pytest.approx(0.7) and interval(lambda t: -t).highest().value[0] > -0.37
    assert top.at(0.6)[0] == pytest.approx(1.0 - 0.15**2 + 0.15**4, abs=EXACT)
    assert interval(lambda t: t**7).integral(lambda v: v[0]) == pytest.approx((0.7**8 - 0.3**8) / 8, abs=EXACT)
    cubic = interval(lambda t: t**3)
    k = next(k for k, (a, b) in enumerate(cubic.pairs()) if a.value[0] < 0.1 < b.value[0])
    assert cubic.reached(k, 0.5, 0.1) == pytest.approx(0.1 ** (1 / 3), abs=1e-9)
    parabola = interval(lambda t: np.array([t, t**2]))
    t = np.roots([2.0, 0.0, 1.0 - 2 * 0.6, -0.2])  # of (t - 0.2)^2 + (t^2 - 0.6)^2, where its slope vanishes
    t = np.clip(t[np.abs(t.imag) < EXACT].real, 0.3, 0.7)
    bent = interval(lambda t: np.array([np.cos(t), np.sin(t)]), 2.2, 0.9)  # of its distance the slope falls all the way
    assert bent.nearest([2.0, 0.5]) == pytest.approx((np.cos(2.2) - 2.0) ** 2 + (np.sin(2.2) - 0.5) ** 2, abs=1e-12)
    assert parabola.nearest([0.2, 0.6]) == pytest.approx(min((t - 0.2) ** 2 + (t**2 - 0.6) ** 2), abs=EXACT)


def state(plan: Any, angle: Any, t: float) -> list[float]:
    """Coordinates, speeds, accelerations of a hinge, or of a ball about x, from a function and its derivatives."""
    y, rate, bend = angle(t)
    if plan.nq == 1:
        return [y, rate, bend]
    return [np.cos(y / 2), np.sin(y / 2), 0.0, 0.0, rate, 0.0, 0.0, bend, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["Rx", "spherical"])
def test_orders_of_the_motion_within_a_step(kind: str) -> None:
    """Six, five and four for angles, speeds and accelerations: half the step, a 64th, a 32nd, a 16th of the error."""
    builder = ModelBuilder()
    builder.assembly("a").body("rod", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("pivot", kind, child="rod")
    plan = analyze(builder.build())
    path = StepPath(plan, "f64")
    errors = []
    for span in (0.2, 0.1):
        begin = 0.6 - span / 2
        numbers = path.between(state(plan, swing, begin), state(plan, swing, begin + span), 0.3, span)
        off = np.abs(np.subtract(numbers, state(plan, swing, begin + 0.3 * span)))
        nq, nv = plan.nq, plan.nv
        errors.append([off[:nq].max(), off[nq : nq + nv].max(), off[nq + nv :].max()])
    assert np.log2(np.divide(*errors)) == pytest.approx([6, 5, 4], abs=0.3)


def swing(t: float) -> tuple[float, float, float]:
    return np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)


def test_in_a_very_short_step_rounding_of_the_way_is_no_acceleration() -> None:
    builder = ModelBuilder()
    builder.assembly("a").body("rod", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("pivot", "Rx", child="rod")
    path, span = StepPath(analyze(builder.build()), "f64"), 1e-7
    for begin in np.linspace(0.1, 3.0, 30):
        numbers = path.between(state(path.plan, swing, begin), state(path.plan, swing, begin + span), 0.3, span)
        assert numbers[2] == pytest.approx(swing(begin)[2], abs=1e-6)


def test_metrics_are_as_exact_as_the_steps() -> None:
    """Beside RK4 with small steps, means and integrals taken as those of a quadrature of its channels."""
    model = load("four_bar")
    fine = simulate(model, 1.0, 2e-5, metrics=METRICS).metrics
    trapezoids = 2e-9  # of 20 us, by halving the step
    for tolerance in (1e-6, 1e-8):
        chosen = simulate(model, 1.0, tolerance=tolerance, metrics=METRICS)
        for name in METRICS:
            assert abs(chosen.metrics[name] - fine[name]) < NEAR * tolerance + trapezoids, name
    assert chosen.certificate["steps"] < 200


def test_extremes_of_channels_lie_between_steps_too() -> None:
    channels = ["rocker_pivot.q", "rocker_pivot.v"]
    fine = simulate("four_bar", 1.0, 5e-5, channels=channels, extremes=True).extremes
    chosen = simulate("four_bar", 1.0, tolerance=1e-8, channels=channels, extremes=True).extremes
    for path in channels:
        assert np.abs(chosen[path] - fine[path]).max() < 1e-7, "peaks of RK4 lie half a step off at most"


def test_a_motion_with_quaternions_and_states() -> None:
    """A top in space; means of its angular velocity and of its height, beside RK4."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    inertia: dict[str, Any] = {"mass": 1.0, "inertia": (1.0, 2.0, 2.5), "center_of_mass": (0.2, 0.0, 0.0)}
    builder.assembly("a").body("top", **inertia).joint(
        "ball", "spherical", child="top", initial_velocity=(0.1, 5.0, 0.3)
    )
    metrics = {"spin": "rms(norm(top.angular_velocity))", "height": "mean(energy.potential)"}
    fine = simulate(builder.build(), 2.0, 1e-4, metrics=metrics).metrics
    chosen = simulate(builder.build(), 2.0, tolerance=1e-8, metrics=metrics).metrics
    for name in metrics:
        assert abs(chosen[name] - fine[name]) < 1e-7, name


DIFFERENTIATED = ["mean", "rms", "largest", "crossing", "at", "distance"]


def test_derivatives_of_metrics_are_those_of_the_steps_that_were_taken() -> None:
    """Reverse and forward mode beside differences of runs along the schedule."""
    model = load("four_bar")
    path = model.resolve("crank_pivot.initial_velocity")
    at = model.numbers()[path]

    def loss(x, **how):
        metrics = {name: METRICS[name] for name in DIFFERENTIATED}
        result = traceable(model, 0.5, vary={path: [x]}, metrics=metrics, tolerance=1e-8, **how)
        return sum((k + 1.0) * result.metrics[name][0] for k, name in enumerate(DIFFERENTIATED))

    reverse = float(jax.grad(loss)(at))
    taken = simulate(model, 0.5, tolerance=1e-8, vary={path: [at]}).schedule
    along = partial(loss, schedule=taken)
    near, far = ((along(at + h) - along(at - h)) / (2 * h) for h in (2e-4 * at, 4e-4 * at))
    assert reverse == pytest.approx(float(4 * near - far) / 3, rel=1e-7)
    assert float(jax.jvp(loss, (at,), (1.0,))[1]) == pytest.approx(reverse, rel=1e-9)

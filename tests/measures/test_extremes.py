"""Extremes between steps: value, instant and both slopes against closed forms, and what no curve describes (F25)."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax import GradientWarning, Model
from shiftjax.ensembles.optimization.optimize import optimize
from shiftjax.ensembles.study.definition import Definition
from tests.extensions import numpy_backend  # noqa: F401
from tests.support.complete import without

STEP, FREQUENCY = 1e-2, "pivot_drive.frequency"
# Of a sine of at most 5 rad/s at steps of 10 ms, by a third of the powers of 0.05 that theory has: the fourth of a
# value, the third of an instant in steps; of slopes one less.
VALUE, INSTANT, SLOPE = 1e-6, 1e-5, 3e-4
BACKENDS = 1e-13  # the same operations in another order


def rod() -> Model:
    """A rod on a pivot, which is driven."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    body = builder.assembly("a").body("rod", mass=1.0, center_of_mass=(0.3, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))
    body.joint("pivot", "Ry", child="rod")
    return builder.build()


def measured(frequencies: Any, metrics: dict[str, str], **more: Any) -> dict[str, Any]:
    """Metrics of a rod whose angle is sin(w t)."""
    given = {"span": 1.0, "step": STEP, "drive": {"pivot": shiftjax.Harmonic(amplitude=1.0, frequency=1.0)}, **more}
    return dict(shiftjax.simulate(rod(), vary={FREQUENCY: frequencies}, metrics=metrics, **given).metrics)


# When the angle is largest: at a step, between two, in the last step, at its end but for rounding.
TIMES = np.array([0.3, 0.3001, 0.3049, 0.305, 0.3099, 0.9951, 0.99999])
METRICS = {
    "high": "maximum(pivot.q)",
    "low": "minimum(1 - 2 * pivot.q)",
    "when": "time_of_maximum(pivot.q)",
    "soonest": "time_of_minimum(-3 * pivot.q)",
    "tilted": "maximum(pivot.q + 0.5 * t)",
    "tilted when": "time_of_maximum(pivot.q + 0.5 * t)",
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_extremes_between_steps_and_their_slopes(mode: str) -> None:
    """The angle is largest at pi / 2 w, with half the time added at acos(-a) / w, a = 1 / 2 w, or at the end."""
    w = np.pi / 2 / TIMES
    along = lambda w: measured(w, METRICS)  # noqa: E731
    values, slopes = jax.jvp(along, (jnp.array(w),), (jnp.ones(len(w)),))
    if mode == "reverse":
        slopes = {name: jax.grad(lambda w, name=name: along(w)[name].sum())(jnp.array(w)) for name in METRICS}
    a = 0.5 / w
    t = np.minimum(np.arccos(-a) / w, 1.0)
    later = np.where(t < 1.0, -(a / np.sqrt(1 - a**2) + np.arccos(-a)) / w**2, 0.0)
    for name, value, slope in (
        ("high", 1.0, 0.0),
        ("low", -1.0, 0.0),
        ("when", TIMES, -TIMES / w),
        ("soonest", TIMES, -TIMES / w),
        ("tilted", np.sin(w * t) + 0.5 * t, t * np.cos(w * t)),
        ("tilted when", t, later),
    ):
        near = VALUE if name in ("high", "low", "tilted") else INSTANT
        np.testing.assert_allclose(values[name] - value, 0.0, atol=near, err_msg=name)
        np.testing.assert_allclose(slopes[name] - slope, 0.0, atol=SLOPE, err_msg=name)


def test_an_extreme_in_the_first_step() -> None:
    """Of sin(w t + b): at (pi / 2 - b) / w; where it begins at its largest, that is the start, and has no slope."""
    w = 2.0
    for phase, t in ((np.pi / 2 - 0.01, 0.005), (np.pi / 2, 0.0)):
        drive = {"pivot": shiftjax.Harmonic(amplitude=1.0, frequency=1.0, phase=phase)}
        along = lambda w, drive=drive: measured(w, METRICS, drive=drive)  # noqa: E731
        values, slopes = jax.jvp(along, (jnp.array([w]),), (jnp.ones(1),))
        np.testing.assert_allclose(values["when"], t, atol=INSTANT)
        np.testing.assert_allclose(slopes["when"], -t / w, atol=SLOPE)


def test_all_backends_agree() -> None:
    w = np.pi / 2 / TIMES
    cpu = measured(w, METRICS)
    for backend in ("numpy", "xla"):
        other = measured(w, METRICS, backend=backend)
        for name in METRICS:
            np.testing.assert_allclose(other[name], cpu[name], rtol=0, atol=BACKENDS, err_msg=f"{backend} {name}")


STEEP = "tanh(1e6 * (t - 0.5034))"  # -1, and from 0.5034 s on 1
ROUGH = {
    "kink": ("maximum(-1 * abs(t - 0.3004))", -4e-4),
    "kink between": ("maximum(-1 * abs(t - 0.305))", -5e-3),
    "low kink": ("minimum(abs(t - 0.302))", 2e-3),
    "jump up": (f"maximum({STEEP} - t)", 1 - 0.51),
    "jump down": (f"maximum(t - {STEEP})", 1 + 0.5),
    "pulse": (f"maximum({STEEP} - tanh(1e6 * (t - 0.512)))", 2.0),
}


@pytest.mark.parametrize("name", ROUGH)
def test_what_no_curve_describes_is_what_steps_show_and_gradients_warn(name: str) -> None:
    """No value is made up beside a jump; of the extreme and of its instant the warning names the metric."""
    text, value = ROUGH[name]
    metrics = {"of it": text, "when": f"time_of_{text}", "end": "maximum(t)"}
    run = lambda w: measured(w, metrics)  # noqa: E731
    w = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(run(np.asarray(w))["of it"], value, rtol=0, atol=1e-12)
    for asked in ("of it", "when"):
        with pytest.warns(GradientWarning, match=f"2 of 2 members, first member 0: the slope of the metric {asked} is"):
            jax.grad(lambda w, asked=asked: run(w)[asked].sum())(w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.grad(lambda w: run(w)["end"].sum())(w)


@pytest.mark.parametrize("method", without(["lbfgs", "adam"], ["adam"]))
def test_an_instant_is_optimised(method: str) -> None:
    """The frequency that puts the largest angle to 0.4 s is pi / 0.8; it begins at pi / 0.6."""
    drive = {"pivot": {"type": "harmonic", "amplitude": 1.0, "frequency": np.pi / 0.6}}
    found = optimize(_seeking("time_of_maximum(pivot.q)", drive, method=method, iterations=60, learning_rate=0.1))
    assert found.best.objective < 1e-6


def test_an_instant_without_a_slope_is_not_said_to_have_converged() -> None:
    """That of a kink, 0.5 s, is taken for that of a step; the objective wants 0.4."""
    drive = {"pivot": {"type": "harmonic", "amplitude": 1.0, "frequency": 3.0}}
    found = optimize(_seeking("time_of_maximum(-1 * abs(t - 0.5))", drive, method="lbfgs", iterations=20))
    assert "converged" not in str(found.ending)


def _seeking(instant: str, drive: dict[str, Any], **words: Any) -> Definition:
    return Definition(
        model=rod(), span=1.0, step=STEP, drive=drive, vary={FREQUENCY: "2:6~sobol"}, samples=1,
        metrics={"instant": instant}, optimize={"objective": "(instant - 0.4) ** 2", **words},
    )  # fmt: skip

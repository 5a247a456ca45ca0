"""Gradients of metrics: every kind in reverse and in forward mode, and where a value rests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.measures.metrics import METRICS
from shiftjax.mechanism.model import Model
from tests.kernels.test_forward import METRICS as KNOWN

TEXTS = {
    **KNOWN,
    "soonest": "time_of_minimum(rocker_pivot.v)",
    "passed": "passing_time((crank_pivot.q - 1.0472) ** 2, 0.003) + passings((crank_pivot.q - 1.0472) ** 2, 0.003)",
}
MODES = 1e-10  # relative to the derivative, or to 1: quotients of small differences
ORDER_4 = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))
SMOOTH = 1e-7  # of the largest derivative, or of 1: differences of order 4 by steps h
H = 3e-5  # so small that no extreme changes its instant
VARY = {
    "four_bar:crank.mass": jnp.array([1.0, 1.4]),
    "four_bar:coupler.mass": jnp.array([1.0, 0.8]),
    "four_bar:crank_pivot.initial_velocity": jnp.array([2.0, -3.0]),
}
RUN: dict[str, Any] = {"span": 0.1, "step": 1e-3, "hold": ["crank_pivot"]}


def measured(model: Model | str, vary: Mapping[str, Any], metrics: Mapping[str, str], **run: Any) -> Mapping[str, Any]:
    return shiftjax.simulate(model, vary=vary, metrics=metrics, **run).metrics


def test_every_kind_of_metric() -> None:
    """Each against forward mode along one direction; all of them against differences of plain runs."""
    used = " ".join(TEXTS.values())
    builtin = {name for name, kind in METRICS.items() if kind.update.__module__.startswith("shiftjax.")}
    assert len(builtin) > 10 and all(kind in used for kind in builtin)
    run = lambda vary: measured("four_bar", vary, TEXTS, **RUN)  # noqa: E731
    sums = lambda vary: {name: values.sum() for name, values in run(vary).items()}  # noqa: E731
    back = jax.jacrev(sums)(VARY)
    along = {path: scale * jnp.ones_like(x) for scale, (path, x) in zip((1.0, -0.7, 0.4), VARY.items(), strict=True)}
    for name, slopes in jax.jvp(run, (VARY,), (along,))[1].items():
        terms = [np.asarray(back[name][path] * along[path]) for path in VARY]
        size = max(1.0, *(np.abs(term).max() for term in terms))
        assert np.abs(sum(terms) - np.asarray(slopes)).max() <= MODES * size, name
    for path, values in VARY.items():
        ends = [(w / H, run({**VARY, path: values + k * H})) for k, w in ORDER_4]
        for name in TEXTS:
            found = np.asarray(back[name][path])
            assert np.isfinite(found).all(), name
            slopes = np.asarray(sum(weight * values[name] for weight, values in ends))
            assert np.abs(found - slopes).max() <= SMOOTH * max(np.abs(slopes).max(), 1.0), name


def slider() -> Model:
    """A body that moves along x as it was pushed, without gravity: what rests, rests to the last bit."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.assembly("a").body("sled", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("rail", "Tx", child="sled")
    return builder.build()


RESTING = {
    "first_crossing(rail.q - 1, 0, 'up')": "never",
    "passing_time(rail.q - 1, 0, 'up', 2)": "never",
    "passings(rail.q)": 0.0,
    "settling_time(rail.q, 0, 0.5)": 0.0,
    "settling_time(rail.v, 0.25, 0.25)": 0.0,
    "integral(norm(sled.velocity))": (0.0, 0.05),
    "maximum(norm(sled.velocity))": (0.0, 1.0),
    "rms(norm(sled.velocity))": (0.0, 1.0),
    "sqrt(rms(rail.v))": (0.0, 0.5 / np.sqrt(0.5)),
    "tracking_error([rail.v], [0.02, 0.041], [[0], [0]])": (0.0, 1.0),
    "path_distance([rail.v, rail.q], [[0, 0]])": (0.0, 1.0),
}


@pytest.mark.filterwarnings("ignore::shiftjax.GradientWarning")  # of the one that has none
@pytest.mark.parametrize("text", RESTING)
def test_what_rests_has_a_derivative(text: str) -> None:
    """The first member stands still, the second one moves: norms have no slope at 0, and nothing is 0 / 0."""
    vary = {"rail.initial_velocity": jnp.array([0.0, 0.5]), "sled.mass": jnp.array([1.0, 1.0])}
    run = lambda vary: measured(slider(), vary, {"x": text}, span=0.05, step=1e-3)["x"]  # noqa: E731
    speeds, masses = (jax.grad(lambda vary: run(vary).sum())(vary)[path] for path in vary)
    along = {path: jnp.full(2, float(path == "rail.initial_velocity")) for path in vary}
    ahead = jax.jvp(run, (vary,), (along,))[1]
    if RESTING[text] == "never":  # is no number, and neither is its derivative
        assert np.isnan(run(vary)).all() and np.isnan(speeds).all() and np.isnan(ahead).all()
        return
    np.testing.assert_allclose(speeds, np.broadcast_to(RESTING[text], 2), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ahead, speeds, rtol=0, atol=1e-12)
    np.testing.assert_allclose(masses, 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["first_crossing", "passing_time"])
def test_a_crossing_beside_a_member_that_rests(kind: str) -> None:
    """The derivative of the time is that of the event, also where the value stood still before and after."""
    vary = {"rail.initial_velocity": jnp.array([0.5, 0.4])}
    text = {"x": f"{kind}(max(0, rail.q - 0.005), 0.004)"}
    run = lambda vary: measured(slider(), vary, text, span=0.05, step=1e-3)["x"].sum()  # noqa: E731
    found = jax.grad(run)(vary)["rail.initial_velocity"]
    np.testing.assert_allclose(found, -0.009 / np.array([0.5, 0.4]) ** 2, rtol=1e-12)  # t = 0.009 / v


def test_a_metric_that_is_none_spoils_no_other_member() -> None:
    """Asked for, its derivative is not a number; left out by the user's sum, it is nothing."""
    vary = {"rail.initial_velocity": jnp.array([0.0, 0.5])}
    text = {"x": "first_crossing(rail.q, 0.01)"}
    run = lambda vary: measured(slider(), vary, text, span=0.05, step=1e-3)["x"]  # noqa: E731
    with pytest.warns(shiftjax.GradientWarning, match="1 of 2 members, first member 0: has no gradient"):
        found = jax.grad(lambda vary: run(vary).sum())(vary)["rail.initial_velocity"]
    kept = jax.grad(lambda vary: jnp.nansum(run(vary)))(vary)["rail.initial_velocity"]
    np.testing.assert_allclose(found, [np.nan, -0.04], rtol=1e-12)
    np.testing.assert_allclose(kept, [0.0, -0.04], rtol=1e-12)

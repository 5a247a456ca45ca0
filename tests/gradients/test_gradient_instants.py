"""Slopes of the places of extremes and crossings along paths, by implicit functions at these places. Row 20, F8."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import GradientWarning
from tests.gradients.test_gradient_kinematics import (
    MODEL,
    PATHS,
    SIDES,
    both_ways,
    complex_steps,
    dead_points,
    differenced,
    lengths,
)

EXACT = 1e-12  # against complex steps of closed forms: places are those of Newton's method, not of curves
CURVES = 2e-6  # of differences: places of curves between poses are good to 1e-8, over 1e-2
TURN = np.linspace(0.0, 2.0 * np.pi, 73)
FOLDED = float(np.arccos(1.0 / 3.0))  # the crank at a dead point of the rocker


def metrics_of(way: np.ndarray, metrics: dict[str, Any]) -> Any:
    def path(x: Any) -> Any:
        poses = shiftjax.follow(MODEL, {"crank_pivot": way}, metrics=metrics, vary=lengths(x))
        return jnp.stack([jnp.asarray(values)[0] for values in poses.metrics.values()])

    return path


def test_places_of_dead_points_have_those_of_closed_forms() -> None:
    """Where a rocker turns back the crank and the coupler are in line; that is where its speed passes zero, too."""
    metrics = {
        "highest": "time_of_maximum(rocker_pivot.q)",
        "stands": "passing_time(rocker_pivot.v, 0, 'down')",
        "lowest": "time_of_minimum(rocker_pivot.q)",
        "crosses": "first_crossing(rocker_pivot.v)",
        "return": "(time_of_maximum(rocker_pivot.q) - time_of_minimum(rocker_pivot.q)) / 2",
    }
    _, folded, in_line = complex_steps(dead_points, np.array(SIDES))
    slopes = both_ways(metrics_of(TURN, metrics), jnp.array(SIDES))
    exact = np.array([in_line, in_line, folded, folded, (in_line - folded) / 2.0])
    assert np.abs(slopes - exact).max() < EXACT


@pytest.mark.parametrize("way", [TURN, TURN[::-1]], ids=["rising", "falling"])
def test_other_places_have_those_of_differences(way: np.ndarray) -> None:
    """Of speeds, accelerations, mobility, points; of crossings further on, and of a band that is entered for good."""
    metrics = {
        "fast": "time_of_maximum(rocker_pivot.v)",
        "turn": "passing_time(rocker_pivot.a, 0, number=2)",
        "stiff": "time_of_maximum(rocker_pivot.mobility)",
        "far": "time_of_minimum(coupler:tip.position[0])",
        "upright": "first_crossing(rocker_pivot.q, -2.25)",
        "calm": "settling_time(rocker_pivot.q, -2.2, 0.2)",
        "count": "passings(rocker_pivot.v) + sign_changes(rocker_pivot.a)",
    }
    path, at = metrics_of(way, metrics), np.array(SIDES)
    known = differenced(path, at, 1e-2)
    assert (np.abs(known[:-1]).max(1) > 1e-2).all() and (known[-1] == 0.0).all()
    assert np.abs(both_ways(path, jnp.array(at)) - known).max() < CURVES


@pytest.mark.parametrize(
    ("way", "metric", "slopes", "message"),
    [
        (np.linspace(0.3, FOLDED, 25), "time_of_minimum(rocker_pivot.q)", True, "level at the very end of the path"),
        (TURN, "time_of_minimum((crank_pivot.q - 1) ** 4)", False, "hardly bends"),
        (TURN, "first_crossing((crank_pivot.q - 1) ** 3)", False, "hardly changes where it passes"),
        (TURN, "time_of_minimum(abs(rocker_pivot.q + 2.25))", False, "no smooth curve has"),
        (TURN, "first_crossing(rocker_pivot.q, 9)", False, "has no value"),
        (TURN[:25], "time_of_maximum(crank_pivot.q)", True, ""),
    ],
)
def test_what_is_to_be_doubted_is_named(way: np.ndarray, metric: str, slopes: bool, message: str) -> None:
    """At an end an extreme stays; where nothing is level, or all but level, there is no slope; causes are told."""
    path = metrics_of(way, {"m": metric})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        forward = jax.jacfwd(path)(jnp.array(SIDES))
        backward = jax.jacrev(path)(jnp.array(SIDES))
    texts = {str(one.message) for one in said if one.category is GradientWarning}
    assert all(message in text for text in texts) and bool(texts) == bool(message)
    for rows in (forward, backward):
        assert np.isfinite(rows).all() if slopes else np.isnan(rows).all()


WAY = {"crank_pivot": "0deg:360deg:73"}


def study(**more: Any) -> Definition:
    late = "time_of_maximum(rocker_pivot.q) - time_of_minimum(rocker_pivot.q)"
    words = {"kind": "follow", "drive": WAY, "vary": {PATHS[0]: "1.8:2.2:3"}, "metrics": {"late": late}}
    return Definition(MODEL, **{**words, **more})


def test_a_study_has_them_and_is_improved_by_them(tmp_path: Any) -> None:
    """A time ratio of 3 : 2 of the ways of a crank: both ways alike, and found by the slopes."""
    members = sweep(study())
    rows = {way: shiftjax.sensitivity(members, direction=way).slopes for way in ("forward", "reverse")}
    cranks = np.array([1.8, 2.0, 2.2])
    exact = [complex_steps(dead_points, np.array([a, *SIDES[1:]]))[1:, 0] for a in cranks]
    assert rows["forward"].ravel() == pytest.approx([line - folded for folded, line in exact], abs=EXACT)
    assert rows["reverse"] == pytest.approx(rows["forward"], abs=1e-12)
    wanted = {"objective": "(late - 1.2 * pi) ** 2", "iterations": 8, "method": "lbfgs"}
    best = shiftjax.optimize(study(optimize=wanted, vary={PATHS[0]: "1:2.2"}, samples=1), tmp_path / "o.zarr").best
    _, folded, line = dead_points(np.array([best.design[PATHS[0]], *SIDES[1:]]))
    assert (line + 2.0 * np.pi - folded) % (2.0 * np.pi) == pytest.approx(1.2 * np.pi, abs=1e-6)

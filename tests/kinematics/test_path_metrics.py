"""Metrics of paths: extremes and places between poses, by the parameter; what they refuse. S21."""

import numpy as np
import pytest

import shiftjax
from shiftjax.outcome import Outcome
from tests.support.models.planar_four_bars import four_bar

DEGREE = np.pi / 180.0
SWING = 38.942441269 * DEGREE  # of the rocker of 2, 7, 9, 6, between dead points at cosines 1/3 and -1/3 of the crank
DEAD = np.arccos(1.0 / 3.0)  # of the crank, once; then at 2 pi less it
OF_DIGITS = 1e-11  # rad: half of the last digit of the swing
OF_CURVES = 1e-8  # rad: the place of an extreme, of curves of the fifth degree through strides of 2.5 degrees
LENGTHS = (2.0, 7.0, 9.0, 6.0)
MODEL = four_bar(LENGTHS, 0.3)
TURN = np.linspace(0.3, 0.3 + 2.0 * np.pi, 73)
UNEVEN = 0.3 + 2.0 * np.pi * np.linspace(0.0, 1.0, 73) ** 1.1
METRICS = {
    "swing": "peak_to_peak(rocker_pivot.q)",
    "last": "time_of_minimum(rocker_pivot.q)",
    "first": "first_crossing(rocker_pivot.v, 0)",
    "least": "minimum(rocker_pivot.mobility)",
    "way": "integral(abs(rocker_pivot.v))",
    "middle": "mean(crank_pivot.q)",
    "there": {"kind": "value_at", "of": "crank_pivot.q", "time": 1.0, "limits": ["0deg", "90deg"]},
}


@pytest.mark.parametrize(("path", "swing"), [(TURN, OF_DIGITS), (UNEVEN, 1e-9)])
def test_extremes_are_those_between_poses(path: np.ndarray, swing: float) -> None:
    """The swing to 1e-9 degrees with 73 poses, whose largest recorded angles are off by 0.03; also of uneven ones."""
    rows = shiftjax.follow(MODEL, {"crank_pivot": path}, metrics=METRICS, channels=["rocker_pivot.q"])
    values = rows.metrics
    assert abs(float(values["swing"]) - SWING) < swing
    assert abs(np.ptp(rows.channels["rocker_pivot.q"]) - SWING) > 1e-5
    for name in ("last", "first"):
        assert abs(float(values[name]) - DEAD) < OF_CURVES
    assert abs(float(values["least"])) < OF_CURVES  # it rests at its dead points
    assert float(values["way"]) == pytest.approx(2.0 * SWING, rel=1e-5)  # but for the kinks of |v|
    assert float(values["middle"]) == pytest.approx((path[0] + path[-1]) / 2.0, abs=1e-12)
    assert float(values["there"]) == pytest.approx(1.0, abs=1e-12)
    assert [rows.metric_units[name] for name in ("swing", "last", "least", "way")] == ["rad", "rad", "1", "rad"]


def test_a_path_that_falls_has_the_same_extremes() -> None:
    """At the same places, as its poses are the same; integrals by it have the other sign."""
    some = {name: METRICS[name] for name in ("swing", "last", "first", "least", "middle")}
    some["change"] = "integral(rocker_pivot.v)"
    for up in (TURN[:61], UNEVEN[:61]):
        rising, falling = (
            shiftjax.follow(four_bar(LENGTHS, float(way[0])), {"crank_pivot": way}, metrics=some)
            for way in (up, up[::-1])
        )
        for name in ("swing", "last", "least", "middle"):
            assert float(falling.metrics[name]) == pytest.approx(float(rising.metrics[name]), abs=OF_CURVES), name
        assert float(falling.metrics["change"]) == pytest.approx(-float(rising.metrics["change"]), abs=OF_CURVES)
        assert float(falling.metrics["first"]) == pytest.approx(2.0 * np.pi - DEAD, abs=OF_CURVES)


def test_members_that_lock_have_none_and_functions_see_the_parameter() -> None:
    way = np.linspace(1.45, 2.46, 40)
    metrics = {"far": "maximum(crank_pivot.q)", "begin": lambda u, seen: u[0] + 0.0 * seen["crank_pivot.q"][:, 0]}
    rows = shiftjax.follow(
        "four_bar",
        {"rocker_pivot": way},
        vary={"coupler:tip.T[0]": [0.5, 0.52]},
        channels=["crank_pivot.q"],
        metrics=metrics,
    )
    assert rows.status.tolist() == [Outcome.ok, Outcome.locked]
    assert float(rows.metrics["far"][0]) == pytest.approx(rows.channels["crank_pivot.q"][0].max(), abs=1e-12)
    assert rows.metrics["begin"][0] == way[0]
    assert np.isnan([rows.metrics["far"][1], rows.metrics["begin"][1]]).all()
    assert rows.metric_texts["far"] == metrics["far"]


@pytest.mark.parametrize(
    ("way", "more", "message"),
    [
        (np.abs(TURN - 2.0), {}, "goes to and fro; allowed: .* Lead it one way, or give times"),
        (TURN[::-1], {"metrics": {"late": METRICS["there"]}}, "value_at along a path on which bar:crank_pivot.q falls"),
        (TURN, {"order": 1}, "order=1"),
        (TURN, {"metrics": {"late": "value_at(rocker_pivot.q, time=9)"}}, "times from 0.3 to 6.58319 rad"),
        (UNEVEN, {"metrics": {"jerk": "maximum(rocker_pivot.jerk)"}}, "uneven path"),
    ],
)
def test_what_metrics_of_paths_refuse(way: np.ndarray, more: dict, message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        shiftjax.follow(MODEL, {"crank_pivot": way}, **{"metrics": {"swing": METRICS["swing"]}, **more})


def test_paths_by_time_have_metrics_of_driven_runs() -> None:
    """Along uneven places, whose rates are those of a law, and units are those of runs."""
    metrics = {
        "fast": "maximum(rocker_pivot.v)",
        "way": "integral(rocker_pivot.v)",
        "when": "time_of_maximum(crank_pin.v)",
    }
    law = shiftjax.Harmonic(amplitude=0.4, frequency=6.0)
    path = shiftjax.follow("four_bar", {"crank_pivot": law}, np.linspace(0.0, 1.0, 81), metrics=metrics)
    run = shiftjax.simulate(
        "four_bar", 1.0, drive={"crank_pivot": law}, metrics=metrics, tolerance=1e-10, accuracy="local"
    )
    for name, value in path.metrics.items():
        assert float(value) == pytest.approx(float(run.metrics[name]), rel=1e-6), name  # of the curves of a path
    assert path.metric_units == run.metric_units

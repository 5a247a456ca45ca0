"""Splines on lane scalars against SciPy, with constants, with a member's own values and with its own times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from shiftjax.lanes.building import graph_of
from shiftjax.splines import cubic, evaluated, straight
from shiftjax.time_laws import Table

ALGEBRA = 1e-12  # relative to the largest value: the same spline by another elimination
BENDS = {"natural": ({}, "natural"), "clamped": ({"first_rate": 0.3, "last_rate": -2.0}, ((1, 0.3), (1, -2.0)))}
BENDS["periodic"] = ({"periodic": True}, "periodic")  # type: ignore[assignment]


def table(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.uniform(0.01, 1.0, n)), rng.standard_normal(n)


def compared(found: Any, expected: CubicSpline, at: np.ndarray) -> None:
    for k in range(3):
        wanted = expected(at, k)
        assert np.abs(np.asarray(found[k]) - wanted).max() < ALGEBRA * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize("n", [3, 4, 5, 20, 200])
@pytest.mark.parametrize("ends", BENDS)
def test_the_spline_is_that_of_scipy(n: int, ends: str) -> None:
    """Value, rate and second derivative everywhere, at the knots too."""
    (options, kind), (times, values) = BENDS[ends], table(n, n)
    if ends == "periodic":
        values[-1] = values[0]
    at = np.concatenate([np.linspace(times[0], times[-1], 501), times])
    T, y = times.tolist(), values.tolist()
    compared(evaluated(T[1:-1], cubic(T, y, **options), at), CubicSpline(times, values, bc_type=kind), at)


def test_values_and_times_of_members() -> None:
    """A lane value among constants changes nothing but rounding: three members at once, each beside its own spline."""
    times, values = table(12, 1)
    T: list[Any] = times.tolist()
    y: list[Any] = values.tolist()
    T[5], y[0], y[7] = times[5] + np.array([-0.004, 0.0, 0.003]), np.array([1.0, 2.0, 3.0]), np.array([0.0, 5.0, -5.0])
    for t in (times[0], times[5], 0.5 * (times[4] + times[5]), times[-1]):
        found = evaluated(T[1:-1], cubic(T, y), np.full(3, t))
        for k in range(3):
            own_times, own = ([float(np.broadcast_to(x, 3)[k]) for x in column] for column in (T, y))
            spline = CubicSpline(own_times, own, bc_type="natural")
            compared([np.broadcast_to(x, 3)[k] for x in found], spline, np.asarray(t))


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 9), st.integers(0, 1000), st.floats(-3.0, 12.0))
def test_straight_lines(n: int, seed: int, t: float) -> None:
    times, values = table(n, seed)
    T = times.tolist()
    value, rate, second = evaluated(T[1:-1], straight(T, values.tolist()), float(np.clip(t, T[0], T[-1])))
    assert value == pytest.approx(np.interp(t, times, values), abs=1e-12) and second == 0.0
    assert min(abs(rate - np.diff(values) / np.diff(times))) < 1e-10


@pytest.mark.parametrize("of_load", [True, False])
def test_what_holds_outside_a_table(of_load: bool) -> None:
    law, n = Table(of_load=of_load), {"times": (1.0, 2.0, 4.0), "values": (3.0, 5.0, 4.0), "interpolation": "cubic"}
    inside = law.at({**n, "outside": "linear"}, 1.0), law.at({**n, "outside": "linear"}, 4.0)
    before, after = law.at({**n, "outside": "linear"}, 0.0), law.at({**n, "outside": "linear"}, 6.0)
    assert before == pytest.approx((3.0 - inside[0][1], inside[0][1], 0.0), abs=1e-14)
    assert after == pytest.approx((4.0 + 2.0 * inside[1][1], inside[1][1], 0.0), abs=1e-14)
    held = {**n, "outside": "hold"}
    assert law.at(held, -7.0) == (3.0, 0.0, 0.0) and law.at(held, 9.0) == (4.0, 0.0, 0.0)
    ends = [law.at(held, t)[1] for t in (1.0, 4.0 - 1e-12)]
    assert (np.abs(ends) > 0.1).all() if of_load else np.abs(ends).max() < 1e-11, "a driver comes to rest"
    again = {**n, "outside": "repeat"}
    for t in (1.3, 3.9):
        one, next_one = law.at(again, t), law.at(again, t + 6.0)
        assert next_one == pytest.approx((one[0] + 2 * (4.0 - 3.0), one[1], one[2]), abs=1e-12)
    joint = [law.at(again, 4.0 + e)[1:] for e in (-1e-9, 1e-9)]
    assert joint[0] == pytest.approx(joint[1], abs=1e-7), "rate and second derivative go on"


def test_constant_tables_leave_selects_only() -> None:
    """The spline of constants is solved at trace time: no division, and one comparison a knot."""
    times, values = table(50, 3)
    T, y = times.tolist(), values.tolist()
    graph = graph_of(lambda x: evaluated(T[1:-1], cubic(T, y), x[0]), 1)
    names = [node[0] for node in graph.nodes]
    assert "div" not in names and names.count("lt") == 48 and names.count("select") <= 5 * 48
    varied = graph_of(lambda x: evaluated(T[1:-1], cubic(T, [*y[:-1], x[1]]), x[0]), 2)
    assert sum(node[0] != "const" for node in varied.nodes) < 25 * 50, "linear in the knots"

"""Linearly implicit methods (D4): tables, orders, stiff springs and dampers, gradients, what they refuse."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.kernels.step_program import Call, Method, combine
from shiftjax.mechanism.model import Model
from shiftjax.run.programs.integrators import METHODS, order_of
from shiftjax.run.programs.rodas import RODAS5P, RosenbrockTable
from shiftjax.run.simulate import simulate
from tests.extensions import numpy_backend, rodas4  # noqa: F401
from tests.runs.events.test_switches import ERROR, SPAN, closed_form, pull
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, pendulum, rod

DIGITS = {5: 1e-11, 4: 1e-9}  # of coefficients of up to 150 with sixteen digits; those of Rodas4 have some ten
CLOSE = 1e-7  # rad: of angles at a tolerance of 1e-8, the figure of the project's list
BACKENDS = 1e-12  # rad, over some steps of another backend
DIFFERENCES = 1e-7  # relative: central differences of runs
ANGLES = ["pivot.q", "pin.q", "hinge.q"]


@cache
def elastic() -> Model:
    """A four-bar that a spring of 8e5 N/m and a damper of 4e4 N s/m close: rates of 24 and 2e5 /s."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("rocker", T=(GROUND, 0.0, 0.0))
    bar = builder.assembly("bar")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        bar.body(name, **rod(length))
    bar.joint("pivot", "Ry", child="crank", initial_displacement=-1.0471975511965976, damping=[0.0, 0.1])
    bar.joint("pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=0.5826179968832254)
    bar.joint("hinge", "Ry", parent=("fixed", "rocker"), child="rocker", initial_displacement=-1.4530116432395255)
    ends, none = [("coupler", "tip"), ("rocker", "tip")], [0.0] * 3
    bar.force_module(
        "bushing", name="seat", frames=ends, stiffness=[8e5] * 3, turning_stiffness=none, damping=[4e4] * 3
    )
    return builder.build()


def angles(span: float = 0.2, **options: Any) -> np.ndarray:
    """(3, ticks) of the elastic four-bar."""
    result = simulate(elastic(), span, output_step=0.02, channels=ANGLES, **options)
    assert result.failed.size == 0
    return np.array([result.channels[name] for name in ANGLES])


# -- tables ----------------------------------------------------------------------------------------------------------


def conditions(table: RosenbrockTable, m: np.ndarray) -> list[list[float]]:
    """For every order what is left of its conditions: Hairer, Wanner, Solving Ordinary Differential Equations II,
    IV.7, theorem 7.4 and table 7.1, with beta = alpha + gamma, its diagonal included."""
    n = len(table.m)

    def lower(rows: Any) -> np.ndarray:
        return np.array([[*row, *[0.0] * (n - len(row))] for row in rows])

    gammas = np.linalg.inv(np.eye(n) / table.gamma - lower(table.C))
    alpha, b = lower(table.A) @ gammas, m @ gammas
    beta = alpha + gammas
    a, s = alpha.sum(1), beta.sum(1)
    return [
        [b.sum() - 1],
        [b @ s - 1 / 2],
        [b @ a**2 - 1 / 3, b @ beta @ s - 1 / 6],
        [b @ a**3 - 1 / 4, b @ (a * (alpha @ s)) - 1 / 8, b @ beta @ a**2 - 1 / 12, b @ beta @ beta @ s - 1 / 24],
        [
            b @ a**4 - 1 / 5, b @ (a**2 * (alpha @ s)) - 1 / 10, b @ (alpha @ s) ** 2 - 1 / 20,
            b @ (a * (alpha @ a**2)) - 1 / 15, b @ (a * (alpha @ beta @ s)) - 1 / 30, b @ beta @ a**3 - 1 / 20,
            b @ beta @ (a * (alpha @ s)) - 1 / 40, b @ beta @ beta @ a**2 - 1 / 60,
            b @ beta @ beta @ beta @ s - 1 / 120,
        ],
    ]  # fmt: skip


RODAS4 = RosenbrockTable(0.25, rodas4.A, rodas4.C, rodas4.WEIGHTS, rodas4.ERROR)


@pytest.mark.parametrize(("table", "order"), [(RODAS5P, 5), (RODAS4, 4)])
def test_order_conditions_of_the_tables(table: RosenbrockTable, order: int) -> None:
    """The end is of one order, what the error is estimated by of one less; both stiffly accurate."""
    m, embedded = np.array(table.m), np.array(table.m) - np.array(table.error)
    for weights, holds in ((m, order), (embedded, order - 1)):
        left = [np.abs(some).max() for some in conditions(table, weights)]
        assert max(left[:holds]) < DIGITS[order] and (holds == 5 or left[holds] > 1e-4)
    assert table.A[-1] == table.m[:-1] and table.m[-1] == 1.0


@pytest.mark.parametrize(
    ("method", "order"), [("rosenbrock", 5), ("rodas4", 4), ("implicit_euler", 1), ("backward", 1)]
)
def test_fixed_steps_are_of_the_order_of_the_method(method: str, order: int) -> None:
    """On a four-bar whose loop is closed exactly, against steps of a tolerance; a method of one's own as a built-in."""
    model, channels = shiftjax.load("four_bar"), ["rocker_pivot.q", "rocker_pivot.v"]
    fine = simulate(model, 0.1, tolerance=1e-13, output_step=0.1, channels=channels).channels
    found = [simulate(model, 0.1, h, method=method, channels=channels).channels for h in (5e-3, 2.5e-3)]
    errors = [max(abs(one[name][-1] - fine[name][-1]) for name in channels) for one in found]
    assert order_of(METHODS[method]) == order
    assert 2 ** (order - 0.6) < errors[0] / errors[1] < 2 ** (order + 0.6)


# -- stiff runs ------------------------------------------------------------------------------------------------------


def test_a_loop_that_a_stiff_spring_and_damper_close() -> None:
    """At 1e-8 as far off as the list allows from small explicit steps, in a twentieth of explicit steps or less.

    10 s are in `benchmarks/bench_stiff.py`.
    """
    exact = angles(0.06, step=1e-5)  # stable below 1.4e-5 s
    stiff, explicit = (
        simulate(elastic(), 0.06, tolerance=1e-8, method=method, output_step=0.02, channels=ANGLES)
        for method in ("rosenbrock", "dopri5")
    )
    found = np.array([stiff.channels[name] for name in ANGLES])
    assert np.abs(found - exact).max() < CLOSE
    assert 20 * int(stiff.certificate["steps"]) < int(explicit.certificate["steps"])


def test_a_table_of_ones_own_takes_a_tolerance_and_backends_agree() -> None:
    exact = angles(tolerance=1e-10, method="rosenbrock")
    assert np.abs(angles(tolerance=1e-8, method="rodas4") - exact).max() < CLOSE
    for options in ({"tolerance": 1e-5, "method": "rosenbrock"}, {"step": 2e-3, "method": "implicit_euler"}):
        plain, compiled = (angles(0.02, backend=backend, **options) for backend in ("numpy", "cpu"))
        assert np.abs(plain - compiled).max() < BACKENDS


def test_dampers_taken_implicitly_allow_steps_of_a_millisecond() -> None:
    """Where those of Euler's semi-implicit method end in numbers that are not finite; errors of first order."""
    exact = angles(tolerance=1e-8, method="rosenbrock")
    errors = [np.abs(angles(step=h, method="implicit_euler") - exact).max() for h in (1e-3, 5e-4)]
    assert errors[0] < 0.05 and 1.6 < errors[0] / errors[1] < 2.4
    assert simulate(elastic(), 0.2, 1e-3, method="euler").failed.size == 1


def test_turning_bodies_times_and_states_of_forces() -> None:
    """Quaternions, a force that changes with the time, a friction with a state, in two islands: beside dopri5."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    a.body("box", mass=1.0, inertia=(0.02, 0.03, 0.04), center_of_mass=(0.02, 0.0, 0.01))
    a.body("arm", **rod(0.5))
    a.joint("float", "float", child="box", initial_velocity=[3.0, -2.0, 1.0, 0.1, 0.2, 0.3])
    a.joint("pivot", "Ry", child="arm")
    grip = {"stiffness": [900.0] * 3, "turning_stiffness": [3.0, 4.0, 5.0], "damping": [90.0] * 3}
    a.force_module("bushing", name="rubber", frames=[("fixed", "origin"), ("box", "origin")], **grip)
    a.force_module(
        "harmonic_wrench", name="shaker", frame=("box", "origin"), frequency=9.0, force_amplitude=[4.0, 0.0, 5.0]
    )
    bristles = {"static": 0.3, "kinetic": 0.2, "stribeck_speed": 0.05, "stiffness": 1000.0, "damping": 1.0}
    a.force_module("lugre_friction", name="rub", joint="pivot", **bristles)
    channels = ["float.q", "float.v", "pivot.q", "pivot.v"]
    exact, stiff = (
        simulate(builder.build(), 0.3, tolerance=tolerance, method=method, output_step=0.05, channels=channels)
        for method, tolerance in (("dopri5", 1e-11), ("rosenbrock", 1e-8))
    )
    assert exact.status == 0 and stiff.status == 0
    for name in channels:
        assert np.abs(stiff.channels[name] - exact.channels[name]).max() < 2e-6, (
            name
        )  # some hundred steps, m/s and rad/s
    assert stiff.certificate["energy_error"] < 1e-6


@pytest.mark.parametrize(
    ("kind", "force", "fewer"),
    [
        ("coulomb_friction", {"level": 6.0, "slip_speed": 1e-4}, 20),  # which stops and holds it: a rate of 2e5 /s
        ("stop", {"lower": -1.0, "upper": 0.02, "k": 1e6, "c": 3e3, "blend": 0.01}, 0),  # no fewer: it bounces
    ],
)
def test_friction_and_stops(kind: str, force: dict[str, Any], fewer: int) -> None:
    """A pendulum that is stopped, beside dopri5."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod", initial_velocity=0.3)
    a.force_module(kind, name="brake", joint="pivot", **force)
    explicit, stiff = (
        simulate(builder.build(), 0.15, tolerance=1e-7, method=method, output_step=0.01, channels=["pivot.q"])
        for method in ("dopri5", "rosenbrock")
    )
    assert np.abs(stiff.channels["pivot.q"] - explicit.channels["pivot.q"]).max() < 1e-6
    assert fewer * int(stiff.certificate["steps"]) < int(explicit.certificate["steps"])


def test_steps_end_where_a_force_jumps() -> None:
    place, _ = closed_form(SPAN)
    run = simulate(pull(), SPAN, tolerance=1e-6, method="rosenbrock", output_step=0.5, channels=["slide.q"])
    assert abs(run.channels["slide.q"][-1] - place) < ERROR * 1e-6


# -- gradients -------------------------------------------------------------------------------------------------------


PATHS = ("rod.mass", "pivot.damping[1]", "pivot.initial_velocity")
NUMBERS, MOVE = np.array([1.0, 4e2, 2.0]), np.array([0.3, -0.2, 0.5])


def last(x: Any, **options: Any) -> Any:
    """The angle of a stiff, damped pendulum at the end."""
    model = pendulum(initial_velocity=2.0, stiffness=[0.0, 2e3], damping=[0.0, 4e2])
    vary = {path: x[None, k] for k, path in enumerate(PATHS)}
    run = shiftjax.simulate(model, 0.2, channels=["pivot.q"], output_step=0.1, vary=vary, **options)
    return run.channels["pivot.q"][0, -1]


def slopes(along: bool, **options: Any) -> tuple[np.ndarray, float]:
    """Relative ones by reverse mode; in the direction `MOVE` by tangents, where asked for."""
    function = partial(last, **options)
    with jax.enable_x64(True):
        gradient = np.asarray(jax.grad(function)(jnp.asarray(NUMBERS))) * NUMBERS
        moved = (jnp.asarray(NUMBERS),), (jnp.asarray(NUMBERS * MOVE),)
        return gradient, float(jax.jvp(function, *moved)[1]) if along else np.nan


def differences(**options: Any) -> np.ndarray:
    """The same by whole runs."""
    moves = 1e-4 * np.diag(NUMBERS)
    return np.array([(last(NUMBERS + d, **options) - last(NUMBERS - d, **options)) / 2e-4 for d in moves])


@pytest.mark.parametrize("method", ["rosenbrock", "implicit_euler"])
def test_gradients_through_fixed_steps(method: str) -> None:
    """By three numbers: reverse mode, tangents, differences of whole runs."""
    found, along = slopes(True, method=method, step=1e-2)
    assert along == pytest.approx(float(found @ MOVE), rel=1e-9)
    expected = differences(method=method, step=1e-2)
    np.testing.assert_allclose(found, expected, rtol=DIFFERENCES, atol=DIFFERENCES * np.abs(found).max())


def test_gradients_along_the_steps_of_a_tolerance() -> None:
    """Beside differences of runs whose steps are much smaller."""
    found, _ = slopes(False, method="rosenbrock", tolerance=1e-7)
    expected = differences(method="rosenbrock", tolerance=1e-11)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(found).max())


# -- refusals --------------------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    with pytest.raises(ModelError, match="method: found 'implicit_euler', whose steps are fixed, with a tolerance"):
        simulate(elastic(), 0.1, tolerance=1e-6, method="implicit_euler")
    with pytest.raises(ModelError, match="found a call of 'solve' before one of 'linearize'"):
        Method("new", (Call("drift", 0.0), Call("solve", 0.0), combine("x", "x0", {"dx": 1.0})), gamma=1.0)
    with pytest.raises(
        ModelError, match="found a call of 'linearize'; allowed: drift, accelerate, project; with a gamma"
    ):
        Method("new", (Call("linearize", 0.0),))
    with (
        jax.enable_x64(True),
        pytest.raises(ModelError, match="'rosenbrock' in a derivative where forces jump or bend"),
    ):
        jax.grad(
            lambda k: shiftjax.simulate(
                pull(), 0.1, 1e-2, method="rosenbrock", vary={"slide.initial_velocity": k}, channels=["slide.q"]
            ).channels["slide.q"].sum()
        )(jnp.ones(1))  # fmt: skip

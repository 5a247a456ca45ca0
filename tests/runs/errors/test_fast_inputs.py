"""Loads and drives that change faster than the steps are never a plain 0; those that steps can follow are."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax import CoordinateFunction, Harmonic, ModelBuilder, Table
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.advance.inputs.fast_inputs import missed_impulse
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.support.models.mechanisms import rod

INERTIA = 2.0  # kg m^2 about the hinge
WRONG = 1e-3  # rad, what may not be off without a word


def wheel(type_: str, **numbers: Any) -> Model:
    """A body on a hinge without weight, which a load turns: its angle is the double integral of the load."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("wheel", mass=1.0, inertia=(1.0, INERTIA, 1.0)).joint("hinge", "Ry", child="wheel")
    a.force("push", type_, joint="hinge", **numbers)
    return builder.build()


def pulse(width: float, at: float = 0.3, height: float = 50.0) -> dict[str, Any]:
    """The numbers of a load that acts for a while only."""
    ramp = 1e-3 * width
    times = [at, at + ramp, at + width - ramp, at + width]
    return {"times": times, "values": [0.0, height, height, 0.0], "interpolation": "linear", "outside": "hold"}


def turned(result: Result) -> float:
    return float(np.ravel(result.channels["hinge.q"])[-1])


@pytest.mark.parametrize(("at", "width"), [(0.3001, 1e-4), (0.30057, 1e-4), (0.3003, 3.2e-3), (0.3004, 4.7e-3)])
def test_a_pulse_that_steps_do_not_see_is_said(at: float, width: float) -> None:
    """Its impulse, height times width, turns the wheel by impulse / inertia * time left; steps see another one."""
    load = pulse(width, at)
    result = simulate(wheel("table_load", **load), 1.0, 1e-3, channels=["hinge.q"])
    exact = 50.0 * width * (1.0 - 1e-3) / INERTIA * (1.0 - at - width / 2)
    assert abs(turned(result) - exact) > 1e-3 * exact, "what is said is so"
    assert result.status == Outcome.inaccurate and "a:push changes within steps" in result.messages[0]
    result = simulate(wheel("table_load", **load), 1.0, 1e-3, channels=["hinge.q"], vary={"push.values[1]": [0.0, 50.0],
                    "push.values[2]": [0.0, 50.0]})  # fmt: skip
    assert result.status.tolist() == [0, Outcome.inaccurate], "of each member by itself"


@pytest.mark.parametrize("outside", ["hold", "repeat"])
def test_steps_of_a_tolerance_end_at_knots(outside: str) -> None:
    """A pulse of 0.1 ms, of each member at a time of its own: whole though a step of these runs is some 0.1 s long."""
    at = np.array([0.3001, 0.45678, 0.6])
    load = {**pulse(1e-4), "outside": outside}
    vary = {f"push.times[{k}]": at + (t - load["times"][0]) for k, t in enumerate(load["times"])}
    if outside == "repeat":  # from pulse to pulse half a second
        load["times"], load["values"] = [*load["times"], 0.8], [*load["values"], 0.0]
        vary["push.times[4]"] = at + 0.5
    result = simulate(wheel("table_load", **load), 1.0, tolerance=1e-6, channels=["hinge.q"], vary=vary)
    pulses = [np.array([t - 0.5 * k for k in range(3)]) if outside == "repeat" else np.array([t]) for t in at]
    pulses = [np.concatenate([p, [t + 0.5]]) if outside == "repeat" else p for p, t in zip(pulses, at, strict=True)]
    left = [np.sum(1.0 - p[(p > 0) & (p < 1.0)] - 0.5e-4) for p in pulses]
    exact = 50.0 * 1e-4 * (1.0 - 1e-3) / INERTIA * np.array(left)
    assert (result.status == 0).all() and (result.certificate["steps"] < 100).all()
    np.testing.assert_allclose(result.channels["hinge.q"][:, -1], exact, rtol=1e-6)


def test_a_load_switched_on_within_a_step_is_said() -> None:
    load = {"times": [0.3004, 0.3004 + 1e-7], "values": [0.0, 100.0], "interpolation": "linear", "outside": "hold"}
    result = simulate(wheel("table_load", **load), 1.0, 1e-3, channels=["hinge.q"])
    exact = 100.0 / INERTIA * 0.6996**2 / 2
    assert abs(turned(result) - exact) > WRONG and result.status == Outcome.inaccurate


def test_sines_faster_than_the_step_are_said() -> None:
    """Every member whose angle is off by more than the limit from the closed form is flagged; below 0.5 none is off."""
    frequency = np.array([10.0, 100.0, 300.0, 490.0, 510.0, 2000.0, 6283.1, 20000.0])
    amplitude = 4.0 * frequency  # so that the angle drifts by amplitude / (inertia frequency) a second
    vary = {"push.frequency": frequency, "push.amplitude": amplitude}
    result = simulate(wheel("harmonic_load", amplitude=1.0, frequency=1.0), 1.0, 1e-3, channels=["hinge.q"], vary=vary)
    exact = amplitude / INERTIA * (1.0 / frequency - np.sin(frequency) / frequency**2)
    wrong = np.abs(result.channels["hinge.q"][:, -1] - exact) > WRONG
    assert wrong.any() and (result.status[wrong] == Outcome.inaccurate).all()
    assert not wrong[frequency < 500.0].any()
    assert [("too fast" in message) for message in result.messages] == (frequency > 500.0).tolist()
    assert "take steps of about 0.12 ms" in result.messages[5]


def test_a_drive_that_shakes_something_free_is_said() -> None:
    """A pendulum on a driven slide; where nothing is left to forces, any drive is followed."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("slide", **rod(0.1)).body("arm", **rod(1.0))
    a.joint("shaker", "Tx", child="slide").joint("hinge", "Ry", parent="slide", child="arm", initial_displacement=0.4)
    fast, slow = ({"shaker": Harmonic(amplitude=1e-4, frequency=frequency)} for frequency in (2000.0, 20.0))
    assert simulate(builder.build(), 0.1, 1e-3, drive=slow).status == 0
    result = simulate(builder.build(), 0.1, 1e-3, drive=fast)
    assert result.status == Outcome.inaccurate and "shaker_drive is a sine of 2000 rad/s" in result.messages[0]


@pytest.mark.parametrize("outside", ["hold", "repeat"])
def test_tables_that_steps_can_follow_miss_nothing(outside: str) -> None:
    """Knots at ends of steps cost nothing; of a smooth table with knots of its own less than a tenth of the limit."""
    t = np.linspace(0.0, 1.0, 11)
    assert missed_impulse(t, np.sin(7 * t), 0.0, 2.0, 1e-3, outside) == 0.0
    t = np.linspace(0.0, 1.0, 778)
    assert 0.0 < missed_impulse(t, np.sin(2 * np.pi * t), 0.0, 2.0, 1e-3, outside) < 1e-5


def test_the_missed_impulse_is_that_of_a_sum_over_all_steps() -> None:
    """Simpson's rule over every step of the run, against the trapezoids of the lines on a grid with all knots."""
    times, values, h = np.array([0.1, 0.1234, 0.2, 0.7001, 0.9]), np.array([1.0, -2.0, 3.0, 0.5, 1.5]), 1e-2
    ends = np.arange(101) * h
    f = np.interp(np.stack([ends[:-1], ends[:-1] + h / 2, ends[1:]]), times, values)
    seen = np.cumsum(h * (f[0] + 4 * f[1] + f[2]) / 6)
    grid = np.unique(np.concatenate([ends, times]))
    lines = np.interp(grid, times, values)
    exact = np.concatenate([[0.0], np.cumsum(0.5 * (lines[1:] + lines[:-1]) * np.diff(grid))])
    error = np.abs(seen - exact[np.searchsorted(grid, ends[1:])]).max()
    whole = np.abs(np.interp(np.concatenate([[0.0], times, [1.0]]), times, values))
    amount = (0.5 * (whole[1:] + whole[:-1]) * np.diff(np.concatenate([[0.0], times, [1.0]]))).sum()
    assert missed_impulse(times, values, 0.0, 1.0, h, "hold") == pytest.approx(error / amount, rel=1e-9)


def carriage() -> Model:
    """A pendulum on a driven slide."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("slide", **rod(0.1)).body("arm", **rod(1.0))
    a.joint("shaker", "Tx", child="slide").joint("hinge", "Ry", parent="slide", child="arm", initial_displacement=0.4)
    return builder.build()


def swung(drive: Any, step: float | None = 1e-3, span: float = 0.6, **more: Any) -> Result:
    return simulate(carriage(), span, step, drive={"shaker": drive}, channels=["hinge.q"], **more)


def jerk(width: float, at: float) -> Table:
    """A slide that is moved by 5 mm and back within a time."""
    times = [0.0, *(at + share * width for share in (0.0, 0.25, 0.5, 0.75, 1.0)), 1.0]
    return Table(times=times, values=[0.0, 0.0, 2e-3, 5e-3, 2e-3, 0.0, 0.0], outside="hold")


@pytest.mark.parametrize(("at", "width"), [(0.2003, 4e-4), (0.20012, 1.7e-3), (0.2004, 3.2e-3)])
def test_a_drive_by_a_table_that_changes_within_steps_is_said(at: float, width: float) -> None:
    """Against steps of a fortieth; at a tolerance steps end at its knots."""
    drive = jerk(width, at)
    result, fine = swung(drive), swung(drive, 2.5e-5)
    assert abs(turned(result) - turned(fine)) > WRONG, "what is said is so"
    assert result.status == Outcome.inaccurate and "a:shaker_drive changes within steps" in result.messages[0]
    controlled = swung(drive, None, tolerance=1e-7)
    assert controlled.status == 0 and abs(turned(controlled) - turned(fine)) < WRONG


def test_tables_of_drives_are_judged_by_member() -> None:
    """Times that vary: every member that is off is flagged, and those of slow or whole-step tables are not by this."""
    rng = np.random.default_rng(5)
    width, at = np.geomspace(4e-4, 0.2, 40), 0.1 + np.round(0.1 * rng.random(40), 5)
    width[-1], at[-1] = 0.008, 0.2  # all at ends of steps
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    vary = {f"shaker_drive.times[{k + 1}]": at + share * width for k, share in enumerate(shares)}
    result, fine = swung(jerk(0.1, 0.2), vary=vary), swung(jerk(0.1, 0.2), 2.5e-5, vary=vary, accuracy="local")
    off = np.abs(result.channels["hinge.q"][:, -1] - fine.channels["hinge.q"][:, -1])
    flagged = np.array(["changes within steps" in message for message in result.messages])
    assert (off > WRONG).any() and flagged[off > WRONG].all() and not flagged[off < 1e-6].any()
    assert result.status[-1] == 0


@pytest.mark.parametrize(
    ("function", "seen"),
    {
        "smooth": (lambda t: 0.3 * jnp.sin(7.0 * t), False),
        "as fast as steps can follow": (lambda t: 1e-2 * jnp.sin(450.0 * t), False),
        "a jump of the speed": (lambda t: jnp.where(t < 0.3004, 0.0, t - 0.3004), True),
        "a jump": (lambda t: jnp.where(t < 0.3004, 0.0, 0.01), True),
        "a blow": (lambda t: 5e-3 * jnp.exp(-(((t - 0.3004) / 1e-4) ** 2)), True),
        "a short blow": (lambda t: 5e-3 * jnp.exp(-(((t - 0.30043) / 1e-5) ** 2)), True),
        "a sine of the steps' frequency": (lambda t: 1e-4 * jnp.sin(6283.0 * t), True),
    }.values(),
)
def test_functions_of_the_user_are_looked_at_between_stages(function: Any, seen: bool) -> None:
    result = swung(function)
    assert ("a:shaker changes within steps" in result.messages[0]) == seen
    assert not seen or result.status == Outcome.inaccurate


def test_functions_of_coordinates_and_time_are_looked_at() -> None:
    for frequency, seen in ((7.0, False), (6283.0, True)):
        tied = CoordinateFunction(("shaker",), lambda q, t, w=frequency: q[0] - 1e-4 * jnp.sin(w * t), "m")
        result = simulate(carriage(), 0.6, 1e-3, tie={"cam": tied}, channels=["hinge.q"])
        assert ("cam changes within steps" in result.messages[0]) == seen

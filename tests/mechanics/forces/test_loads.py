"""Loads in time on joints and bodies: against SciPy's integration, against each other, and their work."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from shiftjax.errors import ModelError
from shiftjax.formats import load as load_document
from shiftjax.formats import to_dict
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.live import Live
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from tests.support.laws import check_power
from tests.support.models.mechanisms import four_bars, rod

INTEGRATED = 1e-9  # against DOP853 at 1e-12, over a second of RK4 at 1 ms
KINKED = 1e-7  # the same where the load is not smooth, or only twice
BALANCE = 1e-9  # energy balance, relative
KINKED_BALANCE = 1e-6
ALGEBRA = 1e-12
TIMES, VALUES = [0.0, 0.15, 0.4, 0.7, 1.0], [2.0, -1.0, 3.0, 0.5, -2.0]
TABLE = {"times": TIMES, "values": VALUES}
SPLINE = CubicSpline(TIMES, VALUES, bc_type="natural")
# type and numbers -> the load [N m or N], whether it is smooth
LAWS: dict[str, tuple[str, dict[str, Any], Any, bool]] = {
    "constant": ("constant_load", {"load": 1.5}, lambda t: 1.5, True),
    "harmonic": (
        "harmonic_load",
        {"amplitude": 3.0, "frequency": 7.0, "phase": 0.5, "offset": 0.4, "rate": -1.0},
        lambda t: 0.4 - t + 3.0 * np.sin(7.0 * t + 0.5),
        True,
    ),
    "polynomial": ("polynomial_load", {"coefficients": [1.0, -2.0, 3.0]}, lambda t: 1.0 - 2.0 * t + 3.0 * t * t, True),
    "spline": ("table_load", TABLE, SPLINE, False),
    "lines": ("table_load", {**TABLE, "interpolation": "linear"}, lambda t: np.interp(t, TIMES, VALUES), False),
    "held": (
        "table_load",
        {"times": [0.0, 0.5], "values": [1.0, -1.0], "outside": "hold"},
        lambda t: np.interp(t, [0.0, 0.5], [1.0, -1.0]),
        False,
    ),
}
law = pytest.mark.parametrize("name", LAWS)


def swinging(add: Any = lambda a: None, gravity: float = -9.81) -> Model:
    """A rod on a hinge about y, with a frame at its centre of mass and one turned about y at its tip."""
    builder = ModelBuilder(gravity=(0.0, 0.0, gravity))
    frames = {"tip": (1.0, 0.0, 0.0), "middle": (0.5, 0.0, 0.0)}
    frames["turned"] = {"T": (1.0, 0.0, 0.0), "rotation": (0.0, 0.7, 0.0)}  # type: ignore[assignment]
    a = builder.assembly("a").body("rod", **{**rod(1.0), "frames": frames})
    a.joint("pivot", "Ry", child="rod", initial_displacement=0.3)
    add(a)
    return builder.build()


def run(model: Model, span: float = 1.0, **options: Any) -> Result:
    return simulate(model, span, 1e-3, output_step=0.1, channels=["pivot.q", "pivot.v"], **options)


def integrated(rate: Any, start: list[float], at: np.ndarray, kinks: list[float]) -> np.ndarray:
    """(2, n) by DOP853, restarted at every kink."""
    out, x, t = [], np.array(start), 0.0
    stops = sorted({0.0, *kinks, float(at[-1])})
    for begin, end in pairwise(stops):
        own = at[(at >= begin - 1e-12) & (at < end - 1e-12)]
        found = solve_ivp(
            rate, (begin, end), x, "DOP853", t_eval=[*np.maximum(own, begin), end], rtol=1e-12, atol=1e-13
        )
        out.append(found.y[:, : len(own)])
        x, t = found.y[:, -1], end
    assert t == at[-1]
    return np.concatenate([*out, x[:, None]], axis=1)


@law
def test_a_load_on_a_pendulum_is_that_of_an_independent_integration(name: str) -> None:
    """I q'' = m g l cos q + Q(t), turning about +y lowers the rod."""
    type_, numbers, load, smooth = LAWS[name]
    result = run(swinging(lambda a: a.force("push", type_, joint="pivot", **numbers)))
    rate = lambda t, x: [x[1], (9.81 * 0.5 * np.cos(x[0]) + load(t)) * 3.0]  # noqa: E731
    expected = integrated(rate, [0.3, 0.0], result.time, numbers.get("times", []))
    for channel, values in zip(("pivot.q", "pivot.v"), expected, strict=True):
        assert np.abs(result.channels[channel] - values).max() < (INTEGRATED if smooth else KINKED)
    assert result.certificate["energy_error"] < (BALANCE if smooth else KINKED_BALANCE)


@law
def test_a_mass_on_a_spring_under_a_load(name: str) -> None:
    """m x'' = -k x - c x' + F(t)."""
    type_, numbers, load, smooth = LAWS[name]
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("mass", mass=2.0)
    a.joint("pivot", "Tx", child="mass", initial_displacement=0.1, stiffness=(0.0, 50.0), damping=(0.0, 0.4))
    a.force("push", type_, joint="pivot", **numbers)
    result = run(builder.build())
    rate = lambda t, x: [x[1], (-50.0 * x[0] - 0.4 * x[1] + load(t)) / 2.0]  # noqa: E731
    expected = integrated(rate, [0.1, 0.0], result.time, numbers.get("times", []))
    for channel, values in zip(("pivot.q", "pivot.v"), expected, strict=True):
        assert np.abs(result.channels[channel] - values).max() < (INTEGRATED if smooth else KINKED)
    assert result.certificate["energy_error"] < (BALANCE if smooth else KINKED_BALANCE)


def test_loads_are_work_in_a_closed_loop() -> None:
    """A four-bar with a torque, a force on its coupler and a driver: all that they do is balanced."""
    builder = ModelBuilder()
    builder.document = to_dict(four_bars())
    a = AssemblyBuilder(builder.document["assemblies"][0])
    a.force("torque", "harmonic_load", joint="pivot", amplitude=2.0, frequency=5.0)
    a.force("wind", "constant_wrench", frame=("coupler", "tip"), force=(3.0, 0.0, 1.0), moment=(0.0, 0.2, 0.0))
    free = [simulate(builder.build(), 1.0, h, channels=["energy.total"]) for h in (5e-4, 2.5e-4)]
    errors = [result.certificate["energy_error"] for result in free]
    assert errors[0] < 2e-8 and 14 < errors[0] / errors[1] < 18, "what is missed is the method's, of fourth order"
    assert np.ptp(free[0].channels["energy.total"]) > 0.5
    both = simulate(builder.build(), 1.0, 1e-3, drive={"pivot": 3.0}, channels=["pivot.drive_load"], output_step=0.1)
    alone = simulate(four_bars(), 1.0, 1e-3, drive={"pivot": 3.0}, channels=["pivot.drive_load"], output_step=0.1)
    assert both.certificate["energy_error"] < BALANCE
    without = [item for item in builder.document["assemblies"][0]["force_modules"] if item["name"] == "torque"]
    builder.document["assemblies"][0]["force_modules"] = without
    torque = simulate(builder.build(), 1.0, 1e-3, drive={"pivot": 3.0}, channels=["pivot.drive_load"], output_step=0.1)
    difference = torque.channels["pivot.drive_load"] - alone.channels["pivot.drive_load"]
    assert np.abs(difference + 2.0 * np.sin(5.0 * torque.time)).max() < 1e-9, "the drive gives what the load does not"


# -- wrenches ------------------------------------------------------------------------------------------------------


def wrenched(frame: Any = ("rod", "tip"), **more: Any) -> Model:
    return swinging(lambda a: a.force("w", "constant_wrench", frame=frame, **more))


def test_a_force_at_the_centre_of_mass_is_gravity() -> None:
    heavier = run(swinging(gravity=-9.81 - 2.0))
    pushed = run(wrenched(("rod", "middle"), force=(0.0, 0.0, -2.0)))
    assert np.abs(heavier.channels["pivot.q"] - pushed.channels["pivot.q"]).max() < 1e-11


def test_axes_of_a_wrench() -> None:
    """In the body's axes a force across the tip is a constant torque; in the frame's the same, turned back."""
    torque = run(swinging(lambda a: a.force("w", "constant_load", joint="pivot", load=-2.0)))
    body = run(wrenched(force=(5.0, 0.0, 2.0), axes="body"))
    c, s = np.cos(0.7), np.sin(0.7)  # in a frame turned by 0.7 about y: R^T f
    frame = run(wrenched(("rod", "turned"), force=(5.0 * c - 2.0 * s, 0.0, 5.0 * s + 2.0 * c), axes="frame"))
    moment = run(wrenched(moment=(0.3, -2.0, 0.1), axes="body"))
    world = run(wrenched(force=(5.0, 0.0, 2.0)))
    for result in (body, frame, moment):
        assert np.abs(result.channels["pivot.q"] - torque.channels["pivot.q"]).max() < 1e-11
    assert np.abs(world.channels["pivot.q"] - torque.channels["pivot.q"]).max() > 0.1
    # I q'' = m g l cos q + (p x f)_y with p = (cos q, 0, -sin q), f = (5, 0, 2)
    rate = lambda t, x: [x[1], 3.0 * (9.81 * 0.5 * np.cos(x[0]) - 5.0 * np.sin(x[0]) - 2.0 * np.cos(x[0]))]  # noqa: E731
    expected = integrated(rate, [0.3, 0.0], world.time, [])
    assert np.abs(world.channels["pivot.q"] - expected[0]).max() < INTEGRATED


def test_a_table_of_wrenches() -> None:
    forces = [(0.0, 0.0, value) for value in VALUES]
    moments = [(0.0, value, 0.0) for value in VALUES]
    table = {"times": TIMES, "axes": "body"}
    both = run(swinging(lambda a: a.force("w", "table_wrench", frame=("rod", "tip"), forces=forces, moments=moments,
                                          **table)))  # fmt: skip
    only = run(swinging(lambda a: a.force("w", "table_wrench", frame=("rod", "tip"), moments=moments, **table)))
    load = run(swinging(lambda a: a.force("push", "table_load", joint="pivot", **TABLE)))
    free = run(swinging())
    assert np.abs(both.channels["pivot.q"] - free.channels["pivot.q"]).max() < 1e-11, "arm 1 m: -F l + M = 0"
    assert np.abs(only.channels["pivot.q"] - load.channels["pivot.q"]).max() < 1e-11
    assert only.certificate["energy_error"] < KINKED_BALANCE


def test_a_harmonic_force_shakes_a_mass() -> None:
    """m x'' = F (sin(w t + p) + r), from rest: in closed form."""
    m, size, w, p, mean = 2.0, 3.0, 7.0, 0.5, 1.2
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("mass", mass=m).joint("pivot", "Tx", child="mass", initial_velocity=0.0)
    numbers = {"force_amplitude": (size, 0.0, 0.0), "frequency": w, "phase": p, "force_offset": (mean, 0.0, 0.0)}
    a.force("shake", "harmonic_wrench", frame="mass", **numbers)
    found = run(builder.build())
    t = found.time
    speed = (size / w * (np.cos(p) - np.cos(w * t + p)) + mean * t) / m
    place = (size / w * (np.cos(p) * t - (np.sin(w * t + p) - np.sin(p)) / w) + mean * t * t / 2) / m
    assert np.abs(found.channels["pivot.q"] - place).max() < INTEGRATED
    assert np.abs(found.channels["pivot.v"] - speed).max() < INTEGRATED
    assert found.certificate["energy_error"] < BALANCE


def test_a_harmonic_moment_is_a_harmonic_load() -> None:
    """About the hinge's axis, and as a force across the tip, an arm of 1 m away; a wrench and its law are one code."""
    law = {"frequency": 7.0, "phase": 0.5}
    load = run(swinging(lambda a: a.force("push", "harmonic_load", joint="pivot", amplitude=3.0, offset=0.4, **law)))
    moment = {"moment_amplitude": (0.0, 3.0, 0.0), "moment_offset": (0.1, 0.4, 0.0)}
    force = {"force_amplitude": (2.0, 0.0, -3.0), "force_offset": (0.0, 0.0, -0.4), "axes": "body"}
    for numbers in (moment, force):
        add = lambda a, n=numbers: a.force("w", "harmonic_wrench", frame=("rod", "tip"), **law, **n)  # noqa: E731
        model = swinging(add)
        assert np.abs(run(model).channels["pivot.q"] - load.channels["pivot.q"]).max() < 1e-11
        assert load_document(to_dict(model)) == model
    assert model.number_units()["a:w.force_amplitude[2]"] == "N"


def test_varied_harmonic_wrenches() -> None:
    """Every number of it, one value a member: each member is the run of its own numbers."""
    own = {"frequency": 5.0, "force_amplitude": (0.0, 0.0, 2.0), "moment_offset": (0.0, 0.5, 0.0)}
    model = swinging(lambda a: a.force("w", "harmonic_wrench", frame=("rod", "tip"), **own))
    vary = {
        "w.frequency": [5.0, 9.0],
        "w.phase": [0.0, 1.0],
        "w.force_amplitude[2]": [2.0, -1.0],
        "w.force_offset[0]": [0.0, 1.0],
        "w.moment_amplitude[1]": [0.0, 0.7],
        "w.moment_offset[1]": [0.5, -0.2],
    }
    batch = run(model, vary=vary)
    for k in range(2):
        alone = run(model.replace({path: values[k] for path, values in vary.items()}))
        assert np.abs(batch.channels["pivot.q"][k] - alone.channels["pivot.q"]).max() < 100 * ALGEBRA
    assert np.ptp(batch.channels["pivot.q"][:, -1]) > 0.01


def test_a_thrust_on_a_free_body() -> None:
    """Along an axis of the body through its centre of mass: a spinning body is pushed in a circle, x'' = F/m cos wt."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.assembly("a").body("ship", mass=2.0, inertia=(1.0, 1.0, 1.0)).joint(
        "float", "float", child="ship", initial_velocity=(0.0, 0.0, 0.0, 0.0, 0.0, 3.0)
    ).force("engine", "constant_wrench", frame="ship", force=(4.0, 0.0, 0.0), axes="body")
    found = simulate(builder.build(), 1.0, 1e-3, channels=["ship.position", "ship.angular_velocity"], output_step=0.5)
    assert found.channels["ship.angular_velocity"][0].tolist() == [0.0, 0.0, 3.0]
    t = found.time
    expected = np.stack([2.0 / 9.0 * (1 - np.cos(3 * t)), 2.0 / 9.0 * (3 * t - np.sin(3 * t)), 0 * t], axis=1)
    assert np.abs(found.channels["ship.position"] - expected).max() < INTEGRATED
    assert found.certificate["energy_error"] < BALANCE


def chain() -> Model:
    """Two bodies in space with every kind of load, in skew frames."""
    builder = ModelBuilder(gravity=(0.3, -1.0, -9.81))
    a = builder.assembly("a")
    skew = {"T": (0.3, -0.2, 0.5), "rotation": (0.4, -0.3, 0.8)}
    for name in ("one", "two"):
        a.body(name, mass=1.3, center_of_mass=(0.1, 0.2, 0.3), inertia=(0.3, 0.4, 0.5), frames={"skew": skew})
    a.joint("ball", "spherical", child="one", initial_velocity=(1.0, 2.0, 3.0))
    a.joint("hinge", "Rx", parent=("one", "skew"), child="two", initial_velocity=1.0)
    a.force("push", "constant_load", joint="hinge", load=1.5)
    for axes in ("world", "body", "frame"):
        a.force(axes, "constant_wrench", frame=("two", "skew"), force=(1, 2, 3), moment=(-1, 0.5, 2), axes=axes)
    return builder.build()


def test_the_power_of_loads_is_the_rate_of_energy() -> None:
    """In random states of a spatial chain, by differences; in a run, to rounding."""
    prepared = prepare(chain(), {})
    rng = np.random.default_rng(5)
    q = np.repeat(prepared.file_start.q, 4, axis=1)
    q = host.retract(prepared.plan, q, rng.standard_normal((prepared.plan.nv, 4)))
    power = check_power(prepared, q, rng.standard_normal((prepared.plan.nv, 4)))
    assert (np.abs(power) > 0.1).all()
    result = simulate(chain(), 0.5, 1e-3)
    assert result.certificate["energy_error"] < BALANCE


# -- members, and what is refused ----------------------------------------------------------------------------------

VARIED: dict[str, dict[str, list[float]]] = {
    "constant": {"load": [1.0, -2.0]},
    "harmonic": {"amplitude": [1.0, 2.0], "frequency": [7.0, 3.0], "offset": [0.0, 0.4]},
    "polynomial": {"coefficients[1]": [1.0, -2.0]},
    "spline": {"values[1]": [0.0, 2.0], "times[3]": [0.7, 0.6]},
    "lines": {"values[1]": [0.0, 2.0], "times[3]": [0.7, 0.6]},
    "held": {"values[1]": [0.0, 2.0], "times[1]": [0.5, 0.3]},
}


@law
def test_varied_loads_are_those_of_single_runs(name: str) -> None:
    type_, numbers, _, _ = LAWS[name]
    model = swinging(lambda a: a.force("push", type_, joint="pivot", **numbers))
    varied = {f"push.{place}": values for place, values in VARIED[name].items()}
    batch = run(model, vary=varied)
    for k in range(2):
        single = run(model.replace({path: values[k] for path, values in varied.items()}))
        for channel in ("pivot.q", "pivot.v"):
            assert np.abs(batch.channels[channel][k] - single.channels[channel]).max() < 100 * ALGEBRA
    assert np.ptp(batch.channels["pivot.q"][:, -1]) > 1e-3


def test_varied_wrenches() -> None:
    batch = run(wrenched(force=(0.0, 0.0, 2.0)), vary={"w.force[2]": [2.0, -1.0]})
    assert batch.channels["pivot.q"][0].tolist() == pytest.approx(
        run(wrenched(force=(0.0, 0.0, 2.0))).channels["pivot.q"].tolist(), abs=1e-12
    )
    assert np.ptp(batch.channels["pivot.q"][:, -1]) > 0.01


def test_a_live_run_has_loads_beside_the_hand() -> None:
    model = swinging(lambda a: a.force("push", "constant_load", joint="pivot", load=-9.81 / 2))
    live = Live(model, ["push.load"], channels=["pivot.q"])
    live.grab("a:rod", np.zeros(3), np.zeros(3))  # at the pivot: the hand holds nothing
    live.advance(0.2)
    live.let_go()
    expected = run(model, 0.2).channels["pivot.q"][-1]
    assert live.channels()["pivot.q"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("type", "numbers", "message"),
    [
        ("constant_load", {"joint": "pivot"}, "load: found nothing"),
        ("constant_load", {"joint": "ball", "load": 1.0}, "joints of one displacement"),
        ("table_load", {"joint": "pivot", "times": [0, 1], "values": [1]}, "1 values for 2 times"),
        ("table_load", {"joint": "pivot", "times": [1, 0], "values": [1, 2]}, "found times 1, 0; allowed: increasing"),
        (
            "table_load",
            {"joint": "pivot", **TABLE, "interpolation": "linear", "first_rate": 1.0},
            "a rate at the end of straight lines",
        ),
        ("constant_wrench", {"frame": "fixed", "force": (1, 0, 0)}, "ground, which no force moves"),
        ("constant_wrench", {"frame": "rod", "force": (1, 0)}, "a list of 3 numbers"),
        ("constant_wrench", {"frame": "rod", "axes": "joint"}, "'joint'; allowed: one of body, frame, world"),
        ("harmonic_wrench", {"frame": "rod", "force_amplitude": (1, 0, 0)}, "frequency: found nothing"),
        ("table_wrench", {"frame": "rod", "times": [0, 1]}, "neither forces nor moments"),
        ("table_wrench", {"frame": "rod", "times": [0, 1], "forces": [(1, 0, 0)]}, "1 forces for 2 times"),
    ],
)
def test_loads_that_cannot_be_are_refused(type: str, numbers: dict[str, Any], message: str) -> None:
    builder = ModelBuilder()
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod")
    a.body("bob").joint("ball", "spherical", parent="rod", child="bob")
    a.force("f", type, **numbers)
    with pytest.raises(ModelError, match=message):
        builder.build()


def test_a_run_beyond_a_table_of_a_load_is_refused() -> None:
    model = swinging(lambda a: a.force("push", "table_load", joint="pivot", **TABLE))
    with pytest.raises(ModelError, match=r"a:push: found a table from 0 to 1 s, and a run from 0 to 1.2 s"):
        run(model, 1.2)

"""Drivers with numbers (D29): one motion said in four ways, closed forms, work, members, starts, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PPoly

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles.store import store
from shiftjax.ensembles.study.motion_words import parse_drive
from shiftjax.errors import ModelError
from shiftjax.formats import load, save, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.formats.schema import schema
from shiftjax.run.live import Live
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from shiftjax.run.step_function import compile
from tests.extensions import numpy_backend  # noqa: F401
from tests.support.models.documents import driven, drivers, loads
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, four_bars, pendulum, rod

EXACT = 1e-12  # of a driven coordinate
CLOSED_FORM = 1e-9  # of the joints that follow
BALANCE = 1e-9  # energy balance, relative
ALGEBRA = 1e-12  # two ways of making one number
TIMES, VALUES = [0.0, 0.2, 0.5, 1.0], [-1.0, -0.4, 0.1, 1.2]
SHAKEN, SHAKES = [-0.1, 0.2, 0.5], [2.0, 6.0, -3.0]
JOINT, NAME = "bar0:pivot", "bar0:pivot_drive"
# type -> numbers, how Python says it, how the command line does; the crank starts at -1
WAYS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "constant_speed": ({"speed": 3.0}, 3.0, "3"),
    "harmonic": (
        {"amplitude": 0.3, "frequency": 5.0, "phase": 0.4, "offset": -0.8, "rate": 1.5},
        shiftjax.Harmonic(-0.8, 1.5, 0.3, 5, 0.4),
        "harmonic(amplitude=0.3, frequency=5, phase=.4, offset=-0.8, rate=1.5)",
    ),
    "polynomial": (
        {"coefficients": [-1.0, 0.5, 1.0, 0.25]},
        shiftjax.Polynomial([-1, 0.5, 1, 0.25]),
        "polynomial(coefficients=[-1, 0.5, 1, 0.25])",
    ),
    "table": (
        {"times": TIMES, "values": VALUES, "last_rate": 0.5, "outside": "linear"},
        shiftjax.Table(TIMES, np.array(VALUES), last_rate=0.5, outside="linear"),
        "table(times=[0, 0.2, .5, 1],values=[-1,-.4,.1,1.2],last_rate=0.5,outside=linear)",
    ),
    "acceleration_table": (
        {"times": SHAKEN, "accelerations": SHAKES, "speed": 0.5, "outside": "hold"},
        shiftjax.AccelerationTable(SHAKEN, np.array(SHAKES), speed=0.5, outside="hold"),
        "acceleration_table(times=[-.1, 0.2, .5],accelerations=[2,6,-3],speed=0.5,outside=hold)",
    ),
}
# type -> numbers of three members by their paths
MEMBERS: dict[str, dict[str, list[float]]] = {
    "constant_speed": {"speed": [1.0, -2.0, 3.0]},
    "harmonic": {"amplitude": [0.1, 0.3, -0.2], "phase": [0.4, 1.0, 2.0], "frequency": [5.0, 0.0, 7.0]},
    "polynomial": {"coefficients[0]": [-1.0, -0.9, -1.1], "coefficients[2]": [1.0, 0.0, -0.5]},
    "table": {"values[1]": [-0.4, 0.0, -0.6], "times[2]": [0.5, 0.6, 0.45], "last_rate": [0.5, 0.0, -1.0]},
    "acceleration_table": {"accelerations[1]": [6.0, 0.0, 3.0], "times[1]": [0.2, 0.1, 0.3], "speed": [0.5, 0.0, 1.0]},
}
CHANNELS = [f"bar0:{name}" for name in ("pivot.q", "pivot.v", "pivot.a", "hinge.q", "hinge.v", "pivot.drive_load")]
each = pytest.mark.parametrize("type", WAYS)


def written(type: str, **more: Any) -> shiftjax.Model:
    """A four-bar whose file has the driver."""
    document = to_dict(four_bars())
    numbers = {**WAYS[type][0], **more}
    document["assemblies"][0]["drivers"] = [{"name": "pivot_drive", "type": type, "joint": "pivot", **numbers}]
    return load(json.loads(json.dumps(document)))


def run(model: Any, span: float = 0.8, **options: Any) -> shiftjax.Result:
    return simulate(model, span, 1e-3, output_step=0.1, channels=CHANNELS, **options)


def motion(type: str, t: np.ndarray) -> np.ndarray:
    """(3, n) the crank's coordinate and its derivatives."""
    n = WAYS[type][0]
    if type == "constant_speed":
        return np.array([-1.0 + 3.0 * t, np.full_like(t, 3.0), np.zeros_like(t)])
    if type == "polynomial":
        c = np.polynomial.Polynomial(n["coefficients"])
        return np.array([c(t), c.deriv(1)(t), c.deriv(2)(t)])
    if type == "table":
        ends: Any = ((2, 0.0), (1, 0.5))
        spline = CubicSpline(TIMES, VALUES, bc_type=ends)
        return np.array([spline(t, k) for k in range(3)])
    if type == "acceleration_table":
        ends, slopes = [*SHAKEN, 1.0], [*(np.diff(SHAKES) / np.diff(SHAKEN)), 0.0]  # its end goes on
        a = PPoly([slopes, SHAKES], ends)
        v = a.antiderivative()
        q = v.antiderivative()
        return np.array([-1.0 + (0.5 - v(0.0)) * t + q(t) - q(0.0), 0.5 + v(t) - v(0.0), a(t)])
    A, w = n["amplitude"], n["frequency"]
    angle = w * t + n["phase"]
    return np.array(
        [n["offset"] + n["rate"] * t + A * np.sin(angle), n["rate"] + A * w * np.cos(angle), -A * w * w * np.sin(angle)]
    )


# -- one motion, four ways -----------------------------------------------------------------------------------------


@each
def test_file_builder_python_and_command_line_agree_to_the_last_bit(type: str) -> None:
    numbers, python, text = WAYS[type]
    file = run(written(type))
    built = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    built.document = to_dict(four_bars())
    bar = built.assembly("extra")
    bar.entry = built.document["assemblies"][0]
    built.document["assemblies"].pop()
    bar.driver("pivot_drive", type, joint="pivot", **numbers)
    parsed = parse_drive(f"{JOINT}={text}")
    ways = [run(built.build()), run(four_bars(), drive={JOINT: python}), run(four_bars(), drive=dict([parsed]))]
    for other in ways:
        assert other.model == file.model
        for channel in CHANNELS:
            assert other.channels[channel].tolist() == file.channels[channel].tolist()


@each
def test_the_command_line_runs_it(type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(four_bars(), tmp_path / "bars.json")
    command = ["run", str(tmp_path / "bars.json"), "--span", "0.8", "--step", "1e-3", "--output-step", "0.1", "--json"]
    command += ["--drive", f"pivot={WAYS[type][2]}", *(f"--channel={channel}" for channel in CHANNELS)]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    expected = run(written(type))
    for channel in CHANNELS:
        assert found["channels"][channel] == expected.channels[channel].tolist()


def test_a_table_from_a_file_of_columns(tmp_path: Path) -> None:
    file = tmp_path / "cam.csv"
    file.write_text("# t [s], angle [rad]\n0, -1\n0.2 -0.4\n\n0.5, 0.1  # knee\n1.0,1.2\n", encoding="utf-8")
    joint, table = parse_drive(f"pivot=table(file={file}, outside=hold)")
    assert joint == "pivot" and table == shiftjax.Table(TIMES, VALUES, outside="hold")
    _, shaking = parse_drive(f"pivot=acceleration_table(file={file}, speed=2)")
    assert shaking == shiftjax.AccelerationTable(TIMES, VALUES, speed=2.0)
    with pytest.raises(ModelError, match="found a file, and times or accelerations"):
        parse_drive(f"pivot=acceleration_table(file={file}, times=[0, 1])")


@each
def test_the_crank_follows_and_the_others_are_where_geometry_puts_them(type: str) -> None:
    """The driven coordinate to rounding; the rocker in closed form (two circles); the balance of energy."""
    result = run(written(type))
    assert result.status == 0 and result.report["dof"] == 0
    q, v, a = motion(type, result.time)
    for channel, values in zip(CHANNELS[:3], (q, v, a), strict=True):
        assert np.abs(result.channels[channel] - values).max() < EXACT * 10
    tip, pivot = CRANK * np.exp(1j * q), complex(GROUND)
    line = pivot - tip
    d = np.abs(line)
    along = (d**2 + COUPLER**2 - ROCKER**2) / (2 * d)
    across = np.sqrt(COUPLER**2 - along**2)
    side = -1j if np.angle(np.exp(1j * result.channels["bar0:hinge.q"][0])) < 0 else 1j
    end = tip + (along + side * across) * line / d
    rocker = np.angle(end - pivot)
    assert np.abs(np.exp(1j * result.channels["bar0:hinge.q"]) - np.exp(1j * rocker)).max() < CLOSED_FORM
    # The coupler transmits along itself: crank and rocker ends have one speed along it.
    u = (end - tip) / COUPLER
    dot = lambda x, y: (x * y.conjugate()).real  # noqa: E731
    speed = dot(1j * tip * v, u) / dot(1j * (end - pivot), u)
    assert np.abs(result.channels["bar0:hinge.v"] - speed).max() < CLOSED_FORM * 10
    assert result.certificate["energy_error"] < BALANCE and result.certificate["gap"] < EXACT


@each
def test_the_load_of_the_drive_times_the_speed_is_the_rate_of_energy(type: str) -> None:
    """E(t) - E(0) is the integral of `drive_load` times `v` (Simpson over every step); nothing else does work."""
    channels = ["bar0:pivot.drive_load", "bar0:pivot.v", "energy.total"]
    result = simulate(written(type), 0.4, 1e-3, output_step=1e-3, channels=channels)
    load, v, energy = (result.channels[channel] for channel in channels)
    power, h = load * v, 1e-3
    work = h / 3 * (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum())
    kinks = 1e-7 if type == "table" else 1e-10  # where the third derivative of the motion jumps
    assert abs(energy[-1] - energy[0] - work) < kinks * np.abs(power).max()
    assert result.units["bar0:pivot.drive_load"] == "N m" and np.ptp(energy) > 1e-3


def test_the_force_of_a_driven_slide_is_in_newton() -> None:
    """A mass lifted at a constant acceleration needs m (g + a)."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("a").body("cab", mass=3.0).joint("lift", "Tz", child="cab").driver(
        "winch", "polynomial", joint="lift", coefficients=[0, 0, 1.0]
    )
    result = simulate(builder.build(), 1.0, channels=["lift.drive_load"], output_step=0.25)
    assert np.abs(result.channels["lift.drive_load"] - 3.0 * (9.81 + 2.0)).max() < 1e-11
    assert result.units["lift.drive_load"] == "N"


# -- members -------------------------------------------------------------------------------------------------------


@each
def test_varied_numbers_are_those_of_single_runs(type: str) -> None:
    """By paths and, where Python takes arrays, by arrays; one lane program for all members."""
    varied = {f"{NAME}.{place}": values for place, values in MEMBERS[type].items()}
    batch = run(written(type), vary=varied)
    assert (batch.status == 0).all() and list(batch.design) == list(varied)
    for k in range(3):
        one = {path: values[k] for path, values in varied.items()}
        for single in (run(written(type).replace(one)), run(written(type), assign=one)):
            for channel in CHANNELS:
                scale = max(1.0, np.abs(single.channels[channel]).max())
                assert np.abs(batch.channels[channel][k] - single.channels[channel]).max() < 1e3 * ALGEBRA * scale
            assert np.abs(batch.channels[JOINT + ".q"][k] - single.channels[JOINT + ".q"]).max() < ALGEBRA
    assert np.ptp(batch.channels[JOINT + ".q"][:, -1]) > 0.1


def test_arrays_in_python_are_varied_numbers() -> None:
    speeds = np.array([1.0, -2.0, 3.0])
    batch = run(four_bars(), drive={"pivot": speeds})
    assert batch.channels[JOINT + ".q"].shape == (3, 9) and batch.design[f"{NAME}.speed"].tolist() == speeds.tolist()
    table = shiftjax.Table(TIMES, [VALUES[0], np.array([0.0, -0.4]), *VALUES[2:]])
    two = run(four_bars(), drive={"pivot": table})
    wave = run(four_bars(), drive={"pivot": shiftjax.Harmonic(amplitude=np.array([0.1, 0.2]), frequency=3.0)})
    line = shiftjax.Polynomial(np.array([[-1.0, -1.0], [0.5, 1.0]]))  # (n, B)
    lines = run(four_bars(), drive={"pivot": line})
    for k in range(2):
        single = run(four_bars(), drive={"pivot": shiftjax.Table(TIMES, [VALUES[0], [0.0, -0.4][k], *VALUES[2:]])})
        assert np.abs(two.channels[JOINT + ".q"][k] - single.channels[JOINT + ".q"]).max() < ALGEBRA
        assert np.abs(wave.channels[JOINT + ".q"][k] + 1.0 - (k + 1) * 0.1 * np.sin(3.0 * wave.time)).max() < ALGEBRA
        assert np.abs(lines.channels[JOINT + ".q"][k] + 1.0 - (0.5, 1.0)[k] * lines.time).max() < ALGEBRA


def test_members_do_not_depend_on_each_other() -> None:
    speeds = np.array([0.5, 1.0, 4.0])
    batch, alone = (run(four_bars(), drive={"pivot": array}) for array in (speeds, speeds[1:2]))
    for channel in CHANNELS:
        assert batch.channels[channel][1].tolist() == alone.channels[channel][0].tolist()


def test_a_driver_begins_at_the_initial_displacement_of_its_joint() -> None:
    """Where no offset is stated; varied, set, or left out of the file (0)."""
    starts = [-1.0, -0.8, -1.3]
    result = run(written("constant_speed"), vary={"pivot.initial_displacement": starts})
    assert np.abs(result.channels[JOINT + ".q"] - np.array(starts)[:, None] - 3.0 * result.time).max() < EXACT
    set_ = run(written("constant_speed"), assign={"pivot.initial_displacement": -0.7})
    assert np.abs(set_.channels[JOINT + ".q"] + 0.7 - 3.0 * set_.time).max() < EXACT
    document = to_dict(pendulum())
    document["assemblies"][0]["joints"][0].pop("initial_displacement", None)
    document["assemblies"][0]["drivers"] = [{"name": "m", "type": "constant_speed", "joint": "pivot", "speed": 2.0}]
    assert simulate(load(document), 0.1, channels=["pivot.q"], output_step=0.1).channels["pivot.q"].tolist()[0] == 0.0


def test_a_driver_that_begins_elsewhere_says_so() -> None:
    result = run(written("polynomial", coefficients=[-0.5, 1.0]))
    assert any("pivot starts where its driver bar0:pivot_drive does, up to 0.5" in note for note in result.notes)
    assert not any("starts where" in note for note in run(written("polynomial")).notes)


# -- functions -----------------------------------------------------------------------------------------------------


def test_a_polynomial_counts_time_from_its_origin() -> None:
    """2 - 3 (t - 0.4) + 5 (t - 0.4)^2 = 4 - 7 t + 5 t^2, of drivers; of loads the same law."""
    moved, plain = shiftjax.Polynomial([2.0, -3.0, 5.0], origin=0.4), shiftjax.Polynomial([4.0, -7.0, 5.0])
    channels = ["pivot.q", "pivot.v", "pivot.a", "pivot.drive_load"]
    one, other = (simulate(pendulum(), 1.0, drive={"pivot": motion}, output_step=0.25, channels=channels).channels
                  for motion in (moved, plain))  # fmt: skip
    assert all(np.abs(one[path] - other[path]).max() < CLOSED_FORM for path in channels)


def test_a_driver_may_begin_many_turns_away() -> None:
    """The loop follows turn by turn: a coupler that does not go round keeps its angle, which two joints add up to."""
    begin = 2 * np.pi * np.array([3.3, 7.7, 11.2, 15.6]) - 1.0
    drive = {"pivot": shiftjax.Polynomial([begin, 1.0])}
    result = shiftjax.assemble(four_bars(), drive=drive, channels=["pivot.q", "pin.q"])
    assert (result.status == 0).all()
    assert np.abs(result.channels["pivot.q"] + result.channels["pin.q"]).max() < np.pi


def test_a_function_of_time_is_differentiated() -> None:
    f = lambda t: -1.0 + 2.0 * t + 0.1 * jnp.sin(3.0 * t) ** 2  # noqa: E731
    result = run(four_bars(), drive={"pivot": f})
    t = result.time
    q, v, a = (result.channels[channel] for channel in CHANNELS[:3])
    assert np.abs(q - (-1.0 + 2.0 * t + 0.1 * np.sin(3.0 * t) ** 2)).max() < EXACT
    assert np.abs(v - (2.0 + 0.3 * np.sin(6.0 * t))).max() < EXACT
    assert np.abs(a - 1.8 * np.cos(6.0 * t)).max() < EXACT * 10
    assert result.certificate["energy_error"] < BALANCE


def test_a_function_is_not_taken_for_another_one() -> None:
    """Compiled code is found by what it computes: two functions from one line of source are two."""
    ends = [
        run(four_bars(), drive={"pivot": lambda t, w=w: -1.0 + w * t}).channels[JOINT + ".q"][-1] for w in (1.0, 2.0)
    ]
    assert np.abs(np.array(ends) - [-0.2, 0.6]).max() < EXACT


# -- tables --------------------------------------------------------------------------------------------------------


def test_a_table_that_repeats_drives_for_ever() -> None:
    """One turn in half a second, four times: the coordinate gains 2 pi each time, its speed has no kink."""
    times, values = [0.0, 0.1, 0.3, 0.5], [-1.0, 0.0, 3.0, -1.0 + 2 * np.pi]
    model = written("table", times=times, values=values, outside="repeat", last_rate=None)
    result = run(model, 2.0)
    spline = CubicSpline(times, np.array(values) - 4 * np.pi * np.array(times), bc_type="periodic")
    expected = spline(np.mod(result.time, 0.5)) + 4 * np.pi * result.time
    assert np.abs(result.channels[JOINT + ".q"] - expected).max() < 1e-11
    assert result.status == 0 and result.certificate["energy_error"] < 1e-6


@pytest.mark.parametrize("outside", ["linear", "repeat"])
def test_both_backends_agree(outside: str) -> None:
    """The compiled code and the step loop on NumPy."""
    options = {"last_rate": None} if outside == "repeat" else {}
    model = written("table", times=[0.0, 0.004, 0.012], values=[-1.0, -0.9, -0.8], outside=outside, **options)
    one, other = (run(model, 0.1, backend=backend) for backend in ("cpu", "numpy"))
    for channel in CHANNELS[:5]:
        scale = max(1.0, np.abs(one.channels[channel]).max())
        assert np.abs(one.channels[channel] - other.channels[channel]).max() < 1e-9 * scale


def test_single_precision_follows_a_table() -> None:
    result = run(written("table"), precision="f32")
    assert np.abs(result.channels[JOINT + ".q"] - motion("table", result.time)[0]).max() < 1e-5


def test_a_run_that_leaves_its_table_is_refused() -> None:
    model = written("table", outside="refuse")
    assert run(model, 1.0).status == 0
    with pytest.raises(ModelError, match=r"bar0:pivot_drive: found a table from 0 to 1 s, and a run from 0 to 1.1 s"):
        run(model, 1.1)
    first = run(model, 0.5)
    with pytest.raises(ModelError, match=r"run from 0.5 to 1.3 s"):
        run(model, 0.8, start=first)
    with pytest.raises(ModelError, match="a run from 0 to inf s"):
        compile(model)
    live = Live(model, step=1e-2, channels=["pivot.q"])
    live.advance(0.9)
    assert not live.ended
    live.advance(0.9)
    assert live.time == pytest.approx(1.0) and "bar0:pivot_drive ends at 1 s" in live.ended
    assert live.channels()["pivot.q"] == pytest.approx(VALUES[-1])


def test_going_on_goes_on_in_time() -> None:
    whole = run(written("harmonic"))
    first = run(written("harmonic"), 0.4)
    second = run(written("harmonic"), 0.4, start=first)
    assert np.abs(second.channels[JOINT + ".q"] - whole.channels[JOINT + ".q"][4:]).max() < EXACT


# -- other entrances -----------------------------------------------------------------------------------------------


def test_a_live_run_is_driven_and_changed() -> None:
    live = Live(four_bars(), ["pivot_drive.speed"], channels=["pivot.q", "pivot.drive_load"], drive={"pivot": 3.0})
    live.advance(0.5)
    instant, before = live.instant(), live.channels()
    assert before["pivot.q"] == pytest.approx(0.5, abs=EXACT) and before["pivot.drive_load"] != 0.0
    live.advance(0.2)
    live.set_back(instant)
    assert live.channels()["pivot.q"] == pytest.approx(0.5, abs=EXACT), "the loops are closed at that time"
    live.change({"pivot_drive.speed": 3.1})
    assert live.channels()["pivot.q"] == pytest.approx(-1.0 + 3.1 * 0.5, abs=1e-9)
    with pytest.raises(ModelError, match="one design"):
        Live(four_bars(), drive={"pivot": np.array([1.0, 2.0])})


def test_a_compiled_step_is_driven() -> None:
    sim = compile(four_bars(), ["pivot_drive.speed"], drive={"pivot": 3.0})
    params, state = sim.start({"pivot_drive.speed": [1.0, 2.0]})
    lane = [{name: values[1] for name, values in group.items()} for group in (params, state)]
    for _ in range(5):
        lane[1], info = sim.step(*lane)
    pivot = sim.prepared.plan.joints[sim.prepared.plan.joint_index(JOINT)]
    assert float(lane[1]["q"][pivot.q]) == pytest.approx(-1.0 + 2.0 * 5e-3, abs=EXACT) and info["status"] == 0
    with pytest.raises(ModelError, match="vary"):
        compile(four_bars(), drive={"pivot": np.array([1.0, 2.0])})


def test_stores_and_sweeps_hold_the_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", "four_bar", "--span", "0.1", "--drive", "crank_pivot=harmonic(amplitude=0.2,frequency=3)"]
    command += ["--vary", "crank_pivot_drive.amplitude=0.1:0.3:3", "--channel", "crank_pivot.drive_load"]
    assert main([*command, "--out", str(tmp_path / "study.zarr")]) == 0
    assert "crank_pivot_drive.amplitude" in capsys.readouterr().out
    tree = store.read(tmp_path / "study.zarr")
    model = load(json.loads(tree.attrs["model"]))
    assert dict(model.drivers())["four_bar:crank_pivot_drive"].values["frequency"] == 3.0
    with_drive = tree["members"].to_dataset()["four_bar:crank_pivot_drive.amplitude"]
    assert with_drive.values.tolist() == pytest.approx([0.1, 0.2, 0.3]) and with_drive.attrs["units"] == "rad"


def test_equal_parts_with_equal_drivers_are_one_program() -> None:
    """Two pendulums, driven alike: the numbers of each are its own."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.frame("beside", T=(0.0, 1.0, 0.0))
    a = builder.assembly("a").body("one", **rod(1.0)).body("two", **rod(1.0))
    a.joint("first", "Ry", child="one", initial_displacement=0.1)
    a.joint("second", "Ry", parent=("fixed", "beside"), child="two", initial_displacement=0.3)
    a.driver("m1", "constant_speed", joint="first", speed=1.0).driver("m2", "constant_speed", joint="second", speed=2.0)
    result = simulate(builder.build(), 0.5, channels=["first.q", "second.q"], output_step=0.5)
    assert [result.channels[name][-1] for name in ("first.q", "second.q")] == pytest.approx([0.6, 1.3], abs=EXACT)


# -- files ---------------------------------------------------------------------------------------------------------


def test_files_keep_drivers_and_loads(tmp_path: Path) -> None:
    model = load(driven())
    save(model, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again == model and again.numbers() == model.numbers() and to_dict(again) == to_dict(model)
    numbers = model.described()
    assert numbers["pendulum:lift.coefficients[2]"].unit == "m/s^2" and numbers["pendulum:motor.speed"].unit == "rad/s"
    assert numbers["pendulum:shake.rate"].unit == "N m/s" and numbers["pendulum:grow.coefficients[0]"].unit == "N"
    assert "pendulum:motor.offset" not in numbers and numbers["pendulum:offset.offset"].value == 0.5
    assert model.replace({"pendulum:cam.values[1]": 0.25}).numbers()["pendulum:cam.values[1]"] == 0.25


def test_an_included_file_brings_its_drivers(tmp_path: Path) -> None:
    save(written("harmonic"), tmp_path / "bar.json")
    entries = [{"name": name, "include": "bar.json", "parent": [["fixed"], name]} for name in ("left", "right")]
    frames = [{"name": "left"}, {"name": "right", "T": [0, 2, 0]}]
    parameters = {"version": "2.0", "gravity": [0, 0, -9.81]}
    model = load({"model_parameters": parameters, "frames": frames, "assemblies": entries}, tmp_path)
    result = simulate(model, 0.2, channels=["left:bar0:pivot.q", "right:bar0:pivot.q"], output_step=0.1)
    assert result.report["dof"] == 0
    for values in result.channels.values():
        assert np.abs(values - motion("harmonic", result.time)[0]).max() < EXACT


@pytest.mark.parametrize("entry", [*drivers(), *loads()], ids=lambda entry: f"{entry['name']}-{entry['type']}")
def test_the_schema_holds_every_type_with_its_own_keys(entry: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    what = "driver" if entry in drivers() else "force module"
    validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{what}", "$defs": schema()["$defs"]})
    validator.validate(entry)
    assert not validator.is_valid({**entry, "sped": 1}) and not validator.is_valid({**entry, "type": "sinus"})
    named = "joint" if "joint" in entry else "frame"
    assert not validator.is_valid({key: value for key, value in entry.items() if key != named})
    whole = jsonschema.Draft202012Validator(schema())
    whole.validate(json.loads(json.dumps(to_dict(load(driven())))))


def test_models_without_drives_have_the_code_they_had() -> None:
    """Start numbers enter programs only where a driver reads them."""
    free, moved = prepare(four_bars(), {}).setup, prepare(written("constant_speed"), {}).setup
    assert sum(number is None for number in free.numbers) == 8
    assert sum(number is None for number in moved.numbers) == 7

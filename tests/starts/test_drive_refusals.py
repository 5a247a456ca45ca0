"""What is no drive, and what a driver forbids: refused by name, in files, in Python and on the command line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.ensembles.study.motion_words import parse_drive
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from tests.starts.test_drives import NAME, run, written
from tests.support.models.mechanisms import four_bars, rod

REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"type": "sinus"},
        r"drivers\[0\] \(d\).type: found 'sinus'; allowed: one of acceleration_table, constant_speed, .*",
    ),
    ({"type": "constant_speed"}, r"speed: found nothing; allowed: one number"),
    ({"type": "constant_speed", "speed": "fast"}, "speed: found 'fast'"),
    ({"type": "constant_speed", "speed": 1, "rate": 2}, r"unknown key 'rate'"),
    ({"type": "constant_speed", "speed": 1, "joint": "nix"}, "no joint 'nix'"),
    (
        {"type": "constant_speed", "speed": 1, "joint": "ball"},
        "found joint a:ball; allowed: joints of one displacement",
    ),
    ({"type": "polynomial", "coefficients": []}, "found no coefficient"),
    ({"type": "polynomial", "coefficients": 3}, "a list of ascending coefficients"),
    (
        {"type": "table", "times": [0, 1, 1], "values": [0, 1, 2]},
        "times: found times 1, 1; allowed: increasing numbers",
    ),
    ({"type": "table", "times": [0, 2, 1], "values": [0, 1, 2]}, "found times 2, 1; allowed: increasing"),
    ({"type": "table", "times": [0], "values": [0]}, "found fewer than two times"),
    ({"type": "table", "times": [0, 1], "values": [0, 1, 2]}, "found 3 values for 2 times"),
    ({"type": "table", "times": [0, 1], "values": [0, 1], "outside": "stop"}, "'stop'; allowed: one of hold, linear"),
    ({"type": "table", "times": [0, 1], "values": [0, 1], "outside": "hold", "last_rate": 1}, "that holds its end"),
    ({"type": "table", "times": [0, 1], "values": [0, 1], "outside": "repeat", "last_rate": 1}, "that repeats"),
    ({"type": "acceleration_table", "times": [0, 1], "accelerations": [0]}, "1 accelerations for 2 times"),
    (
        {"type": "acceleration_table", "times": [0, 1], "accelerations": [0, 1], "outside": "repeat"},
        "'repeat'; allowed: one of hold, refuse",
    ),
    ({"type": "table", "times": list(range(1001)), "values": list(range(1001))}, "more than 1000 times"),
]


@pytest.mark.parametrize(("entry", "message"), REFUSED)
def test_files_with_impossible_drivers_are_refused(entry: dict[str, Any], message: str) -> None:
    builder = ModelBuilder()
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod")
    a.body("bob").joint("ball", "spherical", parent="rod", child="bob")
    a.entry["drivers"] = [{"name": "d", "joint": "pivot", **entry}]
    with pytest.raises(ModelError, match=message):
        builder.build()


def test_times_of_members_must_rise_too() -> None:
    """One rule for files, `replace`, `assign` and members; a bad member does not end the sweep."""
    model, said = written("table"), r"bar0:pivot_drive.times\[1\]: found times 0.7, 0.5; allowed: increasing numbers"
    with pytest.raises(ModelError, match=said):
        model.replace({f"{NAME}.times[1]": 0.7})
    with pytest.raises(ModelError, match=said):
        run(model, assign={f"{NAME}.times[1]": 0.7})
    result = run(model, vary={f"{NAME}.times[1]": [0.3, 0.7, 0.5, np.nan]})
    assert result.status.tolist() == [0, Outcome.unphysical, Outcome.unphysical, Outcome.non_finite]
    assert re.match(said, result.messages[1]) and "times 0.5, 0.5" in result.messages[2]
    alone = run(model.replace({f"{NAME}.times[1]": 0.3}))
    assert result.final is not None and alone.final is not None
    np.testing.assert_allclose(result.final["q"][0], alone.final["q"], atol=1e-12)  # constants fold otherwise
    last = f"{NAME}.times[{sum(path.startswith(f'{NAME}.times') for path in model.numbers()) - 1}]"
    result = run(model, vary={last: [model.numbers()[last], -1.0]})  # its table would end before the run
    assert result.status.tolist() == [0, Outcome.unphysical]
    faulty = run(model, vary={last: [-1.0]})
    assert faulty.status.tolist() == [Outcome.unphysical]
    moved = model.replace({f"{NAME}.times[1]": 0.7, f"{NAME}.times[2]": 0.8})
    assert run(moved, 0.1).status == 0, "both together"


def test_one_driver_a_joint() -> None:
    document = to_dict(written("constant_speed"))
    document["assemblies"][0]["drivers"].append({"name": "b", "type": "constant_speed", "joint": "pivot", "speed": 1.0})
    with pytest.raises(ModelError, match="bar0:pivot: found two drivers, bar0:b and bar0:pivot_drive"):
        run(load(document))
    document["assemblies"][0]["drivers"][1]["active"] = False
    assert run(load(document)).status == 0
    with pytest.raises(ModelError, match="two drivers, bar0:pivot_drive and bar0:pivot_drive_2"):
        run(written("constant_speed"), drive={"pivot": 1.0})
    with pytest.raises(ModelError, match="two drivers"):
        run(written("constant_speed"), drive={"pivot": lambda t: t})


def test_a_driver_of_an_inactive_joint_is_refused() -> None:
    document = to_dict(four_bars())
    a = document["assemblies"][0]
    a["joints"][3]["active"] = False
    a["drivers"] = [{"name": "d", "type": "constant_speed", "joint": "joint", "speed": 1.0}]
    with pytest.raises(ModelError, match=r"bar0:d: found a driver of the inactive joint bar0:joint; .*active"):
        run(load(document))
    assert "bar0:d" in shiftjax.info(load(document))["dangling"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hold": ["pivot"]}, "hold bar0:pivot: found a joint that the driver bar0:pivot_drive moves"),
        ({"assign": {"pivot.initial_displacement": 1.0}}, "initial_displacement of bar0:pivot"),
        ({"vary": {"pivot.initial_velocity": [1.0]}}, "initial_velocity of bar0:pivot"),
    ],
)
def test_a_driver_alone_decides_where_its_joint_starts(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        run(written("polynomial"), **options)


MADE: Any = shiftjax  # its types are what is tested
BAD: list[tuple[Any, str]] = [
    ("fast", "drive pivot: found 'fast'; allowed: a speed"),
    (True, "found True"),
    (None, "found None"),
    (float("nan"), "found nan"),
    (np.ones((2, 2)), r"shape \(2, 2\)"),
    (np.array([]), r"shape \(0,\)"),
    (shiftjax.Harmonic, "found <class"),
    (shiftjax.Polynomial([]), "no coefficient"),
    (shiftjax.Table([0, 1, 1], [0, 1, 2]), "drive pivot: found times 1, 1; allowed: increasing"),
    (MADE.Table([0, np.array([1.0, 2.0])], [0, 1]), "the same for all members"),
    (lambda t: [t, t], "one number for a time"),
    (lambda: 1.0, "TypeError"),
    (lambda t: "x", "one number for a time"),
    (lambda t: np.interp(t, [0, 1], [0, 1]), "TracerArrayConversionError"),
    (lambda t: 1.0 / t, "position, velocity and acceleration inf"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=range(len(BAD)))
def test_what_is_no_motion_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        run(four_bars(), drive={"pivot": given})


@pytest.mark.parametrize(
    ("type", "numbers", "message"),
    [
        ("ConstantSpeed", {"speed": None}, "ConstantSpeed.speed: found None; allowed: a finite number"),
        ("ConstantSpeed", {"speed": "3"}, "ConstantSpeed.speed: found '3'"),
        ("Harmonic", {"amplitude": "x"}, "Harmonic.amplitude: found 'x'"),
        ("Harmonic", {"rate": None}, "Harmonic.rate: found None"),
        ("Harmonic", {"phase": True}, "Harmonic.phase: found True"),
        ("Harmonic", {"offset": np.ones((2, 2))}, r"Harmonic.offset: found shape \(2, 2\)"),
        ("Harmonic", {"frequency": float("nan")}, "Harmonic.frequency: found nan"),
        ("Polynomial", {"coefficients": "abc"}, "Polynomial.coefficients: found 'abc'; allowed: a list of numbers"),
        ("Polynomial", {"coefficients": {1, 2}}, "Polynomial.coefficients: found {1, 2}"),
        ("Polynomial", {"coefficients": [0, "1"]}, r"Polynomial.coefficients\[1\]: found '1'"),
        ("Table", {"times": [0, 1], "values": [0, None]}, r"Table.values\[1\]: found None"),
        ("Table", {"times": 3, "values": [0, 1]}, "Table.times: found 3"),
        (
            "Table",
            {"times": [0, 1], "values": [0, 1], "outside": "x"},
            "Table.outside: found 'x'; allowed: refuse, hold",
        ),
        ("Table", {"times": [0, 1], "values": [0, 1], "outside": ["hold"]}, "Table.outside: found"),
    ],
)
def test_motions_of_wrong_kinds_are_refused_when_they_are_made(
    type: str, numbers: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        getattr(shiftjax, type)(**numbers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pivot", "PATH=VALUE"),
        (
            "pivot=table(times=[0,1], values=[0,1], outside=x)",
            "--drive pivot.outside: found 'x'; allowed: refuse, hold",
        ),
        ("pivot=fast", "'fast'; allowed: a finite number"),
        ("pivot=polynom(coefficients=[1])", "'polynom'.*Did you mean 'polynomial'"),
        ("pivot=harmonic(amplitud=1)", "'amplitud' in harmonic.*Did you mean 'amplitude'"),
        ("pivot=harmonic(amplitude=1, amplitude=2)", "amplitude twice"),
        ("pivot=harmonic(1)", "key=value"),
        ("pivot=harmonic(amplitude=[1])", r"'\[1\]'; allowed: a finite number"),
        ("pivot=polynomial(coefficients=1)", "a list"),
        ("pivot=polynomial(coefficients=[1,x])", "'x'; allowed: a finite number"),
        ("pivot=harmonic(amplitude=1e999)", "--drive pivot.amplitude: found"),
        ("pivot=constant_speed()", "constant_speed without speed"),
        ("pivot=table(file=nowhere.csv)", "nowhere.csv"),
        ("pivot=table(file=nowhere.csv, times=[0,1])", "nowhere.csv"),
    ],
)
def test_command_lines_that_say_no_motion_are_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_drive(text)


def test_a_joint_that_nothing_drives_has_no_load_of_a_drive() -> None:
    with pytest.raises(ModelError, match="a joint that nothing drives"):
        simulate(four_bars(), 0.01, channels=["hinge.drive_load"])


# -- more drives than freedoms -----------------------------------------------------------------------------------------


HELD = {"crank_pivot": shiftjax.Polynomial([0.2, 1.0]), "rocker_pivot": shiftjax.Polynomial([0.3])}


@pytest.mark.parametrize(
    ("drive", "status", "text"),
    [
        ({"crank_pivot": 1.0, "rocker_pivot": 0.0}, Outcome.locked,
         "four_bar:crank_pivot and four_bar:rocker_pivot are 2 drives on one freedom"),
        ({"crank_pivot": 1.0, "rocker_pivot": 1.0, "crank_pin": 0.2}, Outcome.locked,
         "four_bar:crank_pin, four_bar:crank_pivot and four_bar:rocker_pivot are 3 drives on one freedom"),
        (HELD, Outcome.not_assembled, "four_bar:crank_pivot and four_bar:rocker_pivot are 2 drives on one freedom"),
    ],
)  # fmt: skip
def test_drives_that_are_more_than_the_freedoms_are_named(drive: dict, status: Outcome, text: str) -> None:
    result = shiftjax.simulate("four_bar", 0.1, drive=drive)
    assert result.status == status
    assert text in result.messages[0] and "of them out" in result.messages[0]
    assert "drive it less far" not in result.messages[0] and "hold fewer" not in result.messages[0]


def test_one_drive_that_goes_too_far_is_said_as_before() -> None:
    result = shiftjax.simulate("four_bar", 1.0, drive={"rocker_pivot": 3.0})
    assert result.status == Outcome.locked and "drives on" not in result.messages[0]


def test_drives_that_agree_are_no_fault() -> None:
    """Both cranks are held where they start."""
    result = shiftjax.simulate("four_bar", 0.1, drive={"crank_pivot": 0.0, "rocker_pivot": 0.0})
    assert result.status == Outcome.ok


def carts(offset: float, rate: float = 0.1, **words: str) -> shiftjax.Model:
    """A cart on a slide along x, a frame of which is driven."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("cart", mass=1.0, inertia=(0.1,) * 3).joint("way", "Tx", child="cart")
    kind = "frame_angle_polynomial" if "angle" in words else "frame_polynomial"
    a.driver("lift", kind, frame="cart", coefficients=[offset, rate], **words)
    return builder.build()


@pytest.mark.parametrize(
    ("model", "status", "what"),
    [
        (carts(0.0, component="z"), Outcome.loop_open, "z"),
        (carts(0.0, angle="yaw"), Outcome.loop_open, "yaw"),
        (carts(0.3, component="y"), Outcome.not_assembled, "y"),
    ],
)
def test_a_driver_that_no_freedom_follows_is_named(model: shiftjax.Model, status: Outcome, what: str) -> None:
    """It was a step that is too large, or a loop of a wrong length."""
    result = simulate(model, 0.1)
    assert result.status == status and f"a:lift drives {what} of a frame, which no freedom moves" in result.messages[0]
    assert "smaller step" not in result.messages[0] and "lengths" not in result.messages[0]


def test_a_driver_that_a_freedom_follows_is_no_fault() -> None:
    assert simulate(carts(0.0, component="x"), 0.1).status == Outcome.ok
    assert simulate(carts(0.0, rate=0.0, component="z"), 0.1).status == Outcome.ok, "it asks for where the frame is"

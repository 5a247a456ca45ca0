"""Joints of several coordinates (D11, M2): each stated, held, driven and acted on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles.stored_study import Study
from shiftjax.errors import ModelError
from shiftjax.formats import load, save, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.primitives import Ball, Rotation, Translation
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from tests.support.models.several_coordinates import MODELS, TILT, bar, plate, shafts

GAP = 1e-11  # m or rad: what one Newton step after each step of 1 ms leaves of a spatial loop
ENERGY = 1e-8  # of the largest energy, RK4 at 1 ms over half a second
ROUNDING = 1e-9  # a joint beside elementary ones: other partitions, equal up to the truncation of RK4 at 0.5 ms
AXIS = (1 / 3, 2 / 3, -2 / 3)
RUBBED: dict[str, dict[str, Any]] = {
    "cylindrical": {"stiffness": {"slide": [0.0, 200.0]}, "damping": {"angle": [0.0, 0.05], "slide": [0.0, 1.0]}},
    "universal": {"stiffness": {"second": [0.0, 2.0]}, "damping": {"first": [0.0, 0.01]}},
    "planar": {"stiffness": {"x": [1.0, 20.0], "angle": [0.0, 3.0]}, "damping": {"y": [0.0, 0.5]}},
    "translational_2d": {"stiffness": {"x": [1.0, 20.0]}, "damping": {"y": [0.0, 0.5]}},
    "translational_3d": {"stiffness": {"z": [1.0, 20.0]}, "damping": {"y": [0.0, 0.5]}},
    "pin_slider": {"stiffness": {"slide": [0.0, 20.0]}, "damping": {"angle": [0.0, 0.05]}},
    "euler_zyx": {"stiffness": {"second": [0.0, 2.0]}, "damping": {"third": [0.0, 0.05]}},
    "euler_zxz": {"stiffness": {"second": [-2.4, 2.0]}, "damping": {"third": [0.0, 0.05]}},
}
NUMBERS = {
    type_: [f"hub.{key}.{next(reversed(part))}[1]" for key, part in rubbed.items()] for type_, rubbed in RUBBED.items()
}
PROPER = [name for name, kind in KINDS.items() if name.startswith("euler") and name[-1] == name[-3]]
each = pytest.mark.parametrize("type_", MODELS)


@pytest.mark.parametrize("type_", [name for name, kind in KINDS.items() if kind.primitives and KINDS.ships(kind)])
def test_measured_inverts_motion(type_: str) -> None:
    """Of every kind, at random poses; the second of several angles within a quarter turn of its middle."""
    kind, n, random = KINDS[type_], {"axis": list(AXIS), "pitch": 0.05}, np.random.default_rng(3)
    for _ in range(20):
        R, p, q = np.eye(3), np.zeros(3), list[float]()
        for own in kind.coordinates:
            x = random.normal(size=4) if own.nq == 4 else random.uniform(-1.5, 1.5, own.nq)
            x = x * np.sign(x[0]) / np.linalg.norm(x) if own.nq == 4 else x
            if own.name == "second" and type_ in PROPER:
                x = x + np.pi / 2
            rotation, shift = (np.array(part, float) for part in own.primitive.motion([*map(float, x)], n))
            R, p, q = R @ rotation, p + R @ shift, [*q, *x]
        assert np.abs(np.array(kind.measured(R.tolist(), p.tolist(), n)) - q).max() < 1e-14


@pytest.mark.parametrize(
    ("axes", "message"), [("xyzx", "found 3 turning motions .*; allowed: at most two"), ("xxy", "not across")]
)
def test_what_has_no_coordinates_of_a_pose(axes: str, message: str) -> None:
    kind = JointKind(tuple(map(Rotation, axes)), "free", ("a1", "a2", "a3", "a4")[: len(axes)])
    with pytest.raises(ModelError, match=message):
        kind.measured(np.eye(3).tolist(), [0.0, 0.0, 0.0], {})


@pytest.mark.parametrize(
    "primitives", [(Translation("y"), Ball()), (Rotation("x"), Ball()), (Ball(), Translation("x"))]
)
def test_before_a_quaternion_stand_translations_along_x_y_z(primitives: tuple[Any, ...]) -> None:
    with pytest.raises(ModelError, match="allowed: translations along x, then y, then z before it"):
        JointKind(primitives, "free", ("one", "two"))


def test_a_kind_of_several_coordinates_names_them() -> None:
    for names in ((), ("slide",), ("slide", "slide"), ("q", "slide")):
        with pytest.raises(ModelError, match=r"found the names .*; allowed: 2 names, one for each, other than q, v, a"):
            JointKind((Rotation("x"), Translation("x")), "cylinder", names)


@each
def test_it_is_elementary_joints_with_massless_bodies(type_: str) -> None:
    """In a closed loop, sprung and damped per coordinate; energy and gaps of both."""
    names, make = KINDS[type_].names, MODELS[type_]
    one = simulate(make(**RUBBED[type_]), 0.4, 5e-4, channels=["hub.q", "hub.v", "pivot.q"], output_step=0.05)
    parts = [f"hub_{k}.{what}" for what in "qv" for k in range(len(names))]
    other = simulate(make(whole=False, **RUBBED[type_]), 0.4, 5e-4, channels=[*parts, "pivot.q"], output_step=0.05)
    assert one.status == 0 and not one.notes
    assert one.certificate["energy_error"] < ENERGY and one.certificate["gap"] < GAP
    assert np.abs(one.channels["pivot.q"] - other.channels["pivot.q"]).max() < ROUNDING
    for what in "qv":
        found = np.stack([other.channels[f"hub_{k}.{what}"] for k in range(len(names))], axis=-1)
        assert np.abs(one.channels[f"hub.{what}"] - found).max() < ROUNDING
    assert np.ptp(one.channels["hub.q"], axis=0).max() > 0.05, "it moves"


@each
def test_files_and_paths_name_coordinates(type_: str) -> None:
    model, names = MODELS[type_](**RUBBED[type_]), KINDS[type_].names
    before = dict(model.joints())["a:hub"]
    assert to_dict(load(to_dict(model))) == to_dict(model) and load(to_dict(model)) == model
    units = model.number_units()
    for name, unit in zip(names, KINDS[type_].units, strict=True):
        assert (
            units[f"a:hub.initial_displacement.{name}"] == unit
            and units[f"a:hub.initial_velocity.{name}"] == f"{unit}/s"
        )
        changed = model.replace({f"hub.initial_velocity.{name}": 0.25})
        assert changed.numbers()[f"a:hub.initial_velocity.{name}"] == 0.25
        hub = dict(changed.joints())["a:hub"]
        stated = [own for own in names if own == name or before.states("initial_velocity", own)]
        assert [own for own in names if hub.states("initial_velocity", own)] == stated
    channels = [path for name in names for path in (f"hub.{name}", f"hub.{name}.v", f"hub.{name}.a")]
    channels += [f"hub.{what}[{k}]" for k in range(len(names)) for what in "qva"]
    seen = simulate(model, 2e-3, 1e-3, channels=["hub.q", "hub.v", "hub.a", "pivot.q[0]", "pivot.q", *channels])
    assert seen.channels["pivot.q[0]"].tolist() == seen.channels["pivot.q"].tolist()
    for k, name in enumerate(names):
        for what, path, per in (("q", f"hub.{name}", ""), ("v", f"hub.{name}.v", "/s"), ("a", f"hub.{name}.a", "/s^2")):
            assert seen.channels[path].tolist() == seen.channels[f"hub.{what}"][..., k].tolist()
            assert seen.channels[path].tolist() == seen.channels[f"hub.{what}[{k}]"].tolist()
            assert seen.units[path] == seen.units[f"hub.{what}[{k}]"] == KINDS[type_].units[k] + per


@each
def test_gradients_are_those_of_differences(type_: str) -> None:
    """By reverse mode, of the sum of all coordinates at the end by a stiffness of one and a damping of another."""
    model = MODELS[type_](**RUBBED[type_])
    values = {path: jnp.asarray([model.numbers()[f"a:{path}"]]) for path in NUMBERS[type_]}

    def end(given: Any) -> Any:
        seen = shiftjax.simulate(model, 0.1, 1e-3, channels=["hub.q"], vary=given).channels["hub.q"][:, -1]
        return seen.reshape(len(seen), -1).sum(1)

    slopes = jax.grad(lambda given: end(given).sum())(values)
    for path, value in values.items():
        around = {name: np.full(4, float(x[0])) for name, x in values.items()}
        h = 1e-2 * float(value[0])
        around[path] += h * np.array([-2, -1, 1, 2])
        ends = np.asarray(end(around))
        difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)  # of order 4
        assert slopes[path][0] == pytest.approx(difference, rel=1e-6) and difference != 0


def test_a_list_states_coordinates_in_order_and_null_states_nothing() -> None:
    document = to_dict(plate())
    hub = next(joint for joint in document["assemblies"][0]["joints"] if joint["name"] == "hub")
    hub["initial_displacement"] = [0.1, None, 0.5]
    found = dict(load(document).joints())["a:hub"]
    assert found.stated == ("initial_displacement.x", "initial_displacement.angle")
    assert dict(found.initial_displacement) == {"x": 0.1, "y": 0.0, "angle": 0.5}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("initial_displacement", [0.1, 0.2], r"found a list of 2; allowed: 3 of them: x, y, angle"),
        ("initial_velocity", [1.0], r"found a list of 1; allowed: 3 of them: x, y, angle"),
        ("initial_displacement", 0.3, r"found 0\.3; allowed: an object or a list of the coordinates x, y, angle"),
        ("initial_displacement", {"z": 1.0}, r"unknown key 'z' in the coordinates of a planar joint"),
        ("stiffness", [0.0, 1.0, 2.0], r"a list of ascending coefficients"),
        ("damping", {"x": 3.0}, r"a list of ascending coefficients"),
    ],
)
def test_what_a_file_cannot_say_of_coordinates_is_refused(key: str, value: Any, message: str) -> None:
    document = to_dict(plate())
    next(joint for joint in document["assemblies"][0]["joints"] if joint["name"] == "hub")[key] = value
    with pytest.raises(ModelError, match=message):
        load(document)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ("hub", r"found joint a:hub, which has 3; allowed: one coordinate: a:hub\.x, a:hub\.y, a:hub\.angle"),
        ("hub.z", r"found no coordinate 'z' of a:hub; allowed: one coordinate: a:hub\.x"),
        ("hub.q[3]", r"found no coordinate 'q\[3\]' of a:hub"),
        ("pivot.x", r"found no coordinate 'x' of a:pivot; allowed: one coordinate: a:pivot"),
    ],
)
def test_a_force_names_one_coordinate(joint: str, message: str) -> None:
    document = to_dict(plate())
    for part, item in (
        ("drivers", {"type": "constant_speed", "speed": 1.0}),
        ("restraints", {"type": "spring", "coefficients": [[1.0, 0.0]]}),
        ("force_modules", {"type": "constant_load", "load": 1.0}),
    ):
        assembly = {**document["assemblies"][0], part: [{"name": "it", "joint": joint, **item}]}
        with pytest.raises(ModelError, match=message):
            load({**document, "assemblies": [assembly]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drive": {"hub": 1.0}}, r"drive a:hub: found a joint of 3 coordinates; allowed: one of \['a:hub.x'"),
        ({"drive": {"hub.z": 1.0}}, r"drive a:hub: found no coordinate 'z'; allowed: one of \['a:hub.x'"),
        ({"hold": ["hub.z"]}, r"hold a:hub: found no coordinate 'z'; allowed: a:hub.x, a:hub.y, a:hub.angle"),
        ({"independent": ["hub.q[3]"]}, r"independent a:hub: found no coordinate 'q\[3\]'"),
        ({"channels": ["hub.z"]}, r"channel hub.z"),
        ({"channels": ["hub.q[3]"]}, r"channel hub.q\[3\]: found no coordinate"),
        ({"channels": ["hub.drive_load"]}, r"channel hub.drive_load: found a joint of several coordinates"),
        ({"channels": ["hub.x.drive_load"]}, r"channel hub.x.drive_load: found a joint that nothing drives"),
    ],
)
def test_what_no_coordinate_is_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        simulate(plate(), 1e-3, 1e-3, **options)


def test_one_coordinate_is_driven_and_another_sprung_and_rubbed() -> None:
    """A driven slide, friction on the angle: the work of the driver balances, and its load is what the rest needs."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("disc", mass=2.0, inertia=(0.1, 0.1, 0.1))
    a.joint("hub", "cylindrical", child="disc", axis="z", initial_velocity={"angle": 3.0})
    a.restraint("rub", "friction", joint="hub.angle", coefficients=[[0.2]])
    a.driver("lift", "polynomial", joint="hub.slide", coefficients=[0.0, 0.0, 0.5])
    assert load(to_dict(builder.build())) == builder.build()
    channels = ["hub.angle.v", "hub.slide", "hub.slide.drive_load"]
    found = simulate(builder.build(), 0.5, 1e-3, channels=channels, output_step=0.1)
    assert np.abs(found.channels["hub.angle.v"] - (3.0 - 2.0 * found.time)).max() < 1e-12  # torque over inertia
    assert np.abs(found.channels["hub.slide"] - 0.5 * found.time**2).max() < 1e-12
    assert (
        np.abs(found.channels["hub.slide.drive_load"] - 2.0).max() < 1e-12
        and found.units["hub.slide.drive_load"] == "N"
    )
    assert found.certificate["energy_error"] < 1e-12


def test_a_driven_coordinate_in_a_batch_of_speeds() -> None:
    """`drive=` of one coordinate, an array of speeds; the law of a Hooke joint: tan out = tan in cos(tilt)."""
    found = simulate(shafts(), 0.2, 1e-3, channels=["pivot.q", "bearing.q", "hub.second"], output_step=0.05)
    law = np.arctan2(np.sin(found.channels["pivot.q"]), np.cos(found.channels["pivot.q"]) * math.cos(TILT))
    other = np.arctan2(np.sin(found.channels["pivot.q"]) * math.cos(TILT), np.cos(found.channels["pivot.q"]))
    assert min(np.abs(found.channels["bearing.q"] - way).max() for way in (law, other)) < 1e-12
    driven = simulate(
        bar(), 0.1, 1e-3, drive={"hub.slide": np.array([0.0, 0.2])}, channels=["hub.slide"], output_step=0.1
    )
    assert np.abs(driven.channels["hub.slide"][:, -1] - [0.0, 0.02]).max() < 1e-12


def test_commands_and_studies_name_a_coordinate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--drive`, `--set`, `--vary` and `--channel` of one, and the same words in the file of a study."""
    save(bar(), tmp_path / "bar.json")
    words = ["run", str(tmp_path / "bar.json"), "--span", "0.1", "--drive", "hub.slide=0.2", "--channel", "hub.slide"]
    assert main([*words, "--set", "hub.initial_displacement.slide=20mm", "--json"]) == 0
    driven = json.loads(capsys.readouterr().out)["channels"]["hub.slide"]
    assert driven[-1] == pytest.approx(0.04, abs=1e-12), "20 mm, and 0.2 m/s for a tenth of a second"
    file = tmp_path / "study.toml"
    file.write_text(
        'model = "bar.json"\nspan = 0.1\nkeep = "none"\n[drive]\n"hub.slide" = 0.2\n[vary]\n'
        '"hub.initial_displacement.slide" = [0.0, 0.02]\n[metrics]\nend = "final(hub.slide)"\n'
    )
    assert main(["sweep", str(file), "--out", str(tmp_path / "study.zarr")]) == 0
    rows = Study(tmp_path / "study.zarr").xarray["members"].to_dataset()
    assert rows["end"].values == pytest.approx([0.02, 0.04], abs=1e-12)
    file.write_text(file.read_text().replace("[vary]", "[switch]\nhub_slide_drive = [true, false]\n[vary]"))
    assert main(["sweep", str(file), "--out", str(tmp_path / "switched.zarr")]) == 0
    switched = Study(tmp_path / "switched.zarr").xarray["members"].to_dataset()["end"].values
    assert switched[:2].tolist() == rows["end"].values.tolist() and (abs(switched[2:] - switched[:2]) > 1e-3).all()
    capsys.readouterr()
    assert main(["run", str(tmp_path / "bar.json"), "--span", "0.1", "--drive", "hub=0.2"]) == 2
    assert "found a joint of 2 coordinates" in capsys.readouterr().err


def test_one_coordinate_is_held_and_varied() -> None:
    """A varied start of the slide keeps it, and the angle follows; the batch is what one by one gives."""
    vary = {"hub.initial_displacement.slide": [0.0, 0.03, -0.05]}
    run = lambda **more: simulate(bar(), 0.1, 1e-3, channels=["hub.q", "pivot.q"], output_step=0.1, **more)  # noqa: E731
    batch = run(vary=vary)
    assert (batch.status == 0).all()
    assert np.abs(batch.channels["hub.q"][:, 0, 1] - vary["hub.initial_displacement.slide"]).max() < 1e-12
    for k, value in enumerate(vary["hub.initial_displacement.slide"]):
        single = run(assign={"hub.initial_displacement.slide": value})
        assert np.abs(batch.channels["hub.q"][k] - single.channels["hub.q"]).max() < 1e-10
    assert run(hold=["hub.slide", "pivot"]).status == 0


def test_a_stated_coordinate_that_cannot_be_kept_is_named() -> None:
    """The loop leaves the plate's place to the crank: what is stated of x is too much, and the note names it."""
    model = load(to_dict(plate().replace({"hub.initial_displacement.x": 0.15})))
    found = simulate(model, 1e-3, 1e-3)
    assert found.status == Outcome.start_changed
    assert "a:hub.x starts at 0.191067298 m instead of 0.15" in found.messages[0]
    assert "the stated displacement of a:hub.x could not be kept" in found.notes[0]

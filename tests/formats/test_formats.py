"""Reader of the three dialects and writer of one (features S34-S41, S43-S52)."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import dumps, load, save, to_dict
from shiftjax.formats.schema import schema
from shiftjax.formats.values.entry import keys_of
from shiftjax.mechanism.model import Frame, FrameRef, Inertia, Placement, RunSettings
from shiftjax.mechanism.scene_fields import GEOMETRIES
from shiftjax.models import names
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from shiftjax.run.verdict import verdict
from tests.support.models.documents import PAIR, SI, A, edited, everything, new, old, shapes, spring

STABILISED = (
    "model_parameters: omega_n: not used, constraints need no stabilisation here: every step ends with closed loops",
)


def test_s52_two_generations_say_the_same() -> None:
    assert load(old()) == load(new())
    assert load(old()).warnings == load(new()).warnings == STABILISED


def test_s51_s52_round_trip_is_exact(tmp_path: Path) -> None:
    for document in (old(), new()):
        model = load(document)
        save(model, tmp_path / "m.json")
        again = load(tmp_path / "m.json")
        assert again == model
        assert again.version == "2.0"
        assert (tmp_path / "m.json").read_text() == dumps(to_dict(again))


def test_s34_written_files_are_strict_ascii_json(tmp_path: Path) -> None:
    document = edited(f"{A}.bodies.0.name", "Größe")
    document["assemblies"][0]["joints"] = []
    save(load(document), tmp_path / "m.json")
    text = (tmp_path / "m.json").read_bytes().decode("ascii")
    assert json.loads(text)["assemblies"][0]["bodies"][0]["name"] == "Größe"


def test_s34_schema_is_published_and_holds_what_we_write() -> None:
    definitions = schema()["$defs"]
    for name, kind in (("assembly", "an assembly"), ("body", "a body"), ("joint", "a joint")):
        assert set(definitions[name]["properties"]) <= keys_of(kind)
    for kind in ("light", "terrain", "restraint"):
        assert set(definitions[kind]["properties"]) <= keys_of(f"a {kind}")
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema())
    document = everything()
    validator.validate(json.loads(dumps(to_dict(load(document)))))
    document["assemblies"][0]["bodies"][0]["weight"] = 1
    assert not validator.is_valid(document)


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: shape["type"])
def test_d13_schema_holds_each_shape_with_its_own_keys(shape: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator({"$ref": "#/$defs/geometry", "$defs": schema()["$defs"]})
    validator.validate(shape)
    foreign = {"size": [1, 2, 3], "points": [[0, 0, 0], [1, 0, 0]], "filename": ["a"]}
    for key in foreign.keys() - shape.keys():
        assert not validator.is_valid(shape | {key: foreign[key]}), key
    own = {field.key for field in GEOMETRIES[shape["type"]] if field.required}
    assert not any(validator.is_valid({key: shape[key] for key in shape if key != left}) for left in own)


def test_d13_shapes_are_in_metres_and_radians() -> None:
    """Lengths in mm, angles in degrees; matrices and colours have no unit."""
    units = {"angle": "degrees", "length": "millimeters", "mass": "kilograms", "time": "seconds"}
    scaled = load(edited("model_parameters.units", units, everything))
    (welded,) = (body for body in scaled.assemblies[0].bodies if body.name == "welded")
    found = {shape.type: shape.options for shape in welded.geometry}
    assert set(found) == set(GEOMETRIES)
    assert found["box"]["size"] == pytest.approx((0.001, 0.002, 0.003))
    assert found["box"]["T"] == pytest.approx((0.001, 0.002, 0.003))
    assert found["box"]["rotation"] == pytest.approx((0, 0, math.radians(0.5)))
    assert found["box"]["R"] == ((0, -1, 0), (1, 0, 0), (0, 0, 1)) and found["box"]["colour"] == (0, 0.5, 1, 0.5)
    assert found["multisphere"]["spheres"][1] == pytest.approx((0, 0, 0.001, 0.0005))
    assert (found["cone"]["radius"], found["cone"]["length"]) == pytest.approx((0.0005, 0.002))
    assert found["line"]["points"][1] == pytest.approx((0.001, 0, 0))
    assert load(to_dict(scaled)) == scaled


def test_s28_shapes_change_nothing_that_moves() -> None:
    """Geometry never affects dynamics: no number of the model, no plan and no motion knows of it."""
    bare, dressed = new(), new()
    dressed["assemblies"][0]["bodies"][0]["geometry"] = shapes()
    models = [load(document) for document in (bare, dressed)]
    assert models[0].numbers() == models[1].numbers() and models[0] != models[1]
    assert prepare(models[0], {}).plan == prepare(models[1], {}).plan
    one, two = (simulate(model, 0.1, 0.01, channels=["elbow.q"]).channels["elbow.q"] for model in models)
    assert np.array_equal(one, two) and np.ptp(one) > 0


def test_s51_round_trip_of_every_element(tmp_path: Path) -> None:
    model = load(everything())
    save(model, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again == model
    assert again.numbers() == model.numbers()
    assert again.matrices() == model.matrices()
    assert hash(again) == hash(model)


def test_s35_fixed_holds_frames_and_lights_only() -> None:
    document = old()
    document["fixed"]["bodies"] = []
    with pytest.raises(ModelError, match=r"fixed: found unknown key 'bodies' in fixed"):
        load(document)
    bare = load({"model_parameters": {"version": "0.2", "gravity": [0, 0, 1]}, "assemblies": []})
    assert bare.frames == ()
    assert bare.resolve("fixed:origin.position") == "fixed:origin.position"


def test_s36_origin_is_implicit_and_reserved() -> None:
    assert load(new()).assemblies[0].joints[0].child == FrameRef("pendulum:link1", "origin")
    with pytest.raises(ModelError, match=r"'origin' is reserved"):
        load(edited(f"{A}.bodies.0.frames.0.name", "origin"))


def test_s37_d14_bodies_without_mass_are_massless_and_both_notations_agree() -> None:
    bodies = dict(load(edited(f"{A}.bodies.2", {"name": "1"})).bodies())
    assert bodies["pendulum:1"].mass == 0.0
    assert bodies["pendulum:1"].inertia == Inertia()
    assert bodies["pendulum:link1"].inertia.matrix[2][2] == 0.002
    document = old()
    body = document["assemblies"][0]["bodies"][0]
    body["moment_of_inertia"]["mass"] = body.pop("mass")
    model = load(document)
    assert model == load(old())
    assert any("inside 'moment_of_inertia'" in warning for warning in model.warnings)


def test_s37_inertia_that_is_not_physical_is_a_warning_by_name() -> None:
    model = load(edited(f"{A}.bodies.0.inertia", {"mass": 1, "Ixx": 1, "Iyy": 1, "Izz": 3}))
    assert any("no body has the inertia of 'link1'" in warning for warning in model.warnings)
    flat = load(edited(f"{A}.bodies.0.inertia", {"mass": 1, "Ixx": 1, "Iyy": 2, "Izz": 3.0001}))  # a rounded plate
    assert flat.warnings == STABILISED


def test_s38_rotations_are_made_orthonormal_or_refused() -> None:
    c, s = math.cos(0.4), math.sin(0.4)
    exact = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
    model = load(edited("frames.0.R", exact))
    assert model.frames[0].R == tuple(map(tuple, exact))  # digit for digit
    rough = [[round(x, 6) for x in row] for row in exact]
    R = load(edited("frames.0.R", rough)).frames[0].R
    for i in range(3):
        for j in range(3):
            assert abs(sum(R[k][i] * R[k][j] for k in range(3)) - (i == j)) < 1e-15
            assert abs(R[i][j] - exact[i][j]) < 2e-6
    for bad in (
        [[1, 0, 0], [0, 1, 0], [0, 0, -1]],
        [[1, 0, 0], [0, 1, 3e-5], [0, 0, 1]],
        [[0] * 3] * 3,
        [[1e200] * 3] * 3,
    ):
        with pytest.raises(ModelError, match=r"frames\[0\] \(attachment\).R: found .*rotation matrix"):
            load(edited("frames.0.R", bad))
    for bad in ([1, 2, 3], [[1, 0, 0]], "I", [[1, 0], [0, 1], [0, 0]]):
        with pytest.raises(ModelError, match="R"):
            load(edited("frames.0.R", bad))


def test_s39_axes_and_placements() -> None:
    joint = {"name": "j", "type": "revolute", "parent": [["link1"], "distal"], "child": [["link2"], "origin"]}
    for written, axis in (("y", (0, 1, 0)), ([1, 2, 2], (1, 2, 2))):
        assert load(edited(f"{A}.joints.1", {**joint, "axis": written})).assemblies[0].joints[1].axis == axis
    model = load(edited(f"{A}.joints.1", {**joint, "aixs": "x"}))
    assert model.assemblies[0].joints[1].axis == (1, 0, 0)
    assert any("'aixs' read as 'axis'" in warning for warning in model.warnings)
    found = load(everything()).assemblies[0].joints
    assert found[3].initial_displacement == Placement((1.0, 2.0, 3.0), rotation=(0.1, 0.0, 0.0))
    assert found[4].initial_velocity == ()
    zero = edited(f"{A}.joints.1", {**joint, "type": "spherical", "initial_displacement": 0, "initial_velocity": 0})
    assert load(zero).assemblies[0].joints[1].initial_velocity == (0.0, 0.0, 0.0)


def test_s40_s41_restraints_are_read_in_every_spelling() -> None:
    document = spring(body_frame_pair=PAIR, distance_type="Tz", knot_points=[0], coefficients=[[2, 0.5, 0], [0]])
    (found,) = load(document).assemblies[0].restraints
    assert found.coefficients == ((2.0, 0.5, 0.0), (0.0,))
    assert found.frames == (FrameRef("fixed", "attachment"), FrameRef("pendulum:link1", "distal"))
    assembly = document["assemblies"][0]
    assembly["restraint"] = assembly.pop("restraints")[0]  # the documents' own example: singular, and without a name
    del assembly["restraint"]["name"]
    model = load(document)
    assert model.assemblies[0].restraints[0].coefficients == found.coefficients
    assert any("'restraint' read as 'restraints'" in warning for warning in model.warnings)
    assert any("without a name is called 'restraint_1'" in warning for warning in model.warnings)
    assert dict(load(spring(joint="elbow")).restraints())["pendulum:s"].joint == "pendulum:elbow"


def test_s42_force_modules_are_kept_and_reported() -> None:
    model = load(everything())
    assert [module.type for module in model.assemblies[0].force_modules] == ["fiala_tyre", "joint_speed_pid"]
    document = edited(f"{A}.force_modules", [{"type": "aero", "name": "wing"}])
    with pytest.raises(
        ModelError, match=r"force_modules\[0\] \(wing\).type: found 'aero'; allowed: one of .*pid, .*tire"
    ):
        load(document)


def test_contact_of_terrain_is_reported() -> None:
    document = old()
    document["fixed"]["terrain"] = [{"name": "hill", "parent": ["fixed", "attachment"], "definition": "a.tif"}]
    document["model_parameters"]["simulation"]["contact_detection"] = True
    assert load(document).unsupported() == (("terrain:hill", "terrain contact"),)
    assert load(document).terrain[0].options["elevation_map"] == "a.tif"


def test_contact_without_terrain_is_told() -> None:
    document = old()
    document["model_parameters"]["simulation"]["contact_detection"] = True
    assert any("contacts are not simulated" in line for line in verdict(load(document))["notes"])


def test_a_logger_with_a_flag_for_its_time_stamp_is_kept(tmp_path: Path) -> None:
    document = new()
    document["model_parameters"]["loggers"] = [{"type": "csv", "csv_logfile": "a.csv", "timestamp_logfile": True}]
    model = load(document)
    save(model, tmp_path / "again.json")
    assert load(tmp_path / "again.json").settings.loggers[0]["timestamp_logfile"] is True


def test_s43_a_thousand_nested_assemblies_load_and_round_trip(tmp_path: Path) -> None:
    document = new()
    document["assemblies"][0]["joints"].pop()  # one end is a full path, which changes below
    for k in range(1000):
        document["assemblies"] = [{"name": f"level{k}", "assemblies": document["assemblies"]}]
    model = load(document)
    (path, _), *_ = model.bodies()
    assert path.count(":") == 1001
    assert model.resolve("link1.mass") == f"{path}.mass"
    changed = model.replace({"link1.mass": 7.0})
    assert changed != model
    assert changed.numbers()[f"{path}.mass"] == 7.0
    save(model, tmp_path / "deep.json")
    again = load(tmp_path / "deep.json")
    assert again == model
    assert hash(again) == hash(model)
    assert "2 bodies" in repr(model) and "level999" in repr(model.assemblies)


def test_s44_full_paths_reach_other_assemblies_and_bare_names_do_not() -> None:
    document = new()
    document["assemblies"].append(
        {
            "name": "other",
            "bodies": [{"name": "link1"}],
            "assemblies": [
                {
                    "name": "sub",
                    "bodies": [{"name": "b"}],
                    "joints": [
                        {"name": "j", "type": "Rx", "parent": ["pendulum:link1", "distal"], "child": ["b", "origin"]},
                        {
                            "name": "k",
                            "type": "Rx",
                            "parent": "pendulum:link1:distal",
                            "child": [["other", "link1"], "origin"],
                        },
                    ],
                }
            ],
        }
    )
    joints = dict(load(document).joints())
    assert joints["other:sub:j"].parent == FrameRef("pendulum:link1", "distal")
    assert joints["other:sub:k"].parent == joints["other:sub:j"].parent
    assert joints["other:sub:k"].child == FrameRef("other:link1")
    document["assemblies"][1]["assemblies"][0]["joints"][0]["parent"] = ["link2", "origin"]
    with pytest.raises(ModelError, match=r"no body 'link2'.*There is one elsewhere: .*pendulum:link2"):
        load(document)


def test_s45_switches_at_every_level() -> None:
    document = edited(f"{A}.bodies.1.active", False)
    model = load(document)
    assert [path for path, _ in model.bodies()] == ["pendulum:link1"]
    assert model.dangling() == ("pendulum:elbow",)
    assert load(edited(f"{A}.joints.1.active", False)).dangling() == ()
    assert list(load(edited(f"{A}.active", False)).bodies()) == []
    assert load(document | {}) == load(to_dict(model))


def test_s47_units_are_converted() -> None:
    document = everything()
    del document["assemblies"][0]["restraints"][1:]
    converted = copy.deepcopy(document)
    converted["model_parameters"]["units"] = {"angle": "deg", "length": "mm", "mass": "g", "time": "ms"}
    model = load(converted)
    numbers = model.numbers()
    assert dict(model.units) == SI
    assert numbers["pendulum:link1:distal.T[2]"] == pytest.approx(0.8e-3)
    assert numbers["pendulum:link1.mass"] == pytest.approx(2e-3)
    assert numbers["pendulum:link1.inertia.Ixx"] == pytest.approx(0.11e-9)
    assert numbers["model_parameters.gravity[2]"] == pytest.approx(9.81e3)
    assert numbers["pendulum:shoulder.initial_displacement"] == pytest.approx(math.radians(1.2))
    torque = 1e-3 * 1e-6 / 1e-6  # g mm^2 / ms^2
    assert numbers["pendulum:elbow.damping[1]"] == pytest.approx(0.02 * torque / (math.radians(1) * 1e3))
    force = 1e-3 * 1e-3 / 1e-6
    assert numbers["pendulum:slide.stiffness[1]"] == pytest.approx(2 * force / 1e-3)
    assert numbers["pendulum:stop.coefficients[0][0]"] == pytest.approx(2 * force / 1e-6)
    assert numbers["pendulum:six.initial_velocity[0]"] == pytest.approx(1.0)
    assert numbers["pendulum:six.initial_velocity[5]"] == pytest.approx(6 * math.radians(1) * 1e3)
    assert model.settings.span == pytest.approx(0.01)
    assert load(to_dict(model)) == model
    with pytest.raises(ModelError, match=r"units.length: found 'parsecs'; allowed: one of centimeters"):
        load(edited("model_parameters.units.length", "parsecs"))


def test_s48_settings_of_three_generations() -> None:
    model = load(old())
    settings = model.settings
    assert (settings.span, settings.output_step, settings.infinity_norm_multiplier) == (10.0, 0.03, 1.5)
    assert settings.integration_type == "ode113b"
    assert settings.loggers[0]["csv_logfile"] == "out.csv"
    document = new()
    parameters = document["model_parameters"]
    for name in ("solver", "integrator", "logger"):
        parameters[name] = parameters.pop(f"{name}s")
    assert load(document).settings == settings
    for name in ("solver", "integrator", "logger"):
        del parameters[name]
    assert load(document).settings == RunSettings()
    assert load(document).settings.infinity_norm_multiplier == 2.0


def test_m27_a_model_without_any_mass_loads() -> None:
    document = new()
    for body in document["assemblies"][0]["bodies"]:
        del body["inertia"], body["center_of_mass"]
    assert all(body.mass == 0 for _, body in load(document).bodies())


def test_comments_and_trailing_commas_are_warnings(tmp_path: Path) -> None:
    text = json.dumps(new())
    sloppy = "// a comment\n" + text[:-1] + ",} /* another */ "
    path = tmp_path / "m.json"
    path.write_text("\ufeff" + sloppy, encoding="utf-8")
    model = load(path)
    assert model == load(new())
    assert len(model.warnings) == 3
    assert "line 1: comments" in model.warnings[1]


def test_duplicate_names_get_a_suffix_and_references_mean_the_first() -> None:
    document = old()
    for joint in document["assemblies"][0]["joints"]:
        joint["name"] = "A"
    model = load(document)
    assert [joint.name for joint in model.assemblies[0].joints] == ["A", "A_2"]
    assert any("duplicate name 'A'" in warning for warning in model.warnings)
    document["assemblies"][0]["bodies"] += [{"name": "link1"}, {"name": "link1_2"}]
    names = [body.name for body in load(document).assemblies[0].bodies]
    assert names == ["link1", "link2", "link1_3", "link1_2"]


def test_every_model_of_the_library_round_trips() -> None:
    for name in names():
        model = load(name)
        assert load(to_dict(model)) == model, name
        assert model.dangling() == (), name


def test_lights_and_frames_of_ground() -> None:
    model = load(everything())
    assert model.frames == (Frame("attachment", (0.0, 0.0, -3.0)),)
    assert [light.parent for light in model.lights] == [
        FrameRef("fixed", "attachment"),
        FrameRef("fixed", "attachment"),
        FrameRef("pendulum:link1", "distal"),
    ]
    assert model.lights[1].options["cone"] == 0.3
    assert model.terrain[0].options["scale"] == (2.0, 3.0)


def test_comments_may_have_lines() -> None:
    model = load(edited(f"{A}.comment", ["first", "second"]))
    assert model.assemblies[0].comment == "first\nsecond"

"""What a file states of posing, and what is virtual: read, written back, refused, said. M4, M5, M14, M17, M62."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.formats import dumps, load, to_dict
from shiftjax.formats.schema import schema
from shiftjax.mechanism.model import Model

EVERY: dict[str, Any] = {  # keys of a joint of one coordinate, in the order of a file
    "limits": [-1.0, None],
    "lock": True,
    "target": 0.25,
    "posture": {"value": -0.5, "weight": 2.0, "level": 4.0},
    "virtual": True,
}
OF_SEVERAL: dict[str, Any] = {
    "limits": {"angle": [None, 1.5], "slide": [-0.2, 0.3]},
    "lock": ["slide"],
    "target": {"angle": {"value": 0.1, "weight": 3.0}},
    "posture": {"slide": 0.0},
}


def document(pin: dict[str, Any], barrel: dict[str, Any] | None = None, bar: dict[str, Any] | None = None) -> Any:
    """A bar on a pin and a slider on the bar."""
    inertia = {"mass": 1.0, "Ixx": 1.0, "Iyy": 1.0, "Izz": 1.0}
    origin = {"parent": [["fixed"], "origin"], "child": [["bar"], "origin"]}
    on_bar = {"parent": [["bar"], "origin"], "child": [["slider"], "origin"]}
    return {
        "model_parameters": {"version": "2.0", "gravity": [0, 0, 9.81]},
        "parameters": {"reach": 0.4},
        "assemblies": [
            {
                "name": "a",
                "bodies": [{"name": "bar", "inertia": inertia, **(bar or {})}, {"name": "slider", "inertia": inertia}],
                "joints": [
                    {"name": "pin", "type": "Ry", **origin, **pin},
                    {"name": "barrel", "type": "cylindrical", "axis": "z", **on_bar, **(barrel or {})},
                ],
            }
        ],
    }


def joint_of(model: Model, name: str = "pin") -> dict[str, Any]:
    """A joint as the writer has it."""
    return next(one for one in to_dict(model)["assemblies"][0]["joints"] if one["name"] == name)


def test_files_keep_them_to_the_byte(tmp_path: Path) -> None:
    model = load(document(EVERY, OF_SEVERAL, {"lock": True}))
    assert {key: joint_of(model)[key] for key in EVERY} == EVERY
    assert {key: joint_of(model, "barrel")[key] for key in OF_SEVERAL} == OF_SEVERAL
    assert to_dict(model)["assemblies"][0]["bodies"][0]["lock"] is True
    jsonschema.validate(to_dict(model), schema())
    shiftjax.save(model, tmp_path / "one.json")
    again = load(tmp_path / "one.json")
    assert again == model
    shiftjax.save(again, tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_lists_are_read_in_the_order_of_coordinates_and_what_says_nothing_is_left_out() -> None:
    listed = {"limits": [None, [-0.2, 0.3]], "lock": ["slide", "angle"], "posture": [0.5, None]}
    written = joint_of(load(document({"limits": [None, None], "lock": False, "target": None}, listed)), "barrel")
    assert written["limits"] == {"slide": [-0.2, 0.3]} and written["lock"] is True
    assert written["posture"] == {"angle": 0.5}
    jsonschema.validate(document({}, listed), schema())
    for wrong in ({"limits": [1]}, {"lock": 1}, {"target": {"weight": 1}}, {"posture": {"value": 1, "weight": 0}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document(wrong), schema())
    plain = joint_of(load(document({"limits": [None, None], "lock": False, "virtual": False})))
    assert not plain.keys() & EVERY.keys()


def test_through_an_include(tmp_path: Path) -> None:
    (tmp_path / "part.json").write_text(json.dumps(document(EVERY, OF_SEVERAL, {"lock": True})))
    whole = {"model_parameters": {"version": "2.0", "gravity": [0, 0, 9.81]}}
    whole |= {"assemblies": [{"name": "left", "include": "part.json"}]}
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    model = load(tmp_path / "whole.json")
    joint, alone = dict(model.joints())["left:a:pin"], dict(load(tmp_path / "part.json").joints())["a:pin"]
    for key in EVERY:
        assert getattr(joint, key) == getattr(alone, key), key
    assert load(to_dict(model)) == model


def test_the_builder_has_the_same_words_and_units_count() -> None:
    builder = shiftjax.ModelBuilder(units={"angle": "degrees", "length": "mm"})
    rows = builder.assembly("a").body("bar", mass=1, inertia=(1, 1, 1), lock=True).body("ghost", virtual=True)
    rows.joint("pin", "Ry", child="bar", limits=(-90, 180), posture={"value": 45, "weight": 2})
    rows.joint("rail", "Tx", parent="bar", child="ghost", limits=(0, None), lock=True, target=250, virtual=True)
    model = builder.build()
    assert not model.warnings  # that a virtual body has no mass is known
    numbers = model.numbers()
    assert numbers["a:pin.limits[0]"] == pytest.approx(-1.5707963267948966, rel=1e-15)
    assert numbers["a:pin.posture.value"] == pytest.approx(0.7853981633974483, rel=1e-15)
    assert numbers["a:rail.target.value"] == 0.25 and "a:rail.limits[1]" not in numbers
    units = model.number_units()
    assert (units["a:pin.limits[1]"], units["a:rail.limits[0]"], units["a:rail.target.value"]) == ("rad", "m", "m")


def test_they_are_numbers_by_path_and_may_be_expressions() -> None:
    model = load(document({"limits": ["-reach", "2 * reach"], "posture": "reach"}, OF_SEVERAL))
    assert model.numbers()["a:pin.limits[1]"] == 0.8
    other = model.replace({"parameters.reach": 0.5, "a:barrel.limits.slide[1]": "350 mm"})
    numbers = other.numbers()
    assert (numbers["a:pin.limits[0]"], numbers["a:pin.limits[1]"], numbers["a:pin.posture.value"]) == (-0.5, 1.0, 0.5)
    assert numbers["a:barrel.limits.slide[1]"] == pytest.approx(0.35, rel=1e-15)
    jsonschema.validate(to_dict(other), schema())
    assert joint_of(other)["limits"] == ["-reach", "2.0 * reach"] and joint_of(other)["posture"] == "reach"
    assert load(to_dict(other)) == other


@pytest.mark.parametrize(
    ("pin", "barrel", "message"),
    [
        ({"limits": [1, 1]}, {}, r"pin\)\.limits: found limits 1 and 1; allowed: a lower limit below the upper one"),
        ({"limits": [1, 0]}, {}, "limits 1 and 0"),
        ({"limits": [1]}, {}, r"found 1 of them; allowed: \[low, high\], null for an end"),
        ({"limits": 1}, {}, "allowed: a list"),
        ({"limits": ["far", 1]}, {}, "far"),
        ({"lock": "yes"}, {}, "true or false"),
        ({"lock": ["q"]}, {}, "allowed: true or false, of a Ry"),
        ({"target": {"weight": 2}}, {}, r"target\.value"),
        ({"target": {"value": 1, "weight": 0}}, {}, "a weight above 0"),
        ({"target": {"value": 1, "level": "posture"}}, {}, "level"),
        ({"posture": {"value": 1, "wait": 2}}, {}, "unknown key 'wait' in a wanted value"),
        ({}, {"limits": [-1, 1]}, r"limits\[0\]: found -1; allowed: a list"),
        ({}, {"limits": {"turn": [-1, 1]}}, "'turn'"),
        ({}, {"limits": {"slide": [1, -1]}}, "limits 1 and -1"),
        ({}, {"lock": ["turn"]}, "angle, slide"),
        ({}, {"posture": 1}, "an object or a list of the coordinates angle, slide"),
        ({"type": "spherical", "limits": [0, 1]}, {}, "none for spherical: it has no coordinates of one number"),
        ({"type": "spherical", "posture": 0}, {}, "none for spherical"),
    ],
)
def test_what_cannot_be_is_refused(pin: dict[str, Any], barrel: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(document(pin, barrel))


def test_a_virtual_body_has_no_mass() -> None:
    message = r"found mass 1, Ixx 1, Iyy 1, Izz 1; allowed: a virtual body without mass and inertia"
    with pytest.raises(ModelError, match=message):
        load(document({}, None, {"virtual": True}))
    model = load(document({}, None, {"virtual": True, "inertia": None}))
    with pytest.raises(ModelError, match="a virtual body without mass"):
        model.replace({"a:bar.mass": 1.0})


def test_numbers_that_cross_are_refused_by_path_and_end_their_member_alone() -> None:
    model = load(document({"limits": [-1, 1]}))
    with pytest.raises(ModelError, match=r"a:pin\.limits\[0\]: found limits 2 and 1"):
        model.replace({"pin.limits[0]": 2.0})
    poses = shiftjax.inverse_kinematics(model, shiftjax.JointGoal("pin", 0.9), vary={"pin.limits[1]": [0.5, -2.0]})
    assert poses.q["a:pin"][0] == pytest.approx(0.5) and poses.status[1] > 0
    assert "a lower limit below the upper one" in poses.messages[1]


def test_a_start_beyond_limits_is_kept_and_said() -> None:
    model = load(document({"limits": [-1, 1], "initial_displacement": 1.5}))
    assert len(model.warnings) == 1
    assert re.search(r"pin\)\.limits: it starts at 1\.5 rad, beyond its limits", model.warnings[0])
    assert model.numbers()["a:pin.initial_displacement"] == 1.5
    assert not load(document({"limits": [-1, 1], "initial_displacement": 1})).warnings
    several = load(document({}, {"limits": {"slide": [0, 1]}, "initial_displacement": {"slide": -1}}))
    assert "slide starts at -1 m" in several.warnings[0]


def test_runs_do_not_read_them_and_say_so_once() -> None:
    plain = shiftjax.simulate(load(document({})), 0.2, channels=["pin.q", "barrel.slide.q"])
    model = load(document({**EVERY, "limits": [0.0, 0.01]}, OF_SEVERAL, {"lock": True}))
    marked = shiftjax.simulate(model, 0.2, channels=["pin.q", "barrel.slide.q"])
    assert all((plain.channels[name] == marked.channels[name]).all() for name in plain.channels)
    (note,) = [text for text in marked.notes if "for posing" in text]
    assert note.startswith("limits, lock, target and posture of a:pin, a:barrel, a:bar: for posing, no run reads them")
    assert "the force of a run is a stop" in note and not any("for posing" in text for text in plain.notes)


def test_info_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "marked.json"
    file.write_text(dumps(document(EVERY, OF_SEVERAL, {"lock": True})))
    assert main(["info", str(file)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"a:pin +rad +-1 +locked +0\.25 +-0\.5, weight 2, level 4", text)
    assert re.search(r"a:barrel\.slide +m +-0\.2 +0\.3 +locked", text) and re.search(r"a:bar +locked", text)
    assert "virtual, drawn translucent: a:pin" in text
    assert main(["info", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["virtual"] == ["a:pin"] and said["posed"][0]["limits"] == [-1.0, None]

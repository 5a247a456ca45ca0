"""Files inside files: mounting, names, and what is refused (S46, S47)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import load, save
from shiftjax.formats.sections import include
from shiftjax.mechanism.model import FrameRef
from tests.support.models.documents import new

C, S = math.cos(0.3), math.sin(0.3)
TURNED = [[C, -S, 0.0], [S, C, 0.0], [0.0, 0.0, 1.0]]


def write(path: Path, document: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def cell(*entries: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    """A file with a table on the ground and included files."""
    return {
        "model_parameters": {"version": "2.0", "gravity": [0, 0, 9.81], **parameters},
        "frames": [{"name": "corner", "T": [5, 0, 0]}],
        "assemblies": [
            {
                "name": "cell",
                "bodies": [
                    {"name": "table", "mass": 10, "frames": [{"name": "mount", "T": [1, 0, 0], "R": TURNED}]},
                ],
                "joints": [
                    {"name": "lift", "type": "Tz", "parent": [["fixed"], "corner"], "child": [["table"], "origin"]}
                ],
            },
            *entries,
        ],
    }


def test_s46_one_file_mounted_twice_gives_independent_copies(tmp_path: Path) -> None:
    write(tmp_path / "robot.json", new())
    model = load(
        write(
            tmp_path / "cell.json",
            cell(
                {"name": "robot1", "include": "robot.json"},
                {"name": "robot2", "include": "robot.json", "parent": [["cell", "table"], "mount"]},
            ),
        )
    )
    joints = dict(model.joints())
    assert joints["robot1:pendulum:shoulder"].parent == FrameRef("fixed", "robot1_attachment")
    assert joints["robot2:pendulum:shoulder"].parent == FrameRef("cell:table", "robot2_attachment")
    assert joints["robot2:pendulum:elbow"].child == FrameRef("robot2:pendulum:link1", "distal")
    assert [frame.name for frame in model.frames] == ["corner", "robot1_attachment"]
    numbers = model.replace({"robot2:pendulum:link1.mass": 9.0}).numbers()
    assert numbers["robot1:pendulum:link1.mass"] == 2.0
    assert numbers["robot2:pendulum:link1.mass"] == 9.0
    frame = dict(model.bodies())["cell:table"].frames[1]
    assert frame.T == (1.0, 0.0, -3.0)
    np.testing.assert_allclose(frame.R, TURNED, atol=1e-15)
    assert [light.name for light in model.lights] == ["robot1_lamp", "robot2_lamp"]
    assert model.lights[1].parent == FrameRef("cell:table", "robot2_attachment")
    save(model, tmp_path / "whole.json")
    assert load(tmp_path / "whole.json") == model


def test_s46_mounts_turn_positions_and_keep_names_apart(tmp_path: Path) -> None:
    robot = new()
    robot["frames"] = [{"name": "attachment", "T": [0.2, 0.1, 0], "R": TURNED, "rotation": [0, 0, 0.5]}]
    write(tmp_path / "robot.json", robot)
    document = cell({"name": "r", "include": "robot.json", "parent": [["cell", "table"], "mount"]})
    frames = document["assemblies"][0]["bodies"][0]["frames"]
    frames[0]["rotation"] = [0, 0, 0.1]
    frames.append({"name": "r_attachment"})
    model = load(write(tmp_path / "cell.json", document))
    frame = dict(model.bodies())["cell:table"].frames[2]
    assert frame.name == "r_attachment_2"
    c, s = math.cos(0.4), math.sin(0.4)
    np.testing.assert_allclose(frame.T, [1 + c * 0.2 - s * 0.1, s * 0.2 + c * 0.1, 0], atol=1e-15)
    np.testing.assert_allclose(
        frame.R, [[math.cos(0.7), -math.sin(0.7), 0], [math.sin(0.7), math.cos(0.7), 0], [0, 0, 1]], atol=1e-15
    )
    assert frame.rotation == (0.0, 0.0, 0.5)


def test_s46_includes_nest_and_their_origin_is_the_mount(tmp_path: Path) -> None:
    robot = new()
    robot["assemblies"][0]["joints"][0]["parent"] = [["fixed"], "origin"]
    write(tmp_path / "parts" / "inner" / "robot.json", robot)
    write(
        tmp_path / "parts" / "pair.json",
        cell({"name": "a", "include": "inner/robot.json", "parent": [["fixed"], "corner"]}),
    )
    document = cell({"name": "p", "include": "pair.json"}, include_directories=["nowhere", "parts"])
    document["assemblies"][0]["assemblies"] = [
        {"name": "deep", "include": "pair.json", "parent": [["table"], "mount"], "active": False}
    ]
    model = load(write(tmp_path / "top.json", document))
    assert dict(model.joints())["p:a:pendulum:shoulder"].parent == FrameRef("fixed", "p_corner")
    deep = model.assemblies[0].assemblies[0]
    assert deep.name == "deep"
    assert not any(path.startswith("cell:deep") for path, _ in model.bodies())
    inner = deep.assemblies[1].assemblies[0]
    assert inner.joints[0].parent == FrameRef("cell:table", "deep_corner")
    assert inner.joints[1].child == FrameRef("cell:deep:a:pendulum:link1", "distal")
    assert inner.bodies[0].geometry[0].filename == ("parts/inner/link.obj", "parts/inner/link.mtl")


def test_files_of_an_included_terrain_are_found_from_the_including_one(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    hill = {"name": "hill", "elevation_map": "hill.tif", "diffuse_map": "/maps/grass.png", "normal_map": None}
    write(tmp_path / "parts" / "ground.json", {**new(), "terrain": [hill]})
    model = load(write(tmp_path / "top.json", cell({"name": "g", "include": "parts/ground.json"})))
    (terrain,) = model.terrain
    assert terrain.options["elevation_map"] == "parts/hill.tif" and terrain.options["diffuse_map"] == "/maps/grass.png"


def test_s44_joints_and_restraints_reach_into_an_included_file(tmp_path: Path) -> None:
    write(tmp_path / "robot.json", new())
    document = cell({"name": "robot", "include": "robot.json"})
    document["assemblies"][0]["joints"].append(
        {"name": "grip", "type": "spherical", "parent": [["table"], "mount"]}
        | {"child": [["robot", "pendulum", "link2"], "origin"]}
    )
    document["assemblies"][0]["restraints"] = [
        {"name": "s", "type": "spring", "joint": "robot:pendulum:elbow", "coefficients": [[1, 0]]}
    ]
    model = load(write(tmp_path / "cell.json", document))
    assert dict(model.joints())["cell:grip"].child == FrameRef("robot:pendulum:link2")
    assert dict(model.restraints())["cell:s"].joint == "robot:pendulum:elbow"


def test_gravity_and_integrators_of_included_files_are_not_used(tmp_path: Path) -> None:
    robot = new()
    robot["model_parameters"]["gravity"] = [0, 0, 1]
    write(tmp_path / "robot.json", robot)
    model = load(write(tmp_path / "cell.json", cell({"name": "r", "include": "robot.json"})))
    assert model.gravity == (0.0, 0.0, 9.81)
    assert any("gravity of robot.json is not used" in warning for warning in model.warnings)
    assert any("integrator blocks of robot.json are not used" in warning for warning in model.warnings)
    assert not model.settings.integrators


def test_a_dict_may_include_files(tmp_path: Path) -> None:
    write(tmp_path / "robot.json", new())
    document = cell({"name": "r", "include": "robot.json"})
    assert "r:pendulum:link1" in dict(load(document, folder=tmp_path).bodies())


def test_s47_differing_units_are_refused(tmp_path: Path) -> None:
    robot = new()
    robot["model_parameters"]["units"]["length"] = "millimeters"
    write(tmp_path / "robot.json", robot)
    with pytest.raises(ModelError, match=r"include: found a file in radians, millimeters"):
        load(write(tmp_path / "cell.json", cell({"name": "r", "include": "robot.json"})))


def test_cycles_of_includes_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", cell({"name": "b", "include": "b.json"}))
    write(tmp_path / "b.json", cell({"name": "a", "include": "a.json"}))
    with pytest.raises(ModelError, match=r"the chain a.json -> b.json -> a.json; allowed: includes without a cycle"):
        load(tmp_path / "a.json")
    write(tmp_path / "self.json", cell({"name": "me", "include": "self.json"}))
    with pytest.raises(ModelError, match=r"the chain self.json -> self.json"):
        load(tmp_path / "self.json")


def test_an_explosion_of_includes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file includes the one before twice: two to the thirtieth empty assemblies."""
    monkeypatch.setattr(include, "MAX_ELEMENTS", 3000)  # the true limit takes ten seconds to reach
    empty = {"model_parameters": {"version": "2.0", "gravity": [0, 0, 1]}}
    write(tmp_path / "0.json", {**empty, "assemblies": [{"name": "a"}]})
    for k in range(1, 31):
        entries = [{"name": name, "include": f"{k - 1}.json"} for name in "ab"]
        write(tmp_path / f"{k}.json", {**empty, "assemblies": entries})
    with pytest.raises(ModelError, match="more than that; allowed: at most 3000 elements"):
        load(tmp_path / "30.json")


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd", "missing.json", "", "a\0b", "x/../../secret.json"])
def test_includes_stay_in_their_folders(name: str, tmp_path: Path) -> None:
    write(tmp_path / "secret.json", new())
    with pytest.raises(ModelError, match="include: found"):
        load(write(tmp_path / "in" / "cell.json", cell({"name": "r", "include": name})))


def test_other_mistakes_with_includes(tmp_path: Path) -> None:
    write(tmp_path / "robot.json", new())
    with pytest.raises(ModelError, match="'bodies' beside it; allowed: 'include' alone"):
        load(cell({"name": "r", "include": "robot.json", "bodies": [{"name": "b"}]}), folder=tmp_path)
    with pytest.raises(ModelError, match="its own body r:pendulum:link1"):
        parent = [["r", "pendulum", "link1"], "distal"]
        load(cell({"name": "r", "include": "robot.json", "parent": parent}), folder=tmp_path)
    with pytest.raises(ModelError, match=r"parent\[0\]: found no body 'cell:tabel'.*Did you mean 'cell:table'"):
        load(cell({"name": "r", "include": "robot.json", "parent": [["cell", "tabel"], "x"]}), folder=tmp_path)
    bad = new()
    bad["assemblies"][0]["bodies"][0]["inertia"]["mass"] = "heavy"
    write(tmp_path / "robot.json", bad)
    with pytest.raises(
        ModelError, match=r"robot.json: assemblies\[0\] \(pendulum\).bodies\[0\] \(link1\).inertia.mass"
    ):
        load(cell({"name": "r", "include": "robot.json"}), folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", '{"password": "hunter2"}'), ("b.json", "token: hunter2"), ("c.txt", "hunter2")]
)
def test_files_elsewhere_that_are_no_models_are_not_quoted(tmp_path: Path, name: str, text: str) -> None:
    """A model that somebody sends may lead to any file, and its error to whoever reads the message."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / name).write_text(text)
    document = cell({"name": "p", "include": name}, include_directories=["../elsewhere"])
    (tmp_path / "here").mkdir()
    for source in (write(tmp_path / "here" / "top.json", document), document):
        with pytest.raises(ModelError, match="a file that is no model") as error:
            load(source, None if isinstance(source, Path) else tmp_path / "here")
        assert "hunter2" not in str(error.value) and "password" not in str(error.value)
        assert error.value.__suppress_context__ or error.value.__context__ is None


def test_models_elsewhere_are_included(tmp_path: Path) -> None:
    """A folder of parts beside the project."""
    write(tmp_path / "parts" / "robot.json", new())
    document = cell({"name": "p", "include": "robot.json"}, include_directories=["../parts"])
    assert dict(load(write(tmp_path / "project" / "top.json", document)).bodies())

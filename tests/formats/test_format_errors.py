"""Bad input of the reader: one ModelError each, with the place, what was found, what is allowed, what to do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import dumps, load, save
from shiftjax.formats.jsonc import parse
from shiftjax.mechanism.model import Model
from tests.support.models.documents import PAIR, A, edited, spring


def drawn(geometry: Any) -> dict[str, Any]:
    return edited(f"{A}.bodies.0.geometry", [geometry])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (edited(f"{A}.bodies.0.masss", 1), "unknown key 'masss' in a body.*Did you mean 'mass'"),
        (edited("model_parameters.gravty", 1), "unknown key 'gravty' in model_parameters.*Did you mean 'gravity'"),
        (edited("bodies", []), "unknown key 'bodies' in the root"),
        (edited(f"{A}.bodies.0.com", [0, 0, 0]), "unknown key 'com' in a body.*Here it is called 'center_of_mass'"),
        (edited(f"{A}.joints.0.type", "hinge"), "type: found 'hinge'.*Here it is called 'revolute'"),
        (
            edited(
                f"{A}.restraints", [{"name": "s", "type": "spring", "body_frame_pair": PAIR, "coefficients": [1, 0]}]
            ),
            r"coefficients: found 1 in it; allowed: a list of lists, one for each piece. Write \[\[k, c\]\]",
        ),
        (
            edited(f"{A}.restraints", [{"name": "s", "type": "spring", "frames": [], "coefficients": [[1, 0]]}]),
            "unknown key 'frames' in a restraint.*In a file its key is 'body_frame_pair'",
        ),
        (edited("model_parameters", None), "model_parameters: found nothing"),
        (edited("model_parameters.version", "3.0"), "version: found '3.0'; allowed: one of 0.2"),
        (edited("model_parameters.gravity", [0, 0]), "gravity: found .*a list of 3 numbers"),
        (edited("model_parameters.gravity", [0, 0, math.nan]), r"gravity\[2\]: found nan; allowed: a finite number"),
        (edited("model_parameters.gravity", [0, 0, True]), r"gravity\[2\]: found True; allowed: one number"),
        (edited("assemblies", {}), "assemblies: found {}; allowed: a list"),
        (edited(f"{A}.name", None), r"name: found nothing; allowed: a string"),
        (edited(f"{A}.name", "a:b"), "without ':'"),
        (edited(f"{A}.bodies.0.name", "a`b"), "without ':' and '`'"),
        (edited(f"{A}.bodies.0.name", ""), "1 to 200 printable characters"),
        (edited(f"{A}.bodies.0.name", "fixed"), "'fixed' is reserved"),
        (edited(f"{A}.active", 1), r"active: found 1; allowed: true or false"),
        (edited(f"{A}.parent", [["fixed"], "origin"]), "it with 'include' only"),
        (edited(f"{A}.bodies.0.mass", 1), "mass 1 beside and 2 inside 'inertia'"),
        (edited(f"{A}.bodies.0.moment_of_inertia", {}), "both 'inertia' and 'moment_of_inertia'"),
        (edited(f"{A}.bodies.1", {"name": "link2", "mass": -1}), "mass -1; allowed: a mass of 0 or more"),
        (edited(f"{A}.bodies.0.center_of_mass", "x"), "center_of_mass: found 'x'; allowed: a list"),
        (edited(f"{A}.bodies.0.definition", ["a.obj"]), "both 'definition' and 'geometry'"),
        (drawn("box"), r"geometry\[0\]: found 'box'; allowed: an object \(a geometry\)"),
        (
            drawn({"type": "Box", "size": [1, 2, 3]}),
            "type: found 'Box'; allowed: one of arrow, box.*Did you mean 'box'",
        ),
        (drawn({"type": "box", "sizes": [1, 2, 3]}), "unknown key 'sizes' in a geometry of type box.*'size'"),
        (drawn({"type": "box", "filename": "a.obj"}), "unknown key 'filename' in a geometry of type box"),
        (drawn({"size": [1, 2, 3]}), "a type, one of mesh, box.*or the filename of a mesh"),
        (drawn({"size": [1, 2, 3], "filename": "a.obj"}), "unknown key 'size' in a geometry of type mesh"),
        (drawn({"type": "plane", "size": [1, 2, 3]}), "size: found .*; allowed: a list of 2 numbers"),
        (drawn({"type": "ellipsoid", "radii": [1, 0, 3]}), "radii: found .*; allowed: lengths above 0"),
        (drawn({"type": "cone", "radius": 1}), "length: found nothing; allowed: one number"),
        (drawn({"type": "sphere", "radius": 1, "R": [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}), "a rotation matrix"),
        (drawn({"type": "sphere", "radius": 1, "colour": [1, 0]}), "colour: found .*; allowed: 3 or 4 numbers from 0"),
        (drawn({"type": "line", "points": [[0, 0, 0]]}), "points: found 1 of them; allowed: 2 or more lists of 3"),
        (drawn({"type": "point_cloud", "points": []}), "points: found 0 of them; allowed: 1 or more lists of 3"),
        (drawn({"type": "multisphere", "spheres": [[0, 0, 0, -1]]}), "radii above 0"),
        (edited(f"{A}.joints.0.type", "rx"), "type: found 'rx'; allowed: one of .*Did you mean 'Rx'"),
        (edited(f"{A}.joints.0.type", "revolute"), "axis: found none; allowed: an axis for revolute"),
        (edited(f"{A}.joints.0.axis", "y"), "axis: found 'y'; allowed: no axis for Rx"),
        (edited(f"{A}.joints.0.initial_displacement", {"T": [0, 0, 0]}), "initial_displacement: found .*one number"),
        (edited(f"{A}.joints.0.type", "float"), "initial_displacement: found 1.2; allowed: an object"),
        (edited(f"{A}.joints.0.stiffness", 3), "a list of ascending coefficients"),
        (edited(f"{A}.joints.0.damping_coefficients", [1]) | {}, None),
        (edited(f"{A}.joints.1.damping_coefficients", [1]), "both 'damping' and 'damping_coefficients'"),
        (edited(f"{A}.joints.0.child", [["link9"], "origin"]), "no body 'link9'.*Did you mean 'link"),
        (edited(f"{A}.joints.0.child", [["link1"], "dista"]), "found 'dista'; allowed: a frame of pendulum:link1"),
        (edited(f"{A}.joints.0.child", [["nowhere", "link1"], "distal"]), "no body 'nowhere:link1'"),
        (edited(f"{A}.joints.0.child", "link1"), r'allowed: \[\["assembly", "body"\], "frame"\]'),
        (edited(f"{A}.joints.0.child", None), "found no 'child'"),
        (edited(f"{A}.joints.0.child", [["fixed"], "attachment"]), "found both ends on ground"),
        (edited(f"{A}.joints.1.parent", [["link1"], "origin"]), "found both ends on body pendulum:link1"),
        (edited(f"{A}.joints.0.body_frame_pairs", PAIR), "both 'body_frame_pairs' and 'parent', 'child'"),
        (spring(), "neither 'joint' nor 'body_frame_pair'"),
        (spring(joint="elbow", body_frame_pair=PAIR), "both 'joint' and 'body_frame_pair'"),
        (spring(joint="elbo"), "no joint 'elbo'.*Did you mean 'elbow'"),
        (spring(joint="elbow", distance_type="Tx"), "distance_type: found 'Tx'; allowed: none"),
        (spring(body_frame_pair=PAIR, distance_type="Rx"), "distance_type: found 'Rx'; allowed: one of Tx, Ty, Tz"),
        (spring(body_frame_pair=PAIR, knot_points=[0]), "found 1 lists of coefficients; allowed: 2 lists for 1 knots"),
        (spring(joint="elbow", knot_points=[1, 0], coefficients=[[1], [2], [3]]), "increasing numbers"),
        (spring(joint="elbow", coefficients=[[]]), "at least one coefficient"),
        (edited("frames.0.T", None) | {"fixed": {"frames": []}}, "both in 'fixed' and at the root"),
        (edited("lights.0.type", "laser"), "one of directional, point, spot"),
        (edited("lights.0.parent", "attachmnt"), "found 'attachmnt'; allowed: a frame of fixed"),
        (edited("model_parameters.integrators.0.time_step", 0), "time_step: found 0; allowed: a positive number"),
        (edited("terrain", [{"name": "t", "type": {"a": [[math.inf]]}}]), "finite numbers"),
    ],
)
def test_bad_documents_give_one_error(document: dict[str, Any], message: str | None) -> None:
    if message is None:
        load(document)
    else:
        with pytest.raises(ModelError, match=message):
            load(document)


@pytest.mark.parametrize("type_", ["spherical", "float", "rigid"])
def test_a_spring_of_the_wrong_joint_kind_is_refused(type_: str) -> None:
    joint = {"name": "j", "type": type_, "parent": [["link1"], "distal"], "child": [["link2"], "origin"]}
    with pytest.raises(ModelError, match=rf"stiffness: found .*; allowed: none for {type_}"):
        load(edited(f"{A}.joints.1", {**joint, "stiffness": [0, 1]}))
    document = edited(f"{A}.joints.1", joint)
    document["assemblies"][0]["restraints"] = spring(joint="j")["assemblies"][0]["restraints"]
    with pytest.raises(ModelError, match=f"spring on joint pendulum:j of type {type_}"):
        load(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found the end of the text; allowed: a value"),
        ('{"a": 1', "found the end of the text"),
        ('{"a": NaN}', "line 1, column 7: found 'NaN'"),
        ('{"a": -Infinity}', "found '-Infinity'"),
        ('{"a": 1e999}', "found 1e999; allowed: numbers below"),
        ('{"a": 01}', "allowed: ',' or a closing bracket"),
        ('{"a" 1}', "found '1'; allowed: ':'"),
        ("{a: 1}", "found 'a'; allowed: a key in double quotes or '}'"),
        ('{"a": 1]', "found ']'"),
        ("{}\n {}", "line 2, column 2: found '{'; allowed: nothing after"),
        ('["\\x"]', "the escapes of JSON"),
        ("[1,,2]", "found ','; allowed: a value"),
        ("[,]", "found ','"),
        ("/* open", "allowed: a value"),
        ('"open', "allowed: a value"),
        ("[" * 1_000_000, "brackets nested 4200 deep"),
        ('{"a":' * 1_000_000, "brackets nested 4200 deep"),
        ("[" + "1," * 500_001, "more than 500000 values"),
        ("[" * 4000 + "]" * 4000, "found .*an object"),
        ("\x00" * 100, "found "),
    ],
)
def test_bad_text_gives_one_error_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ModelError, match=message):
        load(path)


def test_numbers_read_back_exactly() -> None:
    values = [0.1, -0.0, 1e-300, 5e-324, 1.7976931348623157e308, 12345678901234567, 3]
    assert parse(dumps(values), "x")[0] == values


def test_fifty_megabytes_of_garbage_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(ModelError, match="found 50000000 bytes; allowed: at most"):
        load(path)
    path.write_bytes(b"\xff\xfe" * 100)
    with pytest.raises(ModelError, match="no UTF-8"):
        load(path)


def test_sources_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no such file.*Did you mean 'four_bar.json'"):
        (tmp_path / "four_bar.json").write_text("{}")
        load(tmp_path / "four_baar.json")
    with pytest.raises(ModelError, match=r"no model of this name.*Did you mean 'four_bar'"):
        load("four_baar")
    with pytest.raises(ModelError, match="something that is no file"):
        load(tmp_path)
    with pytest.raises(ModelError, match="a library name, a path or a dict"):
        load(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match=r"a place that can be written. Check it"):
        save(Model(), tmp_path / "nowhere" / "m.json")
    for text in ("", "a\0b", "x" * 10_000, "/nowhere/m.json"):
        with pytest.raises(ModelError):
            load(text)


def test_polynomials_stay_small_and_finite() -> None:
    with pytest.raises(ModelError, match="51 coefficients; allowed: at most 50"):
        load(edited(f"{A}.joints.0.stiffness", [0] * 51))
    document = edited(f"{A}.joints.0.stiffness", [0, 1e308])
    document["model_parameters"]["units"]["angle"] = "degrees"
    with pytest.raises(ModelError, match="numbers that are finite in SI units"):
        load(document)


def test_a_list_in_place_of_an_object_is_told_its_keys() -> None:
    """As of moments of inertia that somebody writes as [Ixx, Iyy, Izz]."""
    body = {"name": "rod", "inertia": [0.1, 0.1, 0.01]}
    with pytest.raises(ModelError, match=r"an object \(an inertia\)\. Write { \.\.\. }, of the keys .*Ixx"):
        load({"model_parameters": {"version": "2.0"}, "assemblies": [{"name": "a", "bodies": [body]}]})


def test_the_root_of_a_file_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"name": "x"}')
    with pytest.raises(ModelError, match=r"^x\.json: found unknown key 'name'"):
        load(tmp_path / "x.json")

"""Parameters and points of a file: expressions, units, bounds, what follows, writing, includes."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import shiftjax
from shiftjax import Model, ModelError
from shiftjax.cli import main
from shiftjax.formats.examples import EXAMPLES, SEVERAL
from shiftjax.formats.schema import schema
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.drawn import drawn
from tests.formats.test_format_reference import whole_file
from tests.support.models.named_four_bar import FOLLOWING, PARAMETERS, document, named, with_crank, written_out

ROUNDED = 1e-15  # of lengths of this size, turned forth and back
MODEL = named()
MASS, TIP, CENTER = FOLLOWING[1:]


def edited(**changes: Any) -> dict[str, Any]:
    """The file with other parameters."""
    return with_crank("density * L", "middle", "L", parameters={**copy.deepcopy(PARAMETERS), **changes})


def test_numbers_are_those_of_their_expressions() -> None:
    numbers = MODEL.numbers()
    plain = written_out(0.2).numbers()
    assert {path: numbers[path] for path in plain} == plain
    assert numbers["parameters.L"] == 0.2 and numbers["parameters.middle"] == 0.1
    described = MODEL.described()["parameters.density"]
    assert (described.unit, described.value) == ("kg/m", 2.5)


def test_what_follows_is_replaced_with_what_it_follows_from() -> None:
    longer = MODEL.replace({"L": "250 mm"})
    plain = written_out(0.25).numbers()
    numbers = longer.numbers()
    assert {path: numbers[path] for path in plain} == plain
    assert longer.replaced == ("parameters.L", *FOLLOWING)
    assert longer.replace({"L": 0.2}) == MODEL, "no trace is left of what was"
    assert MODEL.replace({"L": 0.25, MASS: numbers[MASS]}) == longer, "what follows may be given, as a result has it"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"L": 0.5}, r"parameters\.L: found L 0\.5; allowed: a L of 0\.1 or more and 0\.3 or less"),
        ({"crank.mass": 1.0}, r"crank\.mass: found a value for what follows from 'density \* L'.*Set L, density"),
        ({"middle": 1.0}, r"parameters\.middle: found a value for what follows from 'L / 2\.0'"),
        ({"densty": 0.2}, "found no active .* called 'densty'.*Did you mean 'density'"),
        ({"A.z.x": 0.2}, "found no active .* called 'A'.*Did you mean 'A.z'"),
        ({"parameters.M": 0.2}, r"no number '\.M'; allowed: parameters\.L, parameters\.density"),
        ({"density": -1.0}, "found mass -0.2; allowed: a mass of 0 or more"),
    ],
)
def test_values_that_cannot_be_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        MODEL.replace(values)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            edited(L="2 * middle"),
            r"parameters\.L: found a circle: parameters\.L <- parameters\.middle <- parameters\.L",
        ),
        (edited(L={"value": 0.5, "maximum": 0.3}), r"parameters\.L: found L 0\.5; allowed: a L of 0\.3 or less"),
        (edited(L={"value": 1, "minimum": 2, "maximum": 1}), "found 2 and 1; allowed: a minimum up to the maximum"),
        (
            edited(middle="L / 2 * M"),
            r"parameters\.middle: found 'M' in 'L / 2\.0 \* M'; allowed: parameters|L, density",
        ),
        (edited(middle="2 N/mm"), r"'mm' in '.*A unit stands beside a number: write 20 N / \(1 mm\)"),
        (edited(middle="L /"), r"parameters\.middle: found 'L /'; allowed: numbers, names of parameters"),
        (edited(middle="L / 0"), r"parameters\.middle: found inf.*allowed: a finite number"),
        (edited(L={"value": 0.2, "unit": "mm"}), r"parameters\.L\.unit: found 'mm'; allowed: one of angle, length"),
        (edited(L={"value": 0.2, "units": "m"}), "unknown key 'units' in a parameter.*Did you mean 'unit'"),
        (edited(L="0.2"), r"parameters\.L: found '0\.2'; allowed: one number. Write a number without quotes"),
        (edited(L=""), r"parameters\.L: found ''"),
        (edited(pi=3), "found a parameter called 'pi'; allowed: names of letters, digits and _"),
        (edited(**{"a b": 3}), "found a parameter called 'a b'"),
        (edited(L=None), r"parameters\.L"),
        ({**document(), "parameters": [1]}, r"parameters: found \[1\]; allowed: an object"),
        ({**document(), "points": {"A": [1, 2]}}, r"points\.A\.position: found \[1, 2\]; allowed: a list of 3 numbers"),
        (
            with_crank("2.4 * L", 0.1, 0.2),
            r"mass: found 'L' in '2\.4 \* L'; allowed: .*none\. Add it to the parameters",
        ),
        (with_crank("2.4", 0.1, 0.2), "mass: found '2.4'; allowed: one number. Write a number without quotes"),
        (with_crank("max(L)", 0.1, 0.2, parameters={"L": 1}), "max of 1; allowed: max of 2"),
        (with_crank("-L", 0.1, 0.2, parameters={"L": 1}), r"crank\): found mass -1; allowed: a mass of 0 or more"),
    ],
)
def test_files_that_cannot_be_are_refused(file: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shiftjax.load(file)


def test_an_expression_stands_for_numbers_of_the_mechanism_only() -> None:
    file = edited()
    shape = {"type": "sphere", "radius": "L / 4"}
    file["assemblies"][0]["bodies"][0]["geometry"] = [shape]
    with pytest.raises(
        ModelError, match=r"geometry\[0\].radius: found an expression; allowed: expressions for numbers"
    ):
        shiftjax.load(file)


def test_every_number_of_the_table_may_be_an_expression() -> None:
    """Each number of every kind of element, written as an expression, is read as the same number."""
    joints = [(whole_file("a body"), joint) for joint in SEVERAL.values()]
    for file, joint in joints:
        file["assemblies"][0]["joints"].append(copy.deepcopy(joint))
    count = 0
    labels = [label for label in EXAMPLES if not label.startswith("a geometry")]
    for file in [*map(whole_file, labels), *(file for file, _ in joints)]:
        plain = shiftjax.load(file)
        numbers = {path: x for path, x in plain.numbers().items() if not path.startswith(("parameters.", "points."))}
        asked = to_dict(plain.with_values({path: f"one * {x!r}" for path, x in numbers.items()}))
        model = shiftjax.load({**asked, "parameters": {**asked.get("parameters", {}), "one": 1.0}})
        assert numbers.keys() <= model.expressions.keys()
        assert {path: model.numbers()[path] for path in numbers} == numbers
        count += len(numbers)
    assert count > 3000


def test_a_file_is_written_with_its_parameters(tmp_path: Path) -> None:
    """And read again as the same model, also after changes and where what follows is switched off."""
    file = edited(off=1)
    file["assemblies"].append({"name": "spare", "active": False, "bodies": [{"name": "b", "mass": "3 * off"}]})
    model = shiftjax.load(file)
    assert model.expressions["spare:b.mass"] == "3.0 * off"
    for one in (model, model.replace({"L": 0.25, "off": 2.0}), MODEL.replace({"A.x": 0.52, "A.z": 0.01})):
        shiftjax.save(one, tmp_path / "model.json")
        assert shiftjax.load(tmp_path / "model.json") == one
    jsonschema.validate(to_dict(one), schema())
    assert json.loads((tmp_path / "model.json").read_text())["assemblies"][0]["bodies"][0]["inertia"]["mass"] == (
        "density * L"
    )


def test_expressions_are_in_the_units_of_the_file() -> None:
    """Values, numbers beside them, angles of functions, and numbers with another unit."""
    file = {
        "model_parameters": {"version": "2.0", "gravity": [0, 0, 9810], "units": {"angle": "deg", "length": "mm"}},
        "parameters": {
            "L": {"value": 200, "unit": "length", "maximum": 300},
            "tilt": {"value": 30, "unit": "angle"},
            "k": {"value": 8, "unit": "N/m"},
        },
        "points": {"P": {"position": [205, "L + 1 cm", 0], "frames": []}},
        "assemblies": [
            {
                "name": "a",
                "bodies": [{"name": "b", "mass": "L / 100", "frames": [{"name": "f", "T": ["L + 5", "1 cm + L", 0]}]}],
                "joints": [
                    {"name": "j", "type": "Rx", "parent": "fixed:origin", "child": ["b", "origin"],
                     "initial_displacement": "tilt", "initial_velocity": "asin(sin(tilt)) / 2",
                     "stiffness": ["0", "k * L**2 * cos(2 * tilt)"]},
                ],
            }
        ],
    }  # fmt: skip
    file["assemblies"][0]["joints"][0]["stiffness"][0] = 0
    model = shiftjax.load(file)
    numbers = model.numbers()
    assert numbers["parameters.L"] == 0.2 and numbers["parameters.tilt"] == math.radians(30)
    wanted = {
        "points.P.x": 0.205,
        "points.P.y": 0.21,
        "a:b.mass": 2.0,
        "a:b:f.T[0]": 0.205,
        "a:b:f.T[1]": 0.21,
        "a:j.initial_displacement": math.radians(30),
        "a:j.initial_velocity": math.radians(15),
        "a:j.stiffness[1]": 8 * 0.2**2 * 0.5 / math.radians(1),  # a torque in mm per degree
    }
    for path, value in wanted.items():
        assert numbers[path] == pytest.approx(value, rel=ROUNDED * 10), path
    with pytest.raises(ModelError, match=r"L 0\.4; allowed: a L of 0\.3 or less"):
        model.replace({"L": "40 cm"})
    assert shiftjax.load(to_dict(model)) == model


def test_constants_in_quotes_are_numbers() -> None:
    model = shiftjax.load(with_crank("2 * 0.25", "100 mm", "sqrt(0.04)"))
    assert not model.expressions and model == shiftjax.load(with_crank(0.5, 0.1, 0.2))


def test_a_name_of_an_object_comes_before_that_of_a_parameter() -> None:
    file = edited(crank={"value": 1.0})
    model = shiftjax.load(file)
    assert model.resolve("crank") == "four_bar:crank"
    assert model.replace({"parameters.crank": 2.0}).numbers()["parameters.crank"] == 2.0


def test_the_builder_takes_expressions() -> None:
    builder = shiftjax.ModelBuilder()
    builder.parameter("L", 0.3, unit="length", minimum=0.1, maximum=0.5, description="of the rod")
    builder.point("A", (0, 0, "-3 * L"), description="hook").frame("hook", T=(0, 0, -0.9))
    swing = builder.assembly("swing")
    swing.body("rod", mass="2.4 * L", center_of_mass=(0, 0, "L / 2"), inertia={"Ixx": "0.2 * L**3"})
    swing.joint("pivot", "Rx", parent=("fixed", "hook"), child="rod", initial_displacement=0.4)
    model = builder.build()
    numbers = model.replace({"L": 0.5}).numbers()
    assert numbers["swing:rod.mass"] == 1.2 and numbers["swing:rod.inertia.Ixx"] == 0.025
    assert numbers["points.A.z"] == numbers["fixed:hook.T[2]"] == -1.5
    # the rod's origin hangs at A, too, which went up: its centre of mass stays but for what its expression says
    assert numbers["swing:rod.center_of_mass[2]"] == pytest.approx(0.25 + 0.6 * math.cos(0.4), rel=ROUNDED)


def test_info_tells_of_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shiftjax.save(MODEL, tmp_path / "four_bar.json")
    assert main(["info", str(tmp_path / "four_bar.json")]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("L ")]
    assert (
        row.split()
        == "L 0.2 m 0.1 0.3 length of the crank middle, four_bar:crank.mass, four_bar:crank:tip.T[0]".split()
    )
    assert main(["info", str(tmp_path / "four_bar.json"), "--json"]) == 0
    told = {entry["path"]: entry for entry in json.loads(capsys.readouterr().out)["named"]}
    assert told["parameters.middle"]["follows_from"] == "L / 2.0" and told["parameters.L"]["maximum"] == 0.3
    assert told["points.A.y"]["acts_on"][0] == "fixed:rocker_pivot.T[1]"
    assert main(["info", str(tmp_path / "four_bar.json"), "--paths"]) == 0
    assert "parameters.density" in capsys.readouterr().out


# -- points ------------------------------------------------------------------------------------------------------------


def world(model: Model) -> dict[str, np.ndarray]:
    """Where every frame stands in the drawn pose, and every centre of mass."""
    pose = drawn(model)
    places = {}
    for path, body in model.bodies():
        centre = np.array(pose[path].p) + np.array(pose[path].R) @ np.array(body.center_of_mass)
        places |= {path: np.array(pose[path].p)} | ({f"{path} mass": centre} if body.mass else {})
        places |= {f"{path}:{frame.name}": np.array(pose[path].of(frame)[1]) for frame in body.frames}
    return places | {f"fixed:{frame.name}": np.array(frame.T) for frame in model.frames}


def test_only_what_stands_at_a_point_moves() -> None:
    moved = MODEL.replace({"A.x": 0.55, "A.z": -0.04})
    before, after = world(MODEL), world(moved)
    at = {"fixed:rocker_pivot", "four_bar:rocker"}
    for name, place in before.items():
        shift = (0.05, 0.0, -0.04) if name in at else (0.0, 0.0, 0.0)
        np.testing.assert_allclose(after[name] - place, shift, rtol=0, atol=ROUNDED, err_msg=name)


@pytest.mark.parametrize("name", ["double_wishbone", "delta", "bricard"])
def test_the_law_of_points_holds_of_every_pivot(name: str) -> None:
    """Each pivot of a mechanism in space: what stands there moves as the point does, and nothing else."""
    plain = shiftjax.load(name)
    file, before, shift = to_dict(plain), world(plain), np.array([0.01, 0.013, -0.007])
    pivots: list[np.ndarray] = []
    for _, joint in plain.joints():
        place = before[joint.parent.path.removesuffix(":origin")] if joint.parent.path != "fixed:origin" else None
        if place is not None and all(np.abs(place - other).max() > 1e-3 for other in pivots):
            pivots.append(place)
    assert len(pivots) >= 5
    for place in pivots:
        model = shiftjax.load({**file, "points": {"P": place.tolist()}})
        after = world(model.replace({f"P.{axis}": x for axis, x in zip("xyz", place + shift, strict=True)}))
        moved = 0
        for path, old in before.items():
            at = not path.endswith(" mass") and np.abs(old - place).max() < 1e-6
            moved += at
            np.testing.assert_allclose(after[path] - old, shift * at, rtol=0, atol=ROUNDED, err_msg=path)
        assert moved >= 2 and not model.warnings


def test_a_moved_point_is_the_four_bar_made_there() -> None:
    """Of the same numbers as one whose frames were worked out by hand; its loop is closed where the first one's is."""
    rocker = drawn(MODEL)["four_bar:rocker"]
    R, shift = np.array(rocker.R), np.array([0.05, 0.0, -0.04])
    by_hand = written_out(0.2).replace(
        {f"fixed:rocker_pivot.T[{k}]": (0.5, 0.0, 0.0)[k] + shift[k] for k in range(3)}
        | {f"rocker:tip.T[{k}]": (np.array([0.4, 0.0, 0.0]) - R.T @ shift)[k] for k in range(3)}
        | {f"rocker.center_of_mass[{k}]": (np.array([0.2, 0.0, 0.0]) - R.T @ shift)[k] for k in range(3)}
    )
    numbers = MODEL.replace({"A.x": 0.55, "A.z": -0.04}).numbers()
    for path, value in by_hand.numbers().items():
        assert numbers[path] == pytest.approx(value, rel=0, abs=ROUNDED), path


def test_listed_frames_follow_alone() -> None:
    points = {"A": {"position": [1, 2, 3], "frames": [["fixed", "rocker_pivot"]]}}
    model = shiftjax.load({**document(), "points": points})
    assert set(model.expressions) == {f"fixed:rocker_pivot.T[{k}]" for k in range(3)}
    (warning,) = model.warnings
    assert warning.startswith(
        "points.A: of joint four_bar:rocker_pivot only fixed:rocker_pivot follows it: the joint op"
    )
    assert model.replace({"A.y": 2.5}).numbers()["fixed:rocker_pivot.T[1]"] == 0.5


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({"A": [0.5, 0, 0], "B": [0.5, 0, 0]}, r"points\.B: found fixed:rocker_pivot, which follows A, too"),
        ({"A": {"position": [0, 0, 0], "frames": [["fixed", "origin"]]}}, "the origin of ground at it"),
        (
            {"A": {"position": [0, 0, 0], "frames": [["fixed", "pivot"]]}},
            "Did you mean 'rocker_pivot'|a frame of fixed",
        ),
        (
            {"A": {"position": [0, 0, 0], "frames": [["four_bar:rocker", "origin"]]}},
            "the displacement of a joint puts it",
        ),
        ({"A": ["L", 0, 0]}, r"points\.A\.position\[0\]: found 'L' in 'L'"),
    ],
)
def test_points_that_cannot_be_are_refused(points: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shiftjax.load({**document(), "points": points})


def test_a_position_is_an_expression_or_follows_a_point() -> None:
    file = with_crank(0.5, 0.1, 0.2, parameters={"x": 0.5}, points={"A": [0.5, 0, 0]})
    file["frames"][0]["T"][0] = "x"
    with pytest.raises(ModelError, match=r"fixed:rocker_pivot.T\[0\]: found 'x', of a frame that follows A"):
        shiftjax.load(file)


def test_included_files_bring_their_parameters(tmp_path: Path) -> None:
    """By the name of their entry; points stand in the axes that the file is mounted on."""
    inner = to_dict(MODEL)
    inner["frames"][1]["T"] = ["L - 0.2", 0, 0]
    (tmp_path / "bar.json").write_text(json.dumps(inner))
    c, s = math.cos(0.3), math.sin(0.3)
    outer = {
        "model_parameters": inner["model_parameters"],
        "parameters": {"_1_st_L": 7},
        "frames": [{"name": "mount", "T": [1, 2, 3], "R": [[c, 0, s], [0, 1, 0], [-s, 0, c]]}],
        "assemblies": [
            {"name": "1 st", "include": "bar.json"},
            {"name": "two", "include": "bar.json", "parent": [["fixed"], "mount"]},
        ],
    }
    model = shiftjax.load(outer, tmp_path)
    assert [item.name for item in (*model.parameters, *model.points)] == [
        "_1_st_L", "_1_st_L_2", "_1_st_density", "_1_st_middle", "two_L", "two_density", "two_middle",
        "_1_st_A", "two_A",
    ]  # fmt: skip
    moved = model.replace({"two_A.x": 0.55, "two_L": 0.25, "_1_st_L_2": 0.21})
    numbers, before = moved.numbers(), model.numbers()
    assert numbers["two:four_bar:crank.mass"] == 2.5 * 0.25 and numbers["1 st:four_bar:crank.mass"] == 2.5 * 0.21
    for frame, moved_by in (("rocker_pivot", 0.05), ("crank_pivot", 0.05)):
        shift = [numbers[f"fixed:two_{frame}.T[{k}]"] - before[f"fixed:two_{frame}.T[{k}]"] for k in range(3)]
        np.testing.assert_allclose(shift, np.array([c, 0, -s]) * moved_by, rtol=0, atol=ROUNDED)
    assert shiftjax.load(to_dict(model)) == model


def test_an_entry_gives_an_included_file_its_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As numbers, or as expressions of the file around it, which they follow."""
    monkeypatch.chdir(tmp_path)
    shiftjax.save(MODEL, tmp_path / "bar.json")
    builder = shiftjax.ModelBuilder().parameter("size", 0.9)
    for name, parameters in (("small", {"L": 0.15}), ("large", {"L": "size / 4", "density": "size"})):
        builder.include(name, "bar.json", parameters=parameters)
    model = builder.build()
    numbers = model.numbers()
    assert numbers["small:four_bar:crank.mass"] == 2.5 * 0.15
    assert numbers["large:four_bar:crank.mass"] == 0.9 * (0.9 / 4)
    assert numbers["large:four_bar:crank.center_of_mass[0]"] == 0.9 / 8
    larger = model.replace({"size": 1.0}).numbers()
    assert larger["large:four_bar:crank:tip.T[0]"] == 0.25 and larger["small:four_bar:crank:tip.T[0]"] == 0.15
    assert shiftjax.load(to_dict(model)) == model
    for wrong, message in (
        ({"l": 0.2}, r"parameters: found no parameter 'l'; allowed: parameters of the included file: L, density"),
        ({"L": 0.5}, r"parameters\.L: found L 0\.5; allowed: a L of 0\.1 or more and 0\.3 or less"),
        ({"middle": 0.1}, r"parameters\.middle: found a value for what follows from 'L / 2\.0'"),
        ({"L": "seize / 4"}, r"parameters\.L: found 'seize' in 'seize / 4"),
    ):
        with pytest.raises(ModelError, match=message):
            shiftjax.ModelBuilder().include("bar", "bar.json", parameters=wrong).build()
    with pytest.raises(ModelError, match=r"parameters: .*allowed: it with 'include' only"):
        file = document()
        file["assemblies"][0]["parameters"] = {"L": 1}
        shiftjax.load(file)


def test_what_is_switched_off_follows_too() -> None:
    file = document()
    body = {"name": "plate", "active": False, "frames": [{"name": "edge", "T": [0.5, 0, 0]}]}
    file["assemblies"][0]["bodies"].append(body)
    model = shiftjax.load({**file, "points": {"A": [0.5, 0, 0]}})
    assert model.expressions["four_bar:plate:edge.T[0]"] == "A.x"

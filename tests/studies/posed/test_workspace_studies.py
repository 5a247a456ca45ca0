"""Studies of workspaces: areas and what is inscribed as metrics, areas as objectives. F8, row 17 of kinematics."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.cli.commands.check import outline
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.report.content import content_of
from shiftjax.ensembles.report.sections import _facts
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.kinematics.workspaces.spaces import SpaceFunction
from shiftjax.run.options import options_of
from tests.support.models.reaching_arms import arm, chain, five_bar
from tests.support.models.turntable import ring, turntable

AREA = 1e-6  # of itself: cubics through nodes give 1e-7
FIRST, SECOND = [0.9], [0.6]
LINKS = ("arm:upper:tip.T[0]", "arm:fore:tip.T[0]")
MODEL = arm(1.0, 0.6)
GRID: dict[str, Any] = {
    "coordinates": "fore:tip",
    "box": [[-2, 2]] * 2,
    "points": 9,
    "searched": 2,
}  # cheaper than inscribed
METRICS = {
    "room": "area()",
    "round": {"of": "radius()", "good": "large"},
    "share": "area() / (2 m * pi * 1 m)",
}


def study(**more: Any) -> Definition:
    words: dict[str, Any] = {
        "kind": "workspace",
        "workspace": {"coordinates": "fore:tip", "inscribed": True, "searched": 4},
        "vary": {LINKS[0]: FIRST, LINKS[1]: SECOND},
        "metrics": METRICS,
    }
    return Definition(more.pop("model", MODEL), **{**words, **more})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> shiftjax.Study:
    return sweep(study(), tmp_path_factory.mktemp("spaces") / "whole.zarr", shard=2)


def test_metrics_are_those_of_workspace(whole: shiftjax.Study) -> None:
    """And of the closed form of two links: a ring of area 4 pi l1 l2, in which a circle of radius l2 lies."""
    table = whole.table
    a, b = (table[path].to_numpy() for path in LINKS)
    alike = shiftjax.workspace(MODEL, "fore:tip", vary=dict(zip(LINKS, (a, b), strict=True)), searched=4)
    assert np.array_equal(table["room"], alike.area)
    assert table["room"].to_numpy() == pytest.approx(4.0 * np.pi * a * b, rel=AREA)
    assert table["round"].to_numpy() == pytest.approx(np.minimum(a, b), abs=2e-6)
    assert table["share"].to_numpy() == pytest.approx(2.0 * a * b, rel=AREA)
    assert list(table["status"]) == ["ok"]
    units = table.attrs["units"]
    assert units["room"] == "m^2" and units["round"] == "m"
    (repeated,) = again(whole.path, [0])
    assert repeated.differences == ("",)
    content = content_of(members_of(whole.xarray), whole.xarray, "arm", lambda *_: [], (False,) * 3)
    assert dict(_facts(content))["asked"] == "workspaces of fore:tip.x, fore:tip.y"


def test_areas_have_slopes_and_all_else_has_none() -> None:
    """Of the closed form, forward and reverse; what is sought has none, and no other is made up."""
    function = SpaceFunction(MODEL, LINKS, options_of(metrics=METRICS), GRID, warns=False)
    assert [*function.without_slopes] == ["round"]
    x, moves = np.array([[0.9, 0.6]]), np.eye(2)[:, None]
    forward = function.tangent(x, moves)[:, 0]
    assert forward[:, 0] == pytest.approx(4.0 * np.pi * x[0, ::-1], rel=AREA)
    assert forward[:, 2] == pytest.approx(2.0 * x[0, ::-1], rel=AREA)
    assert np.isnan(forward[:, 1]).all()
    reverse = function.adjoint(x, np.eye(4)[:, None])[:, 0]
    assert reverse[:3].T == pytest.approx(forward[:, :3], rel=1e-12, nan_ok=True)


def test_sensitivity_says_why_there_is_none() -> None:
    slopes = shiftjax.sensitivity(sweep(study(workspace=GRID)))
    assert np.isfinite(slopes.slopes[:, [0, 2]]).all() and np.isnan(slopes.slopes[:, 1]).all()
    assert slopes.messages == ["has no gradient: round: radius() is sought, and follows from no equation"]


def test_an_arm_of_the_wanted_area(tmp_path: Path) -> None:
    """The objective comes to zero, where 4 pi l1 l2 = 7 m^2."""
    wanted = {"objective": "(room - 7)**2", "method": "lbfgs", "iterations": 6}
    optimum = shiftjax.optimize(
        study(vary={LINKS[0]: "0.8:1.2"}, samples=1, metrics={"room": "area()"}, optimize=wanted,
              workspace={"coordinates": "fore:tip", "searched": 4}),
        tmp_path / "arm.zarr",
    )  # fmt: skip
    assert optimum.best.design[LINKS[0]] == pytest.approx(7.0 / (4.0 * np.pi * 0.6), rel=1e-4)


def test_what_has_no_slopes_is_no_objective(tmp_path: Path) -> None:
    drawn: dict[str, Any] = {"vary": {LINKS[0]: "0.8:1.2"}, "samples": 1, "workspace": GRID}
    with pytest.raises(shiftjax.ModelError, match=r"optimize.objective: found round, which has no slopes: radius\(\)"):
        shiftjax.optimize(study(**drawn, optimize={"objective": "-round"}), tmp_path / "a.zarr")
    grid = {"coordinates": "link_2:tip", "box": [[-0.4, 0.4]] * 2, "points": 4, "searched": 10}
    words = {"metrics": {"room": "area()"}, "workspace": grid, "model": chain((0.3, 0.2, 0.1)), "samples": 1}
    with pytest.raises(shiftjax.ModelError, match=r"area\(\) is that of the cells of a grid"):
        shiftjax.optimize(
            study(**words, vary={"link_0:tip.T[0]": "0.29:0.31"}, optimize={"objective": "-room"}), tmp_path / "b.zarr"
        )


def test_grids_have_volumes_and_dexterous_parts() -> None:
    """Those of `workspace`, whose box may have units."""
    box = [["-700 mm", 0.7], [-0.7, "70 cm"]]
    asked: dict[str, Any] = {"coordinates": "link_2:tip", "box": box, "points": 9, "orientations": 12, "searched": 10}
    metrics = {"room": "area()", "hand": "dexterous_area()", "ball": "radius()"}
    lengths = {"link_2:tip.T[0]": [0.1, 0.12]}
    table = sweep(study(model=chain((0.3, 0.2, 0.1)), workspace=asked, metrics=metrics, vary=lengths)).table
    known = {**asked, "box": [(-0.7, 0.7)] * 2}
    frame = known.pop("coordinates")
    for k, one in enumerate(shiftjax.workspace(chain((0.3, 0.2, 0.1)), frame, vary=lengths, **known)):
        assert one is not None and one.ball is not None
        row = table[["room", "ball", "hand"]].to_numpy()[k]
        assert row == pytest.approx([one.area, one.ball[1], one.dexterous_area], rel=1e-9)  # of poses that are sought


def test_members_without_an_area_say_why() -> None:
    """Over its inputs a five-bar turns round: there are curves, and no area. Far apart it cannot be assembled."""
    inputs = {"coordinates": ["left", "right"], "searched": 10}
    asked: dict[str, Any] = {"model": five_bar(1.0, (0.8, 1.1), (0.7, 1.2)), "metrics": {"room": "area()"}}
    table = sweep(study(**asked, vary={"fixed:right.T[0]": [1.0, 9.0]}, workspace=inputs)).table
    assert list(table["status"]) == ["unlimited", "not_assembled"]
    assert "area(): there is none: a:left may turn round" in table["message"][0]
    assert np.isnan(table["room"]).all()


def test_studies_of_a_branch(tmp_path: Path) -> None:
    """The ring of that branch alone; a member that does not have it does not begin, and says which it has."""
    words: dict[str, Any] = {
        "model": turntable(),
        "metrics": {"room": "area()"},
        "workspace": {"coordinates": "coupler:pen", "searched": 6},
        "branch": "+-",
    }
    path, cranks = tmp_path / "branch.zarr", [0.4, 5.0]
    stored = sweep(study(**words, vary={"crank:tip.T[0]": cranks}), path)
    assert list(stored.table["status"]) == ["ok", "not_assembled"]
    assert stored.table["room"].to_numpy()[0] == pytest.approx(ring(cranks[0], -1), rel=AREA)
    (repeated,) = again(str(path), [0])
    assert repeated.differences == ("",)
    opened = study(**{**words, "model": MODEL, "workspace": {"coordinates": "fore:tip"}}, vary={LINKS[0]: [1.0]})
    with pytest.raises(shiftjax.ModelError, match="no branch of an open chain"):
        sweep(opened)


def test_members_do_not_see_who_is_asked_with_them() -> None:
    """A fore arm without length moves on a circle: such a member says so, and ends no others, first or not."""
    asked = {"vary": {LINKS[1]: [0.0, 0.5]}, "workspace": {"coordinates": "fore:tip", "searched": 2}}
    few: dict[str, Any] = {**asked, "metrics": {"room": "area()"}}
    apart, together = (sweep(study(**few), shard=size).table for size in (1, 2))
    assert list(apart["status"]) == list(together["status"]) == ["non_finite", "ok"]
    assert "area(): there is none: fore:tip.x, fore:tip.y, which move together on a curve" in apart["message"][0]
    assert np.array_equal(apart["room"], together["room"], equal_nan=True)


def test_a_file_that_cannot_be_assembled_has_designs_that_can() -> None:
    """What it cannot say is which coordinates of a frame move: they are named."""
    begin = {"left": 1.0, "left_elbow": -0.7, "right": 2.2, "right_elbow": 0.6}
    apart = five_bar(9.0, (0.8, 1.1), (0.7, 1.2))
    model = apart.with_values({f"a:{joint}.initial_displacement": x for joint, x in begin.items()})
    few: dict[str, Any] = {"model": model, "vary": {"fixed:right.T[0]": [3.0]}, "metrics": {"room": "area()"}}
    with pytest.raises(shiftjax.ModelError, match=r'coordinates: .*Name those that move, as \["l2:tip.x", "l2:tip.y"'):
        sweep(study(**few, workspace={"coordinates": "l2:tip"}))
    table = sweep(study(**few, workspace={"coordinates": ["left", "right"], "searched": 2})).table
    assert list(table["status"]) == ["unlimited"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"metrics": {}}, 'metrics: found nothing, of kind "workspace"'),
        ({"workspace": {}}, 'workspace: found nothing, of kind "workspace"'),
        ({"drive": {"elbow": 3.0}}, r"nothing: \[workspace\] has its coordinates"),
        ({"kind": "run", "metrics": {}}, 'workspace: found a table, of kind "run"'),
        ({"workspace": {"inscribed": True}}, "a table with coordinates"),
        ({"workspace": {"coordinates": "fore:tip", "boxes": 1}}, "workspace.boxes: found an unknown key"),
        ({"workspace": {"coordinates": 3}}, "workspace.coordinates: found 3"),
        ({"workspace": {"coordinates": "fore:tip", "box": [[0, "x"]]}}, r"workspace.box\[0\]\[1\]"),
        ({"workspace": {"coordinates": "fore:tip", "box": [1, 2]}}, r"workspace.box\[0\]: found 1"),
        ({"workspace": {"coordinates": "fore:tip", "points": [2, -1]}}, r"workspace.points\[1\]"),
    ],
)
def test_what_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        study(**words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maximum(elbow.q)", "maximum.*, of workspaces"),
        ("area", r"Write area\(\)"),
        ("area(elbow)", r"allowed: area\(\)"),
        ("volume()", r"volume\(\) of 2 coordinates"),
        ("dexterous_area()", "Add orientations"),
        ("2", "a call of area"),
        ("[area(), radius()]", "2 numbers"),
    ],
)
def test_what_is_no_metric_of_workspaces(text: str, message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        outline(study(metrics={"m": text}))
    with pytest.raises(shiftjax.ModelError, match=message):
        sweep(study(metrics={"m": text}))


def test_ends_of_boxes_have_the_units_of_their_coordinates() -> None:
    grid = {"coordinates": "fore:tip", "box": [["-2 m", "2 rad"], [-2, 2]], "points": 4}
    with pytest.raises(shiftjax.ModelError, match=r"workspace.box\[0\]\[1\]: found unit 'rad'; allowed: a unit of m"):
        outline(study(workspace=grid, metrics={"room": "area()"}))


def test_commands(tmp_path: Path, shell: Any) -> None:
    """A study file, and many designs on the command line, which are those of `vary`."""
    shiftjax.save(MODEL, tmp_path / "arm.json")
    words = study(workspace=GRID)
    file = tmp_path / "reach.toml"
    kept = {name: getattr(words, name) for name in ("kind", "vary", "metrics", "workspace")}
    study_file.write(Definition(str(tmp_path / "arm.json"), **kept), file)
    code, out, _ = shell("check", str(file))
    assert code == 0 and "radius()" in out, out
    code, out, _ = shell("sweep", str(file), "--out", str(tmp_path / "reach.zarr"))
    assert code == 0 and "room" in out
    model = str(tmp_path / "arm.json")
    some = ("workspace", model, "fore:tip", "--vary", "upper:tip.T[0]=0.9:1:2")
    code, out, _ = shell(*some, "--json")
    known = shiftjax.workspace(MODEL, "fore:tip", vary={LINKS[0]: [0.9, 1.0]})
    assert code == 0 and [row["area"] for row in json.loads(out)["table"]] == known.area.tolist()
    code, out, _ = shell(*some)
    assert code == 0 and "consistent" in out and "radius" not in out
    assert shell("workspace", model, "fore:tip", "--samples", "3")[0] == 2
    assert "Leave out --vary" in shell(*some, "--picture", str(tmp_path / "a.png"))[2]
    bars = str(tmp_path / "bars.json")
    shiftjax.save(five_bar(1.0, (0.8, 1.1), (0.7, 1.2)), bars)
    code, out, err = shell("workspace", bars, "left", "right", "--vary", "fixed:right.T[0]=1:9:2")
    assert code == 3 and "1 of 2 designs cannot be assembled, the first of them 1" in err and "none" in out
    assert "warning: 1 of 2 designs: a:left may turn round" in err

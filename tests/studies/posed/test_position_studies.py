"""Studies whose members are put where goals want them: rows, resume, again, slopes, optima. S21, S31, D21, F17."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store import store
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.viewer.study.study import ViewedStudy
from tests.kinematics.test_inverse_kinematics import planar_arm

REACH = {"frame": "l2:tip", "T": ["1500 mm", 0, -0.5], "along": "xz"}
GOALS = {"reach": REACH, "rest": {"coordinate": "j0", "value": "-20deg", "level": "posture"}}
METRICS = {"miss": "missed(target)", "ok": "reached()", "height": "l2:tip.position[2]", "bend": "abs(j1.q)"}


def study(**more: Any) -> Definition:
    words: dict[str, Any] = {
        "kind": "ik",
        "goals": GOALS,
        "limits": {"j1": ["-", "150deg"]},
        "set": {"j1.initial_displacement": 0.7, "j2.initial_displacement": -0.5},
        "vary": {"points.reach.x": "1:3.4:4", "l0:tip.T[0]": [0.9, 1.1]},
        "channels": ["l2:tip.position"],
        "metrics": METRICS,
        "keep": 3,
    }
    return Definition(planar_arm(), **{**words, **more})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return sweep(study(), tmp_path_factory.mktemp("positions") / "whole.zarr", shard=4)


def test_rows_are_those_of_inverse_kinematics(whole: Study) -> None:
    """Of designs and of targets; what is out of reach has finished, and says so."""
    x, lengths = np.repeat(np.linspace(1.0, 3.4, 4), 2), np.tile([0.9, 1.1], 4)
    T = np.stack([x, np.zeros(8), np.full(8, -0.5)], axis=1)
    goals = [shiftjax.FrameGoal("l2:tip", T=T, along="xz"),
             shiftjax.JointGoal("j0", -np.deg2rad(20.0), level="posture")]  # fmt: skip
    result = shiftjax.inverse_kinematics(
        planar_arm(), goals, limits={"j1": (None, np.deg2rad(150.0))}, q={"j1": 0.7, "j2": -0.5},
        vary={"l0:tip.T[0]": lengths},
    )  # fmt: skip
    table = whole.table
    assert 2 <= (~result.reached).sum() <= 4
    assert list(table["status"]) == ["ok" if reached else "out_of_reach" for reached in result.reached]
    assert np.array_equal(table["ok"], result.reached.astype(float))
    np.testing.assert_allclose(table["miss"], result.missed["target"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(table["bend"], np.abs(result.q["arm:j1"]), rtol=0, atol=1e-6)
    np.testing.assert_allclose(table["height"][result.reached], -0.5, rtol=0, atol=1e-11)
    assert table.attrs["units"]["points.reach.x"] == "m"
    assert table.attrs["units"]["bend"] == "rad"
    stored = whole.xarray["trajectories"].to_dataset()
    assert stored["l2:tip.position"].shape == (3, 1, 3)
    assert whole.top("miss", 1)["miss"].iloc[0] == table["miss"].max()
    lost = int(np.flatnonzero(~result.reached)[0])
    assert "misses l2:tip along" in table["message"][lost]


@pytest.mark.usefixtures("undrawn")
def test_a_study_goes_on_and_its_members_come_again(whole: Study, tmp_path: Path) -> None:
    """The same to the last bit; each is drawn where it stands."""
    place = tmp_path / "stopped.zarr"

    def stop(progress: Any) -> None:
        if progress.done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(study(), place, shard=4, progress=stop)
    more = sweep(study(), place, resume=True)
    for name in ("members", "trajectories"):
        assert more.xarray[name].to_dataset().load().identical(whole.xarray[name].to_dataset().load())
    (repeated,) = again(whole.path, [1, 7])
    assert repeated.differences == ("", "")
    one = whole.member(2)
    assert one.metrics["bend"][0] == whole.table["bend"][2]
    shown = ViewedStudy.open(whole.path).poses(0, 0.0)
    assert np.isfinite(shown).all()
    store.write(one, tmp_path / "one.zarr")
    with pytest.raises(shiftjax.ModelError, match="poses for goals"):
        next(again(tmp_path / "one.zarr", [0]))
    report = whole.report(tmp_path / "study.html").read_text(encoding="utf-8")
    assert "poses for goals reach, rest" in report and "out_of_reach" in report.replace(" ", "_")


def test_commands(whole: Study, tmp_path: Path, shell: Any) -> None:
    shiftjax.save(planar_arm(), tmp_path / "arm.json")
    given = study(folder=str(tmp_path))
    words = {name: getattr(given, name) for name in ("kind", "goals", "limits", "set", "vary", "metrics")}
    written = Definition("arm.json", **words, folder=str(tmp_path))
    file = study_file.write(written, tmp_path / "reach.toml")
    assert study_file.read(file) == written
    assert shell("check", str(file))[0] == 0
    code, out, err = shell("sweep", str(file), "--out", str(tmp_path / "reach.zarr"))
    assert code == 0 and "out_of_reach" in out + err
    assert f"{whole.table['miss'].max():.6g}" in shell("top", str(tmp_path / "reach.zarr"), "miss", "-n", "1")[1]


def test_slopes_of_a_study_of_poses() -> None:
    """By designs and targets, of poses that are reached and of such that are not: each way the same."""
    given = study(vary={"points.reach.x": [1.4, 3.2], "l0:tip.T[0]": [0.9]}, channels=[], keep="none")
    some = sweep(given)
    ways = {way: shiftjax.sensitivity(some, direction=way, force=True).slopes for way in ("forward", "reverse")}
    exact = ways["forward"]
    assert exact.shape == (2, 4, 2)
    np.testing.assert_allclose(ways["reverse"], exact, rtol=0, atol=1e-12)
    moved = shiftjax.sensitivity(some, direction="differences", force=True)
    np.testing.assert_allclose(exact, moved.slopes, rtol=0, atol=1e-3)
    reached = some.table["ok"] == 1.0
    assert not exact[reached][:, 0].any()
    assert exact[~reached][:, 0].any()


def test_a_target_is_moved_to_where_the_elbow_bends_least() -> None:
    """Of an arm of two links of 1 m and 2 m, the last joint locked, the distance of the target says how far the elbow
    bends: the farthest of the allowed ones is best, and the constraint holds it within."""
    goals = {"reach": REACH, "straight": {"coordinate": "j2", "value": 0.0, "level": 0}}
    wanted = {"objective": "bend", "constraints": ["far <= 2.5"], "iterations": 40, "starts": 2, "method": "sqp"}
    metrics = {"bend": "abs(j1.q)", "far": "norm(l2:tip.position)"}
    vary = {"points.reach.x": "1.3:2.6~sobol"}
    best = shiftjax.optimize(study(goals=goals, vary=vary, metrics=metrics, optimize=wanted, keep="none")).best
    assert best.design["points.reach.x"] == pytest.approx(np.sqrt(2.5**2 - 0.25), abs=1e-6)
    assert best.metrics["bend"] == pytest.approx(np.arccos((2.5**2 - 1.0 - 4.0) / 4.0), abs=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"goals": {"reach": {"T": [0, 0, 0]}}}, "one of frame, coordinate"),
        ({"goals": {"reach": {"frame": "l2:tip"}}}, "neither T nor R"),
        ({"goals": {"reach": {"frame": "l2:tip", "T": [0, 0]}}}, "a list of 3 numbers"),
        ({"goals": {"reach": {"frame": "l2:tip", "T": [0, 0, "3deg"]}}}, "goals.reach.T"),
        ({"goals": {"reach": {**REACH, "box": [1, "2deg", 1]}}}, "goals.reach.box"),
        ({"goals": {"reach": {"frame": "l2:tip", "T": [0, 0, 0], "value": 3}}}, "a key of a goal with 'frame'"),
        ({"goals": {"1": REACH}}, "letters, digits and _"),
        ({"limits": {"j1": [0]}}, "low, high"),
        ({"kind": "run"}, 'nothing but of kind "ik"'),
        ({"span": 1.0}, 'of kind "ik"'),
        ({"drive": {"j0": 1.0}}, "goals lead joints"),
    ],
)
def test_what_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        study(**words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"goals": {}}, "goals"),
        ({"limits": {"elbow": [0, 1]}}, "elbow"),
        ({"goals": {"rest": {"coordinate": "j0", "value": "20 mm"}}}, "goals.rest.value.*unit 'mm'"),
        ({"goals": {"rest": {"coordinate": "j0", "value": 0, "box": "20 mm"}}}, "goals.rest.box.*unit 'mm'"),
        ({"goals": {"reach": {**REACH, "level": "tagret"}}}, "goals.reach.level"),
        ({"metrics": {"miss": "missed(aim)"}}, "missed of one of"),
        ({"metrics": {"fast": "l2:tip.velocity[0]"}}, "depends on speeds"),
        ({"metrics": {"late": "maximum(j1.q)"}}, "of a pose"),
        ({"goals": {"reach": {**REACH, "frame": "l2:tap"}}}, "l2:tip"),
    ],
)
def test_what_is_refused_with_the_model(words: dict[str, Any], message: str) -> None:
    vary = {"l0:tip.T[0]": [0.9, 1.1]}
    with pytest.raises(shiftjax.ModelError, match=message):
        sweep(study(**{"vary": vary, **words}))

"""Studies whose members are followed along a path: rows, stores, resume, members again, commands. S21, S31."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.report.content import content_of
from shiftjax.ensembles.report.page import subtitle
from shiftjax.ensembles.report.sections import _facts
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.viewer.study.study import ViewedStudy

METRICS = {"swing": "peak_to_peak(crank_pivot.q)", "turn": "maximum(crank_pivot.v)"}
PLACES = "1.5:2.46:25"  # of the rocker, past the end of its travel for the longer couplers


def study(**more: Any) -> Definition:
    words: dict[str, Any] = {
        "vary": {"coupler:tip.T[0]": "0.48:0.53:20"},
        "drive": {"rocker_pivot": PLACES},
        "kind": "follow",
        "channels": ["crank_pivot.q"],
        "metrics": METRICS,
        "keep": 5,
    }
    return Definition("four_bar", **{**words, **more})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return sweep(study(), tmp_path_factory.mktemp("paths") / "whole.zarr", shard=8)


def same(a: Study, b: Study) -> None:
    for name in ("members", "trajectories"):
        assert a.xarray[name].to_dataset().load().identical(b.xarray[name].to_dataset().load())


def test_rows_are_those_of_follow(whole: Study) -> None:
    lengths, places = np.linspace(0.48, 0.53, 20), np.linspace(1.5, 2.46, 25)
    path = shiftjax.follow(
        "four_bar", {"rocker_pivot": places}, vary={"coupler:tip.T[0]": lengths}, channels=["crank_pivot.q"],
        metrics=METRICS,
    )  # fmt: skip
    table = whole.table
    status = list(table["status"])
    assert 0 < status.count("locked") < 20
    assert status == [shiftjax.Outcome(code).name for code in path.status]
    for name in METRICS:
        assert np.array_equal(table[name], path.metrics[name], equal_nan=True)
    assert table.attrs["units"]["turn"] == "rad/rad"
    stored = whole.xarray["trajectories"].to_dataset()
    assert (stored["time"].attrs["units"], stored["time"].values.tolist()) == ("rad", places.tolist())
    recorded = path.channels["crank_pivot.q"][stored["member"].values]
    assert np.array_equal(stored["crank_pivot.q"].values, recorded, equal_nan=True)
    assert whole.top("swing", 1)["swing"].iloc[0] == np.nanmax(path.metrics["swing"])


def test_a_study_goes_on_where_it_was_stopped(whole: Study, tmp_path: Path) -> None:
    """Also with an executor; the store is the same to the last bit."""
    place = tmp_path / "stopped.zarr"

    def stop(progress: Any) -> None:
        if progress.done >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(study(), place, shard=8, progress=stop)
    assert not Study(place).complete
    with ThreadPoolExecutor(2) as pool:
        same(sweep(study(), place, resume=True, executor=pool), whole)


def test_members_are_followed_again(whole: Study) -> None:
    (repeated,) = again(whole.path, [1, 7, 19])
    assert repeated.differences == ("", "", "")
    one = whole.member(7)
    assert one.settings["parameter"] == "four_bar:rocker_pivot.q"
    assert one.metrics["swing"][0] == whole.table["swing"][7]


def test_results_of_paths_are_not_simulated_again(tmp_path: Path) -> None:
    """A result says the ends of its places alone: that a run of them would be another motion is no secret."""
    path = shiftjax.follow("four_bar", {"crank_pivot": [0.0, 0.1]}, vary={"coupler:tip.T[0]": [0.5, 0.51]})
    store.write(path, tmp_path / "path.zarr")
    with pytest.raises(shiftjax.ModelError, match="poses along a path"):
        next(again(tmp_path / "path.zarr", [0]))


def test_commands(whole: Study, tmp_path: Path, shell: Any) -> None:
    file, place = study_file.write(study(), tmp_path / "swings.toml"), tmp_path / "swings.zarr"
    assert study_file.read(file) == study()
    code, out, _ = shell("check", str(file))
    assert code == 0
    assert "25 places from 1.5 to 2.46" in out
    code, out, err = shell("sweep", str(file), "--out", str(place))
    assert (code, "locked" in out + err) == (3, True)
    code, out, _ = shell("top", str(place), "swing", "-n", "1")
    assert f"{whole.table['swing'].max():.6g}" in out
    listed = study(drive={"rocker_pivot": [1.5, "90deg", 1.6]})
    assert study_file.read(study_file.write(listed, tmp_path / "listed.toml")) == listed


def test_a_path_that_falls_is_played_pose_by_pose(tmp_path: Path) -> None:
    """Its parameter is no clock: the viewer goes from pose to pose."""
    places = np.linspace(2.4, 1.5, 7)
    some = sweep(study(vary={}, keep="all", drive={"rocker_pivot": places}), tmp_path / "a.zarr")
    assert np.asarray(some.xarray["trajectories"].to_dataset()["time"]).tolist() == places.tolist()
    shown = ViewedStudy.open(some.path)
    assert shown.time.tolist() == list(range(7))
    assert not np.allclose(shown.poses(0, 5.0), shown.poses(0, 6.0))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"drive": {}}, "drive: found nothing, of kind"),
        ({"drive": {"rocker_pivot": "harmonic(amplitude=1, frequency=2)"}}, 'Write it like "0deg:360deg:73"'),
        ({"drive": {"rocker_pivot": "0:1"}}, "drive.rocker_pivot"),
        ({"drive": {"rocker_pivot": "0:1:0"}}, "COUNT from 1"),
        ({"kind": "run"}, 'Add kind = "follow"'),
        ({"kind": "walk"}, "run, follow"),
        ({"span": 1.0}, 'span: found 1.0, of kind "follow"'),
        ({"events": {"low": "crank_pivot.q"}}, "do not move in time"),
        ({"assemble_only": True}, "assemble_only"),
    ],
)
def test_what_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        study(**words)


def test_what_is_refused_with_the_model(whole: Study) -> None:
    for drive, message in (
        ({"rocker_pivot": "0m:1m:3"}, "rad"),
        ({"rocker": PLACES}, "rocker_pivot"),
        ({"rocker_pivot": PLACES, "crank_pivot": "0:1:3"}, "as many places"),
    ):
        with pytest.raises(shiftjax.ModelError, match=message):
            sweep(study(drive=drive))
    bent = study(optimize={"objective": "late"}, metrics={"late": "maximum(t * crank_pivot.q)"})
    with pytest.raises(shiftjax.ModelError, match="slopes"):
        shiftjax.optimize(bent)


def test_a_report_says_the_path(whole: Study) -> None:
    content = content_of(members_of(whole.xarray), whole.xarray, "four_bar", lambda *_: [], (False,) * 3)
    assert subtitle(content).endswith("25 poses by four_bar:rocker_pivot.q")
    facts = dict(_facts(content))
    assert facts["four_bar:rocker_pivot"] == "25 places from 1.5 to 2.46"
    assert not facts.keys() & {"span", "step", "output step"}

"""Which values of a metric are good is said once, in the study, and every surface takes it from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from shiftjax.cli import main
from shiftjax.ensembles import stored_study
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.store.top import top
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.run.simulate import simulate
from shiftjax.viewer.members.choice import Choices
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.complete import without

OF = "peak_to_peak(rocker_pivot.q)"
MEMBERS = 12
WORDS: dict[str, Any] = {"vary": {"crank:tip.T[0]": "0.12:0.18~sobol"}, "samples": MEMBERS, "span": 0.3, "step": 0.01}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Large swings are good, of `late` nothing is said."""
    metrics = {"swing": {"of": OF, "good": "large", "limits": ["5 deg", "inf"]}, "late": "maximum(rocker_pivot.q)"}
    keep = {"worst": {"metric": "swing", "count": 2}}
    definition = Definition("four_bar", metrics=metrics, keep=keep, **WORDS)
    return sweep(definition, tmp_path_factory.mktemp("study") / "swing.zarr")


def ends(study: Study, metric: str = "swing") -> tuple[int, int]:
    """Members with the smallest and the largest value."""
    values = study.table[metric].to_numpy(float)
    return int(values.argmin()), int(values.argmax())


def test_the_store_says_what_is_good(study: Study) -> None:
    columns = {column.name: column for column in members_of(study.xarray).columns}
    assert columns["swing"].good == "large" and columns["late"].good == ""
    assert columns["gap"].good == "small" and columns["pivot_ratio"].good == "large"
    assert columns["swing"].aim.limits == (np.radians(5.0), np.inf) and columns["swing"].about == OF


def test_best_and_worst_are_what_the_study_says(study: Study) -> None:
    """`best:1:swing` showed the smallest of a study whose `good` is large."""
    small, large = ends(study)
    viewed = ViewedStudy.open(study.path)
    chosen = {text: viewed.choose(f"{text}:1:swing").tolist() for text in ("best", "worst", "largest", "smallest")}
    assert chosen == {"best": [large], "worst": [small], "largest": [large], "smallest": [small]}
    assert viewed.assumed("best:1:swing") == "" == viewed.assumed("worst:3") == viewed.assumed("largest:1:late")
    assert "small late is taken as good" in viewed.assumed("best:1:late")
    members = members_of(study.xarray)
    assert [int(top(members, "swing", 1, end).rows[0]) for end in ("best", "worst")] == [large, small]
    assert top(members, "late", 1, "best").note == viewed.assumed("best:1:late")
    kept = study.xarray["trajectories"].to_dataset()["member"].values
    assert kept.tolist() == sorted(np.argsort(study.table["swing"].to_numpy(float), kind="stable")[:2].tolist())


ENDS = ("largest", "smallest", "best", "worst")
KEPT = [(words, end) for words in ("{}:2:late", "{}:2 by late", "") for end in ENDS]  # the last one is of a table


@pytest.mark.parametrize(("keep", "end"), without(KEPT, [*KEPT[5:7], *KEPT[8:11]]))
def test_what_is_kept_knows_every_ranking(keep: str, end: str, study: Study, tmp_path: Path) -> None:
    """Only `worst` and `best` were known, so that of a metric without a sense none could be kept by its numbers."""
    words = keep.format(end) if keep else {end: {"metric": "late", "count": 2}}
    metrics = {"late": {"of": "maximum(rocker_pivot.q)", "good": "large"}}
    definition = Definition("four_bar", metrics=metrics, keep=words, **WORDS)
    ran = sweep(definition, tmp_path / "late.zarr")
    order = np.argsort(study.table["late"].to_numpy(float), kind="stable")
    chosen = sorted((order[:2] if end in ("smallest", "worst") else order[-2:]).tolist())
    assert ran.xarray["trajectories"].to_dataset()["member"].values.tolist() == chosen
    assert study_file.read(study_file.write(definition, tmp_path / "late.toml")) == definition


def test_sweep_keeps_by_every_ranking(study: Study, tmp_path: Path) -> None:
    order = np.argsort(study.table["late"].to_numpy(float), kind="stable")
    words = ["--samples", str(MEMBERS), "--span", "0.3", "--step", "0.01", "--metric", "late=maximum(rocker_pivot.q)"]
    place = tmp_path / "run.zarr"
    ranked = ["--keep", "largest:3:late", "--out", str(place)]
    assert main(["sweep", "four_bar", "--vary", "crank:tip.T[0]=0.12:0.18~sobol", *words, *ranked]) == 0
    kept = xr.open_datatree(place, engine="zarr", consolidated=False)["trajectories"].to_dataset()["member"].values
    assert kept.tolist() == sorted(order[-3:].tolist())


def test_the_commands_say_what_they_assume(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    small, large = ends(study)
    place = str(study.path)
    for words in (["best:1:swing"], ["swing", "--best", "-n", "1"], ["largest:1:swing"]):
        assert main(["top", place, *words, "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["members"][0]["member"] == large and not err
    assert main(["top", place, "worst:1:late"]) == 0
    out, err = capsys.readouterr()
    assert "small late is taken as good" in err and out.startswith("worst late of 12 members (largest first)")
    for member, number in (("worst:1:swing", small), ("best:1:swing", large), (str(large), large)):
        assert main(["run", place, "--member", member, "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["metrics"]["swing"] == study.table["swing"][number]
        assert ("note:" in err) == (not member.isdecimal()) and "taken as good" not in err
    assert main(["run", place, "--member", "best:1:late", "--json"]) == 0
    assert "small late is taken as good" in capsys.readouterr().err
    for words in (["best:1:swing", "-n", "3"], ["best:1:swing", "--smallest"], ["best:1:swing of kept"], ["best:5"]):
        assert main(["top", place, *words]) == 2
        capsys.readouterr()


def test_a_store_of_a_complete_study_is_opened_once(study: Study, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, read = [], stored_study.store.read
    monkeypatch.setattr(stored_study.store, "read", lambda place: opened.append(place) or read(place))
    assert main(["run", str(study.path), "--member", "best:1:swing", "--json"]) == 0
    assert "member" in capsys.readouterr().err and opened == [study.path]


def test_the_report_names_the_best_end(study: Study, tmp_path: Path) -> None:
    page = study.report(tmp_path / "swing.html").read_text(encoding="utf-8")
    assert "best, largest" in page and "worst, smallest" in page and "best, smallest" not in page


@pytest.mark.parametrize(
    ("objective", "sense"),
    [
        ("swing", "small"),
        ("-swing", "large"),
        ("3 - swing / 2", "large"),
        ("-2 * swing", "large"),
        ("2 * -(swing - 1) / -3", "small"),
        ("(swing - 0.5) ** 2", ""),
        ("swing + late", ""),
    ],
)
def test_an_objective_implies_a_sense(objective: str, sense: str) -> None:
    metrics = {"swing": OF, "late": "final(rocker_pivot.q)"}
    definition = Definition("four_bar", metrics=metrics, optimize={"objective": objective}, **WORDS)
    assert definition.senses == ({"swing": sense} if sense else {})
    assert definition.measured["swing"] == ({"of": OF, "good": sense} if sense else OF)


def test_what_contradicts_itself_is_refused() -> None:
    good: dict[str, Any] = {"metrics": {"swing": {"of": OF, "good": "large"}}, **WORDS}
    small = {"best": {"metric": "swing", "count": 2, "good": "small"}}
    with pytest.raises(ModelError, match=r"keep.best.good: found small values of swing .* metrics.swing.good"):
        Definition("four_bar", keep=small, **good)
    with pytest.raises(ModelError, match=r"optimize.objective: found small values of swing"):
        Definition("four_bar", optimize={"objective": "swing"}, **good)
    assert Definition("four_bar", **{**good, "metrics": {"swing": OF}}, keep=small).senses == {"swing": "small"}
    figure = {"best": {"metric": "gap", "count": 2, "good": "large"}}  # of the certificate: of this choice only
    assert Definition("four_bar", keep=figure, **good).senses == {"swing": "large"}


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"good": "big"}, r"metrics.swing.good: found 'big'"),
        ({"limits": [1.0]}, r"metrics.swing.limits: found"),
        ({"limits": [2.0, 1.0]}, "Turn them round"),
        ({"limits": ["-inf", "inf"]}, "give one at least"),
        ({"limits": [0.0, "12 furlongs"]}, "unit 'furlongs'"),
        ({"limits": [0.0, True]}, r"limits\[1\]"),
    ],
)
def test_aims_that_are_none_are_refused(words: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        Definition("four_bar", metrics={"swing": {"of": OF, **words}}, **WORDS)


def test_a_limit_has_the_unit_of_its_metric_and_a_result_the_aim() -> None:
    metrics = {"swing": {"of": OF, "limits": [0, "12 mm"]}}
    with pytest.raises(ModelError, match="a unit of rad"):
        simulate("four_bar", span=0.1, metrics=metrics)
    words = {"kind": "peak_to_peak", "of": "rocker_pivot.q", "good": "small", "limits": (0.0, "30 deg")}
    result = simulate("four_bar", span=0.1, metrics={"swing": words, "other": OF})
    assert [*result.metric_aims] == ["swing"] and result.metric_aims["swing"].limits == (0.0, np.radians(30.0))
    assert result.metrics["swing"] == result.metrics["other"]
    assert result.metric_texts["swing"] == "kind='peak_to_peak', of='rocker_pivot.q'"


def test_the_keys_of_a_metric_are_read_as_they_were_written(tmp_path: Path) -> None:
    metrics = {"swing": {"of": OF, "good": "large", "limits": [0.1, "40 deg"]}}
    definition = Definition("four_bar", metrics=metrics, **WORDS)
    assert study_file.read(study_file.write(definition, tmp_path / "study.toml")) == definition


def test_largest_and_smallest_leave_failed_members_last() -> None:
    columns = {"status": np.array([0, 1, 0, 0]), "gap": np.array([3.0, 9.0, 1.0, 2.0])}
    choices = Choices(4, np.zeros(0, int), columns)
    assert choices.choose("worst:1:gap").tolist() == [1] and choices.choose("largest:4:gap").tolist() == [0, 3, 2, 1]
    assert choices.choose("smallest:2:gap of 0,1,3").tolist() == [3, 0]

"""The studies of the library: each is checked without a word, runs, and finds what is known of its mechanism."""

from __future__ import annotations

import dataclasses
import gc
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import shiftjax.models as library
from shiftjax.cli import main
from shiftjax.ensembles import sweep
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError

FEW = 8
DRAWN = 1e-6  # m: of the target points, which are rounded to 1e-9, and of straight lines between the ends of steps
MASSES = [f"bricard:rod{k}.mass" for k in range(1, 6)]


def nominal(definition: Definition) -> Definition:
    """One member, the middle of all that varies; the program is the same."""
    middle = {v.path: [v.low if v.distribution == "normal" else (v.low + v.high) / 2] for v in definition.varied}
    return dataclasses.replace(definition, vary=middle, samples=None)


def few(name: str, **more: object) -> Definition:
    return dataclasses.replace(study_file.read(library.study(name)), samples=FEW, **more)


def columns(study: Study) -> dict[str, np.ndarray]:
    """The numbers of the table, (members,) each."""
    return {str(name): study.table[name].to_numpy() for name in study.table.columns}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory):
    """Each study with few members, run once."""
    folder, done = tmp_path_factory.mktemp("studies"), dict[str, Study]()

    def of(name: str) -> Study:
        if name not in done:
            done[name] = sweep(few(name), folder / f"{name}.zarr")
        return done[name]

    return of


def test_the_library_names_its_studies() -> None:
    assert {path.stem for path in (library.FOLDER / "studies").iterdir()} == set(library.STUDIES)
    assert library.study("vehicle_ride").is_file()
    with pytest.raises(KeyError):
        library.study("vehicle_rid")


@pytest.mark.parametrize("name", library.STUDIES)
def test_a_study_is_found_by_its_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of that name goes first."""
    monkeypatch.chdir(tmp_path)
    assert study_file.read(f"{name}.toml") == study_file.read(name) == study_file.read(library.study(name))
    with pytest.raises(ModelError):
        study_file.read(f"{name}s.toml")
    with pytest.raises(ModelError):
        study_file.read(f"sub/{name}.toml")
    Path(f"{name}.toml").write_text('model = "four_bar"\nspan = 0.1\n')
    assert study_file.read(f"{name}.toml").span == 0.1


@pytest.mark.parametrize("name", library.STUDIES)
def test_check_has_nothing_to_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", f"{name}.toml"]) == 0
    out = capsys.readouterr().out
    assert f"{name}.toml: valid; " in out
    assert not [line for line in out.splitlines() if line.startswith(("note", "warning", "refused"))]


def test_the_command_line_and_sweep_find_a_study_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "bricard_tolerances.toml", "--samples", str(FEW), "--out", "loop.zarr"]) == 0
    np.testing.assert_array_equal(Study("loop.zarr").table["turn"], ran("bricard_tolerances").table["turn"])


@pytest.mark.parametrize("name", library.STUDIES)
def test_a_study_runs(name: str, ran) -> None:
    """Every metric of every member that finished is a number, and what was to be kept is."""
    study = ran(name)
    assert study.complete and study.members == FEW
    finished = study.table[study.table["status"] == "ok"]
    locks = name in ("four_bar_coupler_curve", "path_synthesis")
    assert len(finished) >= FEW // 2 if locks else len(finished) == FEW, Counter(study.table["status"])
    assert set(study.table["status"]) <= {"ok", "locked"}
    assert np.isfinite(finished[list(study.definition.metrics)].to_numpy(float)).all()
    assert set(study.xarray["trajectories"].data_vars)
    assert finished["energy_error"].max() < 1e-4 and finished["start_change"].max() == 0


# -- what is known


def test_the_known_design_draws_the_curve(ran) -> None:
    lengths = {"crank:tip.T[0]": [0.16], "coupler:tip.T[0]": [0.46], "rocker:tip.T[0]": [0.42]}
    study = sweep(dataclasses.replace(few("four_bar_coupler_curve"), vary=lengths, samples=None))
    assert columns(study)["distance"][0] < DRAWN
    assert np.nanmin(columns(ran("four_bar_coupler_curve"))["distance"]) > 1000 * DRAWN


def test_exactly_the_cranks_that_cannot_turn_lock() -> None:
    """Grashof: the crank turns where the four lengths close in both of its poses along the ground."""
    table = columns(sweep(dataclasses.replace(few("four_bar_coupler_curve"), samples=48)))
    crank, coupler, rocker = (table[f"four_bar:{name}:tip.T[0]"] for name in ("crank", "coupler", "rocker"))
    turns = (crank + 0.5 < coupler + rocker) & (abs(0.5 - crank) > abs(coupler - rocker))
    assert 4 < turns.sum() < 44
    assert (turns == (table["status"] == "ok")).all()


def test_the_suspension_without_tolerances_is_between_those_with(ran) -> None:
    table = columns(ran("vehicle_ride"))
    figures = sweep(nominal(few("vehicle_ride"))).table.iloc[0]
    for name in ("travel", "camber", "peak_moment", "ball_force"):
        assert table[name].min() < figures[name] < table[name].max()
    assert ((table["travel"] > 0.046) & (table["travel"] < 0.050)).all()


def test_a_longer_arm_reaches_further(ran) -> None:
    table = columns(ran("excavator_digging_reach"))
    arm = table["excavator:boom:tip.T[0]"] + table["excavator:stick:tip.T[0]"]
    assert np.corrcoef(arm, table["reach"])[0, 1] > 0.5
    assert (table["reach"] < 0.3 + arm + 1.1).all()  # the pivot of the boom, and the bucket


def test_the_perfect_robot_is_where_it_should_be(ran) -> None:
    figures = sweep(nominal(few("delta_workspace_accuracy"))).table.iloc[0]
    assert figures["deviation"] < 1e-8 and figures["tilt"] < 1e-8  # m, of target points rounded to 1e-9; rad
    table = columns(ran("delta_workspace_accuracy"))
    assert (table["deviation"] > 1e-5).all() and (table["deviation"] < 1e-3).all()


def test_the_swing_depends_on_no_common_factor_of_the_masses() -> None:
    """Gravity and inertia grow alike; rods that differ by no factor swing otherwise."""
    factors, definition = np.array([0.5, 1.0, 2.0]), few("bricard_tolerances")
    formulas = {path: f"{{{MASSES[0]}}}" for path in MASSES[1:]}
    alike = {"vary": {MASSES[0]: factors.tolist()}, "samples": None, "derive": {**definition.derive, **formulas}}
    table = sweep(dataclasses.replace(definition, **alike)).table
    np.testing.assert_allclose(table["turn"], table["turn"][1], rtol=1e-9)
    np.testing.assert_allclose(table["kinetic"] / factors, table["kinetic"][1], rtol=1e-9)
    alike["derive"] = definition.derive
    assert np.ptp(sweep(dataclasses.replace(definition, **alike)).table["turn"]) > 0.01


def test_a_rod_of_another_length_keeps_the_loop_from_closing() -> None:
    longer = dataclasses.replace(few("bricard_tolerances"), vary={"rod1:tip.T[0]": [1.0, 1.001]}, samples=None)
    assert list(sweep(longer).table["status"]) == ["ok", "not_assembled"]


def test_a_temporary_store_goes_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = sweep(Definition("pendulum", span=0.01, keep="none"))
        folder = study.path
        assert folder.exists()
        del study
        gc.collect()
    assert not folder.exists()

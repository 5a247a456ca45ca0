"""Studies whose steps a tolerance chooses: stored, resumed, repeated to the last bit, told by reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.progress import StudyProgress
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.optimization.trail_process import _clock
from shiftjax.ensembles.store import store
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.run.simulate import simulate
from tests.support.sweeps import assert_same

ROUNDED = 1e-14  # relative, of a metric in other code
TOLERANCE, SPAN, MEMBERS, SIZE = 1e-8, 0.5, 12, 4
SPEED = "crank_pivot.initial_velocity"
WORDS: dict[str, Any] = {
    "model": "four_bar",
    "vary": {SPEED: "2:9~sobol"},
    "samples": MEMBERS,
    "span": SPAN,
    "tolerance": TOLERANCE,
    "output_step": 0.1,
    "channels": ["rocker_pivot.q"],
    "metrics": {"swing": "peak_to_peak(rocker_pivot.q)"},
    "keep": "every 3",
}


@pytest.fixture(scope="module")
def definition() -> Definition:
    return Definition(**WORDS)


@pytest.fixture(scope="module")
def stored(definition: Definition, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tolerance") / "study.zarr"
    sweep(definition, place, shard=SIZE)
    return place


def test_members_take_steps_of_their_own_and_are_those_of_runs(stored: Path) -> None:
    rows = Study(stored).xarray["members"].to_dataset()
    assert json.loads(Study(stored).xarray.attrs["settings"])["tolerance"] == TOLERANCE
    assert len(set(rows["steps"].values.tolist())) > 3 and (rows["status"] == 0).all()
    speed = next(values for values in rows.data_vars.values() if str(values.attrs.get("path", "")).endswith(SPEED))
    alone = simulate("four_bar", SPAN, tolerance=TOLERANCE, output_step=0.1, vary={SPEED: speed.values[[5]]})
    assert alone.certificate["steps"][0] == rows["steps"].values[5]
    assert alone.certificate["energy_error"][0] == rows["energy_error"].values[5]


def test_one_that_was_stopped_goes_on_to_the_same_bits(stored: Path, definition: Definition, tmp_path: Path) -> None:
    def stop(progress: StudyProgress) -> None:
        if progress.done >= SIZE:
            raise KeyboardInterrupt

    place = tmp_path / "stopped.zarr"
    with pytest.raises(KeyboardInterrupt):
        sweep(definition, place, shard=SIZE, progress=stop)
    assert np.asarray(Study(place).xarray["members"]["status"].values).any()
    assert_same(sweep(definition, place, resume=True).path, stored)


def test_members_run_again_as_they_were(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the process of the viewer, one that was kept and one that was not, and by the command."""
    (repeated,) = again(stored, [3, 4])
    assert repeated.differences == ("", "")
    assert np.isfinite(repeated.trajectories["pose"].values).all()
    rows = Study(stored).xarray["members"].to_dataset()
    assert main(["run", str(stored), "--member", "4", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["certificate"]["steps"] == rows["steps"].values[4]
    assert printed["certificate"]["energy_error"] == rows["energy_error"].values[4]
    # The command measures extremes of channels in the same code, which rounds otherwise where it is divided otherwise.
    assert printed["metrics"]["swing"] == pytest.approx(rows["swing"].values[4], rel=ROUNDED)
    assert main(["run", str(stored), "--member", "4", "--tolerance", "1e-6"]) == 2
    assert "--tolerance: found with --member" in capsys.readouterr().err


def test_a_report_says_the_tolerance_in_place_of_a_step(stored: Path, tmp_path: Path) -> None:
    assert main(["report", str(stored), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "0.5 s with a tolerance of 1e-08" in page and "1 ms" not in page and "0.001 s" not in page


def test_a_file_says_it_and_an_option_takes_its_place(definition: Definition, tmp_path: Path) -> None:
    """A step on the command line takes the place of the file's tolerance, and the other way round."""
    file = study_file.write(definition, tmp_path / "study.toml")
    assert "tolerance = 1e-8" in file.read_text() or "tolerance = 1e-08" in file.read_text()
    assert study_file.read(file).settings == definition.settings
    for option, value in (("--step", "0.001"), ("--tolerance", "1e-6")):
        changed = tmp_path / f"changed{option}.toml"
        assert main(["sweep", str(file), option, value, "--write", str(changed)]) == 0
        read = study_file.read(changed)
        assert (read.step, read.tolerance) == ((0.001, None) if option == "--step" else (None, 1e-6))


def test_a_sweep_of_a_model_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "sweep.zarr"
    words = ["sweep", "four_bar", "--vary", f"{SPEED}=2:9:3", "--span", "0.2", "--tolerance", "1e-7"]
    assert main([*words, "--out", str(place)]) == 0
    assert "tolerance 1e-07, dopri5" in capsys.readouterr().out
    assert json.loads(store.read(place).attrs["settings"])["tolerance"] == 1e-7
    (repeated,) = again(place, [0, 2])
    assert repeated.differences == ("", "")


def test_slopes_are_taken_with_its_tolerance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside differences of runs with a tighter one."""
    speeds, step = np.array([3.0, 6.0]), 1e-3
    words = {"model": "four_bar", "vary": {SPEED: speeds.tolist()}, "span": 0.3, "tolerance": 1e-9, "keep": "none"}
    sweep(Definition(**words, metrics={"mean": "mean(rocker_pivot.q)"}), tmp_path / "study.zarr")
    assert main(["sensitivity", str(tmp_path / "study.zarr"), "--json"]) == 0
    (slopes,) = json.loads(capsys.readouterr().out)["slopes"]
    given = {"tolerance": 1e-11, "metrics": {"mean": "mean(rocker_pivot.q)"}}
    up, down = (simulate("four_bar", 0.3, vary={SPEED: speeds + side * step}, **given) for side in (1, -1))
    differences = (up.metrics["mean"] - down.metrics["mean"]) / (2 * step)
    ends = [slopes["smallest"], slopes["largest"]]
    assert ends == pytest.approx(sorted(differences), rel=1e-5), "of second order in the step"


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"tolerance": 0.0}, "tolerance: found 0"),
        ({"tolerance": "fine"}, "tolerance: found 'fine'"),
        ({"step": 1e-3}, "step: found 0.001 s and a tolerance"),
        ({"method": "rk4"}, "method: found 'rk4', whose steps are fixed, with a tolerance; allowed: dopri5"),
        ({"method": "dopri5", "tolerance": None}, "method: found 'dopri5', which controls its step size"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_runs(more: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        Definition(**{**WORDS, **more})


def test_designs_of_an_optimisation_are_shown_with_its_tolerance() -> None:
    """Instants as near as with a step, which is not given then."""
    fixed = _clock(2.0, None, chosen=False)
    assert _clock(2.0, None, chosen=True) == {"output_step": fixed["output_step"]} and "step" in fixed

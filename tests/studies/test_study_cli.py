"""`shiftjax sweep STUDY.toml`, `run STORE --member`, and what the options change of a study."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.store import store

STUDY = """
model = "four_bar"
span = 0.2
step = 1e-3
output_step = 0.1
samples = 24
channels = ["rocker_pivot.q"]
[vary]
"coupler.mass" = "0.5:2~sobol"
"coupler:tip.T[0]" = "0.35:0.45~uniform"
[metrics]
swing = "peak_to_peak(rocker_pivot.q)"
[keep]
members = [2]
best = { metric = "swing", count = 2 }
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "swing.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study and its store, which no test changes."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "swing.toml").write_text(STUDY)
    assert main(["sweep", str(folder / "swing.toml"), "--out", str(folder / "swing.zarr")]) == 0
    return folder


@pytest.fixture
def swept(stored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder, in which a command runs."""
    monkeypatch.chdir(stored)
    return stored


def column(path: str | Path, name: str) -> np.ndarray:
    """A column of the table of a store."""
    return np.asarray(store.read(path)["members"].to_dataset()[name])


def test_a_study_is_run_told_and_stored(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables on stdout, the store beside; the trajectories are those of the keep block."""
    assert main(["sweep", str(study)]) == 0
    out = capsys.readouterr().out
    tree = store.read("swing.zarr")
    swing = column("swing.zarr", "swing")
    line = next(line.split() for line in out.splitlines() if line.startswith("swing "))
    assert line[1:] == [f"{swing.min():.6g}", str(swing.argmin()), f"{np.median(swing):.6g}", f"{swing.max():.6g}",
                        str(swing.argmax()), "rad"]  # fmt: skip
    wanted = np.union1d([2], np.argsort(swing)[:2])
    np.testing.assert_array_equal(tree["trajectories"].to_dataset()["member"].values, wanted)
    assert tree["trajectories"].to_dataset()["rocker_pivot.q"].shape == (3, 3)


def test_options_override_a_study(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path of an option takes the place of that path, other paths stay."""
    words = ["--vary", "coupler.mass=1:2:3", "--metric", "mean=mean(rocker_pivot.q)", "--samples", "2", "--json"]
    assert main(["sweep", str(study), *words, "--out", "other.zarr"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["members"] == 6 and set(told["metrics"]) == {"swing", "mean"}
    masses = column("other.zarr", "four_bar:coupler.mass")
    np.testing.assert_array_equal(masses, np.repeat([1.0, 1.5, 2.0], 2))


def test_a_member_runs_again_as_it_was(swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same bits, with a channel more."""
    swing, place = column("swing.zarr", "swing"), tmp_path / "seven.zarr"
    words = ["run", "swing.zarr", "--member", "7", "--channel", "crank_pivot.v", "--json", "--out", str(place)]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["metrics"]["swing"] == swing[7] and set(told["channels"]) == {"rocker_pivot.q", "crank_pivot.v"}
    # stored as a study of one member, with its design
    mass = "four_bar:coupler.mass"
    assert column(place, mass).tolist() == [column("swing.zarr", mass)[7]]


def test_a_member_that_was_only_assembled_runs_no_step(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same start as in the study, its channels at the only instant."""
    study.write_text(STUDY.replace("peak_to_peak", "final").replace("samples", "assemble_only = true\nsamples"))
    assert main(["sweep", str(study)]) == 0
    swing = column("swing.zarr", "swing")
    capsys.readouterr()
    words = ["run", "swing.zarr", "--member", "7", "--channel", "crank_pivot.q"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["metrics"]["swing"] == swing[7] and told["certificate"]["steps"] == 0
    assert main(words) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    (line,) = [row for row in rows if row[:1] == ["rocker_pivot.q"]]
    assert line[1:5] == [f"{swing[7]:.6g}"] * 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "four_bar", "--vary", "coupler.mass=1:2:3", "--resume"], "--resume"),
        (["run", "swing.zarr", "--member", "24"], "from 0 to 23"),
        (["run", "swing.toml", "--member", "2"], "no study"),
        (["run", "swing.zarr", "--member", "2", "--span", "1"], "--span"),
        (["run", "swing.zarr", "--member", "2", "--drive", "crank_pivot=1"], "--drive"),
        (["sweep", "swing.toml"], "a new name"),
        (["sweep", "swing.toml", "--resume", "--samples", "9"], "another study"),
        (["sweep", "swing.toml", "--out", "x.csv"], "NAME.zarr"),
        (["sweep", "swing.toml", "--picture", "x.png"], "report"),
    ],
)
def test_what_cannot_be_is_refused(
    swept: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err

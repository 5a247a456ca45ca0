"""What can go wrong with a result on disk: damage is named, refusals come before the run, and nothing is left about."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import shiftjax.run.memory as memory
from shiftjax.cli import main
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.replacing import beside, replacing
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.run.results.labelled import MISSING, ORDER, to_tree
from shiftjax.run.results.log_table import entries
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

PATH = "model_parameters.gravity[0]"
SWEEP = ("sweep", "pendulum", "--vary", f"{PATH}=-1:1:8", "--span", "0.2", "--output-step", "1e-3", "--channel")
CHANNELS = ("energy.total", "energy.kinetic")


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate("pendulum", 0.1, vary={PATH: np.linspace(-1, 1, 8)}, channels=CHANNELS, keep="all")


@pytest.fixture
def stored(result: Result, tmp_path: Path) -> Path:
    return store.write(result, tmp_path / "study.zarr")


def chunks(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "zarr.json")


def read_all(path: Path) -> None:
    """Every number of a stored result."""
    tree = store.read(path)
    for node in tree.subtree:
        for variable in node.variables.values():
            _ = variable.values
    entries(tree)


def test_every_damaged_chunk_is_named(stored: Path) -> None:
    """With one bit that is not as it was, and lost or cut short: of every array."""
    read_all(stored)
    arrays = {path.relative_to(stored).as_posix().partition("/c/")[0] for path in chunks(stored)}
    assert {"members/status", "members/message", "trajectories/pose", "trajectories/time"} <= arrays
    rng = np.random.default_rng(5)
    for k, chunk in enumerate(chunks(stored)):
        before, array = chunk.read_bytes(), chunk.relative_to(stored).as_posix().partition("/c/")[0]
        place = int(rng.integers(len(before)))
        flipped = before[:place] + bytes([before[place] ^ 1 << int(rng.integers(8))]) + before[place + 1 :]
        for after in ((None, before[: len(before) // 2], before[:2])[k % 3], flipped):
            chunk.unlink() if after is None else chunk.write_bytes(after)
            with pytest.raises(ModelError, match=f"array {re.escape(array)}, chunk 0.*: found a chunk that is"):
                read_all(stored)
            chunk.write_bytes(before)
    read_all(stored)


def test_nothing_that_is_lost_reads_as_good_elsewhere(stored: Path) -> None:
    """Readers that do not know checksums see values that no good result has."""
    for chunk in chunks(stored):
        chunk.unlink()
    tree = xr.open_datatree(stored, engine="zarr")
    assert MISSING not in set(Outcome)
    for group in ("members", "trajectories"):
        for name, variable in tree[group].data_vars.items():
            lost = variable.values
            good = (
                np.isfinite(lost) if lost.dtype.kind == "f" else lost == "" if lost.dtype.kind in "OUT" else lost >= 0
            )
            assert not good.any(), name


def test_others_open_it_without_a_warning_and_in_one_order(stored: Path, result: Result) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = xr.open_datatree(stored, engine="zarr")
        assert xr.open_zarr(stored, group="members").sizes == {"member": 8}
    own = [str(name) for name in store.read(stored)["members"].data_vars]
    assert own == [PATH, "status", "message", *result.certificate]
    assert list(store.read(stored)["trajectories"].data_vars) == [*CHANNELS, "pose"]
    assert sorted(map(str, plain["members"].data_vars)) == sorted(own)


def test_a_store_of_the_second_version_is_still_read(result: Result, tmp_path: Path) -> None:
    """It has no checksums, no notes and no order."""
    groups = dict(to_tree(result).to_dict())
    groups["/"].attrs["format_version"] = 2
    del groups["/"].attrs["notes"]
    for dataset in groups.values():
        dataset.attrs.pop(ORDER, None)
    xr.DataTree.from_dict(groups).to_zarr(tmp_path / "old.zarr", zarr_format=3, consolidated=False)
    tree = store.read(tmp_path / "old.zarr")
    assert (tree["members"].to_dataset()["status"].values == 0).all() and tree["trajectories/pose"].shape == (
        8,
        11,
        1,
        7,
    )


def test_two_at_once_do_not_replace_each_other(result: Result, tmp_path: Path) -> None:
    one = simulate("pendulum", 0.1)
    for name, mine in (("study.zarr", result), ("run.json", one), ("run.csv", one)):
        target = tmp_path / name
        with pytest.raises(ModelError, match="something of that name"), replacing(target, force=False) as draft:
            {".zarr": store._write_zarr, ".json": store._write_json, ".csv": store._write_csv}[target.suffix](
                mine, draft, "all"
            )
            (tmp_path / "else").mkdir(exist_ok=True)
            first = store.write(mine, tmp_path / "else" / name, force=True)
            first.rename(target)
        assert target.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    read_all(tmp_path / "study.zarr")


def test_drafts_of_the_dead_are_removed(result: Result, tmp_path: Path) -> None:
    target = tmp_path / "study.zarr"
    with subprocess.Popen(["true"]) as child:
        dead = child.pid
    host = socket.gethostname()
    names = {f".study.zarr.{who}@{where}.draft" for who in (dead, os.getppid()) for where in (host, "elsewhere")}
    for name in (*names, f".other.zarr.{dead}@{host}.draft"):
        (tmp_path / name / "members").mkdir(parents=True)
    store.write(result, target)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == (names | {target.name, f".other.zarr.{dead}@{host}.draft"}) - {f".study.zarr.{dead}@{host}.draft"}
    target.rename(tmp_path / f".study.zarr.{dead}@{host}.old")  # it died between the two renames of a forced write
    with pytest.raises(ModelError, match="something of that name"):
        store.check_target(target, force=False, batched=True)
    read_all(target)
    assert beside(target, "draft").name == f".study.zarr.{os.getpid()}@{host}.draft"


# -- refused before, or told after the table

REFUSED = [
    (["--out", "/proc/study.zarr"], "a folder that cannot be written to"),
    (["--out", ""], "suffix ''"),
    (["--picture", ""], "suffix ''"),
    (["--threads", "0"], "'0' is not a whole number from 1"),
    (["--set", f"{PATH}=1"], "a value for all members and varied values"),
    (["--output-step", "1e-12", "--step", "1e-12"], "a run that takes about"),
]


@pytest.mark.parametrize(("words", "match"), REFUSED)
def test_refused_before_the_run(words: list[str], match: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SWEEP, "energy.total", *words]) == 2
    out, err = capsys.readouterr()
    assert match in err and not out and "Traceback" not in err


def test_memory_is_estimated_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[memory.Need] = []
    given: dict[str, Any] = {"vary": {PATH: np.zeros(1000)}, "output_step": 1e-3, "channels": ["energy.total"]}
    simulate("pendulum", 0.1, 1e-3, announce=told.append, keep=10, **given)
    need = told[0]
    assert need.recorded == pytest.approx(2 * 8 * 1000 * 101, rel=0.01), "channels by the kernel and in the result"
    assert need.stored == pytest.approx(8 * (10 * 101 * 8 + 1000 * 11), rel=0.01)
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   2000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    assert memory.free_memory() <= 2_048_000
    with pytest.raises(ModelError, match=r"takes about .*2\.0 MB, free.*larger output step"):
        simulate("pendulum", 0.1, 1e-3, **given)
    (tmp_path / "max").write_text("300\n")
    (tmp_path / "now").write_text("100\n")
    monkeypatch.setattr(memory, "GROUPS", ((str(tmp_path / "max"), str(tmp_path / "now")), ("no", "such")))
    assert memory.free_memory() == 200
    monkeypatch.setattr(memory, "GROUPS", ())
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "nowhere")
    assert memory.free_memory() == np.inf, "where nobody knows, nothing is refused"
    monkeypatch.undo()
    with pytest.raises(ModelError, match=r"MB free there; allowed: 1000000000000 MB.*--keep"):
        store.refuse_no_room(tmp_path / "study.zarr", 1e18)


def test_a_write_that_fails_is_told_after_the_table(tmp_path: Path) -> None:
    """The system refuses files above a size, as it does where a disk is full."""
    words = [*SWEEP, "energy.total", "--keep", "all", "--out", str(tmp_path / "study.zarr")]
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000)); import shiftjax.__main__"
    # -B: Python would leave bytecode that is cut off at the limit, which no later import can read.
    done = subprocess.run([sys.executable, "-B", "-c", limited, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "8 members: 8 ok" in done.stdout and "Traceback" not in done.stderr
    assert "it cannot be written (File too large)" in done.stderr and "Nothing of it is left" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)], check=False).returncode:
        pytest.skip("no mount here")
    try:
        with pytest.raises(ModelError, match=r"0 MB are free there; allowed: room for the whole result"):
            store.write(simulate("pendulum", 1.0, output_step=1e-3, keep="all"), tmp_path / "run.zarr")
        assert not list(tmp_path.iterdir())
        with pytest.raises(ModelError, match=r"0 MB free there; allowed: 0 MB, which the result may take"):
            store.refuse_no_room(tmp_path / "run.zarr", 1e5)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


# -- settings and notes


def test_a_store_and_json_tell_what_was_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "four_bar", "--vary", f"{PATH}=0:1", "--samples", "3", "--seed", "4", "--span", "0.05"]
    words += ["--set", "coupler.mass=2", "--hold", "crank_pivot", "--threads", "1"]
    assert main([*words, "--json", "--out", str(tmp_path / "study.zarr")]) == 0
    asked = {"vary": [f"{PATH}=0:1"], "samples": 3, "seed": 4, "hold": ["crank_pivot"], "assign": {"coupler.mass": 2.0}}
    asked |= {"independent": [], "drive": {}}

    found = json.loads(capsys.readouterr().out)
    about = store.read(tmp_path / "study.zarr").attrs
    for settings, notes in ((found["settings"], found["notes"]), map(json.loads, (about["settings"], about["notes"]))):
        assert {key: settings[key] for key in asked} == asked and isinstance(notes, list)

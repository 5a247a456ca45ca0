"""What a study says of its members' errors: the same in any shards, and of a member that runs again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store.store import read
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError

MEMBERS = 24
CERTIFICATE = ("angle_error", "energy_error", "gap", "status")


def swings(**more: Any) -> Definition:
    """Double pendulums, some of which are chaotic."""
    vary = {path: "-6:6~uniform" for path in ("shoulder.initial_velocity", "elbow.initial_velocity")}
    return Definition("double_pendulum", vary, MEMBERS, span=12.0, metrics={"end": "final(elbow.q)"}, keep=4, **more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """All members in one shard."""
    return sweep(swings(), tmp_path_factory.mktemp("study") / "whole.zarr")


def test_shards_of_any_size_say_the_same(whole: Study, tmp_path: Path) -> None:
    """The growth of errors is measured once, of a sample of the study, when it begins."""
    parts = sweep(swings(), tmp_path / "parts.zarr", shard=5)
    statuses = whole.table["status"].astype(str).to_numpy()
    assert {"ok", "inaccurate"} <= set(statuses), "some are chaotic"
    for name in CERTIFICATE:
        np.testing.assert_array_equal(parts.table[name].to_numpy(), whole.table[name].to_numpy())
    growths = [group["error_growth"] for study in (whole, parts) for group in study.groups]
    assert growths[0] == growths[1] > 100.0


def test_members_that_run_again_have_the_figures_that_are_stored(whole: Study) -> None:
    (repeated,) = again(whole.path, [0, 3, 11, 23])
    assert repeated.differences == ("",) * 4
    member = whole.member(3)
    assert member.certificate["angle_error"][0] == whole.table["angle_error"][3]


def test_an_ensemble_and_its_store_have_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The settings of a stored result say its growth."""
    store = str(tmp_path / "run.zarr")
    words = ["--vary", "shoulder.initial_velocity=2:6:12", "--span", "12", "--keep", "none", "--out", store]
    assert main(["sweep", "double_pendulum", *words]) == 0
    capsys.readouterr()
    (repeated,) = again(store, [1, 11])
    assert repeated.differences == ("", "")
    assert json.loads(read(store).attrs["settings"])["error_growth"] >= 10.0


def test_a_study_says_what_its_errors_rest_on(whole: Study, tmp_path: Path) -> None:
    """By its key: of chaotic members a local estimate says nothing."""
    local, every = (sweep(swings(accuracy=word), tmp_path / f"{word}.zarr") for word in ("local", "all"))
    assert set(local.table["status"]) == {"ok"} and local.groups[0]["error_growth"] is None
    measured, said = every.table["angle_error"].to_numpy(), whole.table["angle_error"].to_numpy()
    doubted = said > 1e-3
    assert doubted.any() and (measured[doubted] == said[doubted]).all()
    with pytest.raises(ModelError, match="accuracy: found 'some'; allowed: local, sampled, all"):
        swings(accuracy="some")

"""Where a store is: reached by a link, moved away while it is written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shiftjax.ensembles.execution.progress import StudyProgress
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store import study_store
from shiftjax.errors import ModelError
from tests.support.sweeps import SIZE, assert_same, study

pytestmark = pytest.mark.usefixtures("small_shards")


def lock_of(place: Path) -> Path:
    return place.with_name(f".{place.name}.lock")


def test_a_store_reached_by_a_link_has_one_writer(whole: Path, tmp_path: Path) -> None:
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    link = place.with_name("link.zarr")
    link.symlink_to(place.name)
    with (
        study_store.locked(place),
        pytest.raises(ModelError, match=f"process {os.getpid()}@.*one at a time"),
        study_store.locked(link),
    ):
        pass
    with study_store.locked(link):
        assert lock_of(place).exists() and not lock_of(link).exists()


def test_a_folder_that_is_renamed_while_it_runs(whole: Path, tmp_path: Path) -> None:
    """One clear error; nothing begins in its place, and under its new name it goes on."""
    place, moved = tmp_path / "study.zarr", tmp_path / "moved.zarr"

    def rename(progress: StudyProgress) -> None:
        if progress.done >= 2 * SIZE and not moved.exists():
            place.rename(moved)

    match = r"study\.zarr: found that its folder was moved.*Resume it under its new name"
    with pytest.raises(ModelError, match=match):
        sweep(study(), place, progress=rename)
    assert [path.name for path in tmp_path.iterdir()] == [moved.name]
    assert len(study_store.done(moved)) >= 2
    sweep(study(), moved, resume=True)
    assert_same(moved, whole)

"""F14: damage of a finished store: each is named when it is read, and mended by `--verify`, or nothing changes."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store import checksums, store, study_store
from shiftjax.ensembles.stored_study import Study
from shiftjax.errors import ModelError
from tests.support.complete import part
from tests.support.damages import KINDS, damage, reads_alike
from tests.support.sweeps import assert_same, files, study

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_named_and_mended(whole: Path, tmp_path: Path, kind: str) -> None:
    """All of `benchmarks/store_damage.py` but fewer; what is mended is the study that nothing damaged."""
    rng, place = random.Random(f"store {kind}"), shutil.copytree(whole, tmp_path / "study.zarr")
    for _ in range(part(2, 1)):
        what = damage(place, rng, kind)
        reads_alike(place, whole)
        assert sweep(study(), place, resume=True, verify=True).complete, what
        assert_same(place, whole)


@pytest.mark.parametrize("name", ["zarr.json", "members/swing/zarr.json", "trajectories/zarr.json"])
def test_damaged_metadata_is_one_clear_error(whole: Path, tmp_path: Path, name: str) -> None:
    """Changed where it can be read, and where it cannot; lost; that of another array."""
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    good = (place / name).read_bytes()
    other = (place / "members/late/zarr.json").read_bytes()
    changed = json.dumps(json.loads(good) | {"zarr_format": 2}).encode()
    for bad in (changed, good[: len(good) // 2], b"", b"\xff\x00", other):
        (place / name).write_bytes(bad)
        with pytest.raises(ModelError, match=rf"study\.zarr: {name}: found metadata that is not .*--resume --verify"):
            store.read(place)
        with pytest.raises(ModelError, match=rf"{name}: found metadata that is not as it was written"):
            Study(place).member(0)
    if name != "zarr.json":
        (place / name).unlink()
        with pytest.raises(ModelError, match=rf"{name}: found metadata that is missing"):
            store.read(place)


def test_a_changed_span_is_no_other_run(whole: Path, tmp_path: Path) -> None:
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    root = place / "zarr.json"
    text = root.read_text(encoding="utf-8")
    assert '\\"span\\": 0.05' in text
    root.write_text(text.replace('\\"span\\": 0.05', '\\"span\\": 0.06'), encoding="utf-8")
    with pytest.raises(ModelError, match="metadata that is not as it was written"):
        Study(place).member(7)


def test_two_chunks_that_changed_places_are_seen(whole: Path, tmp_path: Path) -> None:
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    one, other = (place / "members" / "swing" / "c" / str(k) for k in (2, 3))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    with pytest.raises(
        ModelError, match=r"array members/swing, chunk [23]: found a chunk that is not as it was written"
    ):
        _ = Study(place).table


def test_an_empty_mark_reads_as_not_done(whole: Path, tmp_path: Path) -> None:
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    (place / study_store.DONE / "c" / "3").write_bytes(b"")
    marks = store.read(place)["shards"].to_dataset()["done"].values
    assert marks[3] == 0 and marks.sum() == len(marks) - 1


def test_a_root_that_is_lost_comes_back_for_its_own_study_only(whole: Path, tmp_path: Path) -> None:
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    (place / "zarr.json").unlink()
    with pytest.raises(ModelError, match="the store of another study"):
        sweep(study(seed=1), place, resume=True, verify=True)
    shards = place / "shards" / "zarr.json"
    good = shards.read_bytes()
    shards.write_bytes(good[:9])
    with pytest.raises(ModelError, match=r"metadata that is lost or damaged; .* run anew"):
        sweep(study(), place, resume=True, verify=True)
    shards.write_bytes(good)
    sweep(study(), place, resume=True, verify=True)
    assert_same(place, whole)


def test_stores_of_the_third_format_are_read(whole: Path, tmp_path: Path) -> None:
    """Theirs are checksums of chunks without their names, and none of metadata."""
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    for path in (path for path in place.rglob("*") if path.is_file()):
        key = path.relative_to(place).as_posix()
        if path.name == "zarr.json":
            document = json.loads(path.read_bytes())
            for name in (checksums.CHECKSUM, checksums.CONTENTS):
                document["attributes"].pop(name, None)
            if key == "zarr.json":
                document["attributes"]["format_version"] = 3
            path.write_text(json.dumps(document))
        elif not key.startswith("shards/"):
            body = path.read_bytes()[: -checksums.CRC].removesuffix(checksums._frame(key))
            path.write_bytes(body + checksums._crc(body))
    before = files(place)
    assert Study(place).table.equals(Study(whole).table)
    assert sweep(study(), place, resume=True, verify=True).complete and files(place) == before

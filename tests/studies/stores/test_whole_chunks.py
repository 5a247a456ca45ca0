"""Chunks that are written at once: what zarr writes, to the byte; what fills a chunk in part is left to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from shiftjax.ensembles.store import study_store
from shiftjax.ensembles.store.checksums import sealed
from shiftjax.ensembles.store.folders import WrittenFolder, missing_of
from shiftjax.ensembles.store.new_arrays import CODECS, new_array
from shiftjax.ensembles.store.whole_chunks import write_whole
from shiftjax.errors import ModelError

MEMBERS, SIZE = 10, 4  # the last shard has two
COLUMNS = {
    "swing": np.linspace(0.0, 1.0, MEMBERS),
    "rounded": np.linspace(-1.0, 1.0, MEMBERS, dtype=np.float32),
    "status": np.arange(MEMBERS, dtype=np.int32),
    "active": np.ones(MEMBERS, np.int8),
    "message": np.array(["", "längst", *"abcdefgh"], dtype=object),
    "wide": np.arange(3.0 * MEMBERS).reshape(MEMBERS, 3),
}


def store(place: Path) -> WrittenFolder:
    """An empty study of these columns."""
    rows = xr.Dataset(
        {name: (("member", "axis")[: values.ndim], values[:1]) for name, values in COLUMNS.items()},
        coords={"member": [0]},
    )
    folder = WrittenFolder(place)
    study_store.create(folder, {study_store.STUDY_DIGEST: ""}, rows, MEMBERS, SIZE)
    return folder


def files(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=list(COLUMNS))
def test_metadata_of_a_new_array_is_that_of_zarr(values: np.ndarray, tmp_path: Path) -> None:
    """To the byte, of each type of numbers and of texts, in a group and at the root."""
    ours, theirs = WrittenFolder(tmp_path / "ours"), WrittenFolder(tmp_path / "theirs")
    axes, about, chunks = ["member", "axis"][: values.ndim], {"units": "m", "scale": [1.0, None]}, values.shape
    for path in ("new", "group/new"):
        zarr.create_array(
            theirs, name=path, shape=values.shape, chunks=chunks, compressors=CODECS, attributes=about,
            dtype=str if values.dtype == object else values.dtype, fill_value=missing_of(values.dtype),
            dimension_names=axes, zarr_format=3,
        )  # fmt: skip
        new_array(ours, path, values.shape, chunks, values.dtype, axes, about, missing_of(values.dtype))
        key = f"{path}/zarr.json"
        assert (tmp_path / "ours" / key).read_bytes() == (tmp_path / "theirs" / key).read_bytes()


def test_the_bytes_are_those_of_zarr(tmp_path: Path) -> None:
    ours, theirs = store(tmp_path / "ours"), store(tmp_path / "theirs")
    table = zarr.open_group(theirs, path="members", mode="r+")
    for first in range(0, MEMBERS, SIZE):
        for name, values in COLUMNS.items():
            some = values[first : first + SIZE]
            assert write_whole(ours, f"members/{name}", first, some)
            study_store.array_of(table, name)[first : first + SIZE] = some
        study_store.mark(ours, first // SIZE)
        study_store.array_of(zarr.open_group(theirs, mode="r+"), study_store.DONE)[first // SIZE] = 1
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")
    read = zarr.open_group(ours, path="members", mode="r")
    for name, values in COLUMNS.items():
        assert np.array_equal(np.asarray(study_store.array_of(read, name)[:], values.dtype), values)


def test_what_fills_a_chunk_in_part_is_written_beside_what_is_there(tmp_path: Path) -> None:
    place, swing = store(tmp_path / "store"), COLUMNS["swing"]
    assert write_whole(place, "members/swing", 0, swing[:4])
    for first, end in ((1, 4), (2, 3), (4, 6)):
        assert not write_whole(place, "members/swing", first, swing[first:end])
    assert not write_whole(place, "members/wide", 0, COLUMNS["wide"][:4, :2])
    study_store.write_at(place, "members/swing", 2, -swing[2:4])
    there = study_store.array_of(zarr.open_group(place, path="members", mode="r"), "swing")[:4]
    assert there.tolist() == [*swing[:2], *-swing[2:4]]


def test_metadata_that_is_lost_or_changed_is_named(tmp_path: Path) -> None:
    place = store(tmp_path / "store")
    about = tmp_path / "store" / "members" / "swing" / "zarr.json"
    about.write_bytes(about.read_bytes().replace(b"float64", b"float32"))
    with pytest.raises(ModelError, match=r"members/swing/zarr.json: found metadata that is not as it was"):
        write_whole(place, "members/swing", 0, COLUMNS["swing"][:4])
    about.unlink()
    with pytest.raises(ModelError, match=r"members/swing/zarr.json: found metadata that is missing"):
        write_whole(place, "members/swing", 0, COLUMNS["swing"][:4])


def test_rows_beyond_the_array_are_refused(tmp_path: Path) -> None:
    """Ten members: rows 8 to 12 would end on the border of a chunk."""
    place, before = store(tmp_path / "store"), files(tmp_path / "store")
    with pytest.raises(ModelError, match="members/swing: found rows 8 to 12; allowed: its 10 rows"):
        study_store.write_at(place, "members/swing", 8, np.ones(4))
    assert files(tmp_path / "store") == before


def recoded(place: Path, name: str, change: Any) -> None:
    """Makes the metadata of an array say other codecs, as those of another writer, with their checksum."""
    about = place / "members" / name / "zarr.json"
    content = json.loads(about.read_text())
    content["codecs"] = change(content["codecs"])
    about.write_bytes(sealed(f"members/{name}/zarr.json", json.dumps(content).encode()))


def test_chunks_of_other_codecs_are_left_to_zarr(tmp_path: Path) -> None:
    """What another writer does to chunks before they are compressed is no damage."""
    place, wide = store(tmp_path / "store"), COLUMNS["wide"]
    transposed = {"name": "transpose", "configuration": {"order": [1, 0]}}
    recoded(tmp_path / "store", "wide", lambda codecs: [transposed, *codecs])
    assert not write_whole(place, "members/wide", 0, wide[:4])
    study_store.write_at(place, "members/wide", 0, wide[:4])
    there = study_store.array_of(zarr.open_group(place, path="members", mode="r"), "wide")[:4]
    assert np.array_equal(np.asarray(there), wide[:4])


def test_chunks_that_cannot_carry_a_checksum_are_refused(tmp_path: Path) -> None:
    """Zarr would write them, and the store's checksum in them: other codecs do not skip it."""
    place = store(tmp_path / "store")
    gzip = {"name": "gzip", "configuration": {"level": 5}}
    recoded(tmp_path / "store", "swing", lambda codecs: [codecs[0], gzip])
    with pytest.raises(ModelError, match=r"members/swing/zarr.json: found chunks that are encoded by bytes, gzip"):
        write_whole(place, "members/swing", 0, COLUMNS["swing"][:4])

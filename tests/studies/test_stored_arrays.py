"""Stored arrays that are read without zarr: what zarr reads, and what it does not know is left to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from shiftjax.ensembles.store.checksums import sealed
from shiftjax.ensembles.store.folders import CheckedFolder, WrittenFolder, opened_tree
from shiftjax.ensembles.store.new_arrays import write_tree
from shiftjax.run.results.labelled import FORMAT

PLACES: list[Any] = [
    np.s_[:], np.s_[3], np.s_[-1, 2], np.s_[1:6, 1::2], np.s_[::-3], np.s_[4:4], np.s_[[6, 0, 6]],
    np.s_[[5, 1], [2, 0]],
]  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers and texts in chunks that they do not fill."""
    values = np.arange(21.0).reshape(7, 3)
    texts = np.array([f"längst {k}" for k in range(7)], dtype=object)
    members = xr.Dataset(
        {
            "wide": (("member", "axis"), values, {"units": "m"}),
            "text": ("member", texts),
            "none": ("line", values[0, :0]),
        },
        {"member": np.arange(7)},
    )
    members["wide"].encoding["chunks"], members["text"].encoding["chunks"] = (3, 2), (4,)
    place = tmp_path_factory.mktemp("stored") / "some.zarr"
    write_tree(WrittenFolder(place), xr.DataTree.from_dict({"/": xr.Dataset(attrs=FORMAT), "/members": members}))
    return place


def theirs(place: Path) -> xr.DataTree:
    folder: Any = CheckedFolder(place)
    return xr.open_datatree(folder, engine="zarr", consolidated=False)


def test_a_tree_is_that_of_zarr(stored: Path) -> None:
    ours = opened_tree(CheckedFolder(stored))
    xr.testing.assert_identical(ours.load(), theirs(stored).load())
    members = ours["members"].to_dataset()
    assert members["text"].dtype == theirs(stored)["members"]["text"].dtype
    assert members["wide"].encoding["chunks"] == (3, 2)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_any_part_is_that_of_zarr(stored: Path, place: Any) -> None:
    ours, zarrs = (tree["members"].to_dataset() for tree in (opened_tree(CheckedFolder(stored)), theirs(stored)))
    xr.testing.assert_identical(ours["wide"][place].load(), zarrs["wide"][place].load())
    first = place[0] if isinstance(place, tuple) else place
    xr.testing.assert_identical(ours["text"][first].load(), zarrs["text"][first].load())


def test_only_chunks_that_are_asked_for_are_read(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    chunk: Callable[[CheckedFolder, str], bytes | None] = CheckedFolder.chunk
    members = opened_tree(CheckedFolder(stored))["members"].to_dataset()
    monkeypatch.setattr(CheckedFolder, "chunk", lambda folder, key: (read.append(key), chunk(folder, key))[1])
    assert members["wide"][4].values.tolist() == [12.0, 13.0, 14.0]
    assert read == ["members/wide/c/1/0", "members/wide/c/1/1"]


def test_numbers_that_xarray_decodes_are_read_by_it(stored: Path, tmp_path: Path) -> None:
    place, key = Path(shutil.copytree(stored, tmp_path / "some.zarr")), "members/wide/zarr.json"
    content = json.loads((place / key).read_text())
    content["attributes"]["scale_factor"] = 2.0
    (place / key).write_bytes(sealed(key, json.dumps(content).encode()))
    assert opened_tree(CheckedFolder(place))["members"].to_dataset()["wide"].values[1, 1] == 8.0

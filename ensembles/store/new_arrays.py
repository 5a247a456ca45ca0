"""Groups and arrays that are begun, or written whole, in this thread: their files are those that zarr writes.

Zarr asks for every file four times whether it is there, hands each question to a thread, and reads all metadata again
at the end: a result of twenty arrays took it 0.3 s of processor time, and takes 0.02 s so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import xarray as xr

from shiftjax.ensembles.store.checksums import CONTENTS, METADATA
from shiftjax.ensembles.store.whole_chunks import TEXT, TakesChunks, write_pieces
from shiftjax.run.results.labelled import CHUNK_BYTES, MISSING, MISSING_TEXT

COMPRESSED = ({"name": "zstd", "configuration": {"level": 0, "checksum": False}}, {"name": "crc32c"})
INLINE: dict[str, Any] = {"kind": "inline", "must_understand": False}


class TakesMetadata(TakesChunks, Protocol):
    """A folder that takes metadata, too."""

    def describe(self, key: str, content: Mapping[str, Any]) -> None:
        """Writes a `zarr.json`, of which `content` is without its checksum."""
        ...


def missing_of(dtype: np.dtype[Any]) -> float | int | str:
    """What a lost chunk of numbers or texts reads as, which no reader takes for good."""
    return {"f": np.nan, "i": MISSING}.get(dtype.kind, MISSING_TEXT)


def new_group(
    place: TakesMetadata, path: str, attributes: Mapping[Any, Any], *, anew: bool = False, **more: Any
) -> dict[str, Any]:
    """Begins a group, and returns its metadata.

    Args:
        path: of the group; "" is the root. anew: whether all that is there is removed. more: entries of the metadata.
    """
    if anew:
        place.refuse_moved()
        shutil.rmtree(place.root / path, ignore_errors=True)
    about = {"attributes": _plain(attributes), "zarr_format": 3, **more, "node_type": "group"}
    place.describe(f"{path}/{METADATA}".lstrip("/"), about)
    return about


def new_array(
    place: TakesMetadata, path: str, dims: Iterable[Any], shape: Sequence[int], dtype: np.dtype[Any], *,
    chunks: Sequence[int] | None = None, fill: Any = None, attributes: Mapping[Any, Any] | None = None,
    compressed: bool = True, values: np.ndarray | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Begins an array, and returns its metadata.

    Args:
        path: of the array. dims: a name for each axis. chunks: as long as `shape`.
        fill: what a lost chunk reads as; that of `missing_of` where it is left out.
        values: what is in it, of this shape.
    """
    text = dtype.kind in "OU"
    bytes_of = {} if dtype.itemsize == 1 else {"configuration": {"endian": "little"}}
    fill = missing_of(dtype) if fill is None else fill
    about = {
        "shape": list(map(int, shape)),
        "data_type": TEXT if text else dtype.name,
        "chunk_grid": _named("regular", chunk_shape=_whole(shape, chunks, dtype.itemsize)),
        "chunk_key_encoding": _named("default", separator="/"),
        "fill_value": "NaN" if fill != fill else fill,
        "codecs": [
            _named("vlen-utf8") if text else {"name": "bytes", **bytes_of},
            *(COMPRESSED if compressed else ()),
        ],
        "attributes": _plain({"units": "1"} if attributes is None else attributes),
        "dimension_names": [str(dim) for dim in dims],
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }
    place.describe(f"{path}/{METADATA}", about)
    if values is not None:
        write_pieces(place, path, about, 0, values)
    return about


def new_variable(place: TakesMetadata, path: str, variable: xr.Variable) -> dict[str, Any]:
    """Writes a variable whole, in the chunks that its encoding names; see `new_array`."""
    return new_array(
        place, path, variable.dims, variable.shape, variable.dtype, chunks=variable.encoding.get("chunks"),
        attributes=variable.attrs, values=variable.values,
    )  # fmt: skip


def write_tree(place: TakesMetadata, tree: xr.DataTree) -> None:
    """Writes a tree of datasets whole; its root last, without which there is no store.

    The root has all metadata of the store (consolidated, as zarr calls it), and the list of what there is.
    """
    parts: dict[str, Any] = {}
    for node in tree.subtree:
        path, dataset = node.path.strip("/"), node.to_dataset(inherit=False)
        if path:
            empty = {"consolidated_metadata": {**INLINE, "metadata": {}}}
            new_group(place, path, dataset.attrs)
            parts[path] = {"attributes": _plain(dataset.attrs), "zarr_format": 3, **empty, "node_type": "group"}
        for name, variable in dataset.variables.items():
            where = f"{path}/{name}".lstrip("/")
            parts[where] = new_variable(place, where, variable)
    listed = {path: parts[path] for path in sorted(parts, key=lambda path: (path.count("/"), path))}
    about = {**tree.attrs, CONTENTS: sorted(parts)}
    new_group(place, "", about, consolidated_metadata={**INLINE, "metadata": listed})


def _whole(shape: Sequence[int], chunks: Sequence[int] | None, itemsize: int) -> list[int]:
    """Chunks that are no larger than the array, and of one entry at least."""
    if chunks is None:
        entries = max(1, CHUNK_BYTES // max(1, itemsize * int(np.prod(shape[1:], dtype=np.int64))))
        chunks = (entries, *shape[1:])
    return [max(1, min(int(chunk), int(size))) for chunk, size in zip(chunks, shape, strict=True)]


def _named(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def _plain(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes as JSON has them."""
    return json.loads(json.dumps({str(k): v for k, v in attributes.items()}, default=lambda value: value.tolist()))

"""New arrays of a store: the metadata that zarr would write, written here.

Zarr looks for what stands in the place of an array and above it, in threads of its own: 2 ms of each array, of which a
study has some dozens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from shiftjax.ensembles.store.checksums import METADATA

CODECS = (ZstdCodec(), Crc32cCodec())  # of every chunk; the checksum last, over what is in the file
TEXT = "str"  # the type of arrays of texts


class TakesFiles(Protocol):
    """A folder that takes files whole."""

    def put(self, key: str, data: bytes) -> None:
        """Writes a file, of which `data` is without its checksum."""
        ...


def new_array(
    place: TakesFiles,
    path: str,
    shape: Sequence[int],
    chunks: Sequence[int],
    dtype: np.dtype[Any],
    axes: Sequence[str],
    attributes: Mapping[str, Any],
    missing: float | int | str,
) -> None:
    """An array of which no chunk is written.

    Args:
        path: where it is, and nothing yet. dtype: objects are texts. axes: names of its dimensions.
        missing: what a chunk that is lost reads as.
    """
    about = {
        **_written_by_zarr(TEXT if dtype.kind in "OU" else dtype.str, missing),
        "shape": [int(n) for n in shape],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [int(n) for n in chunks]}},
        "attributes": dict(attributes),
        "dimension_names": list(axes),
    }
    place.put(f"{path}/{METADATA}".lstrip("/"), json.dumps(about).encode())


@lru_cache(64)
def _written_by_zarr(dtype: str, missing: float | int | str) -> dict[str, Any]:
    """What zarr writes of an array of a type, with its codecs, in its order."""
    array = zarr.create_array(
        {}, shape=(1,), chunks=(1,), dtype=str if dtype == TEXT else dtype, compressors=CODECS, fill_value=missing,
        attributes={}, dimension_names=["axis"], zarr_format=3,
    )  # fmt: skip
    return json.loads(json.dumps(array.metadata.to_dict()))

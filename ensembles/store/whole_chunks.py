"""Whole chunks of stored arrays, encoded and written at once, in this thread; the bytes are those that zarr writes.

Zarr hands every array it opens, every chunk it encodes and every file it writes from thread to thread: a shard of
sixteen columns took it 0.1 s of processor time, more than the members in it, and takes 4 ms so.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numcodecs import VLenUTF8
from numcodecs.zstd import Zstd

from shiftjax.ensembles.store import checksums
from shiftjax.ensembles.store.checksums import CHANGED, EITHER, LOST, METADATA
from shiftjax.errors import ModelError

CODED = {"bytes", "vlen-utf8"}, "zstd", "crc32c"  # every chunk, in this order
TEXT = "string"


class TakesChunks(Protocol):
    """A folder that takes files whole."""

    root: Path

    def refuse_moved(self) -> None:
        """Raises where its store is gone."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Writes a chunk, of which `data` is without its checksum."""
        ...


def write_whole(place: TakesChunks, path: str, first: int, values: np.ndarray) -> bool:
    """Writes rows of an array where they fill its chunks, but for those that reach beyond its end.

    Args:
        path: of the array. first: where the rows begin. values: (rows, ...) as wide as the array.

    Returns:
        False, and writes nothing, where they fill a chunk in part, and where more is done to its chunks before they are
        compressed: zarr writes them.

    Raises:
        ModelError: metadata of the array that is lost or damaged; chunks that cannot carry a checksum; rows beyond the
            array's end, which zarr would drop; a store that was moved away.
    """
    about = _metadata(place, f"{path}/{METADATA}")
    names = [codec["name"] for codec in about["codecs"]]
    if tuple(names[-2:]) != CODED[1:]:  # the checksum stands in a frame that zstd skips, before that of crc32c
        where, fault = f"{place.root}: {path}/{METADATA}", f"chunks that are encoded by {', '.join(names)}"
        raise ModelError(where, fault, f"those that end in {', '.join(CODED[1:])}", "Write the store anew.")
    if len(names) != len(CODED) or names[0] not in CODED[0]:
        return False
    shape, chunk = about["shape"], about["chunk_grid"]["configuration"]["chunk_shape"]
    end = first + len(values)
    if end > shape[0]:
        where, todo = f"{place.root}: {path}", "Give what it has room for."
        raise ModelError(where, f"rows {first} to {end}", f"its {shape[0]} rows", todo)
    if first % chunk[0] or (end % chunk[0] and end != shape[0]) or list(values.shape[1:]) != shape[1:]:
        return False
    pieces = list(_pieces(values, chunk, about))
    for where, piece in pieces:
        number = "/".join(map(str, (where[0] + first // chunk[0], *where[1:])))
        place.put(f"{path}/c/{number}", _encoded(piece, about["codecs"]))
    return True


def _metadata(place: TakesChunks, key: str) -> dict[str, Any]:
    try:
        data = (place.root / key).read_bytes()
    except OSError:
        place.refuse_moved()
        raise checksums.damaged(place.root, key, LOST, checksums.MEND) from None
    about = checksums.document(key, data, named=False)
    if about is None:
        raise checksums.damaged(place.root, key, CHANGED, EITHER)
    return about


def _pieces(
    values: np.ndarray, chunk: list[int], about: dict[str, Any]
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Numbers of chunks, from that of the first row on, and what is in them: beyond the array its fill value."""
    text = about["data_type"] == TEXT
    dtype = np.dtype(object) if text else np.dtype(about["data_type"]).newbyteorder("<")
    fill = about["fill_value"] if text else np.array(about["fill_value"], dtype)  # "NaN" is one
    counts = [-(-n // size) for n, size in zip(values.shape, chunk, strict=True)]
    for where in product(*map(range, counts)):
        part = values[tuple(slice(k * size, (k + 1) * size) for k, size in zip(where, chunk, strict=True))]
        piece = np.full(chunk, fill, dtype)
        piece[tuple(map(slice, part.shape))] = part
        yield where, piece


def _encoded(piece: np.ndarray, codecs: list[dict[str, Any]]) -> bytes:
    """A chunk without its checksum."""
    plain = VLenUTF8().encode(piece) if piece.dtype.kind == "O" else piece.tobytes()
    return bytes(Zstd(**codecs[1]["configuration"]).encode(plain))

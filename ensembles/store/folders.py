"""Zarr's folders on disk, as results need them: a write that ends when it is told to, and a read that finds damage."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import google_crc32c
import numpy as np
import xarray as xr
from zarr.codecs import Crc32cCodec, ZstdCodec
from zarr.storage import LocalStore

from shiftjax.errors import ModelError
from shiftjax.run.results.labelled import MISSING, MISSING_TEXT
from shiftjax.shield import shielded

CODECS = (ZstdCodec(), Crc32cCodec())  # of every chunk; the checksum last, over what is in the file
CHECKSUM = 4  # bytes at the end of a chunk
PATIENCE = 10.0  # s for files that are being written, of a MB each
AGAIN = "Take a copy, or run again; other arrays are whole."
FLUSHERS = 8  # threads: 3000 small files take 0.3 s on a local disk, one after the other eight


class WrittenFolder(LocalStore):
    """A folder that is being written, by threads of zarr that an exception in the caller does not reach."""

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        super().__init__(root, read_only=read_only)
        self._lock, self._writing, self._stopped = threading.Lock(), 0, False
        self._fresh = set[str]()  # files that the disk may not have yet
        self.bytes = 0

    async def set(self, key: str, value: Any) -> None:
        with self._counted(key):
            await super().set(key, value)
        self.bytes += len(value)

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        with self._counted(key):
            await super().set_if_not_exists(key, value)

    @contextmanager
    def _counted(self, key: str) -> Iterator[None]:
        """A file that is being written."""
        with self._lock:
            if self._stopped:
                raise OSError(f"{key} is not written any more")
            self._writing += 1
        try:
            yield
        finally:
            with self._lock:
                self._writing -= 1
                self._fresh.add(key)

    def settle(self) -> None:
        """Returns when the disk has every file that was written so far, so that what is written later never stands
        there without them, whatever happens to the machine."""
        with self._lock:
            fresh, self._fresh = self._fresh, set()
        files = [path for key in fresh if (path := self.root / key).exists()]
        folders = {parent for path in files for parent in path.parents if parent.is_relative_to(self.root)}
        flush([*files, *folders])

    def stop(self) -> None:
        """Returns when no file is being written, and none will be."""
        with self._lock:
            self._stopped = True
        end = time.monotonic() + PATIENCE
        while self._writing and time.monotonic() < end:
            time.sleep(0.001)


def flush(paths: Iterable[Path]) -> None:
    """Returns when the disk has these files, and the names in these folders."""

    def one(path: Path) -> None:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    with ThreadPoolExecutor(FLUSHERS) as pool:
        list(pool.map(one, paths))


def replace_safely(path: Path, data: bytes, leftover: str) -> None:
    """A file with other content: even a machine that loses power has the old or the new one, whole.

    Args:
        leftover: the suffix of what is left where the process is killed meanwhile.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}{leftover}")
    try:
        draft.write_bytes(data)
        flush([draft])
        draft.replace(path)
        flush([path.parent])
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def written(root: Path) -> Iterator[WrittenFolder]:
    """A folder to write to. After an error no file of it is written any more: zarr's threads would go on."""
    folder = WrittenFolder(root)
    try:
        yield folder
    except BaseException:
        with shielded():
            folder.stop()
        raise


@contextmanager
def naming_disk(target: Path, allowed: str, todo: str) -> Iterator[None]:
    """Makes one clear error of whatever keeps a file from being written.

    Args:
        target: what is written, whose name the error has. allowed, todo: of the error.

    Raises:
        ModelError: a full disk, one that is read-only, and the like.
    """
    try:
        yield
    except OSError as error:
        free = shutil.disk_usage(target.absolute().parent).free
        fault = f"that it cannot be written ({error.strerror or error}); {free / 1e6:.0f} MB are free there"
        raise ModelError(str(target), fault, allowed, todo) from error


class CheckedFolder(LocalStore):
    """A folder whose chunks all have their checksums: a lost, shortened or changed one is an error that names it.

    Args:
        growing: of a study that is not complete, whose missing chunks read as missing values.
        done: chunks of the table of members that are there nonetheless.
        todo: what may be done about damage.
    """

    def __init__(
        self,
        root: Path,
        *,
        read_only: bool = True,
        growing: bool = False,
        done: Collection[int] = (),
        todo: str = AGAIN,
    ) -> None:
        super().__init__(root, read_only=read_only)
        self.growing, self._done, self._todo = growing, frozenset(str(chunk) for chunk in done), todo

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        data = await super().get(key, prototype, byte_range)
        name = key.rpartition("/")[2]
        if name != "zarr.json" and not name.startswith(".z"):  # a chunk
            if data is None and self.growing and not (key.startswith("members/") and name in self._done):
                return None
            if data is None:
                raise self._damaged(key, "a chunk that is missing")
            if key.startswith("shards/"):  # marks, which have no checksum
                return data
            if not is_whole(data.to_bytes()):
                raise self._damaged(key, "a chunk that is not as it was written")
        return data

    def _damaged(self, key: str, fault: str) -> ModelError:
        array, _, chunk = key.partition("/c/")
        where = f"{self.root}: array {array.removesuffix('/c')}, chunk {chunk or '0'}"
        return ModelError(where, fault, "the file as it was written", self._todo)


def is_whole(data: bytes) -> bool:
    """Whether the content of a chunk's file is as it was written."""
    return google_crc32c.value(cast(Any, data[:-CHECKSUM])).to_bytes(CHECKSUM, "little") == data[-CHECKSUM:]


def missing_of(dtype: np.dtype[Any]) -> float | int | str:
    """What a lost chunk of numbers or texts reads as, which no reader takes for good."""
    return {"f": np.nan, "i": MISSING}.get(dtype.kind, MISSING_TEXT)


def encoding(tree: xr.DataTree) -> dict[str, dict[str, dict[str, Any]]]:
    """How every variable is stored: with a checksum, and with the value of lost chunks."""

    def of(variable: xr.Variable) -> dict[str, Any]:
        how = {**variable.encoding, "compressors": CODECS, "write_empty_chunks": True}
        how |= {"_FillValue": None} if variable.dtype.kind == "f" else {}  # NaN are numbers here, not gaps
        return how | ({"fill_value": missing_of(variable.dtype)} if variable.size else {})

    return {
        node.path: {str(name): of(variable) for name, variable in node.to_dataset(inherit=False).variables.items()}
        for node in tree.subtree
    }


def opened_group(folder: CheckedFolder, group: str) -> xr.Dataset:
    """A group of a store, read where it is asked for; not by dask, whose import takes half a second."""
    return xr.open_zarr(folder, group=group, consolidated=False, chunks=None)

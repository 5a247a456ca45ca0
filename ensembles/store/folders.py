"""Zarr's folders on disk, as results need them: a write that ends when it is told to, and a read that finds damage."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import xarray as xr
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore

from shiftjax.ensembles.store import checksums
from shiftjax.ensembles.store.checksums import AGAIN, CHANGED, LOST
from shiftjax.ensembles.store.new_arrays import CODECS
from shiftjax.errors import ModelError
from shiftjax.run.results.labelled import MISSING, MISSING_TEXT
from shiftjax.shield import shielded

PARTIAL = ".partial"  # the suffix of files, of zarr's and ours, that are not whole yet
MARKS, MARK = "shards/", b"\1"  # files without a checksum that say what is done, and what is in them
PATIENCE = 10.0  # s for files that are being written, of a MB each
FLUSHERS = 8  # threads: 3000 small files take 0.3 s on a local disk, one after the other eight


class StoreFolder(LocalStore):
    """A folder whose files have checksums, of which zarr sees nothing: metadata is checked when it is read.

    Metadata is read and written in the thread that asks: to hand a file of a few kB to another takes several times as
    long, and a store of a few members has little else.
    """

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        if not checksums.is_metadata(key):
            return await super().get(key, prototype, byte_range)
        try:
            data = (self.root / key).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        content = checksums.document(key, data, named=False)
        if content is None:
            raise checksums.damaged(self.root, key, CHANGED, checksums.EITHER)
        return _buffer(json.dumps(content).encode(), prototype)

    async def exists(self, key: str) -> bool:
        return (self.root / key).is_file()


def _buffer(data: bytes, prototype: Any = None) -> Any:
    return (prototype or default_buffer_prototype()).buffer.from_bytes(data)


class WrittenFolder(StoreFolder):
    """A folder that is being written, by threads of zarr that an exception in the caller does not reach.

    Args:
        stands: whether there is a store in it: where that is gone, moved away by somebody, nothing is written.
    """

    def __init__(self, root: Path, *, read_only: bool = False, stands: bool = False) -> None:
        super().__init__(root, read_only=read_only)
        self._lock, self._writing, self._stopped, self._stands = threading.Lock(), 0, False, stands
        self._fresh, self._keys = set[str](), set[str]()  # files that the disk may not have yet; all written here
        self.bytes = 0

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        self.refuse_moved()
        return await super().get(key, prototype, byte_range)

    async def set(self, key: str, value: Any) -> None:
        if checksums.is_metadata(key):
            self.put(key, value.to_bytes())
            return
        value = self._sealed(key, value)
        with self._counted(key):
            await super().set(key, value)
        self.bytes += len(value)

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        value = self._sealed(key, value)
        with self._counted(key):
            await super().set_if_not_exists(key, value)

    def _sealed(self, key: str, value: Any) -> Any:
        self.refuse_moved()
        return value if key.startswith(MARKS) and not checksums.is_metadata(key) else _buffer(
            checksums.sealed(key, value.to_bytes())
        )  # fmt: skip

    def put(self, key: str, data: bytes) -> None:
        """Writes metadata, a chunk that was encoded without its checksum, or a mark, in this thread."""
        self.refuse_moved()
        if checksums.is_metadata(key):
            value = checksums.sealed(key, data)
        else:
            value = data if key.startswith(MARKS) else checksums.sealed_chunk(key, data)
        path = self.root / key
        with self._counted(key):
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(value)
        self.bytes += len(value)

    def refuse_moved(self) -> None:
        """Raises where the store is gone: writing on would begin an empty one in its place.

        Raises:
            ModelError: its folder was renamed, or removed.
        """
        if self._stands and not (self.root / checksums.METADATA).is_file():
            fault = "that its folder was moved or removed while it was written"
            todo = "Resume it under its new name: what is done stays there."
            raise ModelError(str(self.root), fault, "a folder that stays where it is", todo)

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
                self._keys.add(key)

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
        if self._stands and not (self.root / checksums.METADATA).is_file():
            self._clear()

    def _clear(self) -> None:
        """Takes back what was written in the place of a store between its moving away and the next look at it."""
        folders = {self.root}
        for key in self._keys:
            (self.root / key).unlink(missing_ok=True)
            folders |= {parent for parent in (self.root / key).parents if parent.is_relative_to(self.root)}
        for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()  # fails where something of another is in it


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, that gets its name when it is whole, or leaves no trace."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}{PARTIAL}")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


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


def replace_safely(path: Path, data: bytes) -> None:
    """A file with other content: even a machine that loses power has the old or the new one, whole."""
    draft = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    try:
        draft.write_bytes(data)
        flush([draft])
        draft.replace(path)
        flush([path.parent])
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def written(root: Path, *, stands: bool = False) -> Iterator[WrittenFolder]:
    """A folder to write to. After an error no file of it is written any more: zarr's threads would go on.

    Args:
        stands: whether there is a store in it already.
    """
    folder = WrittenFolder(root, stands=stands)
    try:
        with zarr.config.set({"json_indent": None}):  # which `checksums.sealed` would not keep
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


class CheckedFolder(StoreFolder):
    """A folder whose files all have their checksums: a lost, shortened or changed one is an error that names it. All
    metadata is checked at once, chunks when they are read.

    Args:
        growing: of a study that is not complete, whose missing chunks read as missing values.
        done: chunks of the table of members that are there nonetheless.
        todo: what may be done about damage.

    Raises:
        ModelError: metadata that is lost or damaged.
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
        about = checksums.attributes_of(root)
        self._named = checksums.is_named(about)
        for key, fault in checksums.bad_metadata(root, about):
            if not (growing and fault == LOST and key.startswith("trajectories/")):  # of the best, written at the end
                raise checksums.damaged(root, key, fault, todo)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        data = await super().get(key, prototype, byte_range)
        name = key.rpartition("/")[2]
        if checksums.is_metadata(key) or name.startswith(".z"):
            return data
        if key.startswith(MARKS):
            return data if data is not None and data.to_bytes() == MARK else None  # none: not done
        if data is None and self.growing and not (key.startswith("members/") and name in self._done):
            return None
        if data is None:
            raise checksums.damaged(self.root, key, LOST, self._todo)
        if not checksums.is_whole(key, data.to_bytes(), named=self._named):
            raise checksums.damaged(self.root, key, CHANGED, self._todo)
        return data


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

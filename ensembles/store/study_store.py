"""The store of a study while it grows: shard by shard, by several processes, safe from whatever ends one of them.

Problem: a study takes hours; what is done must not be lost, whatever happens. Properties: the store is a result as
`store` describes it, complete or not; the table of members has its chunks where shards begin and end, so that no two
writers meet in a file; a file is there whole or not at all; a shard counts as done when its mark is written, after the
disk has all its files, so that a machine that loses power leaves none marked without them; one that is run again writes
the same bytes. One process at a time leads a study; its lock says which, and ends with it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.abc.store import Store

from shiftjax.ensembles.store import checksums
from shiftjax.ensembles.store.checksums import CONTENTS, LOST, MEND, METADATA
from shiftjax.ensembles.store.folders import (
    MARK,
    PARTIAL,
    CheckedFolder,
    WrittenFolder,
    missing_of,
    naming_disk,
    replace_safely,
    written,
)
from shiftjax.ensembles.store.new_arrays import new_array
from shiftjax.ensembles.store.whole_chunks import write_whole
from shiftjax.errors import ModelError
from shiftjax.kernels.forks import free_after_forks
from shiftjax.run.results.labelled import FORMAT, ORDER, chunks
from shiftjax.run.results.log_table import log_dataset

DONE = "shards/done"  # an array of marks, each a chunk, that is a file, of its own
SHARD_SIZE, STUDY_DIGEST = "shard_size", "study_digest"  # attributes of the root, and of the marks where it is lost
STATE = "study_state"  # attribute: "running" until all shards are done
_led: set[Path] = set()  # studies that this process leads: a lock of a file holds between processes only
_guard = free_after_forks(threading.Lock())


def create(place: Store, about: Mapping[str, Any], rows: xr.Dataset, members: int, size: int) -> None:
    """A store without members.

    Args:
        about: attributes of the root, the digest of the study among them.
        rows: some rows of the table of members, from which its columns follow.
        members: how many there will be. size: of a shard.
    """
    root = zarr.create_group(place, zarr_format=3)
    table = root.create_group("members", attributes={ORDER: [str(name) for name in rows.data_vars]})
    for name, variable in rows.variables.items():
        _array(table, str(name), variable, members, (size,))
    _fill(table, "member", np.arange(members))
    shards = -(-members // size)
    root.create_group("shards", attributes={STUDY_DIGEST: about[STUDY_DIGEST], SHARD_SIZE: size})
    root.create_array(
        DONE, shape=(shards,), chunks=(1,), dtype="int8", fill_value=0, compressors=None, attributes={"units": "1"},
        dimension_names=["shard"],
    )  # fmt: skip
    _dataset(root, "log", log_dataset(()))
    root.attrs.update({**about, STATE: "running", SHARD_SIZE: size})  # last: without it there is no study


def create_trajectories(place: Store, some: xr.Dataset, members: np.ndarray) -> None:
    """Room for the trajectories of the members that are kept, from those of some of them."""
    group = zarr.open_group(place, mode="r+").create_group(
        "trajectories", attributes={str(k): v for k, v in some.attrs.items()}, overwrite=True
    )
    for name, variable in some.variables.items():
        if "member" not in variable.dims:
            _array(group, str(name), variable, None, None)
            _fill(group, str(name), variable.values)
        elif name == "member":
            _array(group, "member", variable, len(members), None)
            _fill(group, "member", members)
        else:  # each member has chunks of its own
            chunk = (1, *chunks((1, *variable.shape[1:]), variable.dtype.itemsize)[1:])
            _array(group, str(name), variable, len(members), chunk)


def write_rows(place: WrittenFolder, rows: xr.Dataset, first: int) -> None:
    """Rows of the table of members, from a given one on."""
    for name, variable in rows.variables.items():
        write_at(place, f"members/{name}", first, variable.values)


def write_at(place: WrittenFolder, path: str, first: int, values: np.ndarray) -> None:
    """Rows of an array, from a given one on."""
    if not write_whole(place, path, first, values):
        group, _, name = path.rpartition("/")
        array_of(zarr.open_group(place, path=group, mode="r+"), name)[first : first + len(values)] = values


def read_rows(folder: Path, names: Sequence[str], shards: Sequence[int], size: int) -> xr.Dataset:
    """Some columns of the members of some shards, which are done.

    Raises:
        ModelError: a damaged file of one of them.
    """
    table = zarr.open_group(CheckedFolder(folder, todo=MEND), path="members", mode="r")
    numbers, parts = np.arange(array_of(table, names[0]).size), dict[str, Any]()
    for name in names:
        column = array_of(table, name)
        parts[name] = [np.zeros(0, column.dtype), *(column[shard * size : (shard + 1) * size] for shard in shards)]
    members = [numbers[:0], *(numbers[shard * size : (shard + 1) * size] for shard in shards)]
    columns = {name: ("member", np.concatenate(values)) for name, values in parts.items()}
    return xr.Dataset(columns, coords={"member": np.concatenate(members)})


def write_some(place: WrittenFolder, rows: xr.Dataset, places: np.ndarray) -> None:
    """Trajectories of some members, each into its row; NaN for what their model does not have."""
    group = zarr.open_group(place, path="trajectories", mode="r+")
    rows = rows.reindex(body=[str(body) for body in array_of(group, "body")[:]])
    for name in group.array_keys():
        array = array_of(group, name)
        if array.metadata.dimension_names[:1] == ("member",) and name != "member":
            nothing = np.full((len(places), *array.shape[1:]), np.nan)
            for row, values in zip(places, rows[name].values if name in rows else nothing, strict=True):
                write_at(place, array.path, int(row), values[None])


def mark(place: WrittenFolder, shard: int) -> None:
    """Says that a shard is done, once the disk has all its files."""
    place.settle()
    place.put(f"{DONE}/c/{shard}", MARK)


def done(folder: Path) -> set[int]:
    """The shards that are done."""
    marks = folder / DONE / "c"
    return {int(path.name) for path in marks.glob("[0-9]*") if path.suffix == "" and path.read_bytes() == MARK}


def is_done(folder: Path, shard: int) -> bool:
    """Whether a shard is done."""
    path = folder / DONE / "c" / str(shard)
    return path.exists() and path.read_bytes() == MARK


def finish(place: WrittenFolder) -> None:
    """Says that the study is complete."""
    place.settle()
    say(place, {STATE: "complete"})


def reopen(place: WrittenFolder, shards: Collection[int]) -> None:
    """Says that the study is not complete, and some of its shards are not done."""
    say(place, {STATE: "running"})
    for shard in shards:
        (place.root / DONE / "c" / str(shard)).unlink(missing_ok=True)


def say(place: WrittenFolder, words: Mapping[str, Any], group: str = "") -> None:
    """Changes attributes of a store, or of a group in it, all at once."""
    place.refuse_moved()
    key = f"{group}/{METADATA}".lstrip("/")
    about = checksums.document(key, (place.root / key).read_bytes(), named=False)
    if about is None:
        raise checksums.damaged(place.root, key, checksums.CHANGED, checksums.EITHER)
    about["attributes"] |= words
    replace_safely(place.root / key, checksums.sealed(key, json.dumps(about).encode()))


def list_contents(place: WrittenFolder) -> None:
    """Says in the root which groups and arrays there are, so that a lost one is missed."""
    nodes = (path.parent.relative_to(place.root).as_posix() for path in place.root.glob(f"*/**/{METADATA}"))
    say(place, {CONTENTS: sorted(nodes)})


def is_study(attrs: Mapping[Any, Any]) -> bool:
    """Whether a store is of a study."""
    return STATE in attrs


def is_running(attrs: Mapping[Any, Any]) -> bool:
    """Whether a store is of a study that is not complete."""
    return attrs.get(STATE) == "running"


def clean(folder: Path) -> None:
    """Removes what a process left that was killed while it wrote."""
    for leftover in folder.rglob(f"*{PARTIAL}"):
        leftover.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The study is this process's. What a dead process of this machine held is free: the lock is the system's, which
    ends with its process; the file of it says whose it is.

    Raises:
        ModelError: another process of this machine that is alive has it, or one of another machine.
    """
    target = folder.resolve()  # a link to a store is the store
    lock = target.with_name(f".{target.name}.lock")
    process = f"{os.getpid()}@{socket.gethostname()}"
    with _guard:
        if lock in _led:
            raise _busy(folder, lock, process)
        _led.add(lock)
    try:
        with writing(folder):
            file = _lock(folder, lock, process)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
            os.close(file)
    finally:
        with _guard:
            _led.discard(lock)


def _lock(folder: Path, lock: Path, process: str) -> int:
    """The open file of a lock that this process holds."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            owner = os.read(file, 512).decode(errors="replace")
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                raise _busy(folder, lock, owner) from None
            if not lock.exists() or os.stat(lock).st_ino != os.fstat(file).st_ino:
                os.close(file)  # its owner has just ended, and removed it
                continue
            if owner and owner.partition("@")[2] != socket.gethostname():
                raise _busy(folder, lock, owner)
            os.ftruncate(file, 0)
            os.pwrite(file, process.encode(), 0)
        except BaseException:
            os.close(file)
            raise
        return file


def _busy(folder: Path, lock: Path, owner: str) -> ModelError:
    todo = f"Wait until it has ended; if it has, remove {lock}."
    return ModelError(str(folder), f"a study that process {owner} runs", "one at a time", todo)


@contextmanager
def writing(folder: Path, draft: Path | None = None) -> Iterator[WrittenFolder]:
    """Where the files of a study are written, or those of its draft; after an error none is.

    Raises:
        ModelError: a full disk, a store that is read-only, and whatever else keeps a file from being written.
    """
    todo = "Make room or change its rights, and resume: the shards that are done stay."
    with naming_disk(folder, "a store that can grow", todo), written(draft or folder, stands=draft is None) as place:
        yield place


def about_of(folder: Path) -> dict[str, Any]:
    """The attributes of a store.

    Raises:
        ModelError: no study there, or one whose attributes are damaged.
    """
    about = checksums.attributes_of(folder)
    if about.get("format") != FORMAT["format"] or "study" not in about:
        todo = "Check the name."
        if about.get("format") == FORMAT["format"]:
            todo = "This is a result without its study: repeat the sweep with --write STUDY.toml, then sweep that file."
        raise ModelError(str(folder), "no study", "what `shiftjax sweep STUDY.toml` wrote", todo)
    return about


def _array(
    group: zarr.Group, name: str, like: xr.Variable, members: int | None, chunks: tuple[int, ...] | None
) -> None:
    """An array like a variable, with so many members."""
    shape = like.shape if members is None else (members, *like.shape[1:])
    chunk = tuple(max(1, n) for n in (shape if chunks is None else (*chunks, *shape[len(chunks) :])))
    new_array(
        folder_of(group), f"{group.path}/{name}", shape,
        tuple(min(c, max(1, n)) for c, n in zip(chunk, shape, strict=True)), like.dtype,
        [str(dim) for dim in like.dims], {str(key): value for key, value in like.attrs.items()}, missing_of(like.dtype),
    )  # fmt: skip


def folder_of(group: zarr.Group) -> WrittenFolder:
    """The folder that a group is written to."""
    place = group.store
    assert isinstance(place, WrittenFolder)
    return place


def array_of(group: zarr.Group, name: str) -> Any:
    """An array of a group, of which every chunk is written."""
    try:
        array = group[name]
    except KeyError:
        key = f"{group.path}/{name}/{METADATA}".lstrip("/")
        raise checksums.damaged(Path(str(getattr(group.store, "root", ""))), key, LOST, MEND) from None
    assert isinstance(array, zarr.Array)
    return array.with_config({"write_empty_chunks": True})


def _fill(group: zarr.Group, name: str, values: np.ndarray) -> None:
    """Writes a whole array."""
    if values.ndim == 0:
        array_of(group, name)[...] = values
    elif values.size:
        write_at(folder_of(group), f"{group.path}/{name}", 0, values)


def _dataset(root: zarr.Group, name: str, dataset: xr.Dataset) -> None:
    """A whole group at once."""
    group = root.create_group(name, attributes={str(k): v for k, v in dataset.attrs.items()})
    for key, variable in dataset.variables.items():
        _array(group, str(key), variable, None, None)
        _fill(group, str(key), variable.values)

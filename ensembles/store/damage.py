"""What of a stored study is not as it was written, by the checksums of all its files: chunks of shards run again, what
a study begins with, all metadata among it, is made again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import zarr

from shiftjax.ensembles.store import checksums, study_store
from shiftjax.ensembles.store.folders import StoreFolder, replace_safely
from shiftjax.ensembles.store.replacing import remove
from shiftjax.ensembles.store.study_store import SHARD_SIZE, STUDY_DIGEST
from shiftjax.errors import ModelError

GROUPS = ("members/", "trajectories/", "log/", "shards/")  # of a study that begins
Damage = tuple[set[int], bool]  # shards, and whether it is in trajectories that are written when all shards are done


def damaged(folder: Path, size: int, *, at_once: bool) -> Damage:
    """What must run again, of a store whose other files are whole.

    Args:
        size: of a shard. at_once: whether trajectories are written with their shards.

    Raises:
        ModelError: a damaged file of what was added to the study later, as sensitivities.
    """
    about = checksums.attributes_of(folder)
    bad = partial(_bad, folder, checksums.is_named(about))
    root = zarr.open_group(StoreFolder(folder, read_only=True), mode="r")
    ready, running = study_store.done(folder), study_store.is_running(root.attrs)
    unmarked = set() if running else set(range(_arrays(root, "shards")["done"].size)) - ready
    shards = unmarked | {shard for shard in ready if any(bad(chunk) for chunk in _rows(root, shard))}
    for chunk in _added(folder, about):
        if bad(chunk):
            group = chunk.partition("/")[0]
            todo = f"Remove the folder {group} of the store, verify it, and ask for {group} again."
            raise checksums.damaged(folder, chunk, checksums.CHANGED, todo)
    if not at_once:
        return shards, not running and any(bad(chunk) for _, chunk in _trajectories(root))
    for member, chunk in _trajectories(root):
        if member // size in ready - shards and bad(chunk):
            shards.add(member // size)
    return shards, False


def begun_badly(folder: Path) -> bool:
    """Whether metadata, or a chunk that no shard writes, is lost or not as it was written."""
    try:
        about = checksums.attributes_of(folder)
    except ModelError:
        return True
    if not about or any(True for key, _ in checksums.bad_metadata(folder, about) if _of_study(key)):
        return True
    root = zarr.open_group(StoreFolder(folder, read_only=True), mode="r")
    return any(_bad(folder, checksums.is_named(about), chunk) for chunk in _written_first(root))


def origin(folder: Path) -> tuple[str, int] | None:
    """What the digest of a study and the size of its shards were when it was begun; None where nothing says it."""
    for group, names in (("", (STUDY_DIGEST, SHARD_SIZE)), ("shards", (STUDY_DIGEST, SHARD_SIZE))):
        try:
            about = checksums.attributes_of(folder, group)
            return str(about[names[0]]), int(about[names[1]])
        except (ModelError, KeyError):
            continue
    return None


def put_back(folder: Path, draft: Path, *, late: bool) -> None:
    """Replaces what is lost or damaged of the files that a study begins with, which do not change while it runs.

    Args:
        draft: the study as it begins. late: whether its trajectories are written when all shards are done; of damage
            there all of them are made anew.
    """
    named = checksums.is_named(checksums.attributes_of(draft))
    bad = [key for key in _files(draft) if not _is_good(folder, key, named)]
    if not bad and late:
        bad = ["trajectories"]  # in their chunks, of which the draft has others
    if late and any(key.startswith("trajectories") for key in bad):
        if checksums.METADATA not in bad:
            with study_store.writing(folder) as files:
                study_store.reopen(files, ())
        remove(folder / "trajectories")
        bad = [key for key in _files(draft) if key in bad or key.startswith("trajectories/")]
    for key in bad:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        replace_safely(folder / key, (draft / key).read_bytes())


def _files(folder: Path) -> list[str]:
    """Names of the files of a store, the root's metadata last: with it the store is whole."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(names, key=lambda name: (name == checksums.METADATA, name))


def _is_good(folder: Path, key: str, named: bool) -> bool:
    if not checksums.is_metadata(key):
        return not _bad(folder, named, key)
    path = folder / key
    return path.is_file() and checksums.document(key, path.read_bytes(), named=named) is not None


def _of_study(key: str) -> bool:
    return key.startswith(GROUPS)


def _added(folder: Path, about: dict[str, Any]) -> Iterator[str]:
    """The chunks there are of groups that a study does not begin with."""
    for group in {node.partition("/")[0] for node in about.get(checksums.CONTENTS, ())}:
        if not _of_study(f"{group}/"):
            for path in (folder / group).glob("*/c/**/*"):
                if path.is_file():
                    yield path.relative_to(folder).as_posix()


def _bad(folder: Path, named: bool, chunk: str) -> bool:
    path = folder / chunk
    return not path.is_file() or not checksums.is_whole(chunk, path.read_bytes(), named=named)


def _rows(root: zarr.Group, shard: int) -> Iterator[str]:
    """The chunks of a shard in the table of members."""
    for name in _arrays(root, "members"):
        yield f"members/{name}/c/{shard}"


def _written_first(root: zarr.Group) -> Iterator[str]:
    """The chunks that are there from the beginning."""
    for group in ("trajectories", "log"):
        for name, array in _arrays(root, group).items():
            if group == "log" or not _of_members(name, array):
                yield from _chunks(f"{group}/{name}", array) if array.size else ()


def _trajectories(root: zarr.Group) -> Iterator[tuple[int, str]]:
    """Member and name of every chunk of the trajectories."""
    arrays = _arrays(root, "trajectories")
    members = arrays["member"][:].tolist() if arrays else []
    for name, array in arrays.items():
        if _of_members(name, array):
            for chunk in _chunks(f"trajectories/{name}", array):
                yield members[int(chunk.removeprefix(f"trajectories/{name}/c/").split("/")[0])], chunk


def _arrays(root: zarr.Group, group: str) -> dict[str, Any]:
    return dict(zarr.open_group(root.store, path=f"{root.path}/{group}".strip("/"), mode="r").arrays())


def _of_members(name: str, array: Any) -> bool:
    return name != "member" and array.metadata.dimension_names[:1] == ("member",)


def _chunks(path: str, array: Any) -> Iterator[str]:
    """Files of all chunks of an array."""
    grid = [range(-(-size // chunk)) for size, chunk in zip(array.shape, array.chunks, strict=True)]
    for place in itertools.product(*grid):
        yield f"{path}/c/" + "/".join(map(str, place))

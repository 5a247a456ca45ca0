"""What of a stored study is not as it was written, by the checksums of all its chunks: it must run again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zarr

from shiftjax.ensembles.store import study_store
from shiftjax.ensembles.store.folders import is_whole
from shiftjax.errors import ModelError

Damage = tuple[set[int], bool]  # shards, and whether it is in trajectories that are written when all shards are done


def damaged(folder: Path, size: int, *, at_once: bool) -> Damage:
    """What must run again.

    Args:
        size: of a shard. at_once: whether trajectories are written with their shards.

    Raises:
        ModelError: a damaged file that no shard writes.
    """
    root = zarr.open_group(folder, mode="r")
    ready, running = study_store.done(folder), study_store.is_running(root.attrs)
    unmarked = set() if running else set(range(_arrays(root, "shards")["done"].size)) - ready
    shards = unmarked | {shard for shard in ready if any(_bad(folder, chunk) for chunk in _rows(root, shard))}
    for chunk in _written_first(root):
        if _bad(folder, chunk):
            found_there, todo = "a chunk that is not as it was written", "No shard writes it: take a copy, or run anew."
            raise ModelError(f"{folder}: {chunk}", found_there, "the file as it was written", todo)
    if not at_once:
        return shards, not running and any(_bad(folder, chunk) for _, chunk in _trajectories(root))
    for member, chunk in _trajectories(root):
        if member // size in ready - shards and _bad(folder, chunk):
            shards.add(member // size)
    return shards, False


def _bad(folder: Path, chunk: str) -> bool:
    path = folder / chunk
    return not path.is_file() or not is_whole(path.read_bytes())


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

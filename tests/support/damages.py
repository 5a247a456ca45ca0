"""Damage of several kinds, at random places of the files of a store, and whether a store reads the same."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError

KINDS = ("flip", "truncate", "delete", "swap", "say")
SAID = {"node_type": "group", "shape": [7], "units": "mm", "data_type": "float32", "format_version": 3, "endian": "big",
        "span": 0.06, "zarr_format": 2, "study_state": "running", "path": "coupler.height", "shard_size": 5,
        "attributes": {}, "codecs": [], "fill_value": 0, "chunk_shape": [3], "contents": []}  # fmt: skip


def damage(place: Path, rng: random.Random, kind: str) -> str:
    """Damages a store and tells what was done.

    Args:
        kind: one of `KINDS`; `say` makes metadata, which stays readable, say something else.
    """
    every = sorted(path for path in place.rglob("*") if path.is_file())
    if kind == "say" or (kind != "swap" and rng.random() < 0.3):
        every = [path for path in every if path.name == "zarr.json"]
    path = rng.choice(every)
    data = path.read_bytes()
    if kind == "flip":
        at, bit = rng.randrange(len(data)), rng.randrange(8)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
    elif kind == "truncate":
        path.write_bytes(data[: rng.randrange(len(data))])
    elif kind == "delete":
        path.unlink()
    elif kind == "swap":
        other = rng.choice([p for p in every if p != path and p.name == path.name] or every)
        path.write_bytes(other.read_bytes())
        other.write_bytes(data)
        return f"swap {path} {other}"
    else:
        document = json.loads(data)
        known = [name for name in SAID if _has(document, name)]
        name = rng.choice(known)
        path.write_text(json.dumps(_with(document, name)))
        return f"say {path} {name}"
    return f"{kind} {path}"


def _has(value: Any, name: str) -> bool:
    return isinstance(value, dict) and (name in value or any(_has(entry, name) for entry in value.values()))


def _with(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: SAID[name] if key == name else _with(entry, name) for key, entry in value.items()}
    return value


def reads_alike(place: Path, whole: Path) -> bool:
    """Whether a store reads as another one: every number, text and attribute; but for marks, of which one that is
    damaged reads as not set. False where damage is named.

    Raises:
        AssertionError: it reads as something else.
    """
    try:
        mine = store.read(place).load()
    except ModelError:
        return False
    theirs = store.read(whole).load()
    assert mine.drop_nodes("shards").identical(theirs.drop_nodes("shards")), f"{place} reads otherwise"
    marks, every = (tree["shards"].to_dataset()["done"].values for tree in (mine, theirs))
    return bool((marks <= every).all())

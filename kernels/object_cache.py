"""Compiled objects on disk, and what else takes seconds to compute.

A file is `sha256 of the rest` + the object, written atomically; a corrupt file is detected and replaced.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from shiftjax.disk_cache import folder, replace, sources
from shiftjax.disk_cache import read as read_entry

KERNELS = Path(__file__).resolve().parent
DIGEST = hashlib.sha256().digest_size


def key(*parts: str, without: tuple[str, ...] = ()) -> str:
    """The name of an object: hash of everything that determines it, and of our sources.

    Args:
        without: rooms of this one whose sources determine nothing of it.
    """
    return hashlib.sha256("\n".join((sources(KERNELS, without), *parts)).encode()).hexdigest()


def path(name: str, kind: str = "o") -> Path:
    """Where an object is: `o` of LLVM, `xla` an executable of XLA, `npz` arrays."""
    return folder() / name[:2] / f"{name}.{kind}"


def read(name: str, kind: str = "o") -> bytes | None:
    """The object stored as `name`, None for a missing or corrupt one, or one that another user wrote."""
    try:
        data = read_entry(path(name, kind))
    except OSError:
        return None
    code = data[DIGEST:]
    return code if data[:DIGEST] == hashlib.sha256(code).digest() and code else None


def write(name: str, code: bytes, kind: str = "o") -> None:
    """Stores an object."""
    replace(path(name, kind), hashlib.sha256(code).digest() + code)

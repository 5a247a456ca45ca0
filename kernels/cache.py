"""Compiled objects on disk, shared by all processes of one user.

A file is `sha256 of the rest` + object code, written under a temporary name and moved into place, so that a reader
never sees half a file and a damaged one is known and written anew.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from pathlib import Path

DIGEST = hashlib.sha256().digest_size


def folder() -> Path:
    """SHIFTJAX_CACHE_DIR, else the user's cache folder."""
    named = os.environ.get("SHIFTJAX_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shiftjax"


@functools.cache
def sources() -> str:
    """Hash of the files that decide the emitted text."""
    digest = hashlib.sha256()
    here = Path(__file__).resolve().parent
    for path in sorted(here.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def key(*parts: str) -> str:
    """The name of an object: everything that decides it, and our sources."""
    return hashlib.sha256("\n".join((sources(), *parts)).encode()).hexdigest()


def read(name: str) -> bytes | None:
    """The object kept as `name`, None where there is none or it is damaged."""
    try:
        data = (folder() / name[:2] / f"{name}.o").read_bytes()
    except OSError:
        return None
    code = data[DIGEST:]
    return code if data[:DIGEST] == hashlib.sha256(code).digest() and code else None


def write(name: str, code: bytes) -> None:
    """Keeps an object; a folder that cannot be written is no error, it only costs time later."""
    place = folder() / name[:2]
    try:
        place.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".new-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(temporary, place / f"{name}.o")
    except OSError:
        Path(temporary).unlink(missing_ok=True)

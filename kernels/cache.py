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

HERE = Path(__file__).resolve().parent
DIGEST = hashlib.sha256().digest_size


def folder() -> Path:
    """SHIFTJAX_CACHE_DIR, else the user's cache folder."""
    named = os.environ.get("SHIFTJAX_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shiftjax"


@functools.cache
def sources(package: Path) -> str:
    """Hash of the files of a package: an entry made by other code is not used."""
    digest = hashlib.sha256()
    for path in sorted(package.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def key(*parts: str) -> str:
    """The name of an object: everything that decides it, and our sources."""
    return hashlib.sha256("\n".join((sources(HERE), *parts)).encode()).hexdigest()


def read(name: str) -> bytes | None:
    """The object kept as `name`, None where there is none or it is damaged."""
    try:
        data = (folder() / name[:2] / f"{name}.o").read_bytes()
    except OSError:
        return None
    code = data[DIGEST:]
    return code if data[:DIGEST] == hashlib.sha256(code).digest() and code else None


def write(name: str, code: bytes) -> None:
    """Keeps an object."""
    replace(folder() / name[:2] / f"{name}.o", hashlib.sha256(code).digest() + code)


def replace(place: Path, data: bytes) -> None:
    """Puts a file into place whole; a folder that cannot be written is no error, it only costs time later."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".new-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, place)
    except OSError:
        Path(temporary).unlink(missing_ok=True)

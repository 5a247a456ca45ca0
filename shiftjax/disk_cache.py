"""The user's cache folder: files that cost time to make, shared by all processes of one user."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from pathlib import Path


def folder() -> Path:
    """SHIFTJAX_CACHE_DIR, else the user's cache folder."""
    named = os.environ.get("SHIFTJAX_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shiftjax"


@functools.cache
def sources(package: Path) -> str:
    """Hash of the Python files of a package: an entry made by other code is not used."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


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

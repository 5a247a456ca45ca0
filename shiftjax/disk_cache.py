"""The user's cache folder: files that are expensive to compute, shared by all processes of one user."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from pathlib import Path


def folder() -> Path:
    """SHIFTJAX_CACHE_DIR, else the user's cache folder."""
    override = os.environ.get("SHIFTJAX_CACHE_DIR")
    if override:
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shiftjax"


@functools.cache
def sources(package: Path) -> str:
    """Hash of the Python files of a package: part of every key, so that other code invalidates an entry."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def replace(path: Path, data: bytes) -> None:
    """Writes a file atomically; a folder that is not writable is no error: the entry is then computed again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)

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


def read(path: Path) -> bytes:
    """The content of an entry that this user wrote.

    Compiled code is run: whoever may write into a shared folder could otherwise run theirs as this user.

    Raises:
        OSError: it cannot be read, or it or its folder belongs to another user.
    """
    with path.open("rb") as file:
        if not (_is_ours(os.fstat(file.fileno())) and _is_ours(path.parent.stat())):
            raise PermissionError(f"{path} belongs to another user")
        return file.read()


def replace(path: Path, data: bytes) -> None:
    """Writes a file atomically, into folders that are this user's alone (0700).

    A folder that is not writable or belongs to another user is no error: the entry is then computed again.
    """
    try:
        _make_folder(path.parent)
        if not _is_ours(path.parent.stat()):
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)


def _make_folder(place: Path) -> None:
    """The folder and those above it that are missing; `mkdir` gives its mode to the last one only."""
    missing = [parent for parent in (place, *place.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(mode=0o700, exist_ok=True)


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process; systems without owners (Windows) have rights of their own."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()

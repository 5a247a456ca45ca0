"""The user's cache folder: files that are expensive to compute, shared by all processes of one user.

Entries are files named by a SHA-256 digest. Together they take at most SHIFTJAX_CACHE_LIMIT MiB, else those that were
not used for the longest time are removed; the time of an entry's last change says when it was used. Other files of the
folder are no entries, and stay. Any process may remove any entry at any time: who misses one computes it again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LIMIT, MIB = 2048, 1 << 20  # MiB where nothing is said: code of some hundred mechanisms, 0.5 to 10 MB each
LIMIT_NAME, NO_LIMIT = "SHIFTJAX_CACHE_LIMIT", "none"
LEFT = 0.8  # of the limit is left when entries are removed, so that this is not done for each new one
NEW = ".new-"  # begins the name of an entry that is being written
ENTRY = re.compile(r"[0-9a-f]{64}\.\w+")
ROOM = re.compile(r"[0-9a-f]{2}|meshes|operations")  # folders that have entries
SWEPT = ".swept"  # whose last change is when sizes were last added up
AGAIN = 3600.0  # s between that: it takes 0.9 s of processor time for 100 000 entries
FRESH = 60.0  # s: a use that soon after the last one is not noted, to spare the disk
DEAD = 3600.0  # s: what is being written since then was left by a process that was killed


def folder() -> Path:
    """SHIFTJAX_CACHE_DIR, else the user's cache folder."""
    override = os.environ.get("SHIFTJAX_CACHE_DIR")
    if override:
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shiftjax"


@functools.cache
def sources(package: Path, without: tuple[str, ...] = ()) -> str:
    """Hash of the Python files of a package: part of every key, so that other code invalidates an entry.

    Args:
        without: folders of the package that are left out.
    """
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in without:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def read(path: Path) -> bytes:
    """The content of an entry that this user wrote.

    Compiled code is run: whoever may write into a shared folder could otherwise run theirs as this user.

    Raises:
        OSError: it cannot be read, or it or its folder belongs to another user.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if not (_is_ours(status) and _is_ours(path.parent.stat())):
            raise PermissionError(f"{path} belongs to another user")
        data = file.read()
    if time.time() - status.st_mtime > FRESH:
        _touch(path)
    return data


def replace(path: Path, data: bytes) -> None:
    """Writes a file atomically, into folders that are this user's alone (0700); now and then removes old entries.

    A folder that is not writable or belongs to another user is no error: the entry is then computed again.
    """
    most = limit()
    try:
        _make_folder(path.parent)
        if not _is_ours(path.parent.stat()):
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=NEW)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
    if most is not None and _is_due(folder() / SWEPT, len(data), most):
        sweep(folder(), most)


def limit() -> int | None:
    """Bytes that the entries may take, of which SHIFTJAX_CACHE_LIMIT says the MiB; None where that is "none".

    What is no limit counts as nothing here; `kernels.backends` refuses it.
    """
    text = os.environ.get(LIMIT_NAME, "").strip()
    if text == NO_LIMIT:
        return None
    return int(text) * MIB if text and is_limit(text) else LIMIT * MIB


def is_limit(text: str) -> bool:
    """Whether a text is a limit: a number of MiB, "none", or nothing for the usual one."""
    return text in ("", NO_LIMIT) or (text.isascii() and text.isdigit() and int(text) > 0)


class _Entry(NamedTuple):
    """Ordered by when it was used."""

    used: float  # s
    size: int  # bytes on the disk
    path: str


def sweep(place: Path, most: int) -> None:
    """Removes entries that were not used for the longest time, where all of a folder take more than so many bytes."""
    entries = sorted(_entries(place))
    total = sum(entry.size for entry in entries)
    if total <= most:
        return
    for entry in entries:
        if total <= LEFT * most:
            return
        try:
            os.unlink(entry.path)
        except FileNotFoundError:
            pass  # another process was faster
        except OSError:
            continue  # a system that keeps open files
        total -= entry.size


def _entries(place: Path) -> Iterator[_Entry]:
    """Every entry of this user in a folder; what dead processes left of new ones is removed."""
    now = time.time()
    for where, rooms, names in os.walk(place):
        rooms[:] = filter(ROOM.fullmatch, rooms)
        for name in names:
            is_entry = bool(ENTRY.fullmatch(name))
            if not (is_entry or name.startswith(NEW)):
                continue
            path = os.path.join(where, name)
            try:
                status = os.lstat(path)
                if is_entry and _is_ours(status):
                    size = max(status.st_size, 512 * getattr(status, "st_blocks", 0))  # whole blocks are taken
                    yield _Entry(status.st_mtime, size, path)
                elif not is_entry and now - status.st_mtime > DEAD:
                    os.unlink(path)
            except OSError:
                continue  # removed or replaced by another process


_written = 0  # bytes by this process since sizes were last added up


def _is_due(mark: Path, more: int, most: int) -> bool:
    """Whether sizes are added up: at times, and where this process alone wrote a good part of the limit."""
    global _written
    _written += more
    try:
        age = time.time() - mark.stat().st_mtime
    except OSError:
        age = AGAIN
    if 0.0 <= age < AGAIN and _written < (1.0 - LEFT) * most:
        return False
    _written = 0
    return _touch(mark)


def _touch(path: Path) -> bool:
    """Notes that a file is used now; whether that could be."""
    try:
        os.utime(path) if path.exists() else path.touch()
    except OSError:
        return False
    return True


def _make_folder(place: Path) -> None:
    """The folder and those above it that are missing; `mkdir` gives its mode to the last one only."""
    missing = [parent for parent in (place, *place.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(mode=0o700, exist_ok=True)


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process; systems without owners (Windows) have rights of their own."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()

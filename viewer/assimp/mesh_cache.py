"""Cache of converted mesh files on disk, as .npz, so that a large file is converted once.

An entry is named after the content of the file and of its companions, and holds the digests of all files that the
importer opened (materials, textures, buffers) or searched without success: it is valid only while these are unchanged.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

from shiftjax.disk_cache import folder, replace, sources
from shiftjax.disk_cache import read as read_entry
from shiftjax.viewer.assimp.pieces import MeshPiece, unpacked

HERE = Path(__file__).resolve().parent
DAMAGED = (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile)


def digest_of(path: Path) -> str:
    """Hash of a file's content, the empty string where there is no plain file."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_of(path: Path, companions: tuple[Path, ...]) -> str:
    """The name of an entry. Raises OSError for a file that cannot be read."""
    parts = [sources(HERE), path.suffix.lower(), digest_of(path)]
    for companion in companions:
        parts += [os.path.relpath(companion, path.parent), digest_of(companion)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def read(name: str, beside: Path) -> tuple[MeshPiece, ...] | None:
    """The pieces `name` of a file in the folder `beside`; None where missing, damaged, outdated or another user's."""
    try:
        pieces, files = unpacked(read_entry(_entry(name)))
        same = all(digest_of(beside / file) == digest for file, digest in files.items())
    except DAMAGED:
        return None
    return pieces if same else None


def write(name: str, data: bytes) -> None:
    """Stores an entry."""
    replace(_entry(name), data)


def _entry(name: str) -> Path:
    return folder() / "meshes" / name[:2] / f"{name}.npz"

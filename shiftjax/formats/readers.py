"""The table of file formats, by suffix. A new format is one file and one entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.formats import collada
from shiftjax.formats.jsonc import MAX_BYTES, parse
from shiftjax.formats.robots.mjcf import model as mjcf
from shiftjax.formats.robots.sdf import document as sdf
from shiftjax.formats.robots.urdf import robot
from shiftjax.registry import Registry

# Text and name of a file to what it holds as a document of the Shift format (the object that its JSON files hold) and
# warnings. It raises ModelError for a text it cannot read. Whether the document is a model is checked after it.
Reader = Callable[[str, str], tuple[Mapping[str, Any], list[str]]]

READERS: Registry[Reader] = Registry(
    "reader of files",
    {
        ".json": parse,
        ".urdf": robot.read,
        ".xml": mjcf.read,
        collada.SUFFIX: collada.read,
        **dict.fromkeys(sdf.SUFFIXES, sdf.read),
    },
)
WITH_FOLDER = {".xml", *sdf.SUFFIXES}  # whose reader takes the folder of the file, too, for those it includes
LIMITS = {collada.SUFFIX: collada.MOST_BYTES}  # bytes of a file, where there may be more than of a model alone


def reader_of(path: PurePath) -> Reader:
    """The reader of a file, by its suffix in small letters; a file without a suffix is read as JSON.

    Raises:
        ModelError: a suffix that no reader is entered for.
    """
    suffix = path.suffix.lower() or ".json"
    if suffix not in READERS:
        todo = "Rename the file, or enter a reader in shiftjax.formats.READERS."
        raise ModelError(str(path)[:200], f"suffix {path.suffix!r}", ", ".join(sorted(READERS)), todo)
    reader: Callable[..., Any] = READERS[suffix]
    return partial(reader, folder=Path(path).parent) if suffix in WITH_FOLDER else reader


def limit_of(path: PurePath) -> int:
    """The most bytes that a file may have."""
    return LIMITS.get(path.suffix.lower(), MAX_BYTES)

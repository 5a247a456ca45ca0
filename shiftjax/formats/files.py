"""Model files: by library name, path or dict to a Model, and back to a file."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import shiftjax.models as library
from shiftjax.errors import ModelError, nearest, need, need_path
from shiftjax.formats.json_text import dumps
from shiftjax.formats.readers import limit_of, reader_of
from shiftjax.formats.shift_json import Document
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model, complete
from shiftjax.plugins import ready
from shiftjax.registry import changes

LIBRARY = Path(library.path("four_bar")).resolve().parent

# Models of the library that were read: path -> of which text, after how many changes of kinds, and the model.
_of_library: dict[Path, tuple[tuple[str, int], Model]] = {}


def load(source: str | Path | Mapping[str, Any], folder: str | Path | None = None) -> Model:
    """The model of a library name, a file or a dict in any of the three dialects.

    Args:
        source: library name, path of a file whose suffix is a key of `READERS`, or the document as a dict.
        folder: where a dict's includes are searched; the working folder if left out.

    Raises:
        ModelError: one, for anything that cannot be used; warnings are in `model.warnings`.
    """
    ready()
    if folder is not None:
        need_path("load: folder", folder)
    path = locate(source) if isinstance(source, (str, os.PathLike)) else None
    if path is None or path.parent != LIBRARY:
        return _loaded(path or source, folder)
    key, known = (read_text(path), changes()), _of_library.get(path)  # these include no other files
    if known is None or known[0] != key:
        known = _of_library[path] = key, _loaded(path, folder)
    return known[1]


def _loaded(source: object, folder: str | Path | None) -> Model:
    """`load`, where a file is there by its whole path."""
    seen: dict[Path, Model] = {}

    def open_file(path: Path, chain: tuple[Path, ...]) -> Model:
        if path not in seen:
            data, warnings = _contents(path, base)
            document = Document(data, path.name, path.parent, (*chain, path), open_file)
            document.warnings += warnings
            parsed = document.model()
            # kept until mounted, so that units can be compared; the numbers are SI already
            seen[path] = dataclasses.replace(parsed, source=str(path), units=FrozenJson(document.unit_names))
        return seen[path]

    base = Path.cwd() if folder is None else Path(folder)
    if isinstance(source, Mapping):
        model = Document(source, "", base, (), open_file).model()
    elif isinstance(source, Path):
        base = source.parent
        model = open_file(source, ())
    else:
        raise ModelError("load", type(source).__name__, "a library name, a path or a dict", "Give one of these.")
    return complete(dataclasses.replace(model, units=Model().units))


def _contents(path: Path, base: Path) -> tuple[Any, list[str]]:
    """The document that a file holds, and warnings.

    A model that somebody sends may include files anywhere. What lies outside of its folder `base` is quoted in errors
    only where it is a model: else a message, and whoever reads it, would learn what is in files that are no models.
    """
    inside = path.is_relative_to(base.resolve())
    try:
        data, warnings = reader_of(path)(read_text(path), path.name)
    except ModelError:
        if inside:
            raise
        data, warnings = None, []
    if not inside and not (isinstance(data, Mapping) and "assemblies" in data):
        todo = "Check 'include' and 'include_directories'."
        raise ModelError(str(path), "a file that is no model", "a model file, with 'assemblies'", todo)
    return data, warnings


def locate(source: str | os.PathLike[str]) -> Path:
    """The file a user means: an existing path, else a model of the library."""
    text = os.fspath(source)
    if not isinstance(text, str) or "\0" in text or len(text) > 4000:
        raise ModelError("load", repr(text)[:80], "a library name or the path of a file", "Give one of these.")
    path = Path(text).expanduser() if text.startswith("~") else Path(text)
    try:
        if path.is_file():
            return path.resolve()
        what = "something that is no file" if path.exists() else "no such file"
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(text[:200], str(error)[:200], "a file that can be read", "Check the path.") from error
    if path.suffix or len(path.parts) != 1 or not isinstance(source, str):
        raise ModelError(text[:200], what, "an existing model file or a library name", _similar(path))
    if text in library.names():
        return Path(library.path(text)).resolve()
    hint = nearest(text[:80], library.names()) or "`shiftjax models` lists the library."
    raise ModelError(text[:200], f"{what} and no model of this name", "a library name or a path", hint)


def _similar(path: Path) -> str:
    try:
        names = [item.name for item in path.parent.iterdir()][:1000]
    except OSError:
        return f"There is no folder {path.parent}."
    return nearest(path.name, names) or "Check the path."


def read_text(path: Path) -> str:
    """The text of a file, its size checked before it is read."""
    try:
        if path.stat().st_size > (limit := limit_of(path)):
            raise ModelError(str(path), f"{path.stat().st_size} bytes", f"at most {limit}", "Is this a model file?")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(str(path), f"a byte that is no UTF-8 at {error.start}", "UTF-8 text", "Save it so.") from error
    except OSError as error:
        raise ModelError(str(path), error.strerror or str(error), "a file that can be read", "Check it.") from error


def save(model: Model, path: str | Path) -> None:
    """Writes the model in the v2.0 dialect; reading it gives an equal model. An old file is replaced whole.

    Raises:
        ModelError: a suffix other than .json, which the file would not be read by, or a place that cannot be written.
    """
    need("save: model", model, Model, "a Model")
    need_path("save: path", path)
    target = Path(path)
    if target.suffix.lower() not in ("", ".json"):
        raise ModelError(str(path), f"suffix {target.suffix!r}", ".json or none", "Save it as .json.")
    write_text(target, dumps(to_dict(model)))


def write_text(path: Path, text: str) -> None:
    """Writes a file; an old one is replaced whole, or stays as it is.

    Raises:
        ModelError: a place that cannot be written.
    """
    try:
        handle, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise ModelError(str(path), error.strerror or str(error), "a place that can be written", "Check it.") from error


def free_stem(folder: Path, stem: str, suffixes: Sequence[str]) -> str:
    """A name of which a folder has no file with one of these suffixes: the stem, else stem_2, and so on."""
    name, k = stem, 1
    while any((folder / f"{name}{suffix}").exists() for suffix in suffixes):
        k += 1
        name = f"{stem}_{k}"
    return name

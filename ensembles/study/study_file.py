"""Study files: a `Definition` as TOML, read and written, and the JSON Schema of it. Host only, no jax."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable

import shiftjax.models as library
from shiftjax.ensembles.study.definition import Definition, document, from_document
from shiftjax.ensembles.study.definition_keys import KEYS
from shiftjax.errors import ModelError, need, need_path
from shiftjax.formats.files import read_text, write_text
from shiftjax.mechanism.model import Model

SUFFIX = ".toml"
_FILE = re.compile(r"(\bfile\s*=\s*)([^,()]+)")  # of a table in the words of a motion


def is_study(name: str | Path) -> bool:
    """Whether a name on the command line is that of a study file."""
    return Path(name).suffix.lower() == SUFFIX


def read(path: str | Path) -> Definition:
    """The definition that a file holds; names of files in it are relative to its folder.

    Args:
        path: of a file, or the name of a study of the library, with .toml or without, where there is no such file.

    Raises:
        ModelError: no file of that name, no TOML, an unknown key, a value that cannot be used; its `where` begins with
            the name of the file.
    """
    need_path("study file", path)
    source = _file_of(Path(path))
    if source.suffix.lower() != SUFFIX:
        raise ModelError(str(path), f"suffix {source.suffix!r}", SUFFIX, "A study is a TOML file.")
    text = read_text(source)
    try:
        words = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        todo = "Correct it there; paths of numbers as keys stand in quotes."
        raise ModelError(str(path), f"no TOML: {error}", "a TOML file", todo) from None
    try:
        return from_document(words, source.absolute().parent)
    except ModelError as error:
        raise ModelError(f"{source.name}: {error.where}", error.found, error.allowed, error.todo) from None


def _file_of(path: Path) -> Path:
    """The file of a path: that of a library study where there is none, but one of its name."""
    plain = path.parent == Path() and path.suffix.lower() in ("", SUFFIX)
    return library.study(path.stem) if plain and not os.path.exists(path) and path.stem in library.STUDIES else path


def write(definition: Definition, path: str | Path, *, force: bool = False) -> Path:
    """Writes a definition as a file, from which `read` gives an equal one.

    Names of files are written relative to the folder of the new file.

    Args:
        force: replace what is there.

    Raises:
        ModelError: a model that no file holds, a place that cannot be written.
    """
    need("study file: definition", definition, Definition, "a Definition")
    need("study file: force", force, bool, "True or False")
    need_path("study file", path)
    target = Path(path)
    if target.suffix.lower() != SUFFIX:
        raise ModelError(str(path), f"suffix {target.suffix!r}", SUFFIX, "A study is a TOML file.")
    if target.exists() and not force:
        raise ModelError(str(path), "something of that name", "a new name", "Use --force to replace it.")
    write_text(target, tomlkit.dumps(_ordered(_words(definition, target.absolute().parent))))
    return target


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a study file."""
    properties = {
        name: {"description": key.doc + (f" [{key.unit}]" if key.unit else ""), **key.schema}
        for name, key in KEYS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://shiftjax.invalid/schema/study-1.json",
        "title": "Study of shiftjax",
        "type": "object",
        "properties": properties,
        "required": ["model"],
        "additionalProperties": False,
    }


def _words(definition: Definition, folder: Path) -> dict[str, Any]:
    """What a file in a folder says."""
    if not isinstance(definition.model, str):
        what = "a Model" if isinstance(definition.model, Model) else "a model within the study"
        todo = "Save the model first, with shiftjax.save, and give its path."
        raise ModelError("model", what, "the name or the path of a model", todo)

    def beside(name: str) -> str:
        return Path(os.path.relpath(definition.placed(name).absolute(), folder)).as_posix()

    written = document(definition)
    if definition.model_file is not None:
        written["model"] = beside(definition.model)
    if "table" in written:
        written["table"] = beside(written["table"])
    for joint, words in written.get("drive", {}).items():
        if isinstance(words, str):
            written["drive"][joint] = _FILE.sub(lambda match: match[1] + beside(match[2].strip()), words)
        elif isinstance(words, Mapping) and "file" in words:
            written["drive"][joint] = {**words, "file": beside(words["file"])}
    return written


def _ordered(words: Mapping[str, Any]) -> tomlkit.TOMLDocument:
    """A document: lines first, then tables; what is inside of these on one line, since their order counts."""
    text = tomlkit.document()
    for name, value in sorted(words.items(), key=lambda entry: isinstance(entry[1], Mapping)):
        if not isinstance(value, Mapping):
            text.add(name, _item(value))
            continue
        table = tomlkit.table()
        for key, inner in value.items():
            table.add(tomlkit.key([key]), _item(inner))
        text.add(name, table)
    return text


def _item(value: Any) -> Any:
    """A value on one line."""
    if isinstance(value, Mapping):
        inline: InlineTable = tomlkit.inline_table()
        for key, inner in value.items():
            inline.append(tomlkit.key([key]), _item(inner))
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        return array
    return tomlkit.item(value)

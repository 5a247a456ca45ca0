"""A COLLADA file that carries a model: the text of its own file in an <extra>, which other programs keep or drop.

    <extra type="model"><technique profile="shiftjax">
        <model sha256="...">{ the file, as `save` writes it }</model>
    </technique></extra>

Geometry, materials and motion beside it are for other programs and are not read: the model is what the text says. White
space around the text is not part of it, since programs that write a file again indent it as they like. Everything else
is guarded by the digest: a model that was cut off or mangled is refused, not half read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from shiftjax.errors import ModelError
from shiftjax.formats.jsonc import parse

SUFFIX, PROFILE = ".dae", "shiftjax"
MOST_BYTES = (
    400_000_000  # of a file with its meshes and its motion; those of the model in it are limited as of any file
)
_WAY = ["COLLADA", "extra", "technique", "model"]
_SEPARATOR = "}"  # between a name space and a name, in what the parser gives
_REPAIR = "Export it anew: `shiftjax export MODEL --dae FILE.dae`."


def digest_of(text: str) -> str:
    """SHA-256 of a text as hexadecimal digits; white space at its ends does not count."""
    return hashlib.sha256(text.strip().encode()).hexdigest()


def read(text: str, name: str) -> tuple[Mapping[str, Any], list[str]]:
    """The document of the model in a COLLADA file, and warnings: a `Reader`.

    Raises:
        ModelError: no XML, no model in it or several, one that is not what its digest says.
    """
    models = _Models(name)
    try:
        models.parser.Parse(text, True)
    except expat.ExpatError as error:
        where = f"{name}: line {error.lineno}"
        raise ModelError(where, f"no XML ({expat.ErrorString(error.code)})", "a COLLADA file", _REPAIR) from None
    if not models.collada:
        raise ModelError(name, "XML that is no COLLADA", "a COLLADA file", _REPAIR)
    allowed = "one <model> in its <extra><technique profile='shiftjax'>, as `shiftjax export --dae` writes it"
    if not models.texts:
        todo = "Export a model as .dae, or name this file as a mesh of a body."
        raise ModelError(name, "a COLLADA file without a model of shiftjax", allowed, todo)
    if len(models.texts) > 1:
        raise ModelError(name, f"{len(models.texts)} models", allowed, "Leave one in it.")
    digest, content = models.texts[0]
    if digest != digest_of(content):
        todo = f"{_REPAIR} Where the change is meant, save the text of <model> as a .json file."
        raise ModelError(f"{name}: <model>", "a text that is not the one exported", "the text of its sha256", todo)
    return parse(content, f"{name}: <model>")


class _Models:
    """What a parser has met: the digests and texts of models. Nothing else of a file is kept in memory."""

    def __init__(self, name: str) -> None:
        self.texts: list[tuple[str, str]] = []
        self.collada = False
        self._name = name
        self.parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._open: list[str] = []
        self._profile = self._digest = ""
        self._pieces: list[str] = []

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name.rpartition(_SEPARATOR)[2])
        self.collada = self.collada or self._open == _WAY[:1]
        if self._open == _WAY[:3]:
            self._profile = attributes.get("profile", "")
        elif self._open == _WAY:
            self._digest, self._pieces = attributes.get("sha256", ""), []

    def _end(self, _: str) -> None:
        if self._inside():
            self.texts.append((self._digest, "".join(self._pieces)))
        self._open.pop()

    def _characters(self, text: str) -> None:
        if self._inside():
            self._pieces.append(text)

    def _inside(self) -> bool:
        return self._profile == PROFILE and self._open == _WAY

    def _doctype(self, *_: Any) -> None:
        # entities can blow a small file up, and COLLADA has none
        raise ModelError(f"{self._name}: <!DOCTYPE>", "a document type", "a COLLADA file without one", "Take it out.")

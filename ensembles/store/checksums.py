"""Checksums of the files of a store, each over the file's name, too: a file in the place of another is not whole.

Properties: any Zarr reads the store. Metadata (`zarr.json`) has its checksum among its attributes; a chunk ends in a
frame that Zstandard skips (RFC 8878, section 3.1.2), with the name of its file, and in the CRC-32C of all before. The
root lists the groups and arrays there are. Stores of the third format have checksums of the content of chunks only,
and are read as they are.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import google_crc32c

from shiftjax.errors import ModelError

METADATA = "zarr.json"
CHECKSUM, CONTENTS = "checksum", "contents"  # attributes: of every zarr.json; of the root, all groups and arrays
FORMAT, NAMED_SINCE = "shiftjax", 4  # of the roots of stores, and the version of the format
SKIPPED = 0x184D2A50  # magic number of frames that Zstandard skips
CRC = 4  # bytes at the end of a chunk
CHANGED, LOST = "that is not as it was written", "that is missing"
AGAIN = "Take a copy, or run again; other arrays are whole."
MEND = "Run `shiftjax sweep STUDY --resume --verify`: what is damaged is run again. Other arrays are whole."
EITHER = "`shiftjax sweep STUDY --resume --verify` mends the store of a study; of a result take a copy, or run again."


def is_metadata(key: str) -> bool:
    return key.rpartition("/")[2] == METADATA


def sealed(key: str, data: bytes) -> bytes:
    """What is written as the file `key` of a store: metadata with its checksum, a chunk with its name in its own."""
    if is_metadata(key):
        document = json.loads(data)
        attributes = {name: value for name, value in document.get("attributes", {}).items() if name != CHECKSUM}
        document["attributes"] = {**attributes, CHECKSUM: _of_document(key, {**document, "attributes": attributes})}
        return json.dumps(document).encode()  # in one line: json's encoder of lines is in Python, ten times as slow
    return sealed_chunk(key, data[:-CRC])


def sealed_chunk(key: str, data: bytes) -> bytes:
    """The file of a chunk that has no checksum yet."""
    body = data + _frame(key)
    return body + _crc(body)


def is_whole(key: str, data: bytes, *, named: bool) -> bool:
    """Whether the content of a chunk's file is as it was written.

    Args:
        named: whether its checksum is over its name, too.
    """
    body = data[:-CRC]
    return len(data) > CRC and _crc(body) == data[-CRC:] and (not named or body.endswith(_frame(key)))


def document(key: str, data: bytes, *, named: bool) -> dict[str, Any] | None:
    """The metadata of a group or an array, without its checksum; None where it is not as it was written.

    Args:
        named: whether it must have a checksum. That of the root must, from the fourth format on.
    """
    try:
        content = json.loads(data)
        attributes = dict(content["attributes"])
        checksum = attributes.pop(CHECKSUM, None)
        version = int(attributes.get("format_version", 0)) if attributes.get("format") == FORMAT else 0
    except (ValueError, KeyError, TypeError):
        return None
    content["attributes"] = attributes
    if checksum is None:
        return None if named or version >= NAMED_SINCE else content
    return content if checksum == _of_document(key, content) else None


def attributes_of(folder: Path, group: str = "") -> dict[str, Any]:
    """The attributes of a store, or of a group in it; none where there is none.

    Raises:
        ModelError: metadata that is not as it was written.
    """
    key = f"{group}/{METADATA}".lstrip("/")
    try:
        data = (folder / key).read_bytes()
    except OSError:
        return {}
    content = document(key, data, named=False)
    if content is None:
        raise damaged(folder, key, CHANGED, EITHER)
    return content["attributes"]


def is_named(about: dict[str, Any]) -> bool:
    """Whether all files of a store, with such attributes, have checksums with their names."""
    return about.get("format") == FORMAT and about.get("format_version", 0) >= NAMED_SINCE


def bad_metadata(folder: Path, about: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names of the metadata that is not as it was written, and what is wrong.

    Args:
        about: attributes of the root. Those of older stores list nothing.
    """
    for path in about.get(CONTENTS, ()):
        key = f"{path}/{METADATA}"
        try:
            data = (folder / key).read_bytes()
        except OSError:
            yield key, LOST
            continue
        if document(key, data, named=True) is None:
            yield key, CHANGED


def damaged(folder: Path, key: str, fault: str, todo: str) -> ModelError:
    """The error of a file that is not as it was written."""
    if is_metadata(key):
        return ModelError(f"{folder}: {key}", f"metadata {fault}", "the file as it was written", todo)
    array, _, chunk = key.partition("/c/")
    where = f"{folder}: array {array.removesuffix('/c')}, chunk {chunk or '0'}"
    return ModelError(where, f"a chunk {fault}", "the file as it was written", todo)


def _frame(key: str) -> bytes:
    name = key.encode()
    return struct.pack("<II", SKIPPED, len(name)) + name


def _crc(data: bytes) -> bytes:
    return google_crc32c.value(cast(Any, data)).to_bytes(CRC, "little")


def _of_document(key: str, content: dict[str, Any]) -> str:
    """Of what metadata says, however it is written."""
    text = json.dumps([key, content], sort_keys=True, separators=(",", ":"))
    return _crc(text.encode()).hex()

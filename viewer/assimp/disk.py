"""File system of the importer, in the child process: callbacks that find companions and record opened files.

A mesh file that somebody sends may name anything, and links may lead anywhere: beside the companions, which the model
names, nothing is opened that lies outside of the mesh file's folder and those below it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiftjax.viewer.assimp.repair import repaired

SIZE, POINTER, TEXT = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
READ = ctypes.CFUNCTYPE(SIZE, POINTER, POINTER, SIZE, SIZE)
TELL = ctypes.CFUNCTYPE(SIZE, POINTER)
SEEK = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, SIZE, ctypes.c_int)
FLUSH = ctypes.CFUNCTYPE(None, POINTER)
OPEN = ctypes.CFUNCTYPE(POINTER, POINTER, TEXT, TEXT)
CLOSE = ctypes.CFUNCTYPE(None, POINTER, POINTER)
SUCCESS, FAILURE = 0, -1


class Handle(ctypes.Structure):
    """aiFile"""

    _fields_ = [
        ("read", READ), ("write", READ), ("tell", TELL), ("size", TELL), ("seek", SEEK), ("flush", FLUSH),
        ("data", POINTER),
    ]  # fmt: skip


class Calls(ctypes.Structure):
    """aiFileIO"""

    _fields_ = [("open", OPEN), ("close", CLOSE), ("data", POINTER)]


class Disk:
    """The folder of a mesh file, with its companions.

    Attributes:
        calls: what Assimp opens files by.
        digests: of each file that was opened, by its name from the mesh file's folder; empty for one not found.
    """

    def __init__(self, path: Path, companions: tuple[Path, ...]) -> None:
        self.path, self.companions = path, companions
        self.digests: dict[str, str] = {}
        self._missing: list[str] = []
        self._folder = path.parent.resolve()
        self._contents: dict[Path, bytes] = {}
        self._handles: dict[int, tuple[Any, ...]] = {}
        self.calls = Calls(OPEN(self._open), CLOSE(self._close), None)

    def content(self, name: str) -> bytes | None:
        """Bytes of the file that the mesh file calls `name`, None where there is none.

        Looked for where the name says, then among the companions, then beside the mesh file: exporters leave paths of
        the machine they ran on. What lies elsewhere is neither opened nor asked for.
        """
        name = name.replace("\\", "/")
        last = name.rsplit("/", 1)[-1]
        direct = self.path.parent / name
        named = [companion for companion in self.companions if companion.name == last]
        materials = [companion for companion in self.companions if last.endswith(".mtl") and companion.suffix == ".mtl"]
        for candidate in (direct, *named, self.path.parent / last, *materials):
            if candidate in self._contents:
                return self._contents[candidate]
            if self._lies_elsewhere(candidate):
                continue
            relative = os.path.relpath(candidate, self.path.parent)
            if not candidate.is_file():
                self.digests[relative] = ""
                continue
            data = candidate.read_bytes()
            self.digests[relative] = hashlib.sha256(data).hexdigest()
            if candidate == self.path:
                library = next((os.fsencode(file.name) for file in self.companions if file.suffix == ".mtl"), None)
                data = repaired(candidate.suffix.lower(), data, library)
            self._contents[candidate] = data
            return data
        self._missing.append(name.removeprefix(f"{self.path.parent}/"))
        return None

    def absent(self, name: str) -> str:
        """Why there is no `content` of a file that the mesh file calls `name`."""
        if self._lies_elsewhere(self.path.parent / name.replace("\\", "/")):
            return (
                "not in the mesh file's folder or below it, links followed. Copy it there, or name it after the mesh "
                "in the shape's 'filename'"
            )
        return "no such file"

    def _lies_elsewhere(self, file: Path) -> bool:
        if file == self.path or file in self.companions:
            return False
        try:
            return not file.resolve().is_relative_to(self._folder)
        except RuntimeError:  # a circle of links
            return True

    def missing_materials(self) -> tuple[str, ...]:
        """A warning about the first .mtl that there is none of; the importer then tries other names by itself."""
        names = [name for name in self._missing if name.endswith(".mtl")]
        return tuple(f"materials {name}: {self.absent(name)}" for name in names[:1])

    def _open(self, _calls: int, name: bytes, mode: bytes) -> int | None:
        if b"w" in mode or b"a" in mode:
            return None
        try:
            data = self.content(os.fsdecode(name))
        except (OSError, ValueError):  # a name with a zero byte is a ValueError
            return None
        if data is None:
            return None
        handle = _handle(data)
        address = ctypes.addressof(handle)
        self._handles[address] = (handle,)
        return address

    def _close(self, _calls: int, handle: int) -> None:
        self._handles.pop(handle, None)


def _handle(data: bytes) -> Handle:
    """An open file over bytes in memory."""
    source = ctypes.cast(ctypes.c_char_p(data), POINTER).value or 0
    at = [0]

    def read(_: int, target: int, size: int, count: int) -> int:
        whole = min(count, max(0, len(data) - at[0]) // size) if size else 0
        ctypes.memmove(target, source + at[0], whole * size)
        at[0] += whole * size
        return whole

    def seek(_: int, offset: int, origin: int) -> int:
        signed = offset - 2**64 if offset >= 2**63 else offset
        position = signed + (0, at[0], len(data))[origin]
        if not 0 <= position <= len(data):
            return FAILURE
        at[0] = position
        return SUCCESS

    write: Callable[..., int] = lambda *_: 0  # noqa: E731
    return Handle(READ(read), READ(write), TELL(lambda _: at[0]), TELL(lambda _: len(data)), SEEK(seek),
                  FLUSH(lambda _: None), None)  # fmt: skip

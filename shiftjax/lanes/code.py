"""A graph that is built when it is needed, and the digest by which what is compiled of it is found again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from shiftjax.disk_cache import folder, read, replace
from shiftjax.lanes.graph import Graph

LENGTH = 2 * hashlib.sha256().digest_size  # of a digest in hexadecimal digits


class Code:
    """A graph that nobody has built yet.

    Args:
        build: makes it. text: decides it, with the sources that write it, so that its digest is remembered on disk
            (`remember`) and a warm start builds nothing; "" where only the graph itself tells, as with anything from
            outside.
    """

    def __init__(self, build: Callable[[], Graph], text: str = "") -> None:
        self.build, self.text = build, text

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        return self.build()

    @cached_property
    def digest(self) -> str:
        """That of the graph: SHA-256."""
        if not self.text:
            return self.graph.digest()
        try:
            digest = read(self._path).decode("ascii")
        except (OSError, ValueError):
            digest = ""
        return digest if len(digest) == LENGTH else self.graph.digest()

    def remember(self) -> None:
        """Writes down which graph the text stands for."""
        if self.text and not self._path.exists():
            replace(self._path, self.digest.encode())

    @property
    def _path(self) -> Path:
        name = hashlib.sha256(self.text.encode()).hexdigest()
        return folder() / name[:2] / f"{name}.digest"

    def derived(self, label: object, build: Callable[[], Graph]) -> Code:
        """The code of a graph that follows from this one and a label."""
        return Code(build, f"{label!r} of {self.text}" if self.text else "")

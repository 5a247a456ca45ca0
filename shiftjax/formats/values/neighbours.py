"""Files that a document names: where they are searched."""

from __future__ import annotations

from pathlib import Path

from shiftjax.formats.values.node import Node
from shiftjax.record import record


@record
class Neighbours:
    """What lies beside a document, then in its include directories, never above them.

    Attributes:
        folder: of the document. directories: its include directories, from there.
    """

    folder: Path
    directories: tuple[str, ...] = ()

    def find(self, node: Node) -> Path:
        """The file that a node names.

        Raises:
            ModelError: no such file, one that leads out of its folder, a path that cannot be relative.
        """
        text = node.text()
        if not text or "\0" in text or Path(text).is_absolute() or len(text) > 500:
            node.refuse("a path relative to this file or to an include directory", "Correct the path.")
        tried: list[str] = []
        for place in (self.folder, *(self.folder / directory for directory in self.directories)):
            try:
                base = place.resolve()
                file = (base / text).resolve()
                if not file.is_relative_to(base):
                    tried.append(f"{base} (leads out of it)")
                elif file.is_file():
                    return file
                else:
                    tried.append(str(base))
            except (OSError, ValueError, RuntimeError):  # as of a circle of links
                tried.append(str(place))
        node.refuse("a file in " + ", ".join(tried[:4]), "Put the file there, or add to 'include_directories'.")

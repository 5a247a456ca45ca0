"""JSON text of plain values, without recursion; short lists and objects on one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 110  # characters of what stands on one line, beside its key and what it is indented by
MAX_INDENT = 20  # levels; a thousand nested assemblies would else be megabytes of spaces
INLINE_DEPTH = 4


def dumps(value: Any, line: int | None = None) -> str:
    """The text of a JSON value: ASCII, two spaces a level, numbers so that they read back exactly.

    Args:
        line: characters that a line may have where it can be broken; None: what stands on one line has up to `WIDTH`,
            whatever its key and its indent.
    """
    out: list[str] = []
    open_: list[tuple[Iterator[Any], str, bool]] = []  # entries to come, closing bracket, whether one is written

    def begin(item: Any, before: int) -> None:
        short = _inline(item, INLINE_DEPTH)
        if short is not None and len(short) <= (WIDTH if line is None else line - before):
            out.append(short)
        elif isinstance(item, Mapping):
            out.append("{")
            open_.append((iter(item.items()), "}", False))
        elif isinstance(item, (list, tuple)):
            out.append("[")
            open_.append((iter(item), "]", False))
        else:
            out.append(json.dumps(item, allow_nan=False))

    begin(value, 0)
    while open_:
        entries, bracket, written = open_[-1]
        try:
            entry = next(entries)
        except StopIteration:
            open_.pop()
            out.append("\n" + "  " * min(len(open_), MAX_INDENT) + bracket)
            continue
        open_[-1] = (entries, bracket, True)
        indent, name = "  " * min(len(open_), MAX_INDENT), ""
        if bracket == "}":
            key, entry = entry
            name = f"{json.dumps(key)}: "
        out.append((",\n" if written else "\n") + indent + name)
        begin(entry, len(indent + name) + 1)  # a comma may follow
    return "".join(out) + "\n"


def _inline(item: Any, depth: int) -> str | None:
    """The one-line text of a shallow value, None for one too deep or clearly too long."""
    if isinstance(item, Mapping):
        if depth == 0 or len(item) > 8:
            return None
        pairs = [(key, _inline(entry, depth - 1)) for key, entry in item.items()]
        if any(text is None or len(text) > WIDTH for _, text in pairs):
            return None
        return "{" + ", ".join(f"{json.dumps(key)}: {text}" for key, text in pairs) + "}"
    if isinstance(item, (list, tuple)):
        if depth == 0 or len(item) > WIDTH // 2:
            return None
        texts = [_inline(entry, depth - 1) for entry in item]
        if any(text is None or len(text) > WIDTH for text in texts):
            return None
        return "[" + ", ".join(str(text) for text in texts) + "]"
    return json.dumps(item, allow_nan=False)

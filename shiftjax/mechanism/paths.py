"""The text of paths: `assembly:sub:body:frame.T[2]`, names with special characters in backticks.

A path is an object (names joined by ":") and a field (from the first "." or "[" outside backticks).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Steps = tuple[str | int, ...]  # keys from a record to a number: ("inertia", "Ixx"), ("T", 2)
LONGEST_NAME = 200  # characters
NAME_RULE = f"1 to {LONGEST_NAME} printable characters without ':' and '`'"
SPECIAL = re.compile(r"[.\[\]=]")
STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(0|[1-9][0-9]{0,8})\]")


def is_name(text: str) -> bool:
    """Whether a text may be a name, which paths, tables and messages show as it is: `NAME_RULE`."""
    return 1 <= len(text) <= LONGEST_NAME and text.isprintable() and ":" not in text and "`" not in text


def quote(name: str) -> str:
    """The name as it stands in a path: in backticks where it holds a character that paths use."""
    return f"`{name}`" if SPECIAL.search(name) else name


def join(*names: str) -> str:
    """The path of an object from its plain names, outermost first."""
    return ":".join(map(quote, names))


def child(path: str, name: str) -> str:
    """The path of the object called `name` inside `path` ("" is the root)."""
    return f"{path}:{quote(name)}" if path else quote(name)


def parts(path: str) -> list[str]:
    """The plain names of an object path; a name cannot hold ":" nor a backtick."""
    return [name.strip("`") for name in path.split(":")]


def split(path: str) -> tuple[str, str]:
    """Object (names quoted only where they must be) and field of a path as a user writes it."""
    quoted = False
    for i, letter in enumerate(path):
        if letter == "`":
            quoted = not quoted
        elif letter in ".[" and not quoted:
            return join(*parts(path[:i])), path[i:]
    return join(*parts(path)), ""


def steps(field: str) -> Steps:
    """`.inertia.Ixx` -> ("inertia", "Ixx"), `.T[2]` -> ("T", 2); empty where the text is no field."""
    parts: list[str | int] = []
    position = 0
    while position < len(field):
        match = STEP.match(field, position)
        if match is None:
            return ()
        parts.append(match[1] if match[1] else int(match[2]))
        position = match.end()
    return tuple(parts)


def shortened(path: str, wanted: str, tail: int) -> bool:
    """Whether `wanted` is `path` without some leading assemblies, at least its last `tail` names."""
    return path == wanted or (path.endswith(":" + wanted) and wanted.count(":") + 1 >= tail)


def matching(paths: Iterable[str], given: str) -> list[str]:
    """The paths that a user may mean by one, or by the end of one: one that is written in full is meant alone."""
    known = list(paths)
    return [given] if given in known else [path for path in known if path.endswith(f":{given}")]


def listed(paths: Iterable[str], limit: int = 4) -> str:
    """A few of the paths, for a message."""
    every = list(paths)
    return ", ".join(every[:limit]) + (f", ... ({len(every)} in all)" if len(every) > limit else "")


def text_of(keys: Steps) -> str:
    """The text of steps in a path: `.T[2]`; inverse of `steps`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in keys)


def natural_key(path: str) -> tuple[tuple[str | int, ...], str]:
    """Sort key: the element's name, digits by value, then the whole path; independent of list order."""
    name = path.rsplit(":", 1)[-1]
    pieces = re.split(r"(\d+)", name)
    return tuple(int(p) if p.isdigit() else p for p in pieces), path

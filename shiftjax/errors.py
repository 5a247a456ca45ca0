"""The error that invalid user input raises."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class ModelError(ValueError):
    """Invalid input: states where, what was found, what is allowed, what to do.

    Attributes:
        where: path of the offending element (JSON path, element name or option).
        found: what was found there.
        allowed: what is allowed there.
        todo: what the user can do about it.
    """

    def __init__(self, where: str, found: str, allowed: str, todo: str) -> None:
        self.where, self.found, self.allowed, self.todo = where, found, allowed, todo
        super().__init__(f"{where}: found {found}; allowed: {allowed}. {todo}")


def one_of(where: str, word: object, known: Iterable[str]) -> None:
    """Raises unless the word is one of the known ones."""
    names = list(known)
    if word not in names:
        raise ModelError(where, repr(word), ", ".join(names), nearest(str(word), names) or "Choose one of them.")


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence naming the known word nearest to `word`, or the empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean {close[0]!r}?" if close else ""


def refuse_text(where: str, paths: Sequence[str]) -> None:
    """Raises for one text in place of a list of paths: its letters would be read as paths."""
    if isinstance(paths, str):
        raise ModelError(where, repr(paths), "a list of paths", f"Write [{paths!r}].")

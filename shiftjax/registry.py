"""Registries that extensions add to: unique names of entries of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from shiftjax.errors import ModelError

T = TypeVar("T")


_changes = 0  # of all registries, in this process


def changes() -> int:
    """How often any registry was changed: what was worked out by their entries holds as long as it stays the same."""
    return _changes


class Registry(dict[str, T]):
    """A dictionary whose entries cannot be replaced: a name that is taken is refused, except for an equal entry.

    Args:
        what: what an entry is, for messages.
    """

    def __init__(self, what: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self.what, self._shipped = what, tuple(entries.values())
        self.__doc__ = f"Every {what} by its name; assign to a new name to add one."

    def ships(self, entry: T) -> bool:
        """Whether an entry is one of those that the package made: by its sources alone it is known what they do."""
        return entry in self._shipped

    def __setitem__(self, name: str, entry: T) -> None:
        """Adds an entry.

        Raises:
            ModelError: the name is taken by another entry.
        """
        if name in self and self[name] != entry:
            raise ModelError(f"{self.what} {name!r}", "a name that is taken", "a new name", "Choose another one.")
        super().__setitem__(name, entry)
        _note()

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        _note()

    def update(self, *entries: Any, **named: Any) -> None:
        """Adds entries, each as by its name."""
        for name, entry in dict(*entries, **named).items():
            self[name] = entry

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        todo = f"Assign to a new name to add a {self.what}, or del one that was added."
        raise ModelError(f"registry of {self.what}s", "a change that is neither", "an entry added or deleted", todo)

    pop = popitem = clear = setdefault = __ior__ = _refuse  # type: ignore[assignment]


def _note() -> None:
    global _changes
    _changes += 1

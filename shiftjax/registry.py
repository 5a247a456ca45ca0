"""Registries that extensions add to: unique names of entries of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

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

    def __ior__(self, entries: Any) -> Self:  # type: ignore[override]
        self.update(entries)
        return self

    def setdefault(self, name: str, entry: T) -> T:  # type: ignore[override]
        """Adds an entry unless its name is taken; the entry of that name."""
        if name not in self:
            self[name] = entry
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Takes an entry out, and gives it."""
        _note()
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, T]:
        """Takes the last entry out."""
        _note()
        return super().popitem()

    def clear(self) -> None:
        """Takes all entries out."""
        _note()
        super().clear()


def _note() -> None:
    global _changes
    _changes += 1

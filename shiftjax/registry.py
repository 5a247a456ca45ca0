"""Registries that extensions add to: unique names of entries of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from shiftjax.errors import ModelError

T = TypeVar("T")


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

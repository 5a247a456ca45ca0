"""Frozen JSON values: parts of a file that are stored without interpretation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_DEPTH = 50


class FrozenJson(Mapping[str, Any]):
    """An immutable, hashable JSON object; its lists are tuples, its objects are `FrozenJson`."""

    __slots__ = ("_items",)

    def __init__(self, values: Mapping[str, Any] | None = None, **more: Any) -> None:
        merged = {**(values or {}), **more}
        self._items: dict[str, Any] = {key: freeze(value) for key, value in merged.items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenJson) and self._items == other._items

    def __repr__(self) -> str:
        return f"FrozenJson({self._items!r})"


def freeze(value: Any, depth: int = 0) -> Any:
    """The hashable form of a JSON value; RecursionError for one nested deeper than `MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        raise RecursionError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, FrozenJson):
        return value
    if isinstance(value, Mapping):
        out = FrozenJson()
        out._items.update({str(key): freeze(item, depth + 1) for key, item in value.items()})
        return out
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item, depth + 1) for item in value)
    return value


def thaw(value: Any) -> Any:
    """The plain dict, list and scalar form of a frozen value."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value

"""What is made once and stays in memory, up to a number of entries."""

from __future__ import annotations

from typing import Any


def forget_oldest(made: dict[Any, Any], most: int) -> None:
    """Leaves so many at most of what was made first to last; other threads may do the same."""
    for old in list(made)[: max(len(made) - most, 0)]:
        made.pop(old, None)

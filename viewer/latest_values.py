"""Values worked out once for as long as what they depend on stays the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class LatestValues:
    """Values by name, for the latest of what they depend on."""

    def __init__(self) -> None:
        self._of: Any = None
        self._values: dict[str, Any] = {}

    def get(self, of: Any, name: str, make: Callable[[], Any]) -> Any:
        """The value of a name; of: what it depends on, the same for all names."""
        if self._of != of:
            self._of, self._values = of, {}
        if name not in self._values:
            self._values[name] = make()
        return self._values[name]

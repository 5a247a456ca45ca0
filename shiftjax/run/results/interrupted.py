"""What Ctrl-C leaves of a run: the members that are done, and where the others stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or another signal that raises KeyboardInterrupt, while `simulate` ran.

    Its `result` holds the members that are done; the others have status `interrupted`, and NaN after the time that
    they reached. That of `load_path` is a `LoadPath`, whose curves end where they were. Nobody who does not ask for it
    waits until it is put together.
    """

    def __init__(self, gather: Callable[[], Any]) -> None:
        super().__init__("interrupted; what is done is in the attribute `result`")
        self._gather = gather

    @cached_property
    def result(self) -> Any:
        """What is done."""
        return self._gather()

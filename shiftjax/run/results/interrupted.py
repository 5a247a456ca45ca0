"""What Ctrl-C leaves of a run: the members that are done, and where the others stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from shiftjax.run.results.result import Result


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or another signal that raises KeyboardInterrupt, while `simulate` ran.

    Its `result` holds the members that are done; the others have status `interrupted`, and NaN after the time that
    they reached. Nobody who does not ask for it waits until it is put together.
    """

    def __init__(self, gather: Callable[[], Result]) -> None:
        super().__init__("interrupted; what is done is in the attribute `result`")
        self._gather = gather

    @cached_property
    def result(self) -> Result:
        """What is done."""
        return self._gather()

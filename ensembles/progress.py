"""How far a study is, told to whoever waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable

from shiftjax.record import record


@record
class Progress:
    """Where a study stands.

    Attributes:
        members: of the study. done: members that are done, with those that were before. running: members' worth of
            work that is under way. failed: members that ended early. repartitioned: members that changed coordinates.
        seconds: since this call began. rate: members a second since then.
    """

    members: int
    done: int
    running: float
    failed: int
    repartitioned: int
    seconds: float
    rate: float


class Teller:
    """Counts what is done and tells it."""

    def __init__(self, members: int, before: int, progress: Callable[[Progress], None]) -> None:
        self._members, self._before, self._progress = members, before, progress
        self._done, self._failed, self._changed = before, 0, 0
        self._begun = time.perf_counter()
        self._offset = self._size = 0

    def begin(self) -> None:
        self._tell(0.0)

    def within(self, before: int, members: int) -> None:
        """Of the shard that runs, so many members are done, so many run now."""
        self._offset, self._size = before, members

    def part(self, fraction: float) -> None:
        """Of those that run."""
        self._tell(self._offset + fraction * self._size)

    def shard(self, members: int, failed: int, changed: int) -> None:
        self._done, self._failed, self._changed = self._done + members, self._failed + failed, self._changed + changed
        self._tell(0.0)

    def _tell(self, running: float) -> None:
        seconds = time.perf_counter() - self._begun
        rate = (self._done - self._before + running) / max(seconds, 1e-9)
        self._progress(Progress(self._members, self._done, running, self._failed, self._changed, seconds, rate))

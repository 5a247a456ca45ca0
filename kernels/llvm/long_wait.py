"""A long compilation is reported while it runs: how long it will take, and how far it is."""

from __future__ import annotations

import logging
import time

LOG = logging.getLogger("shiftjax.kernels")
LONG = 5.0  # s; shorter compilations are not reported
TAIL = 1.3  # all of the time over that of writing the code; LLVM works beside it but ends later


class LongWait:
    """Reports of one compilation through `logging`, which prints warnings unless it is told otherwise.

    Args:
        pieces: that have to be compiled. The largest ones, accelerations and projection, come one after the other and
            are of about one size, so that the first of them tells how long it will take.
    """

    def __init__(self, pieces: int) -> None:
        self.pieces, self.done, self.longest = pieces, 0, 0.0
        self.begun = self.last = time.perf_counter()
        self.reported = False

    def written(self) -> None:
        """The code of one more piece is written."""
        now = time.perf_counter()
        self.done, self.longest, self.last = self.done + 1, max(self.longest, now - self.last), now
        left = self.pieces - self.done
        expected = TAIL * (now - self.begun + self.longest * (left // 2))
        if left and (self.reported or expected > LONG):
            self.reported = True
            LOG.warning("compiling: %d of %d pieces written, about %.0f s in all", self.done, self.pieces, expected)

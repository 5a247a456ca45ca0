"""How a command ends that is told to: Ctrl-C (SIGINT) and SIGTERM alike, with the exit codes that shells expect."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALLED = 128  # exit codes above: the number of the signal is added

SOME_FAILED = 3  # exit code of a run some of whose members ended early


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM is raised as Ctrl-C is, so that both end a command in the same way."""
    if threading.current_thread() is not threading.main_thread():  # others receive no signals
        yield
        return

    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)


def exit_code(stop: KeyboardInterrupt) -> int:
    """130 after Ctrl-C, 143 after SIGTERM."""
    terminated = isinstance(stop, Terminated) or isinstance(stop.__cause__, Terminated)
    return SIGNALLED + (signal.SIGTERM if terminated else signal.SIGINT)

"""How a command ends that is told to: Ctrl-C (SIGINT) and SIGTERM alike, with the exit codes that shells expect."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from shiftjax.shield import raising

SIGNALLED = 128  # exit codes above: the number of the signal is added

SOME_FAILED = 3  # exit code of a run some of whose members ended early


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM is raised as Ctrl-C is, so that both end a command in the same way, wherever they come.

    SIGINT is left alone where something else than Python's own function handles it.
    """
    exceptions: dict[int, type[BaseException]] = {signal.SIGTERM: Terminated}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        exceptions[signal.SIGINT] = KeyboardInterrupt
    with raising(exceptions, sys._getframe(2)):
        yield


def exit_code(stop: KeyboardInterrupt) -> int:
    """130 after Ctrl-C, 143 after SIGTERM."""
    terminated = isinstance(stop, Terminated) or isinstance(stop.__cause__, Terminated)
    return SIGNALLED + (signal.SIGTERM if terminated else signal.SIGINT)

"""Moments that no signal may cut short: Ctrl-C and SIGTERM wait until their end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def shielded(afterwards: Callable[[], None] | None = None) -> Iterator[None]:
    """Signals that a Python function handles, and that arrive inside, are handled at the end.

    Only the main thread handles signals: in others, and for signals that end the process at once, nothing changes.

    Args:
        told: called at once when such a signal arrives, in the midst of whatever this thread does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pending.append(number)
        if afterwards is not None:
            afterwards()

    before = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(pending):
            signal.raise_signal(number)

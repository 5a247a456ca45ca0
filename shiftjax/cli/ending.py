"""How a command ends that is told to: Ctrl-C (SIGINT) and SIGTERM alike, with the exit codes that shells expect."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALLED = 128  # exit codes above: the number of the signal is added

SOME_FAILED = 3  # exit code of a run some of whose members ended early

LATER = 0.02  # s until a signal is sent again that came where it must not raise
IMPORT = "<frozen importlib"  # beginning of the file name of Python's code that imports


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM is raised as Ctrl-C is, so that both end a command in the same way; each a moment later where it came at
    a moment in which nothing may be raised.

    Python ignores what is raised in a finaliser or a callback of its garbage collector, of which JAX has one: of 30
    interrupts while a sweep was prepared, 4 were lost so, and 4 others crashed in imports of JAX that they cut short.
    SIGINT is left alone where something else than Python's own function handles it.
    """
    if threading.current_thread() is not threading.main_thread():  # others receive no signals
        yield
        return
    caller, over = sys._getframe(2), list[bool]()

    def stop(number: int, frame: FrameType | None) -> None:
        if not _may_raise(frame, caller):
            _thread.start_new_thread(again, (number,))  # without a lock, which the interrupted code might hold
        elif number == signal.SIGTERM:
            raise Terminated
        else:
            raise KeyboardInterrupt

    def again(number: int) -> None:
        time.sleep(LATER)
        if not over:
            os.kill(os.getpid(), number)

    default_handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, *[signal.SIGINT] * default_handler)}
    try:
        yield
    finally:
        over.append(True)
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _may_raise(frame: FrameType | None, caller: FrameType) -> bool:
    """Whether an exception raised in a frame arrives in one that has called it, and cuts no import short."""
    ignoring = {code for callback in gc.callbacks if (code := getattr(callback, "__code__", None))}
    while frame is not None and frame is not caller:
        code = frame.f_code
        if code in ignoring or code.co_name == "__del__" or code.co_filename.startswith(IMPORT):
            return False
        frame = frame.f_back
    return True


def exit_code(stop: KeyboardInterrupt) -> int:
    """130 after Ctrl-C, 143 after SIGTERM."""
    terminated = isinstance(stop, Terminated) or isinstance(stop.__cause__, Terminated)
    return SIGNALLED + (signal.SIGTERM if terminated else signal.SIGINT)

"""Where signals are handled: at the end of moments that none may cut short, and never where what they raise is lost."""

from __future__ import annotations

import _thread
import _weakrefset
import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import ParamSpec, TypeVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LATER = 0.02  # s until a signal is sent again that came where it must not raise
IMPORT = "<frozen importlib"  # beginning of the file name of Python's code that imports
WEAK = (weakref.__file__, _weakrefset.__file__)  # of its code that is called where weak references end

P = ParamSpec("P")
R = TypeVar("R")


# Blocks that have their handlers in place, the innermost last: whether it is a shield, or one of `raising`.
_blocks: list[bool] = []


@contextmanager
def shielded(on_signal: Callable[[], None] | None = None) -> Iterator[None]:
    """Signals that a Python function handles, and that arrive inside, are handled at the end; of the outermost block,
    where one is inside of another.

    Only the main thread handles signals: in others, and for signals that end the process at once, nothing changes.

    Args:
        on_signal: called at once when such a signal arrives, in the midst of whatever this thread does; not of a block
            that is inside of another one, whose work goes on to its end, with what this one does for it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if _blocks and _blocks[-1]:  # to set handlers again takes 40 us
        yield
        return
    pending: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pending.append(number)
        if on_signal is not None:
            on_signal()

    before = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    blocks = len(_blocks)
    try:
        for number in before:
            signal.signal(number, note)
        _blocks.append(True)
        yield
    finally:
        del _blocks[blocks:]
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(pending):
            signal.raise_signal(number)


@contextmanager
def raising(exceptions: Mapping[int, type[BaseException]], caller: FrameType) -> Iterator[None]:
    """Signals that raise exceptions which arrive in `caller`: a moment later where they came at a moment in which
    nothing may be raised, at the end of the block at the latest.

    Python ignores what is raised in a finaliser, where a weak reference ends, or in a callback of its garbage
    collector, of which JAX has one: of 30 interrupts while a sweep was prepared, 4 were lost so, and 4 others crashed
    in imports of JAX that they cut short.

    Args:
        exceptions: of each signal; others are left alone.
    """
    if threading.current_thread() is not threading.main_thread():  # others receive no signals
        yield
        return
    waiting: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if _may_raise(frame, caller):
            raise exceptions[number]
        waiting.append(number)
        _thread.start_new_thread(send_again, ())  # without a lock, which the interrupted code might hold

    def send_again() -> None:
        time.sleep(LATER)
        for number in _drained(waiting):
            os.kill(os.getpid(), number)

    before = {number: signal.signal(number, stop) for number in exceptions}
    blocks = len(_blocks)
    try:
        _blocks.append(False)
        yield
    finally:
        del _blocks[blocks:]
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        for number in _drained(waiting):
            signal.raise_signal(number)


def interruptible(function: Callable[P, R]) -> Callable[P, R]:
    """A function that Ctrl-C interrupts whenever it comes, though Python's own handler would lose it at some moments.

    Nothing changes where something else than that handler is called by SIGINT.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return function(*args, **kwargs)
        with raising({signal.SIGINT: KeyboardInterrupt}, sys._getframe(1)):
            return function(*args, **kwargs)

    return called


def _drained(numbers: list[int]) -> Iterator[int]:
    """Each of them once, whichever thread comes first."""
    while numbers:
        try:
            yield numbers.pop()
        except IndexError:  # another thread has taken the last one
            return


def _may_raise(frame: FrameType | None, caller: FrameType) -> bool:
    """Whether an exception raised in a frame arrives in one that has called it, and cuts no import short."""
    ignoring = {code for callback in gc.callbacks if (code := getattr(callback, "__code__", None))}
    while frame is not None and frame is not caller:
        code = frame.f_code
        if code in ignoring or code.co_name == "__del__" or code.co_filename in WEAK:
            return False
        if code.co_filename.startswith(IMPORT):
            return False
        frame = frame.f_back
    return True

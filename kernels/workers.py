"""Threads that run compiled code. An exception, Ctrl-C too, goes on only when all of them have left that code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from shiftjax.shield import shielded

T = TypeVar("T")


class Stop:
    """A flag that a signal's handler may set at any moment: `threading.Event` has a lock, that this thread may hold."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Says that the work ends; again, it changes nothing."""
        self._set = True

    def is_set(self) -> bool:
        """Whether it does."""
        return self._set


def run_all(
    pool: ThreadPoolExecutor, count: int, work: Callable[[Stop], None], *, here: bool = False, stop: Stop | None = None
) -> None:
    """Calls `work` in so many threads and waits for all of them.

    A signal stops them and is handled when they have left: nothing is raised while this thread waits, so that no second
    signal, however soon after the first, lets it go on without them or leave without having stopped them.

    Args:
        work: returns soon after its argument is set. It holds every array whose address it gives to compiled code.
        here: True lets this thread be one of them: its share of short work begins at once, nothing is handed over.
        stop: what is set, where the caller has given it to the work already.
    """
    stop = stop or Stop()
    with shielded(stop.set):
        futures = [pool.submit(work, stop) for _ in range(count - here)]
        try:
            if here:
                work(stop)
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            wait(futures)
            raise


def in_thread(call: Callable[[], T]) -> T:
    """What a long call without Python inside returns; meanwhile the main thread answers to signals.

    A call whose waiting was interrupted ends by itself, and its result is lost.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call).result()
    finally:
        pool.shutdown(wait=False)

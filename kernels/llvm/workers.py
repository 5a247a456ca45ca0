"""Threads that run compiled code. An exception, Ctrl-C too, goes on only when all of them have left that code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from shiftjax.shield import shielded

T = TypeVar("T")


def run_all(
    pool: ThreadPoolExecutor, count: int, work: Callable[[threading.Event], None], *, here: bool = False
) -> None:
    """Calls `work` in so many threads and waits for all of them.

    Args:
        work: returns soon after its argument is set. It holds every array whose address it gives to compiled code, so
            that none is freed under a thread even where a second interrupt ends the waiting.
        here: True lets this thread be one of them: its share of short work begins at once, nothing is handed over.
    """
    stopped = threading.Event()
    futures: list[Future[None]] = []
    try:
        with shielded():  # a thread that was started but not noted would not be waited for
            futures.extend(pool.submit(work, stopped) for _ in range(count - here))
        if here:
            work(stopped)
        for future in futures:
            future.result()
    except BaseException:
        stopped.set()
        with shielded():
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

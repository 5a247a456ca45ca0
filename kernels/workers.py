"""Threads that run compiled code. An exception, Ctrl-C too, goes on only when all of them have left that code."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

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

    Where the system starts no more threads, as under a limit of memory, those that it has started do the work, or this
    one.

    Args:
        work: returns soon after its argument is set, and takes what it does from a queue that all share. It holds every
            array whose address it gives to compiled code.
        here: True lets this thread be one of them: its share of short work begins at once, nothing is handed over.
        stop: what is set, where the caller has given it to the work already.
    """
    stop = stop or Stop()
    futures: list[Future[None]] = []
    lacking = False
    with shielded(stop.set):
        try:
            for _ in range(count - here):
                futures.append(pool.submit(work, stop))
        except RuntimeError as error:
            refuse_other(error)
            lacking, here = True, here or not futures  # fewer threads do the same
        try:
            if here:
                work(stop)
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            wait(futures)
            raise
        if lacking:
            stop.set()  # what a pool has queued for the thread that did not start is not begun later


def share_out(
    pool: Callable[[], ThreadPoolExecutor], threads: int, parts: deque[T], call: Callable[[T, Stop], None], *,
    here: bool = True,
) -> None:  # fmt: skip
    """Calls `call` with every part, in so many threads at most; in this one where one is enough.

    Args:
        parts: what all threads take from; empty at the end. call, here: as of `run_all`.
    """
    count = min(threads, len(parts))

    def work(stopped: Stop) -> None:
        while not stopped.is_set():
            try:
                part = parts.popleft()
            except IndexError:
                return
            call(part, stopped)

    if count <= 1:
        work(Stop())
    else:
        run_all(pool(), count, work, here=here)


def in_thread(call: Callable[[], T]) -> T:
    """What a long call without Python inside returns; meanwhile the main thread answers to signals.

    A call whose waiting was interrupted ends by itself, and its result is lost.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    pool = ThreadPoolExecutor(1)
    try:
        return submitted(pool, call).result()
    finally:
        pool.shutdown(wait=False)


def submitted(pool: ThreadPoolExecutor, call: Callable[..., T], *arguments: Any, **options: Any) -> Future[T]:
    """A call in a pool of one thread; here and at once where the system starts no thread."""
    try:
        return pool.submit(call, *arguments, **options)
    except RuntimeError as error:
        refuse_other(error)
    future: Future[T] = Future()
    future.set_result(call(*arguments, **options))
    return future


def refuse_other(error: RuntimeError) -> None:
    """Raises errors again but that of a thread which the system does not start, which has no class of its own."""
    if "can't start new thread" not in str(error):
        raise error

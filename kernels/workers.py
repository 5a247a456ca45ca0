"""Threads that run compiled code, or NumPy's on portions of many members.

An exception, Ctrl-C too, goes on only when all of them have left that code.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

import numpy as np

from shiftjax.kernels.forks import Threads, cores
from shiftjax.shield import shielded

T = TypeVar("T")
PORTION = 1 << 14  # members: ten arrays of them stay in a core's second cache, and a call of NumPy takes 5 us or more
POOL = Threads(cores())  # for the host's work; ctypes and NumPy release the GIL
_thread = threading.local()  # `busy` where it calls a part
_most: ContextVar[int | None] = ContextVar("threads", default=None)


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

    A part that has parts of its own calls them in its thread: the others have parts, too.

    Args:
        parts: what all threads take from; empty at the end. call, here: as of `run_all`.
    """
    count = min(threads_for(threads), len(parts))

    def work(stopped: Stop) -> None:
        while not stopped.is_set():
            try:
                part = parts.popleft()
            except IndexError:
                return
            call(part, stopped)

    def work_beside_others(stopped: Stop) -> None:
        _thread.busy = True
        try:
            work(stopped)
        finally:
            _thread.busy = False

    if count <= 1:
        work(Stop())
    else:
        run_all(pool(), count, work_beside_others, here=here)


def threads_for(threads: int) -> int:
    """How many of so many threads are free for what this one has to do: none but itself where it does a part."""
    return 1 if getattr(_thread, "busy", False) else threads


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Within, the host's work takes no more threads than so many; all cores where None."""
    before = _most.set(threads)
    try:
        yield
    finally:
        _most.reset(before)


def host_threads() -> int:
    """How many threads the host's work takes."""
    return min(_most.get() or cores(), cores())


def in_portions(call: Callable[[slice], T], count: int, size: int = PORTION, threads: int | None = None) -> list[T]:
    """What `call` returns of each portion of some members, in their order.

    A signal that raises an exception does so when the portions that are being done are; of one that raises none, or
    none before the end of a shield, all portions are done.

    Args:
        call: in any thread, several at a time; it changes nothing but what belongs to its members.
        count: of the members. size: of a portion. threads: at most; `host_threads` where left out.
    """
    portions = [slice(first, min(first + size, count)) for first in range(0, count, size)]
    results: list[Any] = [None] * len(portions)
    left, context = deque(range(len(portions))), copy_context()  # NumPy's `errstate` is one of the context

    def one(k: int, _: Stop) -> None:
        results[k] = context.copy().run(call, portions[k])

    while left:
        share_out(POOL.pool, min(threads or cores(), host_threads()), left, one, here=False)
    return results


def copied(values: np.ndarray, dtype: np.dtype | type | None = None) -> np.ndarray:
    """An array (..., B) once more, in C order, in several threads: the system takes most of the time to give memory."""
    out = np.empty(values.shape, dtype or values.dtype)

    def copy(portion: slice) -> None:
        out[..., portion] = values[..., portion]

    in_portions(copy, values.shape[-1])
    return out


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

"""What a forked process needs: threads of its own, and no lock that a thread of its parent held when it was forked."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, TypeVar

L = TypeVar("L", bound=AbstractContextManager[Any])


def free_after_forks(lock: L) -> L:
    """The lock, which is free in a process that is forked while another thread holds it: the fork waits for it."""

    def leave() -> None:
        lock.__exit__(None, None, None)

    os.register_at_fork(before=lock.__enter__, after_in_child=leave, after_in_parent=leave)
    return lock


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """A pool of threads, made when it is first asked for, and again in a forked process, which has none of them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def pool(self) -> ThreadPoolExecutor:
        """The pool of this process."""
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.count), os.getpid()
        return self._pool


def _fresh_locks() -> None:
    """New locks of the cached properties, each of which has one in Python before 3.12, that a thread may have held."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "shiftjax":
            for owner in list(vars(module).values()):
                for value in list(vars(owner).values()) if isinstance(owner, type) else ():
                    if isinstance(value, cached_property) and hasattr(value, "lock"):
                        vars(value)["lock"] = threading.RLock()


os.register_at_fork(after_in_child=_fresh_locks)

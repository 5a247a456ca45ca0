"""What runs, goes on with or replaces the store of a study: its flags, checked by name. Host code."""

from __future__ import annotations

from typing import Any

from shiftjax.errors import need, need_count, need_function


def check_flags(of: str, *, progress: Any, threads: Any, **flags: Any) -> int | None:
    """Raises `ModelError` where an argument of a function of studies is of a wrong kind; the threads as Python's int.

    Args:
        of: name of the function. flags: name -> what must be True or False.
    """
    for name, flag in flags.items():
        need(f"{of}: {name}", flag, bool, "True or False")
    need_function(f"{of}: progress", progress, "a function of the progress")
    if threads is not None:
        need_count(f"{of}: threads", threads, 1)
    return None if threads is None else int(threads)

"""What a long search tells of how far it is, to whoever waits for it and may end it. Host code.

`watched` names who waits; loops anywhere below call `tell`, and what that raises ends the search. Each thread has its
own, and nobody waits where none is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

Progress = Callable[[float], None]


def nobody(done: float) -> None:
    """Nobody waits."""


@dataclass
class _Watch:
    """Who waits, and the part of the whole, from `low` on, that is being done."""

    call: Progress
    low: float = 0.0
    size: float = 1.0
    most: float = 0.0


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(call: Progress) -> Iterator[None]:
    """Within, `call` has the fraction of all that is done; what it raises ends what is being done."""
    token = _WATCH.set(None if call is nobody else _Watch(call))
    try:
        yield
    finally:
        _WATCH.reset(token)


@contextmanager
def share(k: int, count: int) -> Iterator[None]:
    """Within, fractions are those of part k of `count` equal ones of what is being done."""
    watch = _WATCH.get()
    if watch is None:
        yield
        return
    low, size = watch.low, watch.size
    watch.low, watch.size = low + size * k / count, size / count
    try:
        yield
    finally:
        watch.low, watch.size = low, size


def tell(done: float) -> None:
    """A fraction, 0 to 1, of the present part is done; one that is behind what was said before says that again."""
    watch = _WATCH.get()
    if watch is not None:
        watch.most = max(watch.most, watch.low + watch.size * done)
        watch.call(watch.most)

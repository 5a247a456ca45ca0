"""What follows from a model, worked out once: it stays with the model, and a copy of that begins without it.

A model never changes, so that what follows from it alone is the same each time. Of numbers and units the registered
kinds say more: with other kinds they are worked out again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from shiftjax.memory_cache import forget_oldest
from shiftjax.registry import changes

MOST = 64  # answers of a model that are kept

Method = TypeVar("Method", bound=Callable[..., Any])


class WorkedOut(dict[Hashable, tuple[int, Any]]):
    """What was asked -> how often kinds had been registered then, and the answer."""

    def of(self, asked: Hashable, work: Callable[[], Any], *, by_kinds: bool = True) -> Any:
        """The answer to what is asked, which nobody may change.

        Args:
            work: gives it. by_kinds: whether the registered kinds decide it, too.
        """
        kinds = changes() if by_kinds else 0
        known = self.get(asked)
        if known is None or known[0] != kinds:
            answer = work()
            forget_oldest(self, MOST - 1)
            known = self[asked] = (kinds, answer)
        return known[1]

    def __reduce__(self) -> tuple[type[WorkedOut], tuple[()]]:
        """Pickled, or copied, it is empty."""
        return WorkedOut, ()


def once(*, by_kinds: bool) -> Callable[[Method], Method]:
    """Makes a method of a model, of no arguments or hashable ones, work once.

    What it iterates over is kept as a tuple, of which everybody gets an iterator of their own; of a dictionary
    everybody gets a copy.

    Args:
        by_kinds: as of `WorkedOut.of`.
    """

    def with_memory(method: Callable[..., Any]) -> Callable[..., Any]:
        name = method.__name__

        @functools.wraps(method)
        def answered(model: Any, *arguments: Hashable) -> Any:
            def work() -> Any:
                answer = method(model, *arguments)
                return answer if isinstance(answer, dict) else tuple(answer)

            answer = model.worked_out.of((name, *arguments), work, by_kinds=by_kinds)
            return answer.copy() if isinstance(answer, dict) else iter(answer)

        return answered

    return cast("Callable[[Method], Method]", with_memory)

"""What was changed in the view, to take it back and do it again. Plain Python.

Nobody reports changes: in every frame the parts of the view are compared with those of the frame before, so that it
does not matter whether a key, the mouse, a pane or a script has changed them. What is changed while a button is held is
one entry; so is what is changed again and again, as by the wheel.

Properties: the number of entries is bounded; a new change ends what could be done again; what follows by itself from
going back is no change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.record import record

__all__ = ["MOST", "ViewHistory", "ViewPart"]

MOST = 200  # entries
SETTLED = 0.4  # s without a change after which an entry is complete
FOLLOWING = 2  # frames after going back in which changes follow from it


@record
class ViewPart:
    """A part of the view: how it is read, whether two readings are the same, and how one is set again."""

    read: Callable[[Any], Any]
    set: Callable[[Any, Any], None]
    same: Callable[[Any, Any], bool]


@record
class ViewChange:
    """Parts that were changed together: name -> as each was."""

    before: Mapping[str, Any]

    def words(self) -> str:
        return ", ".join(self.before)


class ViewHistory:
    """Entries of a window, the latest last.

    Attributes:
        past, future: what can be taken back and done again.
    """

    def __init__(self) -> None:
        self.past: list[ViewChange] = []
        self.future: list[ViewChange] = []
        self._settled: dict[str, Any] | None = None  # as at the end of the last entry
        self._latest: dict[str, Any] = {}  # in the last frame
        self._still = 0.0  # s since the last change
        self._pressed = False  # whether a button was held in the last frame
        self._following = 0  # frames that are left in which changes follow from going back

    def look(self, parts: Mapping[str, ViewPart], state: Any, seconds: float, *, pressed: bool) -> None:
        """Looks at a frame.

        Args:
            seconds: since the last one.
            pressed: whether a mouse button is.
        """
        now = {name: part.read(state) for name, part in parts.items()}
        if self._settled is None or self._following:
            self._following = max(self._following - 1, 0)
            self._settled = self._latest = now
            return
        moved = _differing(parts, self._latest, now)
        pending = _differing(parts, self._settled, self._latest)
        self._still = 0.0 if moved else self._still + seconds
        others = bool(moved and pending and not set(moved) <= set(pending) and not pressed and not self._pressed)
        if pending and (others or (self._pressed and not pressed and not moved)):
            self._complete(parts)
        self._latest = now
        if (self._pressed and not pressed) or (not pressed and self._still >= SETTLED):
            self._complete(parts)
        self._pressed = pressed

    def back(self, parts: Mapping[str, ViewPart], state: Any) -> str:
        """Takes the latest entry back; what it was of, "" where there is none."""
        self._complete(parts)
        return self._go(parts, state, self.past, self.future)

    def again(self, parts: Mapping[str, ViewPart], state: Any) -> str:
        """Does what was taken back again; what it was of, "" where there is nothing."""
        self._complete(parts)
        return self._go(parts, state, self.future, self.past)

    def _complete(self, parts: Mapping[str, ViewPart]) -> None:
        """What was changed since the last entry is one."""
        settled = self._settled
        if settled is None:
            return
        changed = _differing(parts, settled, self._latest)
        if changed:
            self.past = [*self.past, ViewChange({name: settled[name] for name in changed})][-MOST:]
            self.future = []
        self._settled = self._latest

    def _go(
        self, parts: Mapping[str, ViewPart], state: Any, entries: list[ViewChange], others: list[ViewChange]
    ) -> str:
        if not entries:
            return ""
        entry = entries.pop()
        others.append(ViewChange({name: self._latest[name] for name in entry.before}))
        for name, part in parts.items():  # in the order of the table
            if name in entry.before:
                part.set(state, entry.before[name])
        self._settled = self._latest = {name: part.read(state) for name, part in parts.items()}
        self._following, self._still, self._pressed = FOLLOWING, 0.0, False
        return entry.words()


def _differing(parts: Mapping[str, ViewPart], one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of the parts that are not the same in two readings."""
    return [name for name, part in parts.items() if not part.same(one[name], other[name])]

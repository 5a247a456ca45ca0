"""Members that are shown when they have been simulated again, and what a thread does. No GL, no GUI library.

The window never waits: it asks for members, goes on with those that it shows, and looks in every frame who has come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from shiftjax.record import record
from shiftjax.viewer.members.study_like import Drawable, StudyLike


@record
class Wish:
    """Members to be shown."""

    study: StudyLike
    members: np.ndarray  # (k,)
    show: Callable[[np.ndarray], None]  # called with those that have come


class Work(Protocol):
    """What a thread does that the window has begun, as the writing of a page."""

    @property
    def text(self) -> str:
        """What is being done, "" once that has ended."""
        ...

    def outcome(self) -> str:
        """What came of it, "" as long as it goes on."""
        ...

    def cancel(self) -> None: ...


class Awaited:
    """What is to be shown, at most one wish of each half of the view, and what a thread does.

    Attributes:
        text: what is being simulated or done and how far it is, "" for nothing.
        work: of a thread, None where there is none.
    """

    def __init__(self) -> None:
        self.text = ""
        self.work: Work | None = None
        self._wishes: dict[str, Wish] = {}  # half -> the latest

    def wish(self, half: str, study: StudyLike, drawable: Drawable, show: Callable[[np.ndarray], None]) -> None:
        """Shows members now where they are there, else when all of them have come; replaces an earlier wish of the
        half ("left" or "right").

        Args:
            drawable: the members, by `study.drawable`. show: called with those that can be drawn then, which are some.
        """
        self._wishes.pop(half, None)
        if not len(drawable.again):
            show(drawable.ids)
            return
        study.request(drawable.again)
        self._wishes[half] = Wish(study, drawable.ids, show)
        self.text = study.news()[0]

    def look(self, study: StudyLike) -> list[str]:
        """Shows who has come; returns messages.

        Args:
            study: that of the window, whose progress is told beside that of the wishes.
        """
        messages: list[str] = []
        self.text = ""
        for one in dict.fromkeys([study, *(wish.study for wish in self._wishes.values())]):
            text, notes = one.news()
            self.text, messages = self.text or text, [*messages, *notes]
        if self.work is not None:
            self.text = self.work.text or self.text
            if outcome := self.work.outcome():
                self.work, messages = None, [*messages, outcome]
        come = [half for half, wish in self._wishes.items() if not wish.study.awaited(wish.members)]
        for half in come:
            wish = self._wishes.pop(half)
            there = np.isin(wish.members, [*wish.study.kept, *wish.study.simulated])
            ready = wish.study.drawable(wish.members[there]).ids
            if len(ready):
                wish.show(ready)
        return messages

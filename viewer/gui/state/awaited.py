"""Members that are shown when they have been simulated again. No GL, no GUI library.

The window never waits: it asks for members, goes on with those that it shows, and looks in every frame who has come.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftjax.record import record
from shiftjax.viewer.members.study_like import Drawable, StudyLike


@record
class Wish:
    """Members to be shown."""

    study: StudyLike
    members: np.ndarray  # (k,)
    show: Callable[[np.ndarray], None]  # called with those that have come


class Awaited:
    """What is to be shown, at most one wish of each half of the view.

    Attributes:
        text: what is being simulated and how far it is, "" for nothing.
    """

    def __init__(self) -> None:
        self.text = ""
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
        come = [half for half, wish in self._wishes.items() if not wish.study.awaited(wish.members)]
        for half in come:
            wish = self._wishes.pop(half)
            there = np.isin(wish.members, [*wish.study.kept, *wish.study.simulated])
            ready = wish.study.drawable(wish.members[there]).ids
            if len(ready):
                wish.show(ready)
        return messages

"""The current member and the chosen ones. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Choice:
    """The members that are shown.

    Attributes:
        member: the current one.
        chosen: (k,) chosen members that can be drawn; ghost instances are all of them except `member`.
        text: the expression that chose them, "" where they were not chosen by one.
        ghosts_on: whether ghost instances are drawn; colour_by: the metric that colours them, "" for one colour.
        outlined: whether ghosts are drawn as outlines.
        traces_on: whether the traced point's path is drawn of many members.
    """

    def __init__(self, member: int, drawable: np.ndarray, ghosts: Sequence[int]) -> None:
        """drawable: (k,) members chosen where no ghosts are named."""
        self.member = member
        self.chosen = np.array(list(dict.fromkeys([member, *ghosts])) if ghosts else drawable, np.int64)
        self.text, self.ghosts_on, self.colour_by = "", bool(ghosts), ""
        self.outlined = self.traces_on = False

    @property
    def others(self) -> np.ndarray:
        """(k,) the chosen members except the current one."""
        return self.chosen[self.chosen != self.member]

    def neighbour(self, by: int) -> int:
        """The next or previous chosen member, cyclic."""
        position = np.flatnonzero(self.chosen == self.member)
        return int(self.chosen[((int(position[0]) if len(position) else -1) + by) % len(self.chosen)])

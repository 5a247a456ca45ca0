"""What makes the selected members different from the others shown, collected a little in every frame. No GL, no GUI
library.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.differences import Difference, difference, most_first

SECONDS = 0.03  # a frame; a column of a million members that was not sorted yet takes three times as long


class Comparison:
    """Differences of all columns between a group and the others, made again when the group changes.

    Attributes:
        group: (members,) bool, who is compared: those selected, else those chosen. words: who that is.
    """

    def __init__(self) -> None:
        self.group, self.words = np.zeros(0, bool), ""
        self._of: tuple[int, bytes] | None = None
        self._found: dict[str, Difference] = {}

    def look(self, state: WindowState, seconds: float = SECONDS) -> bool:
        """Goes on collecting; whether all columns are there."""
        explorer, study = state.explorer, state.study
        if (of := (explorer.revision, state.choice.chosen.tobytes())) != self._of:
            self._of, self._found = of, {}
            self.group = explorer.selected.copy()
            if not self.group.any():
                self.group[state.choice.chosen] = True
                self.group &= explorer.shown
            inside, rest = int(self.group.sum()), int((explorer.shown & ~self.group).sum())
            which = "selected" if explorer.counts()[1] else "chosen"
            self.words = f"{inside:,} {which} against {rest:,} other members shown"
        until = time.perf_counter() + seconds
        others = explorer.shown & ~self.group
        for column in (*study.design, *study.metrics):
            if column not in self._found:
                self._found[column] = difference(explorer.table, column, self.group, others)
                if time.perf_counter() > until:
                    break
        return len(self._found) == len(study.design) + len(study.metrics)

    def of(self, columns: Sequence[str]) -> list[Difference]:
        """Those of some columns that are there, the most different first."""
        return most_first([self._found[name] for name in columns if name in self._found])

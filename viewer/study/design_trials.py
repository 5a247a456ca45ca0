"""Designs beside those of a store: one that is simulated when it is asked for, and a store of many like some members.

Each is the work of a process of its own, so that one does not wait for the other; the viewer stays without jax.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from shiftjax.ensembles.execution.sent_tree import tree_of
from shiftjax.errors import ModelError
from shiftjax.viewer.members.nearest_design import Range, ranges_of
from shiftjax.viewer.members.study_like import StudyLike, Trial
from shiftjax.viewer.study.latest_request import LatestRequest

__all__ = ["TITLE", "DesignTrials"]

TITLE = "by hand, not stored"  # what a design is called that no member has


class DesignTrials:
    """Designs tried beside the members of one store.

    Attributes:
        store: its path. ranges: path of each number that varies by itself -> its smallest and largest value.
        one, many: the requests, of a design and of a store of many.
    """

    def __init__(
        self, store: str, columns: Mapping[str, np.ndarray], free: Callable[[], list[str]],
        opened: Callable[[xr.DataTree], StudyLike],
    ) -> None:  # fmt: skip
        """columns: of what varies. free: names of those that follow from no other. opened: a tree as a study."""
        self.store, self._columns, self._free, self._opened = os.path.abspath(store), columns, free, opened
        self._ranges: dict[str, Range] | None = None
        self.one, self.many = LatestRequest(f"{store}: a design"), LatestRequest(f"{store}: more members")

    @property
    def ranges(self) -> Mapping[str, Range]:
        """Read on first use: a column of a million members takes a while."""
        if self._ranges is None:
            self._ranges = ranges_of({name: self._columns[name] for name in self._free()})
        return self._ranges

    def simulate(self, like: int, design: Mapping[str, float]) -> None:
        """Has a design simulated with the parts of a member; of those that wait only the latest is."""
        self.one.ask({"store": self.store, "like": int(like), "design": dict(design)})

    def forget(self) -> None:
        """The design that is being simulated is not wanted any more."""
        self.one.forget()

    def trial(self) -> Trial | None:
        """The latest design that has been simulated and was not asked for yet."""
        answer = self.one.take()
        if answer is None:
            return None
        like, design = answer.request["like"], answer.request["design"]
        if answer.problem:
            return Trial(like, design, None, answer.problem)
        return Trial(like, design, self._opened(tree_of(answer.about, answer.arrays)), "")

    def more(self, like: int, members: np.ndarray, count: int, folder: Path) -> dict[str, Range]:
        """Has a store made of so many more members within the ranges of some, which are returned.

        Args:
            like: the member whose settings they have. members: (members,) bool.

        Raises:
            ModelError: one is being made, or no member of these has the numbers.
        """
        if self.many.busy:
            raise ModelError("more members", "a study that is being made", "one at a time", "Wait until it is done.")
        ranges = ranges_of({name: self._columns[name] for name in self.ranges}, members)
        if not any(high > low for low, high in ranges.values()):
            fault = "members that are alike" if ranges else "no varied number"
            raise ModelError("more members", fault, "members that differ", "Select some that do.")
        about = {"store": self.store, "like": int(like), "count": int(count), "folder": str(folder.absolute())}
        self.many.ask({**about, "ranges": {name: list(ends) for name, ends in ranges.items()}})
        return ranges

    def made(self) -> tuple[str, str] | None:
        """Path of a store that has been made, or why it could not be; each once."""
        answer = self.many.take()
        return None if answer is None else ("" if answer.problem else str(answer.about), answer.problem)

    def text(self) -> str:
        """What is under way, "" where nothing is."""
        one, many = self.one.progress(), self.many.progress()
        return "; ".join(
            [*([f"simulating a design: {one}"] if one else []), *([f"simulating more members: {many}"] if many else [])]
        )

    def close(self) -> None:
        """Ends both processes."""
        self.one.close()
        self.many.close()

"""What the user has picked, selected and taken out of the picture. No GL, no GUI library."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

MODES = ("navigate", "manipulate", "draw")


@dataclasses.dataclass
class Hit:
    """The item under the cursor, or another member where there is no item."""

    path: str | None = None
    point: np.ndarray | None = None  # (3,) on its surface, in the world [m]
    member: int | None = None  # of the study, drawn as a ghost


class Selection:
    """Picked, selected, hidden and translucent items, by path.

    Attributes:
        pick: at most one item; pick_point: (3,) in the coordinates of its node [m], or None.
        selected: any number, in order of selection.
        hidden, translucent: items that are not drawn, or drawn translucent.
        stack: items under the last click, nearest first; faded: those in front of the pick.
        hue: of the highlight; None for the default of the renderer.
        mode: one of MODES; cursor: (3,) the last point under the mouse, in the world [m], or None.
        pixel: (x, y) where the mouse is in the view, from its upper left; view_size: its width and height [pixels].
        hovered: what is under the mouse now.
    """

    def __init__(self) -> None:
        self.pick: str | None = None
        self.pick_point: np.ndarray | None = None
        self.selected: list[str] = []
        self.hidden: set[str] = set()
        self.translucent: set[str] = set()
        self.stack: list[Hit] = []
        self.faded: frozenset[str] = frozenset()
        self.hue: float | None = None
        self.mode = "navigate"
        self.cursor: np.ndarray | None = None
        self.pixel, self.view_size = (0.0, 0.0), (1, 1)
        self.hovered = Hit()

    @property
    def marked(self) -> list[str]:
        """The pick and the selection, each once."""
        return list(dict.fromkeys(([self.pick] if self.pick else []) + self.selected))

    def select(self, path: str, *, on: bool) -> None:
        """Adds an item to the selection or removes it."""
        if on and path not in self.selected:
            self.selected.append(path)
        elif not on and path in self.selected:
            self.selected.remove(path)

    def take(self, path: str | None, point: np.ndarray | None = None) -> None:
        """Picks an item, or nothing, which ends manipulation; point: (3,) in the coordinates of its node [m]."""
        self.pick, self.pick_point, self.faded = path, point, frozenset()
        if path is None and self.mode == "manipulate":
            self.mode = "navigate"

    def show_all(self) -> None:
        """Draws every item as its class is drawn."""
        self.hidden, self.translucent, self.faded = set(), set(), frozenset()

    def follow(self, now: Mapping[str, str]) -> None:
        """Items that have other paths now stay picked, selected and out of the picture."""
        self.pick = None if self.pick is None else now.get(self.pick, self.pick)
        self.selected = [now.get(path, path) for path in self.selected]
        self.hidden, self.translucent = ({now.get(path, path) for path in some} for some in
                                         (self.hidden, self.translucent))  # fmt: skip

    def forget(self, path: str) -> None:
        """Removes an item that no longer exists."""
        self.select(path, on=False)
        self.hidden.discard(path)
        self.translucent.discard(path)
        if self.pick == path:
            self.take(None)

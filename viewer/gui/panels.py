"""Panes and floating windows: which are open, how large, what is typed in them, messages. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftjax.viewer.gui.layout import Sizes

RATES = (1.0, 240.0)  # limits of the frame rate [1/s]
DEFAULT_RATE = 15.0  # lowest frame rate [1/s]
MESSAGES = 50  # the latest are kept


class Panels:
    """The state of everything around the view.

    Attributes:
        panes_on, help_on, info_on: which are open; text: to read and copy, "" for none.
        sizes: of the panes, set by dragging; zoom: scale of text and panes.
        search, typed: contents of text boxes, of the tree and of the members; opened: keys of open rows of the tree.
        messages: the latest ones, for the status bar.
        record_as: suffix of the next movie.
        requests: for the main loop of the window: "quit", "fullscreen", "screenshot", "copy:TEXT".
        rate: lowest frame rate of the window [1/s]; frame_seconds: of the latest frames, smoothed [s].
        own: panels added by the user: title -> a function of the state.
    """

    def __init__(self, opened: set[str]) -> None:
        self.panes_on, self.help_on, self.info_on, self.text = True, False, False, ""
        self.sizes, self.zoom = Sizes(), 1.0
        self.search, self.typed, self.opened = "", "", opened
        self.messages: list[str] = []
        self.record_as = ".mp4"
        self.requests: list[str] = []
        self.rate, self.frame_seconds = DEFAULT_RATE, 0.0
        self.own: dict[str, Callable[[Any], None]] = {}

    def set_rate(self, rate: float) -> None:
        """Sets the lowest frame rate of the window [1/s], within RATES."""
        self.rate = min(max(float(rate), RATES[0]), RATES[1])

    def say(self, text: str) -> None:
        """Adds a message to the status bar."""
        self.messages = [*self.messages, text][-MESSAGES:]

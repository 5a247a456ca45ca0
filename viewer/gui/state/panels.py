"""Panes and floating windows: which are open, how large, what is typed in them, messages. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from shiftjax.viewer.gui.state.layout import Sizes
from shiftjax.viewer.gui.state.typed.new_name import NewName

RATES = (0.0, 240.0)  # limits of the highest frame rate [1/s]; 0 for that of the screen
OPEN = "open"  # the request for another study in place of this one, before its path
T = TypeVar("T")
MESSAGES = 50  # the latest are kept
PANES = ("Menu", "Model", "Properties", "Study", "Timeline")  # that the keyboard can move in, in this order


class Panels:
    """The state of everything around the view.

    Attributes:
        panes_on: whether there are panes; sides_on: those at both sides, too, which small windows begin without.
        help_on, info_on, console_on: which are open; line: that is typed in the console; text: to read and copy, ""
            for none.
        new_name: that is typed in the place of another one, None where none is.
        sizes: of the panes, set by dragging; zoom: scale of text and panes; rows: height of what is in the pane of the
            time line [points], which has more rows in a narrow window.
        search, typed, study: contents of text boxes, of the tree, of the members and of the study to open; opened: keys
            of open rows of the tree.
        messages: the latest ones; message: the one in the status bar, "" once its problem is solved.
        popups: how many menus, lists and popups are open one in the other; popup_closes: whether all are to close.
        pane: the pane that the keyboard moves in, one of PANES, "" for the view; pane_moved: whether it changed.
        record_as: suffix of the next movie.
        clicked: names of actions whose buttons or menu items were clicked in this frame.
        requests: for the main loop of the window: "quit", "fullscreen", "screenshot", "copy:TEXT",
            "open:PATH".
        rate: highest frame rate of the window [1/s], 0 for that of the screen; frame_seconds: of the latest frames,
            smoothed [s]; unfinished: whether a pane goes on with what it collects in the next frame; by_hand: whether a
            hand moves something in this one.
        user_panels: added by the user: title -> a function of the state.
    """

    def __init__(self, opened: set[str]) -> None:
        self.sides_on = True
        self.panes_on, self.help_on, self.info_on, self.text = True, False, False, ""
        self.console_on, self.line = False, ""
        self._lasting: dict[Any, Any] = {}
        self.new_name: NewName | None = None
        self.sizes, self.zoom, self.rows = Sizes(), 1.0, 0.0
        self.search, self.typed, self.study, self.opened = "", "", "", opened
        self.messages: list[str] = []
        self.message, self._about = "", ""
        self.popups, self.popup_closes = 0, False
        self.pane, self.pane_moved = "", False
        self.record_as = ".mp4"
        self.clicked: list[str] = []
        self.requests: list[str] = []
        self.rate, self.frame_seconds, self.unfinished, self.by_hand = RATES[0], 0.0, False, False
        self.user_panels: dict[str, Callable[[Any], None]] = {}

    def lasting(self, kind: Callable[[], T]) -> T:
        """What a pane keeps for as long as the window is open, also where another model is shown, by its class; made
        on first use."""
        if kind not in self._lasting:
            self._lasting[kind] = kind()
        return self._lasting[kind]

    def set_rate(self, rate: float) -> None:
        """Sets the highest frame rate of the window [1/s], within RATES."""
        self.rate = min(max(float(rate), RATES[0]), RATES[1])

    def say(self, text: str, about: str = "") -> None:
        """Shows a message in the status bar.

        Args:
            about: the action that it is a problem of, whose success removes it; "" for other messages.
        """
        self.messages = [*self.messages, text][-MESSAGES:]
        self.message, self._about = text, about

    def solved(self, about: str) -> None:
        """An action has succeeded: the message about a problem of it goes."""
        if self._about == about:
            self.message, self._about = "", ""

    def toggle_panes(self) -> None:
        """Hides all panes, or shows all of them."""
        self.panes_on = not (self.panes_on and self.sides_on)
        self.sides_on = True

    def enter(self, pane: str) -> None:
        """The keyboard moves in a pane, "" for the view, from the next frame on."""
        self.pane, self.pane_moved = pane, True

    def next_pane(self, by: int, *, study: bool) -> None:
        """The keyboard goes on to the next pane, or back to the one before; after the last to the view.

        Args:
            study: whether the study pane is open.
        """
        shown = {"Model": self.panes_on and self.sides_on, "Properties": self.panes_on and self.sides_on,
                 "Study": study, "Timeline": self.panes_on}  # fmt: skip
        rounds = ["", *(name for name in PANES if shown.get(name, True))]
        at = rounds.index(self.pane) if self.pane in rounds else 0
        self.enter(rounds[(at + by) % len(rounds)])

    def close(self) -> bool:
        """Closes what lies over the view: open menus, lists and popups, else leaves the pane that the keyboard
        moves in, else closes the window that was opened last; False where none is.
        """
        if self.popups:
            self.popup_closes = True
        elif self.pane:
            self.enter("")
        elif self.user_panels:
            self.user_panels.popitem()
        elif self.info_on:
            self.info_on = False
        elif self.text:
            self.text = ""
        elif self.help_on:
            self.help_on = False
        elif self.console_on:
            self.console_on = False
        else:
            return False
        return True

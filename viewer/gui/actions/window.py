"""The window itself: maps of keys, the study pane, one view or two, texts to copy, requests to its main loop."""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.viewer.gui.actions.members import beside, grid
from shiftjax.viewer.gui.state import keys
from shiftjax.viewer.gui.state.state import WindowState


def swap_map(state: WindowState) -> None:
    """The other map of keys."""
    state.map = keys.MAPS[1 - keys.MAPS.index(state.map)]
    state.set_mode("navigate")
    state.say(f"keys: {state.map}")


def beside_or_one(state: WindowState) -> None:
    """The next chosen member beside this one, or one alone; a grid is closed first."""
    grid.close(state)
    beside.toggle(state)


def study_pane(state: WindowState) -> None:
    """Opens or closes the study pane; a running simulation has no other members to show."""
    if state.live is not None:
        state.say("A running simulation has one member: there is nothing to compare it with.")
        return
    state.explorer.shown_on = not state.explorer.shown_on


def text_of(text: Callable[[WindowState], str]) -> Callable[[WindowState], None]:
    """The action that opens or closes a window with a text to read and copy."""

    def show(state: WindowState) -> None:
        state.panels.text = "" if state.panels.text == text(state) else text(state)

    return show


def ask(request: str) -> Callable[[WindowState], None]:
    """The action that puts a request to the main loop of the window, see `Panels.requests`."""
    return lambda state: state.panels.requests.append(request)


def toggle(part: Callable[[WindowState], object], name: str) -> Callable[[WindowState], None]:
    """The action that turns an attribute of a part of the state on or off."""

    def change(state: WindowState) -> None:
        setattr(part(state), name, not getattr(part(state), name))

    return change

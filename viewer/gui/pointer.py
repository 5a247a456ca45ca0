"""Mouse and keys in the view, turned into actions by the chosen map. No GL, no GUI library.

Positions are pixels of the view from its upper left. Clicks and drags differ by the distance the mouse moved, double
clicks by the time between clicks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shiftjax.viewer.gui.actions import actions, looking
from shiftjax.viewer.gui.actions.members import grid
from shiftjax.viewer.gui.picture.ray_picking import hits_at
from shiftjax.viewer.gui.state import keys
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState

STILL = 4.0  # pixels a click may move
SOON = 0.4  # s between the two clicks of a double click
Modifiers = tuple[bool, bool, bool]  # Ctrl, Alt, Shift


class Pointer:
    """Recognizes clicks and drags in the view."""

    def __init__(self, state: WindowState, hit: Callable[[float, float], Hit] | None = None) -> None:
        """hit: finds the item at a pixel; by default with rays against triangles."""
        self.state, self.size = state, (1, 1)
        self._hit = hit or self._nearest
        self._button, self._at, self._origin, self._dragging = "", (0.0, 0.0), (0.0, 0.0), False
        self._modifiers: Modifiers = (False, False, False)
        self._drag_action = ""  # the action of the current drag if it is one of actions.HOLD
        self._on_body = False  # whether the current drag began on one
        self._last: tuple[str, float, float, float] = ("", 0.0, 0.0, -math.inf)  # button, x, y, time of the last click

    @property
    def busy(self) -> bool:
        """Whether a button is down that was pressed in the view."""
        return self._button != ""

    def press(self, button: str, x: float, y: float, modifiers: Modifiers) -> None:
        if not self.busy:
            self._button, self._modifiers, self._dragging = button, modifiers, False
            self._at = self._origin = (x, y)

    def move(self, x: float, y: float) -> None:
        """Drags, once the mouse is farther than STILL from the press."""
        if not self.busy:
            return
        if not self._dragging and math.dist((x, y), self._origin) > STILL:
            self._dragging = True
            self._note(*self._origin)
            self._hold()
        self._note(x, y)
        if self._dragging:
            side = min(self.size)
            right, up = (x - self._at[0]) / side, (self._at[1] - y) / side
            self._by(self._text(f"{self._button} drag"), right, up)
            self._at = (x, y)

    def release(self, button: str, x: float, y: float, clock: float) -> None:
        """Ends a drag or makes a click; `clock` in s."""
        if button != self._button:
            return
        self._button = ""
        if self._dragging:
            if self._drag_action:
                actions.HOLD[self._drag_action].end(self.state)
                self._drag_action = ""
            return
        last, px, py, when = self._last
        again = last == button and math.dist((x, y), (px, py)) <= STILL and clock - when <= SOON
        self._last = ("", x, y, -math.inf) if again else (button, x, y, clock)
        double = self._text(f"{button} double-click")
        if again and self.state.table.find(self.state.map, double) is not None:
            self._click(double, x, y)
        else:
            self._click(self._text(f"{button} click"), x, y)

    def wheel(self, steps: float, modifiers: Modifiers) -> None:
        self._modifiers = modifiers
        self._by(self._text("Wheel"), 0.0, looking.WHEEL * steps)

    def hover(self, x: float, y: float) -> None:
        """Keeps what is under the cursor, and the point for the status bar."""
        self._note(x, y)
        self.state.selection.hovered = self._hit(x, y)
        self.state.selection.cursor = self.state.selection.hovered.point

    def _note(self, x: float, y: float) -> None:
        """Where the mouse is, for what is drawn there."""
        self.state.selection.pixel, self.state.selection.view_size = (x, y), self.size

    def _text(self, gesture: str) -> str:
        ctrl, alt, shift = self._modifiers
        return keys.binding(gesture, ctrl=ctrl, alt=alt, shift=shift)

    def _hold(self) -> None:
        """Begins a drag that acts on the item under the cursor."""
        action = self.state.table.find(self.state.map, self._text(f"{self._button} drag"))
        hit = self._hit(*self._origin) if action is not None else Hit()
        self._on_body = bool(hit.path)
        name = self._manipulating(action.name) if action is not None else ""
        if name in actions.HOLD:
            self._drag_action = name
            actions.HOLD[name].begin(self.state, hit)

    def _manipulating(self, name: str) -> str:
        """While manipulating, the gesture of orbiting pulls; where a model is posed, only on a body, and that of
        pulling turns it. While drawing it draws."""
        live, mode = self.state.live, self.state.selection.mode
        if name == "pull" and mode == "manipulate" and live is not None and live.posing:
            return "turn_body"
        if name != "orbit" or mode == "navigate" or live is None:
            return name
        if mode == "draw":
            return "draw_bar" if live.posing else name
        return "pull" if self._on_body or not live.posing else name

    def _by(self, text: str, right: float, up: float) -> None:
        action = self.state.table.find(self.state.map, text)
        if action is None:
            return
        name = self._manipulating(action.name)
        if name in actions.HOLD:
            actions.HOLD[name].move(self.state, right, up)
        elif name in actions.BY:
            actions.BY[name](self.state, right, up)
        elif action.call is not None:
            actions.run(self.state, action.name)

    def _click(self, text: str, x: float, y: float) -> None:
        cell = self.state.explorer.hovered
        if cell is not None and text.startswith("Left"):
            grid.pick(self.state, cell, alone=text.endswith("double-click"))
            return
        if self.state.selection.mode == "draw" and text == "Left click":
            self._note(x, y)
            actions.run(self.state, "pin")
            return
        action = self.state.table.find(self.state.map, text)
        if action is None:
            return
        if action.name not in actions.AT:
            actions.run(self.state, action.name)
            return
        behind = hits_at(self.state, x, y, self.size)
        if [h.path for h in behind] != [h.path for h in self.state.selection.stack]:
            self.state.selection.stack = behind
        actions.AT[action.name](self.state, self._hit(x, y))

    def _nearest(self, x: float, y: float) -> Hit:
        hits = hits_at(self.state, x, y, self.size)
        return hits[0] if hits else Hit()


def key(state: WindowState, name: str, modifiers: Modifiers) -> bool:
    """Runs the action of a key; False if it has none. Names are those of `keys.KEYS`."""
    ctrl, alt, shift = modifiers
    return _do(state, keys.binding(name, ctrl=ctrl, alt=alt, shift=shift))


def character(state: WindowState, typed: str) -> bool:
    """Runs the action of a punctuation mark; letters and digits come as keys."""
    return typed in keys.CHARACTERS and _do(state, typed)


def _do(state: WindowState, text: str) -> bool:
    action = state.table.find(state.map, text)
    if action is not None:
        actions.run(state, action.name)
    return action is not None

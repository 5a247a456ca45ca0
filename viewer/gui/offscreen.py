"""The user interface without a window: panes and view drawn offscreen, input by calls.

Tests and scripts use it where there is no display. A press and its release are in separate frames, since the GUI
library reads its input once a frame.
"""

from __future__ import annotations

import numpy as np
from OpenGL import GL

from shiftjax.errors import ModelError, nearest
from shiftjax.viewer.gl import context
from shiftjax.viewer.gl.framebuffer import pixels_of
from shiftjax.viewer.gui.panes import panes
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.screen import Screen
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui

NONE: Modifiers = (False, False, False)
FRAME = 1 / 15  # s from frame to frame
Target = str | tuple[float, float]  # a name of `ui.item_boxes`, or a point from the upper left


class Offscreen:
    """A screen in a new GL context. As a context manager it is released at the end."""

    def __init__(self, state: WindowState, size: tuple[int, int] = (900, 600)) -> None:
        self.state, self.size, self.clock = state, size, 0.0
        self._context = context.headless()
        self._framebuffer, self._buffer = int(GL.glGenFramebuffers(1)), int(GL.glGenRenderbuffers(1))
        self.resize(size)
        self.screen = Screen(state, panes.draw)
        self.frames(2)  # the first one only measures

    def __enter__(self) -> Offscreen:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def resize(self, size: tuple[int, int]) -> None:
        """Later frames have this size."""
        self._context.make_current()
        self.size = size
        GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, self._buffer)
        GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, GL.GL_RGBA8, *size)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer)
        GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_RENDERBUFFER, self._buffer)

    def frames(self, count: int = 1) -> None:
        """Draws frames; time goes on as in a window."""
        self._context.make_current()
        for _ in range(count):
            self.clock += FRAME
            self.state.advance(FRAME)
            self.screen.draw(*self.size, 1.0, self._framebuffer, FRAME)

    def image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the last frame, first row on top."""
        self._context.make_current()
        return pixels_of(self._framebuffer, self.size)

    def position(self, where: Target) -> tuple[float, float]:
        """The middle of a named item in the latest frame; ModelError if it was not drawn."""
        if not isinstance(where, str):
            return where
        if where not in ui.item_boxes:
            todo = nearest(where, ui.item_boxes) or "Open what holds it first."
            raise ModelError(f"item {where}", "nothing drawn there", "a name of what is drawn", todo)
        box = ui.item_boxes[where]
        return box.x + box.width / 2, box.y + box.height / 2

    def move(self, where: Target) -> None:
        self.screen.mouse_move(*self.position(where))
        self.frames()

    def click(self, where: Target, button: str = "Left", modifiers: Modifiers = NONE, times: int = 1) -> None:
        """Clicks in the middle of a named item, or at a point."""
        x, y = self.position(where)
        self.move((x, y))
        for _ in range(times):
            for down in (True, False):
                self.screen.mouse_button(button, x, y, modifiers, self.clock, down=down)
                self.frames()
        self.frames()

    def drag(self, start: Target, end: tuple[float, float], button: str = "Left", modifiers: Modifiers = NONE) -> None:
        """Drags in a straight line, by way of its middle."""
        (x, y), (to_x, to_y) = self.position(start), end
        self.move((x, y))
        self.screen.mouse_button(button, x, y, modifiers, self.clock, down=True)
        self.frames()
        for part in (0.5, 1.0):
            self.move((x + part * (to_x - x), y + part * (to_y - y)))
        self.screen.mouse_button(button, to_x, to_y, modifiers, self.clock, down=False)
        self.frames()

    def wheel(self, steps: float, where: Target, modifiers: Modifiers = NONE) -> None:
        self.move(where)
        self.screen.mouse_wheel(steps, *self.position(where), modifiers)
        self.frames()

    def key(self, name: str, modifiers: Modifiers = NONE) -> None:
        """Presses and releases a key of `keys.KEYS`."""
        self.screen.key(name, modifiers, down=True)
        self.frames()
        self.screen.key(name, NONE, down=False)
        self.frames()

    def type(self, text: str) -> None:
        """Types characters, as into a box that was clicked."""
        for character in text:
            self.screen.character(character)
            self.frames()

    def release(self) -> None:
        """Frees all GL objects."""
        self._context.make_current()
        self.screen.release()
        GL.glDeleteFramebuffers(1, [self._framebuffer])
        GL.glDeleteRenderbuffers(1, [self._buffer])
        self._context.release()

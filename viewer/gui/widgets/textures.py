"""Images in panes: arrays of pixels that become textures, uploaded again only where they changed.

A texture belongs to the GL context of a screen, which makes its set current before it draws, as with the contexts of
the GUI library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from OpenGL import GL

from shiftjax.viewer.gui.widgets.bundle import imgui

MOST = 48  # textures of a screen


class Textures:
    """The textures of a screen. Every call needs its GL context."""

    current: Textures  # of the screen that draws now

    def __init__(self) -> None:
        self._known: dict[str, tuple[Any, int]] = {}  # name -> key, GL name

    def get(self, name: str, key: Any, make: Callable[[], np.ndarray]) -> imgui.ImTextureRef:
        """The texture of a name: (h, w, 4) uint8 pixels, first row on top, made again when the key changes."""
        known = self._known.pop(name, None)
        number = int(GL.glGenTextures(1)) if known is None else known[1]
        if known is None or known[0] != key:
            self._upload(number, np.ascontiguousarray(make(), np.uint8))
        self._known[name] = (key, number)  # the latest is last
        while len(self._known) > MOST:
            GL.glDeleteTextures([self._known.pop(next(iter(self._known)))[1]])
        return imgui.ImTextureRef(number)

    @staticmethod
    def _upload(number: int, pixels: np.ndarray) -> None:
        before = int(GL.glGetIntegerv(GL.GL_TEXTURE_BINDING_2D))
        GL.glBindTexture(GL.GL_TEXTURE_2D, number)
        for what in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            GL.glTexParameteri(GL.GL_TEXTURE_2D, what, GL.GL_NEAREST)
        for what in (GL.GL_TEXTURE_WRAP_S, GL.GL_TEXTURE_WRAP_T):
            GL.glTexParameteri(GL.GL_TEXTURE_2D, what, GL.GL_CLAMP_TO_EDGE)
        height, width = pixels.shape[:2]
        GL.glPixelStorei(GL.GL_UNPACK_ROW_LENGTH, 0)
        GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, GL.GL_RGBA, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, pixels)
        GL.glBindTexture(GL.GL_TEXTURE_2D, before)

    def release(self) -> None:
        """Frees all."""
        if self._known:
            GL.glDeleteTextures([number for _, number in self._known.values()])
        self._known = {}

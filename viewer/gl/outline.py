"""Outlines of what is picked or under the cursor: a mask of it, then a band about the mask on the finished picture.

The band goes round the whole silhouette, also where something else hides it: what is picked can be found.
"""

from __future__ import annotations

import numpy as np
from OpenGL import GL

from shiftjax.viewer.gl.framebuffer import require_complete
from shiftjax.viewer.gl.program import TEXTURE_UNIT

WIDTH, THIN = 3.0, 1.5  # of the bands about what is marked and what is under the cursor, at a pixel ratio of 1 [pixels]
MARKED, HOVERED = (True, False), (False, True)  # channels of the mask: red, green


class OutlineMask:
    """Which pixels show what is marked (red) or under the cursor (green), with smooth edges where samples allow."""

    def __init__(self, size: tuple[int, int], samples: int) -> None:
        """samples: of multisampling, as the picture's."""
        self.size = size
        self.texture = int(GL.glGenTextures(1))
        GL.glActiveTexture(TEXTURE_UNIT)
        GL.glBindTexture(GL.GL_TEXTURE_2D, self.texture)
        GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, GL.GL_RG8, *size, 0, GL.GL_RG, GL.GL_UNSIGNED_BYTE, None)
        for name in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            GL.glTexParameteri(GL.GL_TEXTURE_2D, name, GL.GL_NEAREST)
        self._resolved = int(GL.glGenFramebuffers(1))
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._resolved)
        GL.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_TEXTURE_2D, self.texture, 0)
        require_complete()
        self._drawn, self._buffer = self._resolved, 0
        if samples > 1:
            self._buffer, self._drawn = int(GL.glGenRenderbuffers(1)), int(GL.glGenFramebuffers(1))
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, self._buffer)
            GL.glRenderbufferStorageMultisample(GL.GL_RENDERBUFFER, samples, GL.GL_RG8, *size)
            GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._drawn)
            colour = GL.GL_COLOR_ATTACHMENT0
            GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, colour, GL.GL_RENDERBUFFER, self._buffer)
            require_complete()
        self._array = int(GL.glGenVertexArrays(1))

    def begin(self) -> None:
        """Clears the mask and binds it for drawing."""
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._drawn)
        GL.glViewport(0, 0, *self.size)
        GL.glColorMask(True, True, True, True)
        GL.glClearBufferfv(GL.GL_COLOR, 0, np.zeros(4, np.float32))

    def channel(self, channels: tuple[bool, bool]) -> None:
        """Later draws set these channels."""
        GL.glColorMask(*channels, False, False)

    def finish(self) -> None:
        """Resolves the samples."""
        GL.glColorMask(True, True, True, True)
        if self._drawn != self._resolved:
            GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, self._drawn)
            GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, self._resolved)
            box = (0, 0, *self.size)
            GL.glBlitFramebuffer(*box, *box, GL.GL_COLOR_BUFFER_BIT, GL.GL_NEAREST)

    def paint(self) -> None:
        """Draws one triangle over the whole target with the program in use, which reads the mask."""
        GL.glActiveTexture(TEXTURE_UNIT)
        GL.glBindTexture(GL.GL_TEXTURE_2D, self.texture)
        GL.glBindVertexArray(self._array)
        GL.glDrawArrays(GL.GL_TRIANGLES, 0, 3)

    def release(self) -> None:
        framebuffers = sorted({self._resolved, self._drawn})
        GL.glDeleteFramebuffers(len(framebuffers), framebuffers)
        if self._buffer:
            GL.glDeleteRenderbuffers(1, [self._buffer])
        GL.glDeleteTextures(1, [self.texture])
        GL.glDeleteVertexArrays(1, [self._array])


def window(low: np.ndarray, high: np.ndarray, size: tuple[int, int], ratio: float) -> tuple[int, int, int, int]:
    """Left, bottom, width and height [pixels] of a box of normalized device coordinates with the bands about it."""
    edge = WIDTH * ratio + 2.0
    sides = np.array(size)
    first = np.clip(np.floor((low + 1) / 2 * sides - edge), 0, sides)
    last = np.clip(np.ceil((high + 1) / 2 * sides + edge), 0, sides)
    (left, below), (wide, high_) = first.astype(int), np.maximum(last - first, 0).astype(int)
    return int(left), int(below), int(wide), int(high_)

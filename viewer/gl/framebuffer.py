"""Framebuffers: the picture, the shadow maps, and the few pixels under the cursor."""

from __future__ import annotations

import numpy as np
from OpenGL import GL

from shiftjax.errors import ModelError

REACH = 3  # pixels about the cursor within which a line or a point is picked

SHADOW_PARAMETERS = (  # of the texture: linear filter, comparison with a reference depth
    (GL.GL_TEXTURE_MIN_FILTER, GL.GL_LINEAR),
    (GL.GL_TEXTURE_MAG_FILTER, GL.GL_LINEAR),
    (GL.GL_TEXTURE_WRAP_S, GL.GL_CLAMP_TO_BORDER),
    (GL.GL_TEXTURE_WRAP_T, GL.GL_CLAMP_TO_BORDER),
    (GL.GL_TEXTURE_COMPARE_MODE, GL.GL_COMPARE_REF_TO_TEXTURE),
    (GL.GL_TEXTURE_COMPARE_FUNC, GL.GL_LEQUAL),
)
PICK_ATTACHMENTS = (  # number and bits of the depth in one buffer, so that one read gives both
    (GL.GL_RG32UI, GL.GL_COLOR_ATTACHMENT0),
    (GL.GL_DEPTH_COMPONENT32F, GL.GL_DEPTH_ATTACHMENT),
)


def pixels_of(framebuffer: int, size: tuple[int, int]) -> np.ndarray:
    """(h, w, 3) uint8 of a framebuffer of one sample, first row on top."""
    width, height = size
    pixels = np.empty((height, width, 3), np.uint8)
    GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, framebuffer)
    GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
    GL.glReadPixels(0, 0, width, height, GL.GL_RGB, GL.GL_UNSIGNED_BYTE, pixels)
    return np.ascontiguousarray(pixels[::-1])


class Picture:
    """A colour buffer, depth and stencil; colours are stored as sRGB and blended in linear light."""

    def __init__(self, size: tuple[int, int], samples: int) -> None:
        most = int(GL.glGetIntegerv(GL.GL_MAX_RENDERBUFFER_SIZE))
        if not all(1 <= side <= most for side in size):
            raise ModelError("size", repr(size), f"1 to {most} pixels a side", "Choose a smaller picture.")
        self.size = size
        # Mesa's software renderer offers 4; asking for more is an error
        self.samples = max(1, min(samples, int(GL.glGetIntegerv(GL.GL_MAX_SAMPLES))))
        self._buffers: list[int] = []
        self._resolved, self._multisampled = self._framebuffer(1), 0
        if self.samples > 1:
            self._multisampled = self._framebuffer(self.samples)

    def _framebuffer(self, samples: int) -> int:
        framebuffer = GL.glGenFramebuffers(1)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        wanted = [(GL.GL_COLOR_ATTACHMENT0, GL.GL_SRGB8_ALPHA8)]
        if samples == self.samples:  # the framebuffer that samples are resolved into needs no depth
            wanted.append((GL.GL_DEPTH_STENCIL_ATTACHMENT, GL.GL_DEPTH24_STENCIL8))
        for attachment, kind in wanted:
            buffer = GL.glGenRenderbuffers(1)
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, buffer)
            if samples > 1:
                GL.glRenderbufferStorageMultisample(GL.GL_RENDERBUFFER, samples, kind, *self.size)
            else:
                GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, kind, *self.size)
            GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, attachment, GL.GL_RENDERBUFFER, buffer)
            self._buffers.append(buffer)
        require_complete()
        return framebuffer

    def begin(self) -> None:
        """Binds it for drawing."""
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._multisampled or self._resolved)
        GL.glViewport(0, 0, *self.size)

    def begin_over(self) -> None:
        """Binds the finished picture, one sample without depth, for drawing over it."""
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._resolved)
        GL.glViewport(0, 0, *self.size)

    def finish(self) -> None:
        """Resolves the samples."""
        if self._multisampled:
            self._copy(self._multisampled, self._resolved)

    def _copy(
        self, source: int, target: int, left: int = 0, below: int = 0, size: tuple[int, int] | None = None
    ) -> None:
        width, height = size or self.size
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, source)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, target)
        box = (left, below, left + width, below + height)
        way = GL.GL_NEAREST if (width, height) == self.size else GL.GL_LINEAR
        GL.glBlitFramebuffer(0, 0, *self.size, *box, GL.GL_COLOR_BUFFER_BIT, way)

    def copy_to(self, framebuffer: int, left: int, below: int, size: tuple[int, int] | None = None) -> None:
        """Copies to another framebuffer, byte by byte, or of another size, interpolated: GL_FRAMEBUFFER_SRGB must be
        off."""
        self._copy(self._resolved, framebuffer, left, below, size)

    def read(self) -> np.ndarray:
        """(h, w, 3) uint8, first row on top."""
        return pixels_of(self._resolved, self.size)

    def release(self) -> None:
        framebuffers = [name for name in (self._resolved, self._multisampled) if name]
        GL.glDeleteFramebuffers(len(framebuffers), framebuffers)
        GL.glDeleteRenderbuffers(len(self._buffers), self._buffers)


class ShadowMaps:
    """Depth maps as layers of one array texture with depth comparison."""

    def __init__(self, layers: int, pixels: int) -> None:
        most = int(GL.glGetIntegerv(GL.GL_MAX_TEXTURE_SIZE))
        self.pixels = min(pixels, most)
        while layers * self.pixels**2 > 8 * 2048**2:  # 128 MiB
            self.pixels //= 2
        self.texture = GL.glGenTextures(1)
        GL.glBindTexture(GL.GL_TEXTURE_2D_ARRAY, self.texture)
        GL.glTexImage3D(GL.GL_TEXTURE_2D_ARRAY, 0, GL.GL_DEPTH_COMPONENT24, self.pixels, self.pixels, layers, 0,
                        GL.GL_DEPTH_COMPONENT, GL.GL_FLOAT, None)  # fmt: skip
        for name, value in SHADOW_PARAMETERS:
            GL.glTexParameteri(GL.GL_TEXTURE_2D_ARRAY, name, value)
        # outside a map nothing is in shadow
        GL.glTexParameterfv(GL.GL_TEXTURE_2D_ARRAY, GL.GL_TEXTURE_BORDER_COLOR, [1.0, 1.0, 1.0, 1.0])
        self._framebuffer = GL.glGenFramebuffers(1)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer)
        GL.glDrawBuffer(GL.GL_NONE)
        GL.glReadBuffer(GL.GL_NONE)
        self._attach(0)
        require_complete()
        self._cleared: set[int] = set()

    def _attach(self, layer: int) -> None:
        GL.glFramebufferTextureLayer(GL.GL_FRAMEBUFFER, GL.GL_DEPTH_ATTACHMENT, self.texture, 0, layer)

    def begin(self, layer: int) -> None:
        """Clears a layer and binds it for drawing."""
        self._cleared.discard(layer)
        self._clear(layer)

    def clear_once(self, layer: int) -> None:
        """Clears a layer that nothing is drawn to, unless it is clear already."""
        if layer not in self._cleared:
            self._clear(layer)
            self._cleared.add(layer)

    def _clear(self, layer: int) -> None:
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer)
        self._attach(layer)
        GL.glViewport(0, 0, self.pixels, self.pixels)
        GL.glClear(GL.GL_DEPTH_BUFFER_BIT)

    def release(self) -> None:
        GL.glDeleteFramebuffers(1, [self._framebuffer])
        GL.glDeleteTextures(1, [self.texture])


class PickBuffer:
    """Numbers of parts and their depths in a square of pixels about the cursor."""

    side = 2 * REACH + 1

    def __init__(self) -> None:
        self._framebuffer = GL.glGenFramebuffers(1)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer)
        self._buffers = [int(b) for b in GL.glGenRenderbuffers(2)]
        for buffer, (kind, attachment) in zip(self._buffers, PICK_ATTACHMENTS, strict=True):
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, buffer)
            GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, kind, self.side, self.side)
            GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, attachment, GL.GL_RENDERBUFFER, buffer)
        require_complete()

    def begin(self, x: int, y: int, size: tuple[int, int]) -> None:
        """Binds it for drawing; its middle is pixel (x, y), from the upper left, of a picture of this size."""
        width, height = size
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer)
        GL.glViewport(REACH - x, REACH - (height - 1 - y), width, height)
        GL.glClearBufferuiv(GL.GL_COLOR, 0, np.zeros(4, np.uint32))
        GL.glClearBufferfv(GL.GL_DEPTH, 0, np.ones(1, np.float32))

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """(side, side) numbers, 0 for none, and depths in 0..1, first row on top."""
        both = np.empty((self.side, self.side, 2), np.uint32)
        GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
        GL.glReadPixels(0, 0, self.side, self.side, GL.GL_RG_INTEGER, GL.GL_UNSIGNED_INT, both)
        return both[::-1, :, 0], both.view(np.float32)[::-1, :, 1]

    def release(self) -> None:
        GL.glDeleteFramebuffers(1, [self._framebuffer])
        GL.glDeleteRenderbuffers(2, self._buffers)


def require_complete() -> None:
    """RuntimeError where the bound framebuffer cannot be drawn to."""
    status = GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER)
    if status != GL.GL_FRAMEBUFFER_COMPLETE:
        raise RuntimeError(f"framebuffer incomplete: {status}")

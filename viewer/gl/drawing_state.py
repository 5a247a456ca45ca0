"""What is set for drawing and undone afterwards. Needs a current GL context."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from OpenGL import GL

POINT_PIXELS = 5.0  # diameter of a point, at a pixel ratio of 1


@contextlib.contextmanager
def gl_state(point_pixels: float = POINT_PIXELS) -> Iterator[None]:
    """Sets the GL state for drawing; at the end restores framebuffers and viewport and disables the capabilities."""
    reading = int(GL.glGetIntegerv(GL.GL_READ_FRAMEBUFFER_BINDING))
    drawing = int(GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING))
    viewport = [int(number) for number in GL.glGetIntegerv(GL.GL_VIEWPORT)]
    capabilities = (GL.GL_BLEND, GL.GL_CULL_FACE, GL.GL_DEPTH_TEST, GL.GL_SCISSOR_TEST, GL.GL_FRAMEBUFFER_SRGB,
                GL.GL_STENCIL_TEST, GL.GL_POLYGON_OFFSET_FILL)  # fmt: skip
    for capability in capabilities:
        GL.glDisable(capability)
    GL.glDepthMask(True)
    GL.glDepthFunc(GL.GL_LESS)
    GL.glColorMask(True, True, True, True)
    GL.glPolygonMode(GL.GL_FRONT_AND_BACK, GL.GL_FILL)
    GL.glBlendEquation(GL.GL_FUNC_ADD)
    GL.glFrontFace(GL.GL_CCW)
    GL.glCullFace(GL.GL_BACK)
    GL.glClearDepth(1.0)
    GL.glPointSize(point_pixels)
    try:
        yield
    finally:
        for capability in capabilities:
            GL.glDisable(capability)
        GL.glDepthMask(True)
        GL.glUseProgram(0)
        GL.glBindVertexArray(0)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, reading)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, drawing)
        GL.glViewport(*viewport)


@contextlib.contextmanager
def near_sides_alone() -> Iterator[None]:
    """Without the far sides of what is drawn."""
    GL.glEnable(GL.GL_CULL_FACE)
    yield
    GL.glDisable(GL.GL_CULL_FACE)

"""Renderers of the view or its two halves, updated from the state. Needs a current GL context."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer import rendering, side_by_side
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.gui.beside import captions
from shiftjax.viewer.gui.layout import Box, halves
from shiftjax.viewer.gui.snapshot import snapshot
from shiftjax.viewer.gui.state import State
from shiftjax.viewer.scene import RenderSettings, Scene


class Views:
    """One renderer for the view and one for its right half, while there is one."""

    def __init__(self, state: State) -> None:
        self.state, self._look = state, state.look
        self.boxes: list[Box] = []  # of the view or its halves, of the last frame [points]
        self._renderers = [Renderer(state.scene, state.look, (64, 64))]

    @property
    def box(self) -> Box:
        """The rectangle of the half under the cursor."""
        return self.boxes[0] if self.state.hovered_half is None else self.boxes[-1]

    @property
    def renderer(self) -> Renderer:
        """Of the half under the cursor."""
        return self._renderers[0] if self.state.hovered_half is None else self._renderers[-1]

    def draw(self, view: Box, height: float, scale: float, framebuffer: int) -> None:
        """Draws into a rectangle of a window `height` points high, `scale` pixels a point."""
        right = self.state.beside
        shown = [None] if right is None else [None, right]
        self.boxes = [view] if right is None else list(halves(view))
        self._update([(half or self.state).scene for half in shown])
        self.state.view.resize(max(self.boxes[0].width, 1.0) / max(self.boxes[0].height, 1.0))
        for half, box, renderer in zip(shown, self.boxes, self._renderers, strict=True):
            renderer.resize(max(round(box.width * scale), 1), max(round(box.height * scale), 1), scale)
            renderer.draw(snapshot(self.state, half), self.state.current_camera(half))
            renderer.copy_to(framebuffer, round(box.x * scale), round((height - box.y - box.height) * scale))

    def image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the view as it was drawn last; two halves with their captions."""
        images = [renderer.image() for renderer in self._renderers]
        right = self.state.beside
        if len(images) == 1 or right is None:
            return images[0]
        return side_by_side.joined(*map(rendering.with_text, images, captions(self.state, right)))

    def release(self) -> None:
        """Frees all GL objects."""
        for renderer in self._renderers:
            renderer.release()
        self._renderers = []

    def _update(self, scenes: list[Scene]) -> None:
        """Creates or updates renderers for these scenes and the current settings."""
        stale = self.state.look is not self._look
        self._look: RenderSettings = self.state.look
        kept: list[Renderer | None] = [*self._renderers, None][: len(scenes)]
        for gone in self._renderers[len(scenes) :]:
            gone.release()
        for k, (scene, renderer) in enumerate(zip(scenes, kept, strict=True)):
            if renderer is not None and stale:
                renderer.release()
                kept[k] = None
            elif renderer is not None and renderer.scene is not scene:
                renderer.set_scene(scene)
        self._renderers = [renderer or Renderer(scene, self._look, (64, 64))
                           for scene, renderer in zip(scenes, kept, strict=True)]  # fmt: skip

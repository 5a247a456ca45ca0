"""The picture of the view, or of its halves: renderers kept up with what they show. Needs a current GL context."""

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
        self.boxes: list[Box] = []  # of the view or its halves, as they were drawn last [points]
        self._renderers = [Renderer(state.scene, state.look, (64, 64))]

    @property
    def box(self) -> Box:
        """Where the half under the cursor is."""
        return self.boxes[0] if self.state.entered is None else self.boxes[-1]

    @property
    def renderer(self) -> Renderer:
        """Of the half under the cursor."""
        return self._renderers[0] if self.state.entered is None else self._renderers[-1]

    def draw(self, view: Box, height: float, scale: float, framebuffer: int) -> None:
        """Draws into a place of a window `height` points high, `scale` pixels a point."""
        right = self.state.beside
        shown = [None] if right is None else [None, right]
        self.boxes = [view] if right is None else list(halves(view))
        self._keep_up([(half or self.state).scene for half in shown])
        for half, box, renderer in zip(shown, self.boxes, self._renderers, strict=True):
            renderer.resize(max(round(box.width * scale), 1), max(round(box.height * scale), 1), scale)
            renderer.draw(snapshot(self.state, half), self.state.seen(half))
            renderer.copy_to(framebuffer, round(box.x * scale), round((height - box.y - box.height) * scale))

    def image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the view as it was drawn last; two halves with their captions."""
        images = [renderer.image() for renderer in self._renderers]
        right = self.state.beside
        if len(images) == 1 or right is None:
            return images[0]
        return side_by_side.joined(*map(rendering.with_text, images, captions(self.state, right)))

    def release(self) -> None:
        """Frees what is on the graphics card."""
        for renderer in self._renderers:
            renderer.release()
        self._renderers = []

    def _keep_up(self, scenes: list[Scene]) -> None:
        """Renderers of these scenes, in the look that is wanted."""
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

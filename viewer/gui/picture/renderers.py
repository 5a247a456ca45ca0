"""Renderers of the view, its two halves, or a grid of members, updated from the state. Needs a current GL context."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer import rendering, side_by_side
from shiftjax.viewer.gl.adaptive import AdaptiveRenderer
from shiftjax.viewer.gui.actions.members import grid
from shiftjax.viewer.gui.actions.members.beside import captions
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.state.layout import Box, halves
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import RenderSettings, Scene


class Views:
    """One renderer for the view, and one for its right half while there is one; the cells of a grid share the first."""

    def __init__(self, state: WindowState) -> None:
        self.state, self._look = state, state.look
        self._scale = 1.0  # pixels a point, of the last frame
        self.boxes: list[Box] = []  # of the view, its halves or cells, of the last frame [points]
        self._renderers = [AdaptiveRenderer(state.scene, state.look)]

    @property
    def box(self) -> Box:
        """The rectangle of the half or cell under the cursor."""
        explorer = self.state.explorer
        if explorer.hovered in explorer.cells and len(self.boxes) == len(explorer.cells):
            return self.boxes[explorer.cells.index(explorer.hovered)]
        return self.boxes[0] if self.state.hovered_half is None else self.boxes[-1]

    @property
    def renderer(self) -> AdaptiveRenderer:
        """Of the half under the cursor."""
        return self._renderers[0] if self.state.hovered_half is None else self._renderers[-1]

    def draw(self, view: Box, height: float, scale: float, framebuffer: int, *, moving: bool = False) -> None:
        """Draws into a rectangle of a window `height` points high, `scale` pixels a point.

        Args:
            moving: whether a hand moves something.
        """
        self._scale = scale
        if self.state.explorer.cells:
            self._draw_grid(view, height, scale, framebuffer)
            return
        right = self.state.beside
        shown = [None] if right is None else [None, right]
        self.boxes = [view] if right is None else list(halves(view))
        self._update([(half or self.state).scene for half in shown])
        self.state.view.resize(max(self.boxes[0].width, 1.0) / max(self.boxes[0].height, 1.0))
        for half, box, renderer in zip(shown, self.boxes, self._renderers, strict=True):
            camera = self.state.current_camera(half)
            renderer.draw(snapshot(self.state, half), camera, _pixels(box, scale), scale, moving=moving)
            renderer.copy_to(framebuffer, round(box.x * scale), round((height - box.y - box.height) * scale))

    def _draw_grid(self, view: Box, height: float, scale: float, framebuffer: int) -> None:
        """One cell after the other."""
        cells = grid.halves_of(self.state)
        self.boxes = grid.boxes(view, len(cells))
        self.state.view.resize(max(self.boxes[0].width, 1.0) / max(self.boxes[0].height, 1.0))
        for cell, box in zip(cells, self.boxes, strict=True):
            left, below = round(box.x * scale), round((height - box.y - box.height) * scale)
            self._draw_cell(cell, box, scale).copy_to(framebuffer, left, below)

    def _draw_cell(self, cell: RightHalf, box: Box, scale: float) -> AdaptiveRenderer:
        self._update([cell.scene])
        renderer, moment = self._renderers[0], snapshot(self.state, cell, alone=True)
        renderer.draw(moment, self.state.current_camera(), _pixels(box, scale), scale)
        return renderer

    def cell_at(self, x: float, y: float) -> int | None:
        """The member of the cell at a point, as it was drawn last."""
        cells = self.state.explorer.cells
        return next((k for k, box in zip(cells, self.boxes, strict=False) if box.holds(x, y)), None)

    def image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the view as it was drawn last; halves and cells with their captions."""
        if self.state.explorer.cells:
            pictures = []
            for cell, box in zip(grid.halves_of(self.state), self.boxes, strict=True):
                picture = self._draw_cell(cell, box, self._scale).image()
                pictures.append(rendering.with_text(picture, grid.lines(self.state, cell)))
            return side_by_side.tiled(pictures, sum(box.y == self.boxes[0].y for box in self.boxes))
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
        renderers: list[AdaptiveRenderer | None] = [*self._renderers, None][: len(scenes)]
        for gone in self._renderers[len(scenes) :]:
            gone.release()
        for k, (scene, renderer) in enumerate(zip(scenes, renderers, strict=True)):
            if renderer is not None and stale:
                renderer.release()
                renderers[k] = None
            elif renderer is not None and renderer.scene is not scene:
                renderer.set_scene(scene)
        self._renderers = [
            renderer or AdaptiveRenderer(scene, self._look) for scene, renderer in zip(scenes, renderers, strict=True)
        ]


def _pixels(box: Box, scale: float) -> tuple[int, int]:
    """Width and height of a rectangle."""
    return max(round(box.width * scale), 1), max(round(box.height * scale), 1)

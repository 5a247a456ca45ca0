"""Renderers of the view, its two halves, or a grid of members, updated from the state. Needs a current GL context."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shiftjax.viewer import rendering, side_by_side
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.gui.actions import grid
from shiftjax.viewer.gui.actions.beside import captions
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.state.layout import Box, halves
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Ghosts, RenderSettings, Scene, ScenePart, Snapshot, Strokes


class StillRenderer(Renderer):
    """Draws no moment again that its picture shows: while panes are used and nothing moves, they alone are drawn.

    On a software renderer the scene takes half of the time of a frame.
    """

    _moment: tuple[Snapshot, Camera, float] | None = None

    def draw(self, snapshot: Snapshot, camera: Camera) -> None:
        """See `Renderer.draw`."""
        wanted = snapshot, camera, self._ratio
        if self._last is not None and _same(wanted, self._moment):  # None: another size or scene since then
            return
        super().draw(*wanted[:2])
        self._moment = _copied(snapshot), camera, self._ratio


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal, parts of a scene as objects; entries of dicts in the same order, which counts."""
    if isinstance(one, np.ndarray):
        if one is other and not one.flags.writeable:
            return True
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=True)
    if type(one) is not type(other):
        return False
    if isinstance(one, Snapshot | Ghosts | Strokes):
        return all(_same(getattr(one, name), getattr(other, name)) for name in _names(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return list(one.items()) == list(other.items())
    return one is other if isinstance(one, ScenePart) else bool(one == other)


def _copied(value: Any) -> Any:
    """With arrays of its own, but lines that nobody writes to."""
    if isinstance(value, np.ndarray | dict):
        return value.copy()
    if isinstance(value, Strokes) and not (value.ends.flags.writeable or value.colours.flags.writeable):
        return value
    if isinstance(value, Snapshot | Ghosts | Strokes):
        return dataclasses.replace(value, **{name: _copied(getattr(value, name)) for name in _names(value)})
    return value


def _names(value: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(value)]


class Views:
    """One renderer for the view, and one for its right half while there is one; the cells of a grid share the first."""

    def __init__(self, state: WindowState) -> None:
        self.state, self._look = state, state.look
        self._scale = 1.0  # pixels a point, of the last frame
        self.boxes: list[Box] = []  # of the view, its halves or cells, of the last frame [points]
        self._renderers: list[Renderer] = [StillRenderer(state.scene, state.look, (64, 64))]

    @property
    def box(self) -> Box:
        """The rectangle of the half or cell under the cursor."""
        explorer = self.state.explorer
        if explorer.hovered in explorer.cells and len(self.boxes) == len(explorer.cells):
            return self.boxes[explorer.cells.index(explorer.hovered)]
        return self.boxes[0] if self.state.hovered_half is None else self.boxes[-1]

    @property
    def renderer(self) -> Renderer:
        """Of the half under the cursor."""
        return self._renderers[0] if self.state.hovered_half is None else self._renderers[-1]

    def draw(self, view: Box, height: float, scale: float, framebuffer: int) -> None:
        """Draws into a rectangle of a window `height` points high, `scale` pixels a point."""
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
            renderer.resize(max(round(box.width * scale), 1), max(round(box.height * scale), 1), scale)
            renderer.draw(snapshot(self.state, half), self.state.current_camera(half))
            renderer.copy_to(framebuffer, round(box.x * scale), round((height - box.y - box.height) * scale))

    def _draw_grid(self, view: Box, height: float, scale: float, framebuffer: int) -> None:
        """One cell after the other."""
        cells = grid.halves_of(self.state)
        self.boxes = grid.boxes(view, len(cells))
        self.state.view.resize(max(self.boxes[0].width, 1.0) / max(self.boxes[0].height, 1.0))
        for cell, box in zip(cells, self.boxes, strict=True):
            left, below = round(box.x * scale), round((height - box.y - box.height) * scale)
            self._draw_cell(cell, box, scale).copy_to(framebuffer, left, below)

    def _draw_cell(self, cell: RightHalf, box: Box, scale: float) -> Renderer:
        self._update([cell.scene])
        renderer = self._renderers[0]
        renderer.resize(max(round(box.width * scale), 1), max(round(box.height * scale), 1), scale)
        renderer.draw(snapshot(self.state, cell, alone=True), self.state.current_camera())
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
        renderers: list[Renderer | None] = [*self._renderers, None][: len(scenes)]
        for gone in self._renderers[len(scenes) :]:
            gone.release()
        for k, (scene, renderer) in enumerate(zip(scenes, renderers, strict=True)):
            if renderer is not None and stale:
                renderer.release()
                renderers[k] = None
            elif renderer is not None and renderer.scene is not scene:
                renderer.set_scene(scene)
        self._renderers = [renderer or StillRenderer(scene, self._look, (64, 64))
                           for scene, renderer in zip(scenes, renderers, strict=True)]  # fmt: skip

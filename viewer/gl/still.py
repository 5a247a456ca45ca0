"""A renderer that draws no picture twice. Needs a current GL context."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Ghosts, ScenePart, Snapshot, Strokes


class StillRenderer(Renderer):
    """Draws no moment again that its picture shows: while panes are used and nothing moves, they alone are drawn.

    On a software renderer the scene takes half of the time of a frame.
    """

    fresh = False  # whether the last call of `draw` has drawn
    _moment: tuple[Snapshot, Camera, float] | None = None

    def draw(self, snapshot: Snapshot, camera: Camera) -> None:
        """See `Renderer.draw`."""
        wanted = snapshot, camera, self.ratio
        self.fresh = self._last is None or not _same(wanted, self._moment)  # None: another size or scene since then
        if self.fresh:
            super().draw(*wanted[:2])
            self._moment = _copied(snapshot), camera, self.ratio


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

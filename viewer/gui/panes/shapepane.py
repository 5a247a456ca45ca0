"""The numbers of a parametric shape that a user added, in the pane on the right while it is picked."""

from __future__ import annotations

import dataclasses

import numpy as np

from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.viewer.gui.actions import shape_editing
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

SPEED = 0.002  # of the model's size, for a point of dragging
SMALLEST = 1e-4  # of the model's size: smallest length


def draw(state: WindowState) -> None:
    """Kind, sizes, position and colour, if such a shape is picked."""
    path = state.selection.pick
    if path is None or path not in state.shapes:
        return
    geometry, kinds = state.shapes[path], list(shape_editing.KINDS)
    changed, at = imgui.combo("kind", kinds.index(geometry.type), kinds)
    ui.remember_item("shape:kind")
    if changed:
        shape_editing.change(state, path, kinds[at])
        return
    options = dict(geometry.options)
    edited = False
    for key in (*shape_editing.KINDS[geometry.type], "T", "rotation"):
        moved, options[key] = _numbers(state, key, options.get(key, (0.0, 0.0, 0.0)))
        ui.remember_item(f"shape:{key}")
        edited |= moved
    changed, colour = imgui.color_edit4("colour", list(options.get("colour", shape_editing.COLOUR)))
    if changed:
        options["colour"] = tuple(min(max(float(c), 0.0), 1.0) for c in colour)
    if edited or changed:
        shape_editing.edit(state, path, dataclasses.replace(geometry, options=FrozenJson(options)))
    if imgui.button("remove the shape"):
        state.panels.clicked.append("remove")
    ui.remember_item("shape:remove")


def _numbers(state: WindowState, key: str, value: float | tuple[float, ...]) -> tuple[bool, float | tuple[float, ...]]:
    """Boxes for a length, three lengths, a position [m] or a rotation vector [rad]; lengths stay above zero."""
    several = np.ndim(value) > 0
    least = SMALLEST * state.scene.size if key in ("size", "radius", "length") else -1e9
    speed = 0.01 if key == "rotation" else SPEED * state.scene.size
    label = f"{key} [{'rad' if key == 'rotation' else 'm'}]"
    if several:
        changed, numbers = imgui.drag_float3(label, [float(v) for v in np.ravel(value)], speed, least, 1e9, "%.4g")
        return changed, tuple(max(float(v), least) for v in numbers)
    changed, one = imgui.drag_float(label, float(np.ravel(value)[0]), speed, least, 1e9, "%.4g")
    return changed, max(float(one), least)

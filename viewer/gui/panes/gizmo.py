"""The axes of the world in the lower left corner of the view; a click on an end shows the standard view from there."""

from __future__ import annotations

import numpy as np

from shiftjax.record import record
from shiftjax.viewer.gui.actions import looking
from shiftjax.viewer.gui.state.layout import AXIS_DISC, AXIS_LENGTH, Box, axes_side
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.scene.camera import VIEWS, Camera, upright

SIDES = ("right", "left", "back", "front", "top", "bottom")  # standard views along an axis
EDGE = 10.0  # distance from the corner [points]
COLOURS = ((0.80, 0.20, 0.20), (0.15, 0.55, 0.20), (0.15, 0.35, 0.85))  # of x, y, z
FLAGS = ui.BARE | int(imgui.WindowFlags_.no_background | imgui.WindowFlags_.no_scrollbar)
WHITE = imgui.ImVec4(1.0, 1.0, 1.0, 1.0)


@record
class End:
    """An end of an axis."""

    view: str  # the standard view from there
    label: str  # "x", "-x", ...; "" where the view is along no axis of the world
    axis: int  # the axis nearest to it
    place: tuple[float, float]  # to the right of and below the middle, in lengths of an axis
    depth: float  # towards the eye, in lengths of an axis


def ends(camera: Camera, up: tuple[float, float, float]) -> list[End]:
    """The six ends as a camera sees them, the farthest first; up: of the scene."""
    axes, out = camera.axes(), []
    for view in SIDES:
        way = np.round(np.array(VIEWS[view])) @ upright(up)
        axis = int(np.abs(way).argmax())
        along = abs(way[axis]) > 1 - 1e-9
        label = ("" if way[axis] > 0 else "-") + "xyz"[axis] if along else ""
        right, above, towards = axes @ way
        out.append(End(view, label, axis, (float(right), float(-above)), float(towards)))
    return sorted(out, key=lambda end: end.depth)


def draw(state: WindowState, view: Box) -> None:
    """Draws the axes and their ends as buttons, where the view has room for them."""
    side = axes_side(view, state.panels.zoom)
    if not side:
        return
    box = Box(view.x + EDGE, view.y + view.height - side - EDGE, side, side)
    imgui.push_style_var(imgui.StyleVar_.window_padding, imgui.ImVec2(0, 0))
    imgui.push_style_var(imgui.StyleVar_.window_border_size, 0.0)
    with ui.pane("axes", box, FLAGS):
        for end in ends(state.current_camera(), state.scene.up):
            _end(state, end, box)
    imgui.pop_style_var(2)


def _end(state: WindowState, end: End, box: Box) -> None:
    zoom, paint = state.panels.zoom, imgui.get_window_draw_list()
    middle = imgui.ImVec2(box.x + box.width / 2, box.y + box.height / 2)
    at = imgui.ImVec2(middle.x + zoom * AXIS_LENGTH * end.place[0], middle.y + zoom * AXIS_LENGTH * end.place[1])
    positive = not end.label.startswith("-")
    colour = imgui.get_color_u32(imgui.ImVec4(*COLOURS[end.axis], 1.0 if positive else 0.45))
    if positive:
        paint.add_line(middle, at, colour, 2.0 * zoom)
    paint.add_circle_filled(at, zoom * AXIS_DISC * (1.0 if positive else 0.7), colour)
    if positive and end.label:
        size = imgui.calc_text_size(end.label)
        paint.add_text(imgui.ImVec2(at.x - size.x / 2, at.y - size.y / 2), imgui.get_color_u32(WHITE), end.label)
    imgui.set_cursor_screen_pos(imgui.ImVec2(at.x - zoom * AXIS_DISC, at.y - zoom * AXIS_DISC))
    if imgui.invisible_button(end.view, imgui.ImVec2(2 * zoom * AXIS_DISC, 2 * zoom * AXIS_DISC)):
        looking.view(state, end.view)
    ui.remember_item(f"axes:{end.view}")
    imgui.set_item_tooltip(f"{state.table.actions[end.view].words}{f' ({end.label})' if end.label else ''}")

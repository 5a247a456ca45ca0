"""The borders between the panes: dragging resizes the panes, a double click restores the default size."""

from __future__ import annotations

import dataclasses

from shiftjax.viewer.gui.state.layout import Box, PaneLayout
from shiftjax.viewer.gui.state.panels import Panels
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

GRIP = 6.0  # width [points]
SHOWN = imgui.ImVec4(0.35, 0.55, 0.85, 0.9)
FLAGS = ui.BARE | int(imgui.WindowFlags_.no_background | imgui.WindowFlags_.no_scrollbar)


def draw(panels: Panels, boxes: PaneLayout) -> None:
    """Draws the borders; drags set the sizes for the next frame."""
    view, properties, study, timeline = boxes.view, boxes.properties, boxes.study, boxes.timeline
    upright = (GRIP, max(view.height - GRIP, 1.0))  # ends above the lower border
    mouse = imgui.get_io().mouse_pos
    if panels.sides_on:
        _border(panels, "tree", Box(view.x - GRIP / 2, view.y, *upright), mouse.x)
        if properties.x > view.x:
            _border(panels, "properties", Box(properties.x - GRIP / 2, view.y, *upright),
                properties.x + properties.width - mouse.x)  # fmt: skip
    _border(panels, "timeline", Box(0.0, timeline.y - GRIP / 2, timeline.width, GRIP), boxes.status.y - mouse.y)
    if study.height:
        _border(panels, "study", Box(0.0, study.y - GRIP / 2, study.width, GRIP), timeline.y - mouse.y)


def _border(panels: Panels, name: str, box: Box, wanted: float) -> None:
    """The border of a pane, which has the size `wanted` [points] while it is dragged."""
    imgui.push_style_var(imgui.StyleVar_.window_min_size, imgui.ImVec2(1, 1))
    imgui.push_style_var(imgui.StyleVar_.window_padding, imgui.ImVec2(0, 0))
    imgui.push_style_var(imgui.StyleVar_.window_border_size, 0.0)
    with ui.pane(f"border of {name}", box, FLAGS):
        imgui.invisible_button(name, imgui.ImVec2(box.width, box.height))
        ui.remember_item(f"border:{name}")
        if imgui.is_item_hovered() and imgui.is_mouse_double_clicked(imgui.MouseButton_.left):
            panels.sizes = dataclasses.replace(panels.sizes, **{name: None})
        elif imgui.is_item_active() and imgui.is_mouse_dragging(imgui.MouseButton_.left):
            panels.sizes = dataclasses.replace(panels.sizes, **{name: wanted})
        if imgui.is_item_hovered() or imgui.is_item_active():
            high = imgui.ImVec2(box.x + box.width, box.y + box.height)
            imgui.get_window_draw_list().add_rect_filled(imgui.ImVec2(box.x, box.y), high, imgui.get_color_u32(SHOWN))
    imgui.pop_style_var(3)

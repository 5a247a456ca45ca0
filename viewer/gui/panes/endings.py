"""Marks of members whose run ended early: hatching on the timeline, and a banner in the view with cause and remedy."""

from __future__ import annotations

from shiftjax.viewer.gui.state.layout import Box, axes_side, halves
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.study.ended import Ended

INK, PAPER, MARK = (imgui.ImVec4(1.0, 1.0, 1.0, 1.0), imgui.ImVec4(0.55, 0.1, 0.08, 0.88),
                    imgui.ImVec4(1.0, 0.35, 0.3, 0.8))  # fmt: skip
EDGE = 8.0  # points around the text of a banner, and between it and the border of the view
WIDEST = 620.0  # points of a banner's text
STRIPE = 7.0  # points between the lines of a hatching
PADDING = 2.0  # points at both ends of a slider (imgui_widgets.cpp, SliderBehaviorT)


def mark(state: WindowState, first: float, last: float) -> None:
    """Hatches the slider of the timeline, which was drawn last, after the end of the member's run.

    Args:
        first, last: times [s] at its ends.
    """
    ending = state.ended()
    if ending is None or not last > first:
        return
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    grab = imgui.get_style().grab_min_size
    width = high.x - low.x - 2 * PADDING - grab
    end = low.x + PADDING + grab / 2 + width * (ending.time - first) / (last - first)
    paint, colour = imgui.get_window_draw_list(), imgui.get_color_u32(MARK)
    paint.push_clip_rect(imgui.ImVec2(end, low.y), high, True)
    height, x = high.y - low.y, end - (high.y - low.y)
    while x < high.x:
        paint.add_line(imgui.ImVec2(x, high.y), imgui.ImVec2(x + height, low.y), colour, 1.5)
        x += STRIPE
    paint.pop_clip_rect()
    paint.add_line(imgui.ImVec2(end, low.y), imgui.ImVec2(end, high.y), colour, 3.0)
    ui.item_boxes["ended"] = Box(end, low.y, high.x - end, height)


def draw(state: WindowState, view: Box) -> None:
    """A banner in each half whose member ended early."""
    for name in ("left", "right"):
        ui.item_boxes.pop(f"banner:{name}", None)
    axes = axes_side(view, state.panels.zoom)
    if state.beside is None:
        _banner("left", _right_of(axes, view), state.ended())
        return
    left, right = halves(view)
    _banner("left", _right_of(axes, left), state.ended())
    _banner("right", right, state.ended(state.beside))


def _right_of(width: float, box: Box) -> Box:
    """What is left of a box beside the corner's axes."""
    return Box(box.x + width, box.y, box.width - width, box.height)


def _banner(name: str, box: Box, ending: Ended | None) -> None:
    """At the bottom of a half, behind all panes."""
    if ending is None:
        return
    text = ending.title() + (f": {ending.message}" if ending.message else "")
    room = min(WIDEST, box.width - 4 * EDGE)
    if room <= 0:
        return
    size = imgui.calc_text_size(text, False, room)
    high = imgui.ImVec2(box.x + (box.width + size.x) / 2 + EDGE, box.y + box.height - EDGE)
    low = imgui.ImVec2(high.x - size.x - 2 * EDGE, high.y - size.y - 2 * EDGE)
    paint = imgui.get_background_draw_list()
    paint.push_clip_rect(imgui.ImVec2(box.x, box.y), imgui.ImVec2(box.x + box.width, box.y + box.height), True)
    paint.add_rect_filled(low, high, imgui.get_color_u32(PAPER), EDGE / 2)
    at = imgui.ImVec2(low.x + EDGE, low.y + EDGE)
    paint.add_text(imgui.get_font(), imgui.get_font_size(), at, imgui.get_color_u32(INK), text, room)
    paint.pop_clip_rect()
    ui.item_boxes[f"banner:{name}"] = Box(low.x, low.y, high.x - low.x, high.y - low.y)

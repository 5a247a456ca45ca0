"""A bar that says which number each colour means."""

from __future__ import annotations

import itertools

import numpy as np

from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.scene.ramp import RAMP
from shiftjax.viewer.ticks import ticks

WIDTH = 14.0  # points
GAP, TICK = 4.0, 3.0


def upright(name: str, title: str, low: float, high: float, height: float) -> None:
    """A bar of the ramp of colours from one number below to another above, with ticks at its right.

    Args:
        name: of the item; title: what the numbers are, over the bar.
    """
    imgui.begin_group()
    imgui.text_unformatted(title)
    corner, line = imgui.get_cursor_screen_pos(), imgui.get_text_line_height()
    top, tall = corner.y + line / 2, max(height - 2 * line, 4 * line)
    paint = imgui.get_window_draw_list()
    colours = [packed(colour) for colour in RAMP[::-1]]
    part = tall / (len(colours) - 1)
    for k, (above, below) in enumerate(itertools.pairwise(colours)):
        paint.add_rect_filled_multi_color(
            imgui.ImVec2(corner.x, top + k * part), imgui.ImVec2(corner.x + WIDTH, top + (k + 1) * part),
            above, above, below, below,
        )  # fmt: skip
    ink, wide = imgui.get_color_u32(imgui.Col_.text), 0.0
    for value, text in ticks(low, high, max(int(tall / (2 * line)), 2)):
        y = top + tall * (1 - ((value - low) / (high - low) if high > low else 0.5))
        paint.add_line(imgui.ImVec2(corner.x + WIDTH, y), imgui.ImVec2(corner.x + WIDTH + TICK, y), ink)
        paint.add_text(imgui.ImVec2(corner.x + WIDTH + TICK + GAP, y - line / 2), ink, text)
        wide = max(wide, imgui.calc_text_size(text).x)
    imgui.dummy(imgui.ImVec2(WIDTH + TICK + GAP + wide, tall + line))
    imgui.end_group()
    ui.remember_item(name)


def level(name: str, title: str, low: float, high: float) -> None:
    """A bar lying in a pane, as wide as it, with ticks below."""
    imgui.text_wrapped(title)
    corner, line = imgui.get_cursor_screen_pos(), imgui.get_text_line_height()
    wide = max(imgui.get_content_region_avail().x - 2 * line, 8 * line)
    paint, left = imgui.get_window_draw_list(), corner.x + line
    colours = [packed(colour) for colour in RAMP]
    part = wide / (len(colours) - 1)
    for k, (one, other) in enumerate(itertools.pairwise(colours)):
        paint.add_rect_filled_multi_color(
            imgui.ImVec2(left + k * part, corner.y), imgui.ImVec2(left + (k + 1) * part, corner.y + WIDTH),
            one, other, other, one,
        )  # fmt: skip
    ink = imgui.get_color_u32(imgui.Col_.text)
    for value, text in ticks(low, high, 4):
        x = left + wide * ((value - low) / (high - low) if high > low else 0.5)
        paint.add_line(imgui.ImVec2(x, corner.y + WIDTH), imgui.ImVec2(x, corner.y + WIDTH + TICK), ink)
        size = imgui.calc_text_size(text)
        paint.add_text(imgui.ImVec2(x - size.x / 2, corner.y + WIDTH + GAP), ink, text)
    imgui.dummy(imgui.ImVec2(wide + 2 * line, WIDTH + GAP + line))
    ui.remember_item(name)


def packed(colour: np.ndarray) -> int:
    """A colour (3,) as the draw lists take it."""
    red, green, blue = (float(c) for c in colour)
    return imgui.get_color_u32(imgui.ImVec4(red, green, blue, 1.0))

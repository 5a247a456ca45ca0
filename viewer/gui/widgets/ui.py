"""Shared by all panes: windows at fixed places, texts, rectangles of drawn items."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.widgets.bundle import imgui

FIXED = int(
    imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_resize
    | imgui.WindowFlags_.no_collapse
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_bring_to_front_on_focus
)
BARE = FIXED | int(imgui.WindowFlags_.no_title_bar)
RED = imgui.ImVec4(1.0, 0.35, 0.3, 1.0)

item_boxes: dict[str, Box] = {}  # name -> rectangle in the latest frame [points], for tests and scripts


def remember_item(name: str) -> None:
    """Stores the rectangle of the last item."""
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    item_boxes[name] = Box(low.x, low.y, high.x - low.x, high.y - low.y)


@contextmanager
def pane(title: str, box: Box, flags: int = FIXED) -> Iterator[None]:
    """A window at a fixed rectangle of the layout."""
    imgui.set_next_window_pos(imgui.ImVec2(box.x, box.y))
    imgui.set_next_window_size(imgui.ImVec2(box.width, box.height))
    imgui.begin(title, None, flags)
    try:
        yield
    finally:
        imgui.end()


def fixed_text(text: str, widest: str) -> None:
    """A text with the room of its widest form, so that what follows does not move."""
    left = imgui.get_cursor_pos_x()
    imgui.text(text)
    imgui.same_line(left + max(imgui.calc_text_size(widest).x, imgui.calc_text_size(text).x), 0)
    imgui.dummy(imgui.ImVec2(0, 0))


def cut_text(text: str) -> None:
    """A text with the whole of it as a tooltip where the column cuts it."""
    room = imgui.get_content_region_avail().x
    imgui.text_unformatted(text)
    tell_if_cut(text, room)


def tell_if_cut(text: str, room: float) -> None:
    """A tooltip on the last item where its text is wider than its room [points]."""
    if imgui.calc_text_size(text).x > room:
        imgui.set_item_tooltip(text)


def facts(rows: list[tuple[str, str]]) -> None:
    """A table of two columns."""
    if imgui.begin_table("facts", 2, int(imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.row_bg)):
        for name, text in rows:
            imgui.table_next_row()
            imgui.table_next_column()
            imgui.text_disabled(name)
            imgui.table_next_column()
            cut_text(text)
        imgui.end_table()

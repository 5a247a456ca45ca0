"""Shared by all panes: windows at fixed places, texts, rectangles of drawn items."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shiftjax.errors import ModelError
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
CLEAR = imgui.ImVec4(0.0, 0.0, 0.0, 0.0)

item_boxes: dict[str, Box] = {}  # name -> rectangle in the latest frame [points], for tests and scripts


def remember_item(name: str) -> None:
    """Stores the rectangle of the last item."""
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    item_boxes[name] = Box(low.x, low.y, high.x - low.x, high.y - low.y)


@contextmanager
def pane(title: str, box: Box, flags: int = FIXED) -> Iterator[None]:
    """A window at a fixed rectangle of the layout. The screen clears to its background: a software renderer takes as
    long to blend all of it as to draw what is in it."""
    imgui.set_next_window_pos(imgui.ImVec2(box.x, box.y))
    imgui.set_next_window_size(imgui.ImVec2(box.width, box.height))
    imgui.push_style_color(int(imgui.Col_.window_bg), CLEAR)
    imgui.begin(title, None, flags)
    imgui.pop_style_color()
    try:
        with errors_told(title):
            yield
    finally:
        imgui.end()


@contextmanager
def errors_told(what: str) -> Iterator[None]:
    """Tells in the present window why something cannot be drawn, as of a store that is gone; all else goes on."""
    begun = imgui.internal.ErrorRecoveryState()
    imgui.internal.error_recovery_store_state(begun)
    try:
        yield
    except ModelError as error:
        _close_all_since(begun)
        imgui.push_style_color(int(imgui.Col_.text), RED)
        imgui.text_wrapped(str(error))
        imgui.pop_style_color()
        remember_item(f"unreadable:{what}")


def _close_all_since(begun: imgui.internal.ErrorRecoveryState) -> None:
    """Ends tables, children and whatever else an error left open; that it does so is no error of its own."""
    io = imgui.get_io()
    names = [f"config_error_recovery_enable_{way}" for way in ("assert", "debug_log", "tooltip")]
    ways = {name: getattr(io, name) for name in names}
    for name in names:
        setattr(io, name, False)
    try:
        imgui.internal.error_recovery_try_to_recover_state(begun)
    finally:
        for name, way in ways.items():
            setattr(io, name, way)


def fixed_text(text: str, widest: str) -> None:
    """A text with the room of its widest form, so that what follows does not move."""
    left = imgui.get_cursor_pos_x()
    imgui.text(text)
    imgui.same_line(left + max(imgui.calc_text_size(widest).x, imgui.calc_text_size(text).x), 0)
    imgui.dummy(imgui.ImVec2(0, 0))


def room_beside(gap: float | None = None) -> float:
    """Points that are left in the line of the last item, after a gap."""
    gap = imgui.get_style().item_spacing.x if gap is None else gap
    right = imgui.get_cursor_screen_pos().x + imgui.get_content_region_avail().x
    return right - imgui.get_item_rect_max().x - gap


def beside(width: float, gap: float | None = None) -> None:
    """What follows stands beside the last item where there is room for so many points, else in a line of its own."""
    if width <= room_beside(gap) + 0.5:
        imgui.same_line(0, -1.0 if gap is None else gap)


def button_width(*labels: str) -> float:
    """Width of buttons of these labels in a row [points]."""
    style = imgui.get_style()
    texts = sum(imgui.calc_text_size(label).x + 2 * style.frame_padding.x for label in labels)
    return texts + style.item_spacing.x * (len(labels) - 1)


def checkbox_width(label: str) -> float:
    """Width of a check box with its label [points]."""
    return imgui.get_frame_height() + imgui.get_style().item_inner_spacing.x + imgui.calc_text_size(label).x


def hint(text: str) -> None:
    """How something is used, beside the last item; where that leaves no room, a mark with the text as its tooltip."""
    room = room_beside()
    imgui.same_line()
    whole = imgui.calc_text_size(text).x <= room
    if whole or room > imgui.calc_text_size("(?)").x:
        imgui.text_disabled(text if whole else "(?)")
        remember_item("hint")
        imgui.set_item_tooltip(text)
    else:
        imgui.new_line()


def wrapped(text: str, *, faint: bool = False) -> None:
    """A text in as many lines as it needs."""
    colour = imgui.get_style().color_(int(imgui.Col_.text_disabled if faint else imgui.Col_.text))
    imgui.push_style_color(int(imgui.Col_.text), colour)
    imgui.push_text_wrap_pos(0.0)
    imgui.text_unformatted(text)
    imgui.pop_text_wrap_pos()
    imgui.pop_style_color()


def lines_within(text: str, width: float) -> list[str]:
    """A text cut into lines at most so wide [points], between words where that is possible."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines.append("")
        for word in line.split(" "):
            longer = f"{lines[-1]} {word}" if lines[-1] else word
            if lines[-1] and imgui.calc_text_size(longer).x > width:
                lines.append(word)
            else:
                lines[-1] = longer
    return lines


def cut_text(text: str) -> None:
    """A text with the whole of it as a tooltip where the column cuts it."""
    room = imgui.get_content_region_avail().x
    imgui.text_unformatted(text)
    tell_if_cut(text, room)


def tell_if_cut(text: str, room: float) -> None:
    """A tooltip on the last item where its text is wider than its room [points]."""
    if imgui.calc_text_size(text).x > room:
        imgui.set_item_tooltip(text)
        remember_item(f"cut:{text}")


def facts(rows: list[tuple[str, str]]) -> None:
    """A table of two columns; where these do not fit, each text in lines below its name."""
    between = 4 * imgui.get_style().cell_padding.x
    widths = [max((imgui.calc_text_size(row[k]).x for row in rows), default=0.0) for k in range(2)]
    if sum(widths) + between > imgui.get_content_region_avail().x:
        for name, text in rows:
            wrapped(name, faint=True)
            beside(imgui.calc_text_size(text).x)
            wrapped(text)
        return
    if imgui.begin_table("facts", 2, int(imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.row_bg)):
        for name, text in rows:
            imgui.table_next_row()
            imgui.table_next_column()
            imgui.text_disabled(name)
            imgui.table_next_column()
            cut_text(text)
        imgui.end_table()

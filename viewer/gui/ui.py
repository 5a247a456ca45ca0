"""What all panes share: where things were drawn, and buttons and menu lines of actions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shiftjax.viewer.gui import actions
from shiftjax.viewer.gui.bundle import imgui
from shiftjax.viewer.gui.layout import Box
from shiftjax.viewer.gui.state import State

STILL = int(
    imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_resize
    | imgui.WindowFlags_.no_collapse
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_bring_to_front_on_focus
)
BARE = STILL | int(imgui.WindowFlags_.no_title_bar)
RED = imgui.ImVec4(1.0, 0.35, 0.3, 1.0)

marks: dict[str, Box] = {}  # name -> where it was drawn in the latest frame [points]; tests and scripts click there


def mark(name: str) -> None:
    """Remembers where the last item was drawn."""
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    marks[name] = Box(low.x, low.y, high.x - low.x, high.y - low.y)


@contextmanager
def pane(title: str, box: Box, flags: int = STILL) -> Iterator[None]:
    """A window that stands where the layout wants it."""
    imgui.set_next_window_pos(imgui.ImVec2(box.x, box.y))
    imgui.set_next_window_size(imgui.ImVec2(box.width, box.height))
    imgui.begin(title, None, flags)
    try:
        yield
    finally:
        imgui.end()


def button(state: State, label: str, name: str) -> None:
    """A button of an action, with what it does as a tip."""
    if imgui.button(f"{label}##{name}"):
        actions.run(state, name)
    mark(name)
    action = state.table.actions[name]
    imgui.set_item_tooltip("\n".join([action.words, " or ".join(action.bindings(state.map))]))


def line(state: State, name: str, on: bool = False) -> None:
    """A menu line of an action, with its first binding."""
    action = state.table.actions[name]
    shortcut = (*action.bindings(state.map), "")[0]
    if imgui.menu_item_simple(action.words, shortcut, on):
        actions.run(state, name)
    mark(f"menu:{name}")


def facts(rows: list[tuple[str, str]]) -> None:
    """A table of two columns."""
    if imgui.begin_table("facts", 2, int(imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.row_bg)):
        for name, text in rows:
            imgui.table_next_row()
            imgui.table_next_column()
            imgui.text_disabled(name)
            imgui.table_next_column()
            imgui.text_unformatted(text)
        imgui.end_table()

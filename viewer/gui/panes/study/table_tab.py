"""The table of members: sorted by a click on a column, filtered by the expression; only rows in sight are drawn."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.panes.study import column_choice
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

FLAGS = int(
    imgui.TableFlags_.scroll_x | imgui.TableFlags_.row_bg | imgui.TableFlags_.resizable
    | imgui.TableFlags_.borders_inner_v | imgui.TableFlags_.sizing_fixed_fit
)  # fmt: skip
MOST_COLUMNS = 24
WIDTHS = {"member": 80.0, "status": 110.0}
WIDTH = 122.0  # of a column of numbers [points]
ROWS_A_STEP = 3  # of the wheel
SELECTED = imgui.ImVec4(0.55, 0.32, 0.06, 0.75)


def draw(state: WindowState) -> None:
    explorer = state.explorer
    _columns(state)
    names, rows = explorer.columns[:MOST_COLUMNS], explorer.rows()
    room, style = imgui.get_content_region_avail(), imgui.get_style()
    step = imgui.get_text_line_height() + 2 * style.cell_padding.y
    seen = max(int((room.y - style.scrollbar_size) / step) - 1, 1)  # one row has the headers
    explorer.first = min(max(explorer.first, 0), max(len(rows) - seen, 0))
    size = imgui.ImVec2(room.x - style.scrollbar_size - style.item_spacing.x, room.y)
    if not names or not imgui.begin_table("members", len(names), FLAGS, size):
        return
    imgui.table_setup_scroll_freeze(1, 1)
    fixed, zoom = int(imgui.TableColumnFlags_.width_fixed), state.panels.zoom
    for name in names:
        imgui.table_setup_column(name, fixed, zoom * WIDTHS.get(name, WIDTH))
    _headers(state, names)
    for member in rows[explorer.first : explorer.first + seen]:
        _row(state, int(member), names)
    if imgui.is_window_hovered():
        explorer.first -= round(ROWS_A_STEP * imgui.get_io().mouse_wheel)
    imgui.end_table()
    _scrollbar(state, len(rows) - seen, room.y)


def _scrollbar(state: WindowState, last: int, height: float) -> None:
    """Which rows are in sight. The table does not scroll itself: its positions are float32, too coarse for 1e6 rows."""
    if last <= 0:
        return
    explorer = state.explorer
    imgui.same_line()
    size = imgui.ImVec2(imgui.get_style().scrollbar_size, height)
    moved, below = imgui.v_slider_int("##rows", size, last - min(explorer.first, last), 0, last, "")
    ui.remember_item("rows of members")
    imgui.set_item_tooltip(f"row {explorer.first + 1:,} of {len(explorer.rows()):,}")
    if moved:
        explorer.first = last - below


def _headers(state: WindowState, names: list[str]) -> None:
    """Names that sort; an arrow shows by which column and in which sense."""
    explorer = state.explorer
    imgui.table_next_row(int(imgui.TableRowFlags_.headers))
    for name in names:
        imgui.table_next_column()
        unit = explorer.table.unit(name)
        arrow = (" v" if explorer.falling else " ^") if name == explorer.sort else ""
        imgui.table_header(f"{explorer.short(name)}{f' [{unit}]' if unit else ''}{arrow}##{name}")
        ui.remember_item(f"column:{name}")
        title = f"{explorer.table.title(name)}{good(explorer, name)}"
        imgui.set_item_tooltip(f"{title}\nclick: order by this column, again: the other way round")
        if imgui.is_item_clicked():
            explorer.sort_by(name)


def good(explorer: Explorer, name: str) -> str:
    """Which values of a column are good, in words; "" where nothing says so."""
    sense = explorer.table.sense(name)
    return f", {sense} is good" if sense else ""


def _row(state: WindowState, member: int, names: list[str]) -> None:
    """A member; a click opens it, with Ctrl it joins the selection or leaves it."""
    explorer = state.explorer
    imgui.push_id(member)
    imgui.table_next_row()
    if explorer.selected[member]:
        imgui.table_set_bg_color(int(imgui.TableBgTarget_.row_bg0), imgui.get_color_u32(SELECTED))
    for k, name in enumerate(names):
        imgui.table_next_column()
        if k:
            imgui.text_unformatted(explorer.table.text(name, member))
            continue
        spans = int(imgui.SelectableFlags_.span_all_columns)
        clicked, _ = imgui.selectable(explorer.table.text(name, member), member == state.choice.member, spans)
        ui.remember_item(f"member:{member}")
        if clicked and imgui.get_io().key_ctrl:
            one = np.zeros(explorer.table.rows, bool)
            one[member] = True
            selecting.select(state, explorer.selected ^ one)
        elif clicked:
            selecting.open_member(state, member)
    imgui.pop_id()


def _columns(state: WindowState) -> None:
    """A list of all columns, to show or hide each, and the best and worst by the one that sorts."""
    explorer = state.explorer
    columns = column_choice.changed(explorer, "columns", "columns of the table", explorer.columns, "show column")
    if columns is not None:
        explorer.columns = columns
    imgui.same_line()
    if imgui.button("select the first 5"):
        first = np.zeros(explorer.table.rows, bool)
        first[explorer.rows()[:5]] = True
        selecting.select(state, first)
    ui.remember_item("select first")
    imgui.set_item_tooltip("the first five rows, as ghosts where they have trajectories")
    ui.hint("click: open, Ctrl+click: select")

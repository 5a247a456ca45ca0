"""The table of members: sorted by a click on a column, filtered by the expression; only rows in sight are drawn."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui import ui
from shiftjax.viewer.gui.bundle import imgui
from shiftjax.viewer.gui.state import State
from shiftjax.viewer.gui.study import selecting

FLAGS = int(
    imgui.TableFlags_.scroll_y | imgui.TableFlags_.scroll_x | imgui.TableFlags_.row_bg | imgui.TableFlags_.resizable
    | imgui.TableFlags_.borders_inner_v | imgui.TableFlags_.sizing_fixed_fit
)  # fmt: skip
MOST_COLUMNS = 24
WIDTHS = {"member": 80.0, "status": 110.0}
WIDTH = 122.0  # of a column of numbers [points]
SELECTED = imgui.ImVec4(0.55, 0.32, 0.06, 0.75)


def draw(state: State) -> None:
    explorer = state.explorer
    _columns(state)
    names = explorer.columns[:MOST_COLUMNS]
    rows = explorer.rows()
    if not names or not imgui.begin_table("members", len(names), FLAGS):
        return
    imgui.table_setup_scroll_freeze(1, 1)
    for name in names:
        imgui.table_setup_column(
            name, int(imgui.TableColumnFlags_.width_fixed), state.panels.zoom * WIDTHS.get(name, WIDTH)
        )
    _headers(state, names)
    clipper = imgui.ListClipper()
    clipper.begin(len(rows))
    while clipper.step():
        for member in rows[clipper.display_start : clipper.display_end]:
            _row(state, int(member), names)
    clipper.end()
    imgui.end_table()


def _headers(state: State, names: list[str]) -> None:
    """Names that sort; an arrow shows by which column and in which sense."""
    explorer = state.explorer
    imgui.table_next_row(int(imgui.TableRowFlags_.headers))
    for name in names:
        imgui.table_next_column()
        unit = explorer.table.unit(name)
        arrow = (" v" if explorer.falling else " ^") if name == explorer.sort else ""
        imgui.table_header(f"{explorer.short(name)}{f' [{unit}]' if unit else ''}{arrow}##{name}")
        ui.remember_item(f"column:{name}")
        imgui.set_item_tooltip(f"{explorer.table.title(name)}\nclick: order by this column, again: the other way round")
        if imgui.is_item_clicked():
            explorer.sort_by(name)


def _row(state: State, member: int, names: list[str]) -> None:
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


def _columns(state: State) -> None:
    """A list of all columns, to show or hide each, and the best and worst by the one that sorts."""
    explorer = state.explorer
    if imgui.button("columns"):
        imgui.open_popup("columns of the table")
    ui.remember_item("columns")
    if imgui.begin_popup("columns of the table"):
        for name in explorer.table.names:
            changed, on = imgui.checkbox(explorer.table.title(name), name in explorer.columns)
            ui.remember_item(f"show column:{name}")
            if changed:
                explorer.columns = [n for n in explorer.table.names if (on if n == name else n in explorer.columns)]
        imgui.end_popup()
    imgui.same_line()
    if imgui.button("select the first 5"):
        first = np.zeros(explorer.table.rows, bool)
        first[explorer.rows()[:5]] = True
        selecting.select(state, first)
    ui.remember_item("select first")
    imgui.set_item_tooltip("the first five rows, as ghosts where they have trajectories")
    imgui.same_line()
    imgui.text_disabled("click: open, Ctrl+click: select")

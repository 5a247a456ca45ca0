"""The model tree on the left: rows with a visibility box, a name, the current value and the mobility."""

from __future__ import annotations

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.viewer.gui.actions import picking
from shiftjax.viewer.gui.actions.workbench import naming
from shiftjax.viewer.gui.panes import namefield
from shiftjax.viewer.gui.state import tree_rows, values
from shiftjax.viewer.gui.state.derived import present
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.selection import Hit, Selection
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

INDENT, NARROW_INDENT = 12.0, 6.0  # points a level; in a narrow pane
NARROW = 240.0  # width below which mobility is in the properties alone [points]
TABLE = int(imgui.TableFlags_.scroll_y | imgui.TableFlags_.row_bg | imgui.TableFlags_.resizable)


def draw(state: WindowState, box: Box) -> None:
    with ui.pane("Model", box, ui.BARE):
        imgui.set_next_item_width(-1)
        _, state.panels.search = imgui.input_text_with_hint("##search", "search", state.panels.search)
        ui.remember_item("search")
        if imgui.begin_tab_bar("tabs"):
            if imgui.begin_tab_item_simple("Scene"):
                _rows(state, state.rows, True)
                imgui.end_tab_item()
            ui.remember_item("tab:Scene")
            if imgui.begin_tab_item_simple("Simulation"):
                _rows(state, tree_rows.simulation_rows(state.study, state.choice.member), False)
                imgui.end_tab_item()
            ui.remember_item("tab:Simulation")
            imgui.end_tab_bar()


def _rows(state: WindowState, rows: tuple[tree_rows.Row, ...], live: bool) -> None:
    """The rows that are unfolded; only those scrolled into view are drawn."""
    rows_shown = (
        tree_rows.search(rows, state.panels.search)
        if state.panels.search
        else tree_rows.unfolded(rows, state.panels.opened)
    )
    narrow = imgui.get_content_region_avail().x < state.panels.zoom * NARROW
    if not imgui.begin_table("tree", (3 if narrow else 4) if live else 2, TABLE):
        return
    stretch, fixed = int(imgui.TableColumnFlags_.width_stretch), int(imgui.TableColumnFlags_.width_fixed)
    if live:
        imgui.table_setup_column("", fixed, 20)
    imgui.table_setup_column("name", stretch, 3)
    imgui.table_setup_column("value", stretch, 2)
    if live and not narrow:
        imgui.table_setup_column("mobility", fixed, 56)
    imgui.table_setup_scroll_freeze(0, 1)
    imgui.table_headers_row()
    clipper = imgui.ListClipper()
    clipper.begin(len(rows_shown))
    while clipper.step():
        for row in rows_shown[clipper.display_start : clipper.display_end]:
            imgui.push_id(row.key)
            _row(state, row, live, narrow)
            imgui.pop_id()
    clipper.end()
    imgui.end_table()


def _row(state: WindowState, row: tree_rows.Row, live: bool, narrow: bool) -> None:
    imgui.table_next_row()
    if live:
        imgui.table_next_column()
        if row.hideable:
            _visibility(state.selection, row.path)
    imgui.table_next_column()
    _name(state, row, NARROW_INDENT if narrow else INDENT)
    imgui.table_next_column()
    ui.cut_text(value_text(state, row))
    if live and not narrow:
        imgui.table_next_column()
        imgui.text_unformatted(mobility_text(state, row))


def _visibility(selection: Selection, path: str) -> None:
    """A check box for the visibility of an item."""
    imgui.push_style_var(imgui.StyleVar_.frame_padding, imgui.ImVec2(0, 0))
    changed, shown = imgui.checkbox("##eye", path not in selection.hidden)
    imgui.pop_style_var()
    ui.remember_item(f"eye:{path}")
    if changed:
        (selection.hidden.discard if shown else selection.hidden.add)(path)


def _name(state: WindowState, row: tree_rows.Row, indent: float) -> None:
    """The arrow of a row with children and its name: a click picks it, with Ctrl toggles its selection."""
    imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + indent * row.depth)
    if row.parent:
        is_open = row.key in state.panels.opened or bool(state.panels.search)
        imgui.push_style_var(imgui.StyleVar_.frame_padding, imgui.ImVec2(0, 0))
        if imgui.arrow_button("fold", imgui.Dir.down if is_open else imgui.Dir.right):
            (state.panels.opened.discard if is_open else state.panels.opened.add)(row.key)
        imgui.pop_style_var()
        ui.remember_item(f"fold:{row.key}")
        imgui.same_line(0, 4)
    new = state.panels.new_name
    if new is not None and new.place == row.key:
        namefield.draw(state, new)
        return
    marked = bool(row.path) and (row.path == state.selection.pick or row.path in state.selection.selected)
    room = imgui.get_content_region_avail().x
    clicked, _ = imgui.selectable(row.name, marked)
    ui.tell_if_cut(row.name, room)
    ui.remember_item(f"row:{row.key}")
    if row.path and imgui.is_item_hovered() and imgui.is_mouse_double_clicked(imgui.MouseButton_.left):
        naming.begin_at(state, row)
    elif clicked and row.path:
        if imgui.get_io().key_ctrl:
            picking.toggle_at(state, Hit(row.path))
        else:
            state.pick_path(row.path)
    elif clicked and row.parent:
        (state.panels.opened.discard if row.key in state.panels.opened else state.panels.opened.add)(row.key)


def value_text(state: WindowState, row: tree_rows.Row) -> str:
    """The current value of a joint; for others the value of the row."""
    if row.kind != "joint" or row.path not in state.mechanism.joints:
        return row.value
    kind = KINDS[state.mechanism.joints[row.path].type]
    return values.text(kind, np.atleast_1d(present.joint_value(state, row.path)), 4) or row.value


def mobility_text(state: WindowState, row: tree_rows.Row) -> str:
    """The mobility of a joint; for an assembly, the sum over all joints in it."""
    if row.kind == "joint" and row.path in state.mechanism.joints:
        return f"{present.mobility(state)[row.path]:.4f}"
    if row.kind == "assembly":
        inside = [m for path, m in present.mobility(state).items() if path.startswith(row.path + ":")]
        return f"{sum(inside):.4f}" if inside else ""
    return ""

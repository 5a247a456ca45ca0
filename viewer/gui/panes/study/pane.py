"""The study pane: what is shown of all members, in six tabs, over the time line."""

from __future__ import annotations

from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.panes.study import (
    design_tab,
    histogram_tab,
    parallel_tab,
    scatter_tab,
    set_line,
    suggesting,
    table_tab,
    why_tab,
)
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import buttons, ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.members.ghost_choice import MOST_GHOSTS

DRAWN = {
    "table": ("Table", table_tab.draw),
    "scatter": ("Scatter", scatter_tab.draw),
    "parallel": ("Parallel axes", parallel_tab.draw),
    "histogram": ("Histogram", histogram_tab.draw),
    "why": ("Why?", why_tab.draw),
    "designs": ("Designs", design_tab.draw),
}
WIDTH = 330.0  # of the expression [points]


def draw(state: WindowState, box: Box) -> None:
    fitted = state.explorer.fit
    with ui.pane("Study", box, ui.BARE):
        _expression(state)
        _brushes(state)
        set_line.draw(state)
        _tabs(state)
    state.explorer.fit = state.explorer.fit and not fitted  # what a tab asks for another one holds in the next frame


def _tabs(state: WindowState) -> None:
    explorer = state.explorer
    if not imgui.begin_tab_bar("study tabs"):
        return
    wanted, opened = explorer.switch_to, ""
    for name, (title, _) in DRAWN.items():
        flags = int(imgui.TabItemFlags_.set_selected) if explorer.switch_to == name else 0
        is_open, _ = imgui.begin_tab_item(title, None, flags)
        ui.remember_item(f"tab:{title}")
        if is_open:
            explorer.tab = opened = name
            imgui.end_tab_item()
    imgui.end_tab_bar()
    if opened:
        title, content = DRAWN[opened]
        imgui.push_id(title)
        with ui.errors_told(title):  # after the bar: an error ends whatever is open, and the bar would be
            content(state)
        imgui.pop_id()
    if explorer.switch_to == wanted:
        explorer.switch_to = ""


def _brushes(state: WindowState) -> None:
    """What is selected by brushes, as an expression to be edited."""
    explorer = state.explorer
    imgui.align_text_to_frame_padding()
    imgui.text_unformatted("selected")
    imgui.same_line()
    imgui.set_next_item_width(-set_line.keep_width(state))
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    hint = "what brushes in the plots select; or an expression"
    done, explorer.brush_typed = imgui.input_text_with_hint("##brushes", hint, explorer.brush_typed, flags)
    ui.remember_item("brushes")
    imgui.set_item_tooltip("Enter selects what is written; an empty line removes all brushes")
    if done:
        selecting.type_brushes(state, explorer.brush_typed)
    imgui.same_line()
    set_line.keep_box(state)
    _wrong(explorer.brush_wrong, "wrong brushes")


def _wrong(text: str, name: str) -> None:
    """Why an expression cannot be read."""
    if text:
        imgui.push_style_color(int(imgui.Col_.text), ui.RED)
        imgui.text_wrapped(text)
        imgui.pop_style_color()
        ui.remember_item(name)


def _expression(state: WindowState) -> None:
    """The expression that says which members are shown, with what completes it; how many are shown and selected."""
    explorer = state.explorer
    imgui.set_next_item_width(min(state.panels.zoom * WIDTH, imgui.get_content_region_avail().x))
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    hint = "all members; or an expression"
    done, explorer.typed = imgui.input_text_with_hint("##expression", hint, explorer.typed, flags)
    ui.remember_item("expression")
    if done:
        selecting.show(state, explorer.typed)
    ui.beside(ui.button_width("examples"))
    example = suggesting.examples(explorer)
    if example is not None:
        selecting.show(state, example)
    ui.beside(ui.button_width("all"))
    if imgui.button("all") and explorer.expression:
        selecting.show(state, "")
    ui.remember_item("show all members")
    ui.beside(ui.button_width("fit"))
    if imgui.button("fit"):
        explorer.fit = True
    ui.remember_item("fit")
    imgui.set_item_tooltip("the axes of all plots show everything")
    ui.beside(ui.button_width("grid"))
    buttons.button(state, "grid", "grid")
    shown, selected = explorer.counts()
    counts = f"{shown:,} of {explorer.table.rows:,} shown, {selected:,} selected"
    ui.beside(imgui.calc_text_size(counts).x)
    imgui.text(counts)
    ui.remember_item("counts")
    if selected:
        ui.beside(ui.button_width("none"))
        if imgui.button("none"):
            selecting.clear(state)
        ui.remember_item("select none")
        ui.beside(imgui.calc_text_size(explorer.note).x)
        ui.wrapped(explorer.note, faint=True)
        if len(state.choice.chosen) < min(selected, MOST_GHOSTS):
            ui.beside(ui.button_width("simulate"))
            if imgui.small_button("simulate"):
                selecting.simulate(state)
            ui.remember_item("simulate selected")
            imgui.set_item_tooltip(
                f"at most {MOST_GHOSTS} of the selection, spread over it, are simulated again and drawn"
            )
    explorer.typed = suggesting.names(explorer, explorer.typed, explorer.expression, "")
    _wrong(explorer.wrong, "wrong expression")

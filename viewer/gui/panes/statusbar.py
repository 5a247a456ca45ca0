"""The bar at the lower edge: the point under the cursor, the mode, what is going on, and the latest message."""

from __future__ import annotations

from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.panels import Panels
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

__all__ = ["draw"]

SNAPPED = "Here the loops do not close between stored instants, or the poses are not those of the present numbers."
CURSOR, MODE, GAP = 84.0, 290.0, 24.0  # of a coordinate, before the mode, between items [points]
FLOATING = int(  # over the fixed panes
    imgui.WindowFlags_.no_title_bar
    | imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_focus_on_appearing
    | imgui.WindowFlags_.always_auto_resize
)


def draw(state: WindowState, box: Box, view: Box) -> None:
    """Draws the bar; in a narrow window keys are said in a tooltip, and then the coordinates are left out."""
    selection, panels = state.selection, state.panels
    with ui.pane("Status", box, ui.BARE | int(imgui.WindowFlags_.no_scrollbar)):
        notes, room = _notes(state), imgui.get_content_region_avail().x
        selected = f", {len(selection.selected)} selected" if selection.selected else ""
        place = f"keyboard in {panels.pane} (F7 on, Escape back)" if panels.pane else f"{state.map} keys (F1)"
        whole, mode = f"{selection.mode}, {place}{selected}", f"{selection.mode}{selected}"
        taken = sum(GAP + imgui.calc_text_size(text).x for _, text, _ in notes)
        start = panels.zoom * MODE
        if start + imgui.calc_text_size(whole).x + taken <= room:
            mode = whole
        if start + imgui.calc_text_size(mode).x + taken <= room:
            _coordinates(state)
        imgui.text(mode)
        ui.remember_item("mode")
        imgui.set_item_tooltip(whole)
        for name, text, tooltip in notes:
            imgui.same_line(0, GAP)
            imgui.text_colored(ui.RED, text) if name != "snapped" else imgui.text_disabled(text)
            ui.remember_item(name)
            if tooltip:
                imgui.set_item_tooltip(tooltip)
        if panels.message:
            _message(panels, view)


def _coordinates(state: WindowState) -> None:
    """Of the point under the cursor, in the world."""
    cursor, zoom = state.selection.cursor, state.panels.zoom
    for k, name in enumerate("xyz"):
        imgui.text_disabled(f"{name} -") if cursor is None else imgui.text(f"{name} {cursor[k]:.4f}")
        imgui.same_line(zoom * CURSOR * (k + 1))  # a place that digits do not move
    imgui.text_disabled("m")
    imgui.same_line(zoom * MODE)


def _notes(state: WindowState) -> list[tuple[str, str, str]]:
    """What is going on: the name of an item, its text and its tooltip."""
    notes = []
    if state.snapped():
        why = SNAPPED if not state.study.at_instants else "stored instants only"
        notes.append(("snapped", "at the nearest stored instant", why))
    if state.recording is not None:
        notes.append(("recording", f"REC {state.recording.seconds:6.1f} s", ""))
    if state.hand is not None and state.hand.doing:
        notes.append(("doing", state.hand.doing, "Escape ends it."))
    if state.awaited.text:
        notes.append(("awaited", state.awaited.text, ""))
    return notes


def _message(panels: Panels, view: Box) -> None:
    """The latest message; one that the bar cuts is shown over the view, too."""
    imgui.same_line(0, GAP)
    line = panels.message.replace("\n", " ")
    room = imgui.get_content_region_avail().x
    imgui.text_unformatted(line)
    ui.remember_item("message")
    imgui.set_item_tooltip("\n".join(panels.messages[-8:]))
    if imgui.calc_text_size(line).x > room:
        _long_message(panels, view)


def _long_message(panels: Panels, view: Box) -> None:
    """A message that the status bar cuts, wrapped, at the lower edge of the view."""
    width = max(min(view.width - 2 * GAP, 640.0 * panels.zoom), 60.0)
    imgui.set_next_window_pos(imgui.ImVec2(view.x + GAP, view.y + view.height - GAP), 0, imgui.ImVec2(0, 1))
    imgui.set_next_window_size(imgui.ImVec2(width, 0))
    imgui.begin("Message", None, FLOATING)
    imgui.text_wrapped(panels.message)
    if imgui.small_button("close"):
        panels.message = ""
    ui.remember_item("message:close")
    imgui.end()

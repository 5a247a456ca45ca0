"""The console of a workbench: every step as a line, what else it changed, errors, and a line to type."""

from __future__ import annotations

from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.motion.live_run import ByHandRun

HINT = "a step, as invert('rocker_pivot'); help() lists them"
SHOWN = 400  # of the latest lines
COPY = "copy the script"


def draw(state: WindowState, run: ByHandRun) -> None:
    """Draws into the current window."""
    if imgui.button(COPY):
        imgui.set_clipboard_text(run.script)
    ui.remember_item("copy script")
    imgui.set_item_tooltip("the lines that make the mechanism as it is; shiftjax.Workbench(model).replay does them")
    height = imgui.get_content_region_avail().y - imgui.get_frame_height_with_spacing()
    imgui.begin_child("lines", imgui.ImVec2(0, max(height, 1.0)))
    at_end = imgui.get_scroll_y() >= imgui.get_scroll_max_y() - 1.0
    for line in run.console[-SHOWN:]:
        if line.kind == "error":
            imgui.push_style_color(int(imgui.Col_.text), ui.RED)
            imgui.text_wrapped(line.text)
            imgui.pop_style_color()
        else:
            ui.wrapped(line.text, faint=line.kind == "note")
    if at_end:
        imgui.set_scroll_here_y(1.0)
    imgui.end_child()
    imgui.set_next_item_width(-1)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    entered, state.panels.line = imgui.input_text_with_hint("##line", HINT, state.panels.line, flags)
    ui.remember_item("console line")
    if entered and state.panels.line.strip():
        run.do(state.panels.line)
        state.panels.line = ""
        imgui.set_keyboard_focus_here(-1)

"""The console of a workbench: every step as a line, what else it changed, errors, and a line to type."""

from __future__ import annotations

from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.typed.typed_line import TypedLine
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.motion.live_run import SHELL_WORDS, ByHandRun

HINT = "a step, as invert('rocker_pivot'); Tab completes, help() lists them"
SHOWN = 400  # of the latest lines
LISTED = 200  # choices of a completion
COPY = "copy the script"
FLAGS = int(
    imgui.InputTextFlags_.enter_returns_true
    | imgui.InputTextFlags_.callback_completion
    | imgui.InputTextFlags_.callback_history
    | imgui.InputTextFlags_.callback_always
)


def draw(state: WindowState, run: ByHandRun) -> None:
    """Draws into the current window."""
    typed = state.panels.lasting(TypedLine)
    if imgui.button(COPY):
        imgui.set_clipboard_text(run.script)
    ui.remember_item("copy script")
    imgui.set_item_tooltip("the lines that make the mechanism as it is; shiftjax.Workbench(model).replay does them")
    step = typed.step(state.panels.line, run.help_lines)
    words = "" if step is None else f"{step.signature}\n{step.says}"
    room = imgui.get_content_region_avail()
    below = imgui.calc_text_size(words, wrap_width=room.x).y + imgui.get_style().item_spacing.y if words else 0.0
    imgui.begin_child("lines", imgui.ImVec2(0, max(room.y - imgui.get_frame_height_with_spacing() - below, 1.0)))
    _lines(run, typed.choices if typed.listed_for == state.panels.line else ())
    imgui.end_child()
    _line(state, run, typed)
    if words:
        ui.wrapped(words, faint=True)
        ui.remember_item("step signature")


def _lines(run: ByHandRun, choices: tuple[str, ...]) -> None:
    """What was done, and what would complete the line."""
    at_end = imgui.get_scroll_y() >= imgui.get_scroll_max_y() - 1.0
    for line in run.console[-SHOWN:]:
        if line.kind == "error":
            imgui.push_style_color(int(imgui.Col_.text), ui.RED)
            imgui.text_wrapped(line.text)
            imgui.pop_style_color()
        else:
            ui.wrapped(line.text, faint=line.kind == "note")
    if choices:
        more = f"  ... {len(choices):,} in all" if len(choices) > LISTED else ""
        ui.wrapped(f"{'   '.join(choices[:LISTED])}{more}", faint=True)
        ui.remember_item("completions")
    if at_end or choices:
        imgui.set_scroll_here_y(1.0)


def _line(state: WindowState, run: ByHandRun, typed: TypedLine) -> None:
    """The line to type: Enter does it, Tab completes it, arrows bring earlier ones."""

    def edit(data: imgui.InputTextCallbackData) -> int:
        line = str(data.buf)
        cursor = len(line.encode()[: data.cursor_pos].decode())  # it counts bytes
        if data.event_flag == imgui.InputTextFlags_.callback_history:
            _replace(data, typed.walk(1 if data.event_key == imgui.Key.up_arrow else -1, line))
        elif data.event_flag == imgui.InputTextFlags_.callback_completion:
            goals = [goal.name for goal in run.goals]
            model = state.mechanism.model
            result = typed.complete(line, cursor, run.help_lines, SHELL_WORDS, model, run.values, goals)
            if result.text != line:
                _replace(data, result.text, result.cursor)
            cursor = result.cursor
        typed.cursor = cursor
        return 0

    imgui.set_next_item_width(-1)
    entered, state.panels.line = imgui.input_text_with_hint("##line", HINT, state.panels.line, FLAGS, edit)
    ui.remember_item("console line")
    if entered and state.panels.line.strip():
        typed.give(state.panels.line)
        run.do(state.panels.line)
        state.panels.line = ""
        imgui.set_keyboard_focus_here(-1)


def _replace(data: imgui.InputTextCallbackData, line: str, cursor: int | None = None) -> None:
    """Puts another line into the box, with the cursor at its end or elsewhere [letters]."""
    data.delete_chars(0, data.buf_text_len)
    data.insert_chars(0, line)
    data.cursor_pos = len(line[:cursor].encode())
    data.clear_selection()

"""The pane below the view: playback, the time slider with its ticks, and the choice of members.

Controls keep their places while numbers change: a text takes the room of its widest form.
"""

from __future__ import annotations

import math

from shiftjax.viewer.gui.actions.members import beside, choosing
from shiftjax.viewer.gui.panes import endings
from shiftjax.viewer.gui.panes.study import suggesting
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import buttons, ui
from shiftjax.viewer.gui.widgets.bundle import imgui

BOX_WIDTH, BESIDE_WIDTH, COLOUR_WIDTH = 170.0, 110.0, 140.0  # of the boxes of members and of the colour [points]
PLAY, GAP = 52.0, 24.0  # width of the button that plays or pauses; gap between groups [points]
APART, TALL = 60.0, 5.0  # least distance of ticks, their height [points]
TICK = imgui.ImVec4(0.85, 0.85, 0.85, 0.8)


def draw(state: WindowState, box: Box) -> None:
    with ui.pane("Timeline", box, ui.BARE):
        first, last = state.span
        duration = f"of {last:.6g} s"
        playing = "Pause" if state.clock.playing else "Play"
        for label, name in (("|<", "to_start"), ("<", "step_back"), (playing, "play"),
                            (">", "step_forward"), (">|", "to_end")):  # fmt: skip
            buttons.button(state, label, name, width=state.panels.zoom * PLAY if name == "play" else 0.0)
            imgui.same_line()
        imgui.set_next_item_width(-imgui.calc_text_size(duration).x - GAP)
        moved, time = imgui.slider_float("##time", state.clock.time, first, max(last, first + 1e-12), "%.4f s")
        ui.remember_item("time")
        endings.mark(state, first, last)
        if moved:
            state.go_to(time)
        _ticks(first, last)
        imgui.same_line(0, GAP / 2)
        imgui.text_disabled(duration)
        ui.remember_item("duration")
        buttons.button(state, "-", "slower")
        imgui.same_line()
        ui.fixed_text(f"x{state.clock.speed:g}", "x0.0625")
        imgui.same_line()
        buttons.button(state, "+", "faster")
        imgui.same_line()
        _, state.clock.looping = imgui.checkbox("loop", state.clock.looping)
        ui.remember_item("looped")
        _chooser(state)
        _height(state)


def _height(state: WindowState) -> None:
    """Notes how high the pane must be; another frame follows where that changes."""
    style = imgui.get_style()
    rows = imgui.get_cursor_pos_y() - style.item_spacing.y + style.window_padding.y
    state.panels.unfinished |= rows != state.panels.rows
    state.panels.rows = rows


def _chooser(state: WindowState) -> None:
    """Controls for the current and the chosen members, in as many rows as they need."""
    count = state.study.members
    widest = f"member {count} of {count}"
    ui.beside(ui.button_width("<", ">", widest), GAP)
    buttons.button(state, "<", "previous_member")
    imgui.same_line()
    ui.fixed_text(f"member {state.choice.member} of {count}", widest)
    imgui.same_line()
    buttons.button(state, ">", "next_member")
    ui.beside(ui.button_width("one view" if state.beside else "beside"))
    _beside(state)
    ui.beside(BOX_WIDTH + ui.button_width("e.g."), GAP)
    imgui.set_next_item_width(BOX_WIDTH)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    done, state.panels.typed = imgui.input_text_with_hint("##members", "all, 3,7 or worst:5", state.panels.typed, flags)
    ui.remember_item("members")
    if state.live is None:
        state.panels.typed = suggesting.above(state.explorer, state.panels.typed, state.choice.text, " member")
    if done:
        choosing.choose(state, state.panels.typed)
    imgui.same_line()
    example = suggesting.examples(state.explorer, " member", "e.g.")
    if example is not None:
        state.panels.typed = example
        choosing.choose(state, example)
    ghosts = f"{len(state.choice.chosen)} chosen as ghosts"
    ui.beside(ui.checkbox_width(ghosts))
    _, state.choice.ghosts_on = imgui.checkbox(ghosts, state.choice.ghosts_on)
    ui.remember_item("ghosts")
    ui.beside(COLOUR_WIDTH)
    imgui.set_next_item_width(COLOUR_WIDTH)
    names = ["one colour", *state.study.metrics]
    at = names.index(state.choice.colour_by) if state.choice.colour_by else 0
    _, at = imgui.combo("##colour", at, names)
    ui.remember_item("colour_by")
    state.choice.colour_by = names[at] if at else ""


def _beside(state: WindowState) -> None:
    """Controls for the right half of the view."""
    buttons.button(state, "one view" if state.beside else "beside", "beside")
    if state.beside is None:
        return
    ui.beside(BESIDE_WIDTH)
    imgui.set_next_item_width(BESIDE_WIDTH)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    hint = f"at the right: {state.beside.member}"
    done, state.beside.typed = imgui.input_text_with_hint("##beside", hint, state.beside.typed, flags)
    ui.remember_item("beside_member")
    if done:
        beside.choose(state, state.beside, state.beside.typed)


def _ticks(first: float, last: float) -> None:
    """Marks on the slider that was drawn last, at round times."""
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    paint, colour = imgui.get_window_draw_list(), imgui.get_color_u32(TICK)
    inner = imgui.get_style().grab_min_size / 2 + 2.0  # the middle of the grab at both ends
    for t in ticks(first, last, max(int((high.x - low.x) / APART), 1)):
        x = low.x + inner + (high.x - low.x - 2 * inner) * (t - first) / max(last - first, 1e-12)
        paint.add_line(imgui.ImVec2(x, high.y - TALL), imgui.ImVec2(x, high.y), colour)


def ticks(first: float, last: float, most: int) -> list[float]:
    """Round times [s] from first to last, at most so many and two: multiples of 1, 2 or 5 times a power of ten."""
    if not last > first:
        return []
    rough = (last - first) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(k for k in (1, 2, 5, 10) if k * power >= rough * (1 - 1e-9))
    return [k * step for k in range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)]

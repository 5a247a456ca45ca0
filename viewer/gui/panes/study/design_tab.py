"""Sliders of all varied numbers: the nearest member is shown, or exactly that design is simulated, beside the store."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.actions.members import trying
from shiftjax.viewer.gui.state.colours import BY_HAND
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import DesignSliders
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

NAME, TYPED = 150.0, 110.0  # widths of a name and of a box for a number [points]
DIGITS = 6
COUNTS = (100, 1000, 10_000)  # of more members
SQUARE = imgui.ImVec2(12.0, 12.0)
FLAGS = int(
    imgui.TableFlags_.row_bg | imgui.TableFlags_.borders_inner_v | imgui.TableFlags_.scroll_y
    | imgui.TableFlags_.sizing_stretch_prop
)  # fmt: skip
BESIDE = 700.0  # room from which the numbers stand beside the sliders [points]


def draw(state: WindowState) -> None:
    trials, sliders = state.study.trials, state.pane_data(DesignSliders)
    if trials is None or not trials.ranges:
        ui.wrapped(f"no sliders: {'no number varies' if trials is not None else trying.NOT_STORED}", faint=True)
        ui.remember_item("no sliders")
        return
    if sliders.like < 0:
        trying.begin(state, state.choice.member)
    _controls(state, sliders)
    _said(state, sliders)
    room, gap = imgui.get_content_region_avail(), imgui.get_style().item_spacing
    together = room.x >= state.panels.zoom * BESIDE and bool(state.study.metrics)
    imgui.begin_child("sliders", imgui.ImVec2(0.55 * (room.x - gap.x) if together else 0.0, room.y))
    for path in sliders.values:
        _slider(state, path)
    if not together:
        _figures(state, sliders, imgui.ImVec2(0.0, 0.0))
    imgui.end_child()
    if together:
        imgui.same_line()
        _figures(state, sliders, imgui.ImVec2(0.0, room.y))


def _controls(state: WindowState, sliders: DesignSliders) -> None:
    """How the sliders act, where they begin, and what is done with the design."""
    member = state.choice.member
    for label, exactly in (("simulate the design", True), ("nearest member", False)):
        if not exactly:
            ui.beside(ui.checkbox_width(label))
        if imgui.radio_button(label, sliders.simulates is exactly):
            trying.simulate(state, on=exactly)
        ui.remember_item(f"design:{label}")
    label = f"at member {member}"
    ui.beside(ui.button_width(label))
    if imgui.button(f"{label}##begin"):
        trying.begin(state, member)
    ui.remember_item("sliders at member")
    imgui.set_item_tooltip("the sliders at the design of the member shown; what was tried goes")
    ui.beside(ui.button_width("beside"))
    if imgui.button("beside##design"):
        trying.beside(state)
    ui.remember_item("design beside")
    imgui.set_item_tooltip("the design by hand in the right half of the view, or one view again")
    ui.beside(ui.button_width("no design"))
    if imgui.button("no design"):
        trying.forget(state)
    ui.remember_item("no design")
    imgui.set_item_tooltip("takes the design by hand out of the picture")
    _more(state, sliders)


def _more(state: WindowState, sliders: DesignSliders) -> None:
    """A study of more members like those selected."""
    explorer = state.explorer
    who = "selected" if explorer.counts()[1] else "shown"
    label = f"{sliders.count:,} more like those {who}"
    ui.beside(ui.button_width(label))
    if imgui.button(f"{label}##more"):
        trying.more_like(state)
    ui.remember_item("more like these")
    imgui.set_item_tooltip(
        "a study of new members, drawn between the least and the largest of each varied number of these, run at once;\n"
        "its file, its model and its store are written into the folder where the window was opened;\n"
        "right click: how many"
    )
    if imgui.begin_popup_context_item("counts"):
        for count in COUNTS:
            if imgui.menu_item_simple(f"{count:,}", "", sliders.count == count):
                sliders.count = count
            ui.remember_item(f"count:{count}")
        imgui.end_popup()
    if sliders.made:
        ui.beside(ui.button_width("open it"))
        if imgui.button("open it"):
            trying.open_made(state)
        ui.remember_item("open more")


def _said(state: WindowState, sliders: DesignSliders) -> None:
    """The nearest member, what is under way, how the design ended."""
    text = nearest_words(state, sliders)
    assert state.study.trials is not None
    if busy := state.study.trials.text():
        text += f"; {busy}"
        state.panels.unfinished = True
    imgui.align_text_to_frame_padding()
    ui.wrapped(text, faint=True)
    ui.remember_item("nearest")
    if sliders.problem:
        imgui.push_style_color(int(imgui.Col_.text), ui.RED)
        imgui.text_wrapped(sliders.problem)
        imgui.pop_style_color()
        ui.remember_item("design failed")
    elif sliders.tried is not None:
        study = sliders.tried.study
        failed = f": {message}" if (message := study.message(0)) else ""
        words = f"{study.title(0)}: {trying.ending(study)}{failed}{'' if sliders.is_tried else ' (of before)'}"
        # beside the text before, so that sliders do not move away under the mouse when the first design has come
        ui.beside(imgui.calc_text_size(words).x + 2 * SQUARE.x)
        imgui.color_button("##by hand", imgui.ImVec4(*BY_HAND), 0, SQUARE)
        imgui.same_line()
        ui.wrapped(words)
        ui.remember_item("tried design")


def nearest_words(state: WindowState, sliders: DesignSliders) -> str:
    """The nearest member, how far it is and how it ended; where the sliders began."""
    if sliders.nearest is None:
        return "no member has all of these numbers"
    member, distance = sliders.nearest
    status = state.explorer.table.text("status", member)
    return f"nearest member {member} ({status}), {distance:.3g} ranges away; began at member {sliders.like}"


def _slider(state: WindowState, path: str) -> None:
    """One number: a slider over its range in the study, and a box to type it."""
    sliders, zoom, explorer = state.pane_data(DesignSliders), state.panels.zoom, state.explorer
    assert state.study.trials is not None
    low, high = state.study.trials.ranges[path]
    value, unit = sliders.values[path], explorer.table.unit(path)
    label = f"{explorer.short(path)}{f' [{unit}]' if unit else ''}"
    imgui.push_id(path)
    imgui.align_text_to_frame_padding()
    corner = imgui.get_cursor_pos_x()
    imgui.text_unformatted(label)
    ui.tell_if_cut(label, zoom * NAME)
    imgui.same_line(corner + zoom * NAME)
    imgui.set_next_item_width(max(imgui.get_content_region_avail().x - zoom * (TYPED + 8.0), 40.0))
    moved, wanted = imgui.slider_float("##slider", value, low, high if high > low else low + 1e-12, f"%.{DIGITS}g")
    ui.remember_item(f"design slider:{path}")
    outside = "" if low <= value <= high else "\noutside of what the study has"
    imgui.set_item_tooltip(f"{path}: {low:.{DIGITS}g} to {high:.{DIGITS}g} in the study{outside}")
    _mark(state, path, low, high)
    imgui.same_line()
    imgui.set_next_item_width(zoom * TYPED)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    typed, exact = imgui.input_double("##typed", value, 0.0, 0.0, f"%.{DIGITS + 2}g", flags)
    ui.remember_item(f"design typed:{path}")
    imgui.pop_id()
    if moved:
        trying.change(state, path, float(np.clip(float(f"{wanted:.{DIGITS}g}"), low, high)))
    elif typed:
        trying.change(state, path, exact)


def _mark(state: WindowState, path: str, low: float, high: float) -> None:
    """A stroke on the slider where the member shown stands."""
    value = float(state.study.design[path][state.choice.member])
    if not (high > low and low <= value <= high):
        return
    corner, size, grab = imgui.get_item_rect_min(), imgui.get_item_rect_size(), imgui.get_style().grab_min_size
    x = corner.x + 0.5 * grab + (value - low) / (high - low) * (size.x - grab)
    ends = imgui.ImVec2(x, corner.y + 1), imgui.ImVec2(x, corner.y + size.y - 1)
    imgui.get_window_draw_list().add_line(*ends, imgui.color_convert_float4_to_u32(ui.RED), 2.0)


def _figures(state: WindowState, sliders: DesignSliders, size: imgui.ImVec2) -> None:
    """The metrics by hand beside those of the member shown."""
    member, tried = state.choice.member, sliders.tried
    if not state.study.metrics or not imgui.begin_table("figures", 4, FLAGS, size):
        return
    imgui.table_setup_scroll_freeze(0, 1)
    for head in ("metric", "by hand", f"member {member}", "difference"):
        imgui.table_setup_column(head)
    imgui.table_headers_row()
    for name, by_hand, here in figures(state, sliders):
        imgui.table_next_row()
        imgui.table_next_column()
        ui.cut_text(state.explorer.table.title(name))
        of_tried = ("-", "-") if tried is None else (f"{by_hand:.{DIGITS}g}", f"{by_hand - here:.{DIGITS}g}")
        for text in (of_tried[0], f"{here:.{DIGITS}g}", of_tried[1]):
            imgui.table_next_column()
            imgui.text_unformatted(text)
        ui.remember_item(f"figure:{name}")
    imgui.end_table()


def figures(state: WindowState, sliders: DesignSliders) -> list[tuple[str, float, float]]:
    """Name of each metric, its value of the design by hand, NaN while there is none, and of the member shown."""
    member, tried = state.choice.member, sliders.tried
    return [
        (name, float("nan") if tried is None else tried.study.value(name, 0), state.study.value(name, member))
        for name in state.study.metrics
    ]

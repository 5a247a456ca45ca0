"""The front in the scatter plot, the members that no other one beats: of which metrics, marks, a line along it."""

from __future__ import annotations

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.members.query import FRONT

WIDTH = 260.0  # of the box of metrics [points]
MOST = 5000  # marks; more cannot be told apart
MARK = imgui.ImVec4(0.95, 0.2, 0.75, 1.0)
LINE = imgui.ImVec4(0.95, 0.2, 0.75, 0.6)
HELP = (
    "metrics, separated by commas; of the members shown those are marked that no other one beats in all of them.\n"
    "A metric alone is good as the study says it, else where it is small; with a sign small is good: -torque"
)


def switch(state: WindowState) -> None:
    """Whether the front is marked, beside the boxes of the axes."""
    ui.beside(ui.checkbox_width("front"))
    front = state.explorer.front
    _, front.on = imgui.checkbox("front", front.on)
    ui.remember_item("front")
    imgui.set_item_tooltip("members that no other one beats: Pareto's")


def line(state: WindowState) -> None:
    """Of which metrics the front is, how many are on it, and a button that selects them."""
    explorer, front = state.explorer, state.explorer.front
    if not front.on:
        return
    imgui.set_next_item_width(state.panels.zoom * WIDTH)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    done, front.typed = imgui.input_text_with_hint("##front", explorer.objectives(), front.typed, flags)
    ui.remember_item("front of")
    imgui.set_item_tooltip(HELP)
    if done:
        explorer.type_front(front.typed)
    ui.beside(ui.button_width("select front"))
    if imgui.button("select front"):
        selecting.front(state)
    ui.remember_item("select front")
    words = summary(explorer)
    ui.beside(imgui.calc_text_size(words).x)
    ui.wrapped(words, faint=True)
    ui.remember_item("front count")
    if front.wrong:
        imgui.push_style_color(int(imgui.Col_.text), ui.RED)
        imgui.text_wrapped(front.wrong)
        imgui.pop_style_color()
        ui.remember_item("wrong front")


def summary(explorer: Explorer) -> str:
    """How many members are on the front, of what, and what is taken as good without being said."""
    objectives = explorer.objectives()

    def made() -> str:
        assumed = explorer.table.study.assumed(f"{FRONT}({objectives})", explorer.table.sets)
        count = int(explorer.front_mask().sum())
        return f"{count:,} on the front of {objectives}" + (f": {assumed}" if assumed else "")

    return explorer.cached("front in words", (objectives, explorer.revision), made)


def draw(explorer: Explorer) -> None:
    """Marks at the members of the front; where it is that of both axes, the line behind which all others are."""
    if not explorer.front.on:
        return
    on_front = np.flatnonzero(explorer.front_mask())
    on_front = on_front[evenly_spaced(len(on_front), MOST)]
    x, y = (explorer.table.column(name)[on_front].astype(float) for name in (explorer.x, explorer.y))
    if not explorer.front.text and explorer.x != explorer.y:
        large = [explorer.table.sense(name) == "large" for name in (explorer.x, explorer.y)]
        worst = [
            explorer.table.span(name)[0 if is_large else 1]
            for name, is_large in zip((explorer.x, explorer.y), large, strict=True)
        ]
        best_first = np.argsort(-x if large[0] else x, kind="stable")
        across, up = np.append(x[best_first], worst[0]), np.append(worst[1], y[best_first])
        corner_x, corner_y = np.repeat(across, 2)[:-1].copy(), np.repeat(up, 2)[1:].copy()
        implot.plot_line("##front line", corner_x, corner_y, implot.Spec(line_color=LINE))
    spec = implot.Spec(
        marker=int(implot.Marker_.diamond), marker_size=4.5, marker_fill_color=MARK, marker_line_color=MARK
    )
    implot.plot_scatter("##front", x, y, spec)

"""Floating windows over the view: help, texts to copy, rates, and panels of the user."""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.viewer.gui.actions import additions
from shiftjax.viewer.gui.panes import console
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

FREE = int(imgui.WindowFlags_.no_saved_settings | imgui.WindowFlags_.no_collapse)
CONSOLE = 0.4  # share of the console in the height of the view
ONCE = int(imgui.Cond_.appearing)


def draw(state: WindowState, view: Box) -> None:
    """Draws those that are open, initially over the view."""
    if state.panels.help_on:
        state.panels.help_on = _window("Keys and mouse", view, 30, lambda: _help(state))
    if state.panels.text:
        still_open = _window("To read and copy", view, 60, lambda: _text(state.panels.text))
        state.panels.text = state.panels.text if still_open else ""
    run = state.hand
    if state.panels.console_on and run is not None:
        state.panels.console_on = _window("Console", _lower(view), 8, lambda: console.draw(state, run))
    if state.panels.info_on:
        state.panels.info_on = _window("Info", view, 90, lambda: ui.facts(info(state)))
    for k, (name, panel) in enumerate(list(state.panels.user_panels.items())):
        failed: list[str] = []

        def inside(name: str = name, panel: Callable[[WindowState], None] = panel, failed: list[str] = failed) -> None:
            well, _ = additions.user_call(state, f"panel {name}", panel)
            failed += [] if well else [name]

        if not _window(name, view, 120 + 30 * k, inside) or failed:
            del state.panels.user_panels[name]


def _window(title: str, view: Box, shift: float, inside: Callable[[], None]) -> bool:
    """A window with a close button; False once it was closed."""
    imgui.set_next_window_pos(imgui.ImVec2(view.x + shift, view.y + shift), ONCE)
    imgui.set_next_window_size(imgui.ImVec2(min(640.0, view.width - 40), min(420.0, view.height - 40)), ONCE)
    expanded, still_open = imgui.begin(title, True, FREE)
    corner, size = imgui.get_window_pos(), imgui.get_window_size()
    ui.item_boxes[f"window:{title}"] = Box(corner.x, corner.y, size.x, size.y)
    try:
        if expanded:
            inside()
    finally:
        imgui.end()
    return bool(still_open)


def _lower(view: Box) -> Box:
    """The lower part of the view, which leaves most of it to be seen."""
    height = CONSOLE * view.height
    return Box(view.x, view.y + view.height - height, view.width, height)


def _help(state: WindowState) -> None:
    """Every binding of the map in use."""
    imgui.text_disabled(f"The {state.map} map; F4 for the other one, Ctrl+H for both.")
    for group, rows in state.table.help(state.map):
        imgui.separator_text(group)
        imgui.push_id(group)
        ui.facts(rows)
        imgui.pop_id()


def _text(text: str) -> None:
    if imgui.button("copy"):
        imgui.set_clipboard_text(text)
    imgui.begin_child("text", imgui.ImVec2(0, 0), 0, int(imgui.WindowFlags_.horizontal_scrollbar))
    imgui.text_unformatted(text)
    imgui.end_child()


def info(state: WindowState) -> list[tuple[str, str]]:
    """Rates and sizes."""
    report = state.study.report
    highest = state.panels.rate
    rate = 1 / state.panels.frame_seconds if state.panels.frame_seconds > 0 else 0.0
    return [
        ("frames a second", f"{rate:.1f} while it moves" + (f", at most {highest:.0f}" if highest else "")),
        ("time a second", f"{state.clock.speed:g} s" if state.clock.playing else "paused"),
        ("members", f"{state.study.members}, {len(state.study.kept)} with trajectories"),
        ("instants", f"{len(state.study.time)} over {state.span[1] - state.span[0]:g} s"),
        *((name, str(report[name])) for name in ("bodies", "joints", "loops", "dof") if name in report),
        ("parts drawn", f"{len(state.scene.parts)}"),
    ]

"""Buttons and menu items of actions: a click notes the name of the action, which runs when all panes are drawn."""

from __future__ import annotations

from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui


def button(state: WindowState, label: str, name: str, width: float = 0.0) -> None:
    """A button of an action, with a tooltip; width: [points], 0 for that of its label."""
    if imgui.button(f"{label}##{name}", imgui.ImVec2(width, 0)):
        state.panels.clicked.append(name)
    ui.remember_item(name)
    action = state.table.actions[name]
    imgui.set_item_tooltip("\n".join([action.words, " or ".join(action.bindings(state.map))]))


def menu_item(state: WindowState, name: str, *, on: bool = False) -> None:
    """A menu item of an action, with its first binding."""
    action = state.table.actions[name]
    shortcut = (*action.bindings(state.map), "")[0]
    if imgui.menu_item_simple(action.words, shortcut, on):
        state.panels.clicked.append(name)
    ui.remember_item(f"menu:{name}")

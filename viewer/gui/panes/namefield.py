"""A box in the place of a name, to type another one: Enter or a click elsewhere takes it, Escape leaves the name."""

from __future__ import annotations

from shiftjax.viewer.gui.actions.workbench import naming
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.typed.new_name import NewName
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

BOX = "new name"  # of `ui.item_boxes`


def draw(state: WindowState, new: NewName) -> None:
    """Draws into the current pane."""
    imgui.set_next_item_width(-1)
    if not new.focused:
        imgui.set_keyboard_focus_here()
    _, new.text = imgui.input_text(f"##{BOX}", new.text, int(imgui.InputTextFlags_.auto_select_all))
    ui.remember_item(BOX)
    new.focused = new.focused or imgui.is_item_active()
    if imgui.is_item_deactivated():
        naming.finish(state)  # Escape has put the name back

"""What a choice of members may become: buttons of names that complete it, and a menu of examples of this study."""

from __future__ import annotations

from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.members import completing

FLOATING = ui.BARE | int(imgui.WindowFlags_.always_auto_resize | imgui.WindowFlags_.no_focus_on_appearing)
ROW = 34.0  # height of a row of buttons with its margins [points]


def names(explorer: Explorer, typed: str, used: str, of: str) -> str:
    """Buttons of names that complete what is typed; the text with the one that was pressed, or as it is.

    Args:
        used: the text in use, for which nothing is suggested; of: the box, for the names of the buttons.
    """
    completions = [] if typed.strip() == used else completing.completions(typed, explorer.names())
    if completions:
        imgui.text_disabled("complete:")
    for label, text in completions:
        imgui.same_line()
        if imgui.small_button(f"{label}##{of}"):
            typed = text
        ui.remember_item(f"complete{of}:{label}")
    return typed


def above(explorer: Explorer, typed: str, used: str, of: str) -> str:
    """The same in a window over the box that was just drawn."""
    corner = imgui.get_item_rect_min()
    if typed.strip() == used or not completing.completions(typed, explorer.names()):
        return typed
    imgui.set_next_window_pos(imgui.ImVec2(corner.x, corner.y - ROW))
    imgui.begin(f"completions {of}", None, FLOATING & ~int(imgui.WindowFlags_.no_bring_to_front_on_focus))
    typed = names(explorer, typed, used, of)
    imgui.end()
    return typed


def examples(explorer: Explorer, of: str = "", label: str = "examples") -> str | None:
    """A button that opens examples, each with how many members it means; the one that was chosen."""
    if imgui.button(f"{label}##{of}"):
        imgui.open_popup(f"examples {of}")
    ui.remember_item(f"examples{of}")
    imgui.set_item_tooltip("examples of choices in this study")
    chosen = None
    if imgui.begin_popup(f"examples {of}"):
        for text, count in explorer.examples:
            if imgui.menu_item_simple(text, f"{count:,}"):
                chosen = text
            ui.remember_item(f"example{of}:{text}")
        imgui.end_popup()
    return chosen

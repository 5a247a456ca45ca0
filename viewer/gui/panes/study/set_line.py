"""Sets in the study pane: a box that keeps what is selected, and a line of them, a button each with its colour."""

from __future__ import annotations

from shiftjax.viewer.gui.actions.members import set_keeping
from shiftjax.viewer.gui.state.colours import of_set
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.members.member_sets import MemberSet, free_name

NAME = 70.0  # width of the box of a name [points]
COLOUR_FLAGS = int(imgui.ColorEditFlags_.no_tooltip | imgui.ColorEditFlags_.no_drag_drop)
SQUARE = 12.0  # of a colour [points]
HELP = "keeps what is selected, or the chosen members, as a set: expressions may use its name, as in A and not B"


def draw(state: WindowState) -> None:
    """Nothing while there is no set."""
    if not state.explorer.sets:
        return
    imgui.align_text_to_frame_padding()
    imgui.text_unformatted("sets")
    for one in state.explorer.sets:
        _button(state, one)


def keep_width(state: WindowState) -> float:
    """Of the box that keeps a set, with a gap before it [points]."""
    return state.panels.zoom * NAME + ui.button_width("keep") + 2 * imgui.get_style().item_spacing.x


def keep_box(state: WindowState) -> None:
    """A name and a button that keeps what is selected under it."""
    explorer = state.explorer
    imgui.set_next_item_width(state.panels.zoom * NAME)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    hint = free_name(explorer.sets, explorer.table)
    done, explorer.set_typed = imgui.input_text_with_hint("##set", hint, explorer.set_typed, flags)
    ui.remember_item("set name")
    imgui.same_line()
    pressed = imgui.button("keep")
    ui.remember_item("keep set")
    imgui.set_item_tooltip(HELP)
    if (done or pressed) and set_keeping.keep(state, explorer.set_typed):
        explorer.set_typed = ""


def _button(state: WindowState, one: MemberSet) -> None:
    """Colour, name and count: a click selects the members, Shift these too, Ctrl within. A cross removes it."""
    label = f"{one.name}  {int(one.mask.sum()):,}"
    spacing = imgui.get_style().item_inner_spacing.x
    imgui.push_id(one.name)
    ui.beside(SQUARE + ui.button_width(label) + ui.button_width("x") + 2 * spacing)
    tall = imgui.get_frame_height()
    imgui.color_button("##colour", imgui.ImVec4(*of_set(one.colour)), COLOUR_FLAGS, imgui.ImVec2(SQUARE, tall))
    ui.remember_item(f"colour of set:{one.name}")
    imgui.same_line(0, spacing)
    if imgui.button(label):
        io = imgui.get_io()
        set_keeping.take(state, one.name, "within" if io.key_ctrl else "add" if io.key_shift else "replace")
    ui.remember_item(f"set:{one.name}")
    imgui.set_item_tooltip(f"{one.text or 'members that were clicked'}\nclick: select, Shift adds, Ctrl within")
    imgui.same_line(0, spacing)
    if imgui.button("x"):
        set_keeping.remove(state, one.name)
    ui.remember_item(f"remove set:{one.name}")
    imgui.set_item_tooltip(f"removes the set {one.name}")
    imgui.pop_id()

"""The list of all actions over the view: typed letters narrow it, arrows move, Enter or a click runs one."""

from __future__ import annotations

from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.state.keys import Action
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.typed.command_search import CommandSearch, matches
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

TITLE = "commands"
WIDTH, LINES = 620.0, 14  # of the list [points], in sight
HINT = "what to do: words, or letters in their order"


def draw(state: WindowState, view: Box) -> None:
    search = state.pane_data(CommandSearch)
    if search.asked:
        imgui.open_popup(TITLE)
    width = min(state.panels.zoom * WIDTH, view.width - 20)
    imgui.set_next_window_pos(imgui.ImVec2(view.x + (view.width - width) / 2, view.y + 20))
    imgui.set_next_window_size(imgui.ImVec2(width, 0.0))
    if not imgui.begin_popup(TITLE):
        return
    before = search.typed
    if search.asked:
        imgui.set_keyboard_focus_here()
    imgui.set_next_item_width(-1)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    entered, search.typed = imgui.input_text_with_hint("##command", HINT, search.typed, flags)
    ui.remember_item("command")
    search.asked = False
    fitting = matches(search.typed, offered(state))
    search.at = 0 if search.typed != before else search.at
    if fitting:
        down, up = (imgui.is_key_pressed(key) for key in (imgui.Key.down_arrow, imgui.Key.up_arrow))
        search.at = (search.at + down - up) % len(fitting)
    else:
        imgui.text_disabled("nothing of that kind")
    chosen = _lines(state, search, fitting, moved=search.typed != before)
    if entered and fitting:
        chosen = fitting[search.at]
    if chosen is not None:
        state.panels.clicked.append(chosen.name)
    if chosen is not None or imgui.is_key_pressed(imgui.Key.escape):
        imgui.close_current_popup()
    imgui.end_popup()


def offered(state: WindowState) -> list[Action]:
    """The actions that need no place under the cursor, without this list."""
    table = state.table.actions.values()
    return [a for a in table if a.name != TITLE and (a.name in actions.PLAIN or a.call is not None)]


def _lines(state: WindowState, search: CommandSearch, fitting: list[Action], *, moved: bool) -> Action | None:
    """What each does, with its keys; the one that was clicked."""
    line = imgui.get_text_line_height_with_spacing()
    imgui.begin_child("lines", imgui.ImVec2(0.0, line * min(max(len(fitting), 1), LINES)))
    chosen = None
    for k, action in enumerate(fitting):
        keys = " or ".join(action.bindings(state.map))
        room, wide = imgui.get_content_region_avail().x, imgui.calc_text_size(keys).x
        clicked, _ = imgui.selectable(f"##{action.name}", k == search.at)
        ui.remember_item(f"command:{action.name}")
        if k == search.at and (moved or imgui.is_key_pressed(imgui.Key.down_arrow)
                               or imgui.is_key_pressed(imgui.Key.up_arrow)):  # fmt: skip
            imgui.set_scroll_here_y()
        imgui.same_line(0.0, 0.0)
        text = f"{action.group.partition(':')[0]}: {action.words}"
        imgui.text_unformatted(text)
        if keys and imgui.calc_text_size(text).x + wide < room - 20:
            imgui.same_line(room - wide)
            imgui.text_disabled(keys)
        chosen = action if clicked else chosen
    imgui.end_child()
    return chosen

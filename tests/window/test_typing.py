"""Keys go to one place: a text field, an open menu, a pane, or the table of actions (M55)."""

from collections.abc import Iterator

import pytest

from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.offscreen import NONE, Offscreen
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.screen import WINDOWS
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import CRANK

SIZE = (1000, 560)
SHIFT: Modifiers = (False, False, True)


@pytest.fixture
def window(study: ViewedStudy, scene: Scene) -> Iterator[Offscreen]:
    with Offscreen(WindowState(MemberScenes(study, scene), look=FAST), SIZE) as screen:
        yield screen


def press(window: Offscreen, name: str, typed: str = "") -> None:
    """A key goes down and up, and the character of the keyboard layout comes with it; no frame is drawn."""
    window.screen.key(name, NONE, down=True)
    if typed:
        window.screen.character(typed)
    window.screen.key(name, NONE, down=False)


def click(window: Offscreen, where: str) -> None:
    """A click between two frames."""
    x, y = window.position(where)
    window.screen.mouse_move(x, y)
    for down in (True, False):
        window.screen.mouse_button("Left", x, y, NONE, window.clock, down=down)


@pytest.mark.parametrize("frames", [0, 1, 2, 3])
def test_keys_typed_after_a_click_into_a_field_are_text_however_late_frames_are(window: Offscreen, frames: int) -> None:
    """The click and the keys come between two frames, or some frames apart: all of it is text."""
    state = window.state
    before = state.choice.member, state.choice.ghosts_on
    click(window, "members")
    window.frames(frames)
    for name, typed in (("N", "n"), ("Space", " "), ("Home", ""), ("G", "g"), ("Right", ""), ("9", "9")):
        press(window, name, typed)
    press(window, "Tab")  # leaves the field; a command elsewhere
    window.frames(16)
    assert state.panels.typed == "gn9 "
    assert (state.choice.member, state.choice.ghosts_on) == before and not state.clock.playing
    assert state.panels.panes_on and (state.clock.time, state.clock.speed) == (0.0, 1.0)


def test_marks_typed_into_a_field_are_text_and_commands_outside(window: Offscreen) -> None:
    click(window, "members")
    window.screen.character("+")
    window.frames(8)
    assert (window.state.panels.typed, window.state.clock.speed) == ("+", 1.0)
    window.click((500.0, 200.0))
    window.screen.character("+")
    window.frames(2)
    assert (window.state.panels.typed, window.state.clock.speed) == ("+", 2.0)


def test_keys_that_come_before_a_click_into_a_field_are_commands(window: Offscreen) -> None:
    press(window, "Space", " ")
    click(window, "members")
    press(window, "N", "n")
    window.frames(8)
    assert window.state.clock.playing and window.state.panels.typed == "n"


# -- what is open ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["menu:Edit", "colour_by", "examples member", "columns"])
def test_escape_closes_a_menu_or_list_before_anything_else(window: Offscreen, name: str) -> None:
    state = window.state
    state.explorer.shown_on = True
    window.frames(2)
    state.pick_path(CRANK)
    actions.run(state, "help")
    window.click(name)
    assert opened(), "nothing was opened"
    window.key("Escape")
    assert not opened() and state.panels.help_on and state.selection.pick == CRANK
    window.key("Escape")
    assert not state.panels.help_on and state.selection.pick == CRANK
    window.key("Escape")
    assert state.selection.pick is None


def test_escape_closes_a_menu_in_a_menu_at_once(window: Offscreen) -> None:
    """One level a time would not do: the mouse over the line of the inner menu opens it again."""
    window.click("menu:File")
    window.click("menu:Export")
    assert opened() == 2
    window.key("Escape")
    window.frames(2)
    assert opened() == 0


# -- panes by keyboard -------------------------------------------------------------------------------------------------


def test_the_keyboard_goes_round_the_menu_and_the_panes(window: Offscreen) -> None:
    state = window.state
    names = []
    for _ in range(5):
        window.key("F7")
        window.frames(2)
        names.append(state.panels.pane)
        focused = imgui.get_current_context().nav_window
        title = focused.name if focused is not None else ""
        assert title == WINDOWS.get(state.panels.pane, state.panels.pane)
    assert names == ["Menu", "Model", "Properties", "Timeline", ""]
    window.key("F7", SHIFT)
    assert state.panels.pane == "Timeline"
    state.explorer.shown_on = True
    window.key("F7", SHIFT)
    assert state.panels.pane == "Study"


def test_arrows_and_space_act_in_the_pane_and_other_keys_as_ever(window: Offscreen) -> None:
    state = window.state
    actions.run(state, "to_end")
    end = state.clock.time
    state.panels.enter("Timeline")
    window.frames(3)
    window.key("Right")  # from "to the first instant" to "one back"
    assert state.clock.time == end, "the key acted in the view, too"
    window.key("Space")
    assert state.clock.time < end and not state.clock.playing
    window.key("F2", SHIFT)
    assert state.panels.info_on
    window.key("Escape")
    assert (state.panels.pane, state.panels.info_on) == ("", True)
    window.frames(2)
    window.key("Space")
    assert state.clock.playing


def test_the_keyboard_opens_a_menu_and_escape_closes_one_thing_a_time(window: Offscreen) -> None:
    state = window.state
    window.key("F7")
    window.frames(2)
    for name in ("Right", "Down", "Down"):
        window.key(name)
    assert opened() == 1
    window.key("Escape")
    assert (opened(), state.panels.pane) == (0, "Menu")
    window.key("Escape")
    assert state.panels.pane == ""


def test_a_click_into_the_view_takes_the_keyboard_out_of_a_pane(window: Offscreen) -> None:
    state = window.state
    state.panels.enter("Model")
    window.frames(3)
    view = window.screen.layout.view
    window.click((view.x + view.width / 2, view.y + 20))
    assert state.panels.pane == ""
    window.key("Space")
    assert state.clock.playing


def opened() -> int:
    """How many menus and lists are open."""
    return len(imgui.get_current_context().open_popup_stack)

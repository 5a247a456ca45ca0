"""Keys go to one place: a text field, an open menu, a pane, or the table of actions (M55)."""

from collections.abc import Iterator

import pytest

from shiftjax.viewer.gui.offscreen import NONE, Offscreen
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
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

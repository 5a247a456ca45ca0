"""The list of all actions: what is typed finds them, Enter, arrows and clicks run them, Escape closes it."""

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes.command_list import offered
from shiftjax.viewer.gui.state import keys
from shiftjax.viewer.gui.state.typed.command_search import CommandSearch, cost, matches
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.windows import shown

CTRL_SHIFT = (True, False, True)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("shadows", "shadows"),
        ("screenshot", "screenshot"),
        ("picture", "screenshot"),
        ("half fast", "slower"),
        ("frnt", "front"),
        ("parallel persp", "orthographic"),
        ("take back", "undo"),
        ("ghosts metric", "colour_by"),
    ],
)
def test_what_is_typed_finds_an_action(text: str, first: str) -> None:
    assert matches(text, keys.ACTIONS)[0].name == first


def test_every_word_must_fit_and_order_is_that_of_the_table() -> None:
    assert [action.name for action in matches("", keys.ACTIONS)] == [action.name for action in keys.ACTIONS]
    assert matches("xyzzy", keys.ACTIONS) == matches("shadows xyzzy", keys.ACTIONS) == []
    for action in keys.ACTIONS:
        assert cost(action.words, action) == 0.0, "its own words"
    narrowed = {action.name for action in matches("pick", keys.ACTIONS)}
    assert {action.name for action in matches("pick sel", keys.ACTIONS)} <= narrowed


@pytest.fixture
def window(many_members: ViewedStudy) -> Iterator[Offscreen]:
    with shown(many_members, (900, 700)) as screen:
        yield screen


def test_letters_and_enter_run_an_action(window: Offscreen) -> None:
    state = window.state
    window.key("P", CTRL_SHIFT)
    window.frames(2)
    assert "command" in ui.item_boxes and "command:play" in ui.item_boxes
    window.type("table plots")
    window.frames()
    assert "command:study" in ui.item_boxes and "command:play" not in ui.item_boxes
    window.key("Enter")
    window.frames(2)
    assert state.explorer.shown_on and "command" not in ui.item_boxes
    assert not state.clock.playing, "letters are text"


def test_arrows_clicks_and_escape(window: Offscreen) -> None:
    state, search = window.state, window.state.pane_data(CommandSearch)
    window.key("P", CTRL_SHIFT)
    window.frames(2)
    window.type("faster")
    window.key("Backspace")
    window.frames()
    fitting = matches(search.typed, offered(state))
    for _ in range(len(fitting)):
        window.key("Down")
    assert search.at == 0, "round and round"
    window.key("Up")
    assert search.at == len(fitting) - 1
    window.click("command:faster")
    window.frames(2)
    assert state.clock.speed == 2.0 and "command" not in ui.item_boxes
    window.key("P", CTRL_SHIFT)
    window.frames(2)
    assert search.typed == "" and "command" in ui.item_boxes
    window.type("zzz")
    window.key("Enter")
    window.frames()
    assert "command" in ui.item_boxes, "nothing of that kind"
    before = window.image()
    window.key("Escape")
    window.frames(2)
    assert "command" not in ui.item_boxes and (before != window.image()).any(-1).mean() > 0.01
    assert np.isfinite(state.clock.time) and state.clock.speed == 2.0

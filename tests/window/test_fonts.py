"""Letters beyond ASCII in the panes: those a font has are drawn, the others are told."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import fonts, ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from tests.scenes.bars import CRANK, stored

MATH = fonts.OWN.parent / "latex" / "latinmodern-math.otf"  # of the bundle; has signs that its plain fonts lack


@pytest.fixture
def context() -> Iterator[None]:
    found = imgui.create_context()
    yield
    imgui.destroy_context(found)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> WindowState:
    study = stored(tmp_path_factory.mktemp("study"))
    return WindowState(MemberScenes(study), look=FAST)


def named(state: WindowState, name: str) -> WindowState:
    """The same study with another name of the crank in its tree."""
    found = WindowState(MemberScenes(state.study, state.scene), look=FAST)
    found.rows = tuple(dataclasses.replace(r, name=name) if r.key == f"body:{CRANK}" else r for r in found.rows)
    return found


def test_the_font_has_units_and_the_letters_of_europe(context: None) -> None:
    assert fonts.missing(fonts.load(()), ["kg m²", "30°", "Schubkurbelgetriebe ä ö ü ß", "ω µ ≤", "Ж"]) == ""


def test_letters_without_a_font_are_told(context: None) -> None:
    said = fonts.missing(fonts.load(()), ["\u5173\u8282 a", "\u5173"])
    assert said.startswith("2 letters") and "U+5173 U+8282" in said


def test_a_font_of_the_system_adds_its_letters(context: None) -> None:
    assert "1 letters" in fonts.missing(fonts.load(()), ["\u2230"])
    assert fonts.missing(fonts.load((MATH.parent / "none.ttf", MATH)), ["\u2230 ä"]) == ""


def row_of(state: WindowState) -> np.ndarray:
    """The pixels of the first letter of the crank's row."""
    with Offscreen(state, (1200, 300)) as window:
        box = ui.item_boxes[f"row:body:{CRANK}"]
        return window.image()[int(box.y) : int(box.y + box.height), int(box.x) : int(box.x) + 16].astype(int)


def test_letters_are_drawn_and_not_a_question_mark(plain: WindowState) -> None:
    """Letters that the font has give different pictures; two that it lacks give the same one."""
    found = {name: row_of(named(plain, name)) for name in ("ä", "²", "?", "\U000f0001", "\U000f0002")}
    assert (found["ä"] != found["²"]).any() and (found["ä"] != found["?"]).any()
    assert np.array_equal(found["\U000f0001"], found["\U000f0002"])


def test_the_window_says_which_letters_it_cannot_show(plain: WindowState) -> None:
    state = named(plain, "\U0001f9f0")
    with Offscreen(state, (700, 400)):
        assert "U+1F9F0" in state.panels.messages[0]

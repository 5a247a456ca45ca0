"""Names changed in the window, in the tree and in the properties, and bars whose mass follows their length. M31,
M48."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.workbench import WorkbenchSession
from tests.support.windows import beside_a_run
from tests.window.workbench.test_workbench_window import CTRL, SHIFT, SIZE, bar, opened, settled

CRANK, PIVOT = "four_bar:crank", "four_bar:crank_pivot"
BOX = "new name"
DIGITS = 1e-5  # relative: the pane shows and drags six digits


@pytest.fixture(scope="module")
def four_bar() -> Iterator[tuple[Offscreen, WorkbenchSession]]:
    with opened("four_bar") as session, beside_a_run(session, SIZE) as window:
        window.frames(2)
        yield window, session


def taken_back(window: Offscreen, session: WorkbenchSession) -> None:
    while session.script:
        window.key("Z", CTRL)
        settled(window, session)


def typed(window: Offscreen, session: WorkbenchSession, name: str, end: str = "Enter") -> None:
    """In the box, in the place of the name that is there."""
    window.frames(2)
    window.type(name)
    window.key(end)
    settled(window, session)


def test_a_double_click_in_the_tree(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """The row becomes a box; Enter takes the name, Escape does not; the pick, what is selected and hidden stay."""
    window, session = four_bar
    state, row = window.state, f"row:joint:{PIVOT}"
    state.selection.select(PIVOT, on=True)
    state.selection.hidden.add(PIVOT)
    window.click(row, times=2)
    assert state.panels.new_name is not None and state.panels.new_name.text == "crank_pivot"
    typed(window, session, "motor")
    assert session.script == f"rename({PIVOT!r}, 'motor')\n"
    assert "four_bar:motor" in state.mechanism.joints and "row:joint:four_bar:motor" in ui.item_boxes
    assert state.selection.pick == "four_bar:motor" and state.selection.selected == ["four_bar:motor"]
    assert state.selection.hidden == {"four_bar:motor"} and state.panels.new_name is None
    window.click("row:joint:four_bar:motor", times=2)
    typed(window, session, "other", "Escape")
    assert session.script.count("\n") == 1 and state.panels.new_name is None
    taken_back(window, session)
    assert state.selection.pick == PIVOT
    state.selection.hidden.clear()
    state.selection.selected.clear()


def test_an_assembly_in_the_tree_stays_unfolded(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    window, session = four_bar
    window.click("row:four_bar", times=2)
    typed(window, session, "my bars")
    assert session.script == "rename('four_bar', 'my bars')\n"
    assert "my bars" in window.state.panels.opened and "row:body:my bars:crank" in ui.item_boxes
    taken_back(window, session)


def test_a_key_types_it_in_the_properties(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """F2, as in every file manager; a name that is taken is one clear error, and nothing has changed."""
    window, session = four_bar
    state = window.state
    state.pick_path(None)
    window.key("F2")
    assert "Pick what gets another name" in state.panels.message
    state.pick_path("fixed")
    window.key("F2")
    assert "keep their names" in state.panels.message
    state.pick_path(CRANK)
    window.key("T", CTRL)
    settled(window, session)
    window.key("F2")
    typed(window, session, "coupler")
    assert session.script == "" and "a body four_bar:coupler; allowed: a name that is not taken" in state.panels.message
    window.key("F2")
    typed(window, session, "handle")
    session.settle()
    assert session.curve is not None and session.console[-1].kind == "step"
    assert session.script == f"rename({CRANK!r}, 'handle')\n" and state.selection.pick == "four_bar:handle"
    window.key("F2")
    window.frames(2)
    window.click(f"row:joint:{PIVOT}")  # a click elsewhere takes the name, too: here the one that is there
    assert state.panels.new_name is None and session.script.count("\n") == 1
    window.key("F2", SHIFT)
    assert state.panels.info_on
    window.key("F2", SHIFT)
    taken_back(window, session)


def test_the_mass_of_a_drawn_bar_follows_its_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar of 1 kg a metre, as a slender rod: its length typed or dragged, mass and inertia are those of a bar that is
    drawn so; a mass that is stated stays."""
    monkeypatch.chdir(tmp_path)
    with opened(None) as session, beside_a_run(session, SIZE) as window:
        actions.run(window.state, "front")
        window.frames(2)
        window.key("D", SHIFT)
        bar(window, session, [0, 0, 0], [0, 0, 0.2])
        window.key("Escape")
        state, path = window.state, "mechanism:bar_1"
        tip = f"{path}:tip.T[0]"

        def rod(length: float) -> list[float]:
            return [length, 0.5 * length, length**3 / 12.0, length**3 / 3200.0]

        def numbers() -> list[float]:
            known = state.mechanism.model.numbers()
            fields = ("mass", "center_of_mass[0]", "inertia.Izz", "inertia.Ixx")
            return [known[f"{path}.{field}"] for field in fields]

        drawn_length = state.mechanism.model.numbers()[tip]
        assert numbers() == pytest.approx(rod(drawn_length))
        state.pick_path(path)
        window.frames(2)
        x, y = window.position(f"number:{tip}")
        window.drag(f"number:{tip}", (x + 40, y))
        settled(window, session)
        dragged = state.mechanism.model.numbers()[tip]
        assert dragged != drawn_length and numbers() == pytest.approx(rod(dragged))
        assert any("is bar_1_length, which is set" in line.text for line in session.console)
        session.do("set({'bar_1.mass': 2.5})")
        settled(window, session)
        assert any("mass followed from '1.0 * bar_1_length'" in line.text for line in session.console)
        session.do(f"set({{{tip!r}: 0.4}})")
        settled(window, session)
        assert numbers() == pytest.approx([2.5, *rod(0.4)[1:]])
        again = shiftjax.Workbench().replay(session.script)
        assert again.model == session.model
        masses = np.array([session.model.replace({"bar_1_length": L}).numbers()[f"{path}.mass"] for L in (0.3, 0.6)])
        assert (masses == 2.5).all()

"""Sets of members in the study pane: kept, selected, named in expressions, removed; their colours in plot and view."""

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gui.actions.members import choosing, selecting, set_keeping
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import legend
from shiftjax.viewer.gui.picture.snapshot import ghosts
from shiftjax.viewer.gui.state.colours import of_set
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import COUPLER, KEPT, LATE, MEMBERS, SWING
from tests.support.windows import open_tab, with_study_pane

SIZE = (1100, 860)
SHIFT, CTRL = (False, False, True), (True, False, False)


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        yield screen


def coloured(window: Offscreen, place: int) -> int:
    """Pixels of the scatter plot in the colour of a set."""
    box = ui.item_boxes["study:scatter"]
    rows, columns = slice(int(box.y), int(box.y + box.height)), slice(int(box.x), int(box.x + box.width))
    picture = window.image()[rows, columns].astype(int)
    return int((np.abs(picture - 255 * np.array(of_set(place)[:3])).max(-1) < 12).sum())


def test_sets_are_kept_named_and_selected(window: Offscreen) -> None:
    state, explorer = window.state, window.state.explorer
    swing, coupler = (explorer.table.column(name) for name in (SWING, COUPLER))
    assert "keep set" in ui.item_boxes and "set:A" not in ui.item_boxes
    window.click("keep set")
    assert np.flatnonzero(explorer.sets[0].mask).tolist() == explorer.table.study.kept.tolist(), "those chosen at first"
    set_keeping.remove(state, "A")
    selecting.type_brushes(state, "swing > 0.5")
    window.frames(2)
    window.click("keep set")
    selecting.type_brushes(state, "coupler.mass > 1")
    window.frames(2)
    window.click("set name")
    window.type("heavy")
    window.key("Enter")
    window.frames(2)
    assert [(one.name, one.text) for one in explorer.sets] == [("A", "swing > 0.5"), ("heavy", "coupler.mass > 1")]
    window.click("expression")
    window.type("A and not heavy")
    window.key("Enter")
    window.frames()
    np.testing.assert_array_equal(explorer.shown, (swing > 0.5) & ~(coupler > 1))
    window.click("show all members")
    window.click("set:A")
    window.frames()
    assert explorer.brush_typed == "A"
    np.testing.assert_array_equal(explorer.selected, swing > 0.5)
    window.click("set:heavy", modifiers=SHIFT)
    np.testing.assert_array_equal(explorer.selected, (swing > 0.5) | (coupler > 1))
    window.click("set:A")
    window.click("set:heavy", modifiers=CTRL)
    np.testing.assert_array_equal(explorer.selected, (swing > 0.5) & (coupler > 1))
    window.click("remove set:heavy")
    window.frames(2)
    assert [one.name for one in explorer.sets] == ["A"] and "set:heavy" not in ui.item_boxes
    assert "set heavy is gone: what was selected" in state.panels.messages[-1]
    np.testing.assert_array_equal(explorer.selected, (swing > 0.5) & (coupler > 1))


def test_a_name_that_cannot_be_is_said(window: Offscreen) -> None:
    state, explorer = window.state, window.state.explorer
    selecting.type_brushes(state, "swing > 0.5")
    window.frames(2)
    window.click("set name")
    window.type("swing")
    window.click("keep set")
    assert "set swing: found 'swing', which is the column swing" in state.panels.messages[-1]
    assert not explorer.sets and explorer.set_typed == "swing"


def test_sets_colour_points(window: Offscreen) -> None:
    state, explorer = window.state, window.state.explorer
    explorer.x, explorer.y = COUPLER, SWING
    open_tab(window, "Scatter")
    assert coloured(window, 0) == coloured(window, 1) == 0
    for text in ("0.3 < swing < 0.4", "swing > 0.6"):
        selecting.type_brushes(state, text)
        assert set_keeping.keep(state)
    selecting.clear(state)
    window.frames(2)
    assert coloured(window, 0) > 500 and coloured(window, 1) > 500
    explorer.colour = LATE
    window.frames(2)
    assert coloured(window, 0) > 100, "hollow"


def test_sets_colour_ghosts_and_have_a_legend(window: Offscreen) -> None:
    state, explorer = window.state, window.state.explorer
    choosing.choose(state, "kept")
    state.choice.ghosts_on = True
    assert set_keeping.keep(state), "the chosen members, where nobody is selected"
    assert explorer.sets[0].text == "kept" and explorer.sets[0].mask.sum() == KEPT
    selecting.select(state, np.arange(MEMBERS) < MEMBERS // 2)
    set_keeping.keep(state, "half")
    set_keeping.remove(state, "A")
    choosing.choose(state, "kept")
    drawn = ghosts(state)
    assert drawn is not None and drawn.members is not None
    inside = drawn.members < MEMBERS // 2
    np.testing.assert_allclose(drawn.colours[inside, :3], np.tile(of_set(1)[:3], (inside.sum(), 1)))
    assert (np.abs(drawn.colours[~inside, :3] - of_set(1)[:3]).max(1) > 0.1).all()
    assert (of_set(1), f"set half: {inside.sum()} of {MEMBERS // 2:,} as ghosts") in legend.lines(state)
    choosing.choose(state, "half and kept")
    assert len(state.choice.chosen) == KEPT // 2 and (state.choice.chosen < MEMBERS // 2).all()
    state.choice.colour_by = SWING
    other = ghosts(state)
    assert other is not None and len(np.unique(other.colours, axis=0)) > 3, "a metric colours them instead"

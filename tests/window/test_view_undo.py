"""Changes of the view taken back and done again, Ctrl+Z and Ctrl+Shift+Z: one drag is one entry; on the workbench the
keys go through the history of the mechanism."""

from collections.abc import Iterator

import numpy as np
import pytest

import shiftjax
from shiftjax.run.info import info
from shiftjax.viewer.gui.actions import actions, undoing
from shiftjax.viewer.gui.actions.members import choosing, selecting, set_keeping
from shiftjax.viewer.gui.actions.saving.saved import document
from shiftjax.viewer.gui.offscreen import FRAME, Offscreen
from shiftjax.viewer.gui.state import view_history
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.state.view_history import ViewHistory, ViewPart
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.workbench import WorkbenchSession
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import ANGLE, COUPLER, KEPT, LATE, SWING
from tests.support.windows import beside_a_run, with_study_pane

SIZE = (820, 640)
CTRL, CTRL_SHIFT, SHIFT = (True, False, False), (True, False, True), (False, False, True)
STILL = int(view_history.SETTLED / FRAME) + 3  # frames after which an entry is complete


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        screen.frames(STILL)
        screen.state.pane_data(ViewHistory).past.clear()
        yield screen


def entries(window: Offscreen) -> list[str]:
    return [entry.words() for entry in window.state.pane_data(ViewHistory).past]


def undo(window: Offscreen) -> str:
    window.key("Z", CTRL)
    window.frames(3)
    return window.state.panels.message


def redo(window: Offscreen) -> str:
    window.key("Z", CTRL_SHIFT)
    window.frames(3)
    return window.state.panels.message


def middle(window: Offscreen) -> tuple[float, float]:
    view = window.screen.layout.view
    return view.x + view.width / 2, view.y + view.height / 2


def test_a_drag_is_one_entry(window: Offscreen) -> None:
    state, (x, y) = window.state, middle(window)
    first = state.view.camera
    window.drag((x, y), (x + 90, y + 30))
    second = state.view.camera
    assert entries(window) == ["camera"], "though the camera moved in several frames"
    window.drag((x, y), (x - 40, y + 30))
    assert entries(window) == ["camera", "camera"], "at once, without waiting"
    assert undo(window) == "taken back: camera" and state.view.camera.azimuth == second.azimuth
    assert undo(window) == "taken back: camera" and state.view.camera.azimuth == first.azimuth
    assert undo(window) == "There is nothing to take back."
    assert redo(window) == "done again: camera" and state.view.camera.azimuth == second.azimuth
    window.drag((x, y), (x, y + 60))
    assert redo(window) == "There is nothing to do again.", "a new change ends what could be done again"


def test_turns_of_the_wheel_one_after_the_other_are_one_entry(window: Offscreen) -> None:
    state, place, before = window.state, middle(window), window.state.view.camera.distance
    for _ in range(4):
        window.wheel(1, place)
    window.frames(STILL)
    window.wheel(-2, place)
    window.frames(STILL)
    assert entries(window) == ["camera", "camera"]
    undo(window)
    undo(window)
    assert state.view.camera.distance == pytest.approx(before, rel=1e-12)


def test_a_fitted_camera_stays_fitted_to_the_window(window: Offscreen) -> None:
    """What the window does by itself is no entry; a camera that was fitted is so again, in the picture of now."""
    state, (x, y) = window.state, middle(window)
    assert state.view.is_fitted
    window.resize((900, 700))
    window.frames(STILL)
    assert entries(window) == []
    before = state.view.camera
    window.drag((x - 60, y), (x, y), "Right")
    assert not state.view.is_fitted
    undo(window)
    assert state.view.is_fitted
    np.testing.assert_allclose(state.view.camera.eye, before.eye, rtol=1e-9)


def changes(state: WindowState) -> list[tuple[str, str]]:
    """Names of actions and of the parts that they change, as entries."""
    return [
        ("colour_by", "colours"), ("grouping", "colours"), ("frames", "what is drawn"), ("shadows", "look"),
        ("panes", "panes"), ("panes", "panes"), ("study", "tab"), ("next_member", "member"), ("beside", "right half"),
        ("orthographic", "camera"), ("ghosts", "choice"), ("ghost_outlines", "choice"),
    ]  # fmt: skip


def test_every_kind_of_change_is_taken_back_and_done_again(window: Offscreen) -> None:
    """What a saved view holds is as it was, step by step, and then as it became."""
    state = window.state
    before = [document(state)]
    for name, part in changes(state):
        actions.run(state, name)
        window.frames(STILL)
        assert entries(window)[-1] == part, name
        before.append(document(state))
    assert len(entries(window)) == len(changes(state))
    for then in reversed(before[:-1]):
        undo(window)
        assert alike(document(state), then)
    for then in before[1:]:
        redo(window)
        assert alike(document(state), then)


def alike(one: dict, other: dict) -> bool:
    """Two documents of a view, cameras to rounding: one that is fitted is fitted again."""
    numbers = [
        [value for entry in document["camera"].values() for value in np.ravel(entry)] for document in (one, other)
    ]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-9, atol=1e-12)
    assert {k: v for k, v in one.items() if k != "camera"} == {k: v for k, v in other.items() if k != "camera"}
    return True


def test_brushes_sets_and_columns(window: Offscreen) -> None:
    state, explorer = window.state, window.state.explorer
    selecting.type_brushes(state, "swing > 0.5")
    window.frames(STILL)
    mask = explorer.selected.copy()
    assert set_keeping.keep(state, "wide")
    window.frames(STILL)
    selecting.show(state, "not wide")
    window.frames(STILL)
    explorer.x, explorer.columns = COUPLER, ["member", SWING]
    window.frames(STILL)
    assert entries(window) == ["choice, selected members", "sets", "selected members", "columns"]
    undo(window)
    assert explorer.columns != ["member", SWING]
    undo(window)
    assert explorer.expression == "" and explorer.shown.all()
    np.testing.assert_array_equal(explorer.selected, mask)
    undo(window)
    assert explorer.sets == () and "wide" not in explorer.table.sets and explorer.brush_typed == "swing > 0.5"
    undo(window)
    assert not explorer.selected.any() and explorer.brushes == () and len(state.choice.chosen) == KEPT
    for _ in range(4):
        redo(window)
    assert explorer.columns == ["member", SWING] and explorer.expression == "not wide"
    assert [one.name for one in explorer.sets] == ["wide"] and not explorer.selected.any(), "nobody of those shown"


def test_a_brush_drawn_in_a_plot_is_one_entry(window: Offscreen) -> None:
    state = window.state
    window.click("tab:Scatter")
    window.frames(STILL)
    box = ui.item_boxes["study:scatter"]
    x, y = box.x + 0.3 * box.width, box.y + 0.3 * box.height
    window.drag((x, y), (x + 150, y + 60))
    window.frames(STILL)
    assert state.explorer.selected.any() and entries(window)[0] == "tab" and len(entries(window)) == 2
    undo(window)
    assert not state.explorer.selected.any()


def test_plots_and_picks(window: Offscreen) -> None:
    state, plots = window.state, window.state.pane_data(PlotCurves)
    state.pick_path("four_bar:crank")
    window.frames(STILL)
    plots.follow(0.05)
    window.frames(STILL)
    plots.reference = str(state.choice.member)
    window.frames(STILL)
    assert entries(window) == ["pick", "plots", "plots"]
    undo(window)
    assert plots.reference == "" and plots.width == 0.05
    undo(window)
    assert not plots.follows
    undo(window)
    assert state.selection.pick is None


def test_time_is_in_no_history(window: Offscreen) -> None:
    actions.run(window.state, "play")
    window.frames(STILL)
    actions.run(window.state, "play")
    window.state.go_to(0.05)
    window.frames(STILL)
    assert entries(window) == []
    assert undo(window) == "There is nothing to take back." and window.state.clock.time == 0.05


def test_a_change_that_is_not_complete_is_taken_back_too(window: Offscreen) -> None:
    window.state.choice.colour_by = LATE
    window.frames()
    assert entries(window) == [] and undo(window) == "taken back: colours" and window.state.choice.colour_by == ""


def test_the_history_is_bounded() -> None:
    history, state = ViewHistory(), {"number": 0}
    parts = {"number": ViewPart(lambda s: s["number"], lambda s, value: s.update(number=value), lambda a, b: a == b)}
    for k in range(view_history.MOST + 50):
        state["number"] = k
        for _ in range(2):
            history.look(parts, state, 1.0, pressed=False)
    assert len(history.past) == view_history.MOST
    while history.back(parts, state):
        pass
    assert state["number"] == 49 and len(history.future) == view_history.MOST


def test_choices_of_members(window: Offscreen) -> None:
    state, before = window.state, window.state.choice.chosen
    choosing.choose(state, "worst:3:swing of kept")
    window.frames(STILL)
    undo(window)
    assert state.choice.chosen is before and state.choice.text == ""
    assert ANGLE in state.study.channels


def test_on_the_workbench_the_keys_go_through_the_mechanism() -> None:
    with (
        WorkbenchSession(shiftjax.Workbench("four_bar"), Helpers(report=info)) as session,
        beside_a_run(session, (800, 500)) as window,
    ):
        state = window.state
        session.do("lock('four_bar:crank_pivot')")
        session.settle()
        actions.run(state, "orthographic")
        window.frames(STILL)
        assert session.locks and state.pane_data(ViewHistory).past == []
        undo(window)
        session.settle()
        assert not session.locks and state.view.camera.orthographic, "the camera stays"
        redo(window)
        session.settle()
        assert session.locks
        undoing.undo(state)
        session.settle()
        assert not session.locks

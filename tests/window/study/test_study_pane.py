"""The study pane, driven without a display on a stored study of 20 000 members: sort, brush, grid, save, reopen."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.actions.saving import saved
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import legend, plotpane
from shiftjax.viewer.gui.panes.study import scatter_tab
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import ANGLE, COUPLER, CRANK, KEPT, MEMBERS, SWING, TIP
from tests.support.windows import BARE, open_tab, with_study_pane

SIZE = (1100, 760)
SHIFT, CTRL = (False, False, True), (True, False, False)
ORANGE = (255, 140, 20)
FEW = 0.003  # part of a plot's pixels that must change where something is drawn


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        yield screen


def inside(name: str, across: float, up: float) -> tuple[float, float]:
    """A point of a plot, in parts of its width from the left and of its height from below."""
    box = ui.item_boxes[f"study:{name}"]
    return box.x + across * box.width, box.y + (1 - up) * box.height


def orange(window: Offscreen, name: str) -> float:
    """Part of a plot in the colour of what is selected."""
    box = ui.item_boxes[name]
    rows, columns = slice(int(box.y), int(box.y + box.height)), slice(int(box.x), int(box.x + box.width))
    picture = window.image()[rows, columns].astype(int)
    return float((np.abs(picture - ORANGE).max(-1) < 60).mean())


def test_the_pane_takes_room_from_the_view_and_gives_it_back(window: Offscreen) -> None:
    layout = window.screen.layout
    assert layout.study.height > 100 and layout.study.y == layout.view.y + layout.view.height
    assert layout.study.y + layout.study.height == pytest.approx(layout.timeline.y)
    x, y = window.position("border:study")
    window.drag("border:study", (x, y - 60))
    assert window.screen.layout.study.height > layout.study.height + 40
    window.key("F3")
    assert window.screen.layout.study.height == 0


def test_sorting_and_opening_a_member(window: Offscreen, many_members: ViewedStudy) -> None:
    state, swing = window.state, window.state.explorer.table.column(SWING)
    window.click(f"column:{SWING}")
    assert state.explorer.sort == SWING and f"member:{int(np.argmin(swing))}" in ui.item_boxes
    window.click(f"column:{SWING}")
    worst = int(np.argmax(swing))
    assert state.explorer.falling and f"member:{worst}" in ui.item_boxes
    window.click(f"member:{worst}")
    many_members.prepare([worst])
    window.frames()
    assert state.choice.member == worst, "it was simulated again"
    selecting.show(state, "kept")
    window.frames()
    second = int(state.explorer.rows()[1])
    window.click(f"member:{second}")
    assert state.choice.member == second
    rows = [name for name in ui.item_boxes if name.startswith("member:")]
    assert 2 <= len(rows) < 60, "rows out of sight are not drawn"


def test_a_row_is_selected_with_ctrl(window: Offscreen) -> None:
    window.click("member:3", modifiers=CTRL)
    window.click("member:4", modifiers=CTRL)
    assert np.flatnonzero(window.state.explorer.selected).tolist() == [3, 4]
    window.click("member:3", modifiers=CTRL)
    assert np.flatnonzero(window.state.explorer.selected).tolist() == [4]
    window.click("select first")
    assert np.flatnonzero(window.state.explorer.selected).tolist() == [0, 1, 2, 3, 4]
    window.click("select none")
    assert window.state.explorer.counts()[1] == 0


def test_the_last_of_many_rows_can_be_reached(window: Offscreen) -> None:
    window.wheel(-1, "member:3")
    window.frames()
    assert "member:0" not in ui.item_boxes and "member:4" in ui.item_boxes
    window.wheel(-1e6, "member:4")
    window.frames(2)
    assert f"member:{MEMBERS - 1}" in ui.item_boxes
    bar = ui.item_boxes["rows of members"]
    window.drag((bar.x + bar.width / 2, bar.y + bar.height - 8), (bar.x + bar.width / 2, bar.y + 2))
    window.frames()
    assert window.state.explorer.first == 0 and "member:0" in ui.item_boxes


@pytest.mark.parametrize("modifiers", [(False, False, False), SHIFT])
def test_brushing_a_scatter_plot_selects_in_all_tabs(window: Offscreen, modifiers: Modifiers) -> None:
    state, explorer = window.state, window.state.explorer
    open_tab(window, "Scatter")
    assert orange(window, "study:scatter") == 0
    window.drag(inside("scatter", 0.2, 0.2), inside("scatter", 0.5, 0.6), modifiers=modifiers)
    window.frames()
    left, right, low, high = explorer.limits["scatter"]
    x, y = (explorer.table.column(name) for name in (COUPLER, SWING))
    exact = (x > left + 0.2 * (right - left)) & (x < left + 0.5 * (right - left))
    exact &= (y > low + 0.2 * (high - low)) & (y < low + 0.6 * (high - low))
    assert (explorer.selected ^ exact).sum() < 0.05 * exact.sum(), "a pixel at each side"
    assert orange(window, "study:scatter") > 0.05
    assert state.choice.ghosts_on and set(state.choice.chosen) <= set(np.flatnonzero(explorer.selected))
    assert f"{len(state.choice.chosen)} of {explorer.counts()[1]:,} selected have trajectories" in explorer.note
    for title, name in (("Parallel axes", "study:parallel"), ("Histogram", "study:histogram")):
        open_tab(window, title)
        assert orange(window, name) > FEW


def test_a_click_on_a_point_opens_its_member(window: Offscreen) -> None:
    state, explorer = window.state, window.state.explorer
    selecting.show(state, "kept")
    open_tab(window, "Scatter")
    member = int(explorer.table.study.kept[7])
    left, right, low, high = explorer.limits["scatter"]
    at = [(float(explorer.table.column(name)[member]) - first) / (last - first)
          for name, first, last in ((explorer.x, left, right), (explorer.y, low, high))]  # fmt: skip
    window.click(inside("scatter", *at))
    assert state.choice.member == member


def test_very_many_points_are_a_density(window: Offscreen, monkeypatch: pytest.MonkeyPatch) -> None:
    open_tab(window, "Scatter")
    points = window.image()
    monkeypatch.setattr(scatter_tab, "DENSE", 1000)
    window.state.explorer.revision += 1
    window.frames(3)
    assert "study:colours" in ui.item_boxes and (points != window.image()).any()
    window.drag(inside("scatter", 0.3, 0.3), inside("scatter", 0.6, 0.7))
    window.frames()
    assert orange(window, "study:scatter") > FEW and window.state.explorer.counts()[1] > 100
    window.state.explorer.colour = CRANK
    window.frames(2)
    assert "study:colours" in ui.item_boxes


def test_a_third_column_colours_points_and_has_a_bar(window: Offscreen) -> None:
    open_tab(window, "Scatter")
    assert "study:colours" not in ui.item_boxes
    window.state.explorer.colour = "energy_error"
    before = window.image()
    window.frames(2)
    assert "study:colours" in ui.item_boxes and (before != window.image()).any(-1).mean() > FEW


def test_the_wheel_zooms_and_fit_shows_all(window: Offscreen) -> None:
    explorer = window.state.explorer
    open_tab(window, "Scatter")
    whole = explorer.limits["scatter"]
    window.wheel(3, inside("scatter", 0.5, 0.5))
    window.frames()
    near = explorer.limits["scatter"]
    assert near[0] > whole[0] and near[1] < whole[1]
    window.click("fit")
    window.frames(2)
    np.testing.assert_allclose(explorer.limits["scatter"], whole)


def test_brushing_parallel_axes_and_a_histogram(window: Offscreen) -> None:
    explorer = window.state.explorer
    open_tab(window, "Parallel axes")
    last = len(explorer.axes)
    first = (0.35) / (last - 0.3)  # of the first axis, in the width of the plot
    window.drag(inside("parallel", first - 0.03, 0.02), inside("parallel", first + 0.03, 0.3))
    values, span = explorer.table.column(explorer.axes[0]), explorer.table.span(explorer.axes[0])
    part = (values - span[0]) / (span[1] - span[0])
    assert 0.05 < explorer.selected.mean() < 0.4 and part[explorer.selected].max() < 0.35
    assert part[~explorer.selected].min() > 0.1
    open_tab(window, "Histogram")
    window.drag(inside("histogram", 0.5, 0.5), inside("histogram", 0.97, 0.6), modifiers=CTRL)
    swing, before = explorer.table.column(SWING), part < 0.35
    assert explorer.selected.any() and before[explorer.selected].all(), "within what was selected"
    assert swing[explorer.selected].min() > np.median(swing)


def test_an_expression_is_typed_completed_and_explained(window: Offscreen) -> None:
    explorer = window.state.explorer
    window.click("expression")
    window.type("swing > 0.5 and coup")
    window.click(f"complete:{COUPLER}")
    assert explorer.typed == f"swing > 0.5 and {COUPLER}"
    window.click("expression")
    window.key("End")
    window.type(" >")
    window.key("Enter")
    assert "wrong expression" in ui.item_boxes and explorer.counts()[0] == MEMBERS
    window.click("examples")
    window.frames()
    text, count = next((text, count) for text, count in explorer.examples if "<" in text)
    window.click(f"example:{text}")
    assert explorer.counts()[0] == count and explorer.expression == text
    window.click("show all members")
    assert explorer.counts()[0] == MEMBERS


def test_worst_five_in_a_grid_saved_and_reopened(
    window: Offscreen, many_members: ViewedStudy, many_scene: Scene, tmp_path: Path
) -> None:
    state = window.state
    window.click("members")
    window.type("worst:5:swing of kept")
    window.key("Enter")
    swing = state.explorer.table.column(SWING)
    kept = many_members.kept
    assert state.choice.chosen.tolist() == kept[np.argsort(-swing[kept], kind="stable")][:5].tolist()
    window.click("grid")
    window.frames(2)
    cells = state.explorer.cells
    assert cells == tuple(state.choice.chosen.tolist())
    window.click(f"cell:{cells[3]}")
    assert state.choice.member == cells[3] and state.explorer.cells == cells
    pictures = [picture_of(window, member) for member in cells]
    assert len({picture.tobytes() for picture in pictures}) == 5, "each its own lengths"
    assert window.screen.view_image().shape[2] == 3
    state.explorer.file = str(tmp_path / "worst.json")
    saved.save_here(state)
    assert "written" in state.panels.messages[-1]
    with Offscreen(WindowState(MemberScenes(many_members, many_scene), look=BARE), SIZE) as other:
        saved.load(other.state, tmp_path / "worst.json")
        other.frames(3)
        assert saved.document(other.state) == saved.document(state)
        for member, picture in zip(cells, pictures, strict=True):
            assert np.abs(picture_of(other, member).astype(int) - picture).mean() < 3
    window.click(f"cell:{cells[1]}", times=2)
    assert state.explorer.cells == () and state.choice.member == cells[1]


def picture_of(window: Offscreen, member: int) -> np.ndarray:
    """The pixels of a cell below its label and within its frame."""
    box = ui.item_boxes[f"cell:{member}"]
    rows, columns = (
        slice(int(box.y) + 60, int(box.y + box.height) - 4),
        slice(int(box.x) + 4, int(box.x + box.width) - 4),
    )
    return window.image()[rows, columns].copy()


def test_time_runs_in_every_cell(window: Offscreen) -> None:
    window.key("F6")
    window.frames()
    before = [picture_of(window, member) for member in window.state.explorer.cells]
    window.state.go_to(0.1)
    window.frames()
    for member, picture in zip(window.state.explorer.cells, before, strict=True):
        assert (picture_of(window, member) != picture).any(-1).mean() > FEW
    assert len(before) == 4 < KEPT


def test_the_box_of_members_completes_and_shows_examples(window: Offscreen) -> None:
    state = window.state
    window.click("members")
    window.type("worst:5:swi")
    window.click(f"complete member:{SWING}")
    assert state.panels.typed == "worst:5:swing"
    window.click("examples member")
    window.frames()
    window.click("example member:best:5:swing of kept")
    assert state.choice.text == "best:5:swing of kept" and len(state.choice.chosen) == 5


# -- plots -------------------------------------------------------------------------------------------------------------


def test_a_plot_shows_the_band_and_others_behind_the_current_member(
    window: Offscreen, many_members: ViewedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plotpane, "SECONDS", 0.0)  # one member a frame
    state, curves = window.state, PlotCurves()
    monkeypatch.setitem(state._pane_data, PlotCurves, curves)  # no band that earlier frames have collected
    window.key("F3")
    state.choice.ghosts_on = False
    window.frames(2)
    bare = plot_of(window)
    while curves.band(many_members, ANGLE, 10.0) is None:
        pass
    window.frames(2)
    with_band = plot_of(window)
    assert (bare != with_band).any(-1).mean() > 0.02
    state.choice.ghosts_on = True
    window.frames(2)
    assert (with_band != plot_of(window)).any(-1).mean() > 0.02
    found = curves.band(many_members, ANGLE, 0.0)
    every = np.stack([many_members.channel(ANGLE, int(k)) for k in many_members.kept])
    assert found is not None and len(found.members) == KEPT
    np.testing.assert_allclose(found.band.middle[:, 0], np.median(every, 0))
    np.testing.assert_allclose(found.band.high[:, 0], np.percentile(every, 95, axis=0))


def test_plots_have_one_time_axis(window: Offscreen) -> None:
    window.key("F3")
    window.frames(2)
    curves = window.state.pane_data(PlotCurves)
    before = curves.span
    window.wheel(2, f"plot:{ANGLE}")
    window.frames(2)
    assert curves.span is not None and before is not None and curves.span[1] - curves.span[0] < before[1] - before[0]
    assert f"value:{TIP}" in ui.item_boxes


def test_curves_beyond_what_was_recorded(window: Offscreen, many_members: ViewedStudy) -> None:
    window.state.pick_path("four_bar:crank_pin")
    assert window.state.pane_data(PlotCurves).names(many_members, "four_bar:crank_pin")[0] == "four_bar:crank_pin.q"
    window.frames(2)
    assert "plot:four_bar:crank_pin.q" in ui.item_boxes


def test_a_bar_says_what_the_colours_of_ghosts_mean(window: Offscreen) -> None:
    window.state.choice.ghosts_on = True
    window.frames(2)
    assert "legend:ghosts" not in ui.item_boxes
    window.state.choice.colour_by = SWING
    window.frames(2)
    assert "legend:ghosts" in ui.item_boxes
    scale = legend.scale(window.state)
    others = window.state.choice.others
    values = window.state.explorer.table.column(SWING)[others]
    assert scale == ("ghosts: swing [rad]", values.min(), values.max())


def plot_of(window: Offscreen) -> np.ndarray:
    """The pixels of the plot of an angle."""
    box = ui.item_boxes[f"plot:{ANGLE}"]
    return window.image()[int(box.y) : int(box.y + box.height), int(box.x) : int(box.x + box.width)].copy()

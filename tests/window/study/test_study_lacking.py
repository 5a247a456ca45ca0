"""What plots over members and the view do not show is said: members without a number, nobody, an empty picture."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.ensembles.store import store
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import choosing, grid, selecting
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture.emptiness import in_sight, why_empty
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study import band_words
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.members import distributions
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

SIZE = (1100, 760)
LENGTHS = [0.2, 0.21, 0.22, 2.0, 2.1]  # of the crank [m]; loops of the last two do not close
SPEEDS = [0.1, 0.1, 3.0, 0.1, 0.1]  # of the rocker [rad/s]; the third drives it past the end of its travel


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> ViewedStudy:
    result = simulate(
        "four_bar", span=0.5, output_step=0.02, drive={"rocker_pivot": np.array(SPEEDS)}, keep="all",
        vary={"crank:tip.T[0]": np.array(LENGTHS)}, metrics={"swing": "peak_to_peak(crank_pivot.q)"},
        channels=["crank_pivot.q"],
    )  # fmt: skip
    assert result.status.tolist() == [0, 0, 7, 1, 1], "ok, ok, locked, two not assembled"
    assert np.isfinite(result.metrics["swing"]).tolist() == [True, True, False, False, False]
    return ViewedStudy.open(store.write(result, tmp_path_factory.mktemp("failing") / "few.zarr", keep="all"))


@pytest.fixture
def window(failing: ViewedStudy) -> Iterator[Offscreen]:
    with Offscreen(WindowState(MemberScenes(failing), look=FAST), SIZE) as screen:
        screen.key("F3")
        screen.frames(2)
        yield screen


@pytest.mark.parametrize("title", ["Scatter", "Parallel axes", "Histogram"])
def test_plots_say_how_many_members_they_leave_out_and_why(window: Offscreen, title: str) -> None:
    explorer = window.state.explorer
    explorer.x, explorer.y, explorer.bars, explorer.axes = "crank:tip.T[0]", "swing", "swing", ["member", "swing"]
    explorer.x = next(name for name in explorer.table.names if name.endswith("T[0]"))
    window.click(f"tab:{title}")
    window.frames(2)
    assert "left out" in ui.item_boxes
    assert explorer.left_out(["swing"]) == "3 of 5 left out, no number in swing: 2 not_assembled, 1 locked"
    selecting.show(window.state, "status == ok")
    window.frames(2)
    assert "left out" not in ui.item_boxes and explorer.left_out(["swing"]) == ""
    selecting.show(window.state, "swing > 1e9")
    window.frames(2)
    assert "left out" in ui.item_boxes, "nobody is shown, and nothing says so"


def test_an_empty_view_says_why(window: Offscreen) -> None:
    state = window.state
    assert "empty view" not in ui.item_boxes
    window.key("H")
    state.selection.hidden = {part.path for part in state.scene.parts}
    for name in ("link", "joint", "tree joint", "closure joint", "root closure", "ground", "spring"):
        state.display.set(name, draw="hidden")
    window.frames(2)
    assert "empty view" in ui.item_boxes
    assert why_empty(state, SIZE) == "Everything is hidden: Shift+H shows it."
    actions.run(state, "show_all")
    window.frames(2)
    assert "empty view" not in ui.item_boxes
    state.view.camera = state.view.camera.looking_at(np.array([0.0, 1000.0, 0.0]))
    window.frames(2)
    assert why_empty(state, SIZE) == "The model is out of sight: A shows the whole of it."
    actions.run(state, "frame_all")
    window.frames(2)
    assert "empty view" not in ui.item_boxes


@pytest.mark.parametrize("orthographic", [False, True])
def test_spheres_at_the_edge_of_the_picture_are_in_sight(orthographic: bool) -> None:
    """Of points just inside and outside, the projection to pixels is the judge."""
    rng, size = np.random.default_rng(5), (300, 200)
    camera = dataclasses.replace(Camera.of((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0)), orthographic=orthographic)
    points = rng.uniform(-2.5, 2.5, (400, 3))
    pixels = np.array([camera.pixel(point, size) for point in points])
    depth = (camera.eye - points) @ camera.axes()[2]
    inside = (np.abs(pixels - (149.5, 99.5)) < (150, 100)).all(1) & (depth > 0)
    assert 50 < inside.sum() < 350
    assert (in_sight(camera, points, np.zeros(400), size) == inside).all()
    near = in_sight(camera, points, np.full(400, 0.3), size)
    assert (near >= inside).all() and near.sum() > inside.sum()


def test_a_grid_is_sorted_by_the_metric_of_its_labels(window: Offscreen) -> None:
    """Members in rising order are; a ranking keeps its order."""
    state = window.state
    state.explorer.colour = next(name for name in state.explorer.table.names if name.endswith("T[0]"))
    selecting.show(state, "")
    choosing.choose(state, "0,1,2")
    for metric, order in (("swing", [1, 0, 2]), (state.explorer.colour, [0, 1, 2])):
        state.explorer.colour = metric
        assert grid.members_for(state, 4) == order, metric
    state.explorer.colour = "swing"
    choosing.choose(state, "2,0,1")
    assert grid.members_for(state, 4) == [2, 0, 1]


def test_the_caption_of_a_band_counts_those_that_have_a_number(window: Offscreen, failing: ViewedStudy) -> None:
    """At the time cursor: members that ended before it, or never started, are named with how they ended."""
    state, curves = window.state, window.state.pane_data(PlotCurves)
    ended = float(failing.end(2))
    assert 0.0 < ended < 0.5
    of = None
    while of is None:
        of = curves.band(failing, "crank_pivot.q", 10.0)
    current = curves.get(failing, 0, "crank_pivot.q")
    early, late = (band_words.words(failing, of, current, time) for time in (0.0, 0.5))
    values = np.stack([failing.channel("crank_pivot.q", member) for member in (0, 1)])
    low, high = (np.percentile(values[:, -1], share) for share in (5, 95))
    assert early.startswith("5-95 % of 3: ")
    assert early.endswith("; 2 of 5 left out, no number here: 3 4 not_assembled")
    assert late == (
        f"5-95 % of 2: {low:.4g} to {high:.4g}; 3 of 5 left out, no number here: 3 4 not_assembled, 2 locked"
    )
    window.key("F3")
    state.go_to(0.5)
    window.frames(3)
    assert ui.item_boxes["value:crank_pivot.q"].height > 40, "the caption is not in sight as a whole"


def test_bands_of_infinite_numbers_and_of_nobody(failing: ViewedStudy) -> None:
    curves = np.array([[1.0, np.inf, np.nan], [2.0, 5.0, np.nan], [3.0, -np.inf, np.nan]])
    found = distributions.band(curves)
    assert found.middle[:2].tolist() == [2.0, 5.0] and np.isnan(found.middle[2])
    assert found.drawn.sum(0).tolist() == [3, 1, 0]

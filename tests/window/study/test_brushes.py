"""Brushes of the study pane: drawn, moved by their ends and as a whole, written as an expression, saved in the view."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.actions.saving import saved
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.members.brush import Brush, Range, brushes_of, rounded, text_of
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import COUPLER, SWING
from tests.support.windows import open_tab, with_study_pane

SIZE = (1100, 860)
SHIFT, CTRL = (False, False, True), (True, False, False)
PIXEL = 0.01  # of what an axis shows: two pixels of a plot of some 300, and the rounding of the ends


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        yield screen


def inside(name: str, across: float, up: float) -> tuple[float, float]:
    """A point of a box, in parts of its width from the left and of its height from below."""
    box = ui.item_boxes[name]
    return box.x + across * box.width, box.y + (1 - up) * box.height


def ends(window: Offscreen, column: str, place: int = 0) -> tuple[float, float]:
    one = window.state.explorer.brushes[place].range_of(column)
    assert one is not None
    return one.low, one.high


def between(window: Offscreen, column: str, low: float, high: float) -> np.ndarray:
    values = window.state.explorer.table.column(column)
    return (values >= low) & (values <= high)


def shown(window: Offscreen, axis: int) -> float:
    """How much of a column the axes of the scatter plot show."""
    limits = window.state.explorer.limits["scatter"]
    return limits[2 * axis + 1] - limits[2 * axis]


def test_a_brush_stays_in_sight_and_its_text_means_the_same_members(window: Offscreen) -> None:
    explorer = window.state.explorer
    open_tab(window, "Scatter")
    assert "brush:scatter:0" not in ui.item_boxes
    before = window.image()
    window.drag(inside("study:scatter", 0.3, 0.3), inside("study:scatter", 0.6, 0.7))
    window.frames(2)
    box, plot = ui.item_boxes["brush:scatter:0"], ui.item_boxes["study:scatter"]
    assert box.width == pytest.approx(0.3 * plot.width, abs=2) and box.height == pytest.approx(0.4 * plot.height, abs=2)
    edge = window.image()[int(box.y + box.height / 2), int(box.x) - 1 : int(box.x) + 2].astype(int)
    assert (np.abs(edge - (255, 140, 20)).max(-1) < 60).any(), "no edge in the colour of what is selected"
    assert (before != window.image()).any()
    exact = between(window, COUPLER, *ends(window, COUPLER)) & between(window, SWING, *ends(window, SWING))
    np.testing.assert_array_equal(explorer.selected, exact)
    np.testing.assert_array_equal(explorer.table.mask(explorer.brush_typed), exact)
    assert len(explorer.brush_typed) < 80, "the ends have as few digits as a pixel needs"


def test_a_brush_is_moved_as_a_whole(window: Offscreen) -> None:
    explorer = window.state.explorer
    open_tab(window, "Scatter")
    window.drag(inside("study:scatter", 0.2, 0.3), inside("study:scatter", 0.4, 0.6))
    window.frames()
    (left, right), (low, high) = ends(window, COUPLER), ends(window, SWING)
    x, y = inside("brush:scatter:0", 0.5, 0.5)
    plot = ui.item_boxes["study:scatter"]
    window.drag((x, y), (x + 0.2 * plot.width, y - 0.1 * plot.height))
    window.frames()
    assert len(explorer.brushes) == 1
    across, up = 0.2 * shown(window, 0), 0.1 * shown(window, 1)
    assert ends(window, COUPLER) == pytest.approx((left + across, right + across), abs=PIXEL * shown(window, 0))
    assert ends(window, SWING) == pytest.approx((low + up, high + up), abs=PIXEL * shown(window, 1))
    exact = between(window, COUPLER, *ends(window, COUPLER)) & between(window, SWING, *ends(window, SWING))
    np.testing.assert_array_equal(explorer.selected, exact)
    np.testing.assert_array_equal(explorer.table.mask(explorer.brush_typed), exact)


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_each_end_is_moved_alone(window: Offscreen, side: float) -> None:
    """Of a scatter plot and of a histogram; an end may pass the other one."""
    open_tab(window, "Scatter")
    window.drag(inside("study:scatter", 0.4, 0.3), inside("study:scatter", 0.6, 0.6))
    window.frames()
    before, height = ends(window, COUPLER), ends(window, SWING)
    x, y = inside("brush:scatter:0", side, 0.5)
    window.drag((x, y), (x + 30, y))
    window.frames()
    by = 30 / ui.item_boxes["study:scatter"].width * shown(window, 0)
    wanted = (before[0] + by, before[1]) if side == 0.0 else (before[0], before[1] + by)
    assert ends(window, COUPLER) == pytest.approx(wanted, abs=PIXEL * shown(window, 0))
    assert ends(window, SWING) == height
    open_tab(window, "Histogram")
    x, y = inside("brush:histogram:0", side, 0.5)
    width = ui.item_boxes["brush:histogram:0"].width
    far = 2 * width if side == 0.0 else -2 * width
    fixed, drawn = height[1] if side == 0.0 else height[0], ends(window, SWING)
    window.drag((x, y), (x + far, y))
    window.frames()
    low, high = ends(window, SWING)
    assert fixed == (low if side == 0.0 else high), "what was the other end"
    assert high - low == pytest.approx(drawn[1] - drawn[0], rel=0.1)


def test_brushes_on_parallel_axes(window: Offscreen) -> None:
    """One that asks for two columns is seen on both axes, and moved on either."""
    explorer = window.state.explorer
    explorer.set_axes([COUPLER, SWING])
    selecting.type_brushes(window.state, f"0.2 <= {SWING} <= 0.6")
    open_tab(window, "Parallel axes")
    low, high = explorer.table.span(SWING)
    x, y = inside("brush:parallel:0", 0.5, 1.0)
    plot = ui.item_boxes["study:parallel"]
    window.drag((x, y), (x, y - 20))
    window.frames()
    by = 20 / plot.height * 1.24 * (high - low)  # the axes have margins of 12 % below and above
    assert ends(window, SWING) == pytest.approx((0.2, 0.6 + by), abs=PIXEL * (high - low))
    first = 0.35 / (2 - 0.3)
    window.drag(inside("study:parallel", first - 0.03, 0.2), inside("study:parallel", first + 0.03, 0.8),
                modifiers=CTRL)  # fmt: skip
    window.frames()
    assert {one.column for one in explorer.brushes[0].ranges} == {COUPLER, SWING} and len(explorer.brushes) == 1


def test_shift_adds_a_brush_and_the_text_has_both(window: Offscreen) -> None:
    explorer = window.state.explorer
    open_tab(window, "Histogram")
    window.drag(inside("study:histogram", 0.1, 0.5), inside("study:histogram", 0.2, 0.6))
    window.drag(inside("study:histogram", 0.15, 0.5), inside("study:histogram", 0.7, 0.6), modifiers=SHIFT)
    window.frames()
    assert len(explorer.brushes) == 2 and " or " in explorer.brush_typed
    assert {"brush:histogram:0", "brush:histogram:1"} <= set(ui.item_boxes)
    np.testing.assert_array_equal(explorer.table.mask(explorer.brush_typed), explorer.selected)
    window.click("select none")
    window.frames()
    assert explorer.brushes == () and not explorer.selected.any() and explorer.brush_typed == ""


def test_the_text_of_brushes_is_edited(window: Offscreen) -> None:
    explorer = window.state.explorer
    open_tab(window, "Histogram")
    window.click("brushes")
    window.type("swing >= 0.25")
    window.key("Enter")
    window.frames(2)
    assert ends(window, SWING) == (0.25, np.inf) and "brush:histogram:0" in ui.item_boxes
    np.testing.assert_array_equal(explorer.selected, explorer.table.column(SWING) >= 0.25)
    window.click("brushes")
    window.key("End")
    window.type(" and swing <")
    window.key("Enter")
    window.frames()
    assert "wrong brushes" in ui.item_boxes and ends(window, SWING) == (0.25, np.inf), "nothing was changed"
    explorer.brush_typed = ""
    window.click("brushes")
    window.type("member < 3 or not kept")
    window.key("Enter")
    window.frames(2)
    assert explorer.selected.sum() == explorer.table.mask("member < 3 or not kept").sum() > 3
    assert "brush:histogram:0" not in ui.item_boxes, "it has no ends that could be drawn"


def test_members_that_come_back_are_selected_again(window: Offscreen) -> None:
    explorer = window.state.explorer
    selecting.type_brushes(window.state, "swing >= 0.25")
    exact = explorer.selected.copy()
    selecting.show(window.state, "member < 100")
    assert explorer.selected.sum() == exact[:100].sum()
    selecting.show(window.state, "")
    np.testing.assert_array_equal(explorer.selected, exact)


def test_brushes_are_saved_with_the_view(
    window: Offscreen, many_members: ViewedStudy, many_scene: Scene, tmp_path: Path
) -> None:
    explorer = window.state.explorer
    selecting.type_brushes(window.state, f"0.2 <= swing <= 0.6 and {COUPLER} <= 1.1 or swing >= 0.8")
    window.frames()
    saved.save(window.state, tmp_path / "brushed.json")
    with Offscreen(WindowState(MemberScenes(many_members, many_scene), look=FAST), SIZE) as other:
        saved.load(other.state, tmp_path / "brushed.json")
        other.frames(2)
        again = other.state.explorer
        assert again.brushes == explorer.brushes and again.brush_typed == explorer.brush_typed
        np.testing.assert_array_equal(again.selected, explorer.selected)
        open_tab(other, "Histogram")
        assert {"brush:histogram:0", "brush:histogram:1"} <= set(ui.item_boxes)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0.2 <= swing <= 0.6", "0.2 <= swing <= 0.6"),
        ("swing >= .2 and swing <= 6e-1", "0.2 <= swing <= 0.6"),
        ("-1.5 <= swing", "swing >= -1.5"),
        ("swing <= 0.5 or member >= 10 and swing >= 1", "swing <= 0.5 or member >= 10.0 and swing >= 1.0"),
    ],
)
def test_ranges_are_read_and_written(window: Offscreen, text: str, written: str) -> None:
    table = window.state.explorer.table
    brushes = brushes_of(text, table)
    assert all(brush.ranges and not brush.query for brush in brushes)
    assert text_of(brushes, window.state.explorer.short) == written and brushes_of(written, table) == brushes
    mask = np.logical_or.reduce([brush.mask(table) for brush in brushes])
    np.testing.assert_array_equal(mask, table.mask(text))


@pytest.mark.parametrize("text", ["swing < 0.5", "2 * swing <= 1", "(swing <= 1)", "status == 'ok'", "3,7", "worst:5"])
def test_other_choices_are_brushes_of_their_own(window: Offscreen, text: str) -> None:
    table = window.state.explorer.table
    assert brushes_of(text, table) == (Brush((), text),)
    np.testing.assert_array_equal(Brush((), text).mask(table), table.mask(text))
    with pytest.raises(ModelError):
        brushes_of("swung >= 1", table)


def test_ends_have_digits_of_a_pixel() -> None:
    assert rounded(0.123456789, 1.0) == 0.1235 and rounded(1234.56789, 2e4) == 1235.0
    assert rounded(1.23456789e-7, 3e-7) == pytest.approx(1.2346e-7, rel=1e-9) and rounded(np.inf, 1.0) == np.inf
    assert Brush((Range("a", 0.0, 1.0),)).moved("a", 2.0, 1.5).ranges == (Range("a", 1.5, 2.0),)

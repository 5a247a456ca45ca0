"""Panes whose borders are dragged: they grow and shrink, the view never vanishes, a double click undoes it."""

from collections.abc import Iterator

import pytest

from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.layout import PaneLayout, Sizes, layout
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from tests.scenes.bars import stored

SIZE = (1000, 560)
GRIP = 3.0  # points: half a border, where a drag may begin


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> WindowState:
    study = stored(tmp_path_factory.mktemp("study"))
    return WindowState(MemberScenes(study), look=FAST)


@pytest.fixture
def window(state: WindowState) -> Iterator[Offscreen]:
    state.panels.sizes = Sizes()
    with Offscreen(state, SIZE) as screen:
        yield screen


def whole(found: PaneLayout, size: tuple[int, int]) -> None:
    """The panes fill the window without overlap, and the view is a fifth of it at least."""
    assert found.tree.width + found.view.width + found.properties.width == pytest.approx(size[0])
    assert found.view.x == pytest.approx(found.tree.width)
    assert found.properties.x == pytest.approx(found.view.x + found.view.width)
    assert found.timeline.y == pytest.approx(found.view.y + found.view.height)
    assert found.status.y + found.status.height == pytest.approx(size[1])
    assert min(found.tree.width, found.properties.width, found.timeline.height) >= 40
    assert found.view.width >= 0.199 * size[0] and found.view.height > 0.15 * size[1]


@pytest.mark.parametrize("wanted", [-50.0, 0.0, 200.0, 800.0, 1e9])
@pytest.mark.parametrize("name", ["tree", "properties", "timeline"])
def test_the_view_never_vanishes(name: str, wanted: float) -> None:
    for size in ((1280, 800), (400, 300)):
        found = layout(*size, 20, Sizes(**{name: wanted}), panes=True)
        whole(found, size)
        whole(layout(*size, 20, Sizes(wanted, wanted, wanted), panes=True), size)


def test_sizes_that_nobody_dragged_are_the_old_ones() -> None:
    assert layout(1280, 800, 20, panes=True) == layout(1280, 800, 20, Sizes(), panes=True)
    assert layout(1280, 800, 20, Sizes(500.0), panes=False).view.width == 1280


def test_drags_of_the_three_borders(window: Offscreen) -> None:
    before = window.screen.layout
    camera = window.state.view.camera
    _, y = window.position("border:tree")
    window.drag("border:tree", (400.0, y))
    assert window.screen.layout.tree.width == pytest.approx(400, abs=GRIP)
    window.drag("border:properties", (900.0, y))
    assert window.screen.layout.properties.width == pytest.approx(100, abs=GRIP)
    window.drag("border:timeline", (500.0, 400.0))
    assert window.screen.layout.timeline.y == pytest.approx(400, abs=GRIP)
    whole(window.screen.layout, SIZE)
    found = window.state.view.camera
    assert (found.azimuth, found.elevation) == (camera.azimuth, camera.elevation), "a drag of a border turned the scene"
    assert window.state.view.is_fitted, "a drag of a border moved the camera, as if by hand"
    assert window.screen.view_image().shape[1] == round(window.screen.layout.view.width)
    for name in ("tree", "properties", "timeline"):
        window.click(f"border:{name}", times=2)
    assert window.screen.layout == before and window.state.panels.sizes == Sizes()


def test_a_drag_beyond_the_other_side_stops(window: Offscreen) -> None:
    _, y = window.position("border:tree")
    window.drag("border:tree", (5000.0, y))
    whole(window.screen.layout, SIZE)
    window.drag("border:tree", (-50.0, y))
    whole(window.screen.layout, SIZE)


def test_letters_and_panes_grow_together(window: Offscreen) -> None:
    """On a dense screen whose points are pixels everything is twice as large, as far as there is room."""
    row, timeline = ui.item_boxes["row:body:four_bar:crank"].height, window.screen.layout.timeline.height
    window.state.panels.zoom = 2.0
    try:
        window.frames(2)
        assert ui.item_boxes["row:body:four_bar:crank"].height > 1.6 * row
        assert window.screen.layout.timeline.height == 2 * timeline
        whole(window.screen.layout, SIZE)
    finally:
        window.state.panels.zoom = 1.0


def test_without_panes_there_are_no_borders(window: Offscreen) -> None:
    window.key("Tab")
    window.frames()
    assert not any(name.startswith("border:") for name in ui.item_boxes)
    assert window.screen.layout.view.width == SIZE[0]

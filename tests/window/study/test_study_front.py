"""The front of the members shown in the study pane: marked in the scatter plot, of other metrics, selected."""

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes.study import front_mark
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.members.pareto import nondominated
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import COUPLER, LATE, SWING
from tests.support.windows import open_tab, with_study_pane

SIZE = (1100, 860)
PINK = np.array([242, 51, 191])


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        screen.state.explorer.x, screen.state.explorer.y = COUPLER, SWING
        open_tab(screen, "Scatter")
        yield screen


def pink(window: Offscreen) -> int:
    """Pixels of the plot in the colour of the front."""
    box = ui.item_boxes["study:scatter"]
    rows, columns = slice(int(box.y), int(box.y + box.height)), slice(int(box.x), int(box.x + box.width))
    return int((np.abs(window.image()[rows, columns].astype(int) - PINK).max(-1) < 40).sum())


def front_of(window: Offscreen, **signs: float) -> np.ndarray:
    explorer = window.state.explorer
    points = np.stack([sign * explorer.table.column(name) for name, sign in signs.items()], axis=1)
    points[~explorer.shown] = np.nan
    return nondominated(points)


def test_the_front_of_both_axes_is_marked_and_selected(window: Offscreen) -> None:
    state, explorer = window.state, window.state.explorer
    assert pink(window) == 0 and "front of" not in ui.item_boxes
    window.click("front")
    window.frames(2)
    exact = front_of(window, **{COUPLER: 1.0, SWING: 1.0})
    assert pink(window) > 40
    np.testing.assert_array_equal(explorer.front_mask(), exact)
    words = front_mark.summary(explorer)
    assert (
        words.startswith(f"{exact.sum()} on the front of coupler.mass, swing: small ") and "is taken as good" in words
    )
    window.click("select front")
    window.frames()
    np.testing.assert_array_equal(explorer.selected, exact)
    assert explorer.brush_typed == "pareto(coupler.mass, swing)"
    selecting.show(state, "swing > 0.4")
    selecting.front(state)
    np.testing.assert_array_equal(explorer.selected, front_of(window, **{COUPLER: 1.0, SWING: 1.0}))
    assert explorer.selected.any() and not (explorer.selected & ~explorer.shown).any()
    window.click("front")
    window.frames()
    selecting.clear(state)
    window.frames()
    assert pink(window) == 0


def test_the_front_of_typed_metrics(window: Offscreen) -> None:
    explorer = window.state.explorer
    window.click("front")
    window.click("front of")
    window.type("-swing, late, coupler.mass")
    window.key("Enter")
    window.frames(2)
    np.testing.assert_array_equal(explorer.front_mask(), front_of(window, **{SWING: -1.0, LATE: 1.0, COUPLER: 1.0}))
    assert pink(window) > 40 and "wrong front" not in ui.item_boxes
    before = explorer.front_mask()
    window.click("front of")
    window.key("End")
    window.type(", sving")
    window.key("Enter")
    window.frames()
    assert "wrong front" in ui.item_boxes and "sving" in explorer.front.wrong
    np.testing.assert_array_equal(explorer.front_mask(), before)

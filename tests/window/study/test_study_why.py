"""The tab "Why?": what makes the selected members different, as bars that lead to histograms."""

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gui.actions.members import choosing, selecting
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.derived.comparison import Comparison
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.members.differences import difference
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import COUPLER, CRANK, KEPT, LATE, MEMBERS, ROCKER, SWING
from tests.support.windows import open_tab, with_study_pane

SIZE = (1300, 860)
LONG = 60.0  # s, in which every column is compared


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        yield screen


def coloured(window: Offscreen, column: str) -> tuple[int, int]:
    """Pixels left and right of the middle of a bar that have its colour: blue or orange."""
    box = ui.item_boxes[f"bar:{column}"]
    picture = window.image()[int(box.y) : int(box.y + box.height), int(box.x) : int(box.x + box.width)].astype(int)
    strong = picture.max(-1) - picture.min(-1) > 80
    middle = strong.shape[1] // 2
    return int(strong[:, : middle - 2].sum()), int(strong[:, middle + 2 :].sum())


def test_bars_say_which_numbers_differ(window: Offscreen) -> None:
    selecting.type_brushes(window.state, f"{SWING} > 0.5")
    open_tab(window, "Why?")
    window.frames(3)
    comparison = window.state.pane_data(Comparison)
    assert comparison.words.endswith("other members shown") and " selected against " in comparison.words
    found = comparison.of([COUPLER, CRANK, ROCKER])
    assert [one.column for one in found] == [CRANK, ROCKER, COUPLER]
    left, right = coloured(window, CRANK)
    assert right > 50 > left
    left, right = coloured(window, ROCKER)
    assert left > 50 > right
    assert sum(coloured(window, COUPLER)) < 50, "the mass moves nothing"
    heights = [ui.item_boxes[f"why:{column}"].y for column in (CRANK, ROCKER, COUPLER)]
    assert heights == sorted(heights) and ui.item_boxes[f"why:{SWING}"].y == heights[0]
    window.click(f"why:{ROCKER}")
    window.frames(2)
    assert window.state.explorer.tab == "histogram" and window.state.explorer.bars == ROCKER
    assert "study:histogram" in ui.item_boxes


def test_nothing_to_compare_is_said(window: Offscreen) -> None:
    open_tab(window, "Why?")
    selecting.type_brushes(window.state, "all")
    window.frames(2)
    assert "nothing to compare" in ui.item_boxes
    window.resize((700, 860))
    selecting.type_brushes(window.state, f"{SWING} > 0.5")
    window.frames(3)
    assert ui.item_boxes[f"why:{SWING}"].y > ui.item_boxes[f"why:{CRANK}"].y, "one block below the other"


def test_the_chosen_members_where_nobody_is_selected(many_members: ViewedStudy, many_scene: Scene) -> None:
    state = WindowState(MemberScenes(many_members, many_scene))
    choosing.choose(state, "worst:10:swing of kept")
    comparison = Comparison()
    calls = 1
    while not comparison.look(state, seconds=0.0):
        calls += 1
    assert calls == len(state.study.design) + len(state.study.metrics), "one column a call where there is no time"
    assert comparison.words == f"10 chosen against {MEMBERS - 10:,} other members shown"
    group = np.isin(np.arange(MEMBERS), state.choice.chosen)
    assert comparison.of([SWING]) == [difference(state.explorer.table, SWING, group, ~group)]
    selecting.show(state, "kept")
    comparison.look(state, seconds=LONG)
    assert comparison.of([LATE])[0].others == KEPT - 10
    selecting.select(state, np.arange(MEMBERS) < MEMBERS // 2)
    comparison.look(state, seconds=LONG)
    assert comparison.words == f"{KEPT // 2} selected against {KEPT // 2} other members shown"

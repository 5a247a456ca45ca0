"""Narrow windows: rows of controls wrap, panes go below each other, nothing is beyond an edge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.formats.files import load
from shiftjax.run.live import Live
from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.layout import Box, layout
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.explorer import TABS
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.live_channels import followed
from shiftjax.viewer.motion.session import Session
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import SWING

SIZES = [(640, 480), (800, 600), (1100, 760)]
LENGTH = "four_bar:crank:tip.T[0]"
TIMELINE = ("to_start", "play", "to_end", "time", "duration", "slower", "faster", "looped", "previous_member",
            "next_member", "beside", "members", "examples member", "ghosts", "colour_by")  # fmt: skip
STUDY = ("expression", "examples", "show all members", "fit", "grid", "counts", "select none", "brushes", "set name",
         "keep set", "tab:Histogram")  # fmt: skip
OF_TAB = {
    "table": ("columns", "select first"),
    "scatter": ("axis:x", "axis:y", "axis:colour", "front", "hint", "study:scatter"),
    "parallel": ("axes", "hint", "study:parallel"),
    "histogram": ("axis:bars", "hint", "study:histogram"),
    "designs": (
        "design:simulate the design",
        "design:nearest member",
        "sliders at member",
        "design beside",
        "no design",
        "more like these",
        "nearest",
        f"design slider:{LENGTH}",
        f"design typed:{LENGTH}",
    ),
    "why": ("compared", "hint", f"why:{LENGTH}", f"why:{SWING}"),
}
LEAST = 50.0  # points: height of a plot in which something can be seen and brushed


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def window(many_members: ViewedStudy, request: pytest.FixtureRequest) -> Iterator[Offscreen]:
    with Offscreen(WindowState(MemberScenes(many_members), look=FAST), request.param) as screen:
        screen.state.panels.sides_on = True
        screen.frames(3)
        yield screen


def within(name: str, pane: Box) -> None:
    """A drawn thing is wholly in its pane."""
    box = ui.item_boxes[name]
    assert box.x >= pane.x and box.x + box.width <= pane.x + pane.width + 0.5, f"{name} is cut at a side"
    assert box.y >= pane.y and box.y + box.height <= pane.y + pane.height + 0.5, f"{name} is cut above or below"


def test_all_controls_of_the_time_line_are_in_it(window: Offscreen) -> None:
    for name in TIMELINE:
        within(name, window.screen.layout.timeline)
    window.click("beside")
    window.frames(3)
    for name in (*TIMELINE, "beside_member"):
        within(name, window.screen.layout.timeline)


@pytest.mark.parametrize("tab", TABS)
def test_all_controls_of_the_study_pane_are_in_it(window: Offscreen, tab: str) -> None:
    state = window.state
    state.explorer.shown_on = True
    state.explorer.open_tab(tab)
    selecting.type_brushes(state, f"{SWING} >= 0.5")
    window.frames(4)
    pane = window.screen.layout.study
    for name in (*STUDY, *OF_TAB[tab]):
        within(name, pane)
    if tab not in ("table", "why", "designs"):
        assert ui.item_boxes[f"study:{tab}"].height >= LEAST
    for name in TIMELINE:
        within(name, window.screen.layout.timeline)


def test_the_tree_and_the_properties_can_be_read(window: Offscreen) -> None:
    state, boxes = window.state, window.screen.layout
    state.pick_path("four_bar:crank_pivot")
    window.frames(3)
    cut = [name for name in ui.item_boxes if name.startswith("cut:")]
    assert not cut, "texts of the tree or the properties are cut"
    for name in ("search", "tab:Simulation"):
        within(name, boxes.tree)
    for name in (name for name in ui.item_boxes if name.startswith("value:")):
        assert ui.item_boxes[name].x + ui.item_boxes[name].width <= boxes.properties.x + boxes.properties.width


def test_the_status_bar_leaves_out_what_there_is_no_room_for(window: Offscreen) -> None:
    state, bar = window.state, window.screen.layout.status
    state.study.at_instants = True
    try:
        state.go_to(0.5 * (state.study.time[0] + state.study.time[1]))
        window.frames(2)
        within("mode", bar)
        within("snapped", bar)
    finally:
        state.study.at_instants = False


@pytest.mark.parametrize("size", SIZES)
def test_a_live_run_has_all_its_controls(size: tuple[int, int]) -> None:
    live = Live("four_bar", vary=[LENGTH], channels=followed(load("four_bar")))
    with (
        Session(live, {LENGTH: (0.15, 0.25)}) as session,
        Offscreen(WindowState(MemberScenes(session.history), look=FAST, live=session), size) as window,
    ):
        window.state.panels.sides_on = True
        window.frames(3)
        pane = window.screen.layout.properties
        for name in ("restart", "restarts", f"slider:{LENGTH}"):
            within(name, pane)


def test_low_panes_stand_beside_each_other_and_narrow_ones_below() -> None:
    narrow, low = layout(640, 480, 20, panes=True), layout(640, 480, 20, panes=True, study=True)
    assert narrow.tree.width == narrow.properties.width == narrow.view.x > 250
    assert narrow.properties.y == narrow.tree.y + narrow.tree.height
    assert narrow.tree.height + narrow.properties.height == narrow.view.height
    assert low.properties.x == low.view.x + low.view.width and low.tree.height == low.view.height
    wide = layout(1280, 800, 20, panes=True)
    assert wide.properties.y == wide.tree.y and wide.timeline.height == 66.0
    assert layout(1280, 800, 20, panes=True, rows=90.0).timeline.height == 90.0


def test_long_captions_are_cut_into_lines(window: Offscreen) -> None:
    text = "crank:tip.T[0] 0.2 m, coupler.mass 1.2 kg\nrocker"
    lines = ui.lines_within(text, 100.0)
    assert " ".join(lines).split() == text.split() and lines[-1] == "rocker" and len(lines) > 3
    assert ui.lines_within(text, 1e4) == text.split("\n")
    assert np.all([len(line) for line in lines])

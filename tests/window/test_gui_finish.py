"""What makes the window pleasant: controls that stay, ticks, the axes in the corner, names that do not overlap."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.viewer.gui.actions import actions, looking
from shiftjax.viewer.gui.actions.saving import exporting
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import gizmo, labels
from shiftjax.viewer.gui.panes.timeline import ticks
from shiftjax.viewer.gui.state.layout import roomy
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.camera import VIEWS, Camera
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.viewer.export.test_views import read

SIZE = (1000, 640)


@pytest.fixture
def window(study: ViewedStudy, scene: Scene) -> Iterator[Offscreen]:
    with Offscreen(WindowState(MemberScenes(study, scene), look=FAST), SIZE) as screen:
        yield screen


@pytest.mark.parametrize(("first", "last"), [(0.0, 2.0), (0.0, 1e-3), (-1.5, 7.3), (3.0, 3e5)])
def test_ticks_are_round_and_few(first: float, last: float) -> None:
    found = ticks(first, last, 10)
    steps = np.diff(found)
    assert 3 <= len(found) <= 12 and first - 1e-9 <= found[0] and found[-1] <= last * (1 + 1e-9)
    assert np.allclose(steps, steps[0])
    assert round(steps[0] / 10 ** np.floor(np.log10(steps[0] * (1 + 1e-9))), 6) in (1, 2, 5)


def test_a_single_instant_has_no_ticks() -> None:
    assert ticks(1.0, 1.0, 10) == []


def test_controls_stay_while_numbers_change(window: Offscreen) -> None:
    """Playing, other speeds, members and cursor positions move no control."""
    names = ("step_forward", "time", "duration", "faster", "looped", "next_member", "members")
    window.frames()
    before = {name: ui.item_boxes[name] for name in names}
    state = window.state
    for speed, playing, member in ((1 / 16, True, 1), (16.0, False, 2)):
        state.clock.speed, state.clock.playing = speed, playing
        state.show_member(member)
        window.frames()
        assert {name: ui.item_boxes[name] for name in names} == before


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)])
def test_the_axes_point_as_the_camera_sees_them(up: tuple[float, float, float]) -> None:
    for view in VIEWS:
        camera = Camera.of((0.0, 0.0, 0.0), 1.0, up, view)
        found = {end.label: end for end in gizmo.ends(camera, up)}
        assert set(found) == {"x", "y", "z", "-x", "-y", "-z"}
        for k, label in enumerate("xyz"):
            right, above, towards = camera.axes()[:, k]
            assert (*found[label].place, found[label].depth) == pytest.approx((right, -above, towards))
        if view in gizmo.SIDES:
            nearest = gizmo.ends(camera, up)[-1]
            assert nearest.view == view, "the end that points at the eye is another one"


def test_a_click_on_an_end_of_an_axis(window: Offscreen) -> None:
    state = window.state
    window.click("axes:top")
    assert state.view.standard == "top" and state.selection.pick is None
    back = state.current_camera().axes()[2]
    assert back @ np.array(state.scene.up) == pytest.approx(1.0, abs=1e-4)


def test_names_do_not_overlap_and_the_pick_keeps_its_name(window: Offscreen) -> None:
    state = window.state
    actions.run(state, "names")
    looking.zoom(state, 0.0, -0.9)  # so far away that most names collide
    hidden = None
    for _ in range(2):
        window.frames(2)
        shown = {name: box for name, box in ui.item_boxes.items() if name.startswith("name:")}
        assert all(not a.overlaps(b) for a, b in itertools.combinations(shown.values(), 2))
        if hidden is None:
            left_out = [path for path, *_ in labels.label_points(state) if f"name:{path}" not in shown]
            assert left_out, "the names never collided"
            hidden = left_out[0]
            state.pick_path(hidden)
        else:
            assert f"name:{hidden}" in shown


def test_a_long_message_is_wrapped_over_the_view(window: Offscreen) -> None:
    window.state.say("word " * 120)
    window.frames(2)
    assert "message:close" in ui.item_boxes
    window.click("message:close")
    assert window.state.panels.message == "" and "message:close" not in ui.item_boxes


def test_escape_closes_a_menu_first(window: Offscreen) -> None:
    window.state.pick_path(window.state.scene.nodes[1])
    window.click("menu:Members")
    assert "menu:ghosts" in ui.item_boxes
    window.key("Escape")
    window.frames(2)
    assert "menu:ghosts" not in ui.item_boxes and window.state.selection.pick is not None


def test_a_small_window_begins_without_side_panes(window: Offscreen) -> None:
    """At 800 x 500 the view has the whole width and the timeline stays; Tab shows all panes, then none."""
    state = window.state
    assert roomy(*SIZE) and not roomy(800, 500)
    state.panels.sides_on = roomy(800, 500)
    window.resize((800, 500))
    window.frames(2)
    assert window.screen.layout.view.width == 800 and window.screen.layout.view.height > 350
    assert "play" in ui.item_boxes and "search" not in ui.item_boxes and "border:tree" not in ui.item_boxes
    window.key("Tab")
    assert "play" in ui.item_boxes and "search" in ui.item_boxes and window.screen.layout.view.width > 300
    window.key("Tab")
    assert "play" not in ui.item_boxes and "search" not in ui.item_boxes
    window.key("Tab")
    assert "play" in ui.item_boxes and "search" in ui.item_boxes


def ended(window: Offscreen) -> None:
    """Waits until no thread writes any more."""
    until = time.monotonic() + 120.0
    while window.state.awaited.work is not None:
        assert time.monotonic() < until
        window.frames(1)
        time.sleep(0.02)


def test_the_page_of_a_study_has_all_its_members(window: Offscreen, tmp_path: Path) -> None:
    """As that of `shiftjax export --html`: the numbers of all, the motion of the current one and of those kept."""
    study, shown = window.state.study, window.state.choice.member
    path = exporting.export(window.state, ".html", tmp_path)
    assert path is not None and window.state.awaited.text.startswith(f"exporting {path.name}: ")
    ended(window)
    data, _ = read(path.read_text(encoding="utf-8"))
    names = [int(member["name"]) for member in data["members"]]
    assert names[0] == shown and set(names) == {shown, *study.drawable(study.kept).ids.tolist()} and data["alone"]
    assert data["study"]["total"] == study.members > 1
    assert f"written: {path}" in window.state.panels.message


def test_a_page_that_is_written_can_be_cancelled(window: Offscreen, tmp_path: Path) -> None:
    window.frames(1)
    path = exporting.export(window.state, ".html", tmp_path)
    assert path is not None and exporting.label(window.state, ".html") == "Cancel the page"
    assert exporting.export(window.state, ".html", tmp_path) is None
    ended(window)
    assert f"not written: {path.name}, which was cancelled" in window.state.panels.message
    assert not [*tmp_path.iterdir()] and exporting.label(window.state, ".html") == "HTML"


def test_the_file_menu_exports(window: Offscreen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All kinds, of the member shown; a place that cannot be written to is told and leaves no file."""
    monkeypatch.chdir(tmp_path)
    for kind, begins in ((".html", b"<!"), (".glb", b"glTF"), (".dae", b"<?xml")):
        window.click("menu:File")
        window.move("menu:Export")
        window.frames(30)
        window.click(f"export:{kind}")
        (written,) = tmp_path.glob(f"*{kind}")
        ended(window)
        assert written.read_bytes()[: len(begins)].lower() == begins.lower()
        assert str(written) in window.state.panels.message
    assert shiftjax.load(written) == window.state.study.model_of(window.state.choice.member)
    assert exporting.export(window.state, ".glb", tmp_path / "nowhere") is None
    assert "nowhere" in window.state.panels.message

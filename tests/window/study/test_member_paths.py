"""The traced point's path of many members: against what was recorded, collected in portions, in colours of a metric."""

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import choosing, selecting, set_keeping
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import legend
from shiftjax.viewer.gui.picture import overlays
from shiftjax.viewer.gui.picture.snapshot import ghosts, snapshot
from shiftjax.viewer.gui.state.colours import of_set
from shiftjax.viewer.gui.state.derived import member_paths, pace
from shiftjax.viewer.gui.state.derived.member_paths import MemberPaths
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.ramp import ramp
from shiftjax.viewer.scene.scene import Scene, Strokes
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import KEPT, LATE, MEMBERS, SWING, TIP
from tests.support.windows import BARE

FRAME = "four_bar:coupler:tip"
LONG = 60.0  # s, in which all paths are collected
CLOSED = 1e-9  # of poses beside recorded places [m]


@pytest.fixture
def state(many_members: ViewedStudy, many_scene: Scene) -> WindowState:
    """Of a study in which nobody was simulated again."""
    return WindowState(MemberScenes(ViewedStudy.open(many_members.where), many_scene), look=BARE)


def traced(state: WindowState) -> tuple[MemberPaths, Strokes]:
    """The paths of a frame, all of them."""
    state.pick_path(FRAME)
    actions.run(state, "traces")
    paths = MemberPaths()
    lines = paths.look(state, LONG)
    assert lines is not None and state.choice.traces_on
    return paths, lines


def of_members(paths: MemberPaths, lines: Strokes) -> np.ndarray:
    """(members, lines, 2, 3) ends."""
    return lines.ends.reshape(len(paths.members), -1, 2, 3)


def test_paths_are_what_was_recorded(state: WindowState, many_members: ViewedStudy) -> None:
    """Of a frame, that of each member, whose place in the body is among the numbers that may be varied."""
    paths, lines = traced(state)
    assert sorted(paths.members.tolist()) == many_members.kept.tolist() and paths.collected == KEPT
    for member, drawn in zip(paths.members.tolist(), of_members(paths, lines), strict=True):
        recorded = many_members.channel(TIP, member)
        np.testing.assert_allclose(drawn[:, 0], recorded[:-1], atol=CLOSED)
        np.testing.assert_allclose(drawn[:, 1], recorded[1:], atol=CLOSED)
    assert paths.words() == f"paths of {KEPT} members"


def test_a_frame_is_that_of_each_member(state: WindowState) -> None:
    """The rocker's tip, whose place is varied, as a point of the first member's body is not that of the others."""
    state.pick_path("four_bar:rocker:tip")
    actions.run(state, "trace")
    actions.run(state, "traces")
    paths, pivot = MemberPaths(), np.array([0.5, 0.0, 0.0])
    lines = paths.look(state, LONG)
    assert lines is not None
    lengths = state.study.design["four_bar:rocker:tip.T[0]"][paths.members]
    away = np.linalg.norm(of_members(paths, lines) - pivot, axis=-1)
    np.testing.assert_allclose(away, np.broadcast_to(lengths[:, None, None], away.shape), atol=CLOSED)


def test_the_trace_of_a_frame_beside(state: WindowState) -> None:
    """In both halves it is the frame of the member shown there."""
    state.pick_path("four_bar:rocker:tip")
    actions.run(state, "trace")
    actions.run(state, "beside")
    right = state.beside
    assert right is not None and right.member != state.choice.member
    for half, member in ((None, state.choice.member), (right, right.member)):
        lines = overlays.trace(state, half)
        assert lines is not None
        length = state.study.value("four_bar:rocker:tip.T[0]", member)
        away = np.linalg.norm(lines.ends - np.array([0.5, 0.0, 0.0]), axis=-1)
        np.testing.assert_allclose(away, length, atol=CLOSED)


def test_members_without_a_trajectory_are_counted(state: WindowState, monkeypatch: pytest.MonkeyPatch) -> None:
    selecting.select(state, np.arange(MEMBERS) < MEMBERS // 2)
    paths, _ = traced(state)
    without = MEMBERS // 2 - KEPT // 2
    assert paths.words() == f"paths of {KEPT // 2} members, {without:,} of {MEMBERS // 2:,} have no trajectory"
    monkeypatch.setattr(member_paths, "MOST_PATHS", 5)
    state.choice.colour_by = SWING
    paths.look(state, LONG)
    swing = np.asarray(state.study.metrics[SWING])
    kept = state.study.kept[: KEPT // 2]
    assert len(paths.members) == 5 and np.ptp(swing[paths.members]) == np.ptp(swing[kept]), "they span the metric"
    assert f"paths of 5 members, spread over {KEPT // 2} with trajectories, " in paths.words()
    selecting.select(state, np.arange(MEMBERS) == 1)
    lines = paths.look(state, LONG)
    assert (
        lines is not None and not len(lines.ends) and paths.words() == "paths of 0 members, 1 of 1 have no trajectory"
    )


def test_a_member_that_never_started_is_counted(state: WindowState, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = type(state.study).track

    def track(study: ViewedStudy, member: int) -> np.ndarray:
        return whole(study, member if member else MEMBERS)  # ModelError: no such member

    monkeypatch.setattr(type(state.study), "track", track)
    paths, _ = traced(state)
    assert paths.unfinished
    paths.look(state, LONG)
    assert 0 not in paths.members and paths.words() == f"paths of {KEPT - 1} members, 1 of {KEPT} have no trajectory"
    paths.look(state, LONG)
    assert not paths.unfinished


def test_paths_are_collected_in_portions_and_kept(state: WindowState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_paths, "BLOCK", 7)
    state.pick_path(FRAME)
    actions.run(state, "traces")
    paths, counts = MemberPaths(), []
    while not counts or paths.unfinished:
        lines = paths.look(state, 0.0)
        counts.append(paths.collected)
        assert lines is not None and len(lines.ends) == paths.collected * (len(state.study.time) - 1)
        if paths.collected == 7:
            assert paths.words() == f"paths of 7 of {KEPT} members"
    assert counts == [7, 14, 21, 28, 35, 40, 40]
    assert paths.look(state, 0.0) is paths.look(state, 0.0), "the same lines while nothing changes"
    assert not lines.ends.flags.writeable and not lines.colours.flags.writeable
    selecting.select(state, state.explorer.table.mask("kept and swing > 0.3"))
    few = paths.look(state, 0.0)
    assert few is not lines and not paths.unfinished, "known paths are not read again"
    state.view.trace = (state.node["four_bar:crank"], np.array([0.1, 0.0, 0.0]))
    state.view.trace_frame = ""
    paths.look(state, 0.0)
    assert paths.unfinished and paths.collected == 7, "another point"
    actions.run(state, "traces")
    assert paths.look(state) is None and paths.words() == "" and not paths.unfinished


def test_a_metric_colours_paths_as_ghosts(state: WindowState) -> None:
    choosing.choose(state, "kept")
    state.choice.colour_by, state.choice.ghosts_on = LATE, True
    state.pick_path(FRAME)
    actions.run(state, "traces")
    paths = state.pane_data(MemberPaths)
    lines = paths.look(state, LONG)
    assert lines is not None
    late = np.asarray(state.study.metrics[LATE])
    colours = lines.colours.reshape(KEPT, -1, 4)
    np.testing.assert_allclose(colours[:, 0, :3], ramp(late[paths.members]))
    assert (colours == colours[:, :1]).all(), "one colour a path"
    drawn = ghosts(state)
    assert drawn is not None and drawn.members is not None
    limits = float(late[state.study.kept].min()), float(late[state.study.kept].max())
    np.testing.assert_allclose(drawn.colours[:, :3], ramp(late[drawn.members], limits))
    scale = legend.scale(state)
    assert scale == (f"ghosts and paths: {LATE} [rad]", *limits)
    assert (None, f"paths of {KEPT} members") in legend.lines(state)
    state.choice.colour_by = ""
    selecting.select(state, np.arange(MEMBERS) < MEMBERS // 2)
    set_keeping.keep(state, "half")
    selecting.clear(state)
    choosing.choose(state, "kept")
    lines = paths.look(state, LONG)
    assert lines is not None
    inside = (np.abs(lines.colours[:, :3] - of_set(0)[:3]).max(1) < 1e-12).reshape(KEPT, -1).all(1)
    np.testing.assert_array_equal(inside, paths.members < MEMBERS // 2)


def test_nothing_is_traced_without_a_point(state: WindowState) -> None:
    actions.run(state, "traces")
    assert not state.choice.traces_on and "Pick a point" in state.panels.messages[-1]
    assert snapshot(state).paths is None


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with Offscreen(WindowState(MemberScenes(many_members, many_scene), look=BARE), (900, 700)) as screen:
        screen.frames(2)
        yield screen


def test_paths_in_the_view_are_uploaded_once(window: Offscreen, monkeypatch: pytest.MonkeyPatch) -> None:
    state, before = window.state, window.screen.view_image()
    state.pick_path(FRAME)
    state.choice.colour_by = SWING
    uploads: list[Strokes] = []
    draw = Renderer._draw_paths

    def drawn(renderer: Renderer, paths: Strokes) -> None:
        if paths is not renderer._uploaded_paths:
            uploads.append(paths)
        draw(renderer, paths)

    monkeypatch.setattr(Renderer, "_draw_paths", drawn)
    window.key("T", (True, False, True))
    while state.pane_data(MemberPaths).unfinished:
        assert pace.moving(state)
        window.frames()
    window.frames(2)
    after = window.screen.view_image().astype(int)
    strong = (after.max(-1) - after.min(-1) > 60) & (np.abs(after - before).max(-1) > 40)
    assert strong.sum() > 300, "the lines are seen"
    count = len(uploads)
    state.clock.playing = True
    window.frames(4)
    assert len(uploads) == count, "they stay on the card while time goes on"
    assert "legend:ghosts" in ui.item_boxes

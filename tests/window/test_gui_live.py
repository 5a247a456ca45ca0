"""The window beside a running simulation: play, pause, scrub, sliders, pulling; driven by injected input."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.poses import to_world
from shiftjax.run.live import Live
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import choosing
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.live_history import History
from shiftjax.viewer.motion.session import Session
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from tests.scenes.bars import COUPLER
from tests.support.windows import beside_a_run, draw_until, draw_while_playing

LENGTH = "four_bar:crank:tip.T[0]"
CTRL: Modifiers = (True, False, False)
SIZE = (1000, 560)


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(Live("four_bar", vary=[LENGTH], channels=["crank_pivot.q"]), {LENGTH: (0.15, 0.25)}) as made:
        yield made


@pytest.fixture
def window(session: Session) -> Iterator[Offscreen]:
    with beside_a_run(session, SIZE) as screen:
        yield screen


def test_space_lets_the_run_go_and_stops_it(window: Offscreen, session: Session) -> None:
    state = window.state
    assert state.clock.time == 0.0 and not session.running
    window.key("Space")
    draw_until(window, 0.2)
    assert state.clock.playing and session.running
    window.key("Space")
    window.frames()
    session.settle()
    window.frames(2)
    assert not session.running and state.clock.time == session.history.time[-1] == state.span[1]
    np.testing.assert_allclose(state.poses(), session.history.poses(0, state.span[1]))


def test_the_past_can_be_looked_at_and_gone_on_from(window: Offscreen, session: Session) -> None:
    state = window.state
    window.key("Space")
    draw_until(window, 0.5)
    state.clock.set_speed(1 / 16)  # so that what follows takes little of the run's time on any machine
    state.go_to(0.2)
    window.frames(2)
    session.settle()
    assert state.clock.time == pytest.approx(0.2) and not state.clock.playing and state.span[1] >= 0.5
    window.key("Space")
    window.frames()
    window.key("Space")
    window.frames()
    session.settle()
    window.frames()
    assert state.span[1] < 0.45, "the run did not go on from the instant that was looked at"


def test_a_single_step_makes_the_next_instant(window: Offscreen, session: Session) -> None:
    window.key("Right")
    session.settle()
    window.frames()
    assert window.state.clock.time == pytest.approx(0.017) and not session.running
    window.key("Left")
    assert window.state.clock.time == 0.0
    window.key("Right")
    assert window.state.clock.time == pytest.approx(0.017) and len(session.history.time) == 2


def test_a_slider_changes_the_running_design(window: Offscreen, session: Session) -> None:
    """Its right end is the highest number; the run goes on, or begins again where that is asked for."""
    state, box = window.state, ui.item_boxes[f"slider:{LENGTH}"]
    actions.run(state, "step_forward")
    session.settle()
    window.frames()
    window.drag(f"slider:{LENGTH}", (box.x + box.width + 20, box.y + box.height / 2))
    session.settle()
    window.frames()
    assert session.values[LENGTH] == pytest.approx(0.25) and state.clock.time == pytest.approx(0.017)
    tip = np.linalg.norm(
        to_world(state.body_poses()["four_bar:crank"], np.array([0.25, 0.0, 0.0])) - state.body_poses()[COUPLER][:3]
    )
    assert tip < 1e-9, "the coupler does not begin where the longer crank ends"
    window.click("restarts")
    window.drag(f"slider:{LENGTH}", (box.x + box.width / 2, box.y + box.height / 2))
    session.settle()
    window.frames()
    assert state.clock.time == 0.0 and session.values[LENGTH] < 0.25
    actions.run(state, "step_forward")
    session.settle()
    window.key("R", CTRL)
    session.settle()
    window.frames()
    assert state.clock.time == 0.0 and list(session.history.time) == [0.0]


def test_dragging_pulls_the_body_under_the_cursor(window: Offscreen, session: Session) -> None:
    """The hand stays under the cursor, the body follows it, and is let go with the button."""
    state, view = window.state, window.screen.layout.view
    session.advance(0.0, 0.1)  # where it is then can be reached
    session.settle()
    goal = dict(zip(state.study.nodes, state.study.poses(0, 0.1), strict=True))[COUPLER]
    session.restart()
    session.settle()
    actions.run(state, "front")
    window.frames()

    def pixel(point: np.ndarray) -> tuple[float, float]:
        """Of the window."""
        x, y = state.current_camera().pixel(point, (round(view.width), round(view.height)))
        return x + view.x, y + view.y

    places = [np.array([part, 0.0, 0.0]) for part in np.linspace(0.1, 0.4, 16)]
    here = [pixel(to_world(state.body_poses()[COUPLER], place)) for place in places]
    screen = window.screen
    k = next(k for k, (x, y) in enumerate(here) if screen.pointer._hit(x - view.x, y - view.y).path == COUPLER)
    start, end = here[k], pixel(to_world(goal, places[k]))
    screen.mouse_move(*start)
    screen.mouse_button("Left", *start, CTRL, 0.0, down=True)
    screen.mouse_move(*end)
    assert session.pull is not None and session.pull[0] == COUPLER and state.selection.pick == COUPLER
    np.testing.assert_allclose(pixel(session.pull[2]), end, atol=1.0)
    before = window.image()
    window.frames()
    assert (np.abs(window.image().astype(int) - before).max(axis=2) > 30).sum() > 40, "no line from body to hand"
    body, point, target = session.pull
    far = np.linalg.norm(to_world(state.body_poses()[body], point) - target)
    session.advance(0.0, 4.0)
    session.settle()
    window.frames()
    near = np.linalg.norm(to_world(state.body_poses()[body], point) - target)
    assert near < 0.5 * far, "the body did not follow the hand"  # it hangs a little below
    screen.mouse_button("Left", *end, CTRL, 1.0, down=False)
    assert session.pull is None


def test_manipulating_in_the_workbench_map_pulls_too(window: Offscreen, session: Session) -> None:
    state, view = window.state, window.screen.layout.view
    state.map = "workbench"
    state.pick_path(COUPLER)
    assert state.selection.mode == "manipulate" and not state.panels.messages
    eye = state.view.camera
    window.drag((view.x + view.width / 2, view.y + view.height / 2), (view.x + view.width / 2 + 30, view.y + 90))
    assert state.view.camera == eye, "the scene turned instead"
    actions.run(state, "mode")
    window.drag((view.x + view.width / 2, view.y + view.height / 2), (view.x + view.width / 2 + 30, view.y + 90))
    assert state.view.camera != eye


def test_a_stored_study_is_not_pulled(tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.scenes.bars import stored

    study = stored(tmp_path_factory.mktemp("study"))
    state = WindowState(MemberScenes(study), look=FAST)
    actions.HOLD["pull"].begin(state, actions.Hit(COUPLER, np.zeros(3)))
    assert "--live" in state.panels.messages[-1]


def test_a_run_that_ends_by_itself_stops_at_its_end(
    window: Offscreen, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window shows the last instant and plays no more; playing again says why."""
    state, engine = window.state, session._engine
    advance = engine.advance

    def advance_to_the_end(seconds: float) -> None:
        advance(seconds)
        engine.ended = "the end"  # in the thread of the run, which says itself after each advance whether it ended

    window.key("Space")
    draw_until(window, 0.1)
    monkeypatch.setattr(engine, "advance", advance_to_the_end)
    draw_while_playing(window)
    window.frames()
    assert not session.running and state.clock.time == state.span[1]
    assert state.panels.messages.count("the end") == 1
    window.key("Space")
    draw_while_playing(window)
    window.frames()
    assert state.panels.messages.count("the end") == 2


def test_plots_grow_with_the_run(window: Offscreen, session: Session) -> None:
    session.advance(0.0, 0.5)
    session.settle()
    window.frames(2)
    box = ui.item_boxes["plot:crank_pivot.q"]
    window.click((box.x + 0.5 * box.width, box.y + 0.5 * box.height))
    rows = slice(int(box.y), int(box.y + box.height))
    curve = window.image()[rows, int(box.x + 0.2 * box.width) : int(box.x + 0.8 * box.width)].astype(int)
    assert (np.ptp(curve, axis=2) > 60).any(axis=0).mean() > 0.8, "no curve over the width of the plot"


def test_another_member_keeps_the_shapes_of_now(window: Offscreen, session: Session) -> None:
    """One scene, by whatever way it is asked for; back at the first number it is the first again."""
    state = window.state
    first = state.scene
    for value, same in ((0.24, False), (0.2, True)):
        session.change(LENGTH, value)
        session.settle()
        window.frames()
        shown = state.scene
        choosing.choose(state, "all")
        assert (state.scene is first) == same
        assert all(
            np.array_equal(a.transform, b.transform) for a, b in zip(shown.parts, state.scene.parts, strict=True)
        )


def test_what_stops_a_run_is_told_and_the_window_lives_on(window: Offscreen, session: Session) -> None:
    session.change(LENGTH, 9.0)
    session.settle()
    window.frames()
    assert any("stay open" in text for text in window.state.panels.messages)
    with pytest.raises(ModelError):
        Session(Live("four_bar"), {LENGTH: (0.1, 0.2)})


def test_a_loop_of_ones_own_is_watched() -> None:
    """D9: whoever computes poses writes a history, and draws frames when it suits them."""
    run = Live("pendulum")
    history = History(run.model, run.nodes, report=run.report)
    history.add(run.time, run.poses())
    with Offscreen(WindowState(MemberScenes(history), look=FAST), (640, 420)) as window:
        pictures = []
        for _ in range(3):
            run.advance(0.2)
            history.add(run.time, run.poses())
            window.state.go_to(run.time)
            window.frames()
            pictures.append(window.screen.view_image())
        np.testing.assert_allclose(window.state.poses(), run.poses(), atol=1e-12)
    assert all((a != b).any() for a, b in itertools.pairwise(pictures)), "the view stands still"

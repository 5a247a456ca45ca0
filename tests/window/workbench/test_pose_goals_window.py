"""Goals of a mechanism that is posed in the window: bodies turned, goals kept and released by keys, ghosts, lines and
what is missing in the pane. S23, M41, M46, M65."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import shiftjax
from shiftjax import FrameGoal
from shiftjax.poses import rotation_angle, to_world
from shiftjax.run.info import info
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.workbench import pulling
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture import goal_ghosts
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.colours import BLOCKED, MET, NEAREST
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.workbench import WorkbenchSession
from tests.support.windows import beside_a_run, settled

NONE: Modifiers = (False, False, False)
CTRL: Modifiers = (True, False, False)
CTRL_ALT: Modifiers = (True, True, False)
CTRL_SHIFT: Modifiers = (True, False, True)
COUPLER, CRANK, ROCKER = (f"four_bar:{name}" for name in ("coupler", "crank", "rocker"))
SIZE = (1000, 560)
PARTS = 3  # of a drag


@pytest.fixture
def four_bar() -> Iterator[tuple[Offscreen, WorkbenchSession]]:
    model = shiftjax.Editor("four_bar").limit("rocker_pivot", None, 2.0).model
    with WorkbenchSession(shiftjax.Workbench(model), Helpers(report=info)) as session:
        with beside_a_run(session, SIZE) as window:
            actions.run(window.state, "front")
            window.frames(2)
            yield window, session


def on(window: Offscreen, body: str, part: float) -> tuple[float, float]:
    """A pixel at which a bar is seen, that part of 0.2 m along it or a little farther."""
    state, box = window.state, window.screen.layout.view
    for along in np.linspace(part, part + 0.5, 26):
        place = to_world(state.body_poses()[body], np.array([0.2 * along, 0.0, 0.0]))
        x, y = state.current_camera().pixel(place, (round(box.width), round(box.height)))
        if window.screen.pointer._hit(x, y).path == body:
            return x + box.x, y + box.y
    raise AssertionError(f"{body} is not seen")


def press(window: Offscreen, at: tuple[float, float], modifiers: Modifiers) -> None:
    window.screen.mouse_move(*at)
    window.frames(2)
    window.screen.mouse_button("Left", *at, modifiers, 0.0, down=True)


def drag(
    window: Offscreen, session: WorkbenchSession, body: str, by: tuple[float, float], modifiers: Modifiers = NONE
) -> None:
    """With the mouse, in parts, and lets go of it."""
    x, y = on(window, body, 0.6)
    press(window, (x, y), modifiers)
    for k in range(1, PARTS + 1):
        window.screen.mouse_move(x + by[0] * k / PARTS, y + by[1] * k / PARTS)
        session.settle()
        assert session.certificate["gap"] < 1e-12
    window.screen.mouse_button("Left", x + by[0], y + by[1], modifiers, 1.0, down=False)
    settled(window, session)


def colours(window: Offscreen) -> set[tuple[float, ...]]:
    """Of crosses and lines of goals."""
    lines = goal_ghosts.lines(window.state)
    return set() if lines is None else {tuple(row) for row in lines.colours.tolist()}


def test_a_dragged_goal_stays_until_it_is_released(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """Its cross is green where it is met; another drag stretches it: a ghost, a line and what is missing are there;
    it is gone to again, and released; all of it is a script."""
    window, session = four_bar
    state, bench = window.state, session._bench
    assert isinstance(bench, shiftjax.Workbench)
    drag(window, session, COUPLER, (15.0, -20.0))
    dragged = state.body_poses()[COUPLER].copy()
    assert not session.goals and goal_ghosts.lines(state) is None  # the goal of the drag went with it
    reached = session.hand_goals[0].state
    assert any(f"{COUPLER}" in text and ("met" in text or "missing" in text) for text in state.panels.messages)
    window.key("G", CTRL)
    settled(window, session)
    (goal,) = session.goals
    assert goal.name == COUPLER and goal.state == reached and "kept: four_bar:coupler" in state.panels.message
    drag(window, session, CRANK, (40.0, 30.0))
    (goal,) = session.goals
    assert goal.state == "nearest" and goal.length > 1e-3 and colours(window) == {NEAREST}
    ghosts = snapshot(state).ghosts
    assert ghosts is not None and len(ghosts.poses) == 1
    stated = bench.goals[COUPLER]
    assert isinstance(stated, FrameGoal)
    wanted = to_world(ghosts.poses[0, state.node[COUPLER]], np.asarray(stated.frame.T))
    assert wanted == pytest.approx(goal.ends[1], abs=1e-9)
    assert {part.path for part in ghosts.parts[0]} == {COUPLER}
    assert f"goal:{COUPLER}" in ui.item_boxes and goal.text.startswith(f"{goal.length:.4g} m missing")
    window.key("G", CTRL_ALT)
    settled(window, session)
    assert session.script.splitlines()[-1] == "settle()" and state.body_poses()[COUPLER] == pytest.approx(
        dragged, abs=1e-4
    )
    again = shiftjax.Workbench(shiftjax.Editor("four_bar").limit("rocker_pivot", None, 2.0).model)
    assert np.array_equal(again.replay(session.script).coordinates, bench.coordinates)
    state.pick_path(COUPLER)
    window.key("G", CTRL_SHIFT)
    settled(window, session)
    assert not session.goals and session.script.splitlines()[-1] == f"release({COUPLER!r})"
    window.key("Z", CTRL)
    settled(window, session)
    assert len(session.goals) == 1


def test_a_body_is_turned(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """Ctrl and a drag across a bar turn it about the line of sight, the only way it can, by half a turn for the
    shorter side of the view; the status line says that the goal is met, and its axes are what is kept."""
    window, session = four_bar
    state, before = window.state, window.state.body_poses()[COUPLER].copy()
    (x0, y0), (x1, y1) = on(window, COUPLER, 0.3), on(window, COUPLER, 2.0)
    across = np.array([y1 - y0, x0 - x1]) / np.hypot(x1 - x0, y1 - y0)
    drag(window, session, COUPLER, tuple((12.0 * across).tolist()), CTRL)
    angle = float(rotation_angle(before, state.body_poses()[COUPLER]))
    side = min(window.screen.layout.view.width, window.screen.layout.view.height)
    assert angle == pytest.approx(np.pi * 12.0 / side, rel=0.02)
    assert state.panels.message == f"{COUPLER}: met" and session.twist is None
    assert session.script.count("\n") == 1 and "# orient(" in session.script
    window.key("G", CTRL)
    settled(window, session)
    (goal,) = session.goals
    assert goal.state == "met" and colours(window) == {MET} and "R=" in session.script.splitlines()[-1]
    drag(window, session, COUPLER, tuple((-12.0 * across).tolist()), CTRL_ALT)  # about the line of sight, by its key
    assert float(rotation_angle(before, state.body_poses()[COUPLER])) < 0.1 * angle
    assert session.goals[0].angle == pytest.approx(angle, rel=0.1)


def test_what_blocks_a_drag_is_said(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """The rocker against the limit of its pivot: red, with the name of the joint."""
    window, session = four_bar
    state = window.state
    session.change("four_bar:rocker_pivot", 1.95)
    session.let_go()
    settled(window, session)
    x, y = on(window, ROCKER, 0.6)
    press(window, (x, y), NONE)
    for k in range(1, PARTS + 1):
        window.screen.mouse_move(x - 24.0 * k, y)
        session.settle()
    side = -1 if session.hand_goals[0].state == "blocked" else 1
    for k in range(1, PARTS + 1):
        window.screen.mouse_move(x + side * 24.0 * k, y)
        session.settle()
    line = pulling.line(state)
    assert line is not None and {tuple(row) for row in line.colours.tolist()} == {BLOCKED}  # while it is dragged
    window.screen.mouse_button("Left", x + side * 24.0 * PARTS, y, NONE, 1.0, down=False)
    settled(window, session)
    assert "out of reach by" in state.panels.message
    assert state.panels.message.endswith("blocked by the limit of four_bar:rocker_pivot")
    window.key("G", CTRL)
    settled(window, session)
    assert session.goals[0].state == "blocked" and colours(window) == {BLOCKED}


def test_a_joint_is_kept_where_it_stands_and_ranked(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """The pick is kept where nothing was dragged; its level is dragged in the pane, and a button releases it."""
    window, session = four_bar
    state, pivot = window.state, "four_bar:crank_pivot"
    window.key("G", CTRL)
    settled(window, session)
    assert "Drag a body or turn a joint first" in state.panels.message and session.script == ""
    state.pick_path(pivot)
    window.key("G", CTRL)
    settled(window, session)
    assert session.goals[0].path == pivot and session.goals[0].state == "met"
    window.frames(2)
    x, y = window.position(f"goal:{pivot}:level")
    window.drag(f"goal:{pivot}:level", (x - 40, y))
    settled(window, session)
    (goal,) = session.goals
    assert goal.rank < 1.5 and session.script.splitlines()[-1] == f"rank({pivot!r}, {goal.rank!r}, 1.0)"
    before = session.values[pivot]
    drag(window, session, COUPLER, (20.0, -20.0))
    assert session.values[pivot] == pytest.approx(before, abs=1e-9)  # above the hand now
    window.click(f"goal:{pivot}:release")
    settled(window, session)
    assert not session.goals
    window.key("G", CTRL_SHIFT)
    settled(window, session)
    assert "no goal is kept of it" in state.panels.message


def test_the_other_assembly_as_a_ghost(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """It is where `flip` leads to, from each pose that is come to, and gone by the same key."""
    window, session = four_bar
    state = window.state
    session.do("limit('rocker_pivot', None, None)")
    settled(window, session)
    window.key("F", CTRL_ALT)
    settled(window, session)
    assert session.other is not None and "the other assembly is" in state.panels.message
    session.change("four_bar:crank_pivot", 0.5)
    session.let_go()
    settled(window, session)
    other = session.other
    assert other is not None
    ghosts = snapshot(state).ghosts
    assert ghosts is not None and len(ghosts.poses) == 1
    session.do("flip()")
    settled(window, session)
    assert np.abs(state.poses()[:, :3] - other.poses[:, :3]).max() < 1e-9
    window.key("F", CTRL_ALT)
    settled(window, session)
    assert session.other is None and snapshot(state).ghosts is None


def test_goals_go_through_a_run_and_a_change(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """A goal is kept while it is dragged; a changed model keeps them; nothing of the window breaks where a body of a
    goal is gone, not while it is turned either."""
    window, session = four_bar
    place = session._bench.poses[COUPLER][1]
    for k in (1, 2):
        session.grab(COUPLER, np.zeros(3), place + np.array([0.0, 0.0, 0.01 * k]))
        session.settle()
        session.keep(COUPLER)
        session.settle()
    session.let_go()
    session.settle()
    assert [line.partition("(")[0] for line in session.script.splitlines()] == ["pose", "keep"] * 2 + ["pose"]
    assert [goal.name for goal in session.goals] == [COUPLER]  # the same point: the second took the place of the first
    session.release()
    session.settle()
    session.do("keep('rocker', R=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])")
    settled(window, session)
    assert session.goals[0].state in ("nearest", "blocked")
    session.do("invert('rocker_pivot')")
    settled(window, session)
    assert [goal.name for goal in session.goals] == [ROCKER] and snapshot(window.state).ghosts is not None
    session.turn_body(ROCKER, np.zeros(3), np.array([0.0, 0.1, 0.0]), np.zeros(3))
    session.settle()
    session.do("remove('rocker')")
    session.turn_body(ROCKER, np.zeros(3), np.array([0.0, 0.2, 0.0]), np.zeros(3))
    session.let_go()
    settled(window, session)
    assert not session.goals and snapshot(window.state).ghosts is None
    assert any("no goal any more" in line.text for line in session.console)

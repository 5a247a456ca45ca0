"""A model posed in the window: bodies dragged, joints by slider and wheel, locks, undo, saving. S23, M39, M45, M51,
M56."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.poses import to_world
from shiftjax.run.info import info
from shiftjax.viewer.gui import app
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.workbench import WorkbenchSession
from tests.scenes.bars import COUPLER
from tests.support.windows import beside_a_run

NONE: Modifiers = (False, False, False)
CTRL: Modifiers = (True, False, False)
CTRL_SHIFT: Modifiers = (True, False, True)
CRANK, ROCKER = "four_bar:crank_pivot", "four_bar:rocker_pivot"
SIZE = (1000, 560)


@pytest.fixture
def session() -> Iterator[WorkbenchSession]:
    with WorkbenchSession(shiftjax.Workbench("four_bar"), Helpers(report=info)) as made:
        yield made


@pytest.fixture
def window(session: WorkbenchSession) -> Iterator[Offscreen]:
    with beside_a_run(session, SIZE) as screen:
        actions.run(screen.state, "front")
        screen.frames(2)
        yield screen


def settled(window: Offscreen, session: WorkbenchSession) -> None:
    session.settle()
    window.frames(2)


def wait_for_sliders(session: WorkbenchSession) -> None:
    """They are found one after the other."""
    for _ in range(100):
        session.settle()
        if len(session.ranges) == len(session.values):
            return
    raise AssertionError(session.console)


def on_coupler(window: Offscreen) -> tuple[float, float]:
    """A pixel of the window at which the coupler is seen."""
    state, box = window.state, window.screen.layout.view
    for part in np.linspace(0.1, 0.4, 31):
        place = to_world(state.body_poses()[COUPLER], np.array([part, 0.0, 0.0]))
        x, y = state.current_camera().pixel(place, (round(box.width), round(box.height)))
        if window.screen.pointer._hit(x, y).path == COUPLER:
            return x + box.x, y + box.y
    raise AssertionError("the coupler is not seen")


def test_a_body_is_dragged(window: Offscreen, session: WorkbenchSession) -> None:
    """It follows the mouse while the button is down, and is one step; the line to the hand is seen."""
    state, screen = window.state, window.screen
    assert state.selection.mode == "manipulate" and state.clock.time == 0.0
    x, y = on_coupler(window)
    before = state.body_poses()[COUPLER]
    screen.mouse_move(x, y)
    screen.mouse_button("Left", x, y, NONE, 0.0, down=True)
    for k in range(1, 7):
        screen.mouse_move(x + 4 * k, y - 3 * k)
        settled(window, session)
        assert session.certificate["gap"] < 1e-12
    assert session.pull is not None and state.selection.pick == COUPLER
    dragged = state.body_poses()[COUPLER]
    assert np.abs(dragged - before).max() > 1e-2
    screen.mouse_button("Left", x + 24, y - 18, NONE, 1.0, down=False)
    settled(window, session)
    assert session.pull is None and session.script.count("\n") == 1
    window.key("Z", CTRL)
    settled(window, session)
    assert state.body_poses()[COUPLER] == pytest.approx(before, abs=1e-12) and session.script == ""
    window.key("Z", CTRL_SHIFT)
    settled(window, session)
    assert session.script.count("\n") == 1 and np.abs(state.body_poses()[COUPLER] - before).max() > 1e-2
    assert len(state.study.time) > 8  # what was done by hand can be looked at again


def test_beside_bodies_a_drag_turns_the_scene(window: Offscreen, session: WorkbenchSession) -> None:
    view_box, eye = window.screen.layout.view, window.state.current_camera().eye.copy()
    x, y = view_box.x + 10, view_box.y + 10
    window.screen.mouse_move(x, y)
    window.screen.mouse_button("Left", x, y, NONE, 0.0, down=True)
    window.screen.mouse_move(x + 60, y + 20)
    window.screen.mouse_button("Left", x + 60, y + 20, NONE, 1.0, down=False)
    window.frames()
    assert session.pull is None and np.abs(window.state.current_camera().eye - eye).max() > 1e-2


def test_sliders_end_at_the_ends_of_the_travel(window: Offscreen, session: WorkbenchSession) -> None:
    wait_for_sliders(session)
    window.frames(2)
    box, before = ui.item_boxes[f"slider:{ROCKER}"], session.values[ROCKER]
    window.drag(f"slider:{ROCKER}", (box.x + box.width + 20, box.y + box.height / 2))
    settled(window, session)
    end = float(shiftjax.travel("four_bar", "rocker_pivot").high)
    assert session.values[ROCKER] == pytest.approx(end, abs=1e-5)
    assert session.certificate["gap"] < 1e-12
    window.click("undo")
    settled(window, session)
    assert session.values[ROCKER] == pytest.approx(before, abs=1e-12)  # one step, however often the mouse moved


def test_sliders_have_marks_at_dead_points(window: Offscreen, session: WorkbenchSession) -> None:
    """Where the crank stands at either end of the rocker's way that one would lock; red strokes are there."""
    wait_for_sliders(session)
    ends = shiftjax.travel("four_bar", "rocker_pivot")
    low, _ = session.ranges[CRANK]
    marks = {place for place, other in session.dead_points[CRANK] if other == ROCKER}
    wanted = [low + (float(ends_at[CRANK]) - low) % (2 * np.pi) for ends_at in (ends.at_low, ends.at_high)]
    assert sorted(marks) == pytest.approx(sorted(wanted), abs=1e-9)
    window.frames(2)
    box, image = ui.item_boxes[f"slider:{CRANK}"], window.image()
    inside = image[int(box.y) + 3 : int(box.y + box.height) - 3, int(box.x) : int(box.x + box.width)].astype(int)
    assert ((inside[..., 0] > 150) & (inside[..., 1] < 110)).all(0).sum() >= 4


def test_the_wheel_turns_the_picked_joint_unless_it_is_locked(window: Offscreen, session: WorkbenchSession) -> None:
    state, box = window.state, window.screen.layout.view
    x, y = box.x + 10, box.y + 10
    state.pick_path(CRANK)
    before = session.values[CRANK]
    window.screen.mouse_move(x, y)
    window.screen.mouse_wheel(1.0, x, y, CTRL)
    settled(window, session)
    turned = session.values[CRANK]
    assert 0.01 < abs(turned - before) < 0.5
    window.key("L", CTRL)
    settled(window, session)
    assert session.locks == {CRANK} and f"{CRANK} is locked" in state.panels.messages
    window.screen.mouse_wheel(3.0, x, y, CTRL)
    settled(window, session)
    assert session.values[CRANK] == pytest.approx(turned, abs=1e-12)
    assert any("out of reach" in text for text in state.panels.messages)
    window.key("L", CTRL)
    settled(window, session)
    assert not session.locks


def test_every_press_counts(window: Offscreen, session: WorkbenchSession) -> None:
    """Two steps taken back at once, and one done again; a lock and its opposite."""
    for place in (1.2, 1.3, 1.4):
        session.change(CRANK, place)
        session.let_go()
        session.settle()
    session.undo()
    session.undo()
    settled(window, session)
    assert session.values[CRANK] == pytest.approx(1.2, abs=1e-9)
    session.redo()
    session.lock(CRANK)
    session.lock(CRANK)
    settled(window, session)
    assert session.values[CRANK] == pytest.approx(1.3, abs=1e-9) and not session.locks


def test_nothing_moves_by_itself(window: Offscreen, session: WorkbenchSession) -> None:
    window.key("Space")
    settled(window, session)
    assert not window.state.clock.playing and not session.running
    assert any("Nothing moves by itself" in text for text in window.state.panels.messages)


def test_a_pose_is_written(
    window: Offscreen, session: WorkbenchSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model, and what was done, which gives it again; nothing is replaced."""
    monkeypatch.chdir(tmp_path)
    session.change(CRANK, 1.3)
    session.let_go()
    settled(window, session)
    for name in ("four_bar_posed", "four_bar_posed_2"):
        window.key("S", CTRL)
        settled(window, session)
        posed = shiftjax.Poser(str(tmp_path / f"{name}.json"))
        assert posed.values[CRANK] == pytest.approx(1.3, abs=1e-9)
        again = shiftjax.Poser("four_bar").replay((tmp_path / f"{name}.txt").read_text())
        again.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / f"{name}.json").read_bytes()


def test_what_was_not_written_is_written_at_the_end(tmp_path: Path) -> None:
    """A window that is closed loses nothing; what was written is not written again."""
    with WorkbenchSession(shiftjax.Workbench("four_bar")) as session:
        assert session.close_saving(tmp_path) == ""
    with WorkbenchSession(shiftjax.Workbench("four_bar")) as session:
        session.change(CRANK, 1.3)
        session.settle()  # not let go of: it counts all the same
        assert "four_bar_posed.json" in session.close_saving(tmp_path)
        assert session.close_saving(tmp_path) == ""
    assert shiftjax.Poser(str(tmp_path / "four_bar_posed.json")).values[CRANK] == pytest.approx(1.3, abs=1e-9)


def test_the_command(shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M51: `view --pose` opens a window on a session of the model, as the options change it."""
    seen = []
    monkeypatch.setattr(app, "show", lambda history, scene, live, **_: seen.append(dict(live.values)))
    code, _, err = shell("view", "four_bar", "--pose", "--set", "crank_pivot.initial_displacement=0.4")
    assert code == 0 and seen[0][CRANK] == pytest.approx(0.4)
    code, _, err = shell("view", "--pose")
    assert code == 0 and seen[1] == {}  # nothing but ground
    (tmp_path / "steps.txt").write_text("turn('crank_pivot', 0.9)\ninvert('rocker_pivot')  # by hand\n")
    code, _, err = shell("view", "four_bar", "--pose", "--script", str(tmp_path / "steps.txt"))
    assert code == 0 and seen[2][CRANK] == pytest.approx(0.9) and not (tmp_path / "four_bar_posed.json").exists()
    code, _, err = shell("view", "four_bar", "--script", str(tmp_path / "steps.txt"))
    assert code == 2 and "without --pose" in err
    code, _, err = shell("view", "four_bar", "--pose", "--script", str(tmp_path / "none.txt"))
    assert code == 2 and "a text file of steps" in err
    for more in (["--live"], ["--span", "1"], ["--vary", "crank.mass=1:2"]):
        code, _, err = shell("view", "four_bar", "--pose", *more)
        assert code == 2 and "--pose" in err

"""A mechanism built, changed, run and varied by hand in the window; every action is a line of a script. M31, M32, M33,
M34, M35, M36, M37, M38, M39, M40, M41, M47, M48, M50."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import shiftjax
from shiftjax.editing.workbench import steps_in_words
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.variants import sweep_variants
from shiftjax.mechanism.posing import wanted_in
from shiftjax.poses import to_world
from shiftjax.run.info import info
from shiftjax.run.live import Live
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.saving import exporting
from shiftjax.viewer.gui.actions.workbench import editing
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.typed.typed_line import TypedLine
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.session import Session
from shiftjax.viewer.motion.workbench import WorkbenchSession
from shiftjax.viewer.scene.joint_shapes import RED
from tests.support.windows import beside_a_run

NONE: Modifiers = (False, False, False)
CTRL: Modifiers = (True, False, False)
SHIFT: Modifiers = (False, False, True)
ALT: Modifiers = (False, True, False)
CTRL_ALT: Modifiers = (True, True, False)
CTRL_SHIFT: Modifiers = (True, False, True)
LENGTH = "mechanism:bar_3:tip.T[0]"
NAMED = "parameters.bar_3_length"  # that it is
GRID = 0.03  # m, of the window as it is: two steps of its grid
NEAR = 1e-3  # m, of a curve to a mark
FRAMES = 2000  # drawn at most while something is waited for
SIZE = (1200, 900)


def run_of(model: shiftjax.Model) -> Live:
    return Live(model, step=2e-3)


def opened(model: str | None) -> WorkbenchSession:
    return WorkbenchSession(shiftjax.Workbench(model), Helpers(run_of, info, sweep_variants, ("help",)))


@pytest.fixture
def empty() -> Iterator[tuple[Offscreen, WorkbenchSession]]:
    with opened(None) as session, beside_a_run(session, SIZE) as window:
        actions.run(window.state, "front")
        window.frames(2)
        yield window, session


def settled(window: Offscreen, session: WorkbenchSession) -> None:
    session.settle()
    window.frames(2)


def pixel(window: Offscreen, place: list[float]) -> tuple[float, float]:
    """Where a point of the world is in the window."""
    box = window.screen.layout.view
    x, y = window.state.current_camera().pixel(np.array(place), (round(box.width), round(box.height)))
    return x + box.x, y + box.y


def bar(window: Offscreen, session: WorkbenchSession, start: list[float], end: list[float]) -> None:
    """Draws one with the mouse."""
    (x0, y0), (x1, y1) = pixel(window, start), pixel(window, end)
    screen = window.screen
    screen.mouse_move(x0, y0)
    screen.mouse_button("Left", x0, y0, NONE, 0.0, down=True)
    for part in (0.3, 0.7, 1.0):
        screen.mouse_move(x0 + part * (x1 - x0), y0 + part * (y1 - y0))
        window.frames()
    screen.mouse_button("Left", x1, y1, NONE, 1.0, down=False)
    settled(window, session)


def click(window: Offscreen, session: WorkbenchSession, place: list[float]) -> None:
    x, y = pixel(window, place)
    window.screen.mouse_move(x, y)
    window.screen.mouse_button("Left", x, y, NONE, 2.0, down=True)
    window.screen.mouse_button("Left", x, y, NONE, 2.1, down=False)
    settled(window, session)


def write(window: Offscreen, session: WorkbenchSession, line: str) -> None:
    """Types a line into the console."""
    window.click("console line")
    window.type(line)
    window.key("Enter")
    settled(window, session)


def test_tab_completes_a_line_of_the_console(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """A step, a path within quotes, its signature below, all that fits on the next Tab; earlier lines by the arrows."""
    window, session = four_bar
    panels, session._helpers = window.state.panels, Helpers(help=steps_in_words())
    window.key("J", CTRL)
    window.frames(2)
    window.click("console line")
    window.type("inv")
    window.key("Tab")
    assert panels.line == "invert(" and panels.panes_on, "Tab is of the line, not of the window"
    window.frames()
    assert "step signature" in ui.item_boxes and "completions" not in ui.item_boxes
    window.type("'ro")
    window.key("Tab")
    assert panels.line == "invert('rocker_pi"
    window.key("Tab")
    window.frames()
    typed = panels.lasting(TypedLine)
    assert sorted(typed.choices) == ["rocker_pin", "rocker_pivot"] and "completions" in ui.item_boxes
    window.type("v")
    window.frames()
    assert "completions" not in ui.item_boxes
    window.key("Tab")
    assert panels.line == "invert('rocker_pivot'"
    window.type(")")
    window.key("Enter")
    settled(window, session)
    assert session.script == "invert('rocker_pivot')\n" and panels.line == ""
    window.type("lock('crank')")
    window.key("Enter")
    settled(window, session)
    window.type("se")
    seen = []
    for key in ("Up", "Up", "Up", "Down", "Down"):
        window.key(key)
        seen.append(panels.line)
    assert seen == ["lock('crank')", "invert('rocker_pivot')", "invert('rocker_pivot')", "lock('crank')", "se"]
    window.key("Tab")
    assert panels.line == "set" and typed.choices == ()
    window.key("Tab")
    assert typed.choices == ("settle", "set")


def waited(window: Offscreen, done: Callable[[], bool]) -> None:
    """Draws until something is so."""
    for _ in range(FRAMES):
        if done():
            return
        time.sleep(0.005)
        window.frames()
    raise AssertionError(window.state.panels.messages)


def test_a_four_bar_from_nothing(
    empty: tuple[Offscreen, WorkbenchSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn by five gestures, its dead points found, a length changed until the coupler passes a mark, run, written:
    the script gives the file again byte for byte, and variants of it are a study."""
    window, session = empty
    state = window.state
    monkeypatch.chdir(tmp_path)
    window.key("D", SHIFT)
    assert state.selection.mode == "draw"
    bar(window, session, [0, 0, 0], [0, 0, 0.2])
    bar(window, session, [0, 0, 0.2], [0.5, 0, 0.4])
    bar(window, session, [0.5, 0, 0.4], [0.6, 0, 0])
    click(window, session, [0, 0, 0])
    click(window, session, [0.6, 0, 0])
    window.key("Escape")
    assert state.selection.mode == "manipulate" and session.certificate["freedoms"] == 1
    assert set(state.node) == {"fixed", *(f"mechanism:bar_{k}" for k in (1, 2, 3))}
    lengths = {path: value for path, value in state.mechanism.model.numbers().items() if path.endswith("tip.T[0]")}
    ends_drawn = (0.2, np.hypot(0.5, 0.2), np.hypot(0.1, 0.4))
    assert list(lengths.values()) == pytest.approx(ends_drawn, abs=GRID)

    state.pick_path("mechanism:pivot_2")
    window.key("E", CTRL)
    settled(window, session)
    ends = shiftjax.travel(session.model, "pivot_2")
    assert f"{np.degrees(ends.low):.6g} deg" in state.panels.message and "a dead point" in state.panels.message

    coupler_passes_a_mark(window, session)
    runs_and_comes_back(window, session)

    window.key("S", CTRL)
    settled(window, session)
    again = shiftjax.Workbench().replay((tmp_path / "mechanism_posed.txt").read_text())
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "mechanism_posed.json").read_bytes()

    window.key("V", CTRL_SHIFT)
    session.settle(120)
    (request,) = [one for one in state.panels.requests if one.startswith("open:")]
    study = Study(request.partition(":")[2])
    lengths_varied = study.table[NAMED].to_numpy()
    assert study.members == 1000 and set(study.table["status"]) == {"ok"}
    assert lengths_varied.max() / lengths_varied.min() == pytest.approx(1.1 / 0.9, rel=0.01)


def coupler_passes_a_mark(window: Offscreen, session: WorkbenchSession) -> None:
    """A length is dragged, then typed, until the curve of a point of the coupler passes a mark."""
    state = window.state
    state.pick_path("mechanism:bar_2", to_world(state.body_poses()["mechanism:bar_2"], np.array([0.2, 0.0, 0.1])))
    window.key("T", CTRL)
    settled(window, session)
    assert session.curve is not None and session.curve.closed
    longer = shiftjax.point_curve(session.model.replace({NAMED: 0.47}), "bar_2", [0.2, 0.0, 0.1])
    window.screen.mouse_move(*pixel(window, longer.points[20].tolist()))
    window.frames()
    window.key("M", CTRL)
    assert state.mark is not None
    before = session.curve.distance(state.mark)
    assert before > 3 * NEAR

    state.pick_path("mechanism:bar_3")
    window.frames(2)
    x, y = window.position(f"number:{LENGTH}")
    window.drag(f"number:{LENGTH}", (x + 40, y))
    settled(window, session)
    dragged = state.mechanism.model.numbers()[LENGTH]
    assert session.script.splitlines()[-1] == f"set({{{LENGTH!r}: {dragged!r}}})"
    assert session.certificate["gap"] < 1e-12

    window.key("J", CTRL)
    window.frames(2)
    write(window, session, "set({'bar_3:tip.T[0]': 0.45})")
    assert state.mechanism.model.numbers()[LENGTH] == 0.45
    write(window, session, "split('nobody', 'half')")
    assert session.console[-1].kind == "error" and "none of the bodies" in session.console[-1].text
    write(window, session, "undo()")
    assert session.console[-1].text == "# undo()" and state.mechanism.model.numbers()[LENGTH] == dragged
    window.key("Escape")

    def distance(length: float) -> float:
        session.do(f"set({{'bar_3:tip.T[0]': {float(length)!r}}})")
        session.settle()
        session.settle()  # the curve comes after the step
        assert session.curve is not None and state.mark is not None
        return session.curve.distance(state.mark)

    best: Any = minimize_scalar(distance, bounds=(0.3, 0.6), method="bounded", options={"xatol": 1e-3})
    assert distance(best.x) < NEAR


def runs_and_comes_back(window: Offscreen, session: WorkbenchSession) -> None:
    """Space runs it from where it stands; Ctrl+P goes back to the workbench, as it was."""
    state, script, values = window.state, session.script, dict(session.values)
    window.key("Space")
    waited(window, lambda: not session.posing and state.clock.time > 0.1)
    assert session.certificate["gap"] < 1e-12 and session.certificate["energy_error"] < 1e-6
    write_refused = "End the run first"
    session.do("invert('pivot_1')")
    settled(window, session)
    assert any(write_refused in text for text in state.panels.messages) and session.console[-1].kind == "error"
    window.key("P", CTRL)
    settled(window, session)
    assert session.posing and not session.running and not state.clock.playing
    assert session.script == script and session.values == values


@pytest.fixture
def four_bar() -> Iterator[tuple[Offscreen, WorkbenchSession]]:
    with opened("four_bar") as session, beside_a_run(session, SIZE) as window:
        actions.run(window.state, "front")
        window.frames(2)
        yield window, session


def test_topology_by_keys(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """Each key is the step of an `Editor` of the pick and the selection; all are taken back one by one."""
    window, session = four_bar
    state, before = window.state, session.model
    rocker, pin, pivot = (f"four_bar:{name}" for name in ("rocker", "rocker_pin", "rocker_pivot"))
    freedoms = []

    def press(pick: str, key: str, modifiers: Modifiers = NONE, select: str = "") -> str:
        state.selection.selected.clear()
        if select:
            state.selection.select(select, on=True)
        state.pick_path(pick)
        window.type(key) if key in "%*/<>" else window.key(key, modifiers)
        settled(window, session)
        freedoms.append(session.certificate["freedoms"])
        return session.script.splitlines()[-1]

    assert press(pivot, "%") == f"invert({pivot!r})"
    assert press(rocker, "*") == f"split({rocker!r}, 'rocker_part_1', [])"
    assert press("four_bar:rocker_part_1_weld", "/") == "merge('four_bar:rocker_part_1_weld')"
    assert press(pin, "C", SHIFT) == f"make_closure({pin!r})"
    assert press(pin, "T", SHIFT) == f"make_tree({pin!r})"
    assert press(pivot, ">", select="four_bar:crank") == f"reattach({pivot!r}, child='four_bar:crank')"
    window.key("Z", CTRL)
    settled(window, session)
    assert press("four_bar:crank", "G", SHIFT) == "ground('four_bar:crank', 'ground')"
    window.key("Z", CTRL)
    settled(window, session)
    assert press(pin, "Delete") == f"remove({pin!r})" and freedoms[-1] == 3
    assert pin not in state.mechanism.joints and state.selection.pick is None
    window.key("Z", CTRL)
    settled(window, session)
    state.pick_path(pin)
    window.key("J", CTRL_ALT)
    assert "Mark a place first" in state.panels.message
    state.mark = np.array([0.3, 0.0, -0.2])
    assert press(pin, "J", CTRL_ALT) == f"move_joint({pin!r}, at=[0.3, 0.0, -0.2])"
    while session.script:
        window.key("Z", CTRL)
        settled(window, session)
    assert session.model is before


def test_what_needs_a_pick_says_so(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    window, session = four_bar
    for action, words in (
        ("invert", "Pick a joint"), ("split", "Pick a body"), ("add_joint", "Pick a body"), ("curve", "Pick a body"),
        ("reattach_child", "Pick a joint, and select"), ("travel", "Pick a joint"), ("remove", "Only shapes"),
    ):  # fmt: skip
        actions.run(window.state, action)
        assert words in window.state.panels.message, action
    assert session.script == ""
    window.state.pick_path("four_bar:coupler")
    actions.run(window.state, "variants")
    settled(window, session)
    assert any("no number that was changed by hand" in text for text in window.state.panels.messages)


def test_a_joint_of_another_kind_and_its_numbers(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """The kind of the picked joint is chosen from a list; a joint is put between the pick and the selection."""
    window, session = four_bar
    state = window.state
    state.pick_path("four_bar:rocker_pin")
    window.frames(2)
    assert "joint kind" in ui.item_boxes
    editing.change_type(state, "spherical")
    settled(window, session)
    assert state.mechanism.joints["four_bar:rocker_pin"].type == "spherical"
    state.selection.select("four_bar:rocker", on=True)
    state.pick_path("four_bar:coupler", to_world(state.body_poses()["four_bar:coupler"], np.array([0.1, 0.0, 0.0])))
    window.key("J", SHIFT)
    settled(window, session)
    assert "four_bar:joint_1" in state.mechanism.joints


def test_nothing_of_it_without_a_workbench(tmp_path: Path) -> None:
    """In the window of a run the keys say how a mechanism is opened by hand."""
    with Session(run_of(shiftjax.load("four_bar"))) as session, beside_a_run(session, SIZE) as window:
        for action in ("draw", "console", "pose", "variants", "invert"):
            actions.run(window.state, action)
            assert "--pose" in window.state.panels.message


def test_locks_are_red_and_goals_are_stated(four_bar: tuple[Offscreen, WorkbenchSession], tmp_path: Path) -> None:
    """A joint or body is locked by a key; targets and postures stand where the joint stands, and are in what is
    exported with the model. M39, M41, M62."""
    window, session = four_bar
    state, crank = window.state, "four_bar:crank_pivot"

    def colours(path: str) -> set[tuple[float, ...] | None]:
        return {part.colour for part in state.scene.parts if part.path == path}

    assert RED not in colours(crank)
    state.pick_path(crank)
    window.key("L", CTRL)
    settled(window, session)
    assert session.locks == {crank} and RED in colours(crank)
    state.pick_path("four_bar:rocker")
    window.key("L", CTRL)
    settled(window, session)
    assert session.locks == {crank, "four_bar:rocker"}
    for _ in range(2):
        window.key("Z", CTRL)
    settled(window, session)
    assert not session.locks and RED not in colours(crank)

    state.pick_path(crank)
    window.key("M", ALT)
    window.key("M", CTRL_SHIFT)
    settled(window, session)
    wanted = {key: value for path, key, _, value in wanted_in(session.model) if path == crank}
    assert {*wanted} == {"target", "posture"}
    assert [one.value for one in wanted.values()] == pytest.approx([session.values[crank]] * 2, abs=1e-12)
    window.key("M", ALT)
    settled(window, session)
    assert dict(session.model.joints())[crank].target is None
    exported = exporting.export(state, ".dae", tmp_path)
    assert exported is not None and shiftjax.load(exported) == session.model
    assert dict(shiftjax.load(exported).joints())[crank].posture is not None


def test_steps_back_while_something_is_held(empty: tuple[Offscreen, WorkbenchSession]) -> None:
    """Undo while a body is dragged, while a bar is drawn from it, and a run of ground alone: nothing breaks."""
    window, session = empty
    state = window.state
    window.key("D", SHIFT)
    bar(window, session, [0, 0, 0], [0.3, 0, 0])
    session.grab("mechanism:bar_1", np.zeros(3), np.array([0.1, 0.0, 0.1]))
    session.settle()
    for _ in range(2):
        window.key("Z", CTRL)
    settled(window, session)
    assert session.pull is None or session.pull[0] not in state.node
    window.key("Z", CTRL_SHIFT)
    settled(window, session)
    (x0, y0), (x1, y1) = pixel(window, [0.3, 0, 0]), pixel(window, [0.5, 0, 0.2])
    window.screen.mouse_move(x0, y0)
    window.screen.mouse_button("Left", x0, y0, NONE, 5.0, down=True)
    window.screen.mouse_move(x1, y1)
    window.frames()
    session.undo()
    settled(window, session)
    window.screen.mouse_button("Left", x1, y1, NONE, 6.0, down=False)
    settled(window, session)
    window.key("Space")
    waited(window, lambda: not session.posing or not session.running)
    window.frames(3)
    window.key("P", CTRL)
    settled(window, session)
    assert session.posing


def test_drags_that_follow_each_other_at_once_are_steps(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """Each drop counts, however busy the thread is; what waits is done before a window is closed."""
    _, session = four_bar
    session.show_curve("four_bar:coupler", np.zeros(3))  # keeps the thread busy
    for body, place in (("four_bar:crank", [0.1, 0, 0.2]), ("four_bar:rocker", [0.4, 0, 0.3])):
        session.grab(body, np.array([0.1, 0.0, 0.0]), np.array(place))
        session.let_go()
    session.settle()
    assert session.script.count("pose(") == 2


def test_a_bar_between_depths(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """Frames at different depths are joined by a bar that is no plane one."""
    window, session = four_bar
    session.do("add_body('far', at=[0.2, 0.15, -0.3], frames={'end': [0, 0, 0]}, mass=0.1)")
    settled(window, session)
    window.key("D", SHIFT)
    bar(window, session, [0.0, 0.0, 0.0], [0.2, 0.15, -0.3])
    assert not any(one.kind == "error" for one in session.console), session.console[-1]


def test_gravity_is_dragged_where_nothing_or_ground_is_picked() -> None:
    """A step of the script that undo takes back; the camera and the pose stay."""
    gravity = "model_parameters.gravity[2]"
    with opened("four_bar") as session, beside_a_run(session, SIZE) as window:
        window.frames(2)
        before, poses = window.state.current_camera(), window.state.poses()
        x, y = window.position(f"number:{gravity}")
        window.drag(f"number:{gravity}", (x - 60, y))
        settled(window, session)
        dragged = session.model.numbers()[gravity]
        assert dragged < 9.81 and session.script == f"set({{{gravity!r}: {dragged!r}}})\n"
        assert window.state.current_camera() == before and np.array_equal(window.state.poses(), poses)
        window.state.pick_path("fixed")
        assert next(iter(editing.numbers_of_pick(window.state))).startswith("model_parameters.gravity")
        window.state.pick_path("four_bar:crank")
        assert gravity not in editing.numbers_of_pick(window.state)
        window.key("Z", CTRL)
        settled(window, session)
        assert session.model.numbers()[gravity] == 9.81

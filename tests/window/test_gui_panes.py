"""The model tree as records; the panes driven by injected input without a window; one real window under Xvfb.

S32 (tree, values, mobility, tabs, time line) and D9 (panels, keys and overlays of the user).
"""

import itertools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import Assembly, Body
from shiftjax.models import names
from shiftjax.poses import matrices
from shiftjax.viewer.gui.actions import actions, additions
from shiftjax.viewer.gui.app import Window, save_picture
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state import tree_rows
from shiftjax.viewer.gui.state.layout import layout
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study import plots
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.scene.scene import FAST, Scene, Strokes
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import COUPLER, CRANK, LENGTHS, ROCKER

SLIDER = 0.02  # s: a pixel of the time slider in these tests, and the middle of its grab
VISIBLE = 0.02  # part of the view's pixels that must change where something is drawn or hidden
CTRL: Modifiers = (True, False, False)
SIZE = (1000, 560)


@pytest.fixture
def window(study: ViewedStudy, scene: Scene) -> Iterator[Offscreen]:
    with Offscreen(WindowState(MemberScenes(study, scene), look=FAST), SIZE) as screen:
        yield screen


def view_of(window: Offscreen) -> np.ndarray:
    """The pixels of the view."""
    box = window.screen.layout.view
    rows, columns = slice(int(box.y), int(box.y + box.height)), slice(int(box.x), int(box.x + box.width))
    return window.image()[rows, columns].astype(int)


def changed(before: np.ndarray, after: np.ndarray) -> float:
    """Part of the pixels that differ."""
    return float((np.abs(before - after).max(-1) > 8).mean())


def seen_at(window: Offscreen, path: str, part: float = 1.0) -> tuple[float, float]:
    """A point of the window where a body is seen, some way along to its centre of mass."""
    state, box = window.state, window.screen.layout.view
    centre = part * np.array(dict(state.study.model.bodies())[path].center_of_mass)
    point = matrices(state.body_poses()[path]) @ [*centre, 1.0]
    x, y = state.current_camera().pixel(point[:3], (round(box.width), round(box.height)))
    return box.x + x, box.y + y


# -- the tree ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_the_tree_lists_every_body_joint_and_frame_once(name: str) -> None:
    model = load(name)
    rows = tree_rows.scene_rows(model)
    assert [row.path for row in rows if row.kind == "body"] == [path for path, _ in model.bodies()]
    assert sorted(row.path for row in rows if row.kind == "joint") == sorted(path for path, _ in model.joints())
    frames = 1 + len(model.frames) + sum(1 + len(body.frames) for _, body in model.bodies())
    assert sum(row.kind == "frame" for row in rows) == frames
    assert len({row.key for row in rows}) == len(rows)
    depths = [row.depth for row in rows]
    assert all(after <= before + 1 for before, after in itertools.pairwise(depths))
    assert [row.parent for row in rows[:-1]] == [after > here for here, after in itertools.pairwise(depths)]


def test_what_is_switched_off_is_listed_without_an_eye() -> None:
    inner = Assembly("inner", active=False, bodies=(Body("b"),))
    rows = tree_rows.scene_rows(Model((Assembly("outer", bodies=(Body("a", active=False),), assemblies=(inner,)),)))
    bodies = [(row.name, row.hideable) for row in rows if row.kind == "body"]
    assert bodies == [("a (inactive)", False), ("b (inactive)", False)]


def test_search_keeps_what_is_found_and_what_holds_it() -> None:
    rows = tree_rows.scene_rows(load("vehicle_chassis"))
    assert tree_rows.search(rows, "  ") == rows
    bodies = [row for row in rows if row.kind == "body"]
    wanted = bodies[len(bodies) // 2]
    found = tree_rows.search(rows, wanted.path.upper())
    assert wanted in found and len(found) < len(rows)
    for k, row in enumerate(found):
        if row.depth:
            assert any(above.depth == row.depth - 1 for above in found[:k]), row
    assert tree_rows.search(rows, "no such thing") == ()


def test_folding_hides_what_a_row_holds() -> None:
    rows = tree_rows.scene_rows(load("four_bar"))
    opened = tree_rows.opened_at_first(rows)
    seen = [row.key for row in tree_rows.unfolded(rows, opened)]
    assert f"body:{CRANK}" in seen and f"{CRANK}:tip" not in seen
    assert f"{CRANK}:tip" in [row.key for row in tree_rows.unfolded(rows, opened | {f"body:{CRANK}"})]
    assert [row.key for row in tree_rows.unfolded(rows, set())] == ["fixed", "four_bar"]


def test_the_simulation_tab_tells_the_run_and_the_member(study: ViewedStudy) -> None:
    rows = {row.key: row.value for row in tree_rows.simulation_rows(study, 2)}
    assert rows["run:method"] == "rk4"
    assert rows[f"design:{COUPLER}:tip.T[0]"] == f"{LENGTHS[2]:g} m"
    assert rows["channels:energy.total"] == "J" and "member:gap" in rows


def test_channels_of_a_thing(study: ViewedStudy) -> None:
    assert plots.channels_of(study, "four_bar:rocker_pivot") == ["rocker_pivot.q"]
    assert plots.channels_of(study, COUPLER) == [f"{COUPLER}:tip.position"]
    assert plots.channels_of(study, CRANK) == []
    assert len(plots.channels_of(study, None)) == len(study.channels)
    curve = plots.PlotCurves().get(study, 1, f"{COUPLER}:tip.position")
    assert curve.values.shape == (len(study.time), 3) and curve.unit == "m" and curve.labels == ("x", "y", "z")


def test_panes_fill_the_window_without_overlap() -> None:
    for size in ((1280, 800), (300, 200), (3840, 2160)):
        for panes in (True, False):
            found = layout(*size, 20, panes=panes)
            assert found.view.width >= 16 and found.view.height >= 16
            assert found.tree.width + found.view.width + found.properties.width == pytest.approx(size[0])
            assert found.view.x == found.tree.width
            assert found.timeline.y == found.view.y + found.view.height
            assert found.status.y + found.status.height == pytest.approx(size[1])


# -- panes without a window --------------------------------------------------------------------------------------------


def test_a_click_on_a_row_picks_and_with_ctrl_selects(window: Offscreen) -> None:
    window.click(f"row:body:{ROCKER}")
    assert window.state.selection.pick == ROCKER
    window.click(f"row:body:{CRANK}", modifiers=CTRL)
    assert window.state.selection.pick == ROCKER and window.state.selection.selected == [CRANK]


def test_the_eye_hides_a_body_and_its_picture(window: Offscreen) -> None:
    before = view_of(window)
    window.click(f"eye:{COUPLER}")
    assert window.state.selection.hidden == {COUPLER}
    assert changed(before, view_of(window)) > VISIBLE / 2
    window.click(f"eye:{COUPLER}")
    assert window.state.selection.hidden == set() and changed(before, view_of(window)) == 0.0


def test_folds_and_search_of_the_tree(window: Offscreen) -> None:
    assert f"row:{CRANK}:tip" not in ui.item_boxes
    window.click(f"fold:body:{CRANK}")
    assert f"row:{CRANK}:tip" in ui.item_boxes
    window.click("search")
    window.type("rocker_pin")
    window.frames()
    assert "row:joint:four_bar:rocker_pin" in ui.item_boxes and f"row:body:{CRANK}" not in ui.item_boxes


def test_the_simulation_tab_opens(window: Offscreen) -> None:
    window.click("tab:Simulation")
    window.frames()
    assert "row:run:method" in ui.item_boxes


def test_dragging_the_timeline_moves_time(window: Offscreen) -> None:
    box = ui.item_boxes["time"]
    y = box.y + box.height / 2
    window.drag((box.x + 8, y), (box.x + box.width / 2, y))
    assert window.state.clock.time == pytest.approx(0.25, abs=SLIDER)
    window.drag((box.x + box.width / 2, y), (box.x + 5 * box.width, y))
    assert window.state.clock.time == 0.5


def test_buttons_play_and_step(window: Offscreen) -> None:
    window.click("step_forward")
    assert window.state.clock.time == pytest.approx(0.02)
    window.click("play")
    assert window.state.clock.playing
    before = window.state.clock.time
    window.frames(2)
    assert window.state.clock.time != before


def test_typing_a_choice_of_members(window: Offscreen) -> None:
    window.click("members")
    window.type("worst:2:gap")
    assert not window.state.clock.playing and len(window.state.choice.chosen) == 3, "keys of a box are no actions"
    window.key("Space")
    window.type(" ")
    assert not window.state.clock.playing
    window.key("Backspace")
    window.key("Enter")
    worst = window.state.study.choose("worst:2:gap")
    assert window.state.choice.chosen.tolist() == worst.tolist() and window.state.choice.member == worst[0]
    window.click("members")
    window.type(" nonsense")
    window.key("Enter")
    assert "nonsense" in window.state.panels.messages[-1] and "message" in ui.item_boxes


def test_keys_in_both_maps(window: Offscreen) -> None:
    window.key("Space")
    assert window.state.clock.playing and window.state.selection.mode == "navigate"
    window.key("Space")
    window.key("F4")
    window.key("Space")
    assert not window.state.clock.playing and window.state.selection.mode == "manipulate"
    window.key("Escape")
    assert window.state.selection.mode == "navigate" and not window.state.panels.requests
    window.key("P")
    assert window.state.clock.playing
    window.type("+")
    assert window.state.clock.speed == 2.0
    window.key("Q", CTRL)
    assert window.state.panels.requests == ["quit"]


def test_the_view_picks_what_is_clicked(window: Offscreen) -> None:
    place = seen_at(window, ROCKER, 0.5)
    window.click(place, times=2)
    assert window.state.selection.pick == ROCKER
    assert window.state.selection.cursor is not None and window.state.selection.pick_point is not None
    inside = np.linalg.norm(window.state.selection.cursor - window.state.body_poses()[ROCKER][:3])
    assert inside < 0.4, "the cursor is not on the rocker, which is 0.4 m long"
    marked = view_of(window)
    window.click((window.screen.layout.view.x + 4, window.screen.layout.view.y + 4), times=2)
    assert window.state.selection.pick is None and changed(marked, view_of(window)) > VISIBLE / 10


def test_drags_in_the_view_turn_it_and_drags_on_panes_do_not(window: Offscreen) -> None:
    before = window.state.view.camera
    view = window.screen.layout.view
    middle = (view.x + view.width / 2, view.y + view.height / 2)
    window.drag(middle, (middle[0] + 40, middle[1]))
    assert window.state.view.camera.azimuth < before.azimuth
    turned = window.state.view.camera
    window.drag((20, view.y + view.height - 10), (90, view.y + view.height - 10))
    assert window.state.view.camera == turned
    window.wheel(2, middle)
    assert window.state.view.camera.distance < turned.distance


def test_help_tells_the_map_in_use_and_lies_over_the_view(window: Offscreen) -> None:
    window.key("F1")
    window.frames()
    box = ui.item_boxes["window:Keys and mouse"]
    before = window.state.view.camera
    window.drag((box.x + 60, box.y + 60), (box.x + 90, box.y + 60))
    assert window.state.view.camera == before, "a drag on the help turned the scene"
    window.key("F1")
    window.key("H", CTRL)
    window.frames()
    assert window.state.panels.text == window.state.table.dump() and "window:To read and copy" in ui.item_boxes


def test_every_menu_opens_and_its_lines_act(window: Offscreen) -> None:
    for title, name in (("File", "quit"), ("Edit", "hide"), ("Members", "ghosts"), ("View", "arrows")):
        window.click(f"menu:{title}")
        assert f"menu:{name}" in ui.item_boxes, title
        window.click(f"menu:{name}")
    assert window.state.panels.requests == ["quit"] and window.state.choice.ghosts_on and window.state.arrows_on
    window.click("menu:Help")
    window.click("map:workbench")
    assert window.state.map == "workbench"


def test_plots_follow_the_time_cursor_and_move_it(window: Offscreen) -> None:
    window.resize((900, 700))
    window.click("row:joint:four_bar:rocker_pivot")
    window.frames(2)
    box = ui.item_boxes["plot:rocker_pivot.q"]
    window.state.go_to(0.25)
    window.frames()
    middle, y = box.x + box.width / 2, box.y + box.height / 2
    window.drag((middle, y), (middle + 0.3 * box.width, y))
    assert window.state.clock.time == pytest.approx(0.4, abs=SLIDER)


def test_resizing_and_hiding_the_panes(window: Offscreen) -> None:
    small = window.screen.layout.view
    window.resize((1100, 640))
    window.frames(2)
    assert window.image().shape == (640, 1100, 3)
    assert window.screen.layout.view.width > small.width and view_of(window).std() > 5
    window.key("Tab")
    window.frames()
    assert window.screen.layout.view.width == 1100 and "search" not in ui.item_boxes
    window.resize((40, 30))
    window.frames(2)
    assert window.image().shape == (30, 40, 3)


def test_shadows_are_switched_while_it_runs(window: Offscreen) -> None:
    before = view_of(window)
    actions.run(window.state, "shadows")
    window.frames()
    assert not window.state.look.shadows and changed(before, view_of(window)) > VISIBLE / 10


def test_a_panel_a_key_and_an_overlay_of_the_user(window: Offscreen) -> None:
    state, calls = window.state, []

    def panel(seen: WindowState) -> None:
        if imgui.button("count"):
            calls.append(seen.choice.member)
        ui.remember_item("mine")

    def overlay(seen: WindowState) -> Strokes:
        x, y, z = seen.scene.centre
        ends = np.array([[[x - 9, y, z], [x + 9, y, z]]])
        return Strokes(np.repeat(ends, 2, 0), np.tile([1.0, 0.0, 0.0, 1.0], (2, 1)))

    before = view_of(window)
    additions.add_overlay(state, overlay)
    additions.add_key(state, "Ctrl+Shift+J", "remember the time", lambda seen: calls.append(seen.clock.time))
    window.frames()
    assert changed(before, view_of(window)) > 1e-4
    additions.add_panel(state, "Mine", panel)
    window.frames(2)
    window.click("mine")
    window.key("J", (True, False, True))
    assert calls == [0, 0.0]
    with pytest.raises(ModelError, match="panel Mine"):
        additions.add_panel(state, "Mine", panel)


def test_additions_that_fail_are_told_and_taken_away(window: Offscreen) -> None:
    state = window.state
    additions.add_panel(state, "Bad", lambda seen: 1 / 0)  # type: ignore[arg-type,return-value]
    additions.add_overlay(state, lambda seen: seen.nothing)  # type: ignore[attr-defined]
    window.frames(2)
    assert not state.panels.user_panels and not state.overlays
    assert any("panel Bad: ZeroDivisionError" in text for text in state.panels.messages)
    assert any("overlay: AttributeError" in text for text in state.panels.messages)


def test_windows_open_and_close_again_and_again(study: ViewedStudy, scene: Scene) -> None:
    pictures = []
    for _ in range(3):
        with Offscreen(WindowState(MemberScenes(study, scene), look=FAST), (320, 240)) as window:
            pictures.append(window.image())
    assert np.array_equal(pictures[0], pictures[1]) and np.array_equal(pictures[0], pictures[2])


def test_a_study_without_trajectories_or_such_a_member_is_refused(study: ViewedStudy, scene: Scene) -> None:
    with pytest.raises(ModelError, match="member"):
        WindowState(MemberScenes(study, scene), member=7)
    with pytest.raises(ModelError, match="map of keys"):
        WindowState(MemberScenes(study, scene), map="emacs")


def test_pictures_never_replace_each_other(tmp_path: Path) -> None:
    image = np.zeros((4, 6, 3), np.uint8)
    paths = {save_picture(image, tmp_path) for _ in range(3)}
    assert len(paths) == 3 and all(path.is_file() for path in paths)


# -- a real window -----------------------------------------------------------------------------------------------------


def test_a_window_belongs_to_the_main_thread(study: ViewedStudy, scene: Scene) -> None:
    found: list[BaseException] = []

    def call() -> None:
        try:
            Window(study, scene)
        except ModelError as error:
            found.append(error)

    worker = threading.Thread(target=call, name="worker")
    worker.start()
    worker.join()
    assert len(found) == 1 and "main thread" in str(found[0]) and "'worker'" in str(found[0])


def run_window(folder: Path, script: str, display: str, timeout: float = 180) -> subprocess.CompletedProcess[str]:
    """Runs a script in a process of its own: its GL stays away from that of the other tests."""
    (folder / "script.py").write_text(script, encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "DISPLAY": display, "PYTHONPATH": str(root)}
    environment.pop("WAYLAND_DISPLAY", None)
    return subprocess.run([sys.executable, str(folder / "script.py")], capture_output=True, text=True, env=environment,
                          timeout=timeout, check=False)  # fmt: skip


@contextmanager
def xvfb() -> Iterator[str]:
    """A display of its own; its name."""
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", "900x600x24", "-nolisten", "tcp"],
        pass_fds=[writer], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        os.close(writer)
        with os.fdopen(reader) as told:
            yield f":{told.readline().strip()}"
    finally:
        server.terminate()
        server.wait(10)


def test_without_a_display_the_error_says_so(study: ViewedStudy, tmp_path: Path) -> None:
    script = SCRIPT_HEAD.format(where=str(study.where)) + "Window(study, MemberScenes(study).first)\n"
    done = run_window(tmp_path, script, "")
    assert done.returncode != 0 and "ModelError: window: found" in done.stderr and "display" in done.stderr


@pytest.mark.skipif(not (shutil.which("Xvfb") and shutil.which("xdotool")), reason="needs Xvfb and xdotool")
def test_a_real_window_opens_draws_takes_keys_and_closes(study: ViewedStudy, tmp_path: Path) -> None:
    with xvfb() as display:
        done = run_window(tmp_path, SCRIPT_HEAD.format(where=str(study.where)) + SCRIPT, display)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["drawn", "played", "typed", "closed", "again"]


SCRIPT_HEAD = """
import subprocess, sys, time, warnings
warnings.simplefilter("error")
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.gui.app import Window
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.study import ViewedStudy
study = ViewedStudy.open({where!r})
"""
SCRIPT = """
scene = MemberScenes(study).first

def until(window, done):
    end = time.monotonic() + 8
    while not done():
        assert time.monotonic() < end, "nothing happened"
        assert window.frame() or not done, "closed"

with Window(study, scene, look=FAST, size=(640, 420)) as window:
    for _ in range(3):
        window.frame()
    assert window.screen.view_image().std() > 5
    print("drawn")
    subprocess.run(["xdotool", "key", "space"], check=True)
    until(window, lambda: window.state.clock.playing)
    print("played")
    subprocess.run(["xdotool", "key", "plus"], check=True)
    until(window, lambda: window.state.clock.speed == 2.0)
    print("typed")
    subprocess.run(["xdotool", "key", "ctrl+q"], check=True)
    window.run()
    print("closed")
with Window(study, scene, look=FAST, size=(320, 240)) as window:
    window.frame()
    assert window.screen.view_image().std() > 5
    print("again")
assert "jax" not in sys.modules
"""

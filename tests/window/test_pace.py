"""How often the window draws: at the screen's rate while something moves, not at all while nothing does (M52)."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.state.derived.pace import BLINK, SETTLE, WATCH, FramePace
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import FAST, Scene, Strokes
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import stored
from tests.window.test_gui_panes import SCRIPT_HEAD, run_window, xvfb

SCREEN = 144.0


@pytest.fixture
def state(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=FAST)


def interval(state: WindowState, since_event: float = 60.0, *, typing: bool = False) -> float:
    pace = FramePace()
    pace.stirred = 0.0
    return pace.interval(state, SCREEN, since_event, typing=typing)


def test_a_window_in_which_nothing_moves_waits_for_events(state: WindowState) -> None:
    assert interval(state) == math.inf
    assert interval(state, typing=True) == BLINK
    assert interval(state, since_event=SETTLE / 2) == 1 / SCREEN
    assert interval(state, since_event=SETTLE * 2) == math.inf


def test_what_plays_is_drawn_at_the_rate_of_the_screen(state: WindowState) -> None:
    actions.run(state, "play")
    assert interval(state) == 1 / SCREEN
    state.panels.set_rate(30.0)
    assert interval(state) == 1 / 30
    state.panels.set_rate(240.0)
    assert interval(state) == 1 / SCREEN, "more often than the screen shows pictures"
    actions.run(state, "play")
    assert interval(state) == math.inf


def test_a_pane_that_collects_goes_on(state: WindowState) -> None:
    state.panels.unfinished = True
    assert interval(state) == 1 / SCREEN


def test_what_others_may_change_is_looked_at(state: WindowState) -> None:
    state.overlays.append(lambda _: Strokes(np.zeros((0, 2, 3)), np.zeros((0, 4))))
    assert interval(state) == WATCH
    state.overlays.clear()
    state.awaited.text = "simulating"
    assert interval(state) == WATCH


SCRIPT = """
import threading
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.widgets.bundle import glfw

class Counted(Window):
    frames = 0
    def frame(self):
        self.frames += 1
        return super().frame()

def after(seconds, call):
    thread = threading.Timer(seconds, lambda: (call(), glfw.post_empty_event()))
    thread.daemon = True
    thread.start()

scene = MemberScenes(study).first
with Counted(study, scene, look=FAST, size=(320, 240)) as window:
    seen = []
    def look():
        seen.append(window.frames)
    after(5.0, look)
    after(8.0, look)
    after(8.1, lambda: subprocess.run(["xdotool", "key", "space"], check=True))
    after(11.0, lambda: (look(), subprocess.run(["xdotool", "key", "ctrl+q"], check=True)))
    window.run()
    print(*seen, window.state.clock.playing)
"""


@pytest.mark.skipif(not (shutil.which("Xvfb") and shutil.which("xdotool")), reason="needs Xvfb and xdotool")
def test_a_real_window_sleeps_until_a_key_and_draws_while_it_plays(tmp_path: Path) -> None:
    study = stored(tmp_path)
    with xvfb() as display:
        done = run_window(tmp_path, SCRIPT_HEAD.format(where=str(study.where)) + SCRIPT, display)
    assert done.returncode == 0, done.stderr
    settled, slept, played, playing = done.stdout.split()
    print(f"{int(settled)} frames in 5 s, {int(played) - int(slept)} in 3 s of playing")
    assert slept == settled, f"{int(slept) - int(settled)} frames in three seconds in which nothing moved"
    assert int(played) > int(slept) + 3 and playing == "True"

"""What only a real window has: the whole screen, the clipboard, a recording paced by its rate. Under Xvfb."""

import shutil
from pathlib import Path

import pytest

from tests.scenes.bars import stored
from tests.window.test_gui_panes import SCRIPT_HEAD, run_window, xvfb

SCRIPT = """
import glob, os
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.gui.widgets.bundle import glfw, imgui
os.chdir({folder!r})
scene = MemberScenes(study).first
with Window(study, scene, look=FAST, size=(640, 420), beside=Design(MemberScenes(study, scene), 2)) as window:
    def frames(count):
        for _ in range(count):
            assert window.frame()
    frames(2)
    assert window.state.beside.member == 2 and window.state.panels.zoom >= 1
    actions.run(window.state, "fullscreen")
    frames(3)
    assert glfw.get_window_monitor(window._window)
    assert glfw.get_window_size(window._window) == (900, 600)
    actions.run(window.state, "fullscreen")
    frames(3)
    assert not glfw.get_window_monitor(window._window)
    assert glfw.get_window_size(window._window) == (640, 420)
    print("filled")
    imgui.set_clipboard_text("m\u00b2 \u5173")
    assert imgui.get_clipboard_text() == "m\u00b2 \u5173"
    actions.run(window.state, "copy_camera")
    frames(1)
    assert imgui.get_clipboard_text().startswith("Camera(target=(")
    print("copied")
    actions.run(window.state, "play")
    actions.run(window.state, "record")
    window.add_panel("Stop", lambda s: actions.run(s, "quit") if s.recording.seconds > 0.2 else None)
    window.run()
    print("recorded")
(movie,) = glob.glob("shiftjax-*.mp4")
assert os.path.getsize(movie) > 1000
print("written")
"""


@pytest.mark.skipif(not shutil.which("Xvfb"), reason="needs Xvfb")
def test_the_whole_screen_the_clipboard_and_a_recording(tmp_path: Path) -> None:
    study = stored(tmp_path)
    with xvfb() as display:
        script = SCRIPT_HEAD.format(where=str(study.where)) + SCRIPT.replace("{folder!r}", repr(str(tmp_path)))
        done = run_window(tmp_path, script, display)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["filled", "copied", "recorded", "written"]

"""One walk through a stored study of 20 000 members in a real window: open, sort, brush, the worst five that were not
kept, grid, a member that ended early, a recording, a view saved and reopened. Under Xvfb."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from shiftjax.ensembles.store import store
from shiftjax.run.simulate import simulate
from shiftjax.viewer.study.study import ViewedStudy
from tests.window.test_gui_panes import SCRIPT_HEAD, run_window, xvfb

SCRIPT = """
import os, time
import numpy as np
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.actions.saving import saved
os.chdir({folder!r})
scene = MemberScenes(study).first

def frames(window, count=2):
    for _ in range(count):
        assert window.frame()

def click(window, name, modifiers=(False, False, False)):
    box = ui.item_boxes[name]
    press(window, box.x + box.width / 2, box.y + box.height / 2, modifiers)

def press(window, x, y, modifiers=(False, False, False), to=None):
    window.screen.mouse_move(x, y)
    frames(window)
    window.screen.mouse_button("Left", x, y, modifiers, time.perf_counter(), down=True)
    frames(window)
    if to is not None:
        x, y = to
        window.screen.mouse_move(x, y)
        frames(window)
    window.screen.mouse_button("Left", x, y, modifiers, time.perf_counter(), down=False)
    frames(window, 3)

def write(window, name, text):
    click(window, name)
    for letter in text:
        window.screen.character(letter)
        frames(window, 1)
    key(window, "Enter")

def key(window, name):
    window.screen.key(name, (False, False, False), down=True)
    frames(window, 1)
    window.screen.key(name, (False, False, False), down=False)
    frames(window)

with Window(study, scene, look=FAST, size=(1100, 760)) as window:
    state = window.state
    frames(window)
    key(window, "F3")
    table = state.explorer.table
    swing = table.column("swing")
    click(window, "column:swing")
    print("sorted", f"member:{int(np.nanargmin(swing))}" in ui.item_boxes)

    click(window, "tab:Scatter")
    box = ui.item_boxes["study:scatter"]
    press(window, box.x + 0.3 * box.width, box.y + 0.3 * box.height,
          to=(box.x + 0.7 * box.width, box.y + 0.7 * box.height))
    print("brushed", 0 < np.count_nonzero(state.explorer.selected) < study.members)

    worst = np.argsort(-np.where(np.isfinite(swing), swing, -np.inf), kind="stable")[:5]
    write(window, "members", "worst:5:swing")
    until = time.monotonic() + 300
    while state.choice.chosen.tolist() != worst.tolist() and time.monotonic() < until:
        frames(window, 1)
        time.sleep(0.3)  # drawing takes more processor time than what is waited for
    print("worst", state.choice.chosen.tolist() == worst.tolist() and not np.isin(worst, study.kept).any())

    click(window, "grid")
    frames(window)
    print("grid", state.explorer.cells == tuple(worst.tolist()))
    state.explorer.file = "walk.json"
    saved.save_here(state)
    key(window, "F6"), key(window, "F6"), key(window, "F6")

    actions.run(state, "play")
    actions.run(state, "record")
    frames(window, 6)
    actions.run(state, "record")
    frames(window)
    print("recorded", any(name.endswith(".mp4") for name in os.listdir(".")))

locked = ViewedStudy.open("locked.zarr")
with Window(locked, MemberScenes(locked).first, look=FAST, size=(1100, 760)) as window:
    frames(window)
    write(window, "members", "failed")
    print("failed", window.state.choice.member == 1 and {"ended", "banner:left"} <= {*ui.item_boxes})

with Window(study, scene, look=FAST, size=(1100, 760), saved="walk.json") as window:
    frames(window, 3)
    print("reopened", window.state.explorer.cells == tuple(worst.tolist()))
"""


@pytest.mark.skipif(not shutil.which("Xvfb"), reason="needs Xvfb")
def test_a_walk_through_a_study(many_members: ViewedStudy, tmp_path: Path) -> None:
    driven = {"rocker_pivot": np.array([0.1, 3.0])}  # rad/s; the second one past the end of its travel
    store.write(simulate("four_bar", span=0.5, output_step=0.02, drive=driven, keep="all"), tmp_path / "locked.zarr")
    with xvfb() as display:
        head = SCRIPT_HEAD.format(where=str(many_members.where))
        done = run_window(tmp_path, head + SCRIPT.replace("{folder!r}", repr(str(tmp_path))), display, 300)
    assert done.returncode == 0, done.stderr
    steps = ("sorted", "brushed", "worst", "grid", "recorded", "failed", "reopened")
    assert done.stdout.splitlines() == [f"{step} True" for step in steps]

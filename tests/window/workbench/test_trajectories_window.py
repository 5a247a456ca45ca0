"""Trajectories in the window, what takes long there and is ended by Escape, and regions of goals that are drawn. S23,
M46, M65."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.run.info import info
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture import goal_ghosts
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.workbench import WorkbenchSession
from tests.support.windows import beside_a_run, settled

CRANK, COUPLER = "four_bar:crank_pivot", "four_bar:coupler"
SHIFT, CTRL_ALT = (False, False, True), (True, True, False)
PATIENCE = 20.0  # s until a thread has begun


@pytest.fixture
def four_bar() -> Iterator[tuple[Offscreen, WorkbenchSession]]:
    with WorkbenchSession(shiftjax.Workbench("four_bar"), Helpers(report=info)) as session:
        with beside_a_run(session, (1000, 560)) as window:
            window.frames(2)
            yield window, session


def test_a_table_is_gone_through_and_written(
    four_bar: tuple[Offscreen, WorkbenchSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pose is a step, and an instant of the history at the time of its row, so that it plays as it was; what is
    not reached is said in the console; a key writes all poses under a name that is free."""
    monkeypatch.chdir(tmp_path)
    window, session = four_bar
    Path("in.csv").write_text("time, crank_pivot [deg], energy.total\n0, 62, 1\n0.5, 70, 1\n2, 80, 1\n")
    begun = session.history.time[-1]
    session.do("read_trajectory('in.csv')")
    settled(window, session)
    assert session.script.count("\n") == 3 and session.script.endswith("# pose 2 of in.csv\n")
    assert np.diff(session.history.time[-3:]) == pytest.approx([0.5, 1.5]) and session.history.time[-3] > begun
    assert session.values[CRANK] == pytest.approx(np.radians(80.0), abs=1e-9)
    said = [line.text for line in session.console]
    assert "columns left out: energy.total" in said and "# in.csv: 3 poses, a step each" in said
    for k in range(2):
        window.key("S", CTRL_ALT)
        settled(window, session)
        assert f"poses{'_2' if k else ''}.csv, 4 poses" in window.state.panels.message.replace("_1.csv", "_2.csv")
    files = sorted(tmp_path.glob("poses*.csv"))
    read = shiftjax.read_trajectory(files[0], "four_bar")
    assert len(files) == 2 and read.q[CRANK][1:] == pytest.approx(np.radians([62.0, 70.0, 80.0]), abs=1e-9)
    session.do("lock('crank_pivot')")
    session.do("read_trajectory('in.csv')")
    settled(window, session)
    said = [line.text for line in session.console]
    assert any(text.startswith("pose 0 of in.csv: four_bar:crank_pivot: 0.3142 rad missing") for text in said)
    assert window.state.panels.message.endswith("2 not reached")
    Path("two.csv").write_text("crank_pivot [deg], rocker_pivot [deg]\n62, 10\n")
    session.do("read_trajectory('two.csv')")
    settled(window, session)
    assert window.state.panels.message.endswith("1 not reached")  # a pose, of which two coordinates are missing
    session.do("read_trajectory()")
    settled(window, session)
    assert session.console[-1].kind == "error" and "that of a file" in session.console[-1].text


def until(window: Offscreen, there: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end
        time.sleep(0.005)
    window.frames(2)


def test_escape_ends_what_takes_long(
    four_bar: tuple[Offscreen, WorkbenchSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status bar says what goes on and how far it is; Escape ends it and nothing else: a flip leaves all as it was,
    a table the poses that are done; a ghost of the other assembly gives way to what is done by hand."""
    window, session = four_bar
    bench, mode = session._bench, window.state.selection.mode

    def slow(name: str = "", progress: Callable[[float], None] = lambda done: None) -> tuple[str, dict]:
        for k in range(4000):
            progress(k / 4000)
            time.sleep(0.005)
        raise AssertionError("nobody ended it")

    monkeypatch.setattr(bench, "flip", slow)
    window.key("F", SHIFT)
    until(window, lambda: "%" in session.doing)
    assert "doing" in ui.item_boxes and session.doing.startswith("looking for other assemblies, ")
    window.key("Escape")
    settled(window, session)
    assert session.doing == "" and session.script == "" and window.state.selection.mode == mode
    assert window.state.panels.message == "flip: ended, nothing has changed"

    monkeypatch.setattr(bench, "other_poses", slow)
    session.show_other()
    until(window, lambda: "%" in session.doing)
    session.change(CRANK, 1.2)
    session.let_go()
    until(window, lambda: session.script and "%" in session.doing)  # it goes on after that
    window.key("Escape")
    settled(window, session)
    assert session.other is None and session.doing == "" and "no other assembly" in window.state.panels.message

    rows = "\n".join(f"{1.2 + 1e-4 * k}" for k in range(2000))
    (tmp_path / "long.csv").write_text(f"crank_pivot\n{rows}\n")
    session.do(f"read_trajectory({str(tmp_path / 'long.csv')!r})")
    until(window, lambda: session.script.count("\n") > 3)
    window.key("Escape")
    settled(window, session)
    done = session.script.count("\n") - 1
    assert 3 <= done < 2000 and f"ended after {done} of 2000 poses" in window.state.panels.message


def test_a_window_that_closes_says_what_it_did_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long ends when the window does, and is named; the poses that are done are written."""
    bench = shiftjax.Workbench("four_bar")
    session = WorkbenchSession(bench, Helpers(report=info))
    rows = "\n".join(f"{1.2 + 1e-4 * k}" for k in range(2000))
    (tmp_path / "long.csv").write_text(f"crank_pivot\n{rows}\n")
    session.do(f"read_trajectory({str(tmp_path / 'long.csv')!r})")
    end = time.monotonic() + PATIENCE
    while session.script.count("\n") < 2 and time.monotonic() < end:
        time.sleep(0.005)
    ended, written = session.close_saving(tmp_path).splitlines()
    done = bench.script.count("\n")
    assert f"ended after {done} of 2000 poses" in ended and 2 <= done < 2000
    assert written.startswith("written: ") and (tmp_path / "four_bar_posed.txt").read_text() == bench.script


def test_a_region_is_drawn(four_bar: tuple[Offscreen, WorkbenchSession]) -> None:
    """The edges of a box stand beside the cross of its goal; the pane tells the frame and the region; a goal that takes
    the name of another one is said."""
    window, session = four_bar
    session.do("keep('coupler', T=[0.1, 0, -0.2], box=[0.02, 0.02, 0.05], name='near')")
    settled(window, session)
    (goal,) = session.goals
    lines = goal_ghosts.lines(window.state)
    assert goal.state == "met" and lines is not None and len(lines.ends) == 3 + 12
    assert np.ptp(lines.ends[3:].reshape(-1, 3), axis=0) == pytest.approx([0.04, 0.04, 0.1])
    assert goal.title == "near, within ±0.02, ±0.02, ±0.05 m"
    session.do("keep('coupler', relative_to='rocker', name='near')")
    settled(window, session)
    assert session.goals[0].title == "near in four_bar:rocker"
    assert "the goal 'near', of four_bar:coupler, is replaced by another one" in window.state.panels.message
    assert session.console[-1].kind == "note"

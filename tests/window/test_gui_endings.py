"""What ended early is seen: hatching on the timeline, a banner, grey bodies; members simulated again are awaited."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from shiftjax.ensembles.store import store
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.actions.members import choosing
from shiftjax.viewer.gui.actions.members.beside import choose as choose_beside
from shiftjax.viewer.gui.actions.members.beside import open_beside
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.study.ended import GREY, ended
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

SPEEDS = [0.1, 3.0]  # of the rocker [rad/s]; the second drives it past the end of its travel
PATIENCE = 120.0  # s for a simulator to start on a busy machine


@pytest.fixture(scope="module")
def result() -> Result:
    found = simulate("four_bar", span=0.5, output_step=0.02, drive={"rocker_pivot": np.array(SPEEDS)}, keep="all")
    assert found.status.tolist() == [0, 7], "ok, locked"
    return found


def opened(result: Result, place: Path, keep: str) -> ViewedStudy:
    return ViewedStudy.open(store.write(result, place / f"{keep}.zarr", keep=keep))


@pytest.fixture
def study(result: Result, tmp_path: Path) -> ViewedStudy:
    return opened(result, tmp_path, "all")


@pytest.fixture
def bare(result: Result, tmp_path: Path) -> Iterator[ViewedStudy]:
    found = opened(result, tmp_path, "none")
    found.prepare([0])
    yield found
    assert found.lacking.resimulation is not None
    found.lacking.resimulation.close()


@contextmanager
def held_up(study: ViewedStudy) -> Iterator[None]:
    """While the process that simulates stands still, so that no member comes before it was waited for."""
    assert study.lacking.resimulation is not None and study.lacking.resimulation.simulator.process is not None
    number = study.lacking.resimulation.simulator.process.pid
    os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(number, signal.SIGCONT)


def test_where_a_member_ended(study: ViewedStudy, result: Result) -> None:
    found = ended(study, 1)
    assert ended(study, 0) is None and found is not None
    assert found.time == pytest.approx(result.certificate["steps"][1] * 1e-3, abs=1e-12)
    assert study.end(1) <= found.time < 0.5 and "past the end of its travel" in found.message
    assert found.title() == f"member 1 ended at {found.time:.4g} s"


def test_bodies_are_grey_after_the_end(study: ViewedStudy) -> None:
    state = WindowState(MemberScenes(study), member=1)
    found = state.ended()
    assert found is not None
    state.go_to(found.time - 0.01)
    assert GREY not in snapshot(state).colours.values()
    state.go_to(found.time + 0.01)
    colours = snapshot(state).colours
    assert {path for path, colour in colours.items() if colour == GREY} >= set(study.nodes[1:])
    state.show_member(0)
    assert state.ended() is None and GREY not in snapshot(state).colours.values()


def test_an_end_is_marked(study: ViewedStudy) -> None:
    """On the timeline where time passes it, and in the half of the view that shows the member."""
    state = WindowState(MemberScenes(study), member=1)
    with Offscreen(state) as screen:
        found = state.ended()
        assert found is not None
        mark, bar, banner = (ui.item_boxes[name] for name in ("ended", "time", "banner:left"))
        axes = [box for name, box in ui.item_boxes.items() if name.startswith("axes:")]
        assert axes and banner.x > max(box.x + box.width for box in axes), "beside the corner's axes"
        part = (mark.x - bar.x) / bar.width
        assert part == pytest.approx(found.time / 0.5, abs=0.02) and mark.x + mark.width == bar.x + bar.width
        image = screen.image()
        inside = image[int(banner.y) + 3 : int(banner.y + banner.height) - 3, int(banner.x) + 4 : int(banner.x) + 6]
        assert (inside[..., 0] > inside[..., 1] + 40).all(), "a red banner"
        hatched = image[int(mark.y) + 2 : int(mark.y + mark.height) - 2, int(mark.x) + 5 : int(mark.x + mark.width) - 5]
        assert ((hatched[..., 0].astype(int) - hatched[..., 2]) > 60).any(), "red lines on the bar"
        state.go_to(0.5)
        screen.frames()
        open_beside(state, Design(state.scenes, 0))
        screen.frames(2)
        assert "banner:left" in ui.item_boxes and "banner:right" not in ui.item_boxes
        state.beside = None
        state.show_member(0)
        screen.frames(2)
        assert "banner:left" not in ui.item_boxes


def test_the_window_goes_on_while_members_are_simulated(bare: ViewedStudy) -> None:
    """Every frame is drawn; the members are shown when they have come."""
    state = WindowState(MemberScenes(bare))
    assert state.choice.member == 0
    with Offscreen(state, (700, 400)) as screen:
        with held_up(bare):
            choosing.choose(state, "worst:2")
            assert state.choice.member == 0 and bare.awaited([1])
            screen.frames(2)
            assert state.awaited.text.startswith("simulating member 1 again") and "awaited" in ui.item_boxes
            assert state.choice.member == 0
        end = time.monotonic() + PATIENCE
        while state.choice.member == 0:
            screen.frames()
            assert time.monotonic() < end
        assert state.choice.chosen.tolist() == [1, 0]
        assert state.awaited.text == "" and state.ended() is not None


def test_the_right_half_waits_too(bare: ViewedStudy) -> None:
    state = WindowState(MemberScenes(bare))
    open_beside(state, Design(state.scenes, 0))
    assert state.beside is not None
    with held_up(bare):
        choose_beside(state, state.beside, "1")
        state.advance(0.1)
        assert state.beside.member == 0
    end = time.monotonic() + PATIENCE
    while state.beside.member == 0:
        state.advance(0.1)
        time.sleep(0.05)
        assert time.monotonic() < end
    assert state.ended(state.beside) is not None


def test_a_failure_of_the_simulator_is_said(bare: ViewedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    state = WindowState(MemberScenes(bare))
    assert bare.lacking.resimulation is not None and bare.lacking.resimulation.simulator.process is not None
    bare.lacking.resimulation.simulator.process.kill()
    bare.lacking.resimulation.simulator.process.wait()
    monkeypatch.setattr("shiftjax.viewer.study.simulator.MODULE", "shiftjax.none_of_that_name")
    choosing.choose(state, "1")
    end = time.monotonic() + PATIENCE
    while bare.awaited([1]):
        time.sleep(0.05)
        assert time.monotonic() < end
    state.advance(0.1)
    assert state.choice.member == 0 and "none_of_that_name" in state.panels.messages[-1]

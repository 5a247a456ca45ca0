"""Sliders of the varied numbers of a stored study, in the window: the nearest member, a design simulated at once, more
members like some."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store import store
from shiftjax.ensembles.study.definition import Definition
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import selecting, trying
from shiftjax.viewer.gui.actions.saving import saved
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import tooltips
from shiftjax.viewer.gui.panes.study import design_tab
from shiftjax.viewer.gui.picture.snapshot import ghosts
from shiftjax.viewer.gui.state.colours import BY_HAND
from shiftjax.viewer.gui.state.derived import pace, shown_curves
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import TRIED, DesignSliders
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.study.design_trials import TITLE, DesignTrials
from shiftjax.viewer.study.latest_request import LatestRequest
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.windows import shown

SIZE = (1200, 860)
CRANK, MASS = "four_bar:crank:tip.T[0]", "four_bar:coupler.mass"
MEMBERS, SWING = 24, "swing"
PATIENCE = 120.0  # s for a simulator to start on a busy machine
CTRL = (True, False, False)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewedStudy]:
    """Four-bars of several cranks and couplers, of which a third are kept."""
    words = Definition(
        model="four_bar", vary={CRANK: "0.15:0.5~sobol", MASS: "0.5:2~sobol"}, samples=MEMBERS, span=0.1, step=1e-3,
        output_step=0.02, channels=["rocker_pivot.q"], metrics={SWING: "peak_to_peak(rocker_pivot.q)"}, keep="every 3",
    )  # fmt: skip
    opened = ViewedStudy.open(sweep(words, tmp_path_factory.mktemp("designs") / "cranks.zarr").path)
    yield opened
    opened.close()


@pytest.fixture
def window(study: ViewedStudy) -> Iterator[Offscreen]:
    with shown(study, SIZE) as screen:
        screen.key("F8")
        screen.frames(2)
        yield screen


def sliders(window: Offscreen) -> DesignSliders:
    return window.state.pane_data(DesignSliders)


def trials(window: Offscreen) -> DesignTrials:
    assert isinstance(window.state.study.trials, DesignTrials)
    return window.state.study.trials


def slide(window: Offscreen, path: str, part: float) -> None:
    """Drags a slider to a part of its range, and waits for what comes of it."""
    box = ui.item_boxes[f"design slider:{path}"]
    window.drag(f"design slider:{path}", (box.x + part * box.width, box.y + box.height / 2))
    come(window)


def come(window: Offscreen) -> None:
    trials(window).one.wait(PATIENCE)
    window.frames(2)


def typed(window: Offscreen, path: str, text: str) -> None:
    window.click(f"design typed:{path}")
    window.frames()
    window.type(text)
    window.key("Enter")
    window.frames(2)


def test_the_sliders_begin_at_the_member_shown(window: Offscreen, study: ViewedStudy) -> None:
    member = window.state.choice.member
    assert window.state.explorer.tab == "designs" and sliders(window).like == member
    assert sliders(window).values == {path: study.value(path, member) for path in (CRANK, MASS)}
    assert study.trials is not None
    for path, ends in study.trials.ranges.items():
        assert ends == (study.design[path].min(), study.design[path].max())
    words = design_tab.nearest_words(window.state, sliders(window))
    assert words == f"nearest member {member} (ok), 0 ranges away; began at member {member}"


def test_a_slider_simulates_that_design_at_once(window: Offscreen, study: ViewedStudy) -> None:
    """It is drawn over the members, has metrics and curves, and is in no way a member of the store."""
    state = window.state
    before, members = window.screen.view_image().astype(int), study.members
    box = ui.item_boxes[f"design slider:{CRANK}"]
    window.drag(f"design slider:{CRANK}", (box.x + 0.2 * box.width, box.y + box.height / 2))
    assert pace.watched(state) and "simulating a design" in trials(window).text()
    come(window)
    state.go_to(0.1)
    window.frames(2)
    tried = sliders(window).tried
    assert tried is not None and sliders(window).is_tried and sliders(window).problem == ""
    value = sliders(window).values[CRANK]
    assert tried.study.value(CRANK, 0) == value != study.value(CRANK, state.choice.member)
    assert tried.study.title(0) == TITLE and "tried design" in ui.item_boxes and study.members == members
    drawn = ghosts(state)
    assert drawn is not None and drawn.members is not None and drawn.members[-1] == TRIED
    np.testing.assert_array_equal(drawn.poses[-1], tried.study.poses(0, 0.1))
    after = window.screen.view_image().astype(int)
    violet = (np.abs(after - before).max(-1) > 20) & (after[..., 2] > after[..., 1] + 40)
    assert violet.sum() > 100
    curves = shown_curves.shown(state, "rocker_pivot.q")
    assert [one.name for one in curves] == [TITLE, f"member {state.choice.member}"]
    assert curves[0].colour == BY_HAND[:3]
    np.testing.assert_array_equal(curves[0].curve.values[:, 0], tried.study.channel("rocker_pivot.q", 0))
    rows = {name: (by_hand, here) for name, by_hand, here in design_tab.figures(state, sliders(window))}
    assert rows[SWING] == (tried.study.value(SWING, 0), study.value(SWING, state.choice.member))
    state.selection.hovered = Hit(None, None, TRIED)
    assert any(TITLE in line for line in tooltips.lines(state)) and len(tooltips.lines(state)) == 2


def test_the_design_of_a_member_that_was_not_kept_has_its_figures(window: Offscreen, study: ViewedStudy) -> None:
    member = next(k for k in range(MEMBERS) if k not in study.kept and study.status[k] == 0)
    for path in (CRANK, MASS):
        trying.change(window.state, path, study.value(path, member))
    come(window)
    tried = sliders(window).tried
    assert tried is not None and sliders(window).nearest == (member, 0.0)
    for name in study.metrics:
        assert tried.study.value(name, 0) == study.value(name, member), name


def test_a_design_beside_and_out_of_the_picture(window: Offscreen) -> None:
    state = window.state
    window.click("design beside")
    assert state.beside is None and "move a slider first" in state.panels.message
    slide(window, CRANK, 0.1)
    window.click("design beside")
    right = state.beside
    assert right is not None and sliders(window).tried is not None and right.design is sliders(window).tried
    slide(window, CRANK, 0.3)
    assert state.beside is right and right.design is sliders(window).tried, "the half shows the one that came last"
    window.frames()
    captions = right.captions[2]
    assert TITLE in captions[0] and f"{sliders(window).values[CRANK]:.6g}" in captions[1]
    window.click("no design")
    assert state.beside is None and sliders(window).tried is None
    only = ghosts(state)
    assert only is None or only.members is None or TRIED not in only.members


def test_sliders_are_in_a_saved_view(window: Offscreen, study: ViewedStudy, tmp_path: Path) -> None:
    """Where they stand, and the design that was shown, which is simulated again; where they have not begun, that."""
    state = window.state
    trying.change(state, CRANK, 0.27)
    come(window)
    first = sliders(window).tried
    document = saved.document(state)
    saved.save(state, tmp_path / "view.json")
    trying.begin(state, int(study.kept[-1]))
    assert sliders(window).tried is None and sliders(window).values[CRANK] != 0.27
    saved.load(state, tmp_path / "view.json")
    come(window)
    again = sliders(window).tried
    assert sliders(window).values[CRANK] == 0.27 and sliders(window).is_tried and saved.document(state) == document
    assert first is not None and again is not None
    np.testing.assert_array_equal(again.study.poses(0, 0.05), first.study.poses(0, 0.05))
    trying.forget(state)
    saved.load(state, saved.save(state, tmp_path / "without.json"))
    assert sliders(window).values[CRANK] == 0.27 and not sliders(window).wanted and not trials(window).one.busy
    saved.restore(state, {**saved.FORMAT, "design": None}, "none")
    assert sliders(window).like == -1 and sliders(window).tried is None


def test_a_design_that_is_not_wanted_any_more_does_not_come(window: Offscreen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken out while it is being simulated, it stays out; the next one comes as ever."""
    box, one = ui.item_boxes[f"design slider:{CRANK}"], trials(window).one
    answers, left = one.simulator.answers, threading.Event()

    def late(*request: Any) -> Iterator[Any]:
        """Answers that come after the press that takes the design out, on a machine of any speed."""
        left.wait(PATIENCE)
        yield from answers(*request)

    monkeypatch.setattr(one.simulator, "answers", late)
    for leave in ("no design", "sliders at member"):
        left.clear()
        window.drag(f"design slider:{CRANK}", (box.x + 0.2 * box.width, box.y + box.height / 2))
        assert one.busy
        window.click(leave)
        left.set()
        come(window)
        assert sliders(window).tried is None, leave
    slide(window, CRANK, 0.3)
    assert sliders(window).is_tried


def test_a_simulator_that_starts_while_its_study_is_closed_ends(
    study: ViewedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that nobody waits for is no process, and no zombie either."""
    asked, starting, closed = LatestRequest("a study"), threading.Event(), threading.Event()
    begin, begun = subprocess.Popen, list[subprocess.Popen[bytes]]()

    def late(*words: Any, **more: Any) -> subprocess.Popen[bytes]:
        starting.set()
        closed.wait(1.0)  # whoever closes it may wait for this
        begun.append(begin(*words, **more))
        return begun[0]

    monkeypatch.setattr(subprocess, "Popen", late)
    assert isinstance(study.trials, DesignTrials)
    asked.ask({"store": study.trials.store, "like": 0, "design": {}})
    assert starting.wait(PATIENCE)
    asked.close()
    closed.set()
    asked.wait(PATIENCE)
    answer = asked.take()
    assert answer is None or "was ended" in answer.problem, answer
    assert not begun or not Path(f"/proc/{begun[0].pid}").exists()


def test_an_idle_simulator_that_is_ended_leaves_no_zombie(study: ViewedStudy) -> None:
    asked = LatestRequest("a study")
    assert isinstance(study.trials, DesignTrials)
    asked.ask({"store": f"{study.trials.store}.none", "like": 0, "design": {}})
    asked.wait(PATIENCE)
    process = asked.simulator.process
    assert process is not None and process.poll() is None
    asked.close()
    assert process.returncode is not None and not Path(f"/proc/{process.pid}").exists()


def test_a_store_that_is_gone_is_told_in_its_pane(study: ViewedStudy, tmp_path: Path) -> None:
    """Numbers that were not read before: the window stays, and says what is wrong."""
    assert isinstance(study.trials, DesignTrials)
    place = tmp_path / "gone.zarr"
    shutil.copytree(study.trials.store, place)
    with shown(ViewedStudy.open(place), SIZE) as window:
        shutil.rmtree(place)
        window.key("F8")
        window.frames(2)
        for title in ("Scatter", "Parallel axes", "Histogram", "Why?", "Designs", "Table"):
            window.click(f"tab:{title}")
            window.frames(2)
        assert "unreadable:Table" in ui.item_boxes
        window.key("F3")
        window.frames(2)
        assert "unreadable:Table" not in ui.item_boxes


def test_a_design_that_fails_says_how(window: Offscreen) -> None:
    slide(window, CRANK, 0.1)
    assert sliders(window).tried is not None
    typed(window, CRANK, "2.5")
    come(window)
    assert sliders(window).tried is None and "design failed" in ui.item_boxes
    assert sliders(window).problem.startswith(Outcome.not_assembled.name)
    slide(window, CRANK, 0.1)
    assert sliders(window).tried is not None and "design failed" not in ui.item_boxes


def test_typed_numbers_may_leave_the_range(window: Offscreen, study: ViewedStudy) -> None:
    assert study.trials is not None
    low, _ = study.trials.ranges[CRANK]
    typed(window, CRANK, "0.1234567890123")
    assert sliders(window).values[CRANK] == pytest.approx(0.1234567890123, abs=1e-15) and low > 0.13
    come(window)
    tried = sliders(window).tried
    assert tried is not None and tried.study.value(CRANK, 0) == sliders(window).values[CRANK]
    trying.change(window.state, CRANK, float("nan"))
    assert "no number" in window.state.panels.message and sliders(window).values[CRANK] < 0.13


def test_the_nearest_member_is_shown(window: Offscreen, study: ViewedStudy) -> None:
    state = window.state
    slide(window, CRANK, 0.1)
    window.click("design:nearest member")
    assert sliders(window).tried is None, "one that was simulated is not shown any more"
    box = ui.item_boxes[f"design slider:{CRANK}"]
    window.drag(f"design slider:{CRANK}", (box.x + 0.4 * box.width, box.y + box.height / 2))
    nearest = sliders(window).nearest
    assert nearest is not None
    member, distance = nearest
    assert f"nearest member {member} ({Outcome(int(study.status[member])).name}), {distance:.3g} ranges" in (
        design_tab.nearest_words(state, sliders(window))
    )
    study.prepare([member])
    window.frames(3)
    assert state.choice.member == member, "it was simulated again where it had no poses"


def test_more_members_like_those_selected(
    window: Offscreen, study: ViewedStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    state = window.state
    selecting.select(state, state.explorer.table.mask("crank:tip.T[0] < 0.3 and status == ok"))
    sliders(window).count = 8
    window.frames(2)
    window.key("F8", CTRL)
    window.click("more like these")
    assert "a study that is being made" in state.panels.message, "one at a time"
    trials(window).many.wait(PATIENCE)
    window.frames(2)
    made = ViewedStudy.open(sliders(window).made)
    inside = study.design[CRANK][state.explorer.selected]
    assert made.members == 8 and (made.design[CRANK] >= inside.min()).all()
    assert (made.design[CRANK] <= inside.max()).all() and next(iter(made.metrics)) == SWING
    window.click("open more")
    assert state.panels.requests == [f"open:{sliders(window).made}"]


def test_nobody_to_be_like(window: Offscreen) -> None:
    selecting.show(window.state, "crank:tip.T[0] > 99")
    trying.more_like(window.state)
    assert "found nobody" in window.state.panels.message
    selecting.show(window.state, "3")
    trying.more_like(window.state)
    assert "found members that are alike" in window.state.panels.message


def test_no_sliders_where_nothing_varies_or_nothing_is_stored(tmp_path: Path) -> None:
    result = simulate("four_bar", span=0.01, step=1e-3, output_step=5e-3, keep="all")
    stored = ViewedStudy.open(store.write(result, tmp_path / "one.zarr", keep="all"))
    for one, words in ((stored, "no number varies in it"), (ViewedStudy.of(result), "need a stored study")):
        state = WindowState(MemberScenes(one))
        actions.run(state, "explore")
        assert words in state.panels.message and not state.explorer.shown_on
        actions.run(state, "more_like")
        trying.look(state)
        assert words in state.panels.message

"""Plots beside a running simulation: what is picked is plotted without asking for channels, and follows the run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.cli.commands import view
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.run.live import Live
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.live_channels import followed
from shiftjax.viewer.motion.session import Session
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from tests.support.windows import beside_a_run, draw_until

JOINTS = ["crank_pivot", "crank_pin", "rocker_pivot", "rocker_pin"]
SIZE = (1100, 1000)  # plots of what is picked are in sight, one below the other


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(Live("four_bar", channels=followed(load("four_bar")))) as made:
        yield made


@pytest.fixture
def window(session: Session) -> Iterator[Offscreen]:
    with beside_a_run(session, SIZE) as screen:
        yield screen


def plotted() -> list[str]:
    """Names of the plots drawn in the last frame, without the assembly's."""
    return [name.removeprefix("plot:four_bar:") for name in ui.item_boxes if name.startswith("plot:")]


def run_to(window: Offscreen, time: float) -> None:
    """Lets the run go until then, and draws meanwhile."""
    if not window.state.clock.playing:
        window.key("Space")
    draw_until(window, time)


def coloured(window: Offscreen, name: str) -> float:
    """Part of the columns of a plot that a line in a colour crosses."""
    box = ui.item_boxes[f"plot:four_bar:{name}"]
    rows, columns = slice(int(box.y), int(box.y + box.height)), slice(int(box.x), int(box.x + 0.95 * box.width))
    return float((np.ptp(window.image()[rows, columns].astype(int), axis=2) > 60).any(axis=0).mean())


def test_the_angles_of_all_joints_are_plotted_at_once(window: Offscreen, session: Session) -> None:
    session.advance(0.0, 1.0)
    session.settle()
    window.frames(3)
    assert plotted()[:2] == [f"{joint}.q" for joint in JOINTS[:2]]
    assert coloured(window, "crank_pivot.q") > 0.9, "no curve over the width of the plot"


def test_a_pick_is_plotted_with_speeds_of_the_run(window: Offscreen, session: Session) -> None:
    """Of joints, bodies and frames; equal to what the same run says that nobody watches."""
    session.advance(0.0, 0.4)
    session.settle()
    state, history = window.state, session.history
    for pick, first in (
        ("crank_pin", ["crank_pin.q", "crank_pin.v"]),
        ("coupler", ["coupler.position", "coupler.orientation"]),
        ("coupler:tip", ["coupler:tip.position"]),
    ):
        state.pick_path(f"four_bar:{pick}")
        window.frames(3)
        assert plotted()[: len(first)] == first
    alone = Live("four_bar", channels=["crank_pin.v", "coupler.velocity", "coupler:tip.position"])
    alone.advance(float(history.time[-1]))
    for name, value in alone.channels().items():
        np.testing.assert_allclose(history.channel(name, 0)[-1], value, rtol=1e-9, atol=1e-12)


def test_the_last_seconds_of_a_run_that_goes_on(window: Offscreen) -> None:
    """A width may be chosen before the run is so long; then the axes go with it, and fit what they show."""
    state, curves = window.state, window.state.pane_data(PlotCurves)
    window.click("plot width")
    window.click("plot width:0.5")
    run_to(window, 1.0)
    assert curves.span is not None and curves.follows and not curves.moved
    assert curves.span[1] - curves.span[0] == pytest.approx(0.5)
    window.key("Space")
    window.frames(3)
    assert curves.span == pytest.approx((state.clock.time - 0.5, state.clock.time))
    seen = curves.get(state.study, 0, "four_bar:crank_pivot.q")
    late = seen.values[seen.time >= curves.span[0]]
    low, high = curves.limits["four_bar:crank_pivot.q"]
    assert high - low < 1.5 * np.ptp(late) < 1.5 * np.ptp(seen.values)


def test_axes_that_the_mouse_moved_stay_while_the_run_goes_on(window: Offscreen) -> None:
    curves = window.state.pane_data(PlotCurves)
    run_to(window, 0.5)
    assert curves.span is not None and curves.span[0] == 0.0 and curves.span[1] > 0.4
    window.wheel(2, "plot:four_bar:crank_pivot.q")
    window.frames()
    zoomed = curves.span
    assert curves.moved and zoomed is not None and zoomed[0] > 0.0
    run_to(window, window.state.span[1] + 0.5)
    assert curves.span == zoomed
    window.click("plot width")
    window.click("plot width:0")
    window.frames(2)
    assert not curves.moved and curves.span is not None and curves.span[1] >= zoomed[1] + 0.4


def test_the_command_records_all_of_it_and_plots_what_it_was_asked_for() -> None:
    parser = argparse.ArgumentParser()
    view.define(parser)
    options = parser.parse_args(["four_bar", "--live", "--channel", "crank_pin.v", "--channel", "coupler.position"])
    live = view.live_of(options, [])
    names = list(live.units)
    assert names[:2] == options.channel and {f"four_bar:{joint}.q" for joint in JOINTS} <= set(names)
    assert not {"four_bar:crank_pin.v", "four_bar:coupler.position"} & set(names), "they are recorded twice"
    with Session(live, plotted=options.channel) as session:
        assert list(session.history.plotted) == options.channel
        with Offscreen(WindowState(MemberScenes(session.history), look=FAST, live=session), SIZE) as window:
            window.frames(2)
            assert [name for name in ui.item_boxes if name.startswith("plot:")] == [
                "plot:crank_pin.v",
                "plot:coupler.position",
            ]
    with pytest.raises(ModelError):
        Session(live, plotted=["crank_pin.w"])


def test_a_body_may_be_a_channel_of_a_live_run() -> None:
    """Its position was observed for the picture, and therefore was no channel."""
    names = ["four_bar:coupler.position", "crank_pivot.q"]
    live = Live("four_bar", channels=names)
    live.advance(0.1)
    values = live.channels()
    assert list(values) == list(live.units) == names
    np.testing.assert_allclose(values["four_bar:coupler.position"], live.poses()[2, :3])

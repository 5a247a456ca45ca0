"""One number for an angle on the screen: in the tree, in the properties and over its plot, whole turns counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiftjax.ensembles.store import store
from shiftjax.numerics.spacing import nearest_places
from shiftjax.poses import continuous
from shiftjax.run.live import Live
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import plotpane, propertypane, treepane
from shiftjax.viewer.gui.state.derived import present
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion import curves
from shiftjax.viewer.motion.live_history import History
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.windows import shown

CRANK = "four_bar:crank_pivot"
SPAN = 3.0  # s: the crank turns four times
RECORDED = 1e-9  # rad between poses, closed to rounding, and the coordinates that they were made of


@pytest.fixture(scope="module")
def turning(tmp_path_factory: pytest.TempPathFactory) -> ViewedStudy:
    result = simulate("four_bar", span=SPAN, output_step=0.01, channels=["crank_pivot.q", "crank_pin.q"], keep="all")
    return ViewedStudy.open(store.write(result, tmp_path_factory.mktemp("turns") / "one.zarr", keep="all"))


@pytest.fixture
def window(turning: ViewedStudy) -> Iterator[Offscreen]:
    with shown(turning, (1000, 700)) as screen:
        yield screen


def numbers(window: Offscreen) -> tuple[float, float, float]:
    """Of the crank's angle: in the tree, in the properties, over the plot."""
    state = window.state
    row = next(row for row in state.rows if row.path == CRANK)
    (text,) = (value for name, value in propertypane.properties(state) if name.startswith("value"))
    curve = state.pane_data(PlotCurves).get(state.study, 0, "crank_pivot.q")
    over = float(plotpane.now(state, "crank_pivot.q", curve)[0])
    return float(treepane.value_text(state, row).split()[0]), float(text.split()[0]), over


@pytest.mark.parametrize("time", [0.0, 0.7, 1.234, 2.005, SPAN])
def test_all_places_have_the_number_of_the_channel(window: Offscreen, turning: ViewedStudy, time: float) -> None:
    """At stored instants and between them."""
    state = window.state
    state.pick_path(CRANK)
    state.go_to(time)
    window.frames(2)
    tree, properties, plot = numbers(window)
    recorded = float(np.interp(time, turning.time, turning.channel("crank_pivot.q", 0)))
    assert plot == pytest.approx(recorded, abs=2e-3), "a line between instants 0.01 s apart: a h^2 / 8"
    assert tree == pytest.approx(plot, abs=0.6e-4) and properties == pytest.approx(plot, abs=0.6e-5), "their digits"
    assert "value:crank_pivot.q" in ui.item_boxes
    if time == SPAN:
        assert abs(recorded) > 2 * math.pi, "the test shows nothing where the crank does not turn"


def test_values_of_joints_are_those_that_were_recorded(window: Offscreen, turning: ViewedStudy) -> None:
    """With their turns, in any order of instants."""
    for name in ("crank_pivot", "crank_pin"):
        channel = turning.channel(f"{name}.q", 0)
        for k in (250, 3, 299, 120, 121, 0):
            window.state.clock.time = float(turning.time[k])
            assert present.joint_value(window.state, f"four_bar:{name}")[0] == pytest.approx(channel[k], abs=RECORDED)


def test_the_convention_has_its_name_where_it_counts(window: Offscreen) -> None:
    state = window.state
    state.pick_path(CRANK)
    assert "value, turns counted" in dict(propertypane.properties(state))


def test_turns_of_a_run_that_records_nothing_are_counted_as_it_grows() -> None:
    """A loop of one's own that adds poses; after a return to an earlier instant, too."""
    run, watched = Live("four_bar"), Live("four_bar", channels=[f"{CRANK}.q"])
    history = History(run.model, run.nodes, report=run.report)
    history.add(run.time, run.poses())
    state = WindowState(MemberScenes(history), look=FAST)
    reached = [0.0]
    for _ in range(60):
        for one in (run, watched):
            one.advance(0.05)
        history.add(run.time, run.poses())
        state.go_to(run.time)
        reached.append(float(present.joint_value(state, CRANK)[0]))
        assert reached[-1] == pytest.approx(watched.channels()[f"{CRANK}.q"], abs=RECORDED)
    assert abs(reached[-1]) > 2 * math.pi
    history.truncate(float(history.time[20]))
    state.go_to(float(history.time[-1]))
    assert present.joint_value(state, CRANK)[0] == pytest.approx(reached[20], abs=RECORDED)


def test_an_orientation_has_the_sign_of_the_pose(turning: ViewedStudy, tmp_path: Path) -> None:
    """q and -q are one orientation; the plot's does not jump, and is that of the properties."""
    for path in ("four_bar:crank", "four_bar:coupler"):
        values = curves.curve(turning, 0, f"{path}.orientation").values
        track = continuous(turning.track(0))[:, turning.nodes.index(path), 3:]
        np.testing.assert_allclose(values, track, atol=RECORDED)


def test_the_nearest_instant() -> None:
    times = np.array([0.0, 1.0, 2.0])
    assert [nearest_places(times, t) for t in (-1.0, 0.4, 0.6, 1.2, 9.0)] == [0, 0, 1, 1, 2]
    assert nearest_places(times[:1], 5.0) == 0

"""Plots of long recordings: envelopes, the last seconds before the cursor, the cursor followed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shiftjax.ensembles.store import store
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.offscreen import FRAME, Offscreen
from shiftjax.viewer.gui.state.study.plots import PlotCurves, widths
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import implot
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.windows import shown

SPAN = 20.0  # s


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> ViewedStudy:
    """A double pendulum at 10 001 instants: 40 to a column of a plot."""
    result = simulate("double_pendulum", span=SPAN, step=2e-3, output_step=2e-3, keep="all")
    return ViewedStudy.open(store.write(result, tmp_path_factory.mktemp("long") / "long.zarr", keep="all"))


@pytest.fixture
def window(long: ViewedStudy) -> Iterator[Offscreen]:
    with shown(long, (1000, 560)) as screen:
        yield screen


def test_many_instants_are_drawn_as_their_envelope(window: Offscreen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each curve at most two lines with a point a column reach the library, with the extremes of all instants."""
    drawn: list[np.ndarray] = []
    plot_line = implot.plot_line

    def noted(label: str, x: np.ndarray, y: np.ndarray, *rest: Any) -> None:
        drawn.append(y)
        plot_line(label, x, y, *rest)

    monkeypatch.setattr(implot, "plot_line", noted)
    window.frames()
    curve = window.state.pane_data(PlotCurves).get(window.state.study, 0, "double_pendulum:shoulder.q")
    assert len(curve.time) == 10_001 and drawn
    assert max(len(y) for y in drawn) <= 400
    assert (
        max(y.max() for y in drawn[:2]) == curve.values.max() and min(y.min() for y in drawn[:2]) == curve.values.min()
    )
    drawn.clear()
    window.state.pane_data(PlotCurves).follow(0.2)
    window.frames(2)
    assert {len(y) for y in drawn} == {10_001}, "few instants are in sight: a line"


def test_the_axes_follow_the_cursor(window: Offscreen) -> None:
    state, curves = window.state, window.state.pane_data(PlotCurves)
    assert curves.span == (0.0, SPAN)
    window.click("plot width")
    window.key("Escape")
    assert curves.span == (0.0, SPAN), "the list was only opened"
    curves.follow(2.0)
    state.go_to(10.0)
    window.frames(2)
    assert curves.span == pytest.approx((8.0, 10.0))
    actions.run(state, "play")
    window.frames(3)
    assert curves.span == pytest.approx((state.clock.time - 2.0, state.clock.time), abs=2 * FRAME)
    state.go_to(0.5)
    window.frames(2)
    assert curves.span == pytest.approx((0.0, 2.0), abs=2 * FRAME), "before the start there is nothing"
    curves.follow(0.0)
    window.frames(2)
    assert curves.span == (0.0, SPAN)


def test_the_mouse_still_moves_axes_that_follow_nothing(window: Offscreen) -> None:
    curves = window.state.pane_data(PlotCurves)
    box = next(box for name, box in ui.item_boxes.items() if name.startswith("plot:"))
    window.wheel(2, (box.x + box.width / 2, box.y + box.height / 2))
    window.frames(2)
    assert curves.span is not None and curves.span[1] - curves.span[0] < SPAN
    zoomed = curves.span
    window.state.go_to(15.0)
    window.frames(2)
    assert curves.span == zoomed


def test_widths_are_round_and_shorter_than_the_run() -> None:
    assert widths(60.0) == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50])
    assert widths(0.5) == pytest.approx([1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2])
    assert widths(0.0) == []

"""Members that stand for many: the actual ones nearest to the median and to other quantiles of a metric or a curve."""

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.members.typical import SHARES, nearest_curves, nearest_to_quantiles
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import ANGLE, KEPT, SWING
from tests.support.windows import with_study_pane

SIZE = (1100, 860)


def test_of_an_odd_number_the_median_is_a_member() -> None:
    values = np.array([9.0, 1.0, np.nan, 5.0, 2.0, 8.0, np.inf])
    middle = nearest_to_quantiles(values, np.arange(7), (0.5,))[0]
    assert (middle.member, middle.value, middle.quantile) == (3, 5.0, 5.0)
    ends = nearest_to_quantiles(values, np.arange(7), (0.0, 1.0))
    assert [one.member for one in ends] == [1, 0]
    assert [one.member for one in nearest_to_quantiles(values, np.array([1, 4]), (0.5,))] == [1], "ties by member"
    assert nearest_to_quantiles(values, np.array([2, 6])) == ()


def test_the_curve_nearest_to_the_median_curve() -> None:
    """Of parallel curves the middle one; one that ended early is nobody's median."""
    time = np.linspace(0.0, 1.0, 11)
    curves = np.stack([np.sin(time) + shift for shift in (0.0, 3.0, 1.0, 2.0, 1.9)])[..., None]
    curves[4, 6:] = np.nan
    quantiles = tuple(np.nanquantile(curves, share, axis=0) for share in (0.0, 0.5, 1.0))
    typical = nearest_curves(curves, np.array([10, 11, 12, 13, 14]), quantiles)
    assert [one.member for one in typical] == [10, 13, 11]
    assert typical[0].value == pytest.approx(0.0, abs=1e-15)
    by_hand = np.sqrt(np.mean((curves[3] - quantiles[1]) ** 2))
    assert typical[1].value == pytest.approx(by_hand, rel=1e-12)
    assert nearest_curves(np.full((2, 3, 1), np.nan), np.arange(2), (np.full((3, 1), np.nan),), (0.5,)) == ()


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        yield screen


def test_the_median_of_a_metric_is_shown_with_both_edges(window: Offscreen, many_members: ViewedStudy) -> None:
    """Of those selected; who was not kept is simulated again; which ones, and how near, is said."""
    state = window.state
    selecting.select(state, state.explorer.table.mask("kept and status == ok"))
    state.choice.colour_by = SWING
    window.key("F9")
    swing = np.asarray(many_members.metrics[SWING])
    group = many_members.kept[many_members.status[many_members.kept] == 0]
    nearest = [int(group[np.argmin(np.abs(swing[group] - np.quantile(swing[group], share)))]) for share in SHARES]
    assert state.choice.member == nearest[1] and state.choice.ghosts_on
    assert sorted(state.choice.chosen) == sorted(set(nearest))
    for word, member, share in zip(("5 %", "median", "95 %"), nearest, SHARES, strict=True):
        quantile = np.quantile(swing[group], share)
        assert f"{word} member {member} ({swing[member]:.5g}, the quantile is {quantile:.5g})" in state.panels.message
    assert f"of {len(group)} selected" in state.panels.message


def test_members_that_were_not_kept_come_later(many_members: ViewedStudy, many_scene: Scene) -> None:
    study = ViewedStudy.open(many_members.where)
    with with_study_pane(study, many_scene, SIZE) as window:
        state = window.state
        selecting.show(state, "not kept")
        actions.run(state, "typical")
        assert "simulated again" in state.panels.message
        typical = nearest_to_quantiles(study.metrics[SWING], np.flatnonzero(state.explorer.shown & (study.status <= 0)))
        study.prepare([one.member for one in typical])
        window.frames(2)
        assert state.choice.member == typical[1].member and len(state.choice.chosen) == 3
    study.close()


def test_nobody_with_a_number(window: Offscreen) -> None:
    selecting.show(window.state, "failed and not failed")
    actions.run(window.state, "typical")
    assert window.state.panels.message.startswith("Nobody of those shown")


def test_the_median_curve_of_a_plot(window: Offscreen, many_members: ViewedStudy) -> None:
    state, curves = window.state, window.state.pane_data(PlotCurves)
    band = None
    while band is None:
        band = curves.band(many_members, ANGLE, 10.0)
    window.key("F3")
    window.frames(2)
    window.click(f"typical:{ANGLE}")
    every = np.stack([many_members.channel(ANGLE, int(k)) for k in many_members.kept])
    off = np.sqrt(np.mean((every - np.median(every, axis=0)) ** 2, axis=1))
    middle = int(many_members.kept[np.nanargmin(off)])
    assert state.choice.member == middle and f"median member {middle} (off by {np.nanmin(off):.3g} rad)" in (
        state.panels.message
    )
    assert len(many_members.kept) == KEPT and f"typical:{ANGLE}" in ui.item_boxes

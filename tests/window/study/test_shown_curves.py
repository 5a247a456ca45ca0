"""What the plots show beside the member shown: curves of sets in their colours, differences, numbers at the cursor."""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import choosing, selecting, set_keeping
from shiftjax.viewer.gui.actions.saving import saving_curves
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.colours import of_set
from shiftjax.viewer.gui.state.derived import shown_curves
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.ramp import ramp
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import ANGLE, KEPT, MEMBERS, SWING, TIP
from tests.support.windows import with_study_pane

SIZE = (1200, 860)
CTRL_SHIFT = (True, False, True)


@pytest.fixture
def window(many_members: ViewedStudy, many_scene: Scene) -> Iterator[Offscreen]:
    """Of forty members those of two sets as ghosts, one member in both."""
    with with_study_pane(many_members, many_scene, SIZE) as screen:
        state = screen.state
        for name, upper in (("A", MEMBERS // 2), ("B", MEMBERS)):
            selecting.select(state, (np.arange(MEMBERS) < upper) & (np.arange(MEMBERS) >= upper // 3))
            assert set_keeping.keep(state, name)
        selecting.clear(state)
        choosing.choose(state, "kept")
        state.choice.ghosts_on = True
        screen.key("F3")
        screen.frames(2)
        yield screen


def test_sets_colour_curves_as_they_colour_ghosts(window: Offscreen, many_members: ViewedStudy) -> None:
    """That of the first set that a member is in; a metric that colours ghosts goes first."""
    state = window.state
    curves = shown_curves.shown(state, ANGLE)
    assert len(curves) == KEPT and curves[-1].current and curves[-1].member == state.choice.member
    for one in curves[:-1]:
        inside = [of_set(s.colour)[:3] for s in state.explorer.sets if s.mask[one.member]]
        assert one.colour == (inside[0] if inside else shown_curves.STEEL)
    outside = [one for one in shown_curves.shown(state, TIP)[:-1] if one.member < MEMBERS // 6]
    assert outside and {one.colour for one in outside} == {None}, "each component has a colour of its own"
    state.choice.colour_by = SWING
    metric = np.array([many_members.value(SWING, one.member) for one in curves[:-1]])
    coloured = [one.colour for one in shown_curves.shown(state, ANGLE)[:-1]]
    np.testing.assert_allclose(np.array(coloured), ramp(metric))


def test_differences_to_a_member(window: Offscreen, many_members: ViewedStudy) -> None:
    state, plots = window.state, window.state.pane_data(PlotCurves)
    reference = int(many_members.kept[5])
    state.show_member(reference)
    window.frames(2)
    window.click("plot reference")
    window.frames()
    window.click(f"plot reference:{reference}")
    state.show_member(int(many_members.kept[0]))
    window.frames(2)
    assert plots.reference == str(reference), "it stays when another member is shown"
    curves = shown_curves.shown(state, ANGLE)
    assert reference not in [one.member for one in curves], "a curve that is 0"
    of = many_members.channel(ANGLE, reference)
    for one in curves:
        np.testing.assert_array_equal(one.curve.values[:, 0], many_members.channel(ANGLE, one.member) - of)
    state.show_member(reference)
    alone = shown_curves.shown(state, ANGLE)[-1]
    assert alone.current and not alone.curve.values.any()
    assert "value:rocker_pivot.q" in ui.item_boxes
    window.click("plot reference")
    window.frames()
    window.click("plot reference:")
    assert plots.reference == ""


def test_differences_to_the_right_half(window: Offscreen, many_members: ViewedStudy) -> None:
    state = window.state
    assert shown_curves.RIGHT not in shown_curves.references(state)
    actions.run(state, "beside")
    assert state.beside is not None
    state.pane_data(PlotCurves).reference = shown_curves.RIGHT
    curves = shown_curves.shown(state, TIP)
    of = many_members.channel(TIP, state.beside.member)
    np.testing.assert_array_equal(curves[-1].curve.values, many_members.channel(TIP, state.choice.member) - of)
    actions.run(state, "beside")
    assert shown_curves.reference(state) is None, "where it is gone, values are as they are"
    np.testing.assert_array_equal(
        shown_curves.shown(state, TIP)[-1].curve.values, many_members.channel(TIP, state.choice.member)
    )
    window.frames(2)


def test_numbers_at_the_cursor(window: Offscreen, many_members: ViewedStudy) -> None:
    """Of the member shown, of each set the mean and the ends, of every other member."""
    state = window.state
    instant = int(np.argmin(np.abs(many_members.time - 0.05)))
    state.go_to(float(many_members.time[instant]))
    window.click("readout")
    window.frames(2)
    rows = shown_curves.readings(state, shown_curves.shown(state, ANGLE))
    assert f"reading:{ANGLE}:{rows[0].name}" in ui.item_boxes
    assert rows[0].name == f"member {state.choice.member}" and len(rows) == 2 + KEPT
    now = {int(k): float(many_members.channel(ANGLE, int(k))[instant]) for k in many_members.kept}
    for one, row in zip(state.explorer.sets, rows[1:3], strict=True):
        values = np.array([value for k, value in now.items() if one.mask[k]])
        assert row.name == f"set {one.name}, {len(values)} here" and row.colour == of_set(one.colour)[:3]
        assert row.values == (f"{values.mean():.5g} ({values.min():.4g} to {values.max():.4g})",)
    for row in rows[3:]:
        assert row.values == (f"{now[int(row.name.split()[1])]:.6g}",)
    tips = shown_curves.readings(state, shown_curves.shown(state, TIP))
    assert {len(row.values) for row in tips} == {3}


def test_what_is_shown_is_saved_as_numbers(
    window: Offscreen, many_members: ViewedStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With full digits, within the time axes; differences as they are drawn."""
    monkeypatch.chdir(tmp_path)
    state = window.state
    choosing.choose(state, ",".join(str(k) for k in many_members.kept[:3]))
    state.go_to(0.1)
    state.pane_data(PlotCurves).follow(0.05)
    window.frames(2)
    window.key("S", CTRL_SHIFT)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "curves.csv").read_text())))
    inside = (many_members.time >= 0.05 - 1e-12) & (many_members.time <= 0.1)
    assert [float(row["t [s]"]) for row in rows] == many_members.time[inside].tolist()
    heads = list(rows[0])
    assert len(heads) == 1 + 3 * (1 + 3) and heads[1] == f"{ANGLE} [rad] member {state.choice.member}"
    for member in many_members.kept[:3]:
        column = [float(row[f"{ANGLE} [rad] member {member}"]) for row in rows]
        assert column == many_members.channel(ANGLE, int(member))[inside].tolist()
        ys = [float(row[f"{TIP} y [m] member {member}"]) for row in rows]
        assert ys == many_members.channel(TIP, int(member))[inside, 1].tolist()
    reference = int(many_members.kept[1])
    state.pane_data(PlotCurves).reference = str(reference)
    window.click("save_curves")
    assert f"written: {tmp_path / 'curves_2.csv'}" == state.panels.message
    rows = list(csv.DictReader(io.StringIO((tmp_path / "curves_2.csv").read_text())))
    of = many_members.channel(ANGLE, reference)
    first = state.choice.member
    column = [float(row[f"{ANGLE} [rad] member {first} - member {reference}"]) for row in rows]
    assert column == (many_members.channel(ANGLE, first) - of)[inside].tolist()
    assert not any(math.isnan(value) for value in column)


def test_curves_that_cannot_be_written_are_a_message(window: Offscreen, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert saving_curves.save(window.state, tmp_path / "file") is None
    assert window.state.panels.message.startswith("curves: ")

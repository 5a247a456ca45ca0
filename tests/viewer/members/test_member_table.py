"""The table of members, distributions of its columns, and what completes a choice: against NumPy, on a real study."""

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.state.study import plots
from shiftjax.viewer.members import completing, distributions
from shiftjax.viewer.members.member_table import MemberTable
from shiftjax.viewer.motion.live_history import History
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import ANGLE, COUPLER, CRANK, KEPT, LATE, MEMBERS, ROCKER, SWING, TIP

ROUNDING = 1e-12  # of quantiles and means of numbers of order one


@pytest.fixture(scope="module")
def table(many_members: ViewedStudy) -> MemberTable:
    return MemberTable(many_members)


def test_what_is_varied_and_what_was_measured_are_told_apart(many_members: ViewedStudy) -> None:
    assert list(many_members.design) == [COUPLER, CRANK, ROCKER]
    assert list(many_members.metrics)[:2] == [SWING, LATE] and "energy_error" in many_members.metrics


def test_columns_units_and_words(table: MemberTable) -> None:
    assert table.names[:6] == ("member", "status", COUPLER, CRANK, ROCKER, SWING)
    assert table.rows == MEMBERS and len(table.study.kept) == KEPT
    assert (table.title(COUPLER), table.title("member"), table.title(SWING)) == (
        f"{COUPLER} [kg]",
        "member",
        "swing [rad]",
    )
    assert table.text("status", 3) == "ok" and table.text("member", 3) == "3"
    assert float(table.text(SWING, 7)) == pytest.approx(table.column(SWING)[7], rel=1e-5)
    with pytest.raises(ModelError, match="column"):
        table.column("nothing")


def test_a_column_is_read_and_sorted_once(table: MemberTable) -> None:
    assert table.column(SWING) is table.column(SWING)
    assert table.order(SWING) is table.order(SWING) and table.order(SWING).dtype == np.int32


def test_order_puts_what_is_no_number_last_and_ties_by_member(
    table: MemberTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = table.column(SWING)
    np.testing.assert_array_equal(values[table.order(SWING)], np.sort(values))
    assert table.order(SWING, falling=True)[0] == np.argmax(values)
    gaps = MemberTable(table.study)
    monkeypatch.setattr(gaps, "column", lambda name: np.array([2.0, np.nan, 1.0, 2.0, np.inf, np.nan]))
    assert gaps.order(SWING).tolist() == [2, 0, 3, 4, 1, 5]
    assert gaps.order(SWING, falling=True).tolist() == [4, 0, 3, 2, 1, 5]
    assert gaps.span(SWING) == (1.0, 2.0)


def test_an_expression_filters(table: MemberTable) -> None:
    np.testing.assert_array_equal(table.mask("swing > 0.5"), table.column(SWING) > 0.5)
    assert table.mask("  ").all() and table.mask("kept").sum() == KEPT
    with pytest.raises(ModelError, match="swinging"):
        table.mask("swinging > 1")


def test_a_running_simulation_is_a_table_of_one(many_members: ViewedStudy) -> None:
    history = History(many_members.model, many_members.nodes)
    assert MemberTable(history).text("status", 0) == "ok"


# -- distributions -----------------------------------------------------------------------------------------------------


def test_histogram_is_that_of_numpy(table: MemberTable) -> None:
    values = np.append(table.column(SWING), [np.nan, np.inf, -1e300])
    low, high = table.span(SWING)
    counts = distributions.histogram(values, low, high, 37)
    edges = np.linspace(low, high, 38)
    exact = np.histogram(values[np.isfinite(values)], edges)[0]
    assert counts.sum() == MEMBERS and np.abs(counts - exact).sum() <= 2  # a value on an edge may round either way
    assert distributions.histogram(np.ones(5), 1.0, 1.0, 3).tolist() == [5, 0, 0]


def test_density_counts_points_and_means_of_a_third() -> None:
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(3, 50_000))
    limits, shape = (-2.0, 3.0, -1.0, 1.0), (9, 13)
    counts, _ = distributions.density(x, y, limits, shape)
    edges = [np.linspace(*limits[2:], 10), np.linspace(*limits[:2], 14)]
    exact = np.histogram2d(y, x, edges)[0]
    np.testing.assert_array_equal(counts, exact)
    z[0] = np.nan
    counts, means = distributions.density(x, y, limits, shape, z)
    keep = np.isfinite(z)
    sums = np.histogram2d(y[keep], x[keep], edges, weights=z[keep])[0]
    np.testing.assert_allclose(means, sums / np.histogram2d(y[keep], x[keep], edges)[0], atol=ROUNDING)
    assert np.isnan(distributions.density(x, y, (90.0, 91.0, 0.0, 1.0), (2, 2), z)[1]).all()


def test_every_line_crosses_every_column_once() -> None:
    left, right = np.array([0.0, 0.0, 1.0, np.nan]), np.array([1.0, 0.0, 0.0, 0.5])
    counts = distributions.line_density(left, right, (100, 40))
    assert (counts.sum(0) == 3).all()
    assert counts[:3, 0].sum() == 2 and counts[-3:, -1].sum() == 1 and counts[45:55, 19].sum() == 2


def test_band_has_the_quantiles_of_those_that_have_a_number() -> None:
    curves = np.random.default_rng(1).normal(size=(101, 20, 3))
    curves[7, 10:] = np.nan
    curves[:, 19, 2] = np.nan
    found = distributions.band(curves)
    exact = np.nanpercentile(curves[:, :19], (5, 50, 95), axis=0)
    for mine, theirs in zip((found.low, found.middle, found.high), exact, strict=True):
        np.testing.assert_allclose(mine[:19], theirs, atol=ROUNDING)
        assert np.isnan(mine[19, 2]) and np.isfinite(mine[19, 0])
    assert found.drawn.sum(0).tolist() == [101] * 10 + [100] * 9 + [0]


def test_a_spread_few_holds_the_extremes() -> None:
    points = np.random.default_rng(2).random((30_000, 2)) ** 4  # crowded near zero
    few = distributions.spread(points, 64)
    assert len(few) == 64 and len(set(few.tolist())) == 64 and (np.diff(few) > 0).all()
    looked_at = np.linspace(0, len(points) - 1, distributions.FIRST).round().astype(int)
    np.testing.assert_allclose(points[few].max(0), points[looked_at].max(0), rtol=0.1)
    by_number = points[np.linspace(0, len(points) - 1, 64).astype(int)]
    nearest = [min(np.linalg.norm(a - b) for k, b in enumerate(s) if k != j) for s in (points[few], by_number)
               for j, a in enumerate(s)]  # fmt: skip
    assert min(nearest[:64]) > 10 * min(nearest[64:])
    assert distributions.spread(points[:5], 64).tolist() == [0, 1, 2, 3, 4]
    assert len(distributions.spread(np.full((100, 2), np.nan), 3)) == 3


# -- what completes a choice -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("swi", "swing"),
        ("COUP", COUPLER),
        ("gap < 1 and crank", f"gap < 1 and {CRANK}"),
        ("worst:5:sw", "worst:5:swing"),
        ("worst:5 of (not ke", "worst:5 of (not kept"),
        ("`four_bar:rock", ROCKER),
    ],
)
def test_names_complete_a_choice(table: MemberTable, text: str, first: str) -> None:
    assert completing.completions(text, table.names)[0][1] == first


@pytest.mark.parametrize("text", ["", "gap ", "swing", "gap < ", "gap < qqq"])
def test_nothing_to_complete(table: MemberTable, text: str) -> None:
    assert completing.completions(text, table.names) == []


def test_a_name_with_spaces_is_written_in_backticks(table: MemberTable) -> None:
    assert completing.completions("gap < 1 and my", ["my car.mass"])[0][1] == "gap < 1 and `my car.mass`"


def test_examples_are_of_this_study_and_work(table: MemberTable) -> None:
    found = completing.examples(table)
    assert len(found) >= 6 and any(SWING in text for text, _ in found) and any(ROCKER in text for text, _ in found)
    for text, count in found:
        assert len(table.study.choose(text)) == count > 0, text
    assert "failed" not in [text for text, _ in found], "nobody failed here"


# -- bands -------------------------------------------------------------------------------------------------------------


def test_a_band_is_collected_a_little_in_every_call(many_members: ViewedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    curves, calls = plots.PlotCurves(), 0
    while (found := curves.band(many_members, ANGLE, 0.0)) is None:
        calls += 1
    assert len(found.members) == KEPT and not len(found.without) and calls == KEPT - 1, (
        "one curve a call where there is no time"
    )
    assert curves.band(many_members, ANGLE, 0.0) is found
    monkeypatch.setattr(plots, "BAND_BYTES", 8 * len(many_members.time) * 10)
    few = plots.PlotCurves().band(many_members, ANGLE, 60.0)
    assert few is not None and len(few.members) == 11 and few.skipped == KEPT - 11
    every = np.stack([many_members.channel(ANGLE, int(k)) for k in many_members.kept])
    assert (few.band.high[:, 0] <= every.max(0)).all() and (few.band.low[:, 0] >= every.min(0)).all()


def test_curves_of_an_item_are_what_was_recorded_and_what_poses_say(many_members: ViewedStudy) -> None:
    assert plots.curves_of(many_members, None) == [ANGLE, TIP]
    assert plots.curves_of(many_members, "four_bar:rocker_pivot") == [ANGLE, "four_bar:rocker_pivot.v"]
    pin = plots.curves_of(many_members, "four_bar:crank_pin")
    assert pin == ["four_bar:crank_pin.q", "four_bar:crank_pin.v"]
    curve = plots.PlotCurves().get(many_members, 500, pin[0])
    middle = 0.5 * (curve.values[0] + curve.values[1])
    np.testing.assert_allclose(plots.at(curve, 0.5 * (curve.time[0] + curve.time[1])), middle)

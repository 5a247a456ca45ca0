"""What makes members different: shifts and ranks against SciPy, with ties, gaps and groups that are constant."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from shiftjax.viewer.members.differences import Difference, difference, most_first
from shiftjax.viewer.members.member_table import MemberTable

MEMBERS = 700
ROUNDING = 1e-12  # of sums of some hundred numbers of order one
COLUMN = "swing"


def table_of(values: Any) -> MemberTable:
    """A table of one metric."""
    column = np.asarray(values, float)
    study: Any = SimpleNamespace(members=len(column), design={}, metrics={COLUMN: column}, status=np.zeros(len(column)))
    return MemberTable(study)


@pytest.mark.parametrize("kind", ["normal", "few values", "gaps", "far from zero", "unequal"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_shift_and_rank_are_those_of_scipy(kind: str, share: float) -> None:
    rng = np.random.default_rng(len(kind))
    group = rng.random(MEMBERS) < share
    values = rng.normal(size=MEMBERS) + 0.4 * group
    if kind == "few values":
        values = np.round(values)
    if kind == "gaps":
        values[rng.random(MEMBERS) < 0.2] = np.nan
        values[:3] = np.inf
    if kind == "far from zero":
        values = 1e6 + values
    others = ~group & (rng.random(MEMBERS) < 0.7) if kind == "unequal" else ~group
    one, rest = (values[side & np.isfinite(values)] for side in (group, others))
    found = difference(table_of(values), COLUMN, group, others)
    t, _ = stats.ttest_ind(one, rest)
    rounding = ROUNDING * (1e6 if kind == "far from zero" else 1.0)
    assert found.shift == pytest.approx(
        float(np.asarray(t)) * math.sqrt(1 / len(one) + 1 / len(rest)), rel=rounding, abs=rounding
    )
    assert found.rank == stats.mannwhitneyu(one, rest).statistic / (len(one) * len(rest)), "exact"
    assert (found.count, found.others) == (len(one), len(rest))
    assert (found.mean, found.other) == pytest.approx((one.mean(), rest.mean()), rel=ROUNDING)


@pytest.mark.parametrize(
    ("values", "group", "shift", "rank"),
    [
        ([1, 1, 2, 2], [0, 0, 1, 1], math.inf, 1.0),
        ([0.1, 0.1, 0.1, 0.3, 0.3], [1, 1, 1, 0, 0], -math.inf, 0.0),
        ([0.1] * 6, [1, 0, 0, 0, 0, 1], 0.0, 0.5),
        ([1, 3, 2, 4], [1, 0, 0, 0], -2.0, 0.0),
        ([np.nan, 3, 2, 4], [1, 0, 0, 0], math.nan, math.nan),
        ([1, np.nan, np.nan, np.nan], [1, 0, 0, 0], math.nan, math.nan),
        ([1, 2, 3, 4], [0, 0, 0, 0], math.nan, math.nan),
        ([1, 2], [1, 0], math.nan, 0.0),
    ],
)
def test_few_and_constant_numbers(values: list[float], group: list[int], shift: float, rank: float) -> None:
    inside = np.array(group, bool)
    found = difference(table_of(values), COLUMN, inside, ~inside)
    assert (found.shift, found.rank) == pytest.approx((shift, rank), nan_ok=True)


def test_the_most_different_is_first() -> None:
    figures = [(0.5, 0.6), (math.nan, math.nan), (-3.0, 0.1), (math.inf, 1.0), (0.5, 0.2), (0.0, 0.5)]
    found = most_first([Difference(str(k), shift, rank, 0, 0, 1, 1) for k, (shift, rank) in enumerate(figures)])
    assert [one.column for one in found] == ["3", "2", "4", "0", "5", "1"]
    assert [one.higher for one in found] == [True, False, True, True, False, False]

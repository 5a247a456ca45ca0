"""Columns in 16 bits: what comes back is off by half a step at most, and what is no number stays so."""

from __future__ import annotations

import numpy as np
import pytest

from shiftjax.viewer.export.quantised import DECADES, STEPS, quantised

ROUNDING = 1e-12  # of the arithmetic, in parts of a number


def drawn(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(1).uniform(low, high, 5000)


@pytest.mark.parametrize(("low", "high"), [(0.42, 0.6), (-3.0, 1e-3), (1e9, 1e9 + 1.0), (-1.5e308, 1.5e308)])
def test_numbers_come_back_within_half_a_step(low: float, high: float) -> None:
    values = low + drawn(0.0, 1.0) * (high / 2 - low / 2) * 2 if high < 1e300 else drawn(-1.0, 1.0) * 1.5e308
    column = quantised(values)
    ends = [column.low, column.high]
    assert ends == [values.min(), values.max()] and not column.logarithmic
    rounding = ROUNDING * max(abs(low), abs(high))
    assert np.abs(column.restored() - values).max() <= column.half_step + rounding
    assert column.half_step == pytest.approx((values.max() / 2 - values.min() / 2) / STEPS)


def test_numbers_of_many_decades_are_off_by_a_part_of_themselves() -> None:
    """As loop gaps: from 1e-17 to 1e-3, and 0 where there is no loop."""
    values = 10.0 ** drawn(-17, -3)
    values[::7] = 0.0
    column = quantised(values)
    assert column.logarithmic
    restored = column.restored()
    np.testing.assert_array_equal(restored == 0.0, values == 0.0)
    some = values > 0.0
    assert np.abs(restored[some] / values[some] - 1).max() <= column.half_step + ROUNDING
    assert column.half_step < 3e-4


def test_few_decades_are_not_logarithmic() -> None:
    assert not quantised(np.array([1.0, 2.5, 0.9 * DECADES])).logarithmic
    assert quantised(np.array([1.0, 2.5, 1.1 * DECADES])).logarithmic
    assert not quantised(np.array([-1.0, 2.5, 1.1 * DECADES])).logarithmic


@pytest.mark.parametrize("values", [[0, 1, 60_000], [500, 500], [-3, 7], [0], [10**15, 10**15 + 5]])
def test_whole_numbers_are_exact(values: list[int]) -> None:
    column = quantised(np.array(values))
    np.testing.assert_array_equal(column.restored(), values)
    assert column.half_step == 0.0


def test_what_is_no_number_stays_so() -> None:
    for some in ([1.0, 2.5], [1e-9, 1.0, 0.0], []):
        values = np.array([np.nan, *some, np.inf, -np.inf, np.nan])
        restored = quantised(values).restored()
        finite = np.isfinite(values)
        np.testing.assert_array_equal(restored[~finite], values[~finite])
        np.testing.assert_allclose(restored[finite], some, rtol=1e-3, atol=1e-5)

"""Differences of curves, and several curves as a table."""

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.motion.curve_differences import minus, table_of
from shiftjax.viewer.motion.curves import Curve


def curve(time: list[float], *columns: list[float], unit: str = "m") -> Curve:
    return Curve(np.array(time), np.array(columns, float).T, unit, ("x", "y")[: len(columns)])


def test_at_the_same_instants_numbers_are_subtracted_to_the_last_bit() -> None:
    a, b = curve([0, 1, 2], [0.1, 0.2, np.nan], [1, 2, 3]), curve([0, 1, 2], [0.3, 0.2, 0.1], [1, 1, 1])
    np.testing.assert_array_equal(minus(a, b, "").values, a.values - b.values)
    np.testing.assert_array_equal(minus(a, a, "").values[:2], np.zeros((2, 2)))
    assert minus(a, b, "").unit == "m" and minus(a, b, "").labels == ("x", "y")


def test_between_instants_the_reference_is_linear_and_outside_there_is_none() -> None:
    a, b = curve([0, 0.5, 1, 3], [0, 0, 0, 0]), curve([0, 1, 2], [0, 2, 2])
    np.testing.assert_allclose(minus(a, b, "").values[:, 0], [0, -1, -2, np.nan])


@pytest.mark.parametrize("other", [curve([0, 1], [0, 1], unit="rad"), curve([0, 1], [0, 1], [0, 1])])
def test_what_has_another_unit_or_size_is_refused(other: Curve) -> None:
    with pytest.raises(ModelError, match=r"differences: found a reference of \d values in"):
        minus(curve([0, 1], [0, 1]), other, "differences")


def test_a_table_interpolates_nothing() -> None:
    a, b = curve([0, 1, 2, 3], [0, 10, 20, 30]), curve([0.5, 1, 9], [5, 6, 7], [8, 9, 10])
    time, values = table_of([a, b], (0.5, 3.0))
    assert time.tolist() == [0.5, 1, 2, 3]
    np.testing.assert_array_equal(values[0][:, 0], [np.nan, 10, 20, 30])
    np.testing.assert_array_equal(values[1], [[5, 8], [6, 9], [np.nan] * 2, [np.nan] * 2])
    assert table_of([], (0.0, 1.0))[0].size == 0

"""Curves of many instants as smallest and largest values in the columns of a picture."""

import numpy as np
import pytest

from shiftjax.viewer.motion.envelope import envelope

TIME = np.linspace(0.0, 10.0, 100_001)


@pytest.mark.parametrize(("ends", "columns"), [((0.0, 10.0), 300), ((2.0, 7.5), 101), ((-5.0, 20.0), 64)])
def test_no_extreme_is_lost_and_none_invented(ends: tuple[float, float], columns: int) -> None:
    values = np.sin(700 * TIME) * (1 + 0.1 * TIME)
    values[41_234] = 50.0  # a peak of one instant
    reached = envelope(TIME, values, ends, columns)
    assert reached is not None and len(reached.time) <= columns
    inside = (ends[0] <= TIME) & (ends[1] >= TIME)
    assert reached.high.max() == values[inside].max() and reached.low.min() == values[inside].min()
    assert (reached.low <= reached.high).all() and (np.diff(reached.time) > 0).all()
    wide = (ends[1] - ends[0]) / columns
    for k in range(0, len(reached.time), 7):
        within = np.abs(TIME - reached.time[k]) <= wide / 2 + 1.5e-4  # the column, and the instant before it
        assert values[within].min() <= reached.low[k] and reached.high[k] <= values[within].max()


def test_a_steep_curve_has_no_gaps() -> None:
    """Neighbouring columns overlap or touch, however far the curve goes from one to the next."""
    values = np.where(TIME < 5.0, 0.0, 1.0)
    reached = envelope(TIME, values, (0.0, 10.0), 200)
    assert reached is not None
    assert (reached.low[1:] <= reached.high[:-1]).all()


def test_few_instants_are_a_line() -> None:
    assert envelope(TIME[:500], TIME[:500], (0.0, 10.0), 300) is None
    assert envelope(TIME, TIME, (1.0, 1.01), 300) is None, "so few are in sight"
    assert envelope(TIME, TIME, (30.0, 40.0), 300) is None, "none is in sight"


def test_what_is_no_number_leaves_the_others() -> None:
    values = np.where(TIME < 5.0, TIME, np.nan)
    values[7] = np.nan
    reached = envelope(TIME, values, (0.0, 10.0), 100)
    assert reached is not None
    assert np.isfinite(reached.low[:50]).all() and np.isnan(reached.low[51:]).all()

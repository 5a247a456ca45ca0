"""Some of many: evenly spaced, and nearest to what is wanted."""

from __future__ import annotations

import numpy as np
import pytest

from shiftjax.numerics.spacing import evenly_spaced, nearest_places


@pytest.mark.parametrize("most", [0, 1, 2, 3, 7, 64, 1000])
def test_places_are_evenly_spaced_each_once(most: int) -> None:
    for count in (0, 1, 2, 3, 63, 64, 65, 128, 1000, 1001):
        places = evenly_spaced(count, most)
        assert len(places) == min(count, most) and places.dtype == np.int64
        if len(places):
            assert places[0] == 0 and (len(places) == 1 or places[-1] == count - 1)
        if len(places) > 1:
            apart = np.diff(places)
            assert apart.min() >= 1 and apart.max() - apart.min() <= 1


def test_the_nearest_places_are_those_of_a_search_through_all() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 50):
        rising, wanted = np.sort(rng.uniform(0, 1, n)), rng.uniform(-0.2, 1.2, 100)
        best = np.abs(rising[:, None] - wanted).argmin(axis=0)
        assert (nearest_places(rising, wanted) == best).all()
    assert nearest_places(np.array([0.0, 1.0, 2.0]), 0.5) == 1, "of two as near the later one"

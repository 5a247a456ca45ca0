"""The smallest and largest recorded values of a path, which are taken when they are asked for."""

import pickle

import numpy as np
import pytest

import shiftjax

SWING = {"crank_pivot": np.linspace(1.0, 2.5, 7)}
CHANNELS = ["rocker_pivot.q", "coupler:tip.position"]


def test_extremes_of_designs_are_those_of_their_channels() -> None:
    """One design cannot be assembled: it has recorded nothing."""
    path = shiftjax.follow("four_bar", SWING, vary={"coupler:tip.T[0]": [0.5, 5.0, 0.52]}, channels=CHANNELS)
    assert list(path.extremes) == CHANNELS and len(path.extremes) == 2
    for copy in (path.extremes, pickle.loads(pickle.dumps(path.extremes))):
        for name in CHANNELS:
            values = path.channels[name]
            assert copy[name].shape == (3, 2, *values.shape[2:])
            np.testing.assert_array_equal(copy[name][:, 0], np.where(np.isnan(values[:, 0]), np.nan, values.min(1)))
            np.testing.assert_array_equal(copy[name][:, 1], np.where(np.isnan(values[:, 0]), np.nan, values.max(1)))
    assert np.isnan(path.extremes[CHANNELS[0]][1]).all()


def test_extremes_of_one_design_have_no_member_axis() -> None:
    path = shiftjax.follow("four_bar", SWING, channels=CHANNELS)
    for name in CHANNELS:
        values = path.channels[name]
        np.testing.assert_array_equal(path.extremes[name], np.stack([values.min(0), values.max(0)]))
    assert repr(path.extremes) == repr(dict(path.extremes))
    with pytest.raises(KeyError):
        path.extremes["coupler:tip.velocity"]

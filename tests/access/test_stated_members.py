"""Members of a configuration: numbers that are none, and drivers that alone make members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import ConstantSpeed, PotentialGoal
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome

BAD = [Outcome.ok, Outcome.non_finite]


@pytest.mark.parametrize(
    "given",
    [
        {"q": {"rocker_pivot": [0.1, np.nan]}}, {"v": {"crank_pivot": [1.0, np.inf]}},
        {"vary": {"coupler.mass": [1.0, np.nan]}}, {"time": [0.0, np.nan]},
        {"drive": {"crank_pivot": ConstantSpeed(np.array([8.0, np.nan]))}},
    ],
    ids=["place", "speed", "number", "time", "driver"],
)  # fmt: skip
def test_a_member_with_a_number_that_is_none_has_no_answer(given: dict[str, Any]) -> None:
    at = shiftjax.configuration("four_bar", **given)
    assert at.status[1] == Outcome.non_finite and at.status[0] <= 0
    assert "not finite" in at.messages[1] and np.isfinite(at.v[0]).all() and np.isnan(at.v[1]).all()
    assert np.isnan(at.mass_matrix()[1]).all()


def test_arrays_with_a_place_that_is_none_have_no_answer() -> None:
    q = np.array([[0.3], [np.nan]])
    assert shiftjax.configuration("pendulum", q).status.tolist() == BAD


def test_a_design_that_is_no_number_reaches_no_goal() -> None:
    least = shiftjax.inverse_kinematics("pendulum", PotentialGoal(), vary={"link.mass": [1.0, np.nan]})
    assert least.status.tolist() == BAD and least.reached.tolist() == [True, False]


def test_drivers_alone_make_members() -> None:
    drive = {"crank_pivot": ConstantSpeed(np.array([8.0, 9.0]))}
    at = shiftjax.configuration("four_bar", drive=drive)
    crank = at.speed_names.index("four_bar:crank_pivot")
    assert at.v[:, crank] == pytest.approx([8.0, 9.0], rel=1e-12)
    assert shiftjax.inverse_kinematics("four_bar", PotentialGoal(), drive=drive).status.shape == (2,)
    with pytest.raises(ModelError, match="one length for all"):
        shiftjax.configuration("four_bar", drive=drive, time=[0.0, 1.0, 2.0])

"""Errors that grow by themselves: measured by members that run again at half the step."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.run.advance.repeats import LEAST, MOST, Repeats, sampled
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

WRONG = 1e-3  # rad: what a member without a warning may be off at most
SPAN, MEMBERS = 12.0, 48
CHANNELS = ["shoulder.q", "elbow.q"]


@cache
def pendulums(accuracy: str, step: float = 1e-3) -> Result:
    """Double pendulums, some of which are chaotic."""
    speeds = np.random.default_rng(5).uniform(-6.0, 6.0, (2, MEMBERS))
    vary = {"shoulder.initial_velocity": speeds[0], "elbow.initial_velocity": speeds[1]}
    return simulate("double_pendulum", SPAN, step, output_step=SPAN, vary=vary, channels=CHANNELS, accuracy=accuracy)


@cache
def errors() -> np.ndarray:
    """(B,) true errors [rad]: against a quarter of the step."""
    coarse, fine = pendulums("local"), pendulums("local", 0.25e-3)
    return np.max([np.abs(coarse.channels[path] - fine.channels[path])[:, -1] for path in CHANNELS], axis=0)


def test_every_chaotic_member_is_said_by_repeats_of_all() -> None:
    """None that is off is silent, and who is warned of is off by more than half the limit."""
    off, silent = errors() > WRONG, pendulums("local").status == 0
    assert (off & silent).sum() > 5, "the estimate from the energy alone knows nothing of it"
    result = pendulums("all")
    assert not (off & (result.status == 0)).any()
    assert (errors()[result.status == Outcome.inaccurate] > WRONG / 2).all()
    measured = result.certificate["angle_error"]
    regular = (errors() > 1e-8) & (errors() < 1e-2)  # else both are roundings, or nothing but the size of the motion
    assert regular.sum() > 5
    assert (measured > 0.8 * errors())[regular].all()  # the next order of the step
    assert (measured < 20 * errors())[
        regular
    ].all()  # it is that on the way, where the motion is faster than at the end
    assert result.notes == () and result.settings["accuracy"] == "all"  # nothing is scaled


def test_a_sample_scales_the_estimates_of_the_others() -> None:
    result = pendulums("sampled")
    assert not ((errors() > WRONG) & (result.status == 0)).any()
    assert f"{LEAST} of {MEMBERS} finished members ran again" in " ".join(result.notes)
    assert "is scaled by" in " ".join(result.notes) and result.settings["accuracy"] == "sampled"


def test_the_motion_is_that_without_repeats() -> None:
    for path in CHANNELS:
        np.testing.assert_array_equal(pendulums("all").channels[path], pendulums("local").channels[path])
    assert pendulums("local").notes == () and pendulums("local").settings["accuracy"] == "local"


@pytest.mark.parametrize("numbers", [{"step": 1e-3}, {"tolerance": 1e-7}])
def test_a_single_run_measures_its_error(numbers: dict[str, Any]) -> None:
    """Against a run of an eighth of the step, or the tightest tolerance in use."""
    fine: dict[str, Any] = {"step": 0.125e-3} if "step" in numbers else {"tolerance": 1e-13}
    given: dict[str, Any] = {"span": 1.0, "output_step": 1.0, "channels": ["crank_pivot.q"]}
    result = simulate("four_bar", accuracy="all", **given, **numbers)
    error = abs(
        result.channels["crank_pivot.q"][-1] - simulate("four_bar", **given, **fine).channels["crank_pivot.q"][-1]
    )
    measured = result.certificate["angle_error"]  # of the worst coordinate, so at least that of the crank
    assert 0.5 * error < measured < 1e2 * error + 1e-12


def test_what_goes_on_is_repeated_from_where_it_goes_on() -> None:
    """Two halves of one run: the second one's error is that of the second half alone."""
    first = simulate("four_bar", 0.5, 1e-3)
    second = simulate("four_bar", 0.5, 1e-3, start=first, accuracy="all")
    assert second.status == 0 and 0.0 < second.certificate["angle_error"] < 1e-6


def test_nothing_is_repeated_of_what_a_drive_prescribes() -> None:
    result = simulate("slider_crank", 0.1, 1e-3, drive={"crank_pivot": 3.0}, accuracy="all")
    assert result.certificate["angle_error"] == 0.0 and result.notes == ()


def test_a_repeat_that_ends_early_makes_its_member_inaccurate() -> None:
    repeats = Repeats(np.array([1, 3]), np.array([math.inf, 2e-4]), 4)
    estimates = np.array([1e-6, 2e-6, 3e-6, 1e-5])
    np.testing.assert_allclose(repeats.applied(estimates), [4e-5, math.inf, 1.2e-4, 2e-4])  # 2e-4 / 1e-5, twice
    assert "1 of them ended early" in repeats.notes(estimates)[0]


@pytest.mark.parametrize(("members", "count"), [(1, 1), (5, 5), (8, 8), (300, LEAST), (1000, 20), (10_000, MOST)])
def test_a_sample_has_the_largest_estimates_and_is_spread(members: int, count: int) -> None:
    estimates = np.random.default_rng(1).random(members)
    taken = sampled(np.arange(members), estimates)
    assert len(taken) == len(set(taken.tolist())) == count and (np.diff(taken) > 0).all()
    assert int(np.argmax(estimates)) in taken and (members < 2 or {0, members - 1} <= set(taken.tolist()))


def test_no_other_basis_is_known() -> None:
    with pytest.raises(ModelError, match="accuracy"):
        simulate("four_bar", 0.1, 1e-3, accuracy="some")

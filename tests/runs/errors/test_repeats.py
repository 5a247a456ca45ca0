"""Errors that grow by themselves: measured by members that run again at half the step."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.outcome import Outcome
from shiftjax.run.advance.repeats import LEAST, MOST, Repeats, sampled, smallest
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.runs.errors.test_accuracy import stopped

WRONG = 1e-3  # rad: what a member without a warning may be off at most
SPAN, MEMBERS = 12.0, 48
CHANNELS = ["shoulder.q", "elbow.q"]


@cache
def pendulums(accuracy: str | None, step: float = 1e-3) -> Result:
    """Double pendulums, some of which are chaotic."""
    given: dict[str, Any] = {"output_step": SPAN, "channels": CHANNELS, "accuracy": accuracy}
    return simulate("double_pendulum", SPAN, step, vary=starts(), **given)


def starts() -> dict[str, np.ndarray]:
    """Their speeds."""
    speeds = np.random.default_rng(5).uniform(-6.0, 6.0, (2, MEMBERS))
    return {"shoulder.initial_velocity": speeds[0], "elbow.initial_velocity": speeds[1]}


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
    assert (errors()[result.status == Outcome.inaccurate] > WRONG / 3).all()
    measured = result.certificate["angle_error"]
    regular = (errors() > 1e-8) & (errors() < 1e-2)  # else both are roundings, or nothing but the size of the motion
    assert regular.sum() > 5
    assert (measured > 0.8 * errors())[regular].all()  # the next order of the step
    # It is that on the way, where the motion is faster than at the end.
    assert (measured < 100 * errors())[regular].all()
    assert result.notes == () and result.settings["accuracy"] == "all"


def test_a_sample_shows_how_errors_grow_and_who_is_doubted_runs_again() -> None:
    """What is done if nothing else is said: nobody is silent, and nobody is warned of for being beside the others."""
    result = pendulums(None)
    assert result.settings["accuracy"] == "sampled" and result.settings["error_growth"] > 1e3
    assert not ((errors() > WRONG) & (result.status == 0)).any()
    assert (errors()[result.status == Outcome.inaccurate] > WRONG / 3).all()
    doubted = result.certificate["angle_error"] > WRONG
    assert (result.certificate["angle_error"] == pendulums("all").certificate["angle_error"])[doubted].all()


def test_a_member_is_judged_alike_alone_and_among_others() -> None:
    """By the growth that the others have shown; its own may be another."""
    whole, speeds = pendulums(None), starts()
    growth = whole.settings["error_growth"]
    for members in ([3], [0, 17, 40], [47, 5]):
        vary = {path: values[members] for path, values in speeds.items()}
        few = simulate("double_pendulum", SPAN, 1e-3, output_step=SPAN, vary=vary, error_growth=growth)
        np.testing.assert_array_equal(few.status, whole.status[members])
        np.testing.assert_array_equal(few.certificate["angle_error"], whole.certificate["angle_error"][members])
    with pytest.raises(ModelError, match="error_growth: found beside accuracy='local'"):
        simulate("double_pendulum", 0.1, accuracy="local", error_growth=growth)


def test_in_single_precision_nobody_is_silent() -> None:
    """The energy of a small part is rounding there; five of 405 were silent."""
    given: dict[str, Any] = {"output_step": 4.0, "vary": starts(), "channels": CHANNELS}
    coarse, fine = (simulate("double_pendulum", 4.0, 1e-3, precision=p, **given) for p in ("f32", "f64"))
    off = np.max([np.abs(coarse.channels[c] - fine.channels[c])[:, -1] for c in CHANNELS], axis=0)
    assert (off > WRONG).sum() > 5 and not ((off > WRONG) & (coarse.status == 0)).any()


def test_errors_count_from_the_first_start() -> None:
    """A chaotic run in ten parts has the figure of the whole, to the bit: each part alone is right to 1e-5 rad."""
    given: dict[str, Any] = {"assign": {"shoulder.initial_velocity": 6.0, "elbow.initial_velocity": -4.0}}
    whole, part = simulate("double_pendulum", 20.0, 1e-3, **given), None
    for _ in range(10):
        part = simulate("double_pendulum", 2.0, 1e-3, start=part, **given)
    assert part is not None and part.status == whole.status == Outcome.inaccurate
    assert part.certificate["angle_error"] == whole.certificate["angle_error"] > 0.01


@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_alarms_at_stops_are_looked_at(damping: float) -> None:
    """A bend of a force costs energy where it hardly costs time: estimates are up to 400 times too large there."""
    vary = {"hinge.initial_velocity": np.random.default_rng(0).uniform(-10.0, 10.0, 100)}
    given: dict[str, Any] = {"vary": vary, "output_step": 0.05, "channels": ["hinge.q"], "span": 3.0}
    model = stopped(damping)
    local, result = (simulate(model, step=1e-3, accuracy=word, **given) for word in ("local", None))
    fine = simulate(model, step=1e-3 / 16, accuracy="local", **given)
    off = np.abs(result.channels["hinge.q"] - fine.channels["hinge.q"]).max(1)
    right = off < WRONG
    assert (off[result.status == 0] < WRONG).all()
    assert (local.status[right] < 0).all() and (result.status[right] < 0).mean() < 0.3
    assert (result.status[off < WRONG / 4] == 0).all()


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


def test_what_came_to_rest_has_no_lag() -> None:
    """A damped rotor that hangs in its spring to rounding at the end: it was said to be off by more than 3 rad."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("disc", mass=1.0, inertia=(0.2, 0.2, 0.2))
    a.joint("shaft", "Rz", child="disc", stiffness=[-6.0, 2e3], damping=[0.0, 20.0])
    result = simulate(builder.build(), 2.0, 1e-3, accuracy="sampled")
    assert result.status == 0 and result.certificate["angle_error"] < 1e-6


def test_nothing_is_repeated_of_what_a_drive_prescribes() -> None:
    result = simulate("slider_crank", 0.1, 1e-3, drive={"crank_pivot": 3.0}, accuracy="all")
    assert result.certificate["angle_error"] == 0.0 and result.notes == ()


def test_what_repeats_say_of_all() -> None:
    """Estimates that agree stand; of the others the largest ratio, twice and rounded up, is that of all."""
    estimates, both = np.array([1e-6, 2e-6, 3e-6, 1e-5]), np.array([1, 3])
    agreeing = Repeats(both, np.array([4e-6, 2e-5]), np.zeros(2, bool), 4)
    np.testing.assert_array_equal(agreeing.applied(estimates, WRONG), estimates)
    assert agreeing.growth(estimates) == 1.0 and agreeing.notes(estimates) == []
    growing = Repeats(both, np.array([1e-6, 2e-3]), np.zeros(2, bool), 4)  # 2e-3 / 1e-5, twice, is 400
    np.testing.assert_allclose(growing.applied(estimates, WRONG), [1e-3, 1e-6, 3e-3, 2e-3])
    assert "multiplied by 1000" in growing.notes(estimates)[0]
    stated = Repeats(both, np.array([1e-6, 2e-3]), np.zeros(2, bool), 4, stated_growth=100.0)
    np.testing.assert_allclose(stated.applied(estimates, WRONG), [1e-4, 2e-4, 3e-4, 1e-3])  # not above the limit


def test_a_repeat_that_ends_early_tells_of_the_way_until_then() -> None:
    """What was seen until then, and not less than the estimate; it says nothing of the others."""
    early, estimates = np.array([True, False]), np.array([1e-6, 2e-3, 3e-6, 1e-5])
    repeats = Repeats(np.array([1, 3]), np.array([1e-5, 1e-5]), early, 4)
    np.testing.assert_array_equal(repeats.applied(estimates, WRONG), estimates)
    assert "1 of them ended early" in repeats.notes(estimates)[0]
    ended = Repeats(np.array([1]), np.array([0.5]), np.array([True]), 4)
    assert ended.applied(estimates, WRONG)[1] == 0.5 and ended.growth(estimates) == 1.0


@pytest.mark.parametrize(("members", "count"), [(1, 1), (5, 5), (8, 8), (300, LEAST), (1000, 20), (10_000, MOST)])
def test_a_sample_has_the_largest_estimates_and_is_spread(members: int, count: int) -> None:
    estimates = np.random.default_rng(1).random(members)
    taken = sampled(np.arange(members), estimates)
    assert len(taken) == len(set(taken.tolist())) == count and (np.diff(taken) > 0).all()
    assert int(np.argmax(estimates)) in taken and (members < 2 or {0, members - 1} <= set(taken.tolist()))


def test_no_other_basis_is_known() -> None:
    with pytest.raises(ModelError, match="accuracy"):
        simulate("four_bar", 0.1, 1e-3, accuracy="some")


@pytest.mark.parametrize("count", [0, 1, 7, 30, 40])
def test_the_smallest_are_those_of_a_stable_sort(count: int) -> None:
    """With ties, of which the first are taken, infinities, and what is no number last."""
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=40), rng.integers(0, 4, 40) * 1.0, np.where(rng.random(40) < 0.5, np.nan, 1.0)):
        values[3] = -np.inf
        assert np.array_equal(smallest(values, count), np.argsort(values, kind="stable")[:count])

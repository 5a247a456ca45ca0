"""Mechanisms driven past the end of their travel: that they lock, where, which joint, at every step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from shiftjax.constraints import Harmonic
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.kinematics.ranges.travel import travel
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.assemble import assemble
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from shiftjax.run.travel import reach
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, four_bars, rod

STEPS = (1e-4, 1e-3, 1e-2)  # s
FOUND = 1e-6  # rad, m or s: six digits are printed
# The rocker's end where crank and coupler are in line, by the law of cosines; its angle runs from the ground's +x axis.
REACH = float(np.arccos((GROUND**2 + ROCKER**2 - (COUPLER + CRANK) ** 2) / (2 * GROUND * ROCKER)) - np.pi)


def said(result: Result, member: int = 0) -> tuple[float, str, float]:
    """Time, joint and position of a lock, as the message tells them."""
    found = re.match(r"at (\S+) s: (\S+) locks at (\S+) (?:rad|m), the end of its travel", result.messages[member])
    assert found, result.messages[member]
    return float(found[1]), found[2], float(found[3])


@pytest.mark.parametrize("amplitude", [0.08, 0.5, 2.0])
def test_a_rocker_driven_too_far_locks(amplitude: float) -> None:
    """Issue 10: the time is where the drive reaches the end of the travel, whatever the step."""
    drive = {"hinge": Harmonic(offset=-1.438, amplitude=amplitude, frequency=3.0)}
    for step in STEPS:
        result = simulate(four_bars(), span=1.0, step=step, output_step=0.01, drive=drive, channels=["hinge.q"])
        time, joint, position = said(result)
        assert result.status == Outcome.locked and joint == "bar0:hinge" and abs(position - REACH) < FOUND * 10
        assert abs(time - np.arcsin((REACH + 1.438) / amplitude) / 3.0) < FOUND
        assert time - 2 * step - 10 * step < result.certificate["steps"] * step <= time
        q = result.channels["hinge.q"]
        assert np.isfinite(q[0]) and np.isnan(q[result.time > time]).all()
        assert "drive it less far" in result.messages[0] and "singular" not in result.messages[0]


def test_a_slide_driven_past_its_dead_point_locks() -> None:
    """The slider's end is where crank and rod are in line."""
    numbers = load("slider_crank").numbers()
    lengths = [x for path, x in numbers.items() if path.endswith(":tip.T[0]") or path.endswith(":wrist.T[0]")]
    for step in STEPS[1:]:
        drive = {"guide": Harmonic(offset=0.3, amplitude=0.5, frequency=7.0)}
        result = simulate("slider_crank", span=1.0, step=step, drive=drive)
        time, joint, position = said(result)
        assert result.status == Outcome.locked and joint == "slider_crank:guide"
        assert abs(position - sum(lengths)) < FOUND, numbers
        assert abs(time - np.arcsin((position - 0.3) / 0.5) / 7.0) < FOUND


@pytest.mark.parametrize("step", STEPS)
def test_an_excess_that_any_step_jumps_over(step: float) -> None:
    """A drive that turns back 1e-6 rad past the end locks; one that turns back 1e-4 rad before it does not."""
    model = four_bars()
    over = Harmonic(offset=REACH - 0.07, amplitude=0.07 + 1e-6, frequency=1.0)
    result = simulate(model, span=2.0, step=step, drive={"hinge": over})
    time, _, position = said(result)
    assert result.status == Outcome.locked and abs(position - REACH) < FOUND * 10 and time < np.pi / 2
    under = Harmonic(offset=REACH - 0.07, amplitude=0.07 - 1e-4, frequency=1.0)
    assert simulate(model, span=2.0, step=step, drive={"hinge": under}).status != Outcome.locked


def first_end(c: np.ndarray, k: np.ndarray, r: np.ndarray, g: np.ndarray, start: float) -> np.ndarray:
    """First crank angle above `start` beyond which coupler and rocker cannot span the diagonal."""
    out = np.full(len(c), np.inf)
    for span in (k - r, k + r):
        with np.errstate(invalid="ignore"):
            angle = np.arccos((c**2 + g**2 - span**2) / (2 * c * g))
        for q in (sign * angle + 2 * np.pi * turn for sign in (-1, 1) for turn in range(-1, 3)):
            out = np.where(q > start, np.fmin(out, q), out)
    return out


@pytest.mark.parametrize("step", STEPS[1:])
def test_random_four_bars_lock_where_the_closed_form_says(step: float) -> None:
    """Issue 10: of 150 random four-bars driven at the crank exactly those lock that must, at the right time."""
    rng = np.random.default_rng(0)
    c, k, r, g = (rng.uniform(low, 0.6, 150) for low in (0.15, 0.3, 0.3, 0.3))
    drive = {"pivot": Harmonic(offset=-1.0, rate=7.0)}
    paths = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]", "fixed:rocker0.T[0]")
    result = simulate(four_bars(), span=1.0, step=step, drive=drive, vary=dict(zip(paths, (c, k, r, g), strict=True)))
    end = first_end(c, k, r, g, -1.0)
    locked = result.status == Outcome.locked
    assert np.array_equal(locked, end < 6.0) and 50 < locked.sum() < 120
    for member in np.flatnonzero(locked):
        time, joint, position = said(result, int(member))
        assert joint == "bar0:pivot" and abs(position - end[member]) < 1e-5
        assert abs(time - (end[member] + 1.0) / 7.0) < FOUND
    if step == 1e-3:
        assert (result.status[~locked] <= 0).all()


PATHS = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]", "fixed:rocker0.T[0]")


def both_ways(
    monkeypatch: pytest.MonkeyPatch, model: Model | str, drive: Mapping[str, Harmonic], vary: Mapping[Any, np.ndarray]
) -> tuple[Result, Result, int]:
    """A run, the same with all ways walked, and how many ways the first one walked."""
    walked, followed_to = [0], reach.followed_to

    def counted(*given: Any) -> np.ndarray:
        walked[0] += given[-1].size
        return followed_to(*given)

    with monkeypatch.context() as patch:
        patch.setattr(reach, "followed_to", counted)
        result = simulate(model, span=1.0, step=1e-2, drive=drive, vary=vary)
        few = walked[0]
        patch.setattr(reach, "ends_in_closed_form", lambda *given: [np.full(x.size, np.nan) for x in given[-1]])
        every = simulate(model, span=1.0, step=1e-2, drive=drive, vary=vary)
        assert walked[0] - few == 2 * result.status.size
    return result, every, few


@pytest.mark.parametrize("law", [{"rate": 7.0}, {"rate": -5.0}, {"amplitude": 1.0, "frequency": 7.0}])
def test_a_four_bar_is_not_walked(monkeypatch: pytest.MonkeyPatch, law: dict[str, float]) -> None:
    """Its travel in closed form says the same as a walk, to the last bit of the results; it took 300 closures a run."""
    rng = np.random.default_rng(3)
    vary = dict(zip(PATHS, (rng.uniform(low, 0.6, 100) for low in (0.15, 0.3, 0.3, 0.3)), strict=True))
    result, every, few = both_ways(monkeypatch, four_bars(), {"pivot": Harmonic(offset=-1.0, **law)}, vary)
    assert result.messages == every.messages and np.array_equal(result.status, every.status)
    assert result.final is not None and every.final is not None
    assert np.array_equal(result.final["q"], every.final["q"], equal_nan=True)
    locked = (result.status == Outcome.locked).sum()
    assert 20 < locked < 80 and few == 0


def test_a_slide_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    amplitudes = {"guide_drive.amplitude": np.linspace(0.01, 0.5, 20)}
    drive = {"guide": Harmonic(offset=0.3, amplitude=0.1, frequency=7.0)}
    result, every, few = both_ways(monkeypatch, "slider_crank", drive, amplitudes)
    assert result.messages == every.messages and np.array_equal(result.status, every.status)
    locked = (result.status == Outcome.locked).sum()
    assert 10 < locked < 20 and few == 0


def test_what_is_no_triangle_is_walked() -> None:
    """A loop that is not quite planar has no triangle, and none that has a fourth corner."""
    for name, joint in (("bennett", "joint1"), ("klann", "crank_pivot")):
        prepared = prepare(load(name), {}, options_of(drive={joint: 1.0}))
        plan, start, lane = prepared.plan, prepared.file_start, prepared.file_lane()
        driver = next(k for k, group in enumerate(plan.constraints) if group.prescribes)
        row = plan.coordinates[plan.constraints[driver].coordinates[0]].q
        assert np.isnan(reach.ends_in_closed_form(plan, lane, 0, driver, start.q, [start.q[row] + 1.0])).all()


@pytest.mark.parametrize(("model", "drive"), [("four_bar", "rocker_pivot"), ("slider_crank", "crank_pivot")])
def test_several_ways_at_once_end_as_each_alone(model: str, drive: str) -> None:
    """Of a way that does not leave, of both directions, and of a member that stays where it is."""
    prepared = prepare(load(model), {}, options_of(drive={drive: 1.5}))
    plan, start, lane = prepared.plan, prepared.file_start, prepared.file_lane()
    driver = next(k for k, group in enumerate(plan.constraints) if group.prescribes)
    now = start.q[plan.coordinates[plan.constraints[driver].coordinates[0]].q]
    targets = [now + far for far in (-5.0, 0.0, 0.1, 5.0)]
    both = reach.reaches(plan, lane, 0, driver, start.q, targets)
    for end, target in zip(both, targets, strict=True):
        assert np.array_equal(end, reach.reach(plan, lane, 0, driver, start.q, target))
    assert both[1] == now and both[0] < both[1] < both[2] < both[3]


def test_a_gap_that_a_step_jumps_over() -> None:
    """A crank that stretches coupler and rocker 1e-4 m too far: the gap is less than a step of the drive."""
    c, k, r, g = (np.array([x]) for x in (0.3001, COUPLER, ROCKER, 0.6))
    model = four_bars().replace({"crank:tip.T[0]": 0.3001, "fixed:rocker0.T[0]": 0.6})
    (end,) = first_end(c, k, r, g, -1.0)
    assert 0.0 < np.pi - end < 0.035 < 7.0 * 1e-2
    for step in (1e-3, 1e-2):
        result = simulate(model, span=1.0, step=step, drive={"pivot": Harmonic(offset=-1.0, rate=7.0)})
        time, _, position = said(result)
        assert abs(position - end) < 1e-5 and abs(time - (end + 1.0) / 7.0) < FOUND


@pytest.mark.parametrize(
    ("name", "joint"), [("n_four_bar_1", "pivot_0"), ("klann", "crank_pivot"), ("bennett", "joint1")]
)
def test_full_turns_and_change_points_do_not_lock(name: str, joint: str) -> None:
    """A flat parallelogram loses rank and goes on."""
    model = load(name)
    start = next(v for path, v in model.numbers().items() if path.endswith(f"{joint}.initial_displacement"))
    for rate in (6.0, -6.0):
        result = simulate(model, span=1.1, step=1e-3, drive={joint: Harmonic(offset=start, rate=rate)})
        assert result.status <= 0 and not result.messages[0]


def test_two_drives_that_part_too_far_lock() -> None:
    """A five-bar with both cranks driven apart: no pose ahead closes its loop, found where the run ends."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("left").frame("right", T=(0.4, 0, 0))
    a = builder.assembly("five")
    for name in ("one", "two", "three", "four"):
        a.body(name, **rod(0.3))
    a.joint("a", "Ry", parent=("fixed", "left"), child="one", initial_displacement=-1.5)
    a.joint("b", "Ry", parent=("one", "tip"), child="two", initial_displacement=0.5)
    a.joint("c", "Ry", parent=("two", "tip"), child=("three", "tip"), initial_displacement=2.0)
    a.joint("d", "Ry", parent=("four", "tip"), child="three", initial_displacement=-0.5)
    a.joint("e", "Ry", parent=("fixed", "right"), child="four", initial_displacement=-1.6)
    drive = {"a": Harmonic(offset=-1.5, rate=-1.0), "e": Harmonic(offset=-1.6, rate=1.0)}
    for step in (1e-3, 1e-2):
        result = simulate(builder.build(), span=3.0, step=step, drive=drive)
        assert result.status == Outcome.locked and "five:a, five:e driven to where no pose near" in result.messages[0]
        time = float(result.messages[0].split()[1])

        def apart(t: float) -> float:
            left = 0.3 * np.array([np.cos(-1.5 - t), -np.sin(-1.5 - t)])
            right = np.array([0.4, 0.0]) + 0.3 * np.array([np.cos(-1.6 + t), -np.sin(-1.6 + t)])
            return float(np.linalg.norm(left - right))

        assert abs(apart(time) - 0.6) < 1e-4


def test_a_locked_run_repeats_and_a_run_that_goes_on_locks_at_the_same_time() -> None:
    drive = {"hinge": Harmonic(offset=-1.438, amplitude=0.5, frequency=0.3)}
    first = simulate(four_bars(), span=1.0, step=1e-3, drive=drive)
    assert first.status == Outcome.locked
    again = simulate(four_bars(), span=1.0, step=1e-3, drive=drive, schedule=first.schedule)
    assert again.status == Outcome.locked and again.messages == first.messages
    half = simulate(four_bars(), span=0.3, step=1e-3, drive=drive)
    rest = simulate(four_bars(), span=0.7, step=1e-3, drive=drive, start=half)
    assert half.status == 0 and said(rest)[0] == pytest.approx(said(first)[0], abs=FOUND)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_crank_too_fast_for_the_steps_is_not_locked(backwards: bool) -> None:
    """The crank of a Grashof four-bar turns all the way: at any speed the step is to blame, and a smaller one runs."""
    speeds = np.array([1e3, 3e3, 5e3, 2e4]) * (-1.0 if backwards else 1.0)
    result = simulate("four_bar", span=0.02, step=1e-3, drive={"crank_pivot": speeds})
    assert not (result.status == Outcome.locked).any(), result.messages
    assert all("take a smaller" in message for message in result.messages)
    fine = simulate("four_bar", span=0.02, step=1e-5, drive={"crank_pivot": speeds[:2]})
    assert (fine.status <= 0).all(), fine.messages


def test_bars_that_lie_side_by_side_end_where_flat_ones_do() -> None:
    """Offsets along the axes are no lengths of bars: those of the links of a real mechanism were taken for such."""
    ends = []
    for offset in (0.0, 0.5):
        builder = ModelBuilder().frame("right", T=(GROUND, 0.0, 0.0))
        a = builder.assembly("a")
        for name, length, aside in (("crank", CRANK, 1.0), ("coupler", COUPLER, -0.5), ("rocker", ROCKER, 0.5)):
            a.body(name, frames={"tip": (length, 0.0, aside * offset)})
        a.joint("crank_pivot", "Rz", child="crank", initial_displacement=1.0)
        a.joint("crank_pin", "Rz", parent=("crank", "tip"), child="coupler", initial_displacement=-1.0)
        a.joint("hinge", "Rz", parent=("fixed", "right"), child="rocker", initial_displacement=-1.5)
        a.joint("pin", "Rz", parent=("coupler", "tip"), child=("rocker", "tip"))
        one = travel(builder.build(), "hinge")
        ends.append([one.low, one.high])
    assert ends[1] == pytest.approx(ends[0], abs=1e-12)
    assert min(abs(np.subtract(ends[0], REACH))) < 1e-12 or min(abs(np.add(ends[0], REACH))) < 1e-12


@cache
def two_loops() -> tuple[Model, np.ndarray]:
    """A four-bar that moves a slide: one freedom, and places (3,) of the slide [m]."""
    builder = ModelBuilder().frame("right", T=(GROUND, 0.0, 0.0)).frame("rail", T=(0.0, 0.3, 0.0))
    a = builder.assembly("a")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER), ("rod", 2.0 * GROUND)):
        a.body(name, frames={"tip": (length, 0.0, 0.0)}, mass=1.0)
    a.body("slide", mass=1.0)
    a.joint("crank_pivot", "Rz", child="crank", initial_displacement=1.0)
    a.joint("crank_pin", "Rz", parent=("crank", "tip"), child="coupler", initial_displacement=-1.0)
    a.joint("hinge", "Rz", parent=("fixed", "right"), child="rocker", initial_displacement=-1.5)
    a.joint("pin", "Rz", parent=("coupler", "tip"), child=("rocker", "tip"))
    a.joint("guide", "Tx", parent=("fixed", "rail"), child="slide")
    a.joint("rod_pin", "Rz", parent=("rocker", "tip"), child="rod", initial_displacement=2.5)
    a.joint("rod_end", "Rz", parent=("rod", "tip"), child="slide")
    model = builder.build()
    way = travel(model, "guide")
    return model, way.low + np.array([0.2, 0.5, 0.8]) * (way.high - way.low)


@pytest.mark.parametrize("joint", ["guide", "crank_pivot", "hinge"])
def test_a_start_that_another_joint_states_is_where_a_travel_begins(joint: str) -> None:
    """Of two loops with one freedom: where `guide` is stated, by any way, all begin, and their loops close."""
    (model, places), number = two_loops(), "a:guide.initial_displacement"
    stands = np.ravel(assemble(model, vary={number: places}, channels=[f"{joint}.q"]).channels[f"{joint}.q"])
    many = travel(model, joint, vary={number: places})
    assert many.assembled.all()
    assert many.begin == pytest.approx(stands, abs=1e-9)
    for one in (travel(model.replace({number: places[0]}), joint), travel(model, joint, assign={number: places[0]})):
        assert one.assembled
        assert [one.begin, one.low, one.high] == pytest.approx([x[0] for x in (many.begin, many.low, many.high)])


def test_ends_do_not_depend_on_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four-bars that turn round, and of those that do not, found a few at a time and all at once."""
    lengths = np.random.default_rng(3).uniform((0.1, 0.3, 0.25), (0.45, 0.7, 0.6), (30, 3)).T
    names = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]")
    vary: dict[str, np.ndarray] = dict(zip(names, lengths, strict=True))
    whole = travel("four_bar", "crank_pivot", vary=vary)
    assert 5 < np.isfinite(whole.high[whole.assembled]).sum() < 25
    monkeypatch.setattr(reach, "PORTION", 7)
    parts = travel("four_bar", "crank_pivot", vary=vary)
    for name in ("low", "high", "begin"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))

"""Events (D8): instants of zeros against closed forms, ends of members at them, whatever the steps and the batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import Event, ModelError, Outcome, Result, simulate
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.run.results.noted_events import notes_of_events
from tests.support.models.mechanisms import four_bars

G, HEIGHT = 9.81, 2.0  # m/s^2, m
EXACT = 1e-13  # s: what falls freely has a path of degree two, which steps and the curves within them hold
OF_STEPS = 1e-8  # of rk4 at 2 ms over a swing of a pendulum: measured 2e-9
SAME = 1e-12  # s: a mark is located on the curve of a step, a stop by trial steps; measured 4e-15
SLOPE = 1e-7  # of slopes over steps of 5 ms and of a tolerance: measured 1.4e-8
LOCATED = 1e-10  # of a step
SPAN, STEP = 1.0, 1e-2
EITHER: tuple[dict[str, Any], ...] = ({"step": 1e-3}, {"tolerance": 1e-9})
K_45 = 1.854074677301372  # complete elliptic integral K(1/2), Abramowitz and Stegun, table 17.1


def falling() -> Model:
    """A mass that falls from `HEIGHT` along z; z is `slide.q`."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    part = builder.assembly("a").body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0))
    part.joint("slide", "Tz", child="ball", initial_displacement=HEIGHT)
    return builder.build()


MODEL, LINKAGE = falling(), four_bars()
SPEED = "slide.initial_velocity"


def fallen(events: dict[str, Any], **more: Any) -> Result:
    given = {"span": SPAN, "accuracy": "local", **({} if "tolerance" in more else {"step": STEP}), **more}
    return simulate(MODEL, events=events, **given)


@pytest.mark.parametrize("how", [{}, {"tolerance": 1e-9}, {"step": 0.25}], ids=["steps", "tolerance", "one_long_step"])
def test_a_fall_passes_heights_at_the_closed_form_s_times(how: dict[str, Any]) -> None:
    """D8: z = h - g t^2 / 2, at whatever steps, also two heights within one; in the order of time."""
    result = fallen({"low": "slide.q == 0.2", "high": "slide.q - 1500 mm", "half": "t - 0.5"}, **how)
    assert result.events is not None
    names, times, ways = zip(*result.events.of(), strict=True)
    assert names == ("high", "half", "low") and ways == ("down", "up", "down")
    expected = [np.sqrt(2 * (HEIGHT - 1.5) / G), 0.5, np.sqrt(2 * (HEIGHT - 0.2) / G)]
    assert np.abs(np.subtract(times, expected)).max() < EXACT
    assert result.events.count.tolist() == [1, 1, 1] and (result.events.stopped == -1).all()


def test_both_passings_within_one_step_are_noted() -> None:
    """D8: what is thrown up passes a height twice; one that it does not quite reach, or is at when it begins, never."""
    up = 2.0  # m/s
    top = HEIGHT + up**2 / (2 * G)
    events = {
        "rim": f"slide.q - {top - 0.05}",
        "out_of_reach": f"slide.q - {top + 1e-6}",
        "begun": f"slide.q - {HEIGHT}",
    }
    result = fallen(events, step=0.5, vary={SPEED: [up]})
    assert result.events is not None
    rim = [one for one in result.events.of() if one.name == "rim"]
    expected = (up + np.sqrt(2 * G * 0.05) * np.array([-1, 1])) / G
    assert [one.direction for one in rim] == ["up", "down"]
    assert np.abs([one.time for one in rim] - expected).max() < EXACT
    assert result.events.count[0].tolist() == [2, 0, 1]  # where it begins it comes back to
    metrics = {"down": f"first_crossing(slide.q, {top - 0.05}, 'down')"}
    long = fallen({}, tolerance=1e-6, vary={SPEED: [up]}, metrics=metrics)  # Newton's method: 4e-8 s off
    assert abs(long.metrics["down"][0] - expected[1]) < EXACT


@pytest.mark.parametrize("how", [{}, {"tolerance": 1e-9}], ids=["steps", "tolerance"])
def test_members_stop_at_their_instants_and_others_go_on(how: dict[str, Any]) -> None:
    """D8: the state at a stop is that of the closed form at its time; a member without it ends as without events."""
    events = {"ground": Event("slide.q", "down", "stop"), "halfway": "slide.q - 1"}
    speeds = np.array([-3.0, 0.0, 2.0, 9.0])
    result = fallen(events, vary={SPEED: speeds}, channels=["slide.q"], metrics={"end": "final(slide.v)"}, **how)
    history = result.events
    assert history is not None and result.final is not None
    stopped = history.stopped >= 0
    assert stopped.tolist() == [True, True, True, False]
    time = (speeds + np.sqrt(speeds**2 + 2 * G * HEIGHT)) / G
    step = STEP if not how else SPAN
    assert np.abs(result.final["v"][stopped, 0] - (speeds - G * time)[stopped]).max() < 20 * LOCATED * step + EXACT
    assert (np.abs(result.final["q"][stopped, 0]) < 20 * LOCATED * step).all()
    ends = [history.of(k)[-1] for k in range(3)]
    assert np.abs([one.time for one in ends] - time[:3]).max() < SAME and {one.name for one in ends} == {"ground"}
    assert [Outcome(s).name for s in result.status] == ["event", "event", "event", "ok"] and not len(result.failed)
    assert "the event ground has stopped it" in result.messages[0] and not result.messages[3]
    assert np.array_equal(result.metrics["end"][:3], result.final["v"][:3, 0])
    ticks = result.time > time[0]
    assert (
        np.isnan(result.channels["slide.q"][0, ticks]).all()
        and np.isfinite(result.channels["slide.q"][0, ~ticks]).all()
    )
    plain = fallen({}, vary={SPEED: speeds}, **how)
    assert plain.events is None and plain.final is not None
    assert np.array_equal(plain.final["q"][3], result.final["q"][3])


@pytest.mark.parametrize("of", ["(slide.q - 1)**3", "tanh(50 * (slide.q - 1))", "max(slide.q - 1, -1e-9)"])
def test_a_stop_is_found_where_chords_lead_nowhere(of: str) -> None:
    """Of the cube all chords end on one side: it stopped a whole step too late, 0.04 m."""
    for how in EITHER:
        result = fallen({"one": Event(of, action="stop")}, **how)
        assert result.final is not None and result.status == Outcome.event
        assert abs(result.final["q"][0] - 1.0) < 20 * LOCATED * (SPAN if "tolerance" in how else STEP)


def test_what_is_not_a_number_has_passed_nothing() -> None:
    """The root of a height is none below the ground: a mark above it is noted, a stop at 0 is none."""
    for how in EITHER:
        events = {"high": "sqrt(slide.q) - 1", "ground": Event("sqrt(slide.q) + 0.1", "any", "stop")}
        result = fallen(events, **how)
        assert result.events is not None and result.status == Outcome.ok
        assert [one.name for one in result.events.of()] == ["high"] and result.events.count.tolist() == [1, 0]
        assert abs(result.events.time[0] - np.sqrt(2 / G)) < SAME


@pytest.mark.parametrize("of", ["slide.q ** 3 - 1", "exp(20 * (slide.q - 1)) - 1", "max(slide.q - 1, -1e-9)"])
def test_marks_of_bent_expressions_are_exact_in_long_steps(of: str) -> None:
    """Steps of a tolerance end at marks: of the cube, on the curve of one of 0.6 s, the mark was off by 2 ms."""
    result = fallen({"one": of}, tolerance=1e-9, metrics={"t": "time_of(one)"})
    assert abs(result.metrics["t"] - np.sqrt(2 / G)) < SAME and result.certificate["steps"] < 10


@pytest.mark.parametrize("direction", ["any", "up", "down"])
@pytest.mark.parametrize("how", [{"step": 0.25}, {"tolerance": 1e-9}], ids=["steps", "tolerance"])
def test_what_passes_an_event_and_is_back_within_a_step_stops(direction: str, how: dict[str, Any]) -> None:
    """D8: a mass thrown up is above a height for 0.1 s of a step of 0.25 s, or a thousandth of it; or stays below."""
    up, above = 2.0, np.array([0.05, 1e-4])  # m/s, s: half of the time above
    top, rises = HEIGHT + up**2 / (2 * G), up / G
    for half in above:
        height = top - 0.5 * G * half**2
        result = fallen({"rim": Event(f"slide.q - {height}", direction, "stop")}, vary={SPEED: [up]}, **how)
        assert result.status[0] == Outcome.event and result.events is not None
        (passing,) = result.events.of()
        assert abs(passing.time - (rises + half if direction == "down" else rises - half)) < LOCATED
    missed = fallen({"rim": Event(f"slide.q - {top + 1e-9}", direction, "stop")}, vary={SPEED: [up]}, **how)
    assert missed.events is not None and not missed.events.of()


def test_a_stop_is_the_same_alone_and_in_any_batch_and_when_it_is_repeated() -> None:
    """D8: to the last bit, of fixed steps and of those of a tolerance."""
    events = {"ground": Event("slide.q", "any", "stop"), "up": Event("slide.q - 2.1", "down", "stop")}
    speeds = np.linspace(-3.0, 4.0, 9)
    for how in EITHER:
        whole = fallen(events, vary={SPEED: speeds}, **how)
        assert whole.events is not None and whole.final is not None
        assert set(whole.events.stopped.tolist()) == {0, 1}
        again = fallen(events, vary={SPEED: speeds}, schedule=whole.schedule, **how)
        one = fallen(events, vary={SPEED: speeds[6:7]}, **how)
        for other, members in ((again, slice(None)), (one, slice(6, 7))):
            assert other.events is not None and other.final is not None
            for name in ("q", "v"):
                assert np.array_equal(other.final[name], whole.final[name][members])
            assert np.array_equal(other.events.stopped, whole.events.stopped[members])
            assert np.array_equal(other.status, whole.status[members])
            assert [other.events.of(k) for k in range(other.members)] == [whole.events.of(k) for k in range(9)[members]]


def test_marks_change_no_number_of_a_run() -> None:
    """D8: also the figures of other metrics, which take steps as straight."""
    metrics = {"path": "integral(slide.q)", "first": "first_crossing(slide.q, 1)"}
    with_marks, without = (
        fallen(events, metrics=metrics, channels=["slide.q"]) for events in ({"one": "slide.q - 1"}, {})
    )
    assert np.array_equal(with_marks.channels["slide.q"], without.channels["slide.q"])
    assert with_marks.metrics == without.metrics


@pytest.mark.parametrize("how", [{"step": 2e-3}, {"tolerance": 1e-10}], ids=["steps", "tolerance"])
def test_the_period_of_a_pendulum_is_that_of_the_elliptic_integral(how: dict[str, Any]) -> None:
    """D8: T = 4 sqrt(l / g) K(sin^2 45 deg) from rest at 90 degrees; a direction leaves the other one out."""
    events = {"rest": "pivot.v", "back": {"of": "pivot.v", "direction": "down"}, "end": Event("pivot.v", "up", "stop")}
    metrics = {
        "half": "time_of(rest)",
        "whole": "time_of(rest, 2)",
        "same": "time_of(rest, number=1)",
        "n": "count(rest)",
    }
    result = simulate("pendulum", 4.0, **how, events=events, metrics=metrics, accuracy="local")
    period = 4.0 * K_45 / np.sqrt(9.81)
    assert result.events is not None
    assert [one.name for one in result.events.of()] == ["rest", "back", "rest", "end"]
    assert abs(result.metrics["whole"] - period) < OF_STEPS and abs(result.metrics["half"] - period / 2) < OF_STEPS
    assert result.metrics["same"] == result.metrics["half"] == result.events.time[0] and result.metrics["n"] == 2
    assert result.events.stopped == 2 and abs(result.events.time[3] - result.metrics["whole"]) < SAME


def test_a_closed_loop_stops_with_its_loops_closed() -> None:
    """D8: a four-bar at the place of its crank, found again by a run that is recorded there."""
    where = "bar0:pivot.q"
    for how in EITHER:
        result = simulate(
            LINKAGE, 2.0, **how, events={"level": Event(f"{where} + 0.5", action="stop")}, accuracy="local"
        )
        assert result.events is not None and result.final is not None and result.status == Outcome.event
        names = [f"{joint}.q" for joint in ("bar0:pivot", "bar0:pin", "bar0:hinge", "bar0:joint")]
        time = float(result.events.time[0])
        there = simulate(LINKAGE, time, time / 1000, channels=names, accuracy="local")
        assert abs(there.channels[where][-1] + 0.5) < 1e-9  # of other steps of the same order
        assert result.certificate["gap"] < 1e-12


def test_instants_beyond_the_capacity_are_counted_and_said() -> None:
    """D8: nothing is left out silently."""
    event = Event("sin(200 * t)", "up", capacity=3)
    result = fallen({"beat": event}, step=1e-3)
    assert result.events is not None
    assert result.events.count.tolist() == [31] and len(result.events.of()) == 3
    assert any("event beat" in note and "3 instants" in note for note in result.notes)


def test_a_stop_that_is_passed_is_said() -> None:
    """As in steps moved off a singular pose, which no guard freezes: a note names the member."""
    result = fallen({"ground": Event("slide.q", action="stop")}, vary={SPEED: [0.0, 0.0]})
    assert result.events is not None and not notes_of_events(result.events)
    (note,) = notes_of_events(replace(result.events, stopped=np.array([0, -1])))
    assert "event ground: 1 members (1) passed it" in note


WRONG: dict[str, tuple[Any, str]] = {
    "unknown_channel": ({"a": "slid.q"}, "slid"),
    "vector": ({"a": "ball:origin.position"}, "3 numbers"),
    "nothing_moves": ({"a": "1 - 2"}, "event a.*channels or the time"),
    "name": ({"a b": "slide.q"}, "the name 'a b'"),
    "direction": ({"a": Event("slide.q", "rising")}, "event a: direction.*any, up, down"),
    "action": ({"a": {"of": "slide.q", "action": "stp"}}, "event a: action.*stop"),
    "option": ({"a": {"of": "slide.q", "way": "up"}}, "event a: way.*unknown option"),
    "no_of": ({"a": {"action": "stop"}}, "event a.*no `of`"),
    "capacity": ({"a": Event("slide.q", capacity=65)}, "event a: capacity.*1 to 64"),
    "kind": ({"a": 3.0}, "event a"),
    "mapping": (["slide.q"], "events"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_event_is_refused(name: str) -> None:
    events, match = WRONG[name]
    with pytest.raises(ModelError, match=match):
        fallen(events)


@pytest.mark.parametrize(
    ("metric", "match"),
    [
        ("time_of(grund)", "grund.*ground"),
        ("count(slide.q)", "metric m: count.*an event of the run: ground"),
        ("time_of(ground, 0)", "number.*1 to 64"),
        ("count(ground, 2)", "2 arguments"),
        ("time_of()", "no event"),
    ],
)
def test_metrics_of_what_is_no_event_are_refused(metric: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        fallen({"ground": "slide.q"}, metrics={"m": metric})


def test_a_run_that_goes_on_stops_and_one_that_stops_has_no_forward_gradient() -> None:
    jax = pytest.importorskip("jax")
    events = {"ground": Event("slide.q", action="stop")}
    with pytest.raises(ModelError, match=r"event ground: action.*mark"):
        jax.jacfwd(lambda v: fallen(events, vary={SPEED: v}, metrics={"m": "final(slide.q)"}).metrics["m"].sum())(
            np.zeros(1)
        )
    marked = fallen({"ground": "slide.q"}, span=0.5)
    further = fallen({"ground": Event("slide.q", action="stop")}, span=0.5, start=marked)
    assert further.events is not None
    assert abs(further.events.time[0] - np.sqrt(2 * HEIGHT / G)) < SAME
    at_once = fallen({"soon": Event("t - 0.503", action="stop")}, span=0.5, start=marked)
    assert at_once.events is not None and abs(at_once.events.time[0] - 0.503) < SAME  # in the first step
    assert further.status == at_once.status == Outcome.event


@pytest.mark.parametrize("how", [{"step": 5e-3}, {"tolerance": 1e-10}], ids=["steps", "tolerance"])
def test_the_slope_of_an_instant_is_that_of_the_closed_form(how: dict[str, Any]) -> None:
    """T is as the root of the length, so that dT/dl = T / 2l, in reverse and in forward mode; counts have no slope."""
    jax = pytest.importorskip("jax")
    lengths, path = np.array([0.8, 1.3]), "link.center_of_mass[1]"
    metrics = {"half": "time_of(rest)", "n": "count(rest)"}

    def instants(length: Any) -> Any:
        run = simulate("pendulum", 1.5, **how, vary={path: -length}, events={"rest": "pivot.v"}, metrics=metrics)
        return run.metrics["half"] + 0.0 * run.metrics["n"]

    expected = K_45 / np.sqrt(G * lengths)
    back = jax.grad(lambda length: instants(length).sum())(lengths)
    np.testing.assert_allclose(back, expected, rtol=SLOPE)
    np.testing.assert_allclose(jax.jvp(instants, (lengths,), (np.ones(2),))[1], expected, rtol=SLOPE)


def test_an_event_is_public() -> None:
    assert shiftjax.Event is Event

"""Events that set numbers of forces (D8): laws that change at located instants, against motions in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax import Event, ModelError, Outcome, Result, simulate
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

EXACT = 1e-11  # steps of rk4 hold parabolas; the instants are off by 1e-10 of a step, and so are speeds
OF_STEPS = 1e-9  # of rk4 at 0.5 ms on harmonic motions of 10 and 20 rad/s, and of a tolerance of 1e-10
SPEEDS = np.array([0.8, 1.1, 1.7])
HOW: list[dict[str, Any]] = [{"step": 5e-3}, {"tolerance": 1e-10}]
NAMES = ["steps", "tolerance"]


def sled(spring: bool) -> Model:
    """A mass of 1 kg on a rail along x at 1 m/s, with a load that is 0, or a spring of 100 N/m to where it begins."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    part = builder.assembly("a").body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    part.joint("rail", "Tx", child="mass", initial_velocity=1.0)
    if spring:
        part.force("hold", "joint_spring", joint="rail", k=100.0)
    else:
        part.force("brake", "constant_load", joint="rail", load=0.0)
    return builder.build()


BRAKED, SPRUNG = sled(spring=False), sled(spring=True)
BRAKE = {
    "line": Event("rail.q - 0.5", "up", "set", values={"brake.load": "-2 N"}),
    "rest": Event("rail.v", "down", "stop"),
}


def braked(**more: Any) -> Result:
    given: dict[str, Any] = {"vary": {"rail.initial_velocity": SPEEDS}, **more}
    return simulate(BRAKED, 2.0, events=BRAKE, output_step=0.5, channels=["rail.q"], **given)


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_a_brake_that_a_line_switches_on(how: dict[str, Any]) -> None:
    """At v until x = 0.5 m, then -2 m/s^2 to rest: v^2 / 4 m further, or to the end of the span."""
    result = braked(**how)
    assert result.events is not None and result.final is not None
    on = 0.5 / SPEEDS
    stops = on + SPEEDS / 2 < 2.0
    assert (result.events.stopped == np.where(stops, 1, -1)).all() and stops.all()
    np.testing.assert_allclose(result.final["q"][:, 0], 0.5 + SPEEDS**2 / 4, atol=EXACT)
    np.testing.assert_allclose(result.events.time, np.stack([on, on + SPEEDS / 2], axis=1), atol=EXACT)
    t, here = result.time, result.channels["rail.q"]
    past = np.maximum(t - on[:, None], 0.0)
    expected = np.where(past > SPEEDS[:, None] / 2, np.nan, SPEEDS[:, None] * t - past**2)
    np.testing.assert_allclose(here, expected, atol=EXACT)
    assert (result.certificate["energy_error"] < 1e-9).all() and (result.status == Outcome.event).all()


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_a_law_changes_at_the_same_bit_alone_and_when_it_is_repeated(how: dict[str, Any]) -> None:
    whole = braked(**how)
    again, one = braked(schedule=whole.schedule, **how), braked(vary={"rail.initial_velocity": SPEEDS[1:2]}, **how)
    assert whole.final is not None and again.final is not None and one.final is not None
    for name in ("q", "v"):
        assert np.array_equal(again.final[name], whole.final[name])
        assert np.array_equal(one.final[name], whole.final[name][1:2])
    assert np.array_equal(again.status, whole.status)


@pytest.mark.parametrize("how", HOW, ids=NAMES)
def test_a_spring_that_becomes_stiffer_at_its_largest_way(how: dict[str, Any]) -> None:
    """x = sin(10 t) / 10 for a quarter of a period, then cos(20 (t - t1)) / 10; what the spring gains is no error."""
    event = Event("rail.v", "down", "set", values={"hold.k": 400.0})
    channels = ["rail.q", "energy.total"]
    how = {"step": 5e-4} if "step" in how else how
    result = simulate(SPRUNG, 0.5, **how, events={"far": event}, output_step=0.1, channels=channels)
    assert result.events is not None
    t, first = result.time, np.pi / 20
    expected = 0.1 * np.where(t < first, np.sin(10 * t), np.cos(20 * (t - first)))
    np.testing.assert_allclose(result.channels["rail.q"], expected, atol=OF_STEPS)
    np.testing.assert_allclose(result.channels["energy.total"][[0, -1]], [0.5, 2.0], atol=20 * OF_STEPS)
    assert result.status == Outcome.ok and result.certificate["energy_error"] < OF_STEPS
    assert result.events.count[0] == 2 and abs(result.events.time[0] - first) < OF_STEPS  # and a period of 20 rad/s on


def test_several_laws_in_one_step() -> None:
    """A load on and off again within a step of fixed size, and a stop behind them."""
    on = Event("t - 0.31", "up", "set", values={"brake.load": 3.0})
    events = {
        "on": on,
        "off": Event("t - 0.36", "up", "set", values={"brake.load": 0.0}),
        "end": Event("t - 0.38", action="stop"),
    }
    result = simulate(BRAKED, 1.0, 0.1, events=events, output_step=0.1, channels=["rail.v"], accuracy="local")
    assert result.final is not None and result.events is not None
    assert abs(result.final["v"][0] - (1.0 + 3.0 * 0.05)) < EXACT and result.events.stopped == 2
    further = simulate(BRAKED, 1.0, 0.1, events={"on": on}, output_step=0.1, channels=["rail.v"], accuracy="local")
    np.testing.assert_allclose(further.channels["rail.v"], 1.0 + 3.0 * np.maximum(further.time - 0.31, 0.0), atol=EXACT)


WRONG: dict[str, tuple[Any, str]] = {
    "no_values": (Event("rail.q", action="set"), "event e.*no values of the action 'set'"),
    "values_of_a_mark": (Event("rail.q", values={"brake.load": 1.0}), "event e.*values of the action 'mark'"),
    "no_number": (Event("rail.q", action="set", values={"brake.lod": 1.0}), "brake.lod"),
    "a_start": (Event("rail.q", action="set", values={"rail.initial_velocity": 1.0}), "event e: values.*start speed"),
    "unit": (Event("rail.q", action="set", values={"brake.load": "1 mm"}), "brake.load"),
    "kind": ({"of": "rail.q", "action": "set", "values": {"brake.load": [1.0]}}, "event e: values"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_event_sets(name: str) -> None:
    event, match = WRONG[name]
    with pytest.raises(ModelError, match=match):
        simulate(BRAKED, 1.0, events={"e": event})


def test_a_run_goes_on_with_the_laws_that_events_have_set() -> None:
    """To the last bit as one run of both spans; also a run that has no such event any more."""
    whole, first = braked(step=5e-3, accuracy="local"), ended(1.0, {"line": BRAKE["line"]})
    second = ended(1.0, BRAKE, start=first)
    assert whole.final is not None and first.final is not None and second.final is not None
    assert first.final["a:brake.load"].tolist() == [-2.0] * 3 and second.events is not None
    for name in ("q", "v", "time"):
        assert np.array_equal(second.final[name], whole.final[name])
    assert (second.events.stopped == 1).all() and (second.status == Outcome.event).all()
    rest = ended(1.0, {"rest": BRAKE["rest"]}, start=first, tolerance=1e-10, step=None)
    assert rest.final is not None
    np.testing.assert_allclose(rest.final["q"][:, 0], 0.5 + SPEEDS**2 / 4, atol=EXACT)


def test_members_go_on_from_where_they_have_stopped() -> None:
    """Each from its own instant, on one clock; alone by its own. Back from rest at -2 m/s^2."""
    stopped = braked(step=5e-3, accuracy="local")
    back = ended(0.5, None, start=stopped)
    assert back.final is not None and stopped.final is not None
    np.testing.assert_allclose(back.final["q"][:, 0], 0.5 + SPEEDS**2 / 4 - 0.25, atol=EXACT)
    assert back.time.tolist() == [2.0, 2.5] and "different instants, from 1.00455" in back.notes[0]
    alone = simulate(BRAKED, 2.0, 5e-3, events=BRAKE, accuracy="local")
    assert alone.final is not None and not alone.batched
    late = {"late": Event("t - 1.25", action="stop")}
    further = simulate(BRAKED, 0.5, 5e-3, start=alone, events=late, accuracy="local")
    assert further.final is not None and further.events is not None and not further.batched
    assert further.time[0] == alone.final["time"] and abs(further.time[0] - 1.0) < EXACT
    assert abs(further.events.time[0] - 1.25) < EXACT and abs(further.final["v"][0] + 0.5) < EXACT
    with pytest.raises(ModelError, match=r"start: found members that stand at different instants.*ask for the time"):
        ended(0.5, late, start=stopped)


def ended(span: float, events: Any, **more: Any) -> Result:
    given: dict[str, Any] = {"step": 5e-3, "accuracy": "local", **more}
    return simulate(BRAKED, span, events=events, vary={"rail.initial_velocity": SPEEDS}, **given)


def slid(speed: float, load: float, place: float = 0.0) -> Model:
    """The sled from a place, at a speed, under a load."""
    model = BRAKED.replace({"brake.load": load, "rail.initial_displacement": place, "rail.initial_velocity": speed})
    assert isinstance(model, Model)
    return model


# name -> model, events, span, place and speed at the end
SETS: dict[str, tuple[Model, dict[str, Any], float, tuple[float, float]]] = {
    "another event after a speed that comes to its value exactly": (
        slid(1.0, -1.0),
        {
            "off": Event("rail.v - 0.4", "down", "set", values={"brake.load": 2.0}),
            "end": Event("rail.q - 1.2", "up", "stop"),
        },
        1.5, (1.2, np.sqrt(0.4**2 + 4.0 * 0.78)),
    ),
    "a stop at the place of the start, left backwards": (
        slid(-1.0, -1.0, 0.1 + 0.2),
        {"top": Event("rail.q - 0.3", "up", "stop"), "bottom": Event("rail.q + 1.2", "down", "stop")},
        1.5, (-1.2, -2.0),
    ),
    "at the end of a step": (
        slid(1.0, 0.0), {"on": Event("rail.q - 0.5", "up", "set", values={"brake.load": 1.0})}, 1.0, (1.125, 1.5)),
    "a stop at the end of a step": (
        slid(1.0, 0.0), {"end": Event("rail.q - 0.5", "up", "stop")}, 1.0, (0.5, 1.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("step", [0.01, 0.1])
def test_events_whose_zero_is_where_a_step_begins_or_ends(name: str, step: float) -> None:
    """Steps of no length, which have no values, made other events happen there, or ended members as stuck."""
    model, events, span, (place, speed) = SETS[name]
    result = simulate(model, span, step, events=events, accuracy="local")
    assert result.status in (0, Outcome.event) and result.final is not None and result.events is not None
    assert abs(result.final["q"][0] - place) < 1e-9 and abs(result.final["v"][0] - speed) < 1e-9
    assert [event.name for event in result.events.of()] == [name for name in events if name not in ("top",)]


def test_a_control_that_switches_between_two_speeds() -> None:
    """Each event by itself, in its turn; the other one is far."""
    events = {
        "fast": Event("rail.v - 0.9071", "up", "set", values={"brake.load": -1.5}),
        "slow": Event("rail.v - 0.4123", "down", "set", values={"brake.load": 2.0}),
    }
    for step in (1e-3, 1e-2):
        result = simulate(slid(0.503, 2.0), 3.0, step, events=events, accuracy="local")
        assert result.status == 0 and result.final is not None and result.events is not None
        names = [event.name for event in result.events.of()]
        assert names == [("fast", "slow")[k % 2] for k in range(len(names))] and len(names) > 6
        (up, down), period = (0.9071 - 0.4123) / np.array([2.0, 1.5]), (0.9071 - 0.4123) * (1 / 2.0 + 1 / 1.5)
        first = (0.9071 - 0.503) / 2.0
        last = first + period * ((len(names) - 1) // 2)
        left = 3.0 - last - (down if len(names) % 2 == 0 else 0.0)
        speed = 0.4123 + 2.0 * left if len(names) % 2 == 0 else 0.9071 - 1.5 * left
        assert abs(result.final["v"][0] - speed) < 1e-9 and up > 0


def test_a_batch_goes_on_with_its_vary_or_what_is_stated_anew() -> None:
    """Numbers that were set stay; others than those of the first run, and assigned ones, are the caller's."""
    varied = {"rail.initial_velocity": SPEEDS, "brake.load": np.zeros(3)}
    first = simulate(BRAKED, 1.0, 5e-3, vary=varied, events={"line": BRAKE["line"]}, accuracy="local")
    assert first.final is not None and first.final["a:brake.load"].tolist() == [-2.0] * 3
    with pytest.raises(ModelError, match=r"start: found 3 members; allowed: 1\. Go on with the same vary"):
        simulate(BRAKED, 0.1, 5e-3, start=first)
    stated: list[tuple[dict[str, Any], float]] = [
        ({"vary": varied}, -2.0),
        ({"vary": {**varied, "brake.load": np.ones(3)}}, 1.0),
        ({"vary": {"rail.initial_velocity": SPEEDS}, "assign": {"brake.load": 0.0}}, 0.0),
    ]
    for more, load in stated:
        second = simulate(BRAKED, 0.1, 5e-3, start=first, accuracy="local", **more)
        assert second.batched and second.final is not None
        np.testing.assert_allclose(second.final["v"] - first.final["v"], 0.1 * load, atol=EXACT)

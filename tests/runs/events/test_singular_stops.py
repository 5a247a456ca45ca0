"""Members that are to stop at singular poses, beside events, forces that are no numbers, schedules and derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax.gradients.forward.tangents as tangents
from shiftjax.errors import ModelError
from shiftjax.gradients.simulate import simulate as simulate_traced
from shiftjax.mechanism.events import Event
from shiftjax.outcome import Outcome
from shiftjax.run.live import Live
from shiftjax.run.simulate import simulate
from shiftjax.run.start import singular_starts
from shiftjax.run.step_function import compile as compile_step
from tests.support.models.flat_linkages import BASE, PARALLELOGRAM, landing, linkage, parallel

GRAVITY = "model_parameters.gravity[1]"
STOP: dict[str, Any] = {"singular": "stop", "accuracy": "local"}
STEPS = [{"step": 1e-3}, {"tolerance": 1e-6}]
FLAT = linkage((1.0, BASE, 1.0, BASE), (0.0, 0.0, 0.0), initial_velocity=1.0)
IN_A_STEP = 1e-9  # s of a place that a step ends at, 1e-10 of one


def one(angle: float, speed: float = 1.0) -> dict[str, np.ndarray]:
    return parallel(np.array([angle]), np.array([speed]))


@pytest.mark.parametrize("steps", STEPS, ids=["steps", "tolerance"])
def test_what_is_no_number_is_not_said_to_be_a_pose(steps: dict[str, Any]) -> None:
    """Of a damper of 1e200 Nm s^3 the force overflows: was `singular_pose`. Beside it one without comes to the pose."""
    model = linkage((1.0, BASE, 1.0, BASE), (-1.0, 0.0, -1.0), damping=(0.0, 0.0, 0.0, 1.0))
    vary = {**parallel(np.full(2, -0.1), np.ones(2)), "crank_pivot.damping[3]": np.array([1e200, 0.0])}
    result = simulate(model, 0.3, vary=vary, **steps, **STOP)
    assert result.status.tolist() == [Outcome.non_finite, Outcome.singular_pose], result.messages


@pytest.mark.parametrize("steps", STEPS, ids=["steps", "tolerance"])
def test_events_and_poses_in_the_same_steps(steps: dict[str, Any]) -> None:
    """A step that lands at an event passed the pose before it; in fixed steps near the pose no event was acted upon."""
    events = {"before": Event("crank_pivot.q + 0.01", action="stop"), "beyond": Event("crank_pivot.q - 0.002")}
    result = simulate(PARALLELOGRAM, 0.3, vary=one(-0.1), events=events, **steps, **STOP)
    assert result.status.tolist() == [Outcome.event] and result.events is not None
    assert abs(result.events.time[0, 0] - 0.09) < IN_A_STEP
    beyond = simulate(PARALLELOGRAM, 0.3, vary=one(-0.1), events={"beyond": events["beyond"]}, **steps, **STOP)
    assert beyond.status.tolist() == [Outcome.singular_pose] and beyond.messages[0].startswith("at 0.1 s")


def test_a_schedule_is_of_members_that_pass_or_of_those_that_stop() -> None:
    """One of a run that passes was followed to its end by members that were to stop."""
    result = simulate(PARALLELOGRAM, 0.2, 1e-3, vary=one(-0.1), accuracy="local")
    with pytest.raises(ModelError, match="schedule: found singular 'pass'"):
        simulate(PARALLELOGRAM, 0.2, 1e-3, vary=one(-0.1), schedule=result.schedule, **STOP)


def test_a_schedule_of_members_that_are_to_stop_is_followed_through_other_coordinates() -> None:
    """A change of coordinates sets the windows of poses, which along a schedule freeze nobody."""
    angles = -np.array([0.8, 2.0, 2.5])
    settings: dict[str, Any] = {"vary": parallel(angles, np.full(3, 5.0)), **STOP}
    result = simulate(PARALLELOGRAM, 0.8, 1e-3, **settings)
    assert (result.certificate["repartitions"] > 0).sum() >= 2 and (result.status == Outcome.singular_pose).all()
    again = simulate(PARALLELOGRAM, 0.8, 1e-3, schedule=result.schedule, **settings)
    assert (again.status == Outcome.singular_pose).all() and result.final is not None and again.final is not None
    assert (again.final["q"] == result.final["q"]).all()


def test_derivatives_of_members_that_are_to_stop() -> None:
    """Of one that does not come to the pose: without gravity its angle follows its speed, for the whole span."""

    def last(speed: jax.Array) -> jax.Array:
        vary = {"crank_pivot.initial_velocity": speed}
        run = simulate_traced(PARALLELOGRAM, 0.8, 1e-2, vary=vary, channels=["rocker_pivot.q"], **STOP)
        return jnp.asarray(run.channels["rocker_pivot.q"])[:, -1]

    forward = jax.jvp(last, (jnp.ones(1),), (jnp.ones(1),))[1]
    reverse = jax.grad(lambda v: last(v).sum())(jnp.ones(1))
    assert np.allclose([*forward, *reverse], 0.8, rtol=1e-8)


@pytest.mark.parametrize("backend", ["cpu", "xla"])
def test_coarse_steps_stop_too(backend: str) -> None:
    """At 15 rad/s in steps of 10 ms a pose lay between stages that were outside of its window."""
    members, method = (40, "rk4") if backend == "cpu" else (4, "euler")  # which XLA compiles in a third of the time
    angles = -np.linspace(0.31, 0.46, members)
    vary = parallel(angles, np.full(members, 15.0))
    result = simulate(PARALLELOGRAM, 0.1, 1e-2, vary=vary, backend=backend, method=method, **STOP)
    assert (result.status == Outcome.singular_pose).all(), result.messages
    times = [float(message.split()[1]) for message in result.messages]
    assert np.abs(times + angles / 15.0).max() < 1e-2  # a step


def test_a_run_that_goes_on_stops_at_the_pose() -> None:
    vary = one(-0.1)
    first = simulate(PARALLELOGRAM, 0.05, 1e-3, vary=vary, **STOP)
    assert first.status.tolist() == [Outcome.ok]
    second = simulate(PARALLELOGRAM, 0.1, 1e-3, vary=vary, start=first, **STOP)
    assert second.status.tolist() == [Outcome.singular_pose] and second.messages[0].startswith("at 0.1 s")


# -- events in steps across a pose ---------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["stop", "set"])
def test_events_in_steps_across_a_pose_are_acted_upon_as_along_the_schedule(action: str) -> None:
    """Steps that a tolerance chose to cross a pose passed events, at which the same run along its schedule acted. The
    first member lands at the event, the last one cannot, so near to the pose, nor the other but by luck of rounding.
    """
    rng = np.random.default_rng(5)
    angles, speeds = -rng.uniform(0.2, 1.5, 200)[7:10], rng.uniform(4.0, 12.0, 200)[7:10]
    model = linkage((1.0, BASE, 1.0, BASE), (-1.0, 0.0, -1.0), gravity=(0.0, -9.81, 0.0))
    values = {GRAVITY: -1.0} if action == "set" else {}
    events = {"beyond": Event("crank_pivot.q - 1e-4", "up", action, values=values)}
    vary = parallel(angles, speeds)
    settings: dict[str, Any] = {"tolerance": 1e-9, "vary": vary, "events": events, "accuracy": "local"}
    result = simulate(model, 0.6, **settings)
    again = simulate(model, 0.6, schedule=result.schedule, **settings)
    assert result.status.tolist() == again.status.tolist() == [Outcome.event if action == "stop" else Outcome.ok] * 3
    assert result.final is not None and again.final is not None
    assert (result.final["q"] == again.final["q"]).all()
    (note,) = (note for note in result.notes if "event beyond" in note)
    assert ("2 members (1, 2)" in note or "1 members (2)" in note) and "acted where that step ended" in note


def test_a_note_names_members_whose_numbers_a_moved_step_left() -> None:
    angles, speeds = landing(4, 3)
    events = {"pose": Event("crank_pivot.q", action="set", values={GRAVITY: -1.0})}
    result = simulate(PARALLELOGRAM, 0.3, 1e-3, vary=parallel(angles, speeds), events=events, accuracy="local")
    (note,) = (note for note in result.notes if "event pose" in note)
    assert "moved off a singular pose, and its numbers were not set" in note


# -- starts --------------------------------------------------------------------------------------------------------


def test_starts_say_what_is_not_known_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rest, and where no branch is found: the message was that of a run that stays near a pose; of the latter also
    that the nearest branch was taken.
    """
    vary = {"crank_pivot.initial_velocity": [0.0]}
    rests = simulate(FLAT, 0.01, 1e-3, vary=vary, accuracy="local")
    assert rests.status.tolist() == [Outcome.near_singular] and "starts at rest on a singular pose" in rests.messages[0]
    monkeypatch.setattr(singular_starts._Way, "poses", lambda way, tangent: [])
    lost = simulate(FLAT, 0.01, 1e-3, vary={"crank_pivot.initial_velocity": [1.0]}, accuracy="local")
    assert "no branch was found" in lost.messages[0] and "nearest" not in lost.messages[0]


def test_a_live_run_starts_on_a_pose_along_its_branch() -> None:
    """It ended with loops that open."""
    speeds = ("crank_pivot.initial_velocity", "rocker_pivot.initial_velocity")
    live = Live(FLAT.replace(dict.fromkeys(speeds, 2.0)), channels=["crank_pivot.q", "rocker_pivot.q"])
    live.advance(0.5)
    assert not live.ended and np.abs(np.array([*live.channels().values()]) - 1.0).max() < 1e-8


def test_a_step_function_on_a_pose_trips() -> None:
    """It went on with status 0, and its loops opened step by step."""
    simulator = compile_step(FLAT, step=1e-3)
    params, state = simulator.start({})
    lane = {name: values[0] for name, values in state.items()}
    _, info = simulator.step({name: values[0] for name, values in params.items()}, lane)
    assert int(info["status"]) > 0


def test_tangents_take_instants_beside_a_pose_as_their_run_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the pivots of the start it is known which lie next to one; tangents took all of them for 1."""
    ratios = list[np.ndarray]()

    def watched(lanes: Any, schedule: Any) -> None:
        ratios.append(lanes.ratio.copy())
        replay(lanes, schedule)

    replay = tangents.replay
    monkeypatch.setattr(tangents, "replay", watched)
    channel = "substructure[0].pivot_ratio"

    def first(speed: jax.Array) -> jax.Array:
        vary = {"crank_pivot.initial_velocity": speed}
        run = simulate_traced(PARALLELOGRAM, 0.05, tolerance=1e-6, vary=vary, channels=[channel], accuracy="local")
        return jnp.asarray(run.channels[channel])[:, 0]

    at_start, _ = jax.jvp(first, (jnp.ones(1),), (jnp.ones(1),))
    assert at_start[0] < 0.9 and np.allclose(ratios[0][0], at_start, rtol=1e-9)

"""A run that goes on while it is watched: the same steps as `simulate`, numbers that change, bodies that are pulled."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from shiftjax import ModelBuilder
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.run.live import PULL_RATE, Live
from shiftjax.run.simulate import simulate
from tests.support.models.mechanisms import rod

CLOSED = 1e-9  # m or rad, issue 3
BALANCE = 1e-6  # of the energy, issue 3: what hands do to it is booked as work
SETTLED = 3.0  # s: rate times time is 60, e^-60 is nothing
CRANK, COUPLER = "four_bar:crank:tip.T[0]", "four_bar:coupler"


@pytest.mark.parametrize("model", ["four_bar", "bricard", "pendulum"])
def test_pieces_of_any_length_are_the_steps_of_simulate(model: str) -> None:
    """Bit for bit, repartitions and moved steps included."""
    live = Live(model, channels=["energy.total"])
    for seconds in [0.001, 0.017, *[0.05] * 39, 0.032]:
        live.advance(seconds)
    whole = simulate(model, span=2.0, step=1e-3, channels=["energy.total"])
    assert round(live.time * 1000) == 2000 and whole.final is not None
    assert np.array_equal(live.instant().q, whole.final["q"])
    assert np.array_equal(live.instant().v, whole.final["v"])
    assert live.channels()["energy.total"] == whole.channels["energy.total"][-1]
    kept = simulate(model, span=2.0, step=1e-3, output_step=2.0, keep="all").poses
    seen = dict(zip(live.nodes, live.poses(), strict=True))
    for body, pose in kept.items():
        sign = np.sign(pose[-1, 3:] @ seen[body][3:])
        np.testing.assert_allclose(seen[body] * [1, 1, 1, *[sign] * 4], pose[-1], atol=1e-12)  # compiled and NumPy


def test_numbers_change_while_the_mechanism_runs() -> None:
    """S15: loops stay closed through every change, and a restart with numbers is a run of that variant."""
    live = Live("four_bar", vary=["crank:tip.T[0]", "coupler.mass"])
    live.advance(0.5)
    before = live.instant()
    live.change({"coupler.mass": 3.0})
    np.testing.assert_allclose(live.instant().q, before.q, atol=1e-14)  # a mass moves nothing
    np.testing.assert_allclose(live.instant().v, before.v, rtol=1e-12)
    for length in np.linspace(0.2, 0.26, 13):
        live.change({CRANK: length})
        live.advance(0.05)
        assert live.certificate()["gap"] <= CLOSED and live.certificate()["energy_error"] <= BALANCE
    assert live.values == {CRANK: pytest.approx(0.26), "four_bar:coupler.mass": 3.0}
    assert live.time == pytest.approx(0.5 + 13 * 0.05)
    live.restart({CRANK: 0.24})
    assert live.time == 0.0 and live.values == {CRANK: 0.24, "four_bar:coupler.mass": 3.0}
    live.advance(1.0)
    other = simulate("four_bar", span=1.0, step=1e-3, vary={CRANK: [0.24], "coupler.mass": [3.0]})
    assert other.final is not None
    np.testing.assert_allclose(live.instant().q, other.final["q"][0], atol=1e-12)


def test_the_other_joints_follow_a_change_with_the_least_move() -> None:
    """A change too small to see moves no joint by more than a few times itself."""
    live = Live("four_bar", vary=["crank:tip.T[0]"])
    live.advance(0.3)
    before = live.instant()
    live.change({CRANK: live.values[CRANK] + 1e-4})
    assert 0 < np.abs(live.instant().q - before.q).max() < 2e-3  # links of 0.2 to 0.6 m


def test_a_change_that_opens_the_loops_is_refused_and_nothing_is_lost() -> None:
    live = Live("four_bar", vary=["crank:tip.T[0]"])
    live.advance(0.2)
    before = live.instant()
    for call in (live.change, live.restart):
        with pytest.raises(ModelError, match=r"tip.T\[0\] = 9.*stay open"):
            call({CRANK: 9.0})
        assert live.values[CRANK] == 0.2 and live.time == before.time
        assert np.array_equal(live.instant().q, before.q)
    live.advance(0.3)
    alone = Live("four_bar", vary=["crank:tip.T[0]"])
    alone.advance(0.5)
    assert np.array_equal(alone.instant().q, live.instant().q)


def test_a_run_can_be_set_back() -> None:
    live = Live("bricard")
    live.advance(0.4)
    instant = live.instant()
    live.advance(0.4)
    after = live.instant()
    live.set_back(instant)
    assert live.time == pytest.approx(0.4)
    live.advance(0.4)
    np.testing.assert_allclose(live.instant().q, after.q, atol=1e-9)  # its partition is a fresh one


@cache
def free_body(mass: float) -> Model:
    """A body of any mass that nothing holds, without gravity."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    block = builder.assembly("a").body("stone", mass=mass, inertia=(0.02 * mass, 0.03 * mass, 0.04 * mass))
    block.joint("floating", "float", child="stone")
    return builder.build()


@pytest.mark.parametrize("mass", [0.01, 400.0])
def test_a_pulled_body_comes_as_a_critically_damped_spring_brings_it(mass: float) -> None:
    """x = d (1 - (1 + w t) e^(-w t)), whatever the mass: the spring goes with it."""
    live = Live(free_body(mass))
    far = np.array([0.3, -0.2, 0.1])
    live.grab(live.nodes[1], np.zeros(3), far)
    for k in range(1, 61):
        live.advance(0.01)
        part = PULL_RATE * 0.01 * k
        expected = 1 - (1 + part) * np.exp(-part)
        # A pull is constant over 8 to 10 ms, a tenth of the time in which the distance falls e-fold.
        np.testing.assert_allclose(live.poses()[1, :3] / far, expected, atol=0.1)
    live.advance(SETTLED)
    np.testing.assert_allclose(live.poses()[1, :3], far, atol=1e-9)
    np.testing.assert_allclose(live.poses()[1, 3:], [1, 0, 0, 0], atol=1e-12)  # at its centre of mass: no turning


@pytest.mark.parametrize("step", [1e-4, 5e-3, 3e-2])
def test_a_pull_is_stable_at_any_step(step: float) -> None:
    live = Live(free_body(1.0), step=step)
    live.grab(live.nodes[1], np.zeros(3), np.array([0.3, 0.0, 0.0]))
    for _ in range(10):
        live.advance(1.0)
    np.testing.assert_allclose(live.poses()[1, :3], [0.3, 0.0, 0.0], atol=1e-6)


def test_the_pull_knows_the_mass_of_now() -> None:
    live = Live(free_body(1.0), vary=["stone.mass"])
    live.change({"stone.mass": 100.0})
    live.grab(live.nodes[1], np.zeros(3), np.array([0.3, 0.0, 0.0]))
    live.advance(0.4)
    assert live.poses()[1, 0] > 0.29


def test_a_pulled_loop_stays_closed_and_its_energy_is_accounted_for() -> None:
    live = Live("four_bar")
    live.advance(0.2)
    at = live.nodes.index(COUPLER)
    goal = live.poses()[at, :3] + [0.1, 0.0, 0.1]
    live.grab(COUPLER, np.array([0.1, 0.0, 0.05]), goal)
    for _ in range(90):
        live.advance(1 / 30)
    certificate = live.certificate()
    assert certificate["gap"] <= CLOSED and certificate["energy_error"] <= BALANCE
    held = live.instant()
    np.testing.assert_allclose(held.v, 0.0, atol=1e-3)  # at rest under gravity and pull
    live.let_go()
    live.advance(0.2)
    assert live.certificate()["energy_error"] <= BALANCE
    assert np.abs(live.instant().q - held.q).max() > 1e-2  # it falls


def test_a_point_that_cannot_move_is_not_pulled() -> None:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    wall = builder.assembly("a").body("brick", mass=1.0, inertia=(0.1, 0.1, 0.1)).body("bob", **rod(1.0))
    wall.joint("mortar", "rigid", child="brick").joint("pin", "Ry", child="bob")
    live = Live(builder.build())
    before = live.poses()
    live.grab(live.nodes[1], np.zeros(3), np.array([5.0, 0.0, 0.0]))
    live.advance(0.5)
    np.testing.assert_allclose(live.poses()[1], before[1], atol=1e-12)
    assert live.certificate()["energy_error"] <= BALANCE


def test_what_is_not_there_is_refused_by_name() -> None:
    live = Live("four_bar", vary=["coupler.mass"])
    with pytest.raises(ModelError, match=r"number to change.*rocker.mass.*coupler.mass"):
        live.change({"rocker.mass": 2.0})
    with pytest.raises(ModelError, match=r"body to pull.*crown"):
        live.grab("four_bar:crown", np.zeros(3), np.zeros(3))
    with pytest.raises(ModelError, match=r"coupler.mass.*finite number"):
        live.change({"coupler.mass": float("nan")})
    with pytest.raises(ModelError, match=r"three finite numbers"):
        live.grab("four_bar:coupler", np.zeros(2), np.zeros(3))
    with pytest.raises(ModelError, match=r"a list of paths"):
        Live("four_bar", vary="coupler.mass")
    with pytest.raises(ModelError, match=r"step.*positive"):
        Live("four_bar", step=0.0)
    with pytest.raises(ModelError, match=r"'dopri5', which controls its step size.*A run of simulate with a tolerance"):
        Live("four_bar", method="dopri5")
    with pytest.raises(ModelError, match=r"vary|nosuch"):
        Live("four_bar", vary=["nosuch.mass"])

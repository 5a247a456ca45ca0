"""Linkages of many topologies under forces: against the equations of the library, closed forms, laws of energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax import families
from shiftjax.errors import ModelError
from shiftjax.families import Solvability
from shiftjax.run.simulate import simulate
from tests.families.test_families import REFUSED, four_bar, linkage
from tests.reference.links import random_linkages
from tests.support.models.mechanisms import CRANK, GROUND, four_bars

G = 9.81
RUN = 1e-8  # rad and rad/s after 0.1 s: two ways to one motion by RK4 of 1 ms
ENERGY = 1e-9  # relative: RK4 of 1 ms


def rods() -> np.ndarray:
    """1 kg each, of a four-bar."""
    return four_bar(1.0, 1.0, 1.0, 1.0, 1.0)[0] * 1.0


def test_a_four_bar_of_rods_runs_as_that_of_the_library() -> None:
    """The same rods under gravity: Eksergian's equation and reduced equations of the loop; Ry turns x towards -z."""
    paths = ["pivot.q", "pivot.v", "coupler:tip.position"]
    run = simulate(four_bars(speed=3.0), 0.1, 1e-3, output_step=0.01, channels=paths)
    angle, speed, tip = (run.channels[path] for path in paths)
    pin = CRANK * np.array([np.cos(angle[0]), np.sin(angle[0])])
    drawn = [[[0.0, 0.0], pin, [GROUND, 0.0], [tip[0, 0], -tip[0, 2]]]]
    bars, _, types = four_bar(1.0, 1.0, 1.0, 1.0, 1.0)
    alone = families.dynamics(
        bars, drawn, types, span=0.1, step=1e-3, bar_masses=rods(), gravity=(0.0, G), speed=speed[0]
    )
    assert alone.status.tolist() == [0] and np.isinf(alone.ended).all()
    np.testing.assert_allclose(alone.angle[0, ::10], angle, rtol=0, atol=RUN)
    np.testing.assert_allclose(alone.speed[0, ::10], speed, rtol=0, atol=RUN)
    assert np.ptp(speed) > 1.0


def test_energy_is_that_of_the_motor() -> None:
    """Random linkages of several topologies, point masses and gravity: energy changes by the motor's work alone."""
    bars, x0, types = random_linkages(40, 8, seed=4)
    masses = np.random.default_rng(0).uniform(0.5, 1.0, (40, 8))
    given: dict[str, Any] = {"span": 0.05, "step": 1e-3, "node_masses": masses, "gravity": (0.0, -1.0), "speed": 2.0}
    free, driven = (families.dynamics(bars, x0, types, **given, torque=torque) for torque in (0.0, 0.01))
    goes = np.isinf(free.ended) & np.isinf(driven.ended) & (families.simulate(bars, x0, types).margin.min(1) > 0.01)
    assert goes.sum() > 5
    scale = np.abs(free.energy[goes]).max(1)
    assert (np.ptp(free.energy[goes], axis=1) < ENERGY * scale).all()
    work = 0.01 * (driven.angle - driven.angle[:, :1])
    assert (np.abs(driven.energy - driven.energy[:, :1] - work)[goes].max(1) < ENERGY * scale).all()
    assert (np.ptp(driven.speed[goes], axis=1) > 0).all()


def test_a_rod_alone_is_a_pendulum() -> None:
    """J = m l^2 / 3 and small swings of sqrt(3 g / (2 l)); a law of the motor that holds it in the air."""
    bars, _, types = linkage(2, [0], [(0, 1)])
    small = 1e-4
    given: dict[str, Any] = {"bar_masses": 3.0, "gravity": (0.0, -G), "span": 0.5, "step": 1e-3}
    run = families.dynamics(bars, [[[0.0, 0.0], [0.0, -2.0]]], types, angle=-np.pi / 2 + small, **given)
    np.testing.assert_allclose(run.inertia, 3.0 * 4.0 / 3.0, rtol=1e-14)
    swing = small * np.cos(np.sqrt(3 * G / 4) * run.times)
    np.testing.assert_allclose(run.angle[0] + np.pi / 2, swing, rtol=0, atol=small**3 + 1e-12)
    held = families.dynamics(
        bars, [[[0.0, 0.0], [2.0, 0.0]]], types, torque=lambda time, angle, speed: 3.0 * G * np.cos(angle), **given
    )
    np.testing.assert_allclose(held.angle, 0.0, rtol=0, atol=1e-14)


def test_a_lock_ends_a_run_and_the_others_go_on() -> None:
    """The crank of a non-Grashof four-bar comes to the end of its travel, the other one goes round."""
    locking, round_ = four_bar(5.0, 4.0, 4.0, 6.0, 0.7), four_bar(1.0, 3.0, 3.0, 2.5, 0.3)
    flat = REFUSED[Solvability.drawn_flat]
    points = np.concatenate([locking[1], round_[1], flat[1][None]])
    run = families.dynamics(locking[0], points, locking[2], span=1.0, step=0.01, node_masses=1.0, speed=2.0)
    lock = np.arccos(-0.05)
    assert 0.0 < run.ended[0] < 1.0 and np.isinf(run.ended[1]) and run.ended[2] == 0.0
    assert run.angle[0, -1] < lock and np.isnan(run.energy[2]).all()
    still = run.times > run.ended[0]
    assert (run.angle[0, still] == run.angle[0, still][0]).all() and np.ptp(run.angle[1]) > 1.0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"span": 0.0}, "span"),
        ({"step": -1.0}, "step"),
        ({"step": 2.0}, "step"),
        ({"node_masses": -1.0}, "node_masses"),
        ({"node_masses": [1.0]}, "node_masses"),
        ({"bar_masses": np.triu(rods())}, "bar_masses"),
        ({"gravity": 9.81}, "gravity"),
        ({"torque": [1.0, 2.0]}, "torque"),
        ({"angle": np.nan}, "angle"),
    ],
)
def test_arguments_that_cannot_be(change: dict[str, Any], match: str) -> None:
    given: dict[str, Any] = {"span": 1.0, "step": 0.1, "node_masses": 1.0, **change}
    with pytest.raises(ModelError, match=match):
        families.dynamics(*four_bar(1.0, 3.0, 3.0, 2.5, 0.3), **given)

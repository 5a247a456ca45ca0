"""What presses in joints near jamming (D28): the equations of `borne_loads` by what proves a solution, closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import shiftjax
from shiftjax.dynamics.borne_loads import BorneLoad, solved
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

G, MU = 9.81, 0.4
LEFT = 1e-8  # of all loads: what the last iterations leave at a gain of 0.999; at 0.99 and less they leave rounding
ROUNDED = 1e-13  # over 1 - gain: rounding of a load, by how the equations are conditioned
FOLD = 1e-3  # of all loads: nearer to a double root it is not said which of both has to come out
RK4 = 1e-9  # relative, of smooth motions in steps of 1 us


def drawn(rng: np.random.Generator, seats: int, parts: int, gain: float) -> list[BorneLoad]:
    """Random seats of a gain, the spectral radius of the sums of weight |P|; vectors of one to three axes."""
    out = []
    for i in range(seats):
        given = float(abs(rng.normal()) * rng.integers(0, 2))
        ways = []
        for _ in range(parts):
            size = int(rng.integers(1, 4))
            first = rng.normal(size=size) * 10.0 ** rng.uniform(-2.0, 1.0)
            scales = [1.0 if j == i else rng.choice([0.0, 0.3, 1.0]) for j in range(seats)]
            ways.append((float(rng.uniform(0.1, 1.0)), first.tolist(), [rng.normal(size=size) * k for k in scales]))
        out.append((given, ways))
    gains = [[sum(w * np.linalg.norm(P[j]) for w, _, P in ways) for j in range(seats)] for _, ways in out]
    factor = gain / np.abs(np.linalg.eigvals(np.array(gains))).max()
    return [BorneLoad(given, [(w, p, [(factor * x).tolist() for x in P]) for w, p, P in ways]) for given, ways in out]


def pressed(seat: BorneLoad, u: np.ndarray) -> float:
    """The right-hand side of its equation, in NumPy."""
    return seat.given + sum(w * float(np.linalg.norm(p + u @ np.array(P))) for w, p, P in seat.parts)


@pytest.mark.parametrize("gain", [0.1, 0.9, 0.99, 0.999])
def test_loads_below_a_gain_of_one_are_solved_for(gain: float) -> None:
    """The equations contract by the gain then: their solution is the only one, and what is given for it is off by about
    residual / (1 - gain). Six iterations from 0 left up to 0.4 of the loads, or took them for jammed."""
    rng, limit, jammed = np.random.default_rng(3), LEFT if gain > 0.99 else ROUNDED / (1.0 - gain), 0
    for seats in (1, 2, 3):
        for parts in (1, 3):
            for _ in range(25):
                system = drawn(rng, seats, parts, gain)
                u = np.array(solved(system))
                if np.isnan(u).any():
                    jammed += 1
                    continue
                residual = np.array([pressed(seat, u) for seat in system]) - u
                assert (u >= 0.0).all() and np.abs(residual).max() < limit * (1.0 - gain) * u.sum()
    assert jammed == 0


def test_of_two_loads_the_smaller_one_or_none() -> None:
    """Above a gain of 1 the equation of one seat, which is convex, has two solutions or none, that is a jam."""
    rng, jammed, count = np.random.default_rng(4), 0, 200
    for k in range(count):
        (seat,) = drawn(rng, 1, 1 + k % 3, rng.uniform(1.001, 1.3))
        (u,) = solved([seat])

        def above(x: float, seat: BorneLoad = seat) -> float:
            return pressed(seat, np.array([x])) - x

        size = pressed(seat, np.zeros(1))
        minimum: Any = minimize_scalar(above, (0.0, size), bounds=(0.0, 1e4 * size), method="bounded")
        lowest = float(minimum.x)
        if abs(above(lowest)) < FOLD * size:
            continue
        jammed += above(lowest) > 0.0
        assert math.isnan(u) == (above(lowest) > 0.0)
        if not math.isnan(u):
            assert 0.0 <= u <= lowest and abs(above(u)) < 1e-9 * size
    assert 20 < jammed < count - 20, "both are tried"


def braked(gain: float, *, level: bool) -> Model:
    """A block whose weight is 0.5 m under its guide, which bears it sideways: braking presses it by so much of itself.

    Args:
        level: whether two rails bear the weight's moment about the way, too, at a part of its own.
    """
    builder = ModelBuilder(gravity=(0.0, -G, 0.0))
    a = builder.assembly("a")
    a.body("block", mass=1.0, inertia=(0.01,) * 3, center_of_mass=(0.0, 0.0, -0.5))
    a.joint("way", "Tx", child="block", initial_velocity=1.0)
    a.force("it", "slide_friction", joint="way", friction_coefficient=MU, slip_speed=1e-3, span=MU / gain,
            width=0.5 if level else 0.0, preload=3.0)  # fmt: skip
    return builder.build()


@pytest.mark.parametrize("level", [False, True])
def test_a_block_near_jamming_brakes_by_its_closed_form(level: bool) -> None:
    """N = c + sqrt((m g)^2 + (gain N)^2), c what presses anyhow: as a load across the one that friction makes."""
    given, gains = 3.0 + (2.0 * G * 0.5 / 0.5 if level else 0.0), np.array([0.5, 0.9, 0.99, 0.999])
    model = braked(0.5, level=level)
    result = shiftjax.simulate(model, 2e-5, 1e-6, vary={"it.span": MU / gains}, channels=["way.a"])
    assert (result.status == 0).all()
    slack = 1.0 - gains**2
    N = (given + np.sqrt(gains**2 * given**2 + slack * G**2)) / slack
    assert result.channels["way.a"][:, -1] == pytest.approx(-MU * N, rel=RK4)
    beyond = shiftjax.simulate(model, 2e-5, 1e-6, vary={"it.span": MU / np.array([1.001, 1.5])})
    assert (beyond.status == shiftjax.Outcome.non_finite).all() and "Painleve" in beyond.messages[0]

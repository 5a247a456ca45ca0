"""Drives that begin where their loops lose rank, and lanes that are lost elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.algebra import sqrt
from shiftjax.constraints import Harmonic, Polynomial
from shiftjax.field import number
from shiftjax.forces import FORCES, ForceKind
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from tests.extensions import mechanisms
from tests.runs.test_singular_poses import FLAT, PASSED, WATCHED
from tests.support.models.flat_linkages import BASE

SPEEDS = np.array([2.0, -3.0])
ROCKER = "rocker_pivot.initial_velocity"
LEVER = 2.0 * 9.81  # N m: the weight of two cranks and the coupler of a parallelogram, about its pivots
LOAD = [*WATCHED, "crank_pivot.drive_load"]


@pytest.mark.parametrize("steps", [{"step": 1e-3}, {"tolerance": 1e-8}], ids=["steps", "tolerance"])
def test_a_drive_from_the_flat_pose_goes_along_the_branch_of_the_speeds(steps: dict[str, Any]) -> None:
    """Ended as `loop_open`. A parallelogram at a steady speed takes the torque of its weight, on the pose, too."""
    settings: dict[str, Any] = {"channels": LOAD, "output_step": 0.01, "accuracy": "local", **steps}
    drive = {"crank_pivot": SPEEDS}
    result = simulate(FLAT, 0.4, drive=drive, vary={ROCKER: SPEEDS}, **settings)
    assert (result.status == Outcome.ok).all(), result.messages
    angles = SPEEDS[:, None] * result.time
    crank, rocker, load = result.channels.values()
    assert np.abs(crank - angles).max() < PASSED and np.abs(rocker - angles).max() < 10 * PASSED
    assert np.abs(load - LEVER * np.cos(angles)).max() < 1e-5 * LEVER
    again = simulate(FLAT, 0.4, drive=drive, vary={ROCKER: SPEEDS}, schedule=result.schedule, **settings)
    assert all((again.channels[path] == values).all() for path, values in result.channels.items())


def test_a_drive_takes_the_crossed_branch_too() -> None:
    """To second order the rocker of the crossed parallelogram turns -(d + a)/(d - a) times as fast as its crank."""
    ratio = -(BASE + 1.0) / (BASE - 1.0)
    law = Harmonic(amplitude=SPEEDS / 4.0, frequency=4.0)
    result = simulate(
        FLAT, 0.1, 5e-4, drive={"crank_pivot": law}, vary={ROCKER: ratio * SPEEDS}, channels=LOAD, accuracy="local"
    )
    assert (result.status == Outcome.ok).all(), result.messages
    crank, rocker, load = result.channels.values()
    assert np.abs(crank - 0.25 * SPEEDS[:, None] * np.sin(4.0 * result.time)).max() < PASSED
    assert (np.abs(rocker - crank)[:, 1:].max(1) > 0.5).all() and result.certificate["gap"].max() < 1e-10
    # there both angles are odd in time: no accelerations, but the weights of 1 kg at the middles of all bars
    assert np.abs(load[:, 0] - 9.81 * (0.5 + 0.5 * (1.0 + ratio) + 0.5 * ratio)).max() < 1e-3


def test_what_says_no_branch_is_named() -> None:
    """The crank's speed is that of both; a drive that begins at rest has none at all: it was `loop_open` later."""
    unsure = simulate(FLAT, 0.1, drive={"crank_pivot": 2.0}, channels=WATCHED)
    assert unsure.status == Outcome.branch_unsure and "state the speed of one more joint" in unsure.messages[0]
    resting = simulate(FLAT, 0.1, drive={"crank_pivot": Polynomial([0.0, 0.0, 5.0])})
    assert resting.status == Outcome.singular_pose
    assert "at 0 s: a singular pose" in resting.messages[0] and "begin beside" in resting.messages[0]
    stopped = simulate(FLAT, 0.1, drive={"crank_pivot": SPEEDS}, vary={ROCKER: SPEEDS}, singular="stop")
    assert (stopped.status == Outcome.singular_pose).all() and stopped.certificate["steps"].max() == 0


class Gap(ForceKind):
    """Q = strength sqrt(x^2 - width^2) of the distance x from a place: no number within the width."""

    joints = 1
    fields = (number("place", "{x}", "of the gap"), number("width", "{x}", "of the gap"))

    def apply(self, element: Any, motion: Any, load: Any, states: Any) -> tuple[()]:
        n, (joint,) = motion.values(element.numbers), element.coordinates
        x = motion.coordinate(joint) - n["place"]
        load.add_generalized(motion.speed_index(joint), 1e-3 * sqrt(x * x - n["width"] * n["width"]))
        return ()


FORCES["my_gap"] = Gap()


def test_a_force_that_is_no_number_is_no_pose_to_be_crossed() -> None:
    """With a tolerance steps across were tried without end, in sizes below the rounding of the clock."""
    builder, bar = mechanisms.four_bar()
    bar.force("gap", "my_gap", joint="pivot", place=-0.4, width=0.3)
    result = simulate(builder.build(), 0.5, tolerance=1e-6, channels=["pivot.q"], output_step=0.01, accuracy="local")
    assert result.status == Outcome.non_finite, result.messages
    angles = result.channels["pivot.q"]
    assert -0.8 < np.nanmax(angles) < -0.7 and np.isnan(angles[-1])

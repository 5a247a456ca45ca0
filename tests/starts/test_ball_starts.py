"""Starts stated of ball joints in loops: a crank, a rod with a ball at either end, a rocker (RSSR)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shiftjax import Outcome, simulate
from tests.support.models.start_mechanisms import rssr

JOINTS = ("crank_joint", "hinge", "ball", "socket")
KEPT = 1e-7  # rad: a closed pose, and a rotation matrix of sixteen digits
AGREES = 1e-9  # rad/s: speeds that follow from others by one linear system


def began(starts: Mapping[str, Any]) -> Any:
    """A run of the RSSR at a crank of 0.5 rad whose joints state these speeds."""
    given = {joint: {"initial_velocity": speed} for joint, speed in starts.items()}
    return simulate(rssr(0.5, starts=given), 1e-3, channels=[f"{joint}.v" for joint in JOINTS])


def speeds(run: Any) -> dict[str, np.ndarray]:
    return {path.removesuffix(".v"): values[0] for path, values in run.channels.items()}


@pytest.fixture(scope="module")
def consistent() -> dict[str, np.ndarray]:
    """Speeds of all joints that the loop allows, the crank at 2 rad/s, the rod spinning about itself at 3 rad/s."""
    return speeds(began({"crank_joint": 2.0})) | {"spin": np.array([3.0, 0.0, 0.0])}


@pytest.mark.parametrize("names", [("ball",), ("ball", "crank_joint"), ("crank_joint", "ball", "hinge")])
@pytest.mark.parametrize("spinning", [False, True])
def test_stated_speeds_of_a_ball_that_the_loop_allows_are_kept(
    names: tuple[str, ...], spinning: bool, consistent: dict[str, np.ndarray]
) -> None:
    """A ball has three speeds and the loop two freedoms: what agrees with J v = 0 is no contradiction."""
    wanted = {name: consistent[name] + (consistent["spin"] if spinning and name == "ball" else 0.0) for name in names}
    run = began({name: tuple(v) if np.ndim(v) else float(v) for name, v in wanted.items()})
    assert run.status == 0 and run.certificate["start_change"] == 0.0, run.messages
    there = speeds(run)
    assert all(np.abs(there[name] - v).max() < AGREES for name, v in wanted.items())
    assert abs(there["crank_joint"] - 2.0) < AGREES


def test_a_speed_that_the_loop_does_not_allow_is_reported(consistent: dict[str, np.ndarray]) -> None:
    """The rod cannot turn across the loop while the crank turns at another speed: the crank has its way."""
    run = began({"crank_joint": 1.0, "ball": tuple(consistent["ball"])})
    assert run.status == Outcome.start_changed and "ball starts at" in run.messages[0]
    assert abs(speeds(run)["crank_joint"] - 1.0) < AGREES


@pytest.mark.parametrize("crank", [0.5, None])
@pytest.mark.parametrize("spin", [0.0, 0.5])
def test_an_orientation_that_the_loop_allows_is_kept(crank: float | None, spin: float) -> None:
    """An orientation of a closed pose, the rod turned about itself or not, contradicts nothing: it stays as stated."""
    closed = simulate(rssr(0.5), 1e-3, channels=["ball.q"]).channels["ball.q"][0]
    turned = Rotation.from_quat(closed, scalar_first=True) * Rotation.from_rotvec([spin, 0.0, 0.0])
    ball = {"initial_displacement": {"R": turned.as_matrix().tolist()}}
    run = simulate(rssr(crank, starts={"ball": ball}), 1e-3, channels=["ball.q", "crank_joint.q"])
    assert run.status == 0 and run.certificate["start_change"] == 0.0 and run.notes == (), run.notes
    there = Rotation.from_quat(run.channels["ball.q"][0], scalar_first=True)
    assert (there.inv() * turned).magnitude() < KEPT
    if crank is not None:
        assert abs(run.channels["crank_joint.q"][0] - crank) < KEPT

"""Errors that the balance of energy cannot see: of rotations, and of small parts beside large or fast ones."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from shiftjax.formats.files import load
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

NO_PRODUCTS = {"Ixy": 0, "Iyz": 0, "Izx": 0}
SPAN = 5.0


def model_of(bodies: list[dict[str, Any]], joints: list[dict[str, Any]]) -> Any:
    """Bodies without gravity, jointed to the ground or to each other."""
    parameters = {
        "version": "2.0", "gravity": [0, 0, 0], "include_directories": [], "loggers": [],
        "units": {"angle": "radians", "length": "meters", "mass": "kilograms", "time": "seconds"},
        "solvers": [{"type": "rnca", "infinity_norm_multiplier": 2}], "integrators": [{"type": "rk4"}],
    }  # fmt: skip
    assembly = {"name": "a", "active": True, "bodies": bodies, "joints": joints}
    frames = [{"name": "pivot", "T": [0, 0, 0]}]
    return load({"model_parameters": parameters, "frames": frames, "lights": [], "assemblies": [assembly]})


def body(name: str, mass: float, inertia: float, **more: Any) -> dict[str, Any]:
    moments = {"mass": mass, "Ixx": inertia, "Iyy": inertia, "Izz": inertia, **NO_PRODUCTS}
    return {"name": name, "center_of_mass": [0, 0, 0], "frames": [], **more, "inertia": moments}


def joint(name: str, kind: str, child: str, parent: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    parent = parent or [["fixed"], "pivot"]
    return {"name": name, "type": kind, "parent": parent, "child": [[child], "origin"], **more}


@pytest.mark.parametrize("speed", [15.0, 150.0])
def test_the_error_of_a_spin_is_known_to_its_size(speed: float) -> None:
    """A free ball turns by speed x time in closed form, and its energy stays whatever becomes of the angle."""
    span = 10.0
    ball = joint("ball", "float", "ball", initial_velocity=[0, 0, 0, 0, 0, speed])
    result = simulate(model_of([body("ball", 1.0, 0.1)], [ball]), span, 1e-3, output_step=span, channels=["ball.q"])
    q = result.channels["ball.q"][-1]
    off = 2 * np.arctan2(q[6], q[3]) - speed * span
    error = abs((off + np.pi) % (2 * np.pi) - np.pi)
    assert result.certificate["energy_error"] < 1e-12
    np.testing.assert_allclose(result.certificate["angle_error"], error, rtol=1e-2)  # next order of angle a step, 0.15
    assert result.status == (0 if error < 1e-3 else Outcome.inaccurate)


@cache
def beside(carrier: float, rotor: float, step: float = 1e-3) -> Result:
    """An arm of 50 g on a spring of 250 rad/s, on a carrier of a ton that moves, beside a rotor that turns."""
    bodies = [
        body("carrier", 1000.0, 10.0, frames=[{"name": "hub", "T": [0, 0, 1]}]),
        body("arm", 0.05, 2e-4, center_of_mass=[0, 0, 0.1]),
        body("rotor", 50.0, 5.0),
    ]
    stiffness = [0, 7e-4 * 250.0**2]
    joints = [
        joint("slide", "Ty", "carrier", initial_velocity=carrier),
        joint("arm_joint", "Rx", "arm", [["carrier"], "hub"], initial_displacement=0.5, stiffness=stiffness),
        joint("rotor_joint", "Rx", "rotor", initial_velocity=rotor),
    ]
    return simulate(model_of(bodies, joints), SPAN, step, output_step=SPAN, channels=["arm_joint.q"])


@pytest.mark.parametrize(("carrier", "rotor"), [(0.0, 0.0), (30.0, 0.0), (0.0, 300.0), (30.0, 300.0)])
def test_neither_a_moving_frame_nor_a_neighbour_hides_a_small_part(carrier: float, rotor: float) -> None:
    coarse, fine = beside(carrier, rotor), beside(carrier, rotor, 1e-4)
    error = abs(coarse.channels["arm_joint.q"][-1] - fine.channels["arm_joint.q"][-1])
    assert error > 1e-2 and coarse.status == Outcome.inaccurate
    assert error < coarse.certificate["angle_error"] < (3 * error if carrier or rotor else np.inf)
    assert 1e3 * fine.certificate["angle_error"] < coarse.certificate["angle_error"]  # of the fourth order


@pytest.mark.parametrize("backend", ["cpu", "xla"])
def test_a_run_shorter_than_the_way_to_a_sample_has_an_estimate(backend: str) -> None:
    """What its first step does wrong stands for all of them."""
    result = simulate("four_bar", 0.01, 1e-3, backend=backend)
    assert result.status == 0 and 1e-13 < result.certificate["angle_error"] < 1e-6

"""Balls and floating bodies in known motion (D24): Newton, Euler, momentum, and the motion that such loads bring."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shiftjax.constraints.pose_drives import PoseHarmonic, PoseTable
from shiftjax.formats.builder import ModelBuilder
from shiftjax.inverse.inverse_dynamics import inverse_dynamics
from shiftjax.mechanism.model import Model
from shiftjax.run.simulate import simulate

EXACT = 1e-11  # of forces of some 100 N and N m: no equation is solved but for one body
G, MASS, CENTER, INERTIA = 9.81, 2.0, np.array([0.1, 0.2, -0.05]), np.diag([0.2, 0.3, 0.45])
ROD, REACH = 0.7, 0.5  # kg and m of an arm: a point, 0.5 m from its hinge, and a little ball
HINGE, ARM_INERTIA = np.array([0.3, 0.0, 0.1]), np.diag([2e-3, 3e-3, 4e-3])
DIFFERENCE = 1e-4  # s, of derivatives of order 4 of the motion that the momentum is of: 1e-10 of it
CHARTS = {"float": 4, "float_vector": 3, "spherical": 4, "spherical_vector": 3}  # numbers of an orientation


def top(kind: str, *, arm: bool = False, **numbers: Any) -> tuple[ModelBuilder, Any]:
    """A body of three different moments of inertia, away from its joint to ground, and an arm on it."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    moments = tuple(float(x) for x in np.diag(INERTIA))
    frames = {"shoulder": tuple(HINGE)} if arm else {}
    a = builder.assembly("a")
    a.body("top", mass=MASS, center_of_mass=tuple(CENTER), inertia=moments, frames=frames)
    a.joint("six", kind, child="top", **numbers)
    if arm:
        arm_moments = tuple(float(x) for x in np.diag(ARM_INERTIA))
        a.body("arm", mass=ROD, center_of_mass=(REACH, 0.0, 0.0), inertia=arm_moments)
        a.joint("hinge", "Ry", parent=("top", "shoulder"), child="arm")
    return builder, a


@cache
def model(kind: str) -> Model:
    return top(kind)[0].build()


def states(kind: str, count: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray, Rotation]:
    """Channels q, v and a of a joint by chance, and its orientations."""
    rng = np.random.default_rng(3)
    turned = Rotation.random(count, rng=rng)
    quaternions = turned.as_quat(scalar_first=True) * rng.choice([-1.0, 1.0], (count, 1))
    orientation = quaternions if CHARTS[kind] == 4 else turned.as_rotvec()
    place, v, a = rng.normal(size=(count, 3)), 3.0 * rng.normal(size=(count, 6)), 5.0 * rng.normal(size=(count, 6))
    if kind.startswith("float"):
        return np.hstack([place, orientation]), v, a, turned
    return orientation, v[:, 3:], a[:, 3:], turned


@pytest.mark.parametrize("kind", CHARTS)
def test_a_free_body_takes_the_force_of_newton_and_the_moment_of_euler(kind: str) -> None:
    """M = I w' + w x I w about the mass centre, F = m (acceleration of it - g); along the axes of parent and child."""
    q, v, a, turned = states(kind)
    whole, floats = {}, kind.startswith("float")
    for axes in ("parent", "child") if CHARTS[kind] == 4 else ("child",):
        answer = inverse_dynamics(model(kind), {"six": (q, v, a)}, axes=axes, channels=["six.a", "six.v"])
        assert (answer.status == 0).all() and answer.units["six"] in ("N, N m", "N m")
        assert np.abs(answer.channels["six.a"] - a).max() < EXACT and np.abs(answer.channels["six.v"] - v).max() < EXACT
        whole[axes] = answer.forces["six"]
    for k, R in enumerate(turned.as_matrix()):
        w, growth = v[k, -3:], a[k, -3:]
        accelerated = np.cross(growth, CENTER) + np.cross(w, np.cross(w, CENTER))
        accelerated += R.T @ (a[k, :3] if floats else np.zeros(3))
        force = MASS * (accelerated + R.T @ [0.0, 0.0, G])
        moment = INERTIA @ growth + np.cross(w, INERTIA @ w) + np.cross(CENTER, force)
        wrench = [force, moment] if floats else [moment]
        for axes, answers in whole.items():
            turn = R if axes == "parent" else np.eye(3)
            assert np.abs(answers[k] - np.ravel([turn @ x for x in wrench])).max() < EXACT


def motion(t: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Place and rotation matrix of the body in `SWAY`, and the angle of the arm in `SWING`."""
    turned = Rotation.from_rotvec([0.4, -0.2, 1.0]) * Rotation.from_rotvec(np.array([0.5, 0.8, -0.3]) * np.sin(5.0 * t))
    return (
        np.array([1.0, 0.0, 2.0]) + np.array([0.2, 0.3, -0.1]) * np.sin(5.0 * t),
        turned.as_matrix(),
        0.3 + 2.0 * t**2,
    )


SWAY = PoseHarmonic(
    5.0, position=(1.0, 0.0, 2.0), position_amplitude=(0.2, 0.3, -0.1), rotation=(0.4, -0.2, 1.0),
    rotation_amplitude=(0.5, 0.8, -0.3),
)  # fmt: skip


def derivative(f: Callable[[float], np.ndarray], t: float) -> np.ndarray:
    """Of order 4, by differences."""
    h = DIFFERENCE
    return (f(t - 2 * h) - 8.0 * f(t - h) + 8.0 * f(t + h) - f(t + 2 * h)) / (12.0 * h)


def spin(R: Callable[[float], np.ndarray], t: float) -> np.ndarray:
    """Angular velocity in the world of what is turned by R(t): of R' R^T."""
    S = derivative(R, t) @ R(t).T
    return np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]]) / 2.0


def momentum(t: float) -> np.ndarray:
    """Linear and angular momentum of body and arm about the origin of the world."""

    def arm_turned(at: float) -> np.ndarray:
        return motion(at)[1] @ Rotation.from_rotvec([0.0, motion(at)[2], 0.0]).as_matrix()

    def body_center(at: float) -> np.ndarray:
        place, R, _ = motion(at)
        return place + R @ CENTER

    def arm_center(at: float) -> np.ndarray:
        place, R, _ = motion(at)
        return place + R @ HINGE + arm_turned(at) @ [REACH, 0.0, 0.0]

    parts = [(MASS, INERTIA, body_center, lambda at: motion(at)[1]), (ROD, ARM_INERTIA, arm_center, arm_turned)]
    total = np.zeros(6)
    for mass, inertia, center, turned in parts:
        push, R = mass * derivative(center, t), turned(t)
        total += np.hstack([push, np.cross(center(t), push) + R @ inertia @ R.T @ spin(turned, t)])
    return total


def test_the_wrench_at_a_base_is_the_rate_of_momentum() -> None:
    """Of a floating body with an arm on it, both moved: d/dt of the momentum of both is wrench and weight together."""
    t = np.array([0.1, 0.4, 0.9])
    swing = (0.3 + 2.0 * t**2, 4.0 * t, 0.0 * t + 4.0)
    built = top("float", arm=True)[0].build()
    answer = inverse_dynamics(built, {"six": SWAY, "hinge": swing}, t, channels=["six.q", "arm.position"])
    assert (answer.status == 0).all() and answer.forces["hinge"].shape == (3,)
    for k, at in enumerate(t):
        place, R, angle = motion(at)
        arm_center = place + R @ (HINGE + Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix() @ [REACH, 0.0, 0.0])
        weights = [(MASS, place + R @ CENTER), (ROD, arm_center)]
        weight = sum(np.hstack([[0.0, 0.0, -G * m], np.cross(c, [0.0, 0.0, -G * m])]) for m, c in weights)
        force, moment = (derivative(momentum, at) - weight).reshape(2, 3)
        expected = np.hstack([force, moment - np.cross(place, force)])
        assert np.abs(answer.channels["six.q"][k, :3] - place).max() < EXACT
        # twice differences: 1e-16 / DIFFERENCE^2 of positions of 2 m and moments of 50 N m
        assert np.abs(answer.forces["six"][k] - expected).max() < 2e-6 * np.abs(expected).max()


def test_loads_of_a_motion_bring_it_about() -> None:
    """Wrench and torque as tables of loads, from the same start: body and arm move as they did."""
    t = np.linspace(0.0, 0.4, 81)
    motion_of: dict[str, Any] = {"six": SWAY, "hinge": (0.3 + 2.0 * t**2, 4.0 * t, 0.0 * t + 4.0)}
    channels = ["six.q", "six.v", "hinge.q"]
    known = inverse_dynamics(top("float", arm=True)[0].build(), motion_of, t, axes="child", channels=channels)
    place, quaternion = np.split(known.channels["six.q"][0], [3])
    turned = Rotation.from_quat(quaternion, scalar_first=True).as_rotvec()
    start = {"T": place.tolist(), "rotation": turned.tolist()}
    builder, a = top("float", arm=True, initial_displacement=start, initial_velocity=tuple(known.channels["six.v"][0]))
    a.entry["joints"][1] |= {"initial_displacement": 0.3}
    force, moment = np.split(known.forces["six"], 2, axis=1)
    times = {"times": t.tolist()}
    a.force("thrust", "table_wrench", frame="top", axes="body", forces=force.tolist(), moments=moment.tolist(), **times)
    a.force("motor", "table_load", joint="hinge", values=known.forces["hinge"].tolist(), **times)
    run = simulate(builder.build(), 0.4, 1e-3, output_step=0.1, channels=channels, accuracy="local")
    for path in channels:
        # natural splines of 81 values end without bend: 1e-6 of the impulse
        assert np.abs(run.channels[path] - known.channels[path][::20]).max() < 2e-5


def precession(t: np.ndarray) -> tuple[Rotation, np.ndarray]:
    """What spins by 9 rad/s about its z axis, tilted by 0.5 rad, and precesses by 2; its angular velocity in it."""
    turned = Rotation.from_euler("ZXZ", np.stack([2.0 * t, 0.5 + 0.0 * t, 9.0 * t], 1))
    w = 9.0 * np.array([0.0, 0.0, 1.0]) + turned.inv().apply([0.0, 0.0, 2.0])
    return turned, w


def test_a_table_of_orientations_turns_smoothly_through_them() -> None:
    """By quaternions of either sign or rotation vectors below pi; rates to the order of splines, over some turns."""
    t, signs = np.linspace(0.0, 0.8, 81), np.random.default_rng(1).choice([-1.0, 2.0], (81, 1))
    turned, w = precession(t)
    channels = ["six.q", "six.v", "six.a", "six_drive.multiplier"]
    runs = [
        simulate(model("spherical"), 0.8, 5e-3, drive={"six": PoseTable(t, rows)}, channels=channels, output_step=0.1)
        for rows in (signs * turned.as_quat(scalar_first=True), turned.as_rotvec())
    ]
    inside = slice(10, -10, 10)  # away from ends without bend
    for run in runs:
        assert run.status == 0 and run.certificate["energy_error"] < 1e-6
        q = Rotation.from_quat(run.channels["six.q"][1:-1], scalar_first=True)
        assert (q.inv() * turned[inside]).magnitude().max() < 1e-8
        assert np.abs(run.channels["six.v"][1:-1] - w[inside]).max() < 1e-5  # h^3 of 9 rad/s
        growth = np.cross(turned[inside].inv().apply([0.0, 0.0, 2.0]), w[inside])
        assert np.abs(run.channels["six.a"][1:-1] - growth).max() < 0.05 * np.abs(growth).max()  # h^2
    one, other = (run.channels["six_drive.multiplier"] for run in runs)
    assert np.abs(one - other).max() < 1e-9 * np.abs(one).max()

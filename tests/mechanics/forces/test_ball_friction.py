"""Friction by loads in balls, universal joints and plates (D28): integrals by SciPy, closed forms, cuts of a loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import shiftjax
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from tests.support.models.mechanisms import rod

G, MU = 9.81, 0.3
DRY = {"friction_coefficient": MU, "slip_speed": 0.3}
SCIPY = 1e-8  # of motions of size 1 at 0.5 ms, by SciPy's integral
ALGEBRA = 1e-9  # relative: of what is recorded, by its formula
CUTS = 1e-7  # relative, after 0.1 s: other coordinates are integrated
ITERATIONS = 12  # of a fixed point that contracts by 0.1 at most
MASS, CENTRE = 2.0, np.array([0.05, -0.1, -0.4])
INERTIA = np.diag([0.03, 0.05, 0.02])  # about the centre of mass
ABOUT = INERTIA + MASS * ((CENTRE @ CENTRE) * np.eye(3) - np.outer(CENTRE, CENTRE))  # about the joint
TO_Z, TO_X = ([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]])  # x to -z, y to x
TILTED = Rotation.from_rotvec([0.2, 0.0, -0.3]).as_matrix().tolist()
WEIGHT = np.array([0.0, 0.0, -G])


def hung(type_: str, **numbers: Any) -> tuple[ModelBuilder, AssemblyBuilder]:
    """A body of three moments of inertia that hangs from a joint."""
    builder = ModelBuilder(gravity=tuple(WEIGHT))
    a = builder.assembly("a")
    a.body("bob", mass=MASS, inertia=tuple(np.diag(INERTIA)), center_of_mass=tuple(CENTRE))
    a.joint("hook", type_, child="bob", **numbers)
    return builder, a


def run(model: Model, span: float, step: float, *channels: str, **more: Any) -> shiftjax.Result:
    result = shiftjax.simulate(model, span, step, channels=channels, output_step=10 * step, **more)
    assert (np.atleast_1d(result.status) == 0).all(), result.messages
    return result


# -- balls -------------------------------------------------------------------------------------------------------------

SPIN, RADIUS, PRELOAD = np.array([1.5, -2.0, 6.0]), 0.1, 4.0


def on_a_ball(type_: str = "spherical") -> Model:
    """A pendulum that spins on a ball with friction."""
    builder, a = hung(type_, initial_velocity=SPIN.tolist())
    a.force("it", "ball_friction", joint="hook", radius=RADIUS, preload=PRELOAD, **DRY)
    return builder.build()


@pytest.fixture(scope="module")
def hung_on_a_ball() -> dict[str, shiftjax.Result]:
    """With friction in it, by a quaternion and by a rotation vector."""
    out = {}
    for type_ in ("spherical", "spherical_vector"):
        channels = ("hook.v", "bob.position", "it.friction", "it.power", "hook.reaction_force")
        out[type_] = run(on_a_ball(type_), 0.4, 5e-4, *channels)
    return out


def test_a_pendulum_on_a_ball(hung_on_a_ball: dict[str, shiftjax.Result]) -> None:
    """J w' = c x m R^T g - w x J w - mu r tanh(|w| / v_s) N w / |w|, N = preload + m |a - g|, in the body's axes."""

    def friction(w: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        down, size, torque = R.T @ WEIGHT, np.linalg.norm(w), np.zeros(3)
        for _ in range(ITERATIONS):
            turning = np.cross(CENTRE, MASS * down) - np.cross(w, ABOUT @ w) + torque
            gained = np.linalg.solve(ABOUT, turning)
            force = MASS * (np.cross(gained, CENTRE) + np.cross(w, np.cross(w, CENTRE)) - down)
            torque = -MU * math.tanh(size / 0.3) * RADIUS * (PRELOAD + np.linalg.norm(force)) * w / size
        return gained, torque

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        x, w = state[:4], state[4:]  # a quaternion, its scalar last
        R = Rotation.from_quat(x).as_matrix()
        turning = 0.5 * np.array([*(x[3] * w + np.cross(x[:3], w)), -x[:3] @ w])
        return np.concatenate([turning, friction(w, R)[0]])

    result = hung_on_a_ball["spherical"]
    start = [0.0, 0.0, 0.0, 1.0, *SPIN]
    exact = solve_ivp(rate, (0.0, 0.4), start, "DOP853", result.time, rtol=1e-11, atol=1e-12).y
    seen = result.channels
    assert np.abs(seen["hook.v"] - exact[4:].T).max() < SCIPY
    assert np.linalg.norm(exact[4:, -1]) < 0.9 * np.linalg.norm(SPIN), "it has braked"
    torques = [friction(w, Rotation.from_quat(x).as_matrix())[1] for x, w in zip(exact[:4].T, exact[4:].T, strict=True)]
    assert seen["it.friction"] == pytest.approx(np.array(torques), abs=SCIPY)
    assert seen["it.power"] == pytest.approx((seen["it.friction"] * seen["hook.v"]).sum(1), rel=ALGEBRA)
    assert result.certificate["energy_error"] < 1e-8, "its work balances the energy"


def test_a_ball_rubs_alike_in_any_chart(hung_on_a_ball: dict[str, shiftjax.Result]) -> None:
    first, other = (result.channels for result in hung_on_a_ball.values())
    for name in first:
        assert other[name] == pytest.approx(first[name], abs=SCIPY), name


def test_a_ball_at_rest_has_no_friction_and_a_smooth_start() -> None:
    """At no speed its torque is 0, and beside it in proportion, whichever way it turns: no direction is singled out."""
    builder, a = hung("spherical", initial_velocity=[0.0, 0.0, 0.0])
    a.force("rub", "ball_friction", joint="hook", radius=RADIUS, preload=PRELOAD, **DRY)
    speeds = np.array([0.0, 1e-9, 2e-9])
    vary = {"hook.initial_velocity[2]": speeds, "hook.initial_velocity[0]": -2.0 * speeds}
    first = run(builder.build(), 1e-2, 1e-3, "rub.friction", "hook.reaction_force", vary=vary).channels
    N = PRELOAD + np.linalg.norm(first["hook.reaction_force"][:, 0], axis=1)
    wanted = -MU * RADIUS * np.outer(speeds * N, [-2.0, 0.0, 1.0]) / 0.3
    assert first["rub.friction"][:, 0] == pytest.approx(wanted, rel=1e-6, abs=1e-20)


# -- universal joints --------------------------------------------------------------------------------------------------


def test_a_pendulum_on_a_cross() -> None:
    """Both pins bear the whole wrench between fork and fork: 6 equations for 2 accelerations, a moment, a force."""
    radii, span, start, speed = (0.05, 0.08), 0.2, np.array([0.5, -0.3]), np.array([2.0, 3.0])
    builder, a = hung("universal", initial_displacement=start.tolist(), initial_velocity=speed.tolist())
    for pin, radius in zip(("first", "second"), radii, strict=True):
        a.force(f"on_{pin}", "bearing_friction", joint=f"hook.{pin}", radius=radius, span=span, **DRY)

    def gained(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tilt = Rotation.from_rotvec([q[0], 0.0, 0.0])
        R = (tilt * Rotation.from_rotvec([0.0, q[1], 0.0])).as_matrix()
        axes = np.array([1.0, 0.0, 0.0]), tilt.apply([0.0, 1.0, 0.0])
        normal, arm, J = np.cross(*axes), R @ CENTRE, R @ INERTIA @ R.T
        w = v[0] * axes[0] + v[1] * axes[1]
        drift = v[0] * v[1] * np.cross(axes[0], axes[1])  # of w at no accelerations
        system, friction = np.zeros((6, 6)), np.zeros(2)
        for k, axis in enumerate(axes):
            system[:3, k], system[3:, k] = MASS * np.cross(axis, arm), J @ axis
        system[:3, 3:], system[3:, 2] = -np.eye(3), -normal
        system[3:, 3:] = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])  # arm x F
        given = np.zeros(6)
        given[:3] = MASS * (WEIGHT - np.cross(drift, arm) - np.cross(w, np.cross(w, arm)))
        for _ in range(ITERATIONS):
            given[3:] = friction[0] * axes[0] + friction[1] * axes[1] - J @ drift - np.cross(w, J @ w)
            *accelerations, twist = (x := np.linalg.solve(system, given))[:3]
            moment, force = twist * normal + friction[0] * axes[0] + friction[1] * axes[1], x[3:]
            for k, (axis, radius) in enumerate(zip(axes, radii, strict=True)):
                half, couple = (force - (axis @ force) * axis) / 2.0, np.cross(moment, axis) / span
                N = np.linalg.norm(half + couple) + np.linalg.norm(half - couple)
                friction[k] = -MU * math.tanh(v[k] / 0.3) * radius * N
        return np.array(accelerations), friction

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[2:], gained(state[:2], state[2:])[0]])

    result = run(builder.build(), 0.4, 5e-4, "hook.q", "hook.v", "on_first.friction", "on_second.friction")
    exact = solve_ivp(rate, (0.0, 0.4), [*start, *speed], "DOP853", result.time, rtol=1e-10, atol=1e-10).y
    assert np.abs(result.channels["hook.q"] - exact[:2].T).max() < SCIPY
    frictions = np.array([gained(state[:2], state[2:])[1] for state in exact.T])
    seen = np.stack([result.channels[f"on_{pin}.friction"] for pin in ("first", "second")], 1)
    assert np.abs(seen - frictions).max() < 10 * SCIPY and np.abs(frictions).max(0).min() > 0.1


# -- plates ------------------------------------------------------------------------------------------------------------


def puck(**numbers: float) -> Model:
    """A ring of 2 kg and 0.1 m radius, which slides and turns on a table; its mass is 0.05 m above it."""
    builder = ModelBuilder(gravity=tuple(WEIGHT))
    a = builder.assembly("a")
    a.body("ring", mass=2.0, inertia=(0.01, 0.01, 2.0 * 0.1**2), center_of_mass=(0.0, 0.0, 0.05))
    start = {"initial_displacement": [0.0, 0.0, 0.0], "initial_velocity": [3.0, -4.0, 120.0]}
    a.joint("table", "planar", child="ring", **start)
    a.force("it", "plate_friction", joints=["table.angle", "table.x", "table.y"], radius=0.1, **DRY, **numbers)
    return builder.build()


@pytest.mark.parametrize("width", [0.0, 0.3])
def test_a_puck_slips_along_its_way(width: float) -> None:
    """Of a ring the slip s = |(x', y', r w)| keeps its direction: s' = -mu N / m. Over a width the moment of friction
    under the mass, mu N 0.05 m |(x', y')| / s, presses, too: N = m g + preload + 2 of it / width."""
    speeds = np.array([3.0, -4.0, 12.0])
    size = np.linalg.norm(speeds)
    gain = MU * 0.05 * 2.0 / width * 5.0 / size if width else 0.0
    lost = MU * (2.0 * G + 1.0) / (1.0 - gain) / 2.0
    seen = run(puck(width=width, preload=1.0), 0.5, 1e-3, "table.v", "it.friction").channels
    wanted = speeds * (1.0 - lost * 0.5 / size) / np.array([1.0, 1.0, 0.1])
    assert seen["table.v"][-1] == pytest.approx(wanted, rel=SCIPY)
    wanted = -2.0 * lost * speeds / size  # along x and y, at the radius about the normal
    assert seen["it.friction"][0] == pytest.approx([0.1 * wanted[2], *wanted[:2]], rel=ALGEBRA)


# -- closed loops ------------------------------------------------------------------------------------------------------


def spatial(start: dict[str, Any]) -> Model:
    """A crank, a rod on a ball and a cross, a rocker that turns askew to the crank, with friction in the rod's joints.

    Args:
        start: joint -> its displacement, of those but the crank's; the rest is closed.
    """
    builder = ModelBuilder(gravity=(0.0, 0.5, -G)).frame("far", T=(0.5, 0.1, 0.0), R=TILTED)
    a = builder.assembly("a").body("crank", **rod(0.2))
    for name, length, turn in (("coupler", 0.5, TO_Z), ("rocker", 0.4, TO_X)):
        a.body(name, **{**rod(length), "frames": {"tip": {"T": (length, 0.0, 0.0), "R": turn}}})
    a.joint("main", "Ry", child="crank", initial_displacement=-1.0, initial_velocity=8.0)
    a.joint("ball", "spherical", parent=("crank", "tip"), child="coupler",
            initial_displacement=start.get("ball"))  # fmt: skip
    a.joint("cross", "universal", parent=("coupler", "tip"), child=("rocker", "tip"),
            initial_displacement=start.get("cross"))  # fmt: skip
    a.joint("stand", "Ry", parent=("fixed", "far"), child="rocker", initial_displacement=start.get("stand"))
    a.force("on_ball", "ball_friction", joint="ball", radius=0.03, preload=2.0, **DRY)
    a.force("on_pin", "bearing_friction", joint="cross.second", radius=0.02, span=0.05, **DRY)
    return builder.build()


SEEN = ("main.q", "main.v", "main.a", "stand.q", "cross.q", "ball.v", "on_ball.friction", "on_pin.friction")


@pytest.fixture(scope="module")
def cut_in_turn() -> dict[str, shiftjax.Result]:
    """The spatial loop, cut at a hinge, then at its ball, from the same closed pose."""
    out, start = {}, dict[str, Any]()
    for joint in ("stand", "ball"):
        seen = (*SEEN, "ball.q", "ball.reaction_force")
        out[joint] = run(spatial(start), 0.1, 5e-4, *seen, cut=[joint])
        first = {name: out["stand"].channels[f"{name}.q"][0] for name in ("ball", "cross", "stand")}
        turn = Rotation.from_quat(first["ball"], scalar_first=True).as_matrix()
        start = {"ball": {"R": turn.tolist()}, "cross": first["cross"].tolist(), "stand": float(first["stand"])}
    return out


def test_friction_of_balls_and_crosses_is_that_of_any_cut(cut_in_turn: dict[str, shiftjax.Result]) -> None:
    first, other = cut_in_turn.values()
    for name in SEEN:
        size = np.abs(first.channels[name]).max()
        assert np.abs(other.channels[name] - first.channels[name]).max() < CUTS * size, name
    assert max(result.certificate["energy_error"] for result in cut_in_turn.values()) < 1e-6


def test_in_a_loop_friction_is_its_coefficient_times_what_a_ball_bears(
    cut_in_turn: dict[str, shiftjax.Result],
) -> None:
    """By formulas from the recorded reactions and speeds, with the joint cut and not cut."""
    for joint, result in cut_in_turn.items():
        seen = result.channels
        w, N = seen["ball.v"], 2.0 + np.linalg.norm(seen["ball.reaction_force"], axis=1)
        size = np.linalg.norm(w, axis=1)
        wanted = -(MU * 0.03 * np.tanh(size / 0.3) * N / size)[:, None] * w
        assert seen["on_ball.friction"] == pytest.approx(wanted, rel=ALGEBRA, abs=ALGEBRA), joint
        assert np.abs(wanted).max() > 0.01

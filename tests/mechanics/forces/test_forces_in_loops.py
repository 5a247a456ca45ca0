"""Every force in a driven closed loop (S40, S42, D28): the drive takes up its virtual power, by formulas in NumPy.

A four-bar's crank turns at a given speed, so that nothing changes the motion. Each member has one of the forces, the
first has none; the difference of what their drives give, times the crank's speed, is what that force does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import shiftjax
from shiftjax.forces import FORCES
from shiftjax.mechanism.model import Model
from tests.extensions.mechanisms import four_bar

SPEED = 2.0  # rad/s of the crank
ROUNDING = 1e-8  # relative: of differences of loads of 10 N m, and of RK4 at 0.5 ms for states
NEAREST = 1e-5  # relative: where steps of Newton to the nearest point of a surface end
SLOPE = [1.0, -2.0, 3.0]
TIMES, VALUES = [0.0, 0.06, 0.13, 0.3], [1.0, -0.5, 2.0, 0.3]
FORCE, MOMENT = np.array([3.0, 0.5, -4.0]), np.array([0.2, 0.7, -0.1])
SIDE = (("fixed", "shaft"), ("rocker", "tip"))
FLOOR = [("crank", "tip"), ("fixed", "floor")]
CONTACT = {"k": 2e3, "damping": 0.5, "friction_coefficient": 0.2, "slip_speed": 0.05}
SHIFTING = [900.0, 50.0, 0.0, 50.0, 800.0, 20.0, 0.0, 20.0, 700.0]
TURNING, COUPLING = [9.0, 0.5, 0.1, 0.5, 8.0, 0.2, 0.1, 0.2, 7.0], [3.0, 1.0, 0.0, 2.0, -4.0, 1.0, 0.0, 0.5, 2.0]
LUGRE = {"static": 0.8, "kinetic": 0.5, "stribeck_speed": 0.3, "stiffness": 8.0, "damping": 0.3, "viscous": 0.05}
SLOT = {"length": 0.4, "play": 0.005, "wall": 0.12, "mouth": 0.15}


class Motion(NamedTuple):
    """Of the members, over n instants; positions and velocities of frames are (n, 3)."""

    t: Any
    q: Any  # rad, of the rocker
    v: Any  # rad/s
    crank: tuple[Any, Any, Any, Any]  # its tip: position, velocity, rotation (n, 3, 3), angular velocity
    coupler: tuple[Any, Any, Any, Any]
    rocker: tuple[Any, Any, Any, Any]


def dot(a: Any, b: Any) -> Any:
    return np.sum(a * b, axis=-1)


def wrench(m: Motion, force: Any, moment: Any) -> Any:
    """Power of a wrench along the axes of the coupler's tip."""
    _, velocity, R, w = m.coupler
    return dot(np.einsum("nij,nj->ni", R, force), velocity) + dot(np.einsum("nij,nj->ni", R, moment), w)


def away(m: Motion) -> tuple[Any, Any]:
    """Distance of the rocker's tip from the hook on ground, and its rate."""
    line = m.rocker[0] - [0.0, 0.3, -0.4]
    length = np.linalg.norm(line, axis=1)
    return length, dot(line, m.rocker[1]) / length


def touch(depth: Any, normal: Any, lever: Any, m: Motion) -> Any:
    """Power of a contact (Hunt, Crossley 1975) at a lever from the crank's tip."""
    _, velocity, _, w = m.crank
    there = velocity + np.cross(w, lever)
    d, rate = np.maximum(depth, 0.0), -dot(normal, there)
    push = CONTACT["k"] * d**2 * np.maximum(1.0 + CONTACT["damping"] * rate, 0.0)
    sliding = there - dot(normal, there)[:, None] * normal
    size = np.sqrt(dot(sliding, sliding) + CONTACT["slip_speed"] ** 2)
    return -push * rate - CONTACT["friction_coefficient"] * push * dot(sliding, sliding) / size


UP = np.array([[0.0, 0.0, 1.0]])


def ball(m: Motion) -> Any:
    return touch(0.05 - (m.crank[0][:, 2] - 0.14), UP, -0.05 * UP, m)


def balls(m: Motion) -> Any:
    line = m.crank[0] - [0.0, 0.0, 0.14]
    length = np.linalg.norm(line, axis=1)[:, None]
    return touch(0.33 - length[:, 0], line / length, -0.2 * line / length, m)


def capsule(m: Motion) -> Any:
    ends = [side * m.crank[2][:, :, 0] for side in (-0.02, 0.02)]
    return sum(touch(0.05 - (m.crank[0][:, 2] + end[:, 2] - 0.14), UP, end - 0.05 * UP, m) for end in ends)


def ellipsoid(m: Motion) -> Any:
    """Its support along the normal is the root of n A n, A = R diag(r^2) R^T, and it touches at -A n over that."""
    R = m.crank[2]
    A = np.einsum("nij,j,nkj->nik", R, np.square([0.06, 0.02, 0.05]), R)
    support = np.sqrt(A[:, 2, 2])
    return touch(support - (m.crank[0][:, 2] - 0.14), UP, -A[:, :, 2] / support[:, None], m)


def hollow(m: Motion) -> Any:
    """Over z = 0.14 + 0.4 x^2: the foot x of the normal through p has x - px + 0.8 x (0.4 x^2 - pz) = 0."""
    p = m.crank[0] - [0.0, 0.0, 0.14]
    feet = []
    for x, _, z in p:
        roots = np.roots([0.32, 0.0, 1.0 - 0.8 * z, -x])
        real = roots[np.abs(roots.imag) < 1e-9].real
        feet.append(min(real, key=lambda r, x=x, z=z: math.hypot(r - x, 0.4 * r * r - z)))
    foot = np.array(feet)
    normal = np.stack([-0.8 * foot, 0.0 * foot, 1.0 + 0.0 * foot], 1)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    distance = dot(p - np.stack([foot, 0.0 * foot, 0.4 * foot**2], 1), normal)
    return touch(0.05 - distance, normal, -0.05 * normal, m)


def slot(m: Motion) -> Any:
    """The rate of the ridge's potential k b(d) w(x), what damps the approach, and friction along the wall."""
    x, y = m.crank[0][:, 0], m.crank[0][:, 2] - 0.15
    vx, vy = m.crank[1][:, 0], m.crank[1][:, 2]
    d, rate = np.maximum(np.abs(y) - SLOT["play"], 0.0), np.sign(y) * vy
    ridge = np.polynomial.Polynomial([0, 0, 0, 1 / 3]) * np.polynomial.Polynomial([1, -1 / SLOT["wall"]]) ** 3
    step = np.polynomial.Polynomial([0, 0, 3, -2])
    ends = [np.clip(s / SLOT["mouth"], 0.0, 1.0) for s in (x, SLOT["length"] - x)]
    window = step(ends[0]) * step(ends[1])
    slopes = [step.deriv()(end) * sign / SLOT["mouth"] for end, sign in zip(ends, (1.0, -1.0), strict=True)]
    change = slopes[0] * step(ends[1]) + step(ends[0]) * slopes[1]
    push = CONTACT["k"] * ridge.deriv()(d) * window * (d > 0.0)
    pressed = push * np.maximum(1.0 + CONTACT["damping"] * np.where(push > 0, rate, -rate), 0.0)
    drag = CONTACT["friction_coefficient"] * np.abs(pressed) * vx**2 / np.hypot(vx, CONTACT["slip_speed"])
    return -pressed * rate - CONTACT["k"] * ridge(d) * change * vx - drag


def bushing(m: Motion) -> Any:
    """-(K x) . x' of the shift and the sines of the turn, from differences of R, less what the dampers take."""
    p, velocity, R, w = m.rocker
    shift = p - [0.0, 0.3, -0.4]
    spin = np.cross(w[:, :, None], R, axisa=1, axisb=1, axisc=1)  # R' = [w x] R
    sines, rates = (
        0.5 * np.stack([a[:, 2, 1] - a[:, 1, 2], a[:, 0, 2] - a[:, 2, 0], a[:, 1, 0] - a[:, 0, 1]], 1)
        for a in (R, spin)
    )
    K, C = np.reshape(SHIFTING, (3, 3)), np.reshape(COUPLING, (3, 3))
    K = np.block([[K, C], [C.T, np.reshape(TURNING, (3, 3))]])
    x, change = np.hstack([shift, sines]), np.hstack([velocity, rates])
    return -dot(x @ K, change) - dot(velocity * [2.0, 3.0, 4.0], velocity) - dot(w * [0.02, 0.03, 0.01], w)


def stop(m: Motion) -> Any:
    depth = np.maximum(-1.35 - m.q, 0.0)
    spring = 60.0 * np.where(depth > 0.02, depth - 0.01, depth**2 / 0.04)
    return np.maximum(spring - 1.0 * m.v * np.minimum(depth / 0.02, 1.0), 0.0) * m.v


def controller(read: Any, rate: Any, m: Motion, p: float, i: float, d: float, target: float) -> Any:
    error = target - read
    return p * error + i * cumulative_simpson(error, x=m.t, initial=0.0) - d * rate


def bristles(m: Motion) -> Any:
    speed, n = CubicSpline(m.t, m.v), LUGRE

    def rate(t: Any, z: Any) -> Any:
        v = speed(t)
        level = n["kinetic"] + (n["static"] - n["kinetic"]) * np.exp(-((v / n["stribeck_speed"]) ** 2))
        return v - np.abs(v) * n["stiffness"] * z / level

    z = solve_ivp(rate, (0.0, m.t[-1]), [0.0], "DOP853", t_eval=m.t, rtol=1e-12, atol=1e-14).y[0]
    return -(n["stiffness"] * z + n["damping"] * rate(m.t, z) + n["viscous"] * m.v) * m.v


def along(m: Motion) -> Any:
    """The velocity of the coupler's tip along its own x axis."""
    return dot(m.coupler[2][:, :, 0], m.coupler[1])


def table(m: Motion) -> Any:
    return CubicSpline(TIMES, VALUES, bc_type="natural")(m.t)


class Case(NamedTuple):
    """What its entry says, which of its numbers are its strength, and its power in NumPy."""

    entry: dict[str, Any]
    strength: str
    power: Callable[[Motion], Any]


HINGE = {"joint": "hinge"}
WIND = {"frame": ("coupler", "tip"), "axes": "body"}
ROWS = {"forces": [[*FORCE * value] for value in VALUES], "moments": [[*MOMENT * value] for value in VALUES]}
PLACE = {"p": 3.0, "i": 20.0, "d": 0.2, "target": -1.0}
PACE = {"p": 0.5, "i": 9.0, "target": 1.0}
CASES: dict[str, Case] = {
    "constant_load": Case({**HINGE, "load": 1.5}, "load", lambda m: 1.5 * m.v),
    "harmonic_load": Case(
        {**HINGE, "amplitude": 3.0, "frequency": 7.0, "phase": 0.5, "offset": 0.4, "rate": -1.0},
        "amplitude offset rate",
        lambda m: (0.4 - m.t + 3.0 * np.sin(7.0 * m.t + 0.5)) * m.v,
    ),
    "polynomial_load": Case(
        {**HINGE, "coefficients": SLOPE}, "coefficients", lambda m: np.polyval(SLOPE[::-1], m.t) * m.v
    ),
    "table_load": Case({**HINGE, "times": TIMES, "values": VALUES}, "values", lambda m: table(m) * m.v),
    "constant_wrench": Case(
        {**WIND, "force": [*FORCE], "moment": [*MOMENT]},
        "force moment",
        lambda m: wrench(m, np.tile(FORCE, (len(m.t), 1)), np.tile(MOMENT, (len(m.t), 1))),
    ),
    "harmonic_wrench": Case(
        {**WIND, "frequency": 9.0, "phase": 0.3, "force_amplitude": [*FORCE], "moment_offset": [*MOMENT]},
        "force_amplitude moment_offset",
        lambda m: wrench(m, np.outer(np.sin(9.0 * m.t + 0.3), FORCE), np.tile(MOMENT, (len(m.t), 1))),
    ),
    "table_wrench": Case(
        {**WIND, "times": TIMES, **ROWS},
        "forces moments",
        lambda m: wrench(m, np.outer(table(m), FORCE), np.outer(table(m), MOMENT)),
    ),
    "stiffness": Case({}, "", lambda m: -np.polyval([2.0, -1.0, 0.3], m.q) * m.v),
    "damping": Case({}, "", lambda m: -np.polyval([-0.25, 0.5, 0.1], m.v) * m.v),
    "spring": Case(
        {"frames": SIDE, "coefficients": [[30.0, -5.0]]}, "coefficients",
        lambda m: -(30.0 * away(m)[0] - 5.0) * away(m)[1],
    ),
    "damper": Case(
        {"frames": SIDE, "coefficients": [[2.0, 7.0, 0.0]]}, "coefficients",
        lambda m: -(2.0 * away(m)[1] ** 2 + 7.0 * away(m)[1]) * away(m)[1],
    ),
    "friction": Case(
        {**HINGE, "knot_points": [-9.0], "coefficients": [[-0.1, 0.1], [0.2, 0.3]]}, "coefficients",
        lambda m: -(0.2 * m.v + 0.3) * m.v,
    ),
    "joint_spring": Case(
        {**HINGE, "k": 6.0, "rest": -1.2, "c": 0.3}, "k c", lambda m: (-6.0 * (m.q + 1.2) - 0.3 * m.v) * m.v
    ),
    "servo": Case(
        {**HINGE, "p": 3.0, "d": 0.4, "target": -1.0, "rate": 1.0, "limit": 2.0},
        "p d",
        lambda m: 2.0 * np.tanh((3.0 * (-1.0 + m.t - m.q) + 0.4 * (1.0 - m.v)) / 2.0) * m.v,
    ),
    "dc_motor": Case({**HINGE, "stall": 1.5, "no_load": 12.0}, "stall", lambda m: 1.5 * (1.0 - m.v / 12.0) * m.v),
    "torque_curve": Case(
        {**HINGE, "speeds": [-9.0, 0.0, 0.8, 9.0], "loads": [1.0, 0.4, 0.3, 0.0]},
        "loads",
        lambda m: np.interp(m.v, [-9.0, 0.0, 0.8, 9.0], [1.0, 0.4, 0.3, 0.0]) * m.v,
    ),
    "coulomb_friction": Case(
        {**HINGE, "level": 0.3, "slip_speed": 0.3, "viscous": 0.05},
        "level viscous",
        lambda m: -(0.3 * np.tanh(m.v / 0.3) + 0.05 * m.v) * m.v,
    ),
    "lugre_friction": Case({**HINGE, **LUGRE}, "stiffness damping viscous", bristles),
    "stop": Case({**HINGE, "lower": -1.35, "upper": 9.0, "k": 60.0, "c": 1.0, "blend": 0.02}, "k c", stop),
    "joint_position_pid": Case(
        {"joints": ["hinge", "pivot"], **PLACE}, "p i d", lambda m: controller(m.q, m.v, m, **PLACE) * SPEED
    ),
    "joint_speed_pid": Case(
        {"joints": ["hinge", "pivot"], **PACE}, "p i", lambda m: controller(m.v, 0.0, m, d=0.0, **PACE) * SPEED
    ),
    "frame_position_pid": Case(
        {"frame": ("coupler", "tip"), "dof": "Tz", **HINGE, **PLACE},
        "p i d",
        lambda m: controller(m.coupler[0][:, 2], m.coupler[1][:, 2], m, **PLACE) * m.v,
    ),
    "frame_speed_pid": Case(
        {"frame": ("coupler", "tip"), **HINGE, **PACE},
        "p i",
        lambda m: controller(along(m), 0.0, m, d=0.0, **PACE) * m.v,
    ),
    "bushing": Case(
        {"frames": SIDE, "stiffness": SHIFTING, "turning_stiffness": TURNING, "coupling": COUPLING,
         "damping": [2.0, 3.0, 4.0], "turning_damping": [0.02, 0.03, 0.01]},
        "stiffness turning_stiffness coupling damping turning_damping",
        bushing,
    ),
    "ball_on_plane": Case({"frames": FLOOR, "radius": 0.05, **CONTACT}, "k", ball),
    "ball_on_terrain": Case(
        {"frames": FLOOR, "radius": 0.05, "polynomial": [[0.0], [0.0], [0.4]], **CONTACT}, "k", hollow
    ),
    "capsule_on_plane": Case({"frames": FLOOR, "radius": 0.05, "length": 0.04, **CONTACT}, "k", capsule),
    "ellipsoid_on_plane": Case({"frames": FLOOR, "radii": [0.06, 0.02, 0.05], **CONTACT}, "k", ellipsoid),
    "ball_on_ball": Case({"frames": FLOOR, "radius_1": 0.2, "radius_2": 0.13, **CONTACT}, "k", balls),
    "pin_in_slot": Case({"frames": [("crank", "tip"), ("fixed", "slot")], **SLOT, **CONTACT}, "k", slot),
}  # fmt: skip
OF_JOINTS = {"stiffness": [0.3, -1.0, 2.0], "damping": [0.1, 0.5, -0.25]}  # keys of a joint, not forces of their own


def loaded() -> Model:
    """A four-bar with all of them."""
    builder, bar = four_bar()
    builder.frame("floor", T=(0.0, 0.0, 0.14)).frame("slot", T=(0.0, 0.0, 0.15), rotation=(math.pi / 2, 0.0, 0.0))
    next(joint for joint in bar.entry["joints"] if joint["name"] == "hinge").update(OF_JOINTS)
    for kind, case in CASES.items():
        if kind in ("spring", "damper", "friction"):
            bar.restraint(kind, kind, **case.entry)
        elif kind not in OF_JOINTS:
            bar.force(kind, kind, **case.entry)
    return builder.build()


@cache
def run() -> tuple[Motion, dict[str, Any]]:
    """The motion, and the power that the drive of each member gives less than that of the first one, without force."""
    model = loaded()
    numbers, vary = model.numbers(), {}
    for k, (kind, case) in enumerate(CASES.items()):
        fields = [f"a:hinge.{kind}"] if kind in OF_JOINTS else [f"a:{kind}.{name}" for name in case.strength.split()]
        for path, value in numbers.items():
            if value and path.partition("[")[0] in fields:
                nothing = 1e-12 if path.endswith("lugre_friction.stiffness") else 0.0  # must be above 0
                vary[path] = np.where(np.arange(len(CASES) + 1) == k + 1, value, nothing)
    frames = ("crank:tip", "coupler:tip", "rocker:tip")
    of = ("position", "velocity", "orientation", "angular_velocity")
    channels = ["pivot.drive_load", "hinge.q", "hinge.v", *(f"{frame}.{what}" for frame in frames for what in of)]
    result = shiftjax.simulate(model, 0.2, 5e-4, vary=vary, drive={"pivot": SPEED}, channels=channels, output_step=5e-4)
    assert (result.status == 0).all(), result.messages
    seen = {name: values[0] for name, values in result.channels.items()}
    tips = []
    for frame in frames:
        p, v, e, w = (seen[f"{frame}.{what}"] for what in of)
        tips.append((p, v, Rotation.from_quat(e[:, [1, 2, 3, 0]]).as_matrix(), w))
    loads = result.channels["pivot.drive_load"]
    power = {kind: -SPEED * (loads[k + 1] - loads[0]) for k, kind in enumerate(CASES)}
    return Motion(result.time, seen["hinge.q"], seen["hinge.v"], *tips), power


@pytest.mark.parametrize("kind", CASES)
def test_its_power_is_taken_from_the_drive(kind: str) -> None:
    motion, power = run()
    exact, scale = CASES[kind].power(motion), np.abs(power[kind]).max()
    assert scale > 1e-2, "it does something"
    assert np.abs(power[kind] - exact).max() < (NEAREST if kind == "ball_on_terrain" else ROUNDING) * max(scale, 1.0)


def test_every_force_is_here_or_on_wheels() -> None:
    """Of the package; tyres stand in test_tyres_in_loops.py, friction by loads in test_bearings.py."""
    kinds = {name for name, kind in FORCES.items() if kind.listed and FORCES.ships(kind) and not kind.bears}
    assert {name for name in kinds if not name.endswith("_tyre")} <= CASES.keys()

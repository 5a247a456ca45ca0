"""A car on four tyres in a steady turn (S42), beside the single-track model (Riekert and Schunck, Ing.-Arch. 11, 1940).

r = v delta / (l + K v^2), K = m (l_r / C_f - l_f / C_r) / l, with the cornering stiffness C of an axle, here twice
that of a Fiala tyre at no slip. It holds for small lateral accelerations, where forces grow with slip angles.
"""

from __future__ import annotations

import numpy as np
import pytest

import shiftjax
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model

MASS, FRONT, REAR, TRACK, HEIGHT = 1400.0, 1.1, 1.5, 1.5, 0.5  # kg; m from the centre of mass to the axles, and up
WHEEL, CAGE, RADIUS, STIFF = 20.0, 1.0, 0.344, 3e5  # kg, kg, m, N/m
SLOPES = {"f": 5e4, "r": 6e4}  # N/rad, of a tyre in front and one behind
TYRE = {"radius": RADIUS, "width": 0.0, "vertical_stiffness": STIFF, "vertical_damping": 4e3, "c_slip": 1e5,
        "low_speed": 1e-3, "u_min": 1.0}  # fmt: skip
G = 9.81
ROLLING = 3e-4  # relative: loads of the wheels differ, the track is not one line
LINEAR = 3e-3  # relative: at 0.45 m/s^2 tyres have lost 1 to 2 % of their slope, which is in K v^2, a tenth of l


def wheel(a: AssemblyBuilder, name: str, hub: str, at: str) -> None:
    """A wheel and its tyre, on an axle along y of a frame."""
    a.body(name, mass=WHEEL, inertia=(0.6, 0.9, 0.6))
    a.joint(f"axle_{name}", "Ry", parent=(hub, at), child=name, initial_velocity=0.0)
    a.force(f"tyre_{name}", "fiala_tyre", frames=[name, "fixed"], c_alpha=SLOPES[name[0]], **TYRE)


def car(speed: float) -> Model:
    """Steered in front, driven behind through a differential; springs are those of its tyres."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("car")
    corners = {"fl": (FRONT, 0.5 * TRACK), "fr": (FRONT, -0.5 * TRACK), "rl": (-REAR, 0.5 * TRACK),
               "rr": (-REAR, -0.5 * TRACK)}  # fmt: skip
    frames = {name: (x, y, RADIUS - HEIGHT) for name, (x, y) in corners.items()}
    mass = MASS - 4.0 * WHEEL - CAGE
    middle = (-2.0 * WHEEL * (FRONT - REAR) / mass, 0.0, 0.0)  # so that the whole car's is at the origin
    a.body("chassis", mass=mass, center_of_mass=middle, inertia=(500.0, 2000.0, 2200.0), frames=frames)
    sunk = 0.25 * MASS * G / STIFF
    a.joint("free", "float", child="chassis", initial_displacement={"T": [0.0, 0.0, HEIGHT - sunk]},
            initial_velocity=[speed, 0.0, 0.0, 0.0, 0.0, 0.0])  # fmt: skip
    for name in ("fl", "fr"):
        a.body(f"knuckle_{name}", mass=0.0, inertia=(0.0,) * 3)
        a.joint(f"steer_{name}", "Rz", parent=("chassis", name), child=f"knuckle_{name}")
        a.driver(f"hand_{name}", "polynomial", joint=f"steer_{name}", coefficients=[0.0])
        wheel(a, name, f"knuckle_{name}", "origin")
    for name in ("rl", "rr"):
        wheel(a, name, "chassis", name)
    a.body("cage", mass=CAGE, inertia=(0.01,) * 3).joint("shaft", "Ry", parent="chassis", child="cage")
    a.constraint("differential", "differential", joints=["shaft", "axle_rl", "axle_rr"])
    a.driver("engine", "constant_speed", joint="shaft", speed=speed / (RADIUS - sunk))
    return builder.build()


def bent(v: np.ndarray, steer: np.ndarray) -> np.ndarray:
    """The model's yaw rate with slip angles by Fiala's formula, F = Fz (1 - (1 - C tan a / (3 Fz))^3)."""
    length = FRONT + REAR
    rate = v * steer / length
    for _ in range(50):
        slips = []
        for slope, arm in ((SLOPES["f"], REAR), (SLOPES["r"], FRONT)):
            load, force = 0.5 * MASS * G * arm / length, 0.5 * MASS * v * rate * arm / length
            slips.append(np.sign(force) * 3.0 * load / slope * (1.0 - np.cbrt(1.0 - np.abs(force) / load)))
        rate = 0.5 * (rate + v / length * (steer - slips[0] + slips[1]))
    return rate


def test_a_steady_turn_is_that_of_the_single_track_model() -> None:
    """Yaw rates of slow and fast, left and right turns, all below 0.45 m/s^2; it understeers."""
    speeds, steer = np.array([6.0, 10.0, 15.0, 15.0]), np.array([0.02, 0.01, 0.005, -0.005])
    sunk = 0.25 * MASS * G / STIFF
    spin = speeds / (RADIUS - sunk)
    vary = {"engine.speed": spin, "hand_fl.coefficients[0]": steer, "hand_fr.coefficients[0]": steer}
    vary |= {f"axle_{name}.initial_velocity": spin for name in ("fl", "fr", "rl", "rr")}
    vary |= {"free.initial_velocity[0]": speeds}
    channels = ["chassis.velocity", "chassis.angular_velocity"]
    result = shiftjax.simulate(car(10.0), 3.0, 5e-4, vary=vary, channels=channels, output_step=0.5)
    assert (result.status == 0).all(), result.messages
    v = np.linalg.norm(result.channels["chassis.velocity"][:, -1], axis=1)
    rate = result.channels["chassis.angular_velocity"][:, -2:, 2]
    assert rate[:, 1] == pytest.approx(rate[:, 0], rel=1e-3), "it is steady"
    length = FRONT + REAR
    K = MASS * (REAR / (2.0 * SLOPES["f"]) - FRONT / (2.0 * SLOPES["r"])) / length
    exact = v * steer / (length + K * v**2)
    assert (np.abs(exact * v) < 0.45).all() and K * 15.0**2 > 0.1 * length
    assert rate[:, 1] == pytest.approx(exact, rel=LINEAR)
    assert rate[:, 1] == pytest.approx(bent(v, steer), rel=ROLLING)
    assert rate[3, 1] == pytest.approx(-rate[2, 1], rel=1e-9), "left as right"

"""Numbers of others: frames of the KUKA iiwa (D17); M, C, g of the Puma 560, Drake's four-bar (D26)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from tests.mechanics.test_references import drake_four_bar

FOLDER = Path(__file__).parents[1] / "reference"
REFERENCE = json.loads((FOLDER / "puma_and_iiwa.json").read_text())
DIGITS = 6e-5  # matrices are published with four digits
COMPUTED = 1e-12  # of an independent computation in double precision
POSE = 1e-14  # m and 1: as the source compares them, ten roundings

# Puma 560: d [m], a [m], alpha [rad], mass [kg], centre [m], inertia about it [kg m^2], motor inertia and gear ratio.
PUMA: list[tuple[float, float, float, float, tuple[float, ...], tuple[float, ...], float, float]] = [
    (0.67183, 0.0, np.pi / 2, 0.0, (0.0, 0.0, 0.0), (0.0, 0.35, 0.0), 200e-6, -62.6111),
    (0.0, 0.4318, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 200e-6, 107.815),
    (0.15005, 0.0203, -np.pi / 2, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125), 200e-6, -53.7063),
    (0.4318, 0.0, np.pi / 2, 0.82, (0.0, 0.019, 0.0), (1.8e-3, 1.3e-3, 1.8e-3), 33e-6, 76.0364),
    (0.0, 0.0, -np.pi / 2, 0.34, (0.0, 0.0, 0.0), (0.3e-3, 0.4e-3, 0.3e-3), 33e-6, 71.923),
    (0.0, 0.0, 0.0, 0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 33e-6, 76.686),
]
# KUKA iiwa 14: origin [m] and axes (space-fixed x, y, z angles [rad]) of each joint in the link before.
IIWA = [
    ((0.0, 0.0, 0.1575), (0.0, 0.0, 0.0)),
    ((0.0, 0.0, 0.2025), (np.pi / 2, 0.0, np.pi)),
    ((0.0, 0.2045, 0.0), (np.pi / 2, 0.0, np.pi)),
    ((0.0, 0.0, 0.2155), (np.pi / 2, 0.0, 0.0)),
    ((0.0, 0.1845, 0.0), (-np.pi / 2, np.pi, 0.0)),
    ((0.0, 0.0, 0.2155), (np.pi / 2, 0.0, 0.0)),
    ((0.0, 0.081, 0.0), (-np.pi / 2, np.pi, 0.0)),
]


def about(axis: str, angle: float) -> np.ndarray:
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    R = np.eye(3)
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i], R[i, j] = np.sin(angle), -np.sin(angle)
    return np.round(R, 15)  # so that axes at right angles are so


@pytest.fixture(scope="module")
def puma() -> Any:
    """At its nominal pose, elbow bent, with speeds 1, 2, 3, 1, 2, 3 rad/s; without motors."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    arm = builder.assembly("puma")
    for k, (d, a, alpha, mass, centre, inertia, _, _) in enumerate(PUMA):
        R = about("x", alpha).T
        root = {"T": tuple(-R @ np.array([a, 0.0, d])), "R": R.tolist()}
        arm.body(f"link{k}", mass=mass, center_of_mass=centre, inertia=inertia, frames={"root": root})
        near = "fixed" if k == 0 else f"link{k - 1}"
        arm.joint(f"joint{k}", "Rz", parent=(near, "origin"), child=(f"link{k}", "root"))
    at = shiftjax.configuration(builder.build(), q=np.zeros(6))
    order = [at.speed_names.index(f"puma:joint{k}") for k in range(6)]
    assert order == list(range(6))
    q = REFERENCE["derived_puma"]["qn"]
    return at.changed(q=np.array(q), v=np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0]))


def test_puma_d26(puma: Any) -> None:
    """M with and without motors, C, C v, g; the torques of accelerations 1, 2, 3, 1, 2, 3."""
    published, derived = REFERENCE["published_puma"], REFERENCE["derived_puma"]
    motors = np.diag([inertia * ratio**2 for *_, inertia, ratio in PUMA])
    M, C, g = puma.mass_matrix(), puma.coriolis_matrix(), puma.gravity_forces()
    assert np.abs(M - derived["M_links_only"]).max() < COMPUTED * 10
    assert np.abs(M + motors - published["inertia"]).max() < DIGITS
    assert (
        np.abs(g - published["gravload"]).max() < DIGITS / 100 and np.abs(g - derived["gravload"]).max() < COMPUTED * 10
    )
    assert np.abs(C - published["coriolis_matrix_qd_123123"]).max() < DIGITS
    assert np.abs(puma.coriolis_forces() - derived["Cqd_for_qd_123123"]).max() < COMPUTED * 10
    assert np.abs(C - 0.5 * puma.derivative("coriolis_forces", wrt="v")).max() < COMPUTED * 10  # Christoffel's symbols
    torque = (M + motors) @ [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    assert np.abs(torque - published["itorque_qdd_123123"]).max() < DIGITS * 3


def test_puma_frames_d17(puma: Any) -> None:
    R, p = REFERENCE["derived_puma"]["T_qn"]
    pose = puma.pose("link5")
    assert np.abs(pose[:3, :3] - R).max() < COMPUTED and np.abs(pose[:3, 3] - p).max() < COMPUTED


def test_iiwa_frames_d17() -> None:
    """As MotionGenesis has them, for Drake's tests: upright, and all joints at 60 and 30 degrees in turn."""
    builder = shiftjax.ModelBuilder()
    for k, (T, (roll, pitch, yaw)) in enumerate(IIWA):
        frame = {"T": T, "R": (about("z", yaw) @ about("y", pitch) @ about("x", roll)).tolist()}
        if k == 0:
            builder.frame("joint", **frame)
            arm = builder.assembly("iiwa")
        arm.body(f"link{k}", mass=1.0)
        near = ("fixed", "joint") if k == 0 else (f"link{k - 1}", "joint")
        if k:
            arm.entry["bodies"][k - 1]["frames"] = [{"name": "joint", **{n: list(x) for n, x in frame.items()}}]
        arm.joint(f"joint{k}", "Rz", parent=near, child=f"link{k}")
    upright = shiftjax.configuration(builder.build(), q=np.zeros(7))
    assert np.abs(upright.pose("link6")[:3, 3] - REFERENCE["iiwa_upright_position"]).max() < POSE
    published = REFERENCE["published_kuka_fk"]
    bent = upright.changed(q=np.radians([60.0, 30.0, 60.0, 30.0, 60.0, 30.0, 60.0])).pose("link6")
    assert np.abs(bent[:3, :3] - published["R"]).max() < POSE and np.abs(bent[:3, 3] - published["p"]).max() < POSE


def test_drake_four_bar_d26() -> None:
    """At its documented equilibrium: no force; inertia and squared frequency of small oscillations."""
    data = json.loads((FOLDER / "loops_small.json").read_text())["drake_four_bar"]["drake_fourbar_v0.1"]
    at = shiftjax.configuration(drake_four_bar(0.0), independent=["qa"])
    assert at.independent_names == ("bar:qa",)
    mass, force = at.mass_matrix(constrained=True)[0, 0], at.gravity_forces(constrained=True)
    assert abs(force[0]) < COMPUTED * 1000 and np.abs(at.accelerations()).max() < COMPUTED
    assert mass == pytest.approx(data["M0"], abs=0.05)  # published with four digits
    stiffness = at.derivative("gravity_forces", constrained=True, closed=True)[0, 0]
    assert stiffness / mass == pytest.approx(data["omega2"], rel=1e-10)


def test_velocity_of_a_point_of_a_floating_base_d17() -> None:
    """RBDL's FloatingBaseTests: three slides, then turns about z, y, x; the point (1, 0, 0) of the body."""
    builder = shiftjax.ModelBuilder()
    base = builder.assembly("base")
    for k, kind in enumerate(("Tx", "Ty", "Tz", "Rz", "Ry", "Rx")):
        base.body(f"link{k}", **({} if k == 5 else {"mass": 0.0, "inertia": (0.0, 0.0, 0.0)}))
        base.joint(f"joint{k}", kind, parent="fixed" if k == 0 else f"link{k - 1}", child=f"link{k}")
    values = np.array([0.1, 1.1, 1.2, 1.3, 1.5, 1.7])
    at = shiftjax.configuration(builder.build(), q=values, v=values)
    published = [-0.3888503432977729, -0.3171179347202455, 1.093894197498446]
    assert np.abs(at.twist("link5", point=(1.0, 0.0, 0.0))[3:] - published).max() < 1e-13

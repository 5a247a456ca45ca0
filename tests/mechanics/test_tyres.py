"""Tyres (S42): a rig that measures their forces beside the formulas, numbers of the source tool, its files."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

TYRE = {"radius": 0.354, "width": 0.235, "vertical_stiffness": 310e3, "vertical_damping": 3100.0, "c_slip": 2e5,
        "c_alpha": 45837.0, "u_min": 0.9, "u_max": 1.0, "low_speed": 1e-3}  # fmt: skip
RELAXED = {"relaxation_x": 0.05, "relaxation_y": 0.3}
MASS, LOAD = 20.1, 3000.0  # kg of the wheel, N pressing it down
FZ = LOAD + 9.81 * MASS
DEPTH = FZ / TYRE["vertical_stiffness"]


def rig(yaw: float = 0.0, kind: str = "fiala_tyre", up: str = "+z", **more: Any) -> Model:
    """A wheel at an angle to the way on which it is drawn; the way can be lifted, and the wheel turns on its axle."""
    side = 1.0 if up == "+z" else -1.0
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81 * side))
    a = builder.assembly("a").body("carriage", mass=1.0, inertia=(1.0,) * 3)
    a.body("fork", mass=0.0, inertia=(0.0,) * 3, frames={"axle": {"rotation": (0.0, 0.0, yaw)}})
    a.body("wheel", mass=MASS, inertia=(0.578, 0.931, 0.578))
    a.joint("way", "Tx", child="carriage")
    height = side * (TYRE["radius"] - DEPTH)
    a.joint("lift", "Tz", parent="carriage", child="fork", initial_displacement=height, stiffness=[side * LOAD])
    a.joint("spin", "Ry", parent=("fork", "axle"), child="wheel")
    a.force("tyre", kind, frames=["wheel", "fixed"], up=up, **TYRE, **(RELAXED if "transient" in kind else {}), **more)
    return builder.build()


def forces(model: Model, speed: float, rate: float, span: float = 0.05, **more: Any) -> tuple[float, float, float]:
    """Along the wheel's plane, across it, and about the normal, of a wheel drawn and turned at given speeds."""
    channels = ["spin.reaction_force", "spin.reaction_moment"]
    drive = {"way": speed, "spin": rate}
    result = shiftjax.simulate(model, span, 1e-4, drive=drive, channels=channels, output_step=span, **more)
    yaw = dict(model.numbers())["a:fork:axle.rotation[2]"]
    force, moment = (result.channels[name][-1] for name in channels)
    c, s = math.cos(yaw), math.sin(yaw)
    return -(c * force[0] + s * force[1]), -(c * force[1] - s * force[0]), -moment[2]


@pytest.mark.parametrize("up", ["+z", "-z"])
@pytest.mark.parametrize("kappa", [-0.3, -0.02, 0.004, 0.1])
def test_the_force_of_a_slip_along(kappa: float, up: str) -> None:
    """c_slip kappa up to U Fz / 2, then U Fz - (U Fz)^2 / (4 |kappa| c_slip); either side of the road up."""
    speed, radius = 10.0, TYRE["radius"] - DEPTH
    side = 1.0 if up == "+z" else -1.0
    along, across, _ = forces(rig(up=up), speed, side * speed * (1.0 + kappa) / radius)
    most = (1.0 - 0.1 * abs(kappa)) * FZ
    slides = TYRE["c_slip"] * abs(kappa) > 0.5 * most
    exact = most - most**2 / (4 * abs(kappa) * TYRE["c_slip"]) if slides else TYRE["c_slip"] * abs(kappa)
    assert along == pytest.approx(math.copysign(exact, kappa), rel=1e-6) and abs(across) < 1e-6


@pytest.mark.parametrize("kind", ["fiala_tyre", "transient_fiala_tyre"])
@pytest.mark.parametrize("angle", [-12.0, -1.0, 2.0, 6.0])
def test_the_force_of_a_slip_angle(angle: float, kind: str) -> None:
    """U Fz (1 - H^3) across the wheel, and U Fz width (1 - H) H^3 that turns it back, of a wheel that rolls."""
    yaw, speed, radius = math.radians(angle), 10.0, TYRE["radius"] - DEPTH
    model = rig(yaw, kind)
    along, across, aligning = forces(model, speed, speed * math.cos(yaw) / radius, 1.0 if "transient" in kind else 0.05)
    tangent = math.tan(yaw)
    most = (1.0 - 0.1 * abs(tangent)) * FZ
    H = max(1.0 - TYRE["c_alpha"] * abs(tangent) / (3 * most), 0.0)
    assert across == pytest.approx(math.copysign(most * (1.0 - H**3), yaw), rel=1e-5)  # a wheel turned left pulls left
    assert aligning == pytest.approx(math.copysign(most * TYRE["width"] * (1.0 - H) * H**3, -yaw), rel=1e-5, abs=1e-6)
    assert abs(along) < 1e-2


def test_it_sinks_in_as_in_the_logs_of_the_source_tool() -> None:
    """3000 N and a wheel of 20.1 kg: 3197.181 N and 0.0103134871 m; it rolls freely and loses nothing."""
    model = rig()
    result = shiftjax.simulate(model, 1.0, tolerance=1e-8, channels=["lift.q", "spin.v", "way.v"], output_step=0.5,
                               vary={"way.initial_velocity": [5.0, 10.0]})  # fmt: skip
    assert FZ == pytest.approx(3197.181, abs=1e-3)
    assert TYRE["radius"] - result.channels["lift.q"][:, -1] == pytest.approx(0.0103134871, abs=1e-9)
    rolling = result.channels["spin.v"][:, -1] * (TYRE["radius"] - DEPTH)
    assert rolling == pytest.approx(result.channels["way.v"][:, -1], rel=1e-6)
    assert (result.certificate["energy_error"] < 1e-5).all()


def test_slopes_of_a_rolling_wheel() -> None:
    """Of the speed at the end by the cornering stiffness, against differences."""
    model = rig(0.05)

    def last(values: Any) -> Any:
        options: dict[str, Any] = {"channels": ["way.v"], "drive": {"spin": 20.0}, "output_step": 0.1}
        return (
            shiftjax.simulate(model, 0.1, 1e-4, vary={"tyre.c_alpha": values}, **options).channels["way.v"][:, -1].sum()
        )

    value = TYRE["c_alpha"]
    slope, h = jax.grad(last)(jnp.asarray([value]))[0], 1e-3 * value
    ends = [float(last(np.array([value + k * h]))) for k in (-1, 1)]
    assert slope == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-4)


def test_tyres_of_public_files_are_read() -> None:
    """Without numbers of their own those of a passenger car are assumed, and said."""
    document = to_dict(rig(up="-z"))
    tire = {"type": "tire", "name": "tyre", "tire_type": "fiala", "wheel_body": "wheel"}
    for transient, kind in ((False, "fiala_tyre"), (True, "transient_fiala_tyre")):
        document["assemblies"][0]["force_modules"] = [{**tire, "use_transient_slip": transient}]
        model = load(document)
        (module,) = model.assemblies[0].force_modules
        assert module.type == kind and not model.unsupported() and load(to_dict(model)) == model
        assert any("Fiala tyre without numbers: assumed radius 0.354" in warning for warning in model.warnings)
    document["assemblies"][0]["force_modules"] = [{**tire, "tire_type": "pac2002", "definition": "a.tir"}]
    assert load(document).unsupported() == (("a:tyre", "tire"),)

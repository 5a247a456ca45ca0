"""Tyres in a closed loop, and how slips build up (S42): a wheel on a parallelogram, beside the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shiftjax
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.mechanics.forces import test_tyres
from tests.mechanics.forces.test_tyres import DEPTH, FZ, LOAD, MAGIC, MASS, RELAXED, SIZES, TYRE

SPEED, YAW = 10.0, math.radians(-3.0)
SLIPS = np.array([0.03, -0.06])  # along, of two designs
KAPPA = float(SLIPS[0])
ARM = 0.4  # m, of the parallelogram
RELATIVE = 3e-6  # the wheel's low_speed of 1 mm/s, and steps of 0.1 ms
KINDS = ("fiala_tyre", "transient_fiala_tyre", "pacejka_tyre", "transient_pacejka_tyre")


def fiala(kappa: float, tangent: float) -> tuple[float, float, float]:
    """Fx, Fy, Mz of brushes on a beam (Fiala 1954), of a wheel that slips less than it slides at."""
    most = (1.0 - 0.1 * math.hypot(kappa, tangent)) * FZ
    H = 1.0 - TYRE["c_alpha"] * abs(tangent) / (3.0 * most)
    assert H > 0.0 and TYRE["c_slip"] * abs(kappa) > 0.5 * most, "it slides along, and not across"
    along = math.copysign(most - most**2 / (4.0 * abs(kappa) * TYRE["c_slip"]), kappa)
    across = math.copysign(most * (1.0 - H**3), tangent)
    return along, across, -math.copysign(most * TYRE["width"] * (1.0 - H) * H**3, tangent)


def expected(kind: str, kappa: float, tangent: float) -> tuple[float, float, float]:
    return fiala(kappa, tangent) if "fiala" in kind else test_tyres.magic(kappa, -math.atan(tangent))


def swung(kind: str) -> Model:
    """A wheel on an upright that two parallel arms guide; a weight presses it down, the arms are level at rest."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    height = TYRE["radius"] - DEPTH
    a.body(
        "carriage", mass=1.0, inertia=(1.0,) * 3, frames={"low": (-ARM, 0.0, height), "high": (-ARM, 0.0, height + 0.3)}
    )
    for arm in ("low", "high"):
        a.body(f"arm_{arm}", mass=0.0, inertia=(0.0,) * 3, frames={"tip": (ARM, 0.0, 0.0)})
    axle = {"axle": {"rotation": (0.0, 0.0, YAW)}, "high": (0.0, 0.0, 0.3)}
    a.body("fork", mass=0.0, inertia=(0.0,) * 3, frames=axle).body("wheel", mass=MASS, inertia=(0.578, 0.931, 0.578))
    a.joint("way", "Tx", child="carriage")
    for arm in ("low", "high"):
        a.joint(arm, "Ry", parent=("carriage", arm), child=f"arm_{arm}", initial_displacement=0.0, initial_velocity=0.0)
    a.joint("foot", "Ry", parent=("arm_low", "tip"), child="fork", initial_displacement=0.0)
    a.joint("head", "Ry", parent=("arm_high", "tip"), child=("fork", "high"), initial_displacement=0.0)
    a.joint("spin", "Ry", parent=("fork", "axle"), child="wheel")
    a.force("weight", "constant_wrench", frame="fork", force=(0.0, 0.0, -LOAD))
    relaxed = RELAXED if "transient" in kind else {}
    numbers = TYRE if "fiala" in kind else SIZES | MAGIC
    a.force("tyre", kind, frames=["wheel", "fixed"], **numbers, **relaxed)
    return builder.build()


@pytest.mark.parametrize("kind", KINDS)
def test_a_wheel_on_a_parallelogram_has_the_forces_of_the_formulas(kind: str) -> None:
    """Drawn and turned at given speeds, with slips along and across that have built up; of two designs."""
    forward, radius = SPEED * math.cos(YAW), TYRE["radius"] - DEPTH
    channels = ["spin.reaction_force", "spin.reaction_moment", "fork.position"]
    drive = {"way": SPEED, "spin": forward * (1.0 + SLIPS) / radius}
    result = shiftjax.simulate(swung(kind), 0.5, 2e-4, drive=drive, channels=channels, output_step=0.5)
    assert (result.status == 0).all() and result.report["dof"] == 1, result.messages
    c, s = math.cos(YAW), math.sin(YAW)
    for k, kappa in enumerate(SLIPS):
        force, moment, place = (result.channels[name][k, -1] for name in channels)
        assert place[2] == pytest.approx(radius, abs=1e-9)
        seen = -(c * force[0] + s * force[1]), -(c * force[1] - s * force[0]), -moment[2]
        assert seen == pytest.approx(expected(kind, kappa, math.tan(YAW)), rel=RELATIVE, abs=1e-3)


@pytest.mark.parametrize("kind", ["transient_fiala_tyre", "transient_pacejka_tyre"])
def test_slips_build_up_over_the_relaxation_length(kind: str) -> None:
    """As 1 - exp(-V t / relaxation), each over its own; the force is that of the slip (Pacejka, 7.2)."""
    forward, radius, span = SPEED * math.cos(YAW), TYRE["radius"] - DEPTH, 0.02
    model = test_tyres.rig(YAW, kind, numbers=TYRE if "fiala" in kind else SIZES | MAGIC)
    seen = test_tyres.forces(model, SPEED, forward * (1.0 + KAPPA) / radius, span)
    grown = [1.0 - math.exp(-forward * span / RELAXED[f"relaxation_{axis}"]) for axis in "xy"]
    assert grown[0] > 0.9 and 0.4 < grown[1] < 0.6
    assert seen == pytest.approx(expected(kind, KAPPA * grown[0], math.tan(YAW) * grown[1]), rel=RELATIVE, abs=1e-3)

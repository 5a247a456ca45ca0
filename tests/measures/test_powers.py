"""Powers (D24): together they are the rate of the kinetic energy, of a mechanism of many forces and constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.measures.channels import every_channel
from shiftjax.mechanism.model import Model
from shiftjax.run.assemble import assemble
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from tests.support.models.mechanisms import pendulum, rod

# Of the largest power. What loops and gears that move at J v = 1e-15 do is 1e-15 of their forces, which are 1e2 N.
BALANCE = 1e-11
DIFFERENCE = 1e-6  # relative; five samples 1 ms apart of a motion of about 10 rad/s: (0.01)^4 and its like
SPAN, STEP = 0.012, 1e-3  # s


def machine() -> Model:
    """A driven four-bar, two shafts with gears, a slide with a driven frame, and a floating body on rubber."""
    builder = ModelBuilder(gravity=(0.3, 0.4, -9.81)).frame("far", T=(0.5, 0.0, 0.0)).frame("up", T=(0.2, 0.3, 0.1))
    a = builder.assembly("a")
    for name, length in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.4)):
        a.body(name, **rod(length))
    a.joint("pivot", "Ry", child="crank", initial_displacement=-1.0)
    a.joint("pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=0.5, damping=[0, 0.4])
    a.joint("hinge", "Ry", parent=("fixed", "far"), child="rocker", initial_displacement=-1.5, stiffness=[1.0, 3.0])
    a.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=-1.0)
    a.driver("motor", "harmonic", joint="pivot", amplitude=0.4, frequency=5.0, rate=3.0)
    for name, speed in (("left", 4.0), ("right", -2.0), ("lone", 1.5)):
        body = {"mass": 1.0, "center_of_mass": (0.1, 0, 0), "inertia": (0.01, 0.02, 0.02)}
        a.body(f"{name}_disc", **body, frames={"rim": (0.1, 0.0, 0.02)})
        a.joint(name, "Ry", parent="fixed:up", child=f"{name}_disc", initial_displacement=0, initial_velocity=speed)
    a.constraint("teeth", "gear", joints=["left", "right"], ratio=-2.0)
    a.body("carriage", mass=2.0, inertia=(0.1, 0.1, 0.1), gravity_scale=0.5)
    a.joint("guide", "Tx", child="carriage", initial_displacement=0.1)
    a.driver("pull", "frame_harmonic", frame="carriage", component="x", amplitude=0.05, frequency=8.0)
    a.body("cab", mass=1.5, center_of_mass=(0.02, -0.03, 0.1), inertia=(0.2, 0.3, 0.25), frames={"foot": (0, 0, -0.1)})
    place: Any = {"T": (0.45, 0.1, 0.2)}
    start = (0.4, -0.2, 0.3, 0.5, 0.4, -0.3)
    a.joint("six", "float", child="cab", initial_displacement=place, initial_velocity=start)
    return with_forces(a, builder)


def with_forces(a: Any, builder: ModelBuilder) -> Model:
    """Springs, friction, actuators, loads and wrenches, within and between trees."""
    a.force("return_spring", "joint_spring", joint="right", k=8, rest=0.4)
    a.force("seal", "coulomb_friction", joint="left", level=0.2, slip_speed=0.01, viscous=0.03)
    friction = {"static": 0.3, "kinetic": 0.2, "stribeck_speed": 0.05, "stiffness": 50.0, "damping": 0.3}
    a.force("bearing", "lugre_friction", joint="lone", initial_bend=0.004, **friction)
    a.force("holder", "servo", joint="hinge", p=20, d=1.5, target=0.6, limit=5)
    a.force("engine", "torque_curve", joint="lone", speeds=[0, 100, 300], loads=[4, 5, 0])
    a.force("shake", "harmonic_load", joint="guide", amplitude=2, frequency=9, phase=0.5)
    ends, stiff = [("rocker", "tip"), ("cab", "foot")], {"stiffness": [2e2, 3e2, 1e2], "turning_stiffness": [4, 3, 5]}
    a.force("rubber", "bushing", frames=ends, damping=[2, 3, 1], **stiff)
    a.force("thruster", "constant_wrench", frame=("cab", "foot"), force=(1, 2, 3), moment=(0.1, 0, 0.2), axes="frame")
    a.force("shaker", "harmonic_wrench", frame=("coupler", "tip"), force_amplitude=(3, 0, 2), frequency=12)
    between = [("right_disc", "rim"), ("cab", "foot")]
    a.restraint("coil", "spring", frames=between, knot_points=[], coefficients=[[30.0, -5.0]])
    a.restraint("oil", "damper", frames=between, distance_type="Tx", knot_points=[], coefficients=[[2.0, 0.0]])
    return builder.build()


@pytest.fixture(scope="module")
def run() -> Any:
    model = machine()
    paths = [one.path for one in every_channel(prepare(model, {}).plan) if "power" in one.path]
    more = ["energy.kinetic", "energy.potential", "right.q", "right.v", "left.v", "pivot.v", "pivot.drive_load",
            "carriage.velocity", "pull.multiplier"]  # fmt: skip
    return simulate(model, SPAN, STEP, output_step=STEP, channels=[*paths, *more], accuracy="local")


def short(run: Any) -> dict[str, np.ndarray]:
    return {path.removeprefix("a:"): values for path, values in run.channels.items()}


def test_all_powers_together_are_the_rate_of_the_kinetic_energy(run: Any) -> None:
    """d(kinetic)/dt = gravity + forces + constraints at every instant, and it is what the kinetic energy does."""
    get = short(run)
    size = max(np.abs(get[path]).max() for path in get if "power" in path)
    parts = get["power.gravity"] + get["power.forces"] + get["power.constraints"]
    assert np.abs(get["power.kinetic"] - parts).max() < BALANCE * size
    energy = get["energy.kinetic"]
    slope = (energy[:-4] - 8 * energy[1:-3] + 8 * energy[3:-1] - energy[4:]) / (12 * STEP)
    assert np.ptp(slope) > 10.0  # W: a motion that is worth a test
    assert np.abs(get["power.kinetic"][2:-2] - slope).max() < DIFFERENCE * size


def test_every_element_has_its_power_and_they_add_up(run: Any) -> None:
    get = short(run)
    size = max(np.abs(get[path]).max() for path in get if "power" in path)
    forces = ["pin", "hinge", "return_spring", "seal", "bearing", "holder", "engine", "shake", "rubber", "thruster",
              "shaker", "coil", "oil"]  # fmt: skip
    each = {name: get[f"{name}.power"] for name in forces}
    assert all(np.abs(power).max() > 1e-3 for power in each.values())
    assert np.abs(sum(each.values()) - get["power.forces"]).max() < BALANCE * size
    drives = get["pivot.drive_power"] + get["pull.power"]
    assert np.abs(drives - get["power.constraints"]).max() < BALANCE * size
    assert np.abs(get["teeth.power"]).max() < BALANCE * size
    assert all(run.units[path] == "W" for path in run.channels if "power" in path)
    everything = {path for path in get if path.endswith((".power", ".drive_power"))}
    assert everything == {*(f"{name}.power" for name in (*forces, "teeth", "pull")), "pivot.drive_power"}


def test_powers_of_elements_are_their_forces_times_speeds(run: Any) -> None:
    """Of a spring minus the rate of its energy, of friction a loss, of a driver its load times its speed."""
    get = short(run)
    assert np.abs(get["return_spring.power"] + 8 * (get["right.q"] - 0.4) * get["right.v"]).max() < BALANCE
    v = get["left.v"]
    assert np.abs(get["seal.power"] + (0.2 * np.tanh(v / 0.01) + 0.03 * v) * v).max() < BALANCE
    load = get["pivot.drive_load"] * get["pivot.v"]
    assert np.abs(get["pivot.drive_power"] - load).max() < BALANCE * np.abs(load).max()
    pull = get["pull.multiplier"] * get["carriage.velocity"][:, 0]
    assert np.abs(get["pull.power"] - pull).max() < BALANCE * np.abs(pull).max()


@pytest.mark.parametrize(
    ("path", "match"),
    [("sail.power", "one force"), ("pivot.drive_power", "nothing drives"), ("pivot.power", "one force")],
)
def test_what_has_no_power_is_refused_by_name(path: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        assemble(pendulum(), channels=[path])


def test_a_name_of_two_elements_is_refused() -> None:
    """Of a force and a constraint, whichever there are more of; a name that only one has is that one's."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    for name in ("left", "right"):
        a.body(f"{name}_disc", mass=1.0, inertia=(0.01, 0.02, 0.02)).joint(name, "Ry", child=f"{name}_disc")
    a.constraint("x", "gear", joints=["left", "right"], ratio=-2.0)
    a.force("x", "constant_load", joint="left", load=1.0).force("y", "constant_load", joint="left", load=2.0)
    model = builder.build()
    with pytest.raises(ModelError, match=r"channel x\.power: found 2 elements that are called so"):
        assemble(model, channels=["x.power"])
    assert set(assemble(model, channels=["y.power"]).channels) == {"y.power"}

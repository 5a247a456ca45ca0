"""What each part from outside does: cam, contact, stop, bristles, a method, a metric, a reader of a dialect of URDF."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.extensions import bristle, butcher, cam, contact, gear, stop, urdf, wear  # noqa: F401
from tests.extensions.mechanisms import cammed, geared
from tests.support.models.mechanisms import rod

ENERGY = 1e-9  # of the largest energy, RK4 at 1 ms
GAP = 1e-13  # m or rad


@pytest.mark.parametrize("follower", ["roller", "flat"])
def test_a_follower_is_where_the_profile_is(follower: str) -> None:
    """Over the shaft, at the angle by which the crank has turned the cam away from it."""
    result = simulate(cammed(follower), 0.5, 1e-3, channels=["lift.q", "pivot.q"], output_step=0.01)
    radii = [0.16 + 0.05 * math.cos(math.pi * k / 4) for k in range(8)]
    profile = CubicSpline(np.linspace(-np.pi, np.pi, 9), [*radii, radii[0]], bc_type="periodic")
    assert np.abs(result.channels["lift.q"] - profile(-np.pi / 2 - result.channels["pivot.q"])).max() < GAP
    assert result.status == 0 and np.ptp(result.channels["lift.q"]) > 0.05


def dropped(c: float) -> Result:
    """A ball of 1 kg and 0.1 m that floats half a metre over a tilted plane on another floating body of 3 kg."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    tilted = {"T": (0.0, 0.0, 0.1), "rotation": (0.1, 0.2, 0.0)}
    a.body("block", mass=3.0, inertia=(0.3, 0.2, 0.4), frames={"top": tilted})
    a.joint(
        "fall",
        "float",
        child="ball",
        initial_displacement={"T": [0.0, 0.0, 0.5]},
        initial_velocity=[0, 0, -1.0, 0, 0, 0],
    )
    a.joint("free", "float", child="block")
    a.force("hit", "my_contact", frames=[("ball", "origin"), ("block", "top")], radius=0.1, k=5e4, c=c)
    names = ["energy.total", "ball.velocity", "block.velocity", "block.angular_velocity", "ball.position"]
    return simulate(builder.build(), 1.0, 5e-4, channels=names, output_step=5e-3)


def test_a_contact_keeps_momentum_and_never_gains_energy() -> None:
    """Between floating bodies; without damping the ball leaves with all its energy, with it the energy only falls."""
    for c in (0.0, 0.4):
        result = dropped(c)
        energy, momentum = (
            result.channels["energy.total"],
            result.channels["ball.velocity"] + 3 * result.channels["block.velocity"],
        )
        assert result.status == 0 and result.certificate["energy_error"] < 1e-6  # steps over the kink of the force
        assert np.abs(momentum - momentum[0]).max() < 1e-12
        assert np.abs(result.channels["block.angular_velocity"][-1]).max() > 1e-3, "it was hit"
        if c == 0.0:
            assert abs(energy[-1] - energy[0]) < 1e-6 * energy[0]
        else:
            assert np.diff(energy).max() < 1e-6 * energy[0] and energy[-1] < 0.9 * energy[0]


def test_a_stop_holds_a_pendulum_and_gives_its_energy_back() -> None:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod", initial_velocity=0.5)
    a.force("end", "my_stop", joint="pivot", lower=-1.0, upper=0.6, k=1e5)
    result = simulate(builder.build(), 2.0, 5e-4, channels=["pivot.q", "energy.total"], output_step=5e-3)
    q, energy = result.channels["pivot.q"], result.channels["energy.total"]
    assert 0.6 < q.max() < 0.75 and np.ptp(energy) < 1e-4 * 9.81
    assert (np.diff(np.sign(np.diff(q))) != 0).sum() >= 3, "it comes back"


def test_bristles_stick_until_they_slide() -> None:
    """Under a load below the slip they bend by load / k and rest; above it the speed grows by what they do not take."""
    for pushed, moves in ((0.3, False), (0.9, True)):
        builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
        a = builder.assembly("a").body("sled", mass=2.0, inertia=(1.0, 1.0, 1.0)).joint("way", "Tx", child="sled")
        a.force("push", "constant_load", joint="way", load=pushed)
        a.force("rub", "my_bristle", joint="way", k=200.0, slip=0.5)
        result = simulate(builder.build(), 2.0, 1e-3, channels=["way.q", "way.v", "rub.bend"], output_step=0.5)
        assert result.units["rub.bend"] == "m", "the unit of its joint"
        if moves:
            assert result.channels["rub.bend"][-1] == pytest.approx(0.5 / 200.0, rel=1e-6)
            assert np.diff(result.channels["way.v"])[-1] == pytest.approx(0.5 * (pushed - 0.5) / 2.0, rel=1e-4)
        else:
            assert np.abs(result.channels["way.q"]).max() < 0.02  # it creeps, as bristles do


def test_seven_stages_are_of_order_six() -> None:
    """Halving the step divides the error by 64, of the coordinates of a four-bar with its loop closed each step."""
    span, channels = 0.32, ["pivot.q", "pivot.v"]
    fine = simulate(geared(), span, 5e-4, method="butcher", channels=channels).channels
    runs = [simulate(geared(), span, h, method="butcher", channels=channels) for h in (8e-3, 4e-3)]
    errors = [max(abs(result.channels[name][-1] - fine[name][-1]) for name in channels) for result in runs]
    assert 40 < errors[0] / errors[1] < 90


def test_a_metric_from_outside_is_that_of_its_trajectory() -> None:
    """The path length of a channel: the sum of all its ways between the ends of steps."""
    given = {"metrics": {"way": "wear(hinge.q)"}, "channels": ["hinge.q"], "output_step": 1e-3}
    result = simulate(geared(), 0.5, 1e-3, vary={"a:crank.mass": [1.0, 2.0]}, **given)  # type: ignore[arg-type]
    assert result.metrics["way"] == pytest.approx(np.abs(np.diff(result.channels["hinge.q"])).sum(1), rel=1e-12)
    assert result.metric_units["way"] == "rad" and result.metrics["way"].min() > 0.1


URDF = """
<robot name="linkage">
  <link name="base"/>
  <link name="crank">{rod}</link>
  <link name="coupler">{rod}</link>
  <link name="rocker">{rod}<visual/></link>
  <joint name="pivot" type="continuous">
    <parent link="base"/><child link="crank"/><origin rpy="0 -0.5 0"/><axis xyz="0 1 0"/></joint>
  <joint name="pin" type="revolute">
    <parent link="crank"/><child link="coupler"/><origin xyz="0.5 0 0" rpy="0 0.5 0"/><axis xyz="0 1 0"/></joint>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="rocker"/><origin xyz="0.5 0 0" rpy="0 -0.5 0"/><axis xyz="0 1 0"/></joint>
  <loop name="closing" type="revolute">
    <parent link="coupler" xyz="0.5 0 0"/><child link="rocker" xyz="0.5 0 0" rpy="0 0.5 0"/><axis xyz="0 1 0"/></loop>
</robot>
"""
ROD = """<inertial><origin xyz="0.25 0 0" rpy="0 0 1.5707963267948966"/><mass value="1"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.02"/></inertial>"""


def test_a_metric_and_a_method_from_outside_have_gradients() -> None:
    """Of the way that the rocker goes, in seven stages a step, with the mass of the crank; against differences."""
    options = {"method": "butcher", "metrics": {"way": "wear(hinge.q)"}}

    def way(mass: Any) -> Any:
        return shiftjax.simulate(geared(), 0.1, 2e-3, vary={"a:crank.mass": mass}, **options).metrics["way"].sum()

    slope = jax.grad(way)(jnp.asarray([1.0]))[0]
    ends = [float(way(np.array([1.0 + k * 1e-3]))) for k in (-2, -1, 1, 2)]
    difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-3
    assert slope == pytest.approx(difference, rel=1e-7) and abs(slope) > 1e-5


def test_a_urdf_with_a_loop_is_a_parallelogram(tmp_path: Path) -> None:
    """Crank and rocker turn alike, the coupler not at all; its inertia is turned as its origin says."""
    file = tmp_path / "linkage.loops"
    file.write_text(URDF.format(rod=ROD), encoding="utf-8")
    model = load(file)
    assert any("left out: visual" in warning for warning in model.warnings)
    assert model.numbers()["linkage:crank.inertia.Ixx"] == pytest.approx(0.001)
    options = {"vary": {"linkage:coupler.mass": [0.5, 2.0]}, "output_step": 0.1}
    result = simulate(model, 0.5, 1e-3, channels=["pivot.q", "hinge.q", "pin.q"], **options)  # type: ignore[arg-type]
    q = result.channels
    assert (result.status == 0).all() and result.certificate["energy_error"].max() < ENERGY
    assert np.abs(q["pivot.q"] - q["hinge.q"]).max() < GAP > np.abs(q["pivot.q"] + q["pin.q"]).max()
    assert np.abs(q["pivot.q"][:, -1]).min() > 0.1
    file.write_text(URDF.format(rod=ROD).replace('type="continuous"', 'type="planar"'), encoding="utf-8")
    with pytest.raises(ModelError, match=r"linkage\.loops.*planar"):
        load(file)

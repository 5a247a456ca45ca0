"""Constraints between frames beside joints that leave the same freedom (E3, E5, E10, D32): one motion, one force."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, rod

GAP = 1e-11  # m or rad
ENERGY = 1e-8  # of the largest energy, RK4 at 0.5 ms
SAME = 1e-8  # rad or m: two ways of writing one mechanism are equal up to the truncation of RK4 at 0.5 ms
STARTS = {"pin": 0.526088824933593, "hinge": -1.4380176710407746}
Made = tuple[ModelBuilder, AssemblyBuilder]


def bars(coupler: float = 1.0) -> Made:
    """Crank, coupler and rocker of a planar four-bar, open between coupler and rocker."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("rocker", T=(GROUND, 0.0, 0.0))
    bar = builder.assembly("a").body("crank", **rod(CRANK)).body("rocker", **rod(ROCKER))
    bar.joint("pivot", "Ry", child="crank", initial_displacement=-1.0, initial_velocity=2.0)
    bar.joint("hinge", "Ry", parent=("fixed", "rocker"), child="rocker", initial_displacement=STARTS["hinge"])
    if coupler:
        bar.body("coupler", **rod(COUPLER, coupler))
        bar.joint("pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=STARTS["pin"])
    return builder, bar


def closed(by: str) -> Model:
    builder, bar = bars()
    ends: tuple[Any, Any] = ("coupler", "tip"), ("rocker", "tip")
    if by == "joint":
        bar.joint("joint", "Ry", parent=ends[0], child=ends[1], initial_displacement=-0.9641064959743676)
    else:
        bar.constraint("tie", "coincident", frames=list(ends))
    return builder.build()


def rodded(by: str) -> Model:
    builder, bar = bars(1e-9 if by == "joint" else 0.0)
    if by == "joint":  # a coupler of a milligram's thousandth
        bar.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"))
    else:
        bar.constraint("tie", "distance", frames=[("crank", "tip"), ("rocker", "tip")], length=COUPLER)
    return builder.build()


def slotted(by: str) -> Model:
    """A crank whose pin runs in the slot of a rocker; the z axis of the rocker's frame `slot` lies along it."""
    x, z = 0.2 * math.cos(1.0) - 0.5, 0.2 * math.sin(1.0)
    rocker = -math.atan2(z, x)
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("far", T=(0.5, 0.0, 0.0))
    a = builder.assembly("a").body("crank", **rod(0.2))
    links = rod(0.4)
    links["frames"] = {"slot": {"rotation": (0.0, math.pi / 2, 0.0)}, "pin": {"rotation": (-math.pi / 2, 0.0, 0.0)}}
    a.body("rocker", **links)
    a.joint("pivot", "Ry", child="crank", initial_displacement=-1.0, initial_velocity=2.0)
    a.joint("hinge", "Ry", parent=("fixed", "far"), child="rocker", initial_displacement=rocker)
    if by == "joint":
        a.body("pin", mass=0.0, inertia=(0.0, 0.0, 0.0))
        a.joint("slide", "Tx", parent="rocker", child="pin", initial_displacement=math.hypot(x, z))
        a.joint("turn", "Ry", parent="pin", child=("crank", "tip"))
    else:
        a.constraint("tie", "point_on_line", frames=[("rocker", "slot"), ("crank", "tip")])
    return builder.build()


def table(by: str) -> Model:
    """A block that slides and turns on an oblique table."""
    builder = ModelBuilder(gravity=(0.3, 0.0, -9.81)).frame("top", T=(0.0, 0.0, 0.2), rotation=(0.4, 0.0, 0.0))
    a = builder.assembly("a").body("block", mass=2.0, inertia=(0.02, 0.03, 0.04))
    if by == "joint":
        speeds = {"x": 0.5, "angle": 3.0}
        a.joint("slide", "planar", parent=("fixed", "top"), child="block", initial_velocity=speeds)
    else:
        speeds = [0.5, 0.0, 0.0, 0.0, 0.0, 3.0]
        a.joint("free", "float", parent=("fixed", "top"), child="block", initial_velocity=speeds)
        a.constraint("tie", "point_on_plane", frames=[("fixed", "top"), "block"])
        a.constraint("flat", "parallel_axes", frames=[("fixed", "top"), "block"])
    return builder.build()


def stage(by: str) -> Model:
    """A block that moves and does not turn, on a spring."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("hook", T=(0.1, 0.2, 1.0))
    a = builder.assembly("a").body("block", mass=2.0, inertia=(0.02, 0.03, 0.04), frames={"eye": (0.05, 0.02, 0.1)})
    if by == "joint":
        a.joint("free", "translational_3d", child="block", initial_velocity={"x": 0.4})
    else:
        a.joint("free", "float", child="block", initial_velocity=[0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
        a.constraint("tie", "same_orientation", frames=["fixed", "block"])
    ends = [("fixed", "hook"), ("block", "eye")]
    a.restraint("spring", "spring", frames=ends, coefficients=[[200.0, -100.0]])
    return builder.build()


def upright(by: str) -> Model:
    """A block on a spring, whose z axis stays upright while it spins about it."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("hook", T=(0.1, 0.2, 1.0))
    a = builder.assembly("a").body("block", mass=2.0, inertia=(0.02, 0.03, 0.04), frames={"eye": (0.05, 0.02, 0.1)})
    if by == "joint":
        a.body("part", mass=0.0, inertia=(0.0, 0.0, 0.0))
        a.joint("free", "translational_3d", child="part", initial_velocity={"x": 0.4})
        a.joint("turn", "Rz", parent="part", child="block", initial_velocity=2.0)
    else:
        a.joint("free", "float", child="block", initial_velocity=[0.4, 0.0, 0.0, 0.0, 0.0, 2.0])
        a.constraint("tie", "parallel_axes", frames=["fixed", "block"])
    ends = [("fixed", "hook"), ("block", "eye")]
    a.restraint("spring", "spring", frames=ends, coefficients=[[200.0, -100.0]])
    return builder.build()


def shafts(by: str) -> Model:
    """Two shafts at an angle, coupled by a cross; by constraints, a ball and two axes across each other."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0)).frame("tilted", rotation=(0.4, 0.0, 0.0))
    turns = {"x_axis": {"rotation": (0.0, math.pi / 2, 0.0)}, "y_axis": {"rotation": (-math.pi / 2, 0.0, 0.0)}}
    a = builder.assembly("a")
    for name, spin in (("one", 0.02), ("other", 0.03)):
        a.body(name, mass=1.0, inertia=(0.1, 0.1, spin), frames=turns)
    a.joint("pivot", "Rz", child="one", initial_velocity=3.0, initial_displacement=0.0)
    a.joint("bearing", "Rz", parent=("fixed", "tilted"), child="other", initial_displacement=0.0)
    if by == "joint":
        a.joint("cross", "universal", parent="one", child="other", initial_displacement={"first": 0.4, "second": 0.0})
    else:
        a.constraint("tie", "perpendicular_axes", frames=[("one", "x_axis"), ("other", "y_axis")])
    return builder.build()


CASES: dict[str, tuple[Callable[[str], Model], str, str, float]] = {  # model, channel, number, its value
    "coincident": (closed, "pivot.q", "rocker.mass", 1.0),
    "distance": (rodded, "pivot.q", "rocker.mass", 1.0),
    "point_on_line": (slotted, "pivot.q", "rocker.mass", 1.0),
    "point_on_plane": (table, "block.position", "block.mass", 2.0),
    "parallel_axes": (upright, "block.position", "block.mass", 2.0),
    "same_orientation": (stage, "block.position", "block.mass", 2.0),
    "perpendicular_axes": (shafts, "bearing.q", "other.inertia.Izz", 0.03),
}
each = pytest.mark.parametrize("name", CASES)


@each
def test_it_moves_as_the_joint_does(name: str) -> None:
    """In loops: the same motion for three designs at once; energy, gaps; the file holds it."""
    make, channel, number, value = CASES[name]
    assert load(to_dict(make("constraint"))) == make("constraint")
    vary = {number: value * np.array([0.5, 1.0, 2.0])}
    one, other = (
        shiftjax.simulate(make(by), 0.5, 5e-4, channels=[channel], output_step=0.1, vary=vary)
        for by in ("constraint", "joint")
    )
    assert (one.status == 0).all() and (one.certificate["gap"] < GAP).all()
    assert (one.certificate["energy_error"] < ENERGY).all()
    assert np.abs(one.channels[channel] - other.channels[channel]).max() < SAME
    assert np.ptp(one.channels[channel], axis=1).max() > 0.02, "it moves"


@each
def test_its_slopes_are_those_of_differences(name: str) -> None:
    make, channel, number, value = CASES[name]
    model = make("constraint")

    def end(values: Any) -> Any:
        run = shiftjax.simulate(model, 0.1, 1e-3, vary={number: values}, channels=[channel])
        return run.channels[channel][:, -1].sum()

    slope = jax.grad(end)(jnp.asarray([value]))[0]
    h = 1e-2 * value
    ends = [float(end(np.array([value + k * h]))) for k in (-2, -1, 1, 2)]
    difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)  # of order 4
    assert slope == pytest.approx(difference, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", ["coincident", "point_on_line", "perpendicular_axes"])
def test_joints_beside_it_have_the_reactions_that_they_have_beside_the_joint(name: str) -> None:
    """Of least norm, where planar loops leave forces across their plane open in both."""
    models = {by: CASES[name][0](by) for by in ("constraint", "joint")}
    joints = [path for path, _ in models["constraint"].joints()]
    channels = [f"{path}.reaction_{what}" for path in joints for what in ("force", "moment")]
    one, other = (shiftjax.simulate(model, 0.1, 5e-4, channels=channels, output_step=0.02) for model in models.values())
    assert max(np.abs(values).max() for values in other.channels.values()) > 1e-3
    for channel in channels:
        assert np.abs(one.channels[channel] - other.channels[channel]).max() < 1e-8  # N, N m; as the motions are


def test_the_force_of_a_ball_is_its_reaction() -> None:
    """The multipliers of a coincident point, along the axes of the first frame, are the joint's reaction."""
    reaction = shiftjax.simulate(
        closed("joint"), 0.1, 1e-3, channels=["joint.reaction_force", "coupler.orientation"], output_step=0.02
    )
    found = shiftjax.simulate(closed("constraint"), 0.1, 1e-3, channels=["tie.multiplier"], output_step=0.02)
    assert found.units["tie.multiplier"] == "N"
    force, w = reaction.channels["joint.reaction_force"], reaction.channels["coupler.orientation"]
    turn = 2.0 * np.arctan2(w[:, 2], w[:, 0])  # of the coupler about y
    x = np.cos(turn) * force[:, 0] - np.sin(turn) * force[:, 2]
    z = np.sin(turn) * force[:, 0] + np.cos(turn) * force[:, 2]
    assert np.abs(found.channels["tie.multiplier"] - np.stack([x, 0 * x, z], 1)).max() < 1e-7 * np.abs(force).max()


@pytest.mark.parametrize("law", ["frame_harmonic", "frame_polynomial", "frame_table"])
def test_a_driven_frame(law: str) -> None:
    """E5: a piston is moved by its pin; x of the world follows the law, and the work is in the balance."""
    builder, bar = bars()
    bar.joint(
        "joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=-0.9641064959743676
    )
    start = GROUND + ROCKER * math.cos(STARTS["hinge"])
    times = np.linspace(0.0, 1.0, 11)
    laws: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
        "frame_harmonic": (
            {"amplitude": 0.01, "frequency": 4.0, "offset": start},
            lambda t: start + 0.01 * np.sin(4 * t),
        ),
        "frame_polynomial": ({"coefficients": [start, 0.1, -0.2]}, lambda t: start + 0.1 * t - 0.2 * t**2),
        "frame_table": (
            {"times": [*times], "values": [*(start + 0.05 * np.sin(times))]},
            lambda t: start + 0.05 * np.sin(t),
        ),
    }
    numbers, exact = laws[law]
    bar.driver("push", law, frame=("rocker", "tip"), component="x", **numbers)
    bar.entry["joints"][0].pop("initial_velocity")
    result = shiftjax.simulate(
        builder.build(), 0.4, 1e-3, channels=["rocker:tip.position", "push.multiplier"], output_step=0.02
    )
    assert result.status == 0 and result.report["dof"] == 0 and result.certificate["energy_error"] < 1e-8
    x, t = result.channels["rocker:tip.position"][:, 0], result.time
    knot = np.isin(np.round(t, 9), np.round(times, 9)) if law == "frame_table" else slice(None)
    assert np.abs(x - exact(t))[knot].max() < GAP and np.abs(result.channels["push.multiplier"]).max() > 1.0


def test_a_cycloidal_cam() -> None:
    """Its law as an equation of a file: the follower's acceleration is that of the closed form (Norton, Cam Design)."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = (
        builder.assembly("a")
        .body("cam", mass=1.0, inertia=(0.1, 0.1, 0.1))
        .body("follower", mass=0.5, inertia=(0.1, 0.1, 0.1))
    )
    a.joint("shaft", "Ry", child="cam").joint("lift", "Tz", child="follower")
    rise, over = 0.02, 1.5
    law = f"q[1] == {rise} * (q[0] / {over} - sin(2 * pi * q[0] / {over}) / (2 * pi))"
    a.constraint("profile", "equation", joints=["shaft", "lift"], equation=law)
    speed = 10.0
    result = shiftjax.simulate(
        builder.build(), 0.15, 1e-3, drive={"shaft": speed}, channels=["lift.q", "lift.a"], output_step=0.01
    )
    phase = 2.0 * np.pi * speed * result.time / over
    exact = rise * 2.0 * np.pi * (speed / over) ** 2 * np.sin(phase)
    assert np.abs(result.channels["lift.a"] - exact).max() < 1e-9
    assert result.channels["lift.q"][-1] == pytest.approx(rise, abs=GAP)


@pytest.mark.parametrize("follower", ["roller", "flat"])
def test_an_eccentric_cam(follower: str) -> None:
    """A round cam beside its axis: a flat face over it moves as a sine, a roller in closed form."""
    radius, beside = 0.05, 0.02
    angles = np.linspace(-np.pi, np.pi, 120, endpoint=False)
    radii = radius + beside * np.cos(angles)  # the support function of a circle
    if follower == "roller":
        radii = beside * np.cos(angles) + np.sqrt(radius**2 - (beside * np.sin(angles)) ** 2)
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    a.body("cam", frames={"axis": {"rotation": (-math.pi / 2, 0.0, 0.0)}}, mass=0.3, inertia=(0.001, 0.002, 0.001))
    tilt = (0.0, -math.pi / 2, 0.0) if follower == "flat" else (0.0, 0.0, 0.0)
    a.body("lifter", mass=0.5, inertia=(0.01, 0.01, 0.01), frames={"tip": {"rotation": tilt}})
    a.joint("shaft", "Ry", child="cam").joint("lift", "Tz", child="lifter", initial_displacement=0.05)
    frames = [("cam", "axis"), ("lifter", "tip")]
    a.constraint("profile", "cam", frames=frames, radii=[*radii], follower=follower)
    result = shiftjax.simulate(
        builder.build(), 0.5, 1e-3, drive={"shaft": 6.0}, channels=["lift.q", "shaft.q"], output_step=0.01
    )
    turn = result.channels["shaft.q"]
    up = (
        beside
        * np.sin(turn)
        * (1.0 if abs(result.channels["lift.q"][10] - radius - beside * np.sin(turn[10])) < 5e-3 else -1.0)
    )
    exact = radius + up if follower == "flat" else up + np.sqrt(radius**2 - (beside * np.cos(turn)) ** 2)
    assert np.abs(result.channels["lift.q"] - exact).max() < 1e-8, "a spline through 120 radii"

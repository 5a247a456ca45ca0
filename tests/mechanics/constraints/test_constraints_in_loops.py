"""Couplings and constraints between frames in closed loops (E10): each beside the mechanism that it amounts to."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import shiftjax
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.extensions.mechanisms import four_bar
from tests.support.models.mechanisms import CRANK, rod

SAME = 1e-9  # rad: two ways of writing one mechanism, of RK4 at 1 ms over 0.3 s
RELATIVE = 1e-9  # of forces in the same runs
INTEGRATED = 1e-9  # against DOP853 at 1e-12
DISCS = np.array([1.0, 2.0, 0.5])  # designs
I_B, I_C = 0.004, 0.001  # kg m^2 of the discs
SUN, RING = 24.0, 72.0
TRAIN = SUN**2 / ((SUN + RING) ** 2 / I_C + RING**2 / I_B)  # of the sun, with ring and carrier free (Willis 1841)
# kind -> numbers, joints, what the crank feels of it [kg m^2], how far the shaft goes for a turn of the crank
COUPLED: dict[str, tuple[dict[str, Any], tuple[str, ...], float, float]] = {
    "gear": ({"ratio": -2.5}, ("pivot", "b"), I_B / 2.5**2, -1 / 2.5),
    "belt": ({"radius_1": 0.1, "radius_2": 0.25}, ("pivot", "b"), I_B / 2.5**2, 1 / 2.5),
    "mimic": ({"multiplier": 3.0, "offset": -1.0}, ("pivot", "b"), I_B / 9.0, 1 / 3.0),
    "equation": ({"equation": "q[0] == -1 + 0.5 * q[1]"}, ("pivot", "b"), 4.0 * I_B, 2.0),
    "rack": ({"radius": 0.08}, ("b", "pivot"), 2.0 * 0.08**2, 0.08),
    "screw_coupling": ({"pitch": 0.05}, ("b", "pivot"), 2.0 * 0.05**2, 0.05),
    "planetary": ({"sun_teeth": SUN, "ring_teeth": RING}, ("pivot", "b", "c"), TRAIN, 0.0),
    "differential": ({}, ("pivot", "b", "c"), 4.0 * I_B * I_C / (I_B + I_C), 0.0),
}


def coupled(kind: str) -> Model:
    """A four-bar whose crank turns discs beside it, or pushes a slide."""
    numbers, joints, _, _ = COUPLED[kind]
    builder, bar = four_bar()
    of = {"b": I_B, "c": I_C}
    for k, name in enumerate(of):
        if name in joints:
            builder.frame(name, T=(0.0, 1.0 + k, 0.0))
            bar.body(f"disc_{name}", mass=2.0, inertia=(of[name],) * 3)
            slides = kind in ("rack", "screw_coupling")
            bar.joint(name, "Tx" if slides else "Ry", parent=("fixed", name), child=f"disc_{name}",
                      initial_displacement=0.0)  # fmt: skip
    if len(joints) == 3:  # without it their speeds at the start would be open
        bar.entry["joints"][-1]["initial_velocity"] = 0.0
        bar.entry["joints"][0]["initial_velocity"] = 0.0
        bar.entry["joints"][-2]["initial_velocity"] = 0.0
    bar.constraint("tie", kind, joints=[*joints], **numbers)
    return builder.build()


@cache
def heavier(speed: float) -> tuple[Model, float]:
    builder, bar = four_bar()
    bar.entry["joints"][0]["initial_velocity"] = speed
    model = builder.build()
    return model, model.numbers()["a:crank.inertia.Iyy"]


@pytest.mark.parametrize("kind", COUPLED)
def test_a_four_bar_feels_what_its_crank_turns(kind: str) -> None:
    """As more inertia of the crank, i^2 I, of three designs; the row bears what turns the disc."""
    _, joints, felt, turns = COUPLED[kind]
    path = "mass" if kind in ("rack", "screw_coupling") else "inertia.Iyy"
    vary = {f"disc_{name}.{path}": DISCS * {"b": I_B, "c": I_C}[name] for name in joints if name != "pivot"}
    if path == "mass":
        vary = {"disc_b.mass": 2.0 * DISCS}
    channels = ["pivot.q", "b.q", "b.a", "tie.multiplier"]
    result = shiftjax.simulate(coupled(kind), 0.3, 1e-3, vary=vary, channels=channels, output_step=0.05)
    assert (result.status == 0).all() and result.certificate["energy_error"].max() < 1e-8
    model, own = heavier(0.0 if len(joints) == 3 else 2.0)
    other = shiftjax.simulate(model, 0.3, 1e-3, vary={"crank.inertia.Iyy": own + felt * DISCS}, output_step=0.05,
                              channels=["pivot.q"]).channels["pivot.q"]  # fmt: skip
    assert np.abs(result.channels["pivot.q"] - other).max() < SAME and np.ptp(other[:, -1]) > 1e-4
    inertia = (2.0 if path == "mass" else I_B) * DISCS[:, None]
    bears = inertia * result.channels["b.a"]
    if turns:
        assert np.abs(result.channels["b.q"] - turns * (other + 1.0)).max() < SAME * 10
        factor = {"rack": 1.0, "screw_coupling": 1.0}.get(kind, -1.0 / turns)
    else:
        factor = {"planetary": RING / SUN, "differential": -0.5}[kind]
    scale = np.abs(bears).max()
    assert np.abs(factor * result.channels["tie.multiplier"] - bears).max() < RELATIVE * scale and scale > 1e-3


@pytest.mark.parametrize("kind", ["differential", "equation"])
def test_slopes_of_what_has_no_numbers(kind: str) -> None:
    """By the inertia of what is turned, against differences."""
    model = coupled(kind)

    def last(values: Any) -> Any:
        run = shiftjax.simulate(model, 0.1, 1e-3, vary={"disc_b.inertia.Iyy": values}, channels=["hinge.q"])
        return run.channels["hinge.q"][:, -1]

    slope = float(jax.grad(lambda values: last(values).sum())(jnp.asarray([I_B]))[0])
    ends = np.asarray(last(I_B * (1.0 + 1e-2 * np.array([-2.0, -1.0, 1.0, 2.0]))))
    assert slope == pytest.approx(ends @ [1.0, -8.0, 8.0, -1.0] / (12.0 * 1e-2 * I_B), rel=1e-6) and slope != 0.0


def test_a_geneva_wheel_on_a_driven_four_bar() -> None:
    """Its angle in closed form (Norton, Design of Machinery, 8.8), and the drive gives what the wheel takes up."""
    builder, bar = four_bar()
    builder.frame("b", T=(0.0, 1.0, 0.0))
    bar.body("wheel", mass=1.0, inertia=(I_B,) * 3).joint("b", "Ry", parent=("fixed", "b"), child="wheel")
    bar.constraint("tie", "geneva", joints=["b", "pivot"], slots=4.0, middle=-0.6)
    channels = ["pivot.q", "b.q", "b.a", "pivot.drive_load", "tie.multiplier"]
    result = shiftjax.simulate(builder.build(), 0.3, 1e-3, vary={"wheel.inertia.Iyy": [0.0, I_B]}, channels=channels,
                               drive={"pivot": 2.0}, output_step=0.01)  # fmt: skip
    angle = -1.0 + 2.0 * result.time + 0.6
    half = math.pi / 4
    placed = np.arctan2(np.sin(angle), 1.0 / math.sin(half) - np.cos(angle))
    turned = result.channels["b.q"][1]
    assert np.abs(turned - turned[0] + placed - placed[0]).max() < 1e-11
    s = math.sin(half)  # a'' = k (1 - k^2) w^2 sin / (1 + k^2 - 2 k cos)^2 of the arc, k = sin(pi / slots)
    change = s * (s * s - 1.0) * np.sin(angle) / (1.0 + s * s - 2.0 * s * np.cos(angle)) ** 2 * 4.0
    slope = s * (np.cos(angle) - s) / (1.0 + s * s - 2.0 * s * np.cos(angle))
    assert np.abs(result.channels["b.a"][1] + change).max() < 1e-9
    loads = result.channels["pivot.drive_load"]
    assert np.abs(loads[1] - loads[0] - I_B * change * slope).max() < 1e-9 and np.abs(change).max() > 1.0
    assert np.abs(result.channels["tie.multiplier"][1] - I_B * result.channels["b.a"][1]).max() < 1e-11


ARM = np.array([0.06, 0.05, 0.04])  # m, of the table's centre of mass from the crank's tip
TABLE = 2.0  # kg
PULL = np.array([0.0, 0.7, -9.81])  # m/s^2
LEAN = 0.3  # rad, between a surface and the frame in which it is written


def table(kind: str) -> Model:
    """A table on a crank's tip, which does not turn: by balls, rods, planes, and rows between axes."""
    builder = ModelBuilder(gravity=tuple(PULL)).frame("flat", rotation=(math.pi / 2, 0.0, 0.0))
    builder.frame("leaning", rotation=(math.pi / 2 + LEAN, 0.0, 0.0))
    a = builder.assembly("a").body("crank", **rod(CRANK))
    axes = {"flat": {"rotation": (math.pi / 2, 0.0, 0.0)}, "across": {"rotation": (0.0, math.pi / 2, 0.0)}}
    a.body("table", mass=TABLE, inertia=(0.01, 0.012, 0.014), center_of_mass=tuple(ARM), frames=axes)
    a.joint("pivot", "Ry", child="crank", initial_displacement=0.3, initial_velocity=1.0)
    if kind == "same_orientation":
        turned_back = {"rotation": [0.0, -0.3, 0.0]}
        a.joint("pin", "spherical", parent=("crank", "tip"), child="table", initial_displacement=turned_back)
        a.constraint("it", kind, frames=["fixed", "table"])
        return builder.build()
    tip = [CRANK * math.cos(0.3), 0.0, -CRANK * math.sin(0.3)]
    a.joint("free", "float", child="table", initial_displacement={"T": tip})
    if kind == "parallel_axes":
        a.constraint("pin", "coincident", frames=[("crank", "tip"), "table"])
        a.constraint("it", kind, frames=[("fixed", "flat"), ("table", "flat")])
        a.constraint("level", "perpendicular_axes", frames=["fixed", ("table", "across")])
        return builder.build()
    a.constraint("upright", "same_orientation", frames=["fixed", "table"])
    a.constraint("pin", "point_on_line", frames=[("crank", "across"), "table"])
    a.entry["bodies"][0]["frames"].append({"name": "across", "T": [CRANK, 0, 0], "rotation": [math.pi / 2, 0.0, 0.0]})
    if kind == "point_on_plane":
        a.constraint("it", kind, frames=[("fixed", "flat"), "table"])
    else:
        a.constraint("it", kind, frames=[("fixed", "leaning"), "table"], polynomial=[[0.0, -math.tan(LEAN)]])
    return builder.build()


@pytest.mark.parametrize("kind", ["same_orientation", "parallel_axes", "point_on_plane", "point_on_surface"])
def test_a_table_that_a_crank_leads_without_turning_is_a_weight_at_its_tip(kind: str) -> None:
    """(I + m r^2) q'' = (m_c / 2 + m) r g cos q, of three weights; its rows bear F = m (a - g) and the moment of F."""
    masses = TABLE * DISCS
    result = shiftjax.simulate(table(kind), 0.3, 1e-3, vary={"table.mass": masses}, output_step=0.05,
                               channels=["table.position", "it.multiplier"])  # fmt: skip
    assert (result.status == 0).all(), result.messages
    t = result.time
    for k, m in enumerate(masses):
        pull = (0.5 + m) * CRANK * -PULL[2] / (CRANK**2 / 3.0 + m * CRANK**2)
        motion = solve_ivp(lambda _, x, pull=pull: [x[1], pull * np.cos(x[0])], (0.0, t[-1]), [0.3, 1.0], "DOP853",
                           t_eval=t, rtol=1e-12, atol=1e-13)  # fmt: skip
        q, v = motion.y
        x, z = (np.stack(axes, 1) for axes in ((np.cos(q), 0 * q, -np.sin(q)), (-np.sin(q), 0 * q, -np.cos(q))))
        assert np.abs(result.channels["table.position"][k] - CRANK * x).max() < INTEGRATED
        force = m * (CRANK * ((pull * np.cos(q))[:, None] * z - (v**2)[:, None] * x) - PULL)
        moment = np.cross(ARM, force)
        exact = {
            "same_orientation": moment[:, [2, 1, 0]] * [1.0, -1.0, 1.0],
            "parallel_axes": moment[:, [2, 0]] * [1.0, -1.0],  # along y and -x of a frame whose y axis is up
            "point_on_plane": -force[:, 1],
            "point_on_surface": -force[:, 1] * math.cos(LEAN),  # of z + y tan, whose slope is 1 / cos long
        }[kind]
        assert np.abs(result.channels["it.multiplier"][k] - exact).max() < 1e-8 * np.abs(force).max()


TIMES = np.linspace(-0.1, 0.5, 13)
CURVE = CubicSpline(TIMES, TIMES**2, bc_type="natural").derivative(2)
SHAKES = {"times": [-0.1, 0.15, 0.5], "accelerations": [2.0, 6.0, -3.0]}
LAWS: dict[str, tuple[dict[str, Any], Any]] = {  # numbers, and the acceleration [m/s^2]
    "constant_speed": ({"speed": 0.4}, lambda t: 0.0 * t),
    "harmonic": ({"amplitude": 0.2, "frequency": 5.0}, lambda t: -5.0 * np.sin(5.0 * t)),
    "polynomial": ({"coefficients": [0.0, 0.3, -2.0, 1.0]}, lambda t: -4.0 + 6.0 * t),
    "table": ({"times": [*TIMES], "values": [*TIMES**2]}, CURVE),
    "acceleration_table": (SHAKES, lambda t: np.interp(t, SHAKES["times"], SHAKES["accelerations"])),
}
DRIVEN = [*LAWS, "frame_harmonic", "frame_polynomial", "frame_table"]


@pytest.mark.parametrize("kind", DRIVEN)
def test_what_is_driven_on_a_tree_takes_mass_times_acceleration(kind: str) -> None:
    """Of a free block, along y: m (y'' + g) of two masses, by a coordinate or a frame; x goes on freely."""
    numbers, acceleration = LAWS[kind.removeprefix("frame_")]
    builder = ModelBuilder(gravity=(0.0, -3.0, 0.0))
    a = builder.assembly("a").body("block", mass=2.0, inertia=(0.1,) * 3)
    a.joint("free", "translational_3d", child="block", initial_velocity={"x": 0.5})
    of: dict[str, Any] = {"frame": "block", "component": "y"} if "frame" in kind else {"joint": "free.y"}
    a.driver("it", kind, **of, **numbers)
    masses, load = np.array([2.0, 3.0]), "it.multiplier" if "frame" in kind else "free.y.drive_load"
    result = shiftjax.simulate(builder.build(), 0.4, 1e-3, vary={"block.mass": masses}, output_step=0.05,
                               channels=[load, "block.position"])  # fmt: skip
    assert (result.status == 0).all()
    assert np.abs(result.channels["block.position"][:, :, 0] - 0.5 * result.time).max() < SAME
    exact = masses[:, None] * (acceleration(result.time) + 3.0)
    assert np.abs(result.channels[load] - exact).max() < 1e-9


@pytest.mark.parametrize("kind", ["frame_angle_harmonic", "frame_angle_polynomial", "frame_angle_table"])
def test_a_driven_angle_takes_inertia_times_acceleration(kind: str) -> None:
    """The yaw of a disc on its shaft, of two inertias: the row bears I yaw''."""
    numbers, acceleration = LAWS[kind.removeprefix("frame_angle_")]
    a = (builder := ModelBuilder()).assembly("a").body("disc", mass=1.0, inertia=(0.2,) * 3)
    a.joint("shaft", "Rz", child="disc").driver("it", kind, frame="disc", angle="yaw", **numbers)
    moments = np.array([0.2, 0.35])
    result = shiftjax.simulate(builder.build(), 0.4, 1e-3, vary={"disc.inertia.Izz": moments}, output_step=0.05,
                               channels=["it.multiplier"])  # fmt: skip
    assert (result.status == 0).all()
    assert np.abs(result.channels["it.multiplier"] - moments[:, None] * acceleration(result.time)).max() < 1e-9


def test_a_distance_makes_a_conical_pendulum() -> None:
    """w^2 = g / (l cos a), and the row pulls by m g / cos a, of two masses."""
    length, lean, g = 0.5, 0.6, 9.81
    spin = math.sqrt(g / (length * math.cos(lean)))
    radius, deep = length * math.sin(lean), length * math.cos(lean)
    builder = ModelBuilder(gravity=(0.0, 0.0, -g))
    a = builder.assembly("a").body("bob", mass=1.0, inertia=(0.1,) * 3)
    a.joint("free", "translational_3d", child="bob", initial_displacement={"x": radius, "y": 0.0, "z": -deep},
            initial_velocity={"y": spin * radius})  # fmt: skip
    a.constraint("it", "distance", frames=["fixed", "bob"], length=length)
    masses = np.array([1.0, 2.5])
    result = shiftjax.simulate(builder.build(), 0.5, 1e-3, vary={"bob.mass": masses}, output_step=0.1,
                               channels=["bob.position", "it.multiplier"])  # fmt: skip
    turn = spin * result.time
    exact = np.stack([radius * np.cos(turn), radius * np.sin(turn), 0.0 * turn - deep], 1)
    assert np.abs(result.channels["bob.position"] - exact).max() < SAME
    pull = np.abs(result.channels["it.multiplier"])
    assert pull == pytest.approx(np.repeat(masses[:, None] * g / math.cos(lean), len(turn), 1), rel=1e-8)


def test_a_rod_on_a_coincident_point_is_let_go_level() -> None:
    """w^2 = 3 g sin q / l; the point bears 5/2 m g sin q along the rod and 1/4 m g cos q across it; of two masses."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("free", "float", child="rod")
    a.constraint("it", "coincident", frames=["fixed", "rod"])
    scale = np.array([1.0, 2.0])
    vary = {"rod.mass": scale, "rod.inertia.Iyy": scale / 12.0}
    result = shiftjax.simulate(builder.build(), 0.3, 1e-3, vary=vary, output_step=0.05,
                               channels=["rod:tip.position", "rod.angular_velocity", "it.multiplier"])  # fmt: skip
    for k, m in enumerate(scale):
        along = result.channels["rod:tip.position"][k]
        across, sine = np.stack([along[:, 2], along[:, 1], -along[:, 0]], 1), -along[:, 2]
        assert np.abs(result.channels["rod.angular_velocity"][k, :, 1] ** 2 - 3.0 * 9.81 * sine).max() < 1e-8
        force = -2.5 * m * 9.81 * sine[:, None] * along - 0.25 * m * 9.81 * along[:, [0]] * across
        assert np.abs(result.channels["it.multiplier"][k] - force).max() < 1e-8
    assert sine[-1] > 0.3


def test_a_cam_on_a_four_bar() -> None:
    """A round cam beside the crank's shaft lifts a flat face as a sine; the row bears m (y'' + g), of two lifters."""
    radius, beside = 0.05, 0.02
    angles = np.linspace(-np.pi, np.pi, 120, endpoint=False)
    builder, bar = four_bar()
    bar.body("cam", frames={"axis": {"rotation": (-math.pi / 2, 0.0, 0.0)}}, mass=0.3, inertia=(0.001,) * 3)
    bar.joint("key", "rigid", parent="crank", child="cam")
    bar.body("lifter", mass=0.5, inertia=(0.01,) * 3, frames={"tip": {"rotation": (0.0, -math.pi / 2, 0.0)}})
    bar.joint("lift", "Tz", child="lifter", initial_displacement=0.06)
    frames = [("cam", "axis"), ("lifter", "tip")]
    bar.constraint("it", "cam", frames=frames, radii=[*(radius + beside * np.cos(angles))], follower="flat")
    masses = np.array([0.5, 1.0])
    result = shiftjax.simulate(builder.build(), 0.3, 1e-3, vary={"lifter.mass": masses}, output_step=0.05,
                               channels=["pivot.q", "pivot.v", "pivot.a", "lift.q", "it.multiplier"])  # fmt: skip
    assert (result.status == 0).all() and result.certificate["energy_error"].max() < 1e-6
    q, v, a = (result.channels[f"pivot.{what}"] for what in "qva")
    assert np.abs(result.channels["lift.q"] - radius + beside * np.sin(q)).max() < 1e-8, "a spline through 120 radii"
    lifted = beside * (np.sin(q) * v**2 - np.cos(q) * a)
    force = masses[:, None] * (lifted + 9.81)
    assert np.abs(np.abs(result.channels["it.multiplier"]) - force).max() < 1e-4 * force.max()  # second slopes of it

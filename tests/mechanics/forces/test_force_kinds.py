"""Forces of the package (S42, M4, D28, D29, F16): each against its closed form, and each in a closed loop."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.overview import acting_rows
from shiftjax.run.info import text
from tests.extensions.mechanisms import four_bar

RK4 = 1e-8  # relative, of smooth motions at 1 ms
INERTIA = 0.2  # kg m^2
Made = tuple[ModelBuilder, AssemblyBuilder]


def rotor(speed: float = 0.0, angle: float = 0.0) -> Made:
    """A disc on a shaft, without gravity."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("disc", mass=1.0, inertia=(INERTIA,) * 3)
    a.joint("shaft", "Rz", child="disc", initial_displacement=angle, initial_velocity=speed)
    return builder, a


def run(made: Made, span: float, *channels: str, step: float = 1e-3, **more: Any) -> shiftjax.Result:
    result = shiftjax.simulate(made[0].build(), span, step, channels=channels, output_step=span / 10, **more)
    assert result.status == 0, result.messages
    return result


# -- closed forms --------------------------------------------------------------------------------------------------


def test_a_sprung_and_damped_joint() -> None:
    """q = rest + A exp(-d t) cos(w t + phase)."""
    made = rotor(angle=0.5)
    made[1].force("spring", "joint_spring", joint="shaft", k=8.0, rest=0.1, c=0.3)
    found = run(made, 2.0, "shaft.q")
    d, w0 = 0.3 / (2 * INERTIA), math.sqrt(8.0 / INERTIA)
    w, t = math.sqrt(w0**2 - d**2), found.time
    exact = 0.1 + 0.4 * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))
    assert np.abs(found.channels["shaft.q"] - exact).max() < RK4


def test_a_servo_with_a_moving_target() -> None:
    """The error decays as the poles of I s^2 + d s + p say; a limit bounds the torque."""
    made = rotor()
    made[1].force("servo", "servo", joint="shaft", p=5.0, d=2.0 * math.sqrt(5.0 * INERTIA), target=0.3, rate=0.2)
    found, w = run(made, 2.0, "shaft.q"), math.sqrt(5.0 / INERTIA)  # critical damping
    t = found.time
    exact = 0.3 + 0.2 * t - (0.3 + (0.2 + 0.3 * w) * t) * np.exp(-w * t)
    assert np.abs(found.channels["shaft.q"] - exact).max() < RK4
    bounded = rotor()
    bounded[1].force("servo", "servo", joint="shaft", p=5e3, target=1.0, limit=0.5)
    assert run(bounded, 0.1, "shaft.a").channels["shaft.a"][0] == pytest.approx(0.5 / INERTIA, rel=1e-12)


@pytest.mark.parametrize("kind", ["servo", "joint_position_pid"])
def test_a_limit_of_zero_is_none(kind: str) -> None:
    """In a member among others as alone: 0.1 s of p e from rest, cos(w t)."""
    made = rotor()
    joints: dict[str, Any] = {"joint": "shaft"} if kind == "servo" else {"joints": ["shaft", "shaft"]}
    made[1].force("it", kind, p=5.0, target=1.0, limit=0.5, **joints)
    vary = {"it.limit": [0.0, 0.5]}
    result = shiftjax.simulate(made[0].build(), 0.1, 1e-3, vary=vary, channels=["shaft.q"], output_step=0.1)
    turned = result.channels["shaft.q"][:, -1]
    exact = 1.0 - math.cos(0.1 * math.sqrt(5.0 / INERTIA))
    assert turned[0] == pytest.approx(exact, rel=RK4) and turned[1] < 0.2 * exact


def test_motors_run_up() -> None:
    """v = no_load u (1 - exp(-t stall / (I no_load))), by numbers and by a curve of two points."""
    made, curve = rotor(), rotor()
    made[1].force("motor", "dc_motor", joint="shaft", stall=1.5, no_load=30.0, signal=0.8)
    curve[1].force("motor", "torque_curve", joint="shaft", speeds=[0.0, 24.0], loads=[1.2, 0.0])
    for each in (made, curve):
        found = run(each, 3.0, "shaft.v")
        exact = 24.0 * (1.0 - np.exp(-found.time * 1.5 / (INERTIA * 30.0)))
        assert np.abs(found.channels["shaft.v"] - exact).max() < RK4
        assert found.certificate["energy_error"] < RK4


def test_a_controller_settles_as_its_poles_say() -> None:
    """By p and i: v = target (1 - e^(-a t) (cos w t - (a / w) sin w t)), of I s^2 + p s + i; of a frame alike."""
    p, i, target = 0.8, 4.0, 5.0
    joint, frame = rotor(), rotor()
    gains = {"p": p, "i": i, "target": target}
    joint[1].force("speed", "joint_speed_pid", joints=["shaft", "shaft"], **gains)
    frame[1].force("speed", "frame_speed_pid", frame="disc", joint="shaft", dof="Rz", **gains)
    a = p / (2 * INERTIA)
    w = math.sqrt(i / INERTIA - a**2)
    for each in (joint, frame):
        found = run(each, 4.0, "shaft.v", "speed.integral")
        t = found.time
        exact = target * (1.0 - np.exp(-a * t) * (np.cos(w * t) - a / w * np.sin(w * t)))
        assert np.abs(found.channels["shaft.v"] - exact).max() < RK4
        assert found.certificate["energy_error"] < RK4


def test_a_controller_of_positions_follows_a_table() -> None:
    """It reads one joint and acts on another: a target that grows evenly is followed at a constant distance."""
    builder, a = rotor()
    a.body("cart", mass=1.0, inertia=(0.1,) * 3).joint("rail", "Tx", child="cart")
    a.constraint("rack", "rack", joints=["rail", "shaft"], radius=0.1)
    numbers = {"p": 40.0, "d": 8.0, "i": 60.0, "times": [0.0, 4.0], "targets": [0.0, 2.0]}
    a.force("follow", "joint_position_pid", joints=["rail", "shaft"], **numbers)
    found = run((builder, a), 6.0, "rail.q", "rail.v")
    assert (
        found.channels["rail.v"][6] == pytest.approx(0.5, abs=5e-3) and abs(found.channels["rail.q"][-1] - 2.0) < 5e-2
    )


@pytest.mark.parametrize("kind", ["joint_position_pid", "frame_position_pid"])
def test_a_controller_of_positions_settles_as_its_poles_say(kind: str) -> None:
    """Of m s^3 + d s^2 + p s + i = m (s + a)^3: the error is target (1 + a t - (a t)^2) e^(-a t)."""
    m, a_, target = 2.0, 3.0, 0.4
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("cart", mass=m, inertia=(0.1,) * 3).joint("rail", "Tx", child="cart")
    reads: dict[str, Any] = {"joints": ["rail", "rail"]} if "joint" in kind else {"frame": "cart", "joint": "rail"}
    a.force("hold", kind, p=3.0 * m * a_**2, d=3.0 * m * a_, i=m * a_**3, target=target, **reads)
    found = run((builder, a), 2.0, "rail.q")
    t = a_ * found.time
    assert np.abs(found.channels["rail.q"] - target * (1.0 - (1.0 + t - t**2) * np.exp(-t))).max() < RK4


def test_controllers_of_public_files_are_read() -> None:
    """S42: their own notation becomes kinds; what they cannot be is refused."""
    document = to_dict(looped("joint_spring"))
    pid: dict[str, Any] = {"type": "pid", "name": "cruise", "p": -60.0, "i": -240.0, "d": 0.0, "target": 25.0}
    frame = {"type": "frame", "coordinate_system": "local", "body_frame_pair": ["crank", "tip"], "dof": "Tx"}
    output = {"type": "joint", "joint": "pivot"}
    document["assemblies"][0]["force_modules"] = [{**pid, "input": frame, "output": output}]
    model = load(document)
    (module,) = model.assemblies[0].force_modules
    assert module.type == "frame_speed_pid" and model.numbers()["a:cruise.i"] == -240.0 and not model.unsupported()
    assert load(to_dict(model)) == model
    for change, message in (
        ({"d": 1.0}, "allowed: 0 where a speed is read"),
        ({"input": {**frame, "target_type": "position"}}, "allowed: global, for the position of a frame"),
        ({"input": {"type": "body"}}, "allowed: one of frame, joint"),
    ):
        document["assemblies"][0]["force_modules"] = [{**pid, "input": frame, "output": output, **change}]
        with pytest.raises(ModelError, match=message):
            load(document)


def test_dry_friction_stops_a_rotor() -> None:
    """It slows down evenly, and stands still from the instant on at which it has come to rest."""
    made = rotor(speed=3.0)
    made[1].force("rub", "coulomb_friction", joint="shaft", level=0.4, slip_speed=1e-3)
    found = run(made, 2.0, "shaft.v", "shaft.q")
    v, t = found.channels["shaft.v"], found.time
    assert np.abs(v - np.maximum(3.0 - 0.4 / INERTIA * t, 0.0)).max() < 1e-5  # it fades below 1e-3 rad/s
    assert found.channels["shaft.q"][-1] == pytest.approx(3.0**2 * INERTIA / (2 * 0.4), abs=1e-4)


@pytest.mark.parametrize(("slope", "slides"), [(0.28, False), (0.30, True)])
def test_a_block_on_an_incline(slope: float, slides: bool) -> None:
    """Of friction 0.3 it slides from atan(0.3) = 0.2915 on; below it bristles hold it (LuGre)."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("incline", rotation=(0.0, slope, 0.0))
    a = builder.assembly("a").body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    a.joint("way", "Tx", parent=("fixed", "incline"), child="block")
    level = 0.3 * 2.0 * 9.81 * math.cos(slope)
    numbers = {"static": level, "kinetic": level, "stribeck_speed": 0.01, "stiffness": 1e5, "damping": 300.0}
    a.force("rub", "lugre_friction", joint="way", **numbers)
    found = run((builder, a), 1.0, "way.q", "way.a", "way.v", step=2e-4)
    if slides:
        acceleration = 9.81 * (math.sin(slope) - 0.3 * math.cos(slope))
        assert found.channels["way.a"][-1] == pytest.approx(acceleration, rel=1e-6)
    else:
        assert abs(found.channels["way.v"][-1]) < 1e-9 and found.channels["way.q"][-1] < 1e-3  # bristles of 6e-5 m


def test_stick_and_slip_on_a_belt() -> None:
    """The period of a sprung mass on a belt, of static and kinetic friction without a transition: 1 %.

    T = 2 a / V + 2 (pi - atan(a w / V)) / w, a = (static - kinetic) / k (Den Hartog, Mechanical Vibrations, ch. 7).
    """
    m, k, V, static, kinetic = 1.0, 100.0, 0.1, 6.0, 4.0
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("belt", mass=1.0, inertia=(0.1,) * 3).body("mass", mass=m, inertia=(0.1,) * 3)
    a.joint("way", "Tx", child="belt").joint("slide", "Tx", parent="belt", child="mass")
    a.restraint("spring", "spring", frames=[("fixed", "origin"), "mass"], distance_type="Tx", coefficients=[[k, 0.0]])
    numbers = {"static": static, "kinetic": kinetic, "stribeck_speed": 1e-3, "stiffness": 1e7, "damping": 3e3}
    a.force("rub", "lugre_friction", joint="slide", **numbers)
    found = shiftjax.simulate(
        builder.build(), 4.0, 2.5e-6, drive={"way": V}, channels=["mass.position"], output_step=1e-3, accuracy="local"
    )
    x, t = found.channels["mass.position"][:, 0], found.time
    peaks = [j for j in range(1, len(x) - 1) if x[j - 1] < x[j] >= x[j + 1] and t[j] > 1.0]
    way, w = (static - kinetic) / k, math.sqrt(k / m)
    period = 2 * way / V + 2 * (math.pi - math.atan(way * w / V)) / w
    assert np.diff(t[peaks]) == pytest.approx(period, rel=0.01) and len(peaks) > 2


def test_a_stop() -> None:
    """Undamped, a rotor comes back as fast as it came; pressed on, it stands at k (d - blend / 2)."""
    made = rotor(speed=2.0)
    made[1].force("end", "stop", joint="shaft", upper=0.3, k=2e3, blend=1e-3)
    found = run(made, 0.5, "shaft.v", step=1e-4)
    assert found.channels["shaft.v"][-1] == pytest.approx(-2.0, rel=1e-6)
    pressed = rotor()
    pressed[1].force("end", "stop", joint="shaft", upper=0.0, k=2e3, c=20.0, blend=1e-3)
    pressed[1].force("load", "constant_load", joint="shaft", load=6.0)
    deep = run(pressed, 2.0, "shaft.q").channels["shaft.q"][-1]
    assert deep == pytest.approx(6.0 / 2e3 + 0.5e-3, rel=1e-6)


def free(**body: Any) -> Made:
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("block", mass=2.0, inertia=(0.02, 0.03, 0.04), **body)
    a.joint("free", "float", child="block")
    return builder, a


def test_a_bushing_yields_as_its_matrix_says() -> None:
    """At rest under a wrench x = K^-1 F, all six coupled; without dampers its energy is kept at any turn."""
    stiffness = [900.0, 50.0, 0.0, 50.0, 800.0, 20.0, 0.0, 20.0, 700.0]
    turning = [90.0, 5.0, 1.0, 5.0, 80.0, 2.0, 1.0, 2.0, 70.0]
    coupling = [3.0, 1.0, 0.0, 2.0, -4.0, 1.0, 0.0, 0.5, 2.0]
    springs = {"stiffness": stiffness, "turning_stiffness": turning, "coupling": coupling}
    made = free()
    dampers = {"damping": [40.0] * 3, "turning_damping": [2.0] * 3}
    made[1].force("bush", "bushing", frames=["fixed", "block"], **springs, **dampers)
    force, torque = [1.0, -2.0, 3.0], [0.2, 0.1, -0.3]
    made[1].force("push", "constant_wrench", frame="block", force=force, moment=torque, axes="world")
    found = run(made, 4.0, "block.position", "block.orientation")
    K = np.block([[np.reshape(stiffness, (3, 3)), np.reshape(coupling, (3, 3))],
                  [np.reshape(coupling, (3, 3)).T, np.reshape(turning, (3, 3))]])  # fmt: skip
    x = np.linalg.solve(K, [*force, *torque])
    w = found.channels["block.orientation"][-1]
    assert found.channels["block.position"][-1] == pytest.approx(x[:3], abs=2e-5)  # linear: turns of 6e-3 rad
    assert 2.0 * w[1:] * w[0] == pytest.approx(x[3:], abs=2e-5)
    swing = free()
    swing[1].entry["joints"][0]["initial_velocity"] = [1.0, -0.5, 0.3, 8.0, 20.0, -9.0]
    swing[1].force("bush", "bushing", frames=["fixed", "block"], **springs)
    kept = run(swing, 1.0, "energy.total", step=2e-4)
    assert np.ptp(kept.channels["energy.total"]) < 1e-8 * 13.0  # of its energy at the start [J]


def ball(kind: str, speed: float, **numbers: Any) -> Made:
    """A ball that comes down on a plane or a ball, without gravity."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("ball", mass=2.0, inertia=(0.008,) * 3)
    a.joint("fall", "Tz", child="ball", initial_displacement=0.12, initial_velocity=-speed)
    a.force("hit", kind, frames=["ball", "fixed"], **numbers)
    return builder, a


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("ball_on_plane", {"radius": 0.1}),
        ("ball_on_ball", {"radius_1": 0.06, "radius_2": 0.04}),
        ("ellipsoid_on_plane", {"radii": [0.3, 0.2, 0.1]}),
        ("capsule_on_plane", {"radius": 0.1, "length": 0.0}),
    ],
)
def test_restitution(kind: str, numbers: dict[str, Any]) -> None:
    """By the integral of m v dv = -k d^2 (1 + c v) dd: v / c - ln(1 + c v) / c^2 is alike on both ways."""
    speed, c = 1.2, 0.4
    made = ball(kind, speed, k=1e8, damping=c, **numbers)
    found = run(made, 0.1, "fall.v", step=2e-5)
    work = lambda v: v / c - math.log(1.0 + c * v) / c**2  # noqa: E731
    back = brentq(lambda v: work(-v) - work(speed), 0.1 * speed, speed, xtol=1e-12)
    assert found.channels["fall.v"][-1] == pytest.approx(back, rel=1e-5)
    assert found.certificate["energy_error"] < 1e-6


def test_a_ball_rolls_down_an_incline() -> None:
    """a = 5/7 g sin(slope) where friction is enough, g (sin - mu cos) where it slips."""
    slope = 0.3
    for mu, exact in ((0.5, 5 / 7 * 9.81 * math.sin(slope)), (0.05, 9.81 * (math.sin(slope) - 0.05 * math.cos(slope)))):
        builder = ModelBuilder(gravity=(9.81 * math.sin(slope), 0.0, -9.81 * math.cos(slope)))
        a = builder.assembly("a").body("ball", mass=2.0, inertia=(0.4 * 2.0 * 0.1**2,) * 3)
        deep = (2.0 * 9.81 * math.cos(slope) / 1e9) ** 0.5
        start = {"T": [0.0, 0.0, 0.1 - deep]}
        a.joint("free", "float", child="ball", initial_displacement=start)
        numbers = {"radius": 0.1, "k": 1e9, "damping": 1.0, "friction_coefficient": mu, "slip_speed": 1e-4}
        a.force("floor", "ball_on_plane", frames=["ball", "fixed"], **numbers)
        found = run((builder, a), 0.5, "ball.velocity", step=5e-5)
        v = found.channels["ball.velocity"][:, 0]
        assert (v[-1] - v[2]) / 0.4 == pytest.approx(exact, rel=2e-3)  # the ball sinks in by 1.4e-4 m of 0.1


# -- in a closed loop ----------------------------------------------------------------------------------------------

SPRINGS = {
    "stiffness": [300.0] * 3,
    "turning_stiffness": [1.0] * 3,
    "damping": [2.0] * 3,
    "turning_damping": [0.01] * 3,
}
CONTACT = {"k": 1e5, "damping": 0.5, "friction_coefficient": 0.2, "slip_speed": 0.05}
FLOOR = [("crank", "tip"), ("fixed", "floor")]
HILL = {"xs": [-0.1, 0.1, 0.3, 0.5], "ys": [-0.3, 0.0, 0.3], "polynomial": [[0.0, 0.01], [0.003]], "size": 0.2,
        "heights": [[0.01, 0.0, 0.01, 0.02], [0.01, 0.005, 0.006, 0.03], [0.03, 0.02, 0.01, 0.02]]}  # fmt: skip
SLOT = {"length": 0.4, "play": 0.005, "wall": 0.12, "mouth": 0.15}
TORQUES = {"speeds": [-9.0, 0.0, 9.0], "loads": [1.0, 0.4, 0.0]}
LUGRE = {"static": 0.8, "kinetic": 0.5, "stribeck_speed": 0.3, "stiffness": 40.0, "damping": 0.3, "viscous": 0.05}
SEAT = {"radius": 0.03, "axial_radius": 0.05, "span": 0.1, "preload": 3.0}
BRISTLES = {
    "static_coefficient": 0.5,
    "kinetic_coefficient": 0.3,
    "stribeck_speed": 0.3,
    "stiffness": 15.0,
    "damping": 0.1,
}
KINDS: dict[str, tuple[dict[str, Any], str]] = {  # what its entry says, and a number of it
    "joint_spring": ({"joint": "hinge", "k": 6.0, "rest": -1.2, "c": 0.3}, "it.k"),
    "servo": ({"joint": "pivot", "p": 3.0, "d": 0.4, "target": -1.0, "rate": 1.0, "limit": 2.0}, "it.p"),
    "dc_motor": ({"joint": "pivot", "stall": 1.5, "no_load": 12.0}, "it.stall"),
    "torque_curve": ({"joint": "pivot", **TORQUES}, "it.loads[1]"),
    "joint_position_pid": ({"joints": ["hinge", "pivot"], "p": 3.0, "d": 0.2, "i": 1.0, "target": -1.3}, "it.i"),
    "joint_speed_pid": ({"joints": ["hinge", "pivot"], "p": 0.5, "i": 1.0, "target": 1.0, "limit": 3.0}, "it.p"),
    "frame_position_pid": ({"frame": ("rocker", "tip"), "joint": "pivot", "p": 30.0, "target": 0.5}, "it.target"),
    "frame_speed_pid": ({"frame": ("coupler", "tip"), "joint": "pivot", "p": 3.0, "i": 9.0, "target": 0.2}, "it.p"),
    "coulomb_friction": ({"joint": "hinge", "level": 0.3, "slip_speed": 0.3, "viscous": 0.05}, "it.level"),
    "lugre_friction": ({"joint": "hinge", **LUGRE}, "it.stiffness"),
    "bearing_friction": ({"joint": "joint", "friction_coefficient": 0.4, "slip_speed": 0.5, **SEAT}, "it.radius"),
    "bearing_bristles": ({"joint": "joint", **BRISTLES, **SEAT}, "it.stiffness"),
    "stop": ({"joint": "hinge", "lower": -1.35, "upper": -1.2, "k": 60.0, "c": 1.0, "blend": 0.02}, "it.k"),
    "bushing": ({"frames": [("fixed", "shaft"), ("rocker", "tip")], **SPRINGS}, "it.stiffness[0]"),
    "ball_on_plane": ({"frames": FLOOR, "radius": 0.05, **CONTACT}, "it.k"),
    "ball_on_terrain": ({"frames": FLOOR, "radius": 0.05, **HILL, **CONTACT}, "it.heights[1][2]"),
    "pin_in_slot": ({"frames": [("crank", "tip"), ("fixed", "slot")], **SLOT, **CONTACT}, "it.play"),
    "capsule_on_plane": ({"frames": FLOOR, "radius": 0.05, "length": 0.04, **CONTACT}, "it.k"),
    "ellipsoid_on_plane": ({"frames": FLOOR, "radii": [0.06, 0.02, 0.05], **CONTACT}, "it.k"),
    "ball_on_ball": ({"frames": FLOOR, "radius_1": 0.2, "radius_2": 0.13, **CONTACT}, "it.k"),
}


def looped(kind: str) -> Model:
    builder, bar = four_bar()
    builder.frame("floor", T=(0.0, 0.0, 0.14)).frame("slot", T=(0.0, 0.0, 0.15), rotation=(math.pi / 2, 0.0, 0.0))
    bar.force("it", kind, **KINDS[kind][0])
    return builder.build()


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_closed_loop_with_slopes(kind: str) -> None:
    """The file holds it; three designs at once are those alone; energy balances; slopes are those of differences."""
    model, number = looped(kind), KINDS[kind][1]
    assert load(to_dict(model)) == model and model.number_units()[f"a:{number}"]
    value = model.numbers()[f"a:{number}"]

    def end(values: Any) -> Any:
        channels = ["pivot.q", "hinge.v"]
        return shiftjax.simulate(model, 0.2, 5e-4, vary={number: values}, channels=channels, output_step=0.1)

    batch, alone = end(value * np.array([0.5, 1.0, 2.0])), end(np.array([value]))
    assert (batch.status == 0).all() and (batch.certificate["energy_error"] < 1e-3).all()  # contacts that begin bend
    assert batch.channels["hinge.v"][1].tobytes() == alone.channels["hinge.v"][0].tobytes()
    assert np.ptp(batch.channels["hinge.v"][:, -1]) > 1e-4, "the number matters"
    last = lambda values: end(values).channels["hinge.v"][:, -1].sum()  # noqa: E731
    slope, h = jax.grad(last)(jnp.asarray([value]))[0], 1e-3 * value
    ends = [float(last(np.array([value + k * h]))) for k in (-2, -1, 1, 2)]
    difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)  # of order 4
    assert slope == pytest.approx(difference, rel=1e-5)  # forces of contacts bend where they begin


BUSY: dict[str, tuple[str, dict[str, Any]]] = {  # of a kind of each sort, on every joint of the loop
    "spring": ("joint_spring", {"joint": "pin", "k": 2.0, "rest": 0.3, "c": 0.1}),
    "servo": ("servo", {"joint": "pivot", "p": 3.0, "d": 0.4, "target": -1.0, "rate": 1.0, "limit": 2.0}),
    "pid": ("joint_position_pid", {"joints": ["hinge", "pivot"], "p": 3.0, "d": 0.2, "i": 1.0, "target": -1.3}),
    "bristles": ("lugre_friction", {"joint": "joint", **LUGRE}),
    "end": ("stop", {"joint": "joint", "lower": -0.9, "k": 60.0, "c": 1.0, "blend": 0.02}),
    "bush": ("bushing", KINDS["bushing"][0]),
    "floor": ("ball_on_plane", {"frames": FLOOR, "radius": 0.05, **CONTACT}),
}
CUT = 1e-9  # rad or rad/s, after 0.1 s: other coordinates are integrated, whose truncation is 1.6e-10 at 0.25 ms


@pytest.fixture(scope="module")
def busy() -> Model:
    """All of `BUSY`, and a disc on a gear behind the crank."""
    builder, bar = four_bar()
    builder.frame("floor", T=(0.0, 0.0, 0.14)).frame("axle", T=(0.0, 0.4, 0.0))
    bar.body("disc", mass=0.5, inertia=(2e-3,) * 3).joint("axle", "Ry", parent=("fixed", "axle"), child="disc")
    bar.constraint("gear", "gear", joints=["axle", "pivot"], ratio=-2.5)
    for name, (kind, entry) in BUSY.items():
        bar.force(name, kind, **entry)
    return builder.build()


def test_what_acts_on_what_is_listed(busy: Model) -> None:
    """`info`: type, joints or frames, and numbers with their units, of every force and coupling."""
    rows = {row[0]: row[1:] for row in acting_rows(busy.acting(), busy.coordinate_units())}
    assert list(rows) == [f"a:{name}" for name in (*BUSY, "gear")]
    assert rows["a:gear"] == ("gear", "a:axle, a:pivot", "ratio -2.5")
    assert rows["a:end"] == ("stop", "a:joint", "lower -0.9 rad, k 60 N m/rad, c 1 N m s/rad, blend 0.02 rad")
    assert rows["a:floor"][1] == "a:crank:tip, fixed:floor"
    report = text(busy)
    assert all(f"\n{path} " in report for path in rows)


def test_rows_of_numbers_are_counted() -> None:
    """Of a table of heights, and of forces at times: they ended `info` with a TypeError."""
    builder, bar = four_bar()
    builder.frame("floor", T=(0.0, 0.0, 0.14))
    bar.force("hill", "ball_on_terrain", **KINDS["ball_on_terrain"][0])
    bar.force("gust", "table_wrench", frame="crank", times=[0.0, 1.0], forces=[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    model = builder.build()
    rows = {row[0]: row[3] for row in acting_rows(model.acting(), model.coordinate_units())}
    assert rows["a:gust"] == "times 0 1 s, 2 forces"
    assert "xs -0.1 0.1 0.3 0.5 m, ..." in rows["a:hill"] and "ball_on_terrain" in model._repr_html_() + text(model)


def moved(model: Model, span: float, step: float = 5e-4, **more: Any) -> shiftjax.Result:
    channels = ["pivot.q", "hinge.v", "joint.q", "axle.v", "pid.integral", "bristles.bend", "gear.multiplier"]
    result = shiftjax.simulate(model, span, step, channels=channels, output_step=span, **more)
    assert result.status == 0, result.messages
    return result


def farthest(one: shiftjax.Result, other: shiftjax.Result) -> float:
    return max(float(np.abs(one.channels[name][-1] - x[-1]).max()) for name, x in other.channels.items())


@pytest.mark.parametrize("joint", ["pivot", "pin", "hinge"])
def test_f16_forces_do_not_depend_on_the_cut(busy: Model, joint: str) -> None:
    """F16: stop, servo, controller, bushing, contact, bristles and gear act alike whatever joint is cut."""
    assert farthest(*(moved(busy, 0.1, 2.5e-4, cut=[cut]) for cut in (joint, "joint"))) < CUT


def test_backends_agree(busy: Model) -> None:
    """Ten steps of `xla` and of `cpu`, to rounding; f32 to its digits."""
    cpu = moved(busy, 5e-3, backend="cpu")
    assert farthest(moved(busy, 5e-3, backend="xla"), cpu) < 1e-12
    assert farthest(moved(busy, 5e-3, backend="cpu", precision="f32"), cpu) < 5e-5 * 4.0  # of speeds up to 4 rad/s


def test_states_go_on_with_a_run(busy: Model) -> None:
    """Integral and bristles start where the run before ended: the bits are those of one run."""
    half = moved(busy, 0.05)
    rest, whole = moved(busy, 0.05, start=half), moved(busy, 0.1)
    assert abs(half.channels["pid.integral"][-1]) > 1e-4 and abs(half.channels["bristles.bend"][-1]) > 1e-4
    for name, x in whole.channels.items():
        assert rest.channels[name][-1] == x[-1], name


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "curve": ("torque_curve", {"joint": "pivot", "speeds": [0.0, 1.0], "loads": [1.0, 2.0, 3.0]}, "one load for each"),
    "bushing": ("bushing", {"frames": FLOOR, **SPRINGS, "stiffness": [1.0] * 4}, "of 4 numbers, not 3 or 9"),
    "lopsided": ("bushing", {"frames": FLOOR, **SPRINGS, "stiffness": [1.0, 2.0, *[0.0] * 7]}, "not symmetric"),
    "ellipsoid": ("ellipsoid_on_plane", {"frames": FLOOR, "radii": [0.1, 0.0, 0.1], "k": 1.0}, "a radius of 0"),
    "blend": ("stop", {"joint": "pivot", "k": 1.0, "blend": 0.0}, "blend"),
    "ends": ("stop", {"joint": "pivot", "k": 1.0, "blend": 0.1}, "neither a lower nor an upper end"),
    "crossed": ("stop", {"joint": "pivot", "k": 1.0, "blend": 0.1, "lower": 1.0, "upper": -1.0}, "not below the upper"),
    "pulling": ("stop", {"joint": "pivot", "k": -1.0, "blend": 0.1, "upper": 1.0}, r"a k of 0 or more"),
    "point": ("torque_curve", {"joint": "pivot", "speeds": [0.0], "loads": [1.0]}, "allowed: 2 numbers or more"),
    "driving": ("coulomb_friction", {"joint": "pivot", "level": -1.0, "slip_speed": 0.1}, "a level of 0 or more"),
    "rising": ("lugre_friction", {"joint": "pivot", **LUGRE, "kinetic": 0.9}, "kinetic level above the static one"),
    "loose": ("lugre_friction", {"joint": "pivot", **LUGRE, "stiffness": 0.0}, "a stiffness of above 0"),
    "motor": ("dc_motor", {"joint": "pivot", "stall": -1.0, "no_load": 3.0}, "a stall of 0 or more"),
    "negative": ("bushing", {"frames": FLOOR, **SPRINGS, "damping": [0.0, -1.0, 0.0]}, "damping below 0"),
    "bouncy": ("ball_on_plane", {"frames": FLOOR, "k": 1.0, "damping": -1.0}, "a damping of 0 or more"),
    "points": (
        "ball_on_ball",
        {"frames": FLOOR, "radius_1": 0.0, "radius_2": 0.0, "k": 1.0},
        "points that never touch",
    ),
    "jointless": ("frame_speed_pid", {"frame": "crank", "p": 1.0}, r"joint: found nothing; .* Name a joint\."),
    "itself": (
        "bushing",
        {"frames": ["crank", ("crank", "tip")], **SPRINGS},
        "two frames of a:crank, which never move",
    ),
    "ground": ("ball_on_plane", {"frames": ["fixed", ("fixed", "floor")], "k": 1.0}, "ground, which no force moves"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_force_can_be_is_refused(case: str) -> None:
    kind, entry, message = WRONG[case]
    builder, bar = four_bar()
    builder.frame("floor", T=(0.0, 0.0, 0.14))
    bar.force("it", kind, **entry)
    with pytest.raises(ModelError, match=message):
        builder.build()

"""MJCF files (M61, D3): trees move as closed forms and products of matrices say, with MuJoCo's coordinates."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import load, save
from shiftjax.cli import main
from shiftjax.formats.robots.mjcf.masses import principal, volume
from shiftjax.formats.robots.mjcf.model import read
from shiftjax.mechanism.model import Model
from shiftjax.rotations import rotation_of_vector
from tests.support.models.mjcf_text import INERTIAL, model_of, mujoco, notes_of, words

ROUNDING = 1e-14  # m, 1, or of numbers of the size 1: some ten roundings
G = 9.81


def homogeneous(R: Any, p: Any) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = R, p
    return out


def turn(vector: np.ndarray) -> np.ndarray:
    return np.array(rotation_of_vector(vector.tolist()))


def hinge(axis: np.ndarray, at: np.ndarray, angle: float) -> np.ndarray:
    """A turn about an axis through a point."""
    R = turn(axis / np.linalg.norm(axis) * angle)
    return homogeneous(R, at - R @ at)


def slide(axis: np.ndarray, way: float) -> np.ndarray:
    return homogeneous(np.eye(3), axis / np.linalg.norm(axis) * way)


def body(inside: str = INERTIAL, more: str = "", name: str = "a") -> str:
    return f'<body name="{name}" {more}>{inside}</body>'


def at_of(model: Model, q: dict[str, float] | None = None, v: dict[str, float] | None = None) -> shiftjax.Configuration:
    return shiftjax.configuration(model, q=q or {}, v=v or {})


def accelerations(model: Model, **given: Any) -> dict[str, float]:
    at = at_of(model, **given)
    return dict(zip((name.partition(":")[2] for name in at.speed_names), at.accelerations().tolist(), strict=True))


def turned_to(R: np.ndarray, S: np.ndarray) -> float:
    return float(np.abs(R - S).max())


def test_m61_orientations_are_stated_in_five_ways() -> None:
    """quat, axisangle, xyaxes and zaxis of one rotation, and euler as its product of three turns."""
    draw = np.random.default_rng(1)
    axis = draw.normal(size=3)
    axis /= np.linalg.norm(axis)
    angle = 2.3
    R = turn(axis * angle)
    quat = [math.cos(angle / 2), *(math.sin(angle / 2) * axis)]
    skewed = [*(3.0 * R[:, 0]), *(R[:, 1] - 0.4 * R[:, 0])]
    stated = {
        "quat": words([5.0 * x for x in quat]),
        "axisangle": words([*(2.0 * axis), math.degrees(angle)]),
        "xyaxes": words(skewed),
    }
    world = "".join(body(more=f'{key}="{value}"', name=key) for key, value in stated.items())
    z = draw.normal(size=3)
    angles = draw.uniform(-170, 170, 3)
    world += body(more=f'zaxis="{words(z)}"', name="zaxis") + body(more=f'euler="{words(angles)}"', name="euler")
    x, y, w = (turn(np.radians(a) * np.eye(3)[k]) for k, a in zip((0, 2, 1), angles, strict=True))
    for sequence, product in (("xzy", x @ y @ w), ("XZY", w @ y @ x)):
        at = at_of(model_of(f'<compiler eulerseq="{sequence}"/>', world=world))
        assert turned_to(at.pose("euler")[:3, :3], product) < ROUNDING
        for key in stated:
            assert turned_to(at.pose(key)[:3, :3], R) < ROUNDING, key
        tilted = at.pose("zaxis")[:3, :3]
        z /= np.linalg.norm(z)
        assert np.abs(tilted[:, 2] - z).max() < ROUNDING
        # the shortest turn from z: its trace is 1 + 2 cos of the angle between them
        assert np.trace(tilted) == pytest.approx(1.0 + 2.0 * z[2], abs=ROUNDING)


def test_m61_joints_of_one_body_are_a_chain_of_turns_about_its_axes() -> None:
    """X_PB prod_k D_k(q_k - ref_k), each D about or along the axis that the file states in the body, at its `pos`."""
    draw = np.random.default_rng(2)
    R, p, inner = turn(draw.normal(size=3)), draw.normal(size=3), draw.normal(size=3)
    axes, places = draw.normal(size=(3, 3)), draw.normal(size=(3, 3))
    q, ref = draw.uniform(-1, 1, 3), (0.3, -0.2, 0.0)
    quat = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (2 * math.sqrt(1 + np.trace(R)))
    whole = words([math.sqrt(1 + np.trace(R)) / 2, *quat])
    joints = "".join(
        f'<joint name="j{k}" type="{type}" axis="{words(axes[k])}" pos="{words(places[k])}" ref="{ref[k]}"/>'
        for k, type in enumerate(("hinge", "slide", "hinge"))
    )
    held = body(INERTIAL, f'pos="{words(inner)}"', name="b")
    model = model_of(
        '<compiler angle="radian"/>',
        world=body(joints + INERTIAL + held, f'pos="{words(p)}" quat="{whole}"'),
    )
    starts = {path: item.initial_displacement for path, item in model.joints() if item.type != "rigid"}
    assert starts == {f"m:j{k}": ref[k] for k in range(3)}
    drawn = at_of(model)
    assert np.abs(drawn.pose("a") - homogeneous(R, p)).max() < ROUNDING, "at ref a body stands where it is drawn"
    at = at_of(model, {f"j{k}": q[k] for k in range(3)})
    first, second, third = (
        hinge(axes[0], places[0], q[0] - ref[0]), slide(axes[1], q[1] - ref[1]), hinge(axes[2], places[2], q[2])
    )  # fmt: skip
    expected = homogeneous(R, p) @ first @ second @ third
    assert np.abs(at.pose("a") - expected).max() < 10 * ROUNDING
    assert np.abs(at.pose("b") - expected @ homogeneous(np.eye(3), inner)).max() < 10 * ROUNDING
    assert {path: item.mass for path, item in model.bodies()} == {"m:a": 1, "m:b": 1, "m:a_j0": 0, "m:a_j1": 0}


def test_m61_frames_and_classes_stand_between_bodies_and_their_parts() -> None:
    """A frame moves what is in it; a class gives what an element leaves out, the inner one before the outer one."""
    defaults = (
        '<default><joint damping="1" axis="1 0 0"/><default class="c"><joint damping="2"/>'
        '<default class="d"><joint axis="0 1 0"/></default></default></default>'
    )
    inside = (
        '<joint name="{0}1"/><joint name="{0}2" class="d"/><joint name="{0}3" class="main" damping="5"/>' + INERTIAL
    )
    world = (
        '<frame pos="0 0 2" euler="0 0 90" childclass="c"><frame pos="1 0 0">'
        + body(inside.format("a"), 'pos="1 0 0"')
        + "</frame></frame>"
        + body(inside.format("b"), name="b")
    )
    model = model_of(defaults, world=world)
    joints = {path.partition(":")[2]: (item.damping, item.axis) for path, item in model.joints()}
    x, y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    assert joints == {
        "a1": ((0.0, 2.0), x), "a2": ((0.0, 2.0), y), "a3": ((0.0, 5.0), x),
        "b1": ((0.0, 1.0), x), "b2": ((0.0, 2.0), y), "b3": ((0.0, 5.0), x),
    }  # fmt: skip
    assert np.abs(at_of(model).pose("a")[:3, 3] - [0, 2, 2]).max() < ROUNDING


def test_m61_springs_dampers_and_armatures_act_at_joints() -> None:
    """(I + m r^2 + armature) q'' = -k (q - springref) - d q' - m g r cos q of a hinge; of a slide (m + armature)."""
    arm = (
        '<joint name="h" axis="0 -1 0" stiffness="3" springref="10" damping="0.2" armature="0.7"/>'
        '<inertial pos="0.5 0 0" mass="2" diaginertia="0.1 0.3 0.3"/>'
    )
    block = '<joint name="s" type="slide" axis="0 0 2" stiffness="8" springref="0.1" damping="0.5" armature="1.5"/>'
    model = model_of(world=body(arm) + body(block + INERTIAL, name="b"))
    got = accelerations(model, q={"h": 0.4, "s": -0.2}, v={"h": 1.1, "s": 0.3})
    torque = -3 * (0.4 - math.radians(10)) - 0.2 * 1.1 - 2 * G * 0.5 * math.cos(0.4)
    assert got["h"] == pytest.approx(torque / (0.3 + 2 * 0.25 + 0.7), rel=1e-13)
    assert got["s"] == pytest.approx((-8 * (-0.2 - 0.1) - 0.5 * 0.3 - G) / (1 + 1.5), rel=1e-13)
    assert got["h_rotor"] == got["h"] and "armature of h, s is that of rotors on ground" in model.comment
    assert sum(item.mass for _, item in model.bodies()) == 3.0, "rotors have no mass"


def test_m61_balls_and_free_bodies_are_damped_against_their_velocities() -> None:
    """m v' = -d v and I w' = -d w; the coordinates of a free body are its pose in the world."""
    free = '<joint name="f" type="free" damping="0.5"/>' + INERTIAL
    ball = '<joint name="o" type="ball" damping="0.25" pos="0 0 0"/>' + INERTIAL
    model = model_of(
        '<option gravity="0 0 0"/>',
        world=body(free, 'pos="1 2 3" euler="0 0 90"') + body(ball, 'pos="5 0 0" euler="40 0 0"', "b"),
    )
    at = at_of(model)
    assert at.speed_names == tuple(f"m:{name}[{k}]" for name, n in (("f", 6), ("o", 3)) for k in range(n))
    assert np.abs(at.pose("a") - homogeneous(turn(np.array([0, 0, np.pi / 2])), [1, 2, 3])).max() < ROUNDING
    v = np.arange(1.0, 10.0)
    moving = at.changed(q=at.q, v=v)
    assert np.abs(moving.accelerations() - np.repeat([-0.5, -0.25], [6, 3]) * v).max() < ROUNDING * 10


@pytest.mark.parametrize(("type", "size"), [("sphere", (0.3,)), ("capsule", (0.2, 0.5)), ("cylinder", (0.2, 0.5)),
                                            ("ellipsoid", (0.3, 0.3, 0.7))])  # fmt: skip
def test_m61_masses_of_round_geoms_are_integrals_over_their_discs(type: str, size: tuple[float, ...]) -> None:
    """V = int pi r^2 dz, I_z = int pi r^4/2 dz, I_x = int pi (r^4/4 + r^2 z^2) dz, piece by piece exact by Gauss."""
    a, b = (*size, 0.0)[0], size[-1]
    ends = {"sphere": [-a, a], "capsule": [-a - b, -b, b, b + a], "cylinder": [-b, b], "ellipsoid": [-b, b]}[type]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    out = np.zeros(3)
    for low, high in pairwise(ends):
        z, w = 0.5 * (low + high) + 0.5 * (high - low) * nodes, 0.5 * (high - low) * weights
        beyond = np.maximum(np.abs(z) - b, 0.0)
        square = {
            "sphere": a * a - z * z,
            "capsule": a * a - beyond**2,
            "cylinder": a * a + 0 * z,
            "ellipsoid": a * a * (1 - z * z / b / b),
        }[type]
        discs = np.pi * np.array([square, square**2 / 2, square**2 / 4 + square * z * z])
        out += discs @ w
    assert volume(type, size) == pytest.approx(out[0], rel=1e-13)
    assert principal(type, size, volume(type, size)) == pytest.approx([out[2], out[2], out[1]], rel=1e-13)


def test_m61_a_body_has_the_mass_of_all_its_geoms() -> None:
    """A box cut in two has the mass, centre and inertia of the whole; so has one of three radii as of any ball."""
    whole = '<geom type="box" size="0.3 0.2 0.1" pos="1 2 3" euler="10 20 30" density="500"/>'
    halves = (
        '<frame pos="1 2 3" euler="10 20 30"><geom type="box" size="0.15 0.2 0.1" pos="0.15 0 0" density="500"/>'
        '<geom type="box" size="0.15 0.2 0.1" pos="-0.15 0 0" mass="12"/></frame>'
    )
    balls = '<geom size="0.2" mass="3"/>', '<geom type="ellipsoid" size="0.2 0.2 0.2" mass="3"/>'
    world = "".join(body(inside, name=name) for name, inside in zip("abcd", (whole, halves, *balls), strict=True))
    parts = {path[-1]: item for path, item in model_of(world=world).bodies() if path != "m:scenery"}
    for one, other in ("ab", "cd"):
        assert parts[one].mass == pytest.approx(parts[other].mass, rel=1e-14)
        assert np.abs(np.subtract(parts[one].center_of_mass, parts[other].center_of_mass)).max() < ROUNDING
        difference = np.subtract(parts[one].inertia.matrix, parts[other].inertia.matrix)
        assert np.abs(difference).max() < ROUNDING
    assert parts["a"].mass == pytest.approx(500 * 8 * 0.3 * 0.2 * 0.1)
    assert parts["c"].inertia.Ixx == pytest.approx(0.4 * 3 * 0.04)


def test_m61_the_compiler_says_where_masses_come_from() -> None:
    inside = '<joint/><inertial pos="0 0 0" mass="5" diaginertia="1 1 2"/><geom size="0.1" mass="2"/>'
    masses = {
        "": 5.0,
        'inertiafromgeom="true"': 2.0,
        'inertiafromgeom="false"': 5.0,
        'settotalmass="20"': 20.0,
        'boundmass="7"': 7.0,
        'inertiafromgeom="true" inertiagrouprange="3 4"': 5.0,
    }
    for stated, mass in masses.items():
        document, _ = read(mujoco(f"<compiler {stated}/>", world=body(inside)), "m.xml")
        (entry,) = (one for one in document["assemblies"][0]["bodies"] if one["name"] == "a")
        assert entry["inertia"]["mass"] == mass, stated
    light = model_of('<compiler boundinertia="1.5"/>', world=body(inside, 'gravcomp="0.25"'))
    item = dict(light.bodies())["m:a"]
    assert (item.inertia.Ixx, item.inertia.Izz, item.gravity_scale) == (pytest.approx(1.5), pytest.approx(2.0), 0.75)
    passive = '<option><flag spring="disable" damper="disable"/></option>'  # which is all passive forces of MuJoCo
    assert dict(model_of(passive, world=body(inside, 'gravcomp="0.25"')).bodies())["m:a"].gravity_scale == 1.0
    full = '<joint/><inertial pos="1 2 3" mass="1" fullinertia="1 2 2.5 0.1 0.2 0.3"/>'
    inertia = dict(model_of(world=body(full)).bodies())["m:a"].inertia
    assert inertia.matrix == ((1, 0.1, 0.2), (0.1, 2, 0.3), (0.2, 0.3, 2.5))


def test_m61_actuators_act_with_control_0() -> None:
    """gear (kp (0 - gear q) - kv gear q') of a position; loads where the range of the control leaves 0 out."""
    joints = "".join(body(f'<joint name="j{k}" axis="0 0 1"/>' + INERTIAL, name=f"b{k}") for k in range(5))
    model = model_of(
        '<default><position kp="3" kv="0.5"/><default class="g"><general biastype="affine" biasprm="1 -2 -0.5"/>'
        "</default></default>",
        "<actuator>"
        '<position joint="j0" gear="2"/><velocity joint="j1" kv="4"/><motor name="idle" joint="j2"/>'
        '<motor joint="j3" gear="3" ctrlrange="0.5 1"/>'
        '<general class="g" joint="j4" forcelimited="true" forcerange="-100 100"/></actuator>',
        world=joints,
    )
    q = {f"j{k}": 0.3 for k in range(5)}
    got = accelerations(model, q=q, v={f"j{k}": 0.7 for k in range(5)})
    inertia = 1.0
    assert got["j0"] == pytest.approx((-3 * 4 * 0.3 - 0.5 * 4 * 0.7) / inertia, rel=1e-13)
    assert got["j1"] == pytest.approx(-4 * 0.7, rel=1e-13)
    assert got["j2"] == 0.0 and "while their control is 0 are left out: idle" in model.comment
    assert got["j3"] == pytest.approx(1.5, rel=1e-13)
    expected = 1 - 2 * 0.3 - 0.5 * 0.7
    assert got["j4"] == pytest.approx(100 * math.tanh(expected / 100), rel=1e-12)
    other = model_of('<default><position kp="3" kv="0.5"/></default>',
                     '<actuator><intvelocity joint="j0"/><general joint="j1"/></actuator>', world=joints)  # fmt: skip
    got = accelerations(other, q=q, v={f"j{k}": 0.7 for k in range(5)})
    assert got["j0"] == pytest.approx(-0.3, rel=1e-13), "gains of a kind are defaults of that kind, and of general"
    assert got["j1"] == pytest.approx(-3 * 0.3 - 0.5 * 0.7, rel=1e-13)
    off = model_of('<option><flag actuation="disable"/></option>', '<actuator><position joint="j0"/></actuator>',
                   world=joints)  # fmt: skip
    assert accelerations(off, q=q)["j0"] == 0.0


def test_m61_tendons_pull_at_their_joints() -> None:
    """Q_i = -c_i (k (L - L0) + d L') + armature along a sum of coordinates; k (|p| - L0) along a way between sites."""
    world = (
        body('<joint name="x" axis="0 0 1"/>' + INERTIAL)
        + body('<joint name="y" axis="0 0 1"/>' + INERTIAL, name="b")
        + body('<joint name="s" type="slide" axis="1 0 0"/><site name="end"/>' + INERTIAL, 'pos="2 0 0"', "c")
        + '<site name="hook" pos="1 0 0"/>'
    )
    tendon = (
        '<tendon><fixed name="t" stiffness="5" damping="0.5" springlength="0.1" armature="2">'
        '<joint joint="x" coef="2"/><joint joint="y" coef="-1"/></fixed>'
        '<spatial name="w" stiffness="7" springlength="0.2 0.5"><site site="hook"/>'
        '<site site="end"/></spatial></tendon>'
    )
    model = model_of(tendon, world=world)
    q, v = {"x": 0.3, "y": -0.2, "s": 0.4}, {"x": 0.5, "y": 0.1, "s": 0.0}
    at = at_of(model, q, v)
    got = dict(zip(at.speed_names, at.accelerations(), strict=True))
    c, length, rate = np.array([2.0, -1.0]), 0.8, 0.9
    force = -c * (5 * (length - 0.1) + 0.5 * rate)
    expected = np.linalg.solve(np.eye(2) + 2 * np.outer(c, c), force)
    assert [got["m:x"], got["m:y"]] == pytest.approx(expected, rel=1e-12)
    assert got["m:s"] == pytest.approx(-7 * (1.4 - 0.5), rel=1e-13)
    resting = model_of(
        '<compiler angle="radian"/>',
        '<tendon><fixed name="t" stiffness="5"><joint joint="x" coef="2"/></fixed></tendon>',
        world=body('<joint name="x" axis="0 0 1" springref="0.3"/>' + INERTIAL),
    )
    assert accelerations(resting)["x"] == pytest.approx(2 * 5 * 2 * 0.3, rel=1e-13), "rests where its joints do"
    slack = at_of(model, {"s": -0.6}).accelerations()[list(at.speed_names).index("m:s")]
    assert slack == 0.0, "between both lengths a tendon is slack"


def test_m61_sites_are_frames_and_geoms_are_drawn() -> None:
    world = '<geom type="plane" size="1 2 .1"/><geom type="box" size="1 2 3"/>' + body(
        '<joint/><site name="tip" pos="0 0 1"/><site name="middle"/>'
        '<geom type="capsule" size="0.1" fromto="0 0 0 0 0 2" material="red"/>'
        '<geom name="skin" mesh="part" type="mesh" pos="0 1 0" mass="0" rgba="0 1 0 0.5"/>'
        '<geom type="box" size="1 1 1" group="3"/><geom size="1" rgba="0 0 0 0"/>'
    )
    assets = (
        '<compiler meshdir="parts"/>',
        '<asset><mesh file="part.stl" scale="2 2 2" refpos="0 0 0.5"/><material name="red" rgba="1 0 0 1"/></asset>',
    )
    model = model_of(*assets, world=world)
    a = dict(model.bodies())["m:a"]
    assert {frame.name: frame.T for frame in a.frames} == {"tip": (0, 0, 1), "middle": (0, 0, 0)}
    assert [(shape.type, shape.filename) for shape in a.geometry] == [("capsule", ()), ("mesh", ("parts/part.stl",))]
    capsule, mesh = (dict(shape.options) for shape in a.geometry)
    assert capsule["length"] == 2.0 and capsule["colour"] == (1, 0, 0, 1) and capsule["T"] == (0, 0, 1)
    assert mesh["T"] == (0, 1, -1) and mesh["colour"] == (0, 1, 0, 0.5) and mesh["comment"] == "skin"
    (scenery,) = dict(model.bodies())["m:scenery"].geometry
    assert scenery.options["size"] == (2, 4, 6) and "not drawn, since ground is: planes of world" in model.comment
    assert "not drawn: geoms of groups 3 and more, which MuJoCo hides, of a" in model.comment
    assert "not drawn, since it is transparent: a sphere of a" in model.comment


def test_m61_a_file_is_read_with_those_it_includes_and_written_as_ours(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(f"<mujocoinclude>{body('<joint/>' + INERTIAL)}</mujocoinclude>")
    (tmp_path / "m.xml").write_text('<mujoco><worldbody>\n<include file="parts/arm.xml"/></worldbody></mujoco>')
    model = load(tmp_path / "m.xml")
    assert [path for path, _ in model.bodies()] == ["model:a"]
    save(model, tmp_path / "ours.json")
    again = load(tmp_path / "ours.json")
    assert [*again.joints()] == [*model.joints()] and [*again.bodies()] == [*model.bodies()]
    assert main(["check", str(tmp_path / "m.xml")]) == 0
    assert "a_hinge" in capsys.readouterr().out or again.name
    for name, fault in (("../m.xml", "in the folder of the model"), ("none.xml", "No such file")):
        (tmp_path / "bad.xml").write_text(f'<mujoco>\n<include file="{name}"/></mujoco>')
        with pytest.raises(shiftjax.ModelError, match=f"bad.xml, line 2: mujoco/include: .*{fault}"):
            load(tmp_path / "bad.xml")
    (tmp_path / "bad.xml").write_text('<mujoco><include file="parts/bad.xml"/></mujoco>')
    (tmp_path / "parts" / "bad.xml").write_text("<mujoco>\n\n<worldbody><body mass='1'/></worldbody></mujoco>")
    with pytest.raises(
        shiftjax.ModelError, match=r"parts/bad.xml, line 3: mujoco/worldbody/body: found attribute 'mass'"
    ):
        load(tmp_path / "bad.xml")


def test_m61_what_moves_nothing_is_left_out_and_said() -> None:
    """Each sentence once; contacts by the bodies that would touch, all else by its lines."""
    world = (
        '<light pos="0 0 3"/>'
        + body('<joint name="h" range="-30 60" limited="true" group="2"/><geom size="0.1"/>')
        + body('<joint name="i" frictionloss="0.3" range="10 20"/><geom size="0.1" condim="3"/>', name="b")
    )
    more = (
        '<option timestep="0.001"/>',
        '<contact><exclude body1="a" body2="b"/><pair geom1="x" geom2="y"/></contact>',
        "<sensor><jointpos joint='h'/></sensor>",
        "<keyframe/>",
    )
    assert notes_of(*more, world=world) == [
        "m.xml: the pose that is drawn is outside of the limits of i",
        "m.xml: dry friction fades below 0.01 rad/s or m/s: slip_speed of i",
        "m.xml: contacts are left out: bodies pass through each other, which a, b in MuJoCo do not",
        "m.xml: contacts are left out, those of pairs, too: line 4",
        "m.xml: left out, since it moves nothing here: 'timestep' of <option> in line 3; <light> in line 2; "
        "'group' of <joint> in line 2; <sensor> in line 5; <keyframe> in line 6",
    ]
    apart = '<option><flag contact="disable" frictionloss="disable" limit="disable"/></option>'
    assert [line for line in notes_of(apart, world=world) if "left out, since" not in line] == []
    limits = dict(model_of(world=world).joints())["m:h"].limits
    assert limits == (math.radians(-30), math.radians(60))


WEDGE = (
    "v 0 0 0\nv 1 0 0\nv 1 2 0\nv 0 2 0\nv 0 0 3\nv 0 2 3\nf 4 3 2 1\nf 1/1 2/2 5/1\nf 3 4 6\nf 2 3 6 5\nf -6 5 6 4\n"
)


def stl_of(obj: str, *, binary: bool) -> bytes:
    """The same triangles, polygons cut in fans."""
    lines = [line.split() for line in obj.splitlines()]
    points = [[float(x) for x in line[1:]] for line in lines if line[0] == "v"]
    around = [[int(word.split("/")[0]) for word in line[1:]] for line in lines if line[0] == "f"]
    fans = [(face[0], face[k], face[k + 1]) for face in around for k in range(1, len(face) - 1)]
    corners = [[points[i - 1 if i > 0 else i] for i in fan] for fan in fans]
    if binary:
        facets = b"".join(np.array([[0, 0, 0], *fan], "<f4").tobytes() + b"\0\0" for fan in corners)
        return b" " * 80 + len(corners).to_bytes(4, "little") + facets
    loops = "".join("facet\n" + "".join(f"vertex {words(p)}\n" for p in fan) for fan in corners)
    return f"solid w\n{loops}endsolid".encode()


@pytest.mark.parametrize("law", ["legacy", "exact"])
@pytest.mark.parametrize("suffix", ["obj", "stl", "STL"])
def test_m61_a_mesh_has_the_mass_of_what_it_encloses(law: str, suffix: str, tmp_path: Path) -> None:
    """A wedge of half a box, mirrored by its scale: m = rho a b c / 2, its centre at a/3, b/2, c/3, and
    I_yy = m (a^2 + c^2) / 18 about it."""
    content = WEDGE.encode() if suffix == "obj" else stl_of(WEDGE, binary=suffix == "STL")
    (tmp_path / f"wedge.{suffix}").write_bytes(content)
    mesh = f'<asset><mesh name="w" file="wedge.{suffix}" scale="-0.1 0.2 0.1" inertia="{law}"/></asset>'
    world = body('<joint/><geom type="mesh" mesh="w" density="500" pos="0 0 7"/>')
    (tmp_path / "m.xml").write_text(mujoco(mesh, world=world))
    item = dict(load(tmp_path / "m.xml").bodies())["m:a"]
    a, b, c = 0.1, 0.4, 0.3
    mass = 500 * a * b * c / 2
    assert item.mass == pytest.approx(mass, rel=1e-12)
    assert item.center_of_mass == pytest.approx((-a / 3, b / 2, 7 + c / 3), rel=1e-12)
    I = item.inertia  # noqa: E741
    assert I.Iyy == pytest.approx(mass * (a * a + c * c) / 18, rel=1e-12)
    assert I.Ixx == pytest.approx(mass * (b * b / 12 + c * c / 18), rel=1e-12)
    assert I.Izx == pytest.approx(-mass * a * c / 36, rel=1e-12), "of a corner that mirroring turned away from +x"

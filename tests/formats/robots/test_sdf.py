"""SDFormat files (M61, D3) stand and move as closed forms and products of matrices say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import load, save
from shiftjax.cli import main
from shiftjax.formats.robots.sdf.document import read
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model
from shiftjax.rotations import rotation_of_vector
from tests.support.models.sdf_text import axis, joint, link, model, pose, sdf, world
from tests.support.models.urdf_text import rpy_matrix

ROUNDING = 1e-14  # m, 1, or of a matrix whose entries are of the size 1: some ten roundings
G = 9.81


def model_of(*elements: str, version: str = "1.11") -> Model:
    document, warnings = read(sdf(*elements, version=version), "m.sdf")
    return load({**document, "comment": "\n".join(warnings)})


def notes(*elements: str, version: str = "1.11") -> str:
    return "\n".join(read(sdf(*elements, version=version), "m.sdf")[1])


def homogeneous(place: Any) -> np.ndarray:
    """(4, 4) of x y z roll pitch yaw."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rpy_matrix(*place[3:]), place[:3]
    return out


def places(count: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return np.column_stack([draw.normal(size=(count, 3)), draw.uniform(-1.4, 1.4, (count, 3))])


def test_d3_poses_are_products_along_the_frames_that_they_are_relative_to() -> None:
    """X_WF = X_WM X_MA X_AB ..., of a link, a frame on it, a joint and links in each, in any order of the file."""
    P = places(6, 1)
    X = [homogeneous(place) for place in P]
    text = model(
        link("tip", pose(P[4], "turn")),
        '<frame name="hook" attached_to="arm">' + pose(P[2]) + "</frame>",
        '<frame name="far" attached_to="arm">' + pose(P[5], "__model__") + "</frame>",
        link("arm", pose(P[1])),
        link("hand", pose(REST := (0,) * 6, "hook")),
        joint("turn", "arm", "hand", place=pose(P[3])),
        joint("hold", "hand", "tip", "fixed", ""),
        more=pose(P[0]),
    )
    at = shiftjax.configuration(model_of(text))
    arm = X[0] @ X[1]
    assert REST and np.abs(at.pose("arm") - arm).max() < ROUNDING
    assert np.abs(at.pose("hand") - arm @ X[2]).max() < ROUNDING * 10
    assert np.abs(at.pose("tip") - arm @ X[2] @ X[3] @ X[4]).max() < ROUNDING * 10
    assert np.abs(at.pose("arm:hook") - arm @ X[2]).max() < ROUNDING * 10
    assert np.abs(at.pose("arm:far") - X[0] @ X[5]).max() < ROUNDING * 10
    turned = at.changed(q={"turn": 0.7})
    J, Z = arm @ X[2] @ X[3], np.eye(4)
    Z[:3, :3] = rotation_of_vector((0.0, 0.0, 0.7))
    assert np.abs(turned.pose("tip") - J @ Z @ X[4]).max() < ROUNDING * 10


def test_d3_rotations_are_stated_in_degrees_and_as_quaternions() -> None:
    """cos(a/2), sin(a/2) of a turn a; degrees are pi/180."""
    degrees = ' degrees="true"'
    quaternion = ' rotation_format="quat_xyzw"'
    text = model(
        link("a", pose("1 2 3 0 0 90", attributes=degrees)),
        link("b", pose((0, 0, 0, np.sin(0.4), 0, 0, np.cos(0.4)), attributes=quaternion)),
        link("c", pose("0 0 0 10 20 30", attributes=degrees)),
    )
    at = shiftjax.configuration(model_of(text))
    assert np.abs(at.pose("a")[:3] - [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]]).max() < ROUNDING
    assert np.abs(at.pose("b")[:3, :3] - rotation_of_vector((0.8, 0.0, 0.0))).max() < ROUNDING
    assert np.abs(at.pose("c")[:3, :3] - rpy_matrix(*np.radians([10, 20, 30]))).max() < ROUNDING


def test_d3_a_model_in_a_model_is_placed_by_its_placement_frame() -> None:
    """X_RM X_MF = the stated pose: the frame F stands there, the model follows; frames of it are named by `::`."""
    P = places(5, 2)
    X = [homogeneous(place) for place in P]
    inner = model(
        link("a", pose(P[0])),
        f'<frame name="grip" attached_to="a">{pose(P[1])}</frame>',
        name="inner",
        more=pose(P[2], "base"),
        attributes=' placement_frame="grip"',
    )
    text = model(link("base", pose(P[3])), inner, link("beside", pose(P[4], "inner::grip")), name="outer")
    at = shiftjax.configuration(model_of(text))
    assert [path for path, _ in at.model.bodies()] == ["outer:base", "outer:beside", "outer:inner:a"]
    assert np.abs(at.pose("inner:a:grip") - X[3] @ X[2]).max() < ROUNDING * 10
    assert np.abs(at.pose("inner:a") - X[3] @ X[2] @ np.linalg.inv(X[1])).max() < ROUNDING * 10
    assert np.abs(at.pose("outer:beside") - X[3] @ X[2] @ X[4]).max() < ROUNDING * 10


@pytest.mark.parametrize(
    ("version", "inside", "along"),
    [
        ("1.4", axis((1, 2, 3)), "model"),
        ("1.6", axis((1, 2, 3)), "joint"),
        ("1.6", axis((1, 2, 3), "<use_parent_model_frame>true</use_parent_model_frame>"), "model"),
        ("1.11", axis((1, 2, 3)), "joint"),
        ("1.11", axis((1, 2, 3), expressed_in="__model__"), "model"),
        ("1.11", axis((1, 2, 3), expressed_in="hook"), "hook"),
    ],
)
def test_d3_an_axis_is_along_the_frame_in_which_its_version_states_it(version: str, inside: str, along: str) -> None:
    P = places(4, 3)
    X = [homogeneous(place) for place in P]
    hook = f'<frame name="hook">{pose(P[3])}</frame>' if along == "hook" else ""
    text = model(
        link("base"),
        link("slider", pose(P[1])),
        hook,
        joint("slide", "base", "slider", "prismatic", inside, pose(P[2])),
        joint("hold", "world", "base", "fixed", ""),
        more=pose(P[0]),
    )
    at = shiftjax.configuration(model_of(text, version=version))
    moved = at.changed(q={"slide": 0.5}).pose("slider")[:3, 3] - at.pose("slider")[:3, 3]
    frames = {"model": X[0], "joint": X[0] @ X[1] @ X[2], "hook": X[0] @ X[3]}
    unit = np.array([1, 2, 3]) / np.sqrt(14)
    assert np.abs(moved - 0.5 * frames[along][:3, :3] @ unit).max() < ROUNDING


def test_d3_what_is_left_out_of_an_inertial_is_one_and_said() -> None:
    """1 kg and 1 kg m^2, as SDFormat has it, each time with a note; I = R I' R' of a pose of the inertial."""
    half = "<inertial><mass>3</mass><inertia><ixx>2</ixx></inertia></inertial>"
    arm = link("c", mass=1.5, at=(0.1, 0.2, 0.3, 0.4, -0.5, 0.6), inertia=(0.1, 0.2, 0.25, 0.01, -0.02, 0.03))
    text = model(link("a"), link("b", inside=half), arm)
    bodies = dict(model_of(text).bodies())
    a, b, c = (bodies[f"m:{name}"] for name in "abc")
    assert (a.mass, b.mass, c.mass) == (1.0, 3.0, 1.5)
    assert np.array(a.inertia.matrix).tolist() == np.eye(3).tolist()
    assert np.array(b.inertia.matrix).tolist() == np.diag([2.0, 1.0, 1.0]).tolist()
    R, inside = rpy_matrix(0.4, -0.5, 0.6), np.array([[0.1, 0.01, 0.03], [0.01, 0.2, -0.02], [0.03, -0.02, 0.25]])
    assert np.abs(np.array(c.inertia.matrix) - R @ inside @ R.T).max() < 1e-16 * 4
    assert c.center_of_mass == (0.1, 0.2, 0.3)
    said = notes(text)
    assert "no inertial is stated of a: SDFormat gives them 1 kg" in said
    assert "moments of inertia are not all stated of b" in said


SCREWS = {  # m for a turn, above 0 right-handed
    "<screw_thread_pitch>0.02</screw_thread_pitch>": 0.02,
    "<screw_thread_pitch>-0.02</screw_thread_pitch>": -0.02,
    "<thread_pitch>50</thread_pitch>": -2 * np.pi / 50,
    "<screw_thread_pitch>0.03</screw_thread_pitch><thread_pitch>50</thread_pitch>": 0.03,
    "": 1.0,
}


@pytest.mark.parametrize("pitch", SCREWS)
def test_d3_a_screw_goes_its_pitch_for_a_turn_in_the_sense_of_its_thread(pitch: str) -> None:
    """A right-handed nut that turns about the axis goes along it; `thread_pitch` is in rad/m and left-handed."""
    text = model(link("nut"), joint("lead", "world", "nut", "screw", axis((0, 0, 2)) + pitch))
    at = shiftjax.configuration(model_of(text), q={"lead": 0.5})
    assert np.abs(at.pose("nut")[:3, 3] - [0, 0, SCREWS[pitch] * 0.5 / (2 * np.pi)]).max() < ROUNDING
    assert np.abs(at.pose("nut")[:3, :3] - rotation_of_vector((0.0, 0.0, 0.5))).max() < ROUNDING
    assert ("no pitch is stated of lead" in notes(text)) == (not pitch)


def test_d3_springs_dampers_and_dry_friction_act_along_axes() -> None:
    """Q = -k (q - q0) - d v - level, far above the slip speed; on either axis of a universal joint of its own."""
    dynamics = (
        "<dynamics><spring_stiffness>3</spring_stiffness><spring_reference>0.2</spring_reference>"
        "<damping>0.4</damping>{}</dynamics>"
    )
    friction = "<friction>0.3</friction>"
    spun = link("wheel", mass=1.0, inertia=(0.5, 0.5, 0.5))
    text = model(spun, joint("turn", "world", "wheel", "continuous", axis(inside=dynamics.format(friction))))
    at = shiftjax.configuration(model_of(text), q={"turn": 1.0}, v={"turn": 2.0})
    assert 0.5 * at.accelerations()[0] == pytest.approx(-3 * 0.8 - 0.4 * 2 - 0.3, abs=1e-12)
    assert "slip_speed of turn" in notes(text)
    axes = axis((1, 0, 0), dynamics.format("")) + axis((0, 1, 0), dynamics.format(""), "axis2")
    crossed = model(spun, joint("cross", "world", "wheel", "universal", axes))
    at = shiftjax.configuration(model_of(crossed), q={"cross.first": 0.5}, v={"cross.second": 1.0})
    assert 0.5 * at.accelerations() == pytest.approx([-3 * 0.3, 3 * 0.2 - 0.4], abs=1e-12)


def test_d3_two_axes_at_any_angle_are_two_joints_in_series() -> None:
    """R = R(first, q1) R(second, q2): of `revolute2` with axes that are not perpendicular, and of those that rub."""
    first, second = np.array([1.0, 0.2, 0]), np.array([0.3, 1.0, 0.4])
    wheel = link("wheel", pose((0.1, 0.2, 0.3, 0, 0, 0)), mass=1.0)
    rubbing = "<dynamics><friction>0.1</friction></dynamics>"
    cases = (
        (first, second, "", "revolute2"),
        ((1, 0, 0), (0, 1, 0), rubbing, "revolute2"),
        ((1, 0, 0), (0, 1, 0), rubbing, "universal"),
    )
    for one, other, inside, type in cases:
        text = model(wheel, joint("hub", "world", "wheel", type, axis(one, inside) + axis(other, tag="axis2")))
        at = shiftjax.configuration(model_of(text), q={"hub_axis": 0.4, "hub_axis2": -0.7})
        units = [np.array(way) / np.linalg.norm(way) for way in (one, other)]
        R = np.array(rotation_of_vector((0.4 * units[0]).tolist())) @ rotation_of_vector((-0.7 * units[1]).tolist())
        assert np.abs(at.pose("wheel")[:3, :3] - R).max() < ROUNDING
        assert np.abs(at.pose("wheel")[:3, 3] - [0.1, 0.2, 0.3]).max() < ROUNDING
        assert "two joints with a massless body between stand for hub" in notes(text)
    plain = model(wheel, joint("hub", "world", "wheel", "universal", axis((0, 0, 1)) + axis((1, 0, 0), tag="axis2")))
    at = shiftjax.configuration(model_of(plain), q={"hub.first": 0.4, "hub.second": -0.7})
    R = np.array(rotation_of_vector((0.0, 0.0, 0.4))) @ rotation_of_vector((-0.7, 0.0, 0.0))
    assert np.abs(at.pose("wheel")[:3, :3] - R).max() < ROUNDING


@pytest.mark.parametrize("turned", [False, True])
def test_d3_a_gearbox_couples_two_joints_of_its_reference_body(turned: bool) -> None:
    """theta_2 = -ratio theta_1: (I_1 + ratio^2 I_2) a_1 = Q_1, whichever way joints and axes point."""
    fall = "<dynamics><spring_stiffness>2</spring_stiffness><spring_reference>1</spring_reference></dynamics>"
    box = "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"
    ends = ("out", "base") if turned else ("base", "out")
    text = model(
        link("base", mass=1.0),
        link("in", mass=1.0, inertia=(1, 1, 0.2)),
        link("out", pose((1, 0, 0, 0, 0, 0)), mass=1.0, inertia=(1, 1, 0.3)),
        joint("stand", "world", "base", "fixed", ""),
        joint("first", "base", "in", inside=axis(inside=fall)),
        joint("second", *ends, inside=axis((0, 0, -1) if turned else (0, 0, 1)), place=pose((0,) * 6, "out")),
        joint("box", "in", "out", "gearbox", axis() + axis(tag="axis2") + box),
    )
    at = shiftjax.configuration(model_of(text), independent=["first"])
    assert at.mass_matrix(constrained=True)[0, 0] == pytest.approx(0.2 + 9 * 0.3, rel=1e-13)
    rates = dict(zip(at.speed_names, at.accelerations(), strict=True))
    assert rates["m:first"] == pytest.approx(2.0 / (0.2 + 9 * 0.3), rel=1e-12)
    moved = shiftjax.configuration(at.model, q={"first": 0.1}, independent=["first"])
    out = moved.pose("out")[:2, 0]
    assert np.arctan2(out[1], out[0]) == pytest.approx(-0.3, abs=1e-12)


def test_d3_a_mimic_follows_an_axis_of_another_joint() -> None:
    """q = multiplier (q_leader - reference) + offset, begun there; the leader may be an axis of a universal joint."""
    follow = '<mimic joint="hub" axis="axis2"><multiplier>-2</multiplier><offset>0.3</offset><reference>0.1</reference>'
    wheel, cam = (link(name, mass=1.0) for name in ("wheel", "cam"))
    rubbing = "<dynamics><friction>0.1</friction></dynamics>"
    text = model(
        wheel,
        cam,
        joint("hub", "world", "wheel", "revolute2", axis((1, 0, 0), rubbing) + axis((0, 1, 0), tag="axis2")),
        joint("follow", "world", "cam", inside=axis(inside=f"{follow}</mimic>")),
    )
    third = joint("third", "world", "c", inside=axis(inside='<mimic joint="follow"><multiplier>3</multiplier></mimic>'))
    chain = model_of(text.replace("</model>", link("c", mass=1.0) + third + "</model>"))
    assert dict(chain.joints())["m:third"].initial_displacement == pytest.approx(1.5, abs=1e-15), "of a chain"
    read_model = model_of(text)
    assert dict(read_model.joints())["m:follow"].initial_displacement == pytest.approx(0.5, abs=1e-15)
    at = shiftjax.configuration(read_model, q={"hub_axis2": 0.4}, independent=["hub_axis", "hub_axis2"])
    assert np.arctan2(*at.pose("cam")[1::-1, 0]) == pytest.approx(-2 * (0.4 - 0.1) + 0.3, abs=1e-12)


def test_d3_limits_hold_poses_and_the_rest_is_data() -> None:
    limit = "<limit><lower>0.2</lower><upper>1.5</upper><effort>40</effort><velocity>inf</velocity></limit>"
    endless = "<limit><lower>-1e16</lower><upper>1e16</upper></limit>"
    half = "<limit><lower>-inf</lower><upper>2</upper></limit>"
    still = "<limit><lower>0.25</lower><upper>0.25</upper></limit>"
    inside = {"a": limit, "b": endless, "c": half, "d": still}
    text = model(
        *(link(name) for name in inside),
        *(joint(f"j{name}", "world", name, inside=axis(inside=part)) for name, part in inside.items()),
    )
    joints = dict(model_of(text).joints())
    a, b, c, d = (joints[f"m:j{name}"] for name in inside)
    assert (a.limits, b.limits) == ((0.2, 1.5), None) and c.limits == (None, 2.0)
    assert d.lock and d.initial_displacement == 0.25 and thaw(a.data) == {"stops": {"effort": 40.0}}
    for sentence in ("outside of the limits of ja", "posing leaves jd", "effort and velocity, and stops, are of ja"):
        assert sentence in notes(text)
    endless = model(link("a"), joint("ja", "world", "a", "continuous", axis(inside=limit)))
    assert dict(model_of(endless).joints())["m:ja"].limits is None
    assert "limits are left out, as continuous joints have none: those of ja" in notes(endless)


def test_d3_gravity_is_that_of_the_world_and_of_each_link() -> None:
    """Stated, left out (9.8 along -z), in the physics of 1.5; switched off for a link."""
    light = link("light", inside="<gravity>false</gravity>")
    text = world(model(link("a"), light), gravity="<gravity>1 2 3</gravity>")
    floating = model_of(text)
    assert floating.gravity == (1.0, 2.0, 3.0)
    at = shiftjax.configuration(floating)
    assert at.acceleration("a")[3:] == pytest.approx([1, 2, 3], abs=1e-14)
    assert np.abs(at.acceleration("light")).max() < 1e-14 and "gravity does not act on light" in notes(text)
    assert model_of(model(link("a"))).gravity == (0.0, 0.0, -9.8)
    assert "SDFormat has 9.8 m/s^2 along -z" in notes(model(link("a")))
    older = world(model(link("a")), gravity="<physics type='ode'><gravity>0 0 -3.7</gravity></physics>")
    assert model_of(older, version="1.5").gravity == (0.0, 0.0, -3.7)


def test_d3_what_no_joint_holds_floats_and_static_models_stand() -> None:
    """A float for one link of each group that no joint leads to from the world, where poses have it."""
    text = world(
        model(link("box", pose((1, 2, 3, 0, 0, 0))), name="still", more="<static>true</static>"),
        model(
            link("b", pose((0, 0, 1, 0, 0, 0))),
            link("a", pose((0, 0, 2, 0, 0, 0.5))),
            joint("j", "a", "b"),
            name="free",
        ),
        model(link("hung"), joint("hang", "world", "hung", "ball", ""), name="held"),
        joint("ring", "still::box", "held::hung", "fixed", ""),
    )
    text = text.replace(joint("ring", "still::box", "held::hung", "fixed", ""), "")
    at = shiftjax.configuration(model_of(text))
    assert len(at.speed_names) == 6 + 1 + 3 and "free:a_free[0]" in at.speed_names, "no joint has `a` as its child"
    assert np.abs(at.pose("free:a") - homogeneous((0, 0, 2, 0, 0, 0.5))).max() < ROUNDING
    assert np.abs(at.pose("still:box") - homogeneous((1, 2, 3, 0, 0, 0))).max() < ROUNDING
    said = notes(text)
    assert "no joint leads to the world from a, which floats" in said and "stand still: box" in said
    base = text.replace('<link name="b">', '<link name="b"><must_be_base_link>true</must_be_base_link>')
    assert "free:b_free[0]" in shiftjax.configuration(model_of(base)).speed_names


def test_d3_joints_of_a_world_join_its_models() -> None:
    """They stand in an assembly that is called as the world; bodies that are one rigid body need no second joint."""
    text = world(
        model(link("a"), name="one"),
        model(link("b", pose((0, 0, 1, 0, 0, 0))), name="two"),
        '<frame name="pin" attached_to="one::a">' + pose((0, 0, 0.5, 0, 0, 0)) + "</frame>",
        joint("stand", "world", "one", "fixed", ""),
        joint("turn", "pin", "two", inside=axis((1, 0, 0)), place=pose((0,) * 6, "pin")),
        joint("twice", "world", "one::a", "fixed", ""),
    )
    at = shiftjax.configuration(model_of(text), q={"w:turn": np.pi / 2})
    assert at.speed_names == ("w:turn",)
    assert np.abs(at.pose("two:b")[:3, 3] - [0, -0.5, 0.5]).max() < ROUNDING
    assert "one rigid body anyway are left out: twice" in notes(text)


MESH = "<mesh><uri>model://arm/meshes/arm.dae</uri><scale>1 1 2</scale></mesh>"
SOLIDS = {
    "<box><size>1 2 3</size></box>": {"type": "box", "size": [1.0, 2.0, 3.0]},
    "<sphere><radius>0.2</radius></sphere>": {"type": "sphere", "radius": 0.2},
    "<capsule><radius>0.2</radius><length>1</length></capsule>": {"type": "capsule", "radius": 0.2, "length": 1.0},
    "<ellipsoid><radii>1 2 3</radii></ellipsoid>": {"type": "ellipsoid", "radii": [1.0, 2.0, 3.0]},
    "<plane><normal>0 0 1</normal><size>4 5</size></plane>": {"type": "plane", "size": [4.0, 5.0]},
    MESH: {"type": "mesh", "filename": ["arm/meshes/arm.dae"], "scale": [1.0, 1.0, 2.0]},
}


def test_d3_visuals_are_drawn_and_collisions_kept() -> None:
    colour = "<material><ambient>0 0 0 1</ambient><diffuse>1 0.5 0 1</diffuse></material>"
    visuals = "".join(f'<visual name="v{k}"><geometry>{solid}</geometry></visual>' for k, solid in enumerate(SOLIDS))
    tinted = (
        f'<visual name="t">{pose((1, 2, 3, 0, 0, 0))}<transparency>0.25</transparency>{colour}'
        "<geometry><sphere><radius>1</radius></sphere></geometry></visual>"
    )
    hidden = '<visual name="h"><geometry><heightmap><uri>x</uri></heightmap></geometry></visual>'
    touching = '<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry></collision>'
    inside = visuals + tinted + hidden + touching + '<sensor name="eye" type="camera"/>'
    document, said = read(sdf(model(link("a", inside=inside), '<plugin filename="x" name="y"/>')), "m.sdf")
    (body,) = document["assemblies"][0]["bodies"]
    *plain, last = body["geometry"]
    for k, (shape, expected) in enumerate(zip(plain, SOLIDS.values(), strict=True)):
        assert shape == {**expected, "comment": f"v{k}"}
    assert last["colour"] == [1.0, 0.5, 0.0, 0.75] and last["T"] == [1.0, 2.0, 3.0]
    assert body["data"] == {"collision": [{"type": "sphere", "radius": 1.0, "comment": "c"}]}
    assert document["model_parameters"]["include_directories"] == ["..", "../..", "../../..", "../../../.."]
    lines = "\n".join(said)
    for part in ("shapes that are not drawn: heightmap of a", "<plugin> in line", "<sensor> in line"):
        assert part in lines


def test_d3_included_models_are_placed_renamed_fixed_and_merged(tmp_path: Path) -> None:
    """Of files and folders beside the file; a merged one lends its names, and its own frame, to the model."""
    P = places(4, 5)
    X = [homogeneous(place) for place in P]
    arm = model(
        link("arm", pose(P[0])),
        f'<frame name="grip" attached_to="arm">{pose(P[1])}</frame>',
        joint("turn", "__model__", "hand", inside=axis((0, 0, 1), expressed_in="__model__")),
        link("hand", pose(P[1])),
        name="arm_model",
    )
    (tmp_path / "arm.sdf").write_text(sdf(arm), encoding="utf-8")
    folder = tmp_path / "arms"
    folder.mkdir()
    (folder / "newest.sdf").write_text(sdf(arm), encoding="utf-8")
    (folder / "model.config").write_text(
        '<model><sdf version="1.5">old.sdf</sdf><sdf version="1.11">newest.sdf</sdf></model>', encoding="utf-8"
    )
    cell = model(
        link("base"),
        joint("stand", "world", "base", "fixed", ""),
        f'<include merge="true"><uri>arm.sdf</uri>{pose(P[2])}</include>',
        f"<include><uri>arms</uri><name>left</name>{pose(P[3], 'base')}"
        "<placement_frame>grip</placement_frame></include>",
        "<include><uri>arm.sdf</uri><name>third</name><static>true</static></include>",
        joint("weld", "base", "arm", "fixed", ""),
        name="cell",
    )
    file = tmp_path / "cell.sdf"
    file.write_text(sdf(cell), encoding="utf-8")
    at = shiftjax.configuration(load(file))
    assert np.abs(at.pose("cell:arm") - X[2] @ X[0]).max() < ROUNDING * 10
    assert np.abs(at.pose("cell:left:arm:grip") - X[3]).max() < ROUNDING * 10
    assert np.abs(at.pose("cell:third:hand") - X[1]).max() < ROUNDING * 10
    assert {name for name in at.speed_names if "[" not in name} == {"cell:turn", "cell:left:turn"}
    turned = at.changed(q={"cell:turn": 0.3}).pose("cell:hand")[:3, :3]
    axis_of_turn = X[2][:3, 2]
    assert (
        np.abs(turned - np.array(rotation_of_vector((0.3 * axis_of_turn).tolist())) @ (X[2] @ X[1])[:3, :3]).max()
        < ROUNDING * 10
    )


def test_d3_a_file_is_loaded_saved_and_read_back_equal(tmp_path: Path) -> None:
    """Through a .json file, and through the command `edit` without steps; `.world` is read as `.sdf` is."""
    dynamics = "<dynamics><damping>0.1</damping><friction>0.2</friction></dynamics>"
    text = sdf(
        world(
            model(
                link("upper", mass=2.0, inside='<visual name="v"><geometry><box/></geometry></visual>'),
                link("lower", pose((0.5, 0, 0, 0, 0.3, 0)), mass=1.0),
                joint("shoulder", "world", "upper", inside=axis((0, 1, 0), dynamics)),
                joint("elbow", "upper", "lower", inside=axis((0, 1, 0))),
            )
        )
    )
    file = tmp_path / "arm.world"
    file.write_text(text, encoding="utf-8")
    arm = load(file)
    save(arm, tmp_path / "arm.json")
    assert load(tmp_path / "arm.json") == arm == load(to_dict(arm))
    assert main(["edit", str(file), "--out", str(tmp_path / "shell.json")]) == 0
    assert load(tmp_path / "shell.json") == arm


def test_d3_comments_that_simulators_read_are_read() -> None:
    """A comment before the declaration, and hyphens in one, which XML forbids; lines of messages stay."""
    text = sdf(model(link("a"), "<!-- gz topic --->", link("a")))
    with pytest.raises(shiftjax.ModelError, match=r"line 7: .*a second 'a'; the first, a link, is in line 5"):
        read("<!-- say -- twice\n-->" + text, "m.sdf")
    assert (
        read(sdf("A description.", model(link("a"))), "m.sdf")[1][0]
        == "m.sdf: a text of the file is left out, in line 2"
    )

"""URDF files (M61, M65, D3) move as closed forms, products of matrices and the same trees in our format say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftjax
from shiftjax import ModelBuilder, load, save
from shiftjax.cli import main
from shiftjax.formats.robots.urdf.robot import read
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model
from shiftjax.rotations import rotation_of_vector
from tests.access.test_published import IIWA, POSE, REFERENCE
from tests.support.models.urdf_text import joint, link, of_tree, robot, rpy_matrix

ROUNDING = 1e-14  # m, 1, or of a matrix whose entries are of the size 1: some ten roundings
G = 9.81


def model_of(*elements: str) -> Model:
    document, warnings = read(robot(*elements), "robot.urdf")
    return load({**document, "comment": "\n".join(warnings)})


def notes(*elements: str) -> list[str]:
    return read(robot(*elements), "robot.urdf")[1]


def homogeneous(R: Any, p: Any) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = R, p
    return out


def test_m61_poses_of_a_chain_are_products_of_its_origins_and_turns() -> None:
    """R = Rz(yaw) Ry(pitch) Rx(roll) at each origin, then a turn about the axis, or a way along it, in that frame."""
    draw = np.random.default_rng(61)
    types = ["continuous", "prismatic", "fixed", "revolute", "continuous", "prismatic"]
    limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'
    elements, links, expected, q = [link("world")], ["world"], np.eye(4), {}
    for k, type in enumerate(types):
        xyz, rpy, axis, way = draw.normal(size=3), draw.uniform(-3, 3, 3), draw.normal(size=3), draw.uniform(-2, 2)
        links.append(f"link{k}")
        limits = limit if type in ("revolute", "prismatic") else ""
        elements += [link(links[-1]), joint(f"j{k}", links[-2], links[-1], type, xyz, rpy, axis, limits)]
        unit, q[f"robot:j{k}"] = axis / np.linalg.norm(axis), way
        turned = (
            np.array(rotation_of_vector((unit * way).tolist())) if type in ("continuous", "revolute") else np.eye(3)
        )
        expected = expected @ homogeneous(rpy_matrix(*rpy), xyz)
        expected = expected @ homogeneous(turned, unit * way if type == "prismatic" else 0.0 * unit)
    at = shiftjax.configuration(model_of(*elements), q=np.zeros(5))
    at = at.changed(q=np.array([q[name] for name in at.speed_names]))
    assert len(at.speed_names) == 5 and np.abs(at.pose("link5") - expected).max() < ROUNDING * 10


def test_m61_the_iiwa_stands_where_others_have_it() -> None:
    """Frames that MotionGenesis and Drake publish, of a text of its origins."""
    elements = [link("base")]
    for k, (T, rpy) in enumerate(IIWA):
        parent = "base" if k == 0 else f"link{k - 1}"
        elements += [link(f"link{k}", 1.0), joint(f"joint{k}", parent, f"link{k}", "continuous", T, rpy, (0, 0, 1))]
    upright = shiftjax.configuration(model_of(*elements), q=np.zeros(7))
    assert np.abs(upright.pose("link6")[:3, 3] - REFERENCE["iiwa_upright_position"]).max() < POSE
    bent = upright.changed(q=np.radians([60.0, 30.0, 60.0, 30.0, 60.0, 30.0, 60.0])).pose("link6")
    published = REFERENCE["published_kuka_fk"]
    assert np.abs(bent[:3, :3] - published["R"]).max() < POSE and np.abs(bent[:3, 3] - published["p"]).max() < POSE


def two_links(damping: float = 0.0, friction: float = 0.0, inside: str = "") -> tuple[str, ...]:
    """Arms 0.5 and 0.4 m long that turn about y; their masses stand halfway, with inertia about them."""
    dynamics = f'<dynamics damping="{damping!r}" friction="{friction!r}"/>'
    return (
        link("base"),
        link("upper", 2.0, (0.25, 0, 0), (0.01, 0.04, 0.04, 0, 0, 0)),
        link("lower", 1.5, (0.2, 0, 0), (0.01, 0.02, 0.02, 0, 0, 0)),
        joint("shoulder", "base", "upper", axis=(0, 1, 0), inside=dynamics),
        joint("elbow", "upper", "lower", xyz=(0.5, 0, 0), axis=(0, 1, 0), inside=inside),
    )


def test_m61_two_links_have_the_mass_matrix_and_torques_of_the_book() -> None:
    """M, C v and g of a planar arm of two links (Spong, Hutchinson, Vidyasagar, section 7.4), gravity along -z."""
    m1, m2, l1, c1, c2, I1, I2 = 2.0, 1.5, 0.5, 0.25, 0.2, 0.04, 0.02
    q1, q2, v1, v2 = 0.4, -0.9, 1.3, -0.7
    at = shiftjax.configuration(model_of(*two_links()), q=np.array([q1, q2]), v=np.array([v1, v2]))
    order = [at.speed_names.index(f"robot:{name}") for name in ("shoulder", "elbow")]
    assert order == [0, 1]
    c = np.cos(q2)
    coupled = m2 * (c2**2 + l1 * c2 * c) + I2
    M = [[m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * c) + I1 + I2, coupled], [coupled, m2 * c2**2 + I2]]
    h = -m2 * l1 * c2 * np.sin(q2)
    assert np.abs(at.mass_matrix() - M).max() < ROUNDING
    assert np.abs(at.coriolis_forces() - [h * v2 * (2 * v1 + v2), -h * v1**2]).max() < ROUNDING
    # about y a positive angle turns the arm down: the torque that holds it is below zero
    far = m2 * c2 * np.cos(q1 + q2)
    assert np.abs(at.gravity_forces() + G * np.array([(m1 * c1 + m2 * l1) * np.cos(q1) + far, far])).max() < 1e-13


def test_m61_damping_and_dry_friction_act_at_the_joint() -> None:
    """Power of both, far above the slip speed: d v^2 + level |v|; the model says how friction fades."""
    elements = two_links(damping=0.3, friction=0.2)
    free, rubbed = (
        shiftjax.configuration(model_of(*arm), q=np.zeros(2), v=np.array([2.0, 0.0])) for arm in (two_links(), elements)
    )
    moment = free.mass_matrix() @ (rubbed.accelerations() - free.accelerations())
    assert np.abs(moment - [-(0.3 * 2.0 + 0.2), 0.0]).max() < 1e-13
    assert any("slip_speed of shoulder" in note for note in notes(*elements))


def test_m61_a_pendulum_has_its_period() -> None:
    """T = 2 pi sqrt(I/(m g l)) / AGM(1, cos(q0/2)) of the amplitude q0, from rest to rest."""
    bob = link("bob", 1.2, (0, 0, -0.6), (0.05, 0.05, 0.01, 0, 0, 0))
    model = model_of(link("world"), bob, joint("pivot", "world", "bob", axis=(1, 0, 0)))
    a, b = 1.0, np.cos(0.5)
    for _ in range(6):
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    period = 2 * np.pi * np.sqrt((0.05 + 1.2 * 0.6**2) / (1.2 * G * 0.6)) / a
    started = model.replace({"pivot.initial_displacement": 1.0})
    run = shiftjax.simulate(started, span=float(period), step=float(period) / 2000, channels=["pivot.q", "pivot.v"])
    assert run.channels["pivot.q"][-1] == pytest.approx(1.0, abs=1e-10), "of fourth order in 2000 steps"
    assert abs(run.channels["pivot.v"][-1]) < 1e-9


def test_m61_a_joint_follows_another_by_a_chain_of_mimics() -> None:
    """q = m q' + b of each; the leader carries I + sum m^2 I, and all begin where the leader stands at zero."""
    spun = [link(f"w{k}", 1.0, inertia=(0, 0, 0.1 * (k + 1), 0, 0, 0)) for k in range(3)]
    follow = '<mimic joint="{}" multiplier="{}" offset="{}"/>'
    chain = model_of(
        link("world"),
        *spun,
        joint("third", "world", "w2", axis=(0, 0, 1), inside=follow.format("second", 0.5, -0.2)),
        joint("second", "world", "w1", axis=(0, 0, 1), inside=follow.format("first", -2, 0.3)),
        joint("first", "world", "w0", axis=(0, 0, 1)),
    )
    starts = {path: item.initial_displacement for path, item in chain.joints()}
    assert starts == {"robot:first": 0.0, "robot:second": 0.3, "robot:third": pytest.approx(-0.05)}
    at = shiftjax.configuration(chain, q={"first": 0.7}, independent=["first"])
    turned = {name: at.pose(body)[:2, 0] for name, body in (("first", "w0"), ("second", "w1"), ("third", "w2"))}
    angles = {name: np.arctan2(x[1], x[0]) for name, x in turned.items()}
    assert angles == pytest.approx({"first": 0.7, "second": -1.1, "third": -0.75}, abs=1e-12)
    assert at.mass_matrix(constrained=True)[0, 0] == pytest.approx(0.1 + 0.2 * 4 + 0.3 * 1, rel=1e-13)


def test_m61_long_chains_of_mimics_are_read_as_fast_as_chains_without() -> None:
    """400 joints, each of which follows the one before: every start is worked out once."""
    links = [link(f"l{k}") for k in range(401)]

    def seconds(inside: str) -> float:
        joints = [joint(f"j{k}", f"l{k}", f"l{k + 1}", inside=inside.format(k - 1) if k else "") for k in range(400)]
        text, begun = robot(*links, *reversed(joints)), time.process_time()
        read(text, "x.urdf")
        return time.process_time() - begun

    assert seconds('<mimic joint="j{}"/>') < 5.0 * seconds("")


def test_m61_limits_of_a_joint_that_follows_are_those_of_where_it_begins() -> None:
    """It begins where the leader has it: a pose within its limits is not said to be outside of them, and one place
    that limits leave elsewhere is said not to be the one at which it is locked."""

    def told(lower: float, upper: float, offset: float = 0.5) -> str:
        limit = f'<limit lower="{lower}" upper="{upper}"/><mimic joint="first" offset="{offset}"/>'
        first, second = joint("first", "world", "a"), joint("second", "a", "b", "revolute", inside=limit)
        model = model_of(link("world"), link("a"), link("b"), first, second)
        assert dict(model.joints())["robot:second"].initial_displacement == offset
        return "\n".join((model.comment, *model.warnings))

    assert told(0.2, 1.0) == ""
    assert "starts at 0.5 rad, beyond its limits" in told(-0.2, 0.2)
    assert "second is locked where it follows another joint, not in the one place of its limits" in told(0.3, 0.3)
    assert "not in the one place" in told(0.3, 0.3, 0.0) and "not in the one place" not in told(0.5, 0.5)


def test_m61_the_inertia_is_turned_to_the_axes_of_the_link() -> None:
    """I = R I' R', of the frame of the inertial; what no body can have is said as of files of ours."""
    rpy = (0.3, -0.8, 1.9)
    arm = link("arm", 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25, 0.01, -0.02, 0.03), rpy)
    body = dict(model_of(link("world"), arm, joint("j", "world", "arm")).bodies())["robot:arm"]
    R, own = rpy_matrix(*rpy), np.array([[0.1, 0.01, 0.03], [0.01, 0.2, -0.02], [0.03, -0.02, 0.25]])
    assert np.abs(np.array(body.inertia.matrix) - R @ own @ R.T).max() < 1e-16 * 4
    assert body.center_of_mass == (0.1, 0.2, 0.3)
    odd = link("arm", 1.0, inertia=(0.1, 0.1, 0.3, 0, 0, 0))
    document, _ = read(robot(link("world"), odd, joint("j", "world", "arm")), "x.urdf")
    assert any("no body has the inertia of 'arm'" in text for text in load(document).warnings)


def test_m61_limits_hold_poses_and_the_rest_is_kept_as_data() -> None:
    limit = '<limit lower="0.2" upper="1.5" effort="40" velocity="2.5"/>'
    more = '<safety_controller k_velocity="10" soft_lower_limit="0.3"/><calibration rising="0.1"/>'
    still = '<limit lower="0.25" upper="0.25" effort="1" velocity="1"/>'
    model = model_of(
        link("world"),
        *(link(name, 1.0) for name in "abc"),
        joint("turn", "world", "a", "revolute", axis=(0, 0, 1), inside=limit + more),
        joint("stuck", "a", "b", "prismatic", inside=still),
        joint("loose", "b", "c", "revolute"),
    )
    joints = {path: item for path, item in model.joints()}
    turn, stuck, loose = (joints[f"robot:{name}"] for name in ("turn", "stuck", "loose"))
    assert turn.limits == (0.2, 1.5) and loose.limits is None and stuck.lock and stuck.initial_displacement == 0.25
    controllers = {"safety_controller": {"k_velocity": 10.0, "soft_lower_limit": 0.3}, "calibration": {"rising": 0.1}}
    assert thaw(turn.data) == {"effort": 40.0, "velocity": 2.5, **controllers}
    (kept,) = (line for line in model.comment.splitlines() if "kept as data" in line)
    assert "effort and velocity of turn, stuck; safety_controller of turn; calibration of turn" in kept
    for text in ("outside of the limits of turn", "posing leaves stuck", "no limits are stated of loose"):
        assert text in model.comment
    posed = shiftjax.inverse_kinematics(model, shiftjax.JointGoal("turn", -1.0))
    turned = shiftjax.configuration(model, posed.coordinates).pose("a")
    assert np.arctan2(turned[1, 0], turned[0, 0]) == pytest.approx(0.2, abs=1e-9), "at the lower limit"


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -2), (0.3, -0.4, -0.7), (1, 0, 0)])
def test_m61_a_planar_joint_slides_across_its_normal_and_turns_about_it(normal: tuple[float, ...]) -> None:
    plate, unit = link("plate", 1.0), np.array(normal) / np.linalg.norm(normal)
    model = model_of(link("world"), plate, joint("table", "world", "plate", "planar", (1, 2, 3), axis=normal))
    at = shiftjax.configuration(model, q=np.zeros(3))
    assert np.abs(at.pose("plate") - homogeneous(np.eye(3), (1, 2, 3))).max() < ROUNDING
    moved = at.changed(q=np.array([0.3, -0.5, 0.8])).pose("plate")
    assert abs(unit @ (moved[:3, 3] - [1, 2, 3])) < ROUNDING
    assert np.linalg.norm(moved[:3, 3] - [1, 2, 3]) == pytest.approx(np.hypot(0.3, 0.5), rel=1e-13)
    assert np.abs(moved[:3, :3] - rotation_of_vector((0.8 * unit).tolist())).max() < ROUNDING


def test_m61_the_root_is_ground_or_stands_on_it() -> None:
    """A link `world` that holds nothing is ground; any other root is a body, fixed until an edit lets it float."""
    arm = link("arm", 1.0, inertia=(1, 1, 1, 0, 0, 0))
    assert [path for path, _ in model_of(link("world"), arm, joint("j", "world", "arm")).bodies()] == ["robot:arm"]
    standing = model_of(link("base", 1.0, inertia=(1, 1, 1, 0, 0, 0)), arm, joint("j", "base", "arm"))
    edit = shiftjax.Editor(standing)
    assert edit.freedoms == 1 and "base_on_ground" in standing.comment
    edit.change_type("base_on_ground", "float")
    assert edit.freedoms == 7
    drawn = link("world", inside='<visual><geometry><sphere radius="1"/></geometry></visual>')
    assert len([*model_of(drawn, arm, joint("j", "world", "arm")).bodies()]) == 2
    free = model_of(link("world"), arm, joint("j", "world", "arm", "floating"))
    assert shiftjax.configuration(free).mass_matrix().shape == (6, 6)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_m61_a_tree_of_ours_is_the_same_as_urdf(seed: int) -> None:
    """Poses, masses and M(q) of random trees that the test writes as URDF."""
    draw = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, -G))
    tree, frames, joints = builder.assembly("tree"), {}, []
    for k in range(1, int(draw.integers(2, 6))):
        parent = int(draw.integers(0, k))
        R = rpy_matrix(*draw.uniform((-3, -1.4, -3), (3, 1.4, 3)))
        frames.setdefault(parent, {})[f"f{k}"] = {"T": draw.normal(size=3), "R": R}
        joints.append((k, parent, str(draw.choice(["revolute", "prismatic", "rigid"]))))
    for name, frame in frames.get(0, {}).items():
        builder.frame(name, **frame)
    for k, _, _ in joints:
        spread = draw.normal(size=(3, 3))
        I = np.trace(spread @ spread.T) * np.eye(3) - spread @ spread.T  # noqa: E741  # of a cloud of points
        entries = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[2, 0])
        tree.body(f"b{k}", mass=draw.uniform(0.5, 3), center_of_mass=draw.normal(size=3), inertia=entries,
                  frames=frames.get(k, {}))  # fmt: skip
    for k, parent, type in joints:
        axis = {} if type == "rigid" else {"axis": draw.normal(size=3)}
        tree.joint(f"j{k}", type, parent=(f"b{parent}" if parent else "fixed", f"f{k}"), child=f"b{k}", **axis)
    ours = builder.build()
    theirs = load(read(of_tree(ours), "tree.urdf")[0])
    assert {path: body.mass for path, body in theirs.bodies()} == {path: body.mass for path, body in ours.bodies()}
    q = draw.uniform(-2, 2, len([type for *_, type in joints if type != "rigid"]))
    one, other = (shiftjax.configuration(model, q=q) for model in (ours, theirs))
    assert one.speed_names == other.speed_names
    for k, *_ in joints:
        assert np.abs(one.pose(f"b{k}") - other.pose(f"b{k}")).max() < ROUNDING * 100
    if len(q):
        M = one.mass_matrix()
        assert np.abs(M - other.mass_matrix()).max() < 1e-13 * np.abs(M).max()


def test_m61_a_file_is_loaded_saved_and_read_back_equal(tmp_path: Path) -> None:
    """All that a robot has, through a .json file, and through the command `edit` without steps."""
    shape = (
        '<visual name="skin"><origin xyz="0 0 1" rpy="0 1 0"/><geometry>{}</geometry><material name="red"/></visual>'
    )
    touching = '<collision><geometry><sphere radius="0.2"/></geometry></collision>'
    inside = shape.format('<box size="1 2 3"/>') + shape.format('<cylinder radius="0.1" length="2"/>') + touching
    follows = '<mimic joint="shoulder" multiplier="2" offset="0.1"/>'
    rotor = link("rotor", 1.0, inside=inside)
    material = '<material name="red"><color rgba="1 0 0 0.5"/></material>'
    spin = joint("spin", "lower", "rotor", axis=(1, 2, 3), rpy=(0.1, 0.2, 0.3), inside=follows)
    file = tmp_path / "robot.urdf"
    file.write_text(robot(*two_links(0.1, 0.2), material, rotor, spin), encoding="utf-8")
    model = load(file)
    body = dict(model.bodies())["robot:rotor"]
    assert [shape.type for shape in body.geometry] == ["box", "cylinder"]
    assert body.geometry[0].options["colour"] == (1, 0, 0, 0.5) and body.geometry[0].options["comment"] == "skin"
    assert thaw(body.data) == {"collision": [{"type": "sphere", "radius": 0.2}]}
    save(model, tmp_path / "robot.json")
    assert load(tmp_path / "robot.json") == model == load(to_dict(model))
    from_shell = tmp_path / "shell.json"
    assert main(["edit", str(file), "--out", str(from_shell)]) == 0
    assert load(from_shell) == model and main(["edit", str(file)]) == 2, "without steps and without a file"
    assert main(["edit", str(file), "--out", str(tmp_path / "robot.dae")]) == 2, "which only an export writes"


def test_m61_a_robot_stands_in_a_file_of_ours(tmp_path: Path) -> None:
    (tmp_path / "robot.urdf").write_text(robot(*two_links()), encoding="utf-8")
    cell = {
        "model_parameters": {"version": "2.0", "gravity": [0, 0, 9.81]},
        "frames": [{"name": "stand", "T": [1, 2, 3], "R": [[1, 0, 0], [0, -1, 0], [0, 0, -1]]}],
        "assemblies": [{"name": "left", "include": "robot.urdf", "parent": [["fixed"], "stand"]}],
    }
    model = load(cell, tmp_path)
    assert any("gravity of robot.urdf is not used" in text for text in model.warnings)
    at = shiftjax.configuration(model, q=np.zeros(2))
    assert np.abs(at.pose("left:robot:lower") - homogeneous(np.diag([1, -1, -1]), (1.5, 2, 3))).max() < ROUNDING


def test_m61_what_moves_nothing_is_left_out_with_a_note() -> None:
    extra = (
        '<transmission name="t"><type>x</type></transmission><transmission name="u"/>',
        '<gazebo reference="arm"><mu1>0.2</mu1><turnGravityOff>false</turnGravityOff></gazebo><sensor name="eye"/>',
    )
    arm = link("arm", inside="<contact/><kinematic>false</kinematic>")
    turn = joint("j", "world", "arm").replace("<joint ", '<joint dont_collapse="true" ')
    (line,) = notes(link("world"), arm, turn, *extra)
    assert line == (
        "robot.urdf: left out, since it moves nothing here: <contact> in line 4; <kinematic> in line 4; "
        "'dont_collapse' of <joint> in line 5; <transmission> in line 6 and 1 more; <gazebo> in line 7; "
        "<sensor> in line 7"
    )
    assert notes(link("world"), link("arm"), joint("j", "world", "arm")) == []
    still = '<limit effort="1" velocity="1"/><dynamics damping="3"/><mimic joint="other"/>'
    (line,) = notes(link("world"), link("arm"), joint("j", "world", "arm", "fixed", inside=still))[:1]
    assert line == "robot.urdf: what is stated of the motion of fixed joints says nothing: j"


def test_m61_gravity_that_gazebo_switches_off_does_not_act() -> None:
    off = '<gazebo reference="lower"><turnGravityOff>true</turnGravityOff></gazebo>'
    model = model_of(*two_links(), off)
    at = shiftjax.configuration(model, q=np.zeros(2))
    assert at.gravity_forces() == pytest.approx([-2.0 * G * 0.25, 0.0], abs=1e-14)
    assert "gravity does not act on lower" in model.comment

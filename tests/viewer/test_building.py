"""From models to scenes: automatic shapes of the whole library, geometry of files, lights, colours, sizes."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import shiftjax.models as library
from shiftjax.dynamics.kinematics import ground_point
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.measures.channels import quaternion_of_rotation
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import FrameRef, Model
from shiftjax.mechanism.records import Light
from shiftjax.poses import matrices
from shiftjax.run.closing.host_evaluation import per_member
from shiftjax.run.start.prepare import prepare
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transformed
from shiftjax.viewer.scene.attachments import BuildContext, Style, levels
from shiftjax.viewer.scene.automatic import solid
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.joint_shapes import PURPLE, RED, ULTRAMARINE
from shiftjax.viewer.scene.lights import lights_of
from shiftjax.viewer.scene.likeness import stem
from shiftjax.viewer.scene.palette import PALETTE, TRANSLUCENT
from shiftjax.viewer.scene.scene import Colour, Scene
from tests.scenes.lone import STILL, Loaded, drawn, lone, of_lone
from tests.scenes.rays import DRAWN, corners, nearest
from tests.support.complete import without

ROUNDING = 1e-6  # m, of poses and places of models of about a metre
SINGLE = 1e-5  # normals are stored in single precision
# They lie in the solid of a heavier body at the same place (plate, platform, spokes); hiding that one shows them.
INSIDE = {
    "scissor_lift:head",
    "vehicle_chassis:chassis_5",
    "vehicle_chassis:cross_rear_right",  # massless, in the boxes of the bodies they join
    "vehicle_chassis:lower_rear_right_ball_1",
    "vehicle_chassis:lower_rear_right_ball_2",
    "vehicle_chassis:upper_front_right_ball_1",
    "vehicle_chassis:upright_rear_left",
    "vehicle_chassis:upright_rear_right",
}
LARGEST = 3.0  # no part is wider than so many radii of the scene


@cache
def started(name: str) -> tuple[Model, dict[str, np.ndarray], frozenset[str]]:
    """A library model, its bodies' poses at the start, and the joints that close its loops."""
    model = load(name)
    prepared = prepare(model, {})
    lane, plan = prepared.file_lane(), prepared.plan
    chain = lane.motion(list(prepared.file_start.q), None).chain()
    point = ground_point(plan, lane.params)
    poses = {}
    for k, node in enumerate(plan.nodes):
        if k and not node.virtual:
            state = chain.node(k)
            values = [*(p + o for p, o in zip(state.p, point, strict=True)), *quaternion_of_rotation(state.R)]
            poses[node.path] = per_member(values, 1)[:, 0]
    return model, poses, frozenset(joint.path for joint in plan.joints if joint.chord)


def built(name: str) -> tuple[Scene, np.ndarray]:
    """The scene of a library model and its first poses (nodes, 7)."""
    model, poses, cut = started(name)
    scene = scene_of(model, poses, lambda path, companions: [Loaded(shapes.box())], cut)
    return scene, np.stack([STILL, *(poses[path] for path in scene.nodes[1:])])


def test_nodes_follow_the_order_of_the_poses() -> None:
    """A store lists bodies as the tree does and not as the file: every part must ride on its own body's pose."""
    model, first, cut = started("four_bar")
    forth, back = scene_of(model, first, cut=cut), scene_of(model, dict(reversed(first.items())), cut=cut)
    assert back.nodes == ("fixed", *reversed(forth.nodes[1:]))
    where = [(part.path, part.kind, scene.nodes[part.node]) for scene in (forth, back) for part in scene.parts]
    assert where[: len(forth.parts)] == where[len(forth.parts) :]


# -- the library ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", library.names())
def test_every_body_is_shown_in_finite_numbers_and_in_proportion(name: str) -> None:
    """E13: of every mechanism of the library."""
    scene, poses = built(name)
    model, first, _ = started(name)
    assert scene.nodes == ("fixed", *first), "nodes are numbered as later poses are"
    assert set(first) == {path for path, _ in model.bodies()} and scene.warnings == ()
    assert np.isfinite([scene.size, *scene.centre, *scene.up]).all() and scene.size > 0
    for path in scene.nodes[1:]:
        assert drawn(scene, path), f"{path} has no shape"
    transforms = matrices(poses)
    for part in (part for part in scene.parts if part.kind in DRAWN):
        points = transformed(transforms[part.node] @ part.transform, part.mesh.vertices)
        assert np.isfinite(points).all()
        assert np.ptp(points, axis=0).max() < LARGEST * scene.size, part.path
        assert np.linalg.norm(points - scene.centre, axis=1).max() <= scene.size * (1 + SINGLE)
        assert 0 <= part.node < len(scene.nodes) and all(0 <= c <= 1 for c in part.colour)


@pytest.mark.parametrize("name", library.names())
def test_placed_normals_are_unit_and_outward(name: str) -> None:
    """By the cofactors of the place, as a renderer turns them; a place that mirrors would show a shape's inside."""
    scene, _ = built(name)
    for part in {(part.mesh.key, part.kind): part for part in scene.parts}.values():
        cofactors = np.linalg.inv(part.transform[:3, :3])
        assert np.linalg.det(part.transform[:3, :3]) > 0
        assert np.abs(np.linalg.norm(part.mesh.normals, axis=1) - 1).max() < SINGLE
        a, b, c = (transformed(part.transform, part.mesh.vertices[part.mesh.indices[:, k]]) for k in range(3))
        face = np.cross(b - a, c - a)
        normals = (part.mesh.normals @ cofactors)[part.mesh.indices].sum(axis=1)
        assert np.einsum("tk,tk->t", face, normals).min() > 0


# A ray costs 0.1 s and more where there are many triangles; others have the same windows, arms and legs.
@pytest.mark.parametrize("name", without(library.names(), ["n_four_bar_40", "vehicle_chassis"]))
def test_every_body_can_be_hit_from_some_side(name: str) -> None:
    """A ray at some triangle of each body, along its normal, meets that body: shapes are not inside others."""
    scene, poses = built(name)
    triangles, owner = corners(scene, poses)
    hidden = []
    for path in scene.nodes[1:]:
        mine = [k for k, part in enumerate(scene.parts) if part.path == path and part.kind == "body"]
        own = triangles[np.isin(owner, mine)]
        for a, b, c in own[:: max(1, len(own) // 24)]:
            outward = np.cross(b - a, c - a)
            middle, outward = (a + b + c) / 3, outward / np.linalg.norm(outward)
            hit = nearest(scene, poses, middle + 3 * scene.size * outward, -outward)
            if hit is not None and hit[0] in mine:
                break
        else:
            hidden.append(path)
    assert set(hidden) <= INSIDE, "from every side tried"


@pytest.mark.parametrize("name", ["four_bar", "excavator", "stewart"])
def test_the_same_model_gives_the_same_scene(name: str) -> None:
    (one, _), (two, _) = built(name), built(name)
    assert [(p.mesh.key, p.node, p.colour, p.path, p.kind) for p in one.parts] == [
        (p.mesh.key, p.node, p.colour, p.path, p.kind) for p in two.parts
    ]
    assert all(np.array_equal(p.transform, q.transform) for p, q in zip(one.parts, two.parts, strict=True))
    meshes = {part.mesh.key: part.mesh for part in one.parts}
    assert all(part.mesh is meshes[part.mesh.key] for part in (*one.parts, *two.parts)), "equal keys, equal arrays"


def test_many_parts_share_few_meshes() -> None:
    scene, _ = built("n_four_bar_40")
    assert len(scene.parts) > 500 and len({part.mesh.key for part in scene.parts}) < 10


@pytest.mark.parametrize("name", library.names())
def test_joints_are_drawn_where_they_are(name: str) -> None:
    """A joint's fitting is centred on its axis, at its frame of parent or child; a pin reaches through its layers."""
    model, poses, _ = started(name)
    scene, _ = built(name)
    context = BuildContext.of(model, poses)
    for path, joint in model.joints():
        parts = drawn(scene, path, "joint")
        assert bool(parts) == (joint.type != "float")
        for part in parts:
            attachment = next(
                c
                for body in (joint.parent.body, joint.child.body)
                for c in context.attachments[body]
                if c.joint == path and context.nodes[body] == part.node
            )
            off = part.transform[:3, 3] - attachment.point
            assert np.linalg.norm(np.cross(off, attachment.axis)) < ROUNDING
            if attachment.drawing in ("ball", "weld"):
                assert np.linalg.norm(off) < ROUNDING
            if attachment.drawing == "hinge":
                assert np.linalg.norm(off) < 0.5 * np.linalg.norm(part.transform[:3, 2]), "it goes through the frame"


def test_colours_tell_bodies_and_joints_apart() -> None:
    """M60: tree joints ultramarine, closing ones purple, rigid ones red."""
    model, _, cut = started("excavator")
    scene, _ = built("excavator")
    assert len(cut) == 5
    for path, joint in model.joints():
        expected = RED if joint.type == "rigid" else PURPLE if path in cut else ULTRAMARINE
        assert {part.colour for part in drawn(scene, path, "joint")} == {expected}
    assert len(set(PALETTE)) == len(PALETTE)
    for one, two in itertools.combinations([*PALETTE, ULTRAMARINE, PURPLE, RED], 2):
        assert np.linalg.norm(np.subtract(one, two)) > 0.1, "colours that look alike"


def test_what_is_virtual_is_translucent_and_what_is_locked_red() -> None:
    """M5, M39: of a file; all other colours stay."""
    model = ModelBuilder()
    rows = model.assembly("a").body("bar", mass=1, inertia=(1, 1, 1), frames={"tip": (1, 0, 0)})
    rows.body("ghost", virtual=True, geometry=[{"type": "sphere", "radius": 0.1, "colour": [1, 0, 0, 0.5]}])
    rows.joint("pin", "Ry", child="bar", lock=True)
    rows.joint("arm", "Ry", parent=("bar", "tip"), child="ghost", virtual=True)
    poses = {path: STILL for path in ("a:bar", "a:ghost")}
    scene = scene_of(model.build(), poses)
    (ghost,) = drawn(scene, "a:ghost")
    assert ghost.colour == (1, 0, 0, 0.5 * TRANSLUCENT)
    assert {part.colour for part in drawn(scene, "a:arm", "joint")} == {(*ULTRAMARINE[:3], TRANSLUCENT)}
    assert {part.colour for part in drawn(scene, "a:pin", "joint")} == {RED}
    assert all(part.colour[3] == 1.0 for part in drawn(scene, "a:bar"))


def test_bodies_that_are_alike_have_one_colour() -> None:
    """The arms of a delta, the legs of a hexapod, left and right; but the links of a chain differ."""

    def colours(name: str) -> dict[str, Colour]:
        scene, _ = built(name)
        return {path.partition(":")[2]: drawn(scene, path)[0].colour for path in scene.nodes[1:]}

    delta, excavator, chain = colours("delta"), colours("excavator"), colours("bricard")
    assert len({colour for name, colour in delta.items() if name.startswith("arm")}) == 1
    assert len({colour for name, colour in delta.items() if name.startswith("rod")}) == 1
    assert len(set(delta.values())) == 4, "base, arms, rods, platform"
    assert excavator["rod_left"] == excavator["rod_right"] != excavator["barrel_left"] == excavator["barrel_right"]
    assert len(set(chain.values())) == len(chain)
    assert stem("lower_front_left_ball_1") == "lower ball" and stem("first_crank") == "crank" and stem("K7") == "k"


def test_no_faces_of_joined_bars_lie_in_one_plane() -> None:
    model, poses, _ = started("andrews")
    context = BuildContext.of(model, poses)
    level = levels(list(context.bodies), context.attachments)
    for _, joint in model.joints():
        if "fixed" not in (joint.parent.body, joint.child.body):
            assert level[joint.parent.body] != level[joint.child.body]


# -- automatic shapes -----------------------------------------------------------------------------------------------


def test_a_pendulum_has_its_bob_at_the_centre_of_mass() -> None:
    scene = of_lone(lone(mass=2.0, center_of_mass=(0, 0, -0.7), inertia=(0.004, 0.004, 0.004)))
    bob, bar = drawn(scene, "a:rod")
    assert bob.mesh is shapes.sphere() and bob.transform[:3, 3] == pytest.approx([0, 0, -0.7])
    assert bob.transform[0, 0] == pytest.approx(np.sqrt(2.5 * 0.004 / 2.0)), "2/5 m r^2"
    ends = transformed(bar.transform, bar.mesh.vertices)[:, 2]
    assert ends.max() > 0.0 and ends.min() < -0.7


@pytest.mark.parametrize(
    ("inertia", "mesh", "half"),
    [
        # mass 3: a cylinder of radius 0.2 and length 1 along x; an ellipsoid 0.3, 0.2, 0.1; a plate as a cylinder on z
        ((0.06, 0.28, 0.28), "cylinder", (0.5, 0.2, 0.2)),
        ((0.03, 0.06, 0.078), "ellipsoid", (0.3, 0.2, 0.1)),
        ((0.0305, 0.0305, 0.06), "cylinder", (0.2, 0.2, 0.0224)),
    ],
)
def test_solids_of_equal_inertia(inertia: tuple[float, ...], mesh: str, half: tuple[float, ...]) -> None:
    body = lone(mass=3.0, inertia=inertia).assemblies[0].bodies[0]
    shape, where = solid(body, Style(0.02, 10.0), block=False)
    assert shape is (shapes.cylinder() if mesh == "cylinder" else shapes.sphere())
    # vertices of a circle of 32 miss its rim by half a percent at most; the moments above are round numbers
    assert np.abs(transformed(where, shape.vertices)).max(axis=0) == pytest.approx(half, rel=0.02)


def test_a_slider_that_is_no_body_of_revolution_is_a_block() -> None:
    body = lone(mass=12.0, inertia=(0.13, 0.10, 0.05)).assemblies[0].bodies[0]  # sides 0.1, 0.2, 0.3
    shape, where = solid(body, Style(0.02, 10.0), block=True)
    assert shape is shapes.box() and np.ptp(transformed(where, shape.vertices), axis=0) == pytest.approx(
        [0.1, 0.2, 0.3]
    )


def test_solids_stand_along_principal_axes() -> None:
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
    J = turn @ np.diag([0.06, 0.28, 0.28]) @ turn.T  # the cylinder along x, turned about z
    body = lone(mass=3.0).assemblies[0].bodies[0]
    inertia = dataclasses.replace(body.inertia, Ixx=J[0, 0], Iyy=J[1, 1], Izz=J[2, 2], Ixy=J[0, 1])
    _, where = solid(dataclasses.replace(body, inertia=inertia), Style(0.02, 10.0), block=False)
    assert abs(where[:3, 2] @ turn[:, 0]) == pytest.approx(1.0), "length 1 along the turned x"


def test_a_ternary_link_is_one_plate_and_a_body_of_crossed_hinges_is_round() -> None:
    scene, _ = built("jansen")
    plates = [
        p for p in scene.parts if p.kind == "body" and p.mesh.key.startswith("plate") and p.mesh.key.count("(") > 3
    ]
    assert plates, "Jansen's triangles"
    scene, _ = built("bricard")
    assert all(part.mesh.key.startswith("capsule") for part in scene.parts if part.kind == "body")


def test_massless_bodies_are_small() -> None:
    scene, _ = built("vehicle_chassis")
    massless = [path for path, body in started("vehicle_chassis")[0].bodies() if body.mass == 0]
    assert len(massless) == 25
    for path in massless:
        for part in drawn(scene, path):
            assert np.ptp(transformed(part.transform, part.mesh.vertices), axis=0).max() < 0.1 * scene.size


def test_up_is_against_gravity() -> None:
    assert built("four_bar")[0].up == (0.0, 0.0, -1.0)
    assert built("bricard")[0].up == (0.0, 1.0, 0.0)
    assert built("andrews")[0].up == (0.0, 0.0, 1.0), "no gravity"


def test_supports_stand_below_the_joints_of_ground() -> None:
    scene, _ = built("four_bar")
    cones = drawn(scene, "fixed:origin", "ground") + drawn(scene, "fixed:rocker_pivot", "ground")
    for cone, foot in zip(cones, ([0, 0, 0], [0.5, 0, 0]), strict=True):
        points = transformed(cone.transform, cone.mesh.vertices)
        assert points[:, 2].max() > 0 > points[:, 2].min(), "z points down: the base is above zero"
        assert points[:, 2].max() > -points[:, 2].min()
        assert points[:, :2].mean(axis=0) == pytest.approx(foot[:2], abs=ROUNDING)


def test_frames_and_centres_are_of_their_own_kind_and_throw_no_shadow() -> None:
    scene, _ = built("double_pendulum")
    frames = {part.path for part in scene.parts if part.kind == "frame"}
    own = ["double_pendulum:link1:origin", "double_pendulum:link1:distal", "fixed:attachment", "fixed:origin"]
    assert set(own) < frames and len([p for p in scene.parts if p.kind == "frame"]) == 3 * len(frames)
    assert [p.path for p in scene.parts if p.kind == "centre"] == list(scene.nodes[1:])
    assert not any(p.shadow for p in scene.parts if p.kind in ("frame", "centre"))
    arrow = next(p for p in scene.parts if p.path == own[1] and p.kind == "frame")
    assert arrow.transform[:3, 3] == pytest.approx([0, 0, 0.8]), "the file's frame"


def test_a_model_of_one_free_body_and_an_empty_one() -> None:
    builder = ModelBuilder()
    builder.assembly("a").body("rock", mass=1.0, inertia=(0.1, 0.2, 0.25))
    pose = np.array([1e3, 0, 0, 1, 0, 0, 0])
    scene = scene_of(load(to_dict(builder.build())), {"a:rock": pose})
    assert scene.centre == pytest.approx((1e3, 0, 0)) and 0.1 < scene.size < 2.0, "ground is not near it"
    empty = scene_of(ModelBuilder().build(), {})
    assert empty.nodes == ("fixed",) and empty.size == 1.0 and len(empty.lights) == 2


# -- lights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "down"), [("four_bar", (0, 0, 1)), ("bricard", (0, -1, 0)), ("andrews", (0, 0, -1))])
def test_s26_without_lights_one_shines_along_gravity(name: str, down: tuple[float, ...]) -> None:
    light, fill = built(name)[0].lights
    assert light.shadow and not fill.shadow and max(fill.diffuse) < 0.5 * min(light.diffuse), "the second is weak"
    assert fill.ambient == fill.specular == (0, 0, 0) and np.linalg.norm(fill.direction) == pytest.approx(1.0)
    assert light.type == "directional" and light.direction == down and light.node == 0


def lit(*lights: Light) -> Model:
    builder = ModelBuilder().frame("high", T=(0, 0, -4), R=[[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    builder.assembly("a").body("rod", mass=1.0, inertia=(1, 1, 1), frames={"nose": (1, 0, 0)}).joint(
        "pivot", "Ry", child="rod"
    )
    return dataclasses.replace(builder.build(), lights=lights)


def test_s27_lights_stand_on_frames_of_ground_and_of_bodies() -> None:
    spot = Light("spot", "spot", FrameRef("a:rod", "nose"), Kd=(1.0, 0.9, 0.8), options=FrozenJson({"cone": 0.3}))
    sun = Light("sun", "directional", FrameRef("fixed", "high"), Ka=(0.0, 0.0, 0.0))
    bulb = Light("bulb", "point", FrameRef("a:rod"), Ks=(1.0, 1.0, 1.0))
    one, two, three = lights_of(lit(spot, sun, bulb), {"fixed": 0, "a:rod": 1})
    assert (one.path, one.type, one.node, one.position, one.direction) == (
        "lights:spot",
        "spot",
        1,
        (1, 0, 0),
        (0, 0, 1),
    )
    assert one.cone == 0.3 and one.diffuse == (1.0, 0.9, 0.8)
    assert (two.node, two.position, two.direction) == (0, (0, 0, -4), (0, -1, 0)), "along +z of its frame"
    assert two.ambient == (0, 0, 0) and two.cone == 0.5
    assert (three.type, three.node, three.position, three.specular) == ("point", 1, (0, 0, 0), (1, 1, 1))


def test_lights_switched_off_leave_the_overhead_one() -> None:
    off = Light("off", "point", FrameRef("fixed"), options=FrozenJson({"active": False}))
    gone = Light("gone", "point", FrameRef("a:nobody"))
    assert [light.path for light in lights_of(lit(off, gone), {"fixed": 0, "a:rod": 1})] == ["overhead", "fill"]


def test_a_frame_that_holds_a_light_is_no_limb() -> None:
    light = Light("lamp", "point", FrameRef("a:rod", "nose"))
    with_light, without = (scene_of(lit(*lights), {"a:rod": STILL}) for lights in ((light,), ()))
    assert len(drawn(without, "a:rod")) > len(drawn(with_light, "a:rod"))


def test_building_leaves_jax_out() -> None:
    code = (
        "import sys\nimport shiftjax.viewer.scene.building\nfrom shiftjax.formats import load\n"
        "model = load('four_bar')\nposes = {path: [0, 0, 0, 1, 0, 0, 0] for path, _ in model.bodies()}\n"
        "shiftjax.viewer.scene.building.scene_of(model, poses)\n"
        "assert 'jax' not in sys.modules and 'OpenGL' not in sys.modules"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr

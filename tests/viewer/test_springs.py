"""Springs and dampers between frames: which are drawn, that they join their points at any pose, and in pictures."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED
from shiftjax.poses import matrices, rotate, to_world
from shiftjax.viewer.gl.part_instances import PartInstances
from shiftjax.viewer.gui.state.tree_rows import scene_rows
from shiftjax.viewer.scene.affine import transform, transformed
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.scene import Scene, SceneSpring, Snapshot
from shiftjax.viewer.scene.spring_meshes import KINDS, SPRING, placed, spring_mesh, stretched
from tests.scenes.lone import STILL
from tests.scenes.pictures import SUN
from tests.scenes.studio import PLAIN, eye, gl, no_errors, shot  # noqa: F401  fixtures of a module

ROUNDING = 1e-12  # sums and products of a few doubles of order one
SINGLE = 1e-6  # figures are stored in single precision
COIL = SceneSpring("a:coil", "spring", (0, 1), ((0.0, 0.0, 2.0), (0.0, 0.0, 0.5)), None, (1.0, 0.0, 0.0), 0.1)


def shifted(x: float) -> np.ndarray:
    return np.array([x, *STILL[1:]])


def strut() -> Model:
    """A leg on a slider, with a spring and a damper to ground; a friction in the slider; one spring switched off."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("top", T=(0.2, 0.0, 2.0))
    leg = (
        builder.assembly("a")
        .body("leg", mass=1.0, inertia=(2e-4, 2e-4, 2e-4), frames={"eye": (0.0, 0.1, 0.5)})
        .joint("slide", "Tz", child="leg")
    )
    ends = (("fixed", "top"), ("leg", "eye"))
    leg.restraint("coil", "spring", frames=ends, coefficients=[[1.0, 0.0]])
    leg.restraint("shock", "damper", frames=ends, coefficients=[[1.0, 0.0]], distance_type="Tz")
    leg.restraint("seal", "friction", joint="slide", coefficients=[[1.0], [-1.0]], knot_points=[0])
    leg.restraint("off", "spring", frames=ends, coefficients=[[1.0]], active=False)
    return builder.build()


def test_restraints_between_frames_are_drawn() -> None:
    model = strut()
    coil, shock = scene_of(model, {"a:leg": STILL}).springs
    assert (coil.path, coil.kind, shock.path, shock.kind) == ("a:coil", "spring", "a:shock", "damper")
    assert coil.nodes == (0, 1) and coil.points == ((0.2, 0.0, 2.0), (0.0, 0.1, 0.5))
    assert shock.radius < coil.radius, "a damper fits into the coil about it"
    assert {row.path: row.hideable for row in scene_rows(model) if row.kind == "force"} == {
        "a:coil": True, "a:shock": True, "a:seal": False, "a:off": False,
    }  # fmt: skip


def test_springs_of_the_library_are_drawn() -> None:
    for name, count in (("andrews", 1), ("vehicle_chassis", 4), ("double_wishbone", 1), ("four_bar", 0)):
        model = load(name)
        poses = {path: shifted(k) for k, (path, _) in enumerate(model.bodies())}
        scene = scene_of(model, poses)
        restraints = dict(model.restraints())
        between = [spring for spring in scene.springs if spring.path in restraints]
        assert len(between) == count == sum(item.frames is not None for item in restraints.values()), name
        for spring in between:
            bodies = [FIXED if node == 0 else scene.nodes[node] for node in spring.nodes]
            frames = restraints[spring.path].frames
            assert frames is not None and bodies == [ref.body for ref in frames]


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_joins_its_points_at_any_poses(kind: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        poses = rng.normal(size=(3, 7))
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        across, *points = (tuple(map(float, rng.normal(size=3))) for _ in range(3))
        spring = SceneSpring("s", kind, (1, 2), (points[0], points[1]), None, across, 0.1)  # type: ignore[arg-type]
        first, second = (to_world(poses[n], np.array(p)) for n, p in zip(spring.nodes, spring.points, strict=True))
        where = transform(*stretched(spring, matrices(poses)))
        assert np.abs(transformed(where, np.array([[0, 0, 0], [0, 0, 1.0]])) - [first, second]).max() < ROUNDING * 10
        radius = np.linalg.norm(spring_mesh(kind, 8.0).vertices[:, :2], axis=1).max()
        lines = transformed(where, spring_mesh(kind, 8.0).vertices)
        along = (second - first) / np.linalg.norm(second - first)
        off = lines - first - np.outer((lines - first) @ along, along)
        assert np.linalg.norm(off, axis=1).max() == pytest.approx(0.1 * radius, rel=SINGLE * 10)
        assert rotate(poses[1], np.array(across)) @ where[:3, 0] > 0, "it does not turn about itself"


def test_a_restraint_of_one_component_stands_on_its_axis() -> None:
    """With distance_type Tz, x is the component along z of the first frame, here turned onto the world's y."""
    model = ModelBuilder().frame("wall", T=(1.0, 0.0, 0.0), R=[[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    ball = model.assembly("a").body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0))
    ball.restraint("push", "spring", frames=(("fixed", "wall"), "ball"), coefficients=[[1.0, 0.0]], distance_type="Tz")
    (spring,) = scene_of(model.build(), {"a:ball": STILL}).springs
    start, R, scales = stretched(spring, matrices(np.stack([STILL, np.array([2.0, 0.7, 5.0, 1.0, 0, 0, 0])])))
    assert start == pytest.approx([2.0, 0.0, 5.0]) and start + scales[2] * R[:, 2] == pytest.approx([2.0, 0.7, 5.0])


def test_a_spring_of_no_length_is_finite() -> None:
    spring = dataclasses.replace(COIL, points=((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert np.isfinite(placed((spring,), matrices(np.stack([STILL, STILL])))).all()


def test_the_wire_of_a_coil_is_round_at_its_length_and_its_normals_point_outward() -> None:
    """At 6 radii of length, the surface is as far from the helix as the wire is thick, whatever the direction."""
    mesh = spring_mesh("spring", 6.0)
    true = mesh.vertices.astype(float) * [1.0, 1.0, 6.0]
    assert np.linalg.norm(mesh.vertices[:, :2], axis=1).max() == pytest.approx(1.0, abs=1e-3)
    angle = np.linspace(0, 2 * np.pi * 8, 4000)
    helix = np.stack([0.84 * np.cos(angle), 0.84 * np.sin(angle), 6 * np.linspace(0.12, 0.88, 4000)], axis=1)
    inner = true[(true[:, 2] > 1.2) & (true[:, 2] < 4.8)]
    far = np.linalg.norm(inner[:, None] - helix, axis=2).min(1)
    assert far.min() > 0.9 * 0.16 and far.max() < 1.1 * 0.16
    normals = mesh.normals / np.linalg.norm(mesh.normals, axis=1, keepdims=True)
    a, b, c = (mesh.vertices[mesh.indices[:, k]] for k in range(3))
    assert ((np.cross(b - a, c - a) * normals[mesh.indices].sum(1)).sum(1) > 0).mean() > 0.99


def test_springs_are_parts_hidden_and_coloured_by_their_path() -> None:
    lone = Scene(("fixed", "a:leg"), (), (SUN,), (0.0, 0.0, 1.0), 1.0, (0.0, 0.0, 0.0), (), (COIL,))
    instances, poses, red = PartInstances(lone), np.stack([STILL, STILL]), (1.0, 0.0, 0.0, 1.0)
    assert instances.parts[0].kind == "spring" and instances.casts.all()
    assert instances.parts[0].colour == SPRING
    assert instances.at(Snapshot(poses, colours={"a:coil": red})).rows["colour"][0] == pytest.approx(red)
    for hidden in ("a:coil", "kind:spring"):
        assert not instances.at(Snapshot(poses, hidden=frozenset({hidden}))).visible.any()


def test_joints_with_springs_show_them() -> None:
    """A spiral on the pin of a hinge with stiffness, and a coil about the rod of a slider, by the joint's path."""
    builder = ModelBuilder()
    arm = builder.assembly("a").body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0.0, 0.0, 1.0)})
    arm.body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    arm.joint("pin", "Ry", child="arm", stiffness=(0.0, 5.0)).joint("plain", "Tx", parent=("arm", "tip"), child="cart")
    arm.joint("slide", "Tz", parent=("arm", "tip"), child="cart", stiffness=(0.0, 7.0))
    scene = scene_of(builder.build(), {"a:arm": STILL, "a:cart": np.array([0, 0, 1.3, 1, 0, 0, 0.0])})
    assert [part.path for part in scene.parts if part.kind == "spring"] == ["a:pin"]
    assert [(spring.path, spring.nodes) for spring in scene.springs] == [("a:slide", (1, 2))]


def test_a_picture_shows_the_spring_between_its_points() -> None:
    """Seen from the front, with nothing else in the scene, its pixels reach from one end to the other and follow it."""
    lone = Scene(("fixed", "a:leg"), (), (SUN,), (0.0, 0.0, 1.0), 1.0, (0.0, 0.0, 0.0), (), (COIL,))
    camera = eye("front", target=(0.0, 0.0, 1.0))
    for x in (-0.3, 0.4):
        snapshot = Snapshot(np.stack([STILL, shifted(x)]))
        image = shot(lone, snapshot, camera)
        background = shot(lone, dataclasses.replace(snapshot, hidden=frozenset({"a:coil"})), camera)
        rows, columns = np.nonzero((image != background).any(-1))
        ends = [camera.pixel(to_world(snapshot.poses[k], np.array(COIL.points[k])), (160, 120)) for k in (0, 1)]
        assert rows.min() == pytest.approx(ends[0][1], abs=2) and rows.max() == pytest.approx(ends[1][1], abs=2)
        top, bottom = (columns[rows == row].mean() for row in (rows.min(), rows.max()))
        assert (top, bottom) == pytest.approx((ends[0][0], ends[1][0]), abs=2)
        assert len(rows) > 80 and PLAIN.grid is False

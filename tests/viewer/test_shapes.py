"""Primitive shapes: closed, counter-clockwise from outside, of the right volume; and the ray caster on them."""

import math

import numpy as np
import pytest

from shiftjax.poses import matrices
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transform, transformed, z_along
from shiftjax.viewer.scene.scene import Mesh, Scene, ScenePart
from tests.scenes.rays import nearest

SINGLE = 1e-5  # vertices and normals are stored in single precision
ROUND = 0.02  # volume that a circle of 32 corners, or a ball of 16 rows, lacks
STRETCH = 2.0 ** (0.5 / shapes.SIZES_AN_OCTAVE)  # of a bar that takes the nearest common length

TRIANGLE = ((0.0, 0.0), (4.0, 0.0), (0.0, 3.0))
CLOSED = {
    "box": (shapes.box((1.0, 2.0, 3.0)), 6.0),
    "sphere": (shapes.sphere(0.5), math.pi / 6),
    "ellipsoid": (shapes.ellipsoid((1.0, 2.0, 0.5)), 4 / 3 * math.pi),
    "cylinder": (shapes.cylinder(0.5, 2.0), math.pi / 2),
    "tube": (shapes.tube(1.0, 0.5, 2.0), math.pi * 1.5),
    "cone": (shapes.cone(1.0, 3.0), math.pi),
    "capsule": (shapes.capsule(0.5, 2.0), math.pi / 2 + math.pi / 6),
    "arrow": (shapes.arrow(1.0, 0.05, 48), math.pi * (0.05**2 * 0.7 + 0.12**2 * 0.3 / 3)),
    # area of the hull, plus a strip along its edges, plus a disc; the bevel takes less than ROUND
    "plate": (shapes.plate(TRIANGLE, 1.0, 0.2), (6.0 + 12.0 + math.pi) * 0.2),
    "bar": (shapes.plate(((-2.0, 0.0), (2.0, 0.0)), 1.0, 0.1), (8.0 + math.pi) * 0.1),
}


def corners(mesh: Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b, c = (mesh.vertices[mesh.indices[:, k]].astype(float) for k in range(3))
    return a, b, c


@pytest.mark.parametrize("name", CLOSED)
def test_normals_are_unit_and_on_the_side_that_triangles_face(name: str) -> None:
    mesh, _ = CLOSED[name]
    assert mesh.kind == "triangles"
    assert np.abs(np.linalg.norm(mesh.normals, axis=1) - 1.0).max() < SINGLE
    a, b, c = corners(mesh)
    face = np.cross(b - a, c - a)
    size = np.linalg.norm(face, axis=1)
    assert size.min() > 0.0, "a triangle without area"
    cosine = np.einsum("tk,tck->tc", face / size[:, None], mesh.normals[mesh.indices])
    assert cosine.min() > 0.5


@pytest.mark.parametrize("name", CLOSED)
def test_closed_shapes_have_no_holes(name: str) -> None:
    """Every edge is run through once in either direction, points being equal where they lie together."""
    mesh, _ = CLOSED[name]
    _, point = np.unique(np.round(mesh.vertices, 5) + 0.0, axis=0, return_inverse=True)
    t = point.reshape(-1)[mesh.indices]
    edges = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    forth, counts = np.unique(edges, axis=0, return_counts=True)
    assert counts.max() == 1
    assert np.array_equal(forth, np.unique(edges[:, ::-1], axis=0))


@pytest.mark.parametrize("name", CLOSED)
def test_volumes(name: str) -> None:
    """The divergence theorem; above zero where triangles face outwards."""
    mesh, volume = CLOSED[name]
    a, b, c = corners(mesh)
    assert np.einsum("tk,tk->", a, np.cross(b, c)) / 6.0 == pytest.approx(volume, rel=ROUND)


def test_equal_arguments_give_the_same_mesh() -> None:
    assert shapes.sphere() is shapes.sphere() and shapes.plate(TRIANGLE) is shapes.plate(TRIANGLE)
    keys = [CLOSED[name][0].key for name in CLOSED] + [shapes.sphere(0.6).key, shapes.box().key]
    assert len(set(keys)) == len(keys)


def test_a_plane_is_seen_from_above() -> None:
    mesh = shapes.plane((2.0, 4.0))
    a, b, c = corners(mesh)
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0) and np.all(mesh.normals == [0, 0, 1])
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx([2, 4, 0])


def test_lines() -> None:
    axes = shapes.axes(2.0)
    assert axes.kind == "lines" and np.array_equal(np.diff(axes.vertices[axes.indices], axis=1)[:, 0], 2 * np.eye(3))
    path = shapes.line(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0)))
    assert path.indices.tolist() == [[0, 1], [1, 2]] and not path.normals.any()


def test_hull_drops_points_inside_and_along_edges() -> None:
    square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
    assert shapes.hull([*square, (1.0, 1.0), (1.0, 0.0), (2.0, 1.0)]) == square
    assert shapes.hull([(0.0, 0.0), (3.0, 3.0), (1.0, 1.0), (2.0, 2.0)]) == [(0.0, 0.0), (3.0, 3.0)]


@pytest.mark.parametrize("length", [0.3, 1.0, 7.7])
def test_a_link_reaches_about_both_points(length: float) -> None:
    a = np.array([1.0, 2.0, 3.0])
    along, normal = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.0, 1.0])
    mesh, where = shapes.link(a, a + length * along, 0.1, 0.05, normal)
    points = transformed(where, mesh.vertices) - a
    for direction, low, high in (
        (along, -0.1, length + 0.1),
        (normal, -0.025, 0.025),
        (np.cross(normal, along), -0.1, 0.1),
    ):
        reach = points @ direction
        assert reach.min() == pytest.approx(low, abs=0.1 * (STRETCH - 1) + SINGLE)
        assert reach.max() == pytest.approx(high, abs=0.1 * (STRETCH - 1) + SINGLE)
    assert np.linalg.det(where[:3, :3]) > 0, "a mirrored place would turn triangles inside out"


def test_a_rod_reaches_about_both_points() -> None:
    a, b = np.array([0.0, 1.0, 0.0]), np.array([2.0, 1.0, 1.0])
    mesh, where = shapes.rod(a, b, 0.2)
    along = (b - a) / np.linalg.norm(b - a)
    reach = (transformed(where, mesh.vertices) - a) @ along
    slack = 0.2 * (STRETCH - 1) + SINGLE
    assert [reach.min(), reach.max()] == pytest.approx([-0.2, float(np.linalg.norm(b - a)) + 0.2], abs=slack)


def test_bars_of_like_proportions_share_a_mesh() -> None:
    zero, z = np.zeros(3), np.array([0.0, 0.0, 1.0])
    meshes = [shapes.link(zero, np.array([length, 0, 0]), 0.05, 0.05, z)[0] for length in (1.0, 1.02, 2.0)]
    assert meshes[0] is meshes[1] is not meshes[2]


def test_facing_turns_z_and_keeps_hands() -> None:
    for z in np.array([[0, 0, 1.0], [0, 0, -2.0], [1, 0, 0], [0, 3, 0], [1, -2, 0.5]]):
        R = z_along(z)
        assert np.allclose(R[:, 2], z / np.linalg.norm(z), atol=1e-15)
        assert np.allclose(R.T @ R, np.eye(3), atol=1e-15) and np.linalg.det(R) > 0
    assert np.array_equal(z_along(np.array([0, 0, 1.0])), np.eye(3))


def test_places_of_poses_turn_by_the_quaternion() -> None:
    half = math.sqrt(0.5)
    where = matrices(np.array([[1.0, 2.0, 3.0, half, 0.0, 0.0, half]]))[0]  # a quarter turn about z
    assert transformed(where, np.array([1.0, 0.0, 0.0])) == pytest.approx([1.0, 3.0, 3.0])


def scene_with(*parts: ScenePart) -> tuple[Scene, np.ndarray]:
    poses = np.array([[0.0, 0, 0, 1, 0, 0, 0], [5.0, 0, 0, 1, 0, 0, 0]])
    return Scene(("fixed", "body"), parts, (), (0, 0, 1), 1.0, (0, 0, 0)), poses


def test_rays_meet_the_first_of_known_shapes() -> None:
    grey = (0.5, 0.5, 0.5, 1.0)
    ball = ScenePart(shapes.sphere(1.0, 64), 1, transform([0, 2, 0]), grey, "body")
    block = ScenePart(shapes.box(), 0, transform(scale=[2, 2, 2]), grey, "block")
    scene, poses = scene_with(ball, block)
    found = nearest(scene, poses, np.array([0.2, 0.3, 9.0]), np.array([0.0, 0.0, -1.0]))
    assert found is not None and found[0] == 1 and found[1] == pytest.approx([0.2, 0.3, 1.0])
    found = nearest(scene, poses, np.array([9.0, 2.0, 0.0]), np.array([-1.0, 0.0, 0.0]))
    assert found is not None and found[0] == 0 and found[1] == pytest.approx([6.0, 2.0, 0.0], abs=0.01)
    assert nearest(scene, poses, np.array([0.0, 0.0, 9.0]), np.array([0.0, 0.0, 1.0])) is None
    assert nearest(scene, poses, np.array([0.0, 9.0, 9.0]), np.array([0.0, 0.0, -1.0])) is None


def test_rays_pass_kinds_that_are_not_drawn() -> None:
    mark = ScenePart(shapes.box(), 0, transform([0, 0, 3]), (0, 0, 0, 1), "body:frame", "frame")
    scene, poses = scene_with(mark)
    down = (np.array([0.1, 0.2, 9.0]), np.array([0.0, 0.0, -1.0]))
    assert nearest(scene, poses, *down) is None
    assert nearest(scene, poses, *down, kinds=frozenset({"frame"})) is not None

"""Signs of contacts, tyres, bushings, cams, guides, gears, rods: where and how large a scene draws them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shiftjax.formats.builder import ModelBuilder
from shiftjax.height_fields import height
from shiftjax.viewer.scene.affine import transformed
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.force_shapes import profile
from shiftjax.viewer.scene.scene import Scene, ScenePart
from shiftjax.viewer.scene.spring_meshes import spring_mesh, stretched
from tests.scenes.lone import STILL

SINGLE = 1e-6  # m: vertices are stored in single precision
SPLINE = 2e-5  # m: a spline through 24 radii of 0.02 m of a cosine, and its slope
EYE = (0.1, 0.2, 0.3)
CONTACT = {"k": 1e6}
MOUNT = {"stiffness": [1e4] * 3, "turning_stiffness": [10.0] * 3}
TYRE = {"vertical_stiffness": 2e5, "c_slip": 1e5, "c_alpha": 1e5}


def drawn(kind: str, **numbers: Any) -> Scene:
    """A body with a frame `eye`, and a force between that and ground."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("floor")
    a = builder.assembly("a").body("block", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"eye": EYE})
    a.joint("turn", "Rz", child="block")
    a.force("sign", kind, frames=[("block", "eye"), ("fixed", "floor")], **numbers)
    return scene_of(builder.build(), {"a:block": STILL})


def signs(scene: Scene) -> list[ScenePart]:
    return [part for part in scene.parts if part.path == "a:sign" and part.kind == "spring"]


def box(parts: list[ScenePart]) -> np.ndarray:
    """Least and largest coordinates (2, 3) on the node."""
    points = np.concatenate([transformed(part.transform, part.mesh.vertices) for part in parts])
    return np.array([points.min(0), points.max(0)])


@pytest.mark.parametrize(
    ("kind", "numbers", "half"),
    [
        ("ball_on_plane", {"radius": 0.2, **CONTACT}, (0.2, 0.2, 0.2)),
        ("capsule_on_plane", {"radius": 0.1, "length": 0.3, **CONTACT}, (0.25, 0.1, 0.1)),
        ("ellipsoid_on_plane", {"radii": [0.3, 0.1, 0.2], **CONTACT}, (0.3, 0.1, 0.2)),
        ("fiala_tyre", {"radius": 0.3, "width": 0.2, **TYRE}, (0.3, 0.1, 0.3)),
    ],
)
def test_contacts_and_tyres_have_their_sizes(kind: str, numbers: dict[str, Any], half: tuple[float, ...]) -> None:
    """On the body, about the frame, within a ring's breadth beyond: ends of rings stand 0.01 % out of the ball."""
    parts = [part for part in signs(drawn(kind, **numbers)) if part.node == 1]
    assert box(parts) == pytest.approx(np.array([EYE - np.array(half), EYE + np.array(half)]), abs=1e-3 * max(half))


def test_a_contact_of_two_balls_is_on_both() -> None:
    parts = signs(drawn("ball_on_ball", radius_1=0.1, radius_2=0.4, **CONTACT))
    sizes = {node: np.ptp(box([part for part in parts if part.node == node]), axis=0).max() for node in (0, 1)}
    assert sizes == {0: pytest.approx(0.8, rel=1e-3), 1: pytest.approx(0.2, rel=1e-3)}


def test_a_point_of_contact_and_a_bushing_are_seen() -> None:
    """Of radius 0: a mark; of a bushing a ring and what it holds, on a frame each, of the size that bars have."""
    point = np.ptp(box([part for part in signs(drawn("ball_on_plane", **CONTACT)) if part.node]), axis=0).max()
    ring, core = signs(drawn("bushing", **MOUNT))
    assert point > 0.01 and (ring.node, core.node) == (1, 0)
    assert np.ptp(box([ring]), axis=0)[0] > 2.0 * np.ptp(box([core]), axis=0)[0] > 0.01


@pytest.mark.parametrize("follower", ["roller", "flat"])
def test_the_profile_of_a_cam(follower: str) -> None:
    """A circle beside the axis: h = r + e cos for a flat face; its polar equation for a roller."""
    r, e = 0.1, 0.02
    angle = 2.0 * math.pi * np.arange(24) / 24 - math.pi
    polar = e * np.cos(angle) + np.sqrt(r**2 - (e * np.sin(angle)) ** 2)
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("cam", mass=1.0, inertia=(0.01,) * 3).body("ram", mass=1.0, inertia=(0.01,) * 3)
    a.joint("shaft", "Rz", child="cam").joint("guide", "Tx", child="ram", initial_displacement=0.12)
    radii = (r + e * np.cos(angle) if follower == "flat" else polar).tolist()
    a.constraint("sign", "cam", frames=["cam", "ram"], radii=radii, follower=follower)
    model = builder.build()
    ((_, item),) = model.constraints()
    points = np.array(profile(item))
    assert np.hypot(points[:, 0] - e, points[:, 1]) == pytest.approx(r, abs=SPLINE)
    assert np.abs(points[0] - points[-1]).max() < SINGLE
    (wire,) = signs(scene_of(model, {"a:cam": STILL, "a:ram": STILL}))
    assert wire.node == 1 and box([wire])[1, 0] > r + e


def scene_with(kind: str, **of: Any) -> Scene:
    """A body that slides, beside a body that is a constraint's second."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("guide", mass=1.0, inertia=(0.01,) * 3).body("ram", mass=1.0, inertia=(0.01,) * 3)
    a.joint("shaft", "Rz", child="guide").joint("free", "float", child="ram").body(
        "place", mass=0.0, inertia=(0.0,) * 3
    )
    a.joint("along", "Tx", child="place")
    a.constraint("sign", kind, frames=["guide", "ram"], **of)
    return scene_of(builder.build(), {name: STILL for name in ("a:guide", "a:ram", "a:place")})


@pytest.mark.parametrize("ends", ["open", "closed"])
def test_a_curve_is_a_wire_through_its_points(ends: str) -> None:
    points = [[0.0, 0.0, 0.0], [0.3, 0.1, 0.0], [0.4, 0.5, 0.2], [0.0, 0.6, 0.0]]
    (wire,) = signs(scene_with("point_on_curve", joint="along", points=points, ends=ends))
    vertices = wire.mesh.vertices.astype(float)
    radius = np.linalg.norm(vertices - points[0], axis=1).min()
    assert wire.node == 1 and radius < 0.02
    for point in points:
        assert np.linalg.norm(vertices - point, axis=1).min() == pytest.approx(radius, rel=1e-3)
    beyond = np.linalg.norm(vertices - [-0.05, 0.3, 0.0], axis=1).min() < 0.15  # between the last and the first
    assert beyond == (ends == "closed")


FLAT: dict[str, Any] = {"xs": (), "ys": (), "heights": (), "polynomial": (), "size": None}
TABLE = {"xs": [0.0, 0.2, 0.5], "ys": [-0.2, 0.6], "heights": [[0.0, 0.1, 0.0], [0.2, 0.3, 0.1]]}


@pytest.mark.parametrize(
    ("numbers", "least", "most"),
    [(TABLE, (0.0, -0.2), (0.5, 0.6)), ({"polynomial": [[0.1], [0.2]], "size": 0.4}, (-0.4, -0.4), (0.4, 0.4))],
)
def test_a_surface_is_drawn_at_its_heights(
    numbers: dict[str, Any], least: tuple[float, float], most: tuple[float, float]
) -> None:
    """Of a constraint on the frame that it is fixed in; of a ball's and a tyre's contact on the second one."""
    hill = scene_with("point_on_surface", **numbers)
    ball = drawn("ball_on_terrain", radius=0.2, **CONTACT, **numbers)
    tyre = drawn("fiala_tyre", radius=0.3, width=0.2, **TYRE, **numbers)
    for scene, node in ((hill, 1), (ball, 0), (tyre, 0)):
        (ground,) = [part for part in signs(scene) if part.mesh.key.startswith("surface")]
        assert ground.node == node
        assert box([ground])[:, :2] == pytest.approx(np.array([least, most]), abs=SINGLE)
        n = FLAT | numbers
        vertices = transformed(ground.transform, ground.mesh.vertices)[::97]
        for x, y, z in vertices.astype(float):
            assert z == pytest.approx(float(height(n, x, y).z), abs=SINGLE)


def test_a_slot_is_its_two_edges() -> None:
    """On the frame of the slot, play apart; the pin on its body."""
    *edges, pin = signs(drawn("pin_in_slot", length=0.3, play=0.02, wall=0.01, mouth=0.01, **CONTACT))
    assert [part.node for part in (*edges, pin)] == [0, 0, 1]
    low, high = box(edges)
    assert (low[0], high[0]) == pytest.approx((0.0, 0.3)) and high[1] == pytest.approx(-low[1]) and high[1] > 0.02
    assert box([pin]).mean(0) == pytest.approx(EYE)


@pytest.mark.parametrize("up", ["+z", "-z"])
def test_the_plane_of_a_contact_is_a_square_on_its_frame(up: str) -> None:
    """Once for all that touch it, with a mark on the free side."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("floor", T=(0.0, 0.0, 1.0))
    a = builder.assembly("a").body("block", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"eye": EYE})
    a.joint("free", "float", child="block")
    for name in ("sign", "other"):
        frames = [("block", "eye"), ("fixed", "floor")]
        a.force(name, "fiala_tyre", frames=frames, radius=0.3, width=0.2, up=up, **TYRE)
    scene = scene_of(builder.build(), {"a:block": STILL})
    squares = [part for part in scene.parts if part.kind == "spring" and part.node == 0]
    assert {part.path for part in squares} == {"a:sign"} and len(squares) == 5
    low, high = box(squares) - [0.0, 0.0, 1.0]
    assert high[:2] == pytest.approx(-low[:2]) and high[0] == pytest.approx(high[1]) and high[0] > 0.01
    free = high[2] if up == "+z" else -low[2]
    assert free > 5.0 * (-low[2] if up == "+z" else high[2]) > 0.0


@pytest.mark.parametrize(
    ("kind", "numbers", "turned", "radii"),
    [
        ("gear", {"ratio": -3.0}, 0.0, (0.1, 0.3)),  # of outer gears 0.4 m apart
        ("gear", {"ratio": 3.0}, 0.0, (0.2, 0.6)),  # the second is a ring about the first
        ("gear", {"ratio": 3.0}, math.pi, (0.1, 0.3)),  # outer gears, one axis the other way round
        ("gear", {"ratio": -3.0}, 1.0, ()),  # bevel gears
        ("belt", {"radius_1": 0.05, "radius_2": 0.15}, 0.0, (0.05, 0.15)),
        ("rack", {"radius": -0.08}, 0.0, (0.08,)),
    ],
)
def test_gears_are_their_pitch_circles(
    kind: str, numbers: dict[str, float], turned: float, radii: tuple[float, ...]
) -> None:
    """They touch; a sense that differs by the direction of an axis is seen to do so."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0)).frame("there", T=(0.4, 0.0, 0.3), rotation=(turned, 0.0, 0.0))
    a = builder.assembly("a").body("one", mass=1.0, inertia=(0.01,) * 3).body("other", mass=1.0, inertia=(0.01,) * 3)
    a.joint("first", "Tx" if kind == "rack" else "Rz", child="one")
    a.joint("second", "Rz", parent=("fixed", "there"), child="other")
    a.constraint("sign", kind, joints=["first", "second"], **numbers)
    half = 0.5 * turned
    place = np.array([0.4, 0.0, 0.3, math.cos(half), math.sin(half), 0.0, 0.0])
    rings = signs(scene_of(builder.build(), {"a:one": STILL, "a:other": place}))
    assert [ring.node for ring in rings] == ([1, 2] if len(radii) == 2 else [2] * len(radii))
    for ring, radius in zip(rings, radii, strict=True):
        assert box([ring])[1, :2] == pytest.approx(radius, rel=1e-6)


def test_a_rod_is_a_bar_from_end_to_end() -> None:
    """Of a constraint that keeps a distance: stretched between its frames."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("hook", T=(0.0, 0.0, 1.0))
    a = builder.assembly("a").body("bob", mass=1.0, inertia=(0.01,) * 3, frames={"eye": (0.0, 0.0, 0.1)})
    a.joint("free", "float", child="bob").constraint(
        "sign", "distance", frames=[("fixed", "hook"), ("bob", "eye")], length=0.9
    )
    (rod,) = scene_of(builder.build(), {"a:bob": STILL}).springs
    assert (rod.path, rod.kind, rod.nodes) == ("a:sign", "rod", (0, 1))
    start, _, scales = stretched(rod, np.array([np.eye(4)] * 2))
    assert start == pytest.approx([0.0, 0.0, 1.0]) and scales[2] == pytest.approx(0.9)
    vertices = spring_mesh(rod.kind, rod.slenderness).vertices
    assert np.ptp(vertices, axis=0) == pytest.approx([2.0, 2.0, 1.0], rel=1e-2)


def test_a_spring_of_a_joint_is_a_spiral_on_its_hinge() -> None:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("arm", mass=1.0, inertia=(0.01,) * 3, center_of_mass=(0.3, 0.0, 0.0))
    a.joint("turn", "Ry", child="arm").force("sign", "joint_spring", joint="turn", k=3.0)
    (spiral,) = signs(scene_of(builder.build(), {"a:arm": STILL}))
    assert spiral.mesh.key.startswith("wire")

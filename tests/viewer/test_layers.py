"""Layers of planar linkages, rods in barrels and boxes of inertia: what explains a mechanism without changing it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.poses import matrices
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transformed
from shiftjax.viewer.scene.attachments import BuildContext
from shiftjax.viewer.scene.building import scene_of, style_for
from shiftjax.viewer.scene.layers import PITCH, coloured, layers_of, overlap
from shiftjax.viewer.scene.scene import Scene, ScenePart
from shiftjax.viewer.scene.sliding import slides_of
from tests.scenes.lone import STILL, drawn
from tests.viewer.test_building import built, started

FLAT = ("four_bar", "klann", "jansen", "peaucellier", "andrews", "n_four_bar_5")


def pose(angle: float, x: float = 0.0, z: float = 0.0) -> np.ndarray:
    """(7,) of a body turned about y."""
    return np.array([x, 0.0, z, np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])


def links(scene: Scene, path: str) -> list[ScenePart]:
    """The plates of a body."""
    return [part for part in drawn(scene, path) if part.mesh.key.startswith("plate")]


def test_neighbours_in_a_graph_have_different_numbers_from_zero() -> None:
    ring = [(k, (k + 1) % 5) for k in range(5)]
    found = coloured(5, ring)
    assert all(found[i] != found[k] for i, k in ring) and set(found) == {0, 1, 2}
    assert coloured(3, []) == [0, 0, 0]


@pytest.mark.parametrize(
    ("other", "near"),
    [([(0.5, -1.0), (0.5, 1.0)], True), ([(1.5, -1.0), (1.5, 1.0)], False), ([(1.05, -1.0), (1.05, 1.0)], True),
     ([(0.2, 0.2), (3.0, 0.2)], False), ([(2.0, 0.0), (3.0, 0.0)], False), ([(0.5, 0.0), (0.6, 0.0)], True)],
    ids=["crosses", "apart", "within the margin", "parallel apart", "in line apart", "in line"],
)  # fmt: skip
def test_overlap_of_bars(other: list[tuple[float, float]], near: bool) -> None:
    one, two = np.array([[[0.0, 0.0], [1.0, 0.0]]]), np.array([other])
    assert overlap(one, two, 0.1) is near is overlap(two, one, 0.1)
    far = np.concatenate([two + 9.0, two])
    assert overlap(np.concatenate([one, one]), far, 0.1) is near, "at any instant"


@pytest.mark.parametrize("name", FLAT)
def test_joined_links_share_no_depth(name: str) -> None:
    """The plates of joined bodies are apart along the axis, in the world, and each body has a layer."""
    model, poses, _ = started(name)
    scene, rows = built(name)
    placed = matrices(rows)
    style = style_for(model, poses)
    assert set(style.layers) == set(scene.nodes[1:])

    def range_along(part: ScenePart, axis: np.ndarray) -> tuple[float, float]:
        heights = transformed(placed[part.node] @ part.transform, part.mesh.vertices) @ axis
        return float(heights.min()), float(heights.max())

    context, pairs = BuildContext.of(model, poses), 0
    for _, joint in model.joints():
        bodies = (joint.parent.body, joint.child.body)
        if "fixed" in bodies:
            continue
        attachment = next(c for c in context.attachments[bodies[0]] if c.other == bodies[1])
        axis = placed[context.nodes[bodies[0]]][:3, :3] @ attachment.axis
        for one, two in itertools.product(*(links(scene, path) for path in bodies)):
            (a, b), (c, d) = range_along(one, axis), range_along(two, axis)
            pairs += 1
            assert max(a, c) - min(b, d) > 0.01 * style.width, f"{bodies} pass through each other"
    assert pairs


def test_a_layer_moves_a_link_along_the_axis_only() -> None:
    """Seen along the axis, every link lies where its joints are; nothing but plates and pins is shifted."""
    model, poses, _ = started("four_bar")
    style, context = style_for(model, poses), BuildContext.of(model, poses)
    scene, _ = built("four_bar")
    shifts = {}
    for path in scene.nodes[1:]:
        axis = context.attachments[path][0].axis
        (link,) = links(scene, path)
        middle = np.mean([c.point for c in context.attachments[path]], axis=0)
        off = link.transform[:3, 3] - middle
        assert np.linalg.norm(np.cross(off, axis)) < 1e-9, "the frames stay under it"
        shifts[path] = round(float(off @ axis) / (PITCH * style.width), 6)
    assert set(shifts.values()) == {-0.5, 0.5}, "two layers suffice, about the plane of the joints"


def test_pins_reach_through_all_they_hold() -> None:
    scene, rows = built("jansen")
    model, poses, _ = started("jansen")
    placed, context = matrices(rows), BuildContext.of(model, poses)
    for path, joint in model.joints():
        (pin,) = drawn(scene, path, "joint")
        frame = placed[pin.node] @ pin.transform
        ends = [
            np.linalg.inv(frame) @ placed[context.nodes[body]] @ part.transform
            for body in (joint.parent.body, joint.child.body) if body != "fixed" for part in links(scene, body)
        ]  # fmt: skip
        assert all(abs(end[2, 3]) < 0.5 for end in ends), f"{path} ends within a link"


def test_links_that_meet_in_the_motion_only_have_layers() -> None:
    """Two pendulums side by side, joined by nothing: at the start apart, later one swings across the other."""
    builder = ModelBuilder().frame("b", T=(1.5, 0.0, 0.0))
    both = builder.assembly("p")
    for name in ("one", "two"):
        both.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0.0, 0.0, -1.0)})
    both.body("bar", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"end": (1.5, 0.0, 0.0)})
    both.joint("j1", "Ry", child="one").joint("j2", "Ry", parent=("fixed", "b"), child="two")
    both.joint("k1", "Ry", parent=("one", "tip"), child="bar")
    both.joint("k2", "Ry", parent=("two", "tip"), child=("bar", "end"))
    model = builder.build()
    start = {"p:one": pose(0.0), "p:two": pose(0.0, 1.5), "p:bar": pose(0.0, 0.0, -1.0)}
    context = BuildContext.of(model, start)
    rest = context.poses[None]
    apart = layers_of(context, rest)
    assert apart["p:one"] == apart["p:two"] != apart["p:bar"], "two layers while the pendulums stay apart"
    crossing = rest.copy()
    crossing[0, context.nodes["p:one"]] = matrices(pose(-1.2))
    crossing[0, context.nodes["p:two"]] = matrices(pose(1.2, 1.5))
    later = layers_of(context, np.concatenate([rest, crossing]))
    assert len(set(later.values())) == 3


def test_a_spatial_mechanism_has_no_layers() -> None:
    model, poses, _ = started("bricard")
    assert not style_for(model, poses).layers


# -- rods in barrels ---------------------------------------------------------------------------------------------------


def ram(stroke: tuple[float, ...] = (0.2,)) -> tuple[ModelBuilder, dict[str, np.ndarray], np.ndarray]:
    """A cylinder on ground and its rod, held by hinges at both ends, at displacements along z."""
    builder = ModelBuilder().frame("top", T=(0.0, 0.0, 1.2))
    ram = builder.assembly("a").body("barrel", mass=1.0, inertia=(0.1, 0.1, 0.001)).body(
        "rod", mass=1.0, inertia=(0.1, 0.1, 0.001), frames={"eye": (0.0, 0.0, 1.0)})  # fmt: skip
    ram.joint("foot", "Ry", child="barrel").joint("slide", "Tz", parent="barrel", child="rod")
    ram.joint("head", "Ry", parent=("rod", "eye"), child=("fixed", "top"))
    motion = np.stack([[STILL, STILL, np.array([0, 0, s, 1.0, 0, 0, 0])] for s in stroke])
    return builder, {"a:barrel": motion[0, 1], "a:rod": motion[0, 2]}, motion


def test_a_rod_stays_in_its_barrel_over_the_whole_stroke() -> None:
    builder, first, motion = ram((0.2, 0.5, 0.0))
    model = builder.build()
    style = style_for(model, first, motion)
    assert style.travel["a:slide"] == pytest.approx((0.0, 0.5))
    scene = scene_of(model, first, motion=motion)
    (barrel,), (rod,) = drawn(scene, "a:barrel"), drawn(scene, "a:rod")
    for s in (0.0, 0.2, 0.5):
        low, high = (transformed(part.transform, part.mesh.vertices)[:, 2] for part in (barrel, rod))
        high = high + s
        assert high.max() == pytest.approx(1.0 + s), "the rod ends at its eye"
        assert low.min() == pytest.approx(0.0), "the barrel begins at its foot"
        assert low.min() < high.min() < low.max() < high.max(), "and the rod in the barrel"
    assert barrel.transform[0, 0] > rod.transform[0, 0], "the barrel is about the rod"


def test_without_a_motion_the_start_counts() -> None:
    builder, first, _ = ram()
    slide = slides_of(BuildContext.of(builder.build(), first), {})["a:slide"]
    assert slide.telescope and (slide.low, slide.high) == (0.2, 0.2)
    assert 0 < slide.barrel < 1.2 and 0 < slide.rod < 1.2


def test_a_guided_slider_runs_on_a_rod_as_long_as_its_stroke() -> None:
    builder = ModelBuilder()
    builder.assembly("a").body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1)).joint("slide", "Tx", child="cart")
    motion = np.stack([[STILL, np.array([x, 0, 0, 1.0, 0, 0, 0])] for x in (0.0, -0.4, 0.3)])
    scene = scene_of(builder.build(), {"a:cart": STILL}, motion=motion)
    rod, barrel = drawn(scene, "a:slide", "joint")
    ends = transformed(rod.transform, rod.mesh.vertices)[:, 0]
    assert rod.node == 0 and barrel.node == 1
    assert ends.min() < -0.4 and ends.max() > 0.3 and ends.max() - ends.min() < 0.7 + 6.1 * style_for(
        builder.build(), {"a:cart": STILL}, motion).width  # fmt: skip
    assert barrel.mesh.key.startswith("turned"), "hollow"


# -- boxes of inertia --------------------------------------------------------------------------------------------------


def boxes(scene: Scene) -> set[str]:
    return {part.path for part in scene.parts if part.kind == "body" and part.mesh is shapes.box()}


@pytest.mark.parametrize(
    ("name", "broad"),
    [("excavator", {"undercarriage", "cab", "bucket"}), ("double_wishbone", {"lower_right", "upper_right"}),
     ("four_bar", set()), ("jansen", set()), ("andrews", set()), ("delta", set()), ("sarrus", set())],
)  # fmt: skip
def test_broad_bodies_have_the_box_of_their_inertia(name: str, broad: set[str]) -> None:
    scene, _ = built(name)
    found = {path.partition(":")[2] for path in boxes(scene)}
    assert broad <= found and len(found - broad) <= 1, found


def test_the_box_has_the_inertia_of_its_body() -> None:
    """Sides of a homogeneous box from its moments: m (b^2 + c^2) / 12 about x, and so on."""
    scene, _ = built("excavator")
    cab = dict(load("excavator").bodies())["excavator:cab"]
    (box,) = [part for part in drawn(scene, "excavator:cab") if part.mesh is shapes.box()]
    a, b, c = np.linalg.norm(box.transform[:3, :3], axis=0)
    about = box.transform[:3, :3] / [a, b, c]
    moments = cab.mass / 12 * np.array([b**2 + c**2, c**2 + a**2, a**2 + b**2])
    assert about @ np.diag(moments) @ about.T == pytest.approx(np.array(cab.inertia.matrix), rel=1e-6, abs=1e-6)
    assert box.transform[:3, 3] == pytest.approx(cab.center_of_mass)


def test_a_cylindrical_joint_is_a_rod_from_its_parent_through_a_barrel() -> None:
    """The rod begins at the parent's frame and reaches beyond the slide, so that no body hangs in the air."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("sleeve", mass=1.0, inertia=(0.1, 0.1, 0.1))
    a.joint("guide", "cylindrical", child="sleeve", axis=(0, 0, 1), initial_displacement={"angle": 0.2, "slide": 0.7})
    scene = scene_of(builder.build(), {"a:sleeve": np.array([0.0, 0.0, 0.7, np.cos(0.1), 0.0, 0.0, np.sin(0.1)])})
    rods = [part for part in scene.parts if part.path == "a:guide" and part.node == 0]
    ends = np.concatenate([transformed(part.transform, part.mesh.vertices) for part in rods])
    assert ends[:, 2].min() < 0.0 and ends[:, 2].max() > 0.7


@pytest.mark.parametrize(
    ("type_", "start", "fixed", "moving"),
    [
        ("pin_slider", {"slide": 0.7}, 1, 1),  # a rail, and a pin
        ("point_slider", {"T": [0.7, 0, 0]}, 1, 1),  # a rail, and a ball
        ("point_plane", {"T": [0.7, 0, 0]}, 1, 1),  # a plate, and a ball
        ("screw", 20.0, 2, 1),  # a rod with its thread, and a nut
    ],
)
def test_what_leads_a_child_and_what_runs_on_it(type_: str, start: Any, fixed: int, moving: int) -> None:
    """Of joints that slide: shapes on the parent and on the child, a rail over the whole way."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("sleeve", mass=1.0, inertia=(0.1, 0.1, 0.1))
    more = {"axis": "x", "pitch": 0.035} if type_ == "screw" else {}
    a.joint("guide", type_, child="sleeve", initial_displacement=start, **more)
    scene = scene_of(builder.build(), {"a:sleeve": np.array([0.7, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])})
    parts = [part for part in scene.parts if part.path == "a:guide" and part.kind == "joint"]
    assert [sum(part.node == node for part in parts) for node in (0, 1)] == [fixed, moving]
    if type_ != "point_plane":
        ends = np.concatenate([transformed(p.transform, p.mesh.vertices) for p in parts if p.node == 0])
        assert ends[:, 0].max() > 0.7

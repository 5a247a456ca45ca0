"""Links that cross at one place are told apart, and balls of made-up inertias hide no rods."""

import itertools
from typing import Any

import numpy as np
import pytest

from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transformed
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.scene import Scene
from tests.scenes.lone import STILL, drawn
from tests.scenes.rays import nearest

THIRD = 1 / 12  # kg m^2: a rod of 1 kg and 1 m about its middle
INERTIAS = {"planar": (0.0, THIRD, 0.0), "ball": (THIRD, THIRD, THIRD), "disc": (0.05, THIRD, 0.05)}
AXES = {"one": np.array([1.0, 0.0, 0.0]), "two": np.array([0.0, 0.0, 1.0])}


def cross(layout: str, inertia: tuple[float, ...]) -> Model:
    """Two links pinned to each other and to ground in their middles, by frames that coincide.

    Args:
        layout: "none" for no frames; "same" for two at the middle; "corner" where the origin is an end.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, 9.81))
    group = builder.assembly("a")
    for name, along in AXES.items():
        more: dict[str, Any] = {}
        if layout == "same":
            more = {"frames": {"p": (0.0, 0.0, 0.0), "q": (0.0, 0.0, 0.0)}}
        elif layout == "corner":
            more = {"frames": {"p": tuple(0.5 * along)}, "center_of_mass": tuple(0.5 * along)}
        group.body(name, mass=1.0, inertia=inertia, **more)
    end = {"none": "", "same": ":p", "corner": ":p"}[layout]
    group.joint("ground", "Ry", parent="fixed", child=f"one{end}")
    group.joint("middle", "Ry", parent=f"one{end}", child=f"two{end}")
    return builder.build()


def crossed(layout: str, inertia: tuple[float, ...]) -> Scene:
    poses = {f"a:{name}": STILL.copy() for name in AXES}
    if layout == "corner":
        for name, along in AXES.items():
            poses[f"a:{name}"][:3] = -0.5 * along
    return scene_of(cross(layout, inertia), poses)


def placed(scene: Scene, path: str, start: np.ndarray) -> np.ndarray:
    """(n, 3) corners of all parts of a body in the world [m]."""
    return np.concatenate([transformed(p.transform, p.mesh.vertices) for p in drawn(scene, path)]) + start


@pytest.mark.parametrize(("layout", "inertia"), list(itertools.product(("none", "same", "corner"), INERTIAS)))
def test_crossing_links_lie_beside_each_other(layout: str, inertia: str) -> None:
    """They have no volume in common, and each is seen from its side."""
    scene = crossed(layout, INERTIAS[inertia])
    starts = {name: -0.5 * along if layout == "corner" else np.zeros(3) for name, along in AXES.items()}
    ends = {name: placed(scene, f"a:{name}", starts[name])[:, 1] for name in AXES}
    low, high = sorted(((values.min(), values.max()) for values in ends.values()), key=lambda pair: pair[0])
    assert low[1] <= high[0] + 1e-9, "one is in the other"
    seen = set()
    poses = np.stack(
        [STILL, *(np.concatenate([starts[path.partition(":")[2]], STILL[3:]]) for path in scene.nodes[1:])]
    )
    for side in (-1.0, 1.0):
        for x in np.linspace(-0.5, 0.5, 41):
            hit = nearest(scene, poses, np.array([x, 5.0 * side, 0.37 * x + 0.01]), np.array([0.0, -side, 0.0]))
            seen.add(scene.parts[hit[0]].path if hit is not None else "")
    assert {"a:one", "a:two"} <= seen


def test_slender_links_that_cross_stay_rods() -> None:
    """They show how they lie, beside each other along the axis."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 9.81))
    group = builder.assembly("a")
    for name, inertia in (("one", (1e-4, THIRD, THIRD)), ("two", (THIRD, THIRD, 1e-4))):
        group.body(name, mass=1.0, inertia=inertia)
    group.joint("ground", "Ry", parent="fixed", child="one").joint("middle", "Ry", parent="one", child="two")
    scene = scene_of(builder.build(), {"a:one": STILL, "a:two": STILL})
    middles = []
    for name, along in (("one", 0), ("two", 2)):
        (part,) = drawn(scene, f"a:{name}")
        size = np.ptp(transformed(part.transform, part.mesh.vertices), axis=0)
        assert part.mesh is shapes.cylinder() and size.argmax() == along and size[along] > 5 * np.sort(size)[1]
        middles.append(part.transform[1, 3])
    assert abs(middles[0] - middles[1]) > 0.5 * size.min()


def ram(joints: str) -> tuple[Model, dict[str, np.ndarray]]:
    """A crank, a rod of 0.3 m and a ram of 6 kg with 0.1 kg m^2, a ball of 0.2 m radius.

    Args:
        joints: "one" where the ram's slide and pin are at one place, "two" where they are 0.3 m apart.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    group = builder.assembly("a")
    group.body("crank", mass=1.0, inertia=(1e-3, 1e-3, 1e-3), frames={"pin": (0.1, 0.0, 0.0)})
    group.body("rod", mass=0.5, inertia=(1e-4, 4e-3, 4e-3), center_of_mass=(0.15, 0, 0), frames={"end": (0.3, 0, 0)})
    far = 0.3 if joints == "two" else 0.0
    frames = {"pin": (0.0, 0.0, 0.0), **({"guide": (far, 0.0, 0.0)} if far else {})}
    group.body("ram", mass=6.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(far / 2, 0, 0), frames=frames)
    group.joint("pivot", "Ry", parent="fixed", child="crank").joint("pin", "Ry", parent="crank:pin", child="rod")
    group.joint("wrist", "Ry", parent="rod:end", child="ram:pin")
    group.joint("slide", "Tx", parent="fixed", child="ram:guide" if joints == "two" else "ram")
    at = {"crank": 0.0, "rod": 0.1, "ram": 0.4}
    return builder.build(), {f"a:{name}": np.array([x, *STILL[1:]]) for name, x in at.items()}


@pytest.mark.parametrize("joints", ["one", "two"])
def test_a_ball_does_not_hide_the_rod_it_is_joined_to(joints: str) -> None:
    model, poses = ram(joints)
    scene = scene_of(model, poses)
    solids = [part for part in drawn(scene, "a:ram") if part.mesh in (shapes.sphere(), shapes.box())]
    (largest,) = sorted(solids, key=lambda part: -float(np.linalg.norm(part.transform[:3, 0])))[:1]
    size = np.ptp(transformed(largest.transform, largest.mesh.vertices), axis=0)
    assert 0.05 < size.max() <= 0.75 * 0.3, "of the rod, or between its own joints"
    rows = np.stack([STILL, *(poses[path] for path in scene.nodes[1:])])
    seen = []
    for x in np.linspace(0.11, 0.39, 29):
        hit = nearest(scene, rows, np.array([x, 5.0, 0.0]), np.array([0.0, -1.0, 0.0]))
        seen.append(hit is not None and scene.parts[hit[0]].path == "a:rod")
    assert np.mean(seen) > 0.4


def test_a_heavy_bob_has_its_size() -> None:
    """A ball whose inertia fits its length is drawn by it: 2/5 m r^2."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 9.81))
    builder.assembly("a").body("rod", mass=2.0, center_of_mass=(0, 0, 0.7), inertia=(0.004, 0.004, 0.004)).joint(
        "pivot", "Ry", child="rod"
    )
    bob = next(
        part for part in drawn(scene_of(builder.build(), {"a:rod": STILL}), "a:rod") if part.mesh is shapes.sphere()
    )
    assert bob.transform[0, 0] == pytest.approx(np.sqrt(2.5 * 0.004 / 2.0))

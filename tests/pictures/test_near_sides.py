"""Far sides of solids are left out, which no picture shows: half of the work of a software renderer (M52)."""

import dataclasses

import numpy as np
import pytest

from shiftjax.viewer.gl import buffers
from shiftjax.viewer.gl.part_instances import PartInstances
from shiftjax.viewer.scene import closed, shapes
from shiftjax.viewer.scene.closed import bounds_solids
from shiftjax.viewer.scene.scene import Mesh, RenderSettings, Scene, Snapshot
from tests.scenes.pictures import ball, block, part, scene, snapshot
from tests.scenes.studio import ABOVE, SIZE, eye, gl, no_errors, rest, shot, three  # noqa: F401

SMOOTH = RenderSettings(shadow_pixels=256, samples=4)
EDGE = 1e-3  # of the pixels: at outlines a far side may be as near as the near one, up to rounding of depths
SOLID = ("box", "sphere", "ellipsoid", "cylinder", "tube", "cone", "capsule")


def joined(*meshes: Mesh) -> Mesh:
    """All of them as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    indices = np.concatenate([mesh.indices + start for mesh, start in zip(meshes, starts, strict=False)])
    vertices, normals = (np.concatenate([getattr(mesh, name) for mesh in meshes]) for name in ("vertices", "normals"))
    return Mesh("joined", vertices, indices.astype(np.uint32), normals)


def moved(mesh: Mesh, way: float) -> Mesh:
    return dataclasses.replace(mesh, vertices=mesh.vertices + np.float32(way))


def turned_inside_out(mesh: Mesh) -> Mesh:
    return dataclasses.replace(mesh, key="inside out", indices=mesh.indices[:, ::-1], normals=-mesh.normals)


@pytest.mark.parametrize("name", SOLID)
def test_closed_shapes_bound_solids_and_others_do_not(name: str) -> None:
    """Also beside another solid; not without one triangle, from inside, or with another that is seen from inside."""
    solid: Mesh = getattr(shapes, name)()
    assert bounds_solids(solid) and bounds_solids(joined(solid, moved(solid, 5.0)))
    open_ = dataclasses.replace(solid, indices=solid.indices[1:])
    one_turned = dataclasses.replace(solid, indices=np.concatenate([solid.indices[:1, ::-1], solid.indices[1:]]))
    room = turned_inside_out(solid)
    for other in (open_, one_turned, room, joined(solid, moved(room, 5.0)), joined(solid, solid)):
        assert not bounds_solids(other)


def test_a_mesh_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though whole pictures, drafts and both halves of a view each have buffers of it."""
    solid, looked = moved(shapes.sphere(), 2.0), list[Mesh]()
    welded = closed._welded
    monkeypatch.setattr(closed, "_welded", lambda mesh: (looked.append(mesh), welded(mesh))[1])
    again = dataclasses.replace(solid, key="of the same arrays")
    assert bounds_solids(solid) and bounds_solids(solid) and bounds_solids(again) and len(looked) == 1
    assert not bounds_solids(turned_inside_out(solid)) and len(looked) == 2


def test_what_has_no_inside_bounds_nothing() -> None:
    flat = dataclasses.replace(shapes.box(), vertices=shapes.box().vertices * np.array([1, 1, 0], np.float32))
    for mesh in (shapes.plane(), shapes.spiral(), shapes.axes(), flat):
        assert not bounds_solids(mesh)


@pytest.mark.parametrize("view", ["iso", "front"])
def test_the_picture_is_that_of_both_sides(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shadows, lights and samples as in a window."""
    assert_alike(three((ABOVE,)), rest(), EDGE, monkeypatch, view=view)


@pytest.mark.parametrize("case", ["inside", "cut", "mirrored"])
def test_backs_that_are_seen_are_drawn(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From within a block, from so near that the near plane cuts it, and of its mirror image, which turns the other
    way: each pixel is that of both sides."""
    solid = part(ball() if case == "cut" else block(), 1, "block")
    if case == "mirrored":
        solid = dataclasses.replace(solid, transform=solid.transform @ np.diag([-1.0, 1.0, 1.0, 1.0]))
    at = snapshot((0.0, 0.0, 0.4))
    away = {"inside": 0.05, "cut": 0.602, "mirrored": 5.04}[case]
    image = assert_alike(scene([solid], (ABOVE,)), at, 0.0, monkeypatch, distance=away)
    monkeypatch.setattr(PartInstances, "outside", lambda self, drawn, clip: np.ones(len(self.meshes), bool))
    assert (shot(scene([solid], (ABOVE,)), at, eye(distance=away), SMOOTH) != image).any()


def assert_alike(
    what: Scene, at: Snapshot, most: float, monkeypatch: pytest.MonkeyPatch, view: str = "iso", **changes: object
) -> np.ndarray:
    """Pictures with far sides and without differ in no more than a part of the pixels; the latter is returned."""
    camera = eye(view, **changes)
    image = shot(what, at, camera, SMOOTH)
    with monkeypatch.context() as patch:
        patch.setattr(buffers, "bounds_solids", lambda mesh: False)
        both = shot(what, at, camera, SMOOTH)
    assert np.mean((image != both).any(axis=-1)) <= most
    assert image.shape == (SIZE[1], SIZE[0], 3)
    return image

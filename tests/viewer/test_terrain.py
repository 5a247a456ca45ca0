"""Terrains (S29): a raster of heights as a mesh on its frame, its picture, and what becomes a warning."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.height_fields import height
from shiftjax.mechanism.model import Model
from shiftjax.poses import matrices
from shiftjax.run.verdict import verdict
from shiftjax.viewer.export.gltf import write_glb
from shiftjax.viewer.export.web_page import write_html
from shiftjax.viewer.scene.affine import as_tuple, transformed
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.palette import linear
from shiftjax.viewer.scene.scene import Direction, Scene, SceneLight, ScenePart, Snapshot
from shiftjax.viewer.scene.terrains.terrain import EARTH, SAMPLES, WHITE, height_field, raster_surface
from tests.scenes.lone import STILL
from tests.scenes.studio import eye, gl, no_errors, shot  # noqa: F401  fixtures of a module

MAPPED = 0.02  # of eight bits a pixel, on screen and in a map
SINGLE = 1e-5  # vertices of a few metres are stored in single precision
HEIGHTS = np.array([[0.0, 1.0, 2.0], [0.5, 1.5, 2.5]])  # rises by 1 a column, and by 0.5 a row downwards


def hill(folder: Path, parent: Any = ("fixed", "mound"), **options: Any) -> Scene:
    """A body on a hinge above a terrain read from `hill.tif`, on a frame of ground or of the body."""
    Image.fromarray(HEIGHTS.astype(np.float32)).save(folder / "hill.tif")
    return scene_of(model_of(parent, **options), {"a:rod": STILL}, folder=folder)


def model_of(parent: Any = ("fixed", "mound"), **options: Any) -> Model:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("mound", T=(10.0, 0.0, -1.0))
    builder.assembly("a").body("rod").joint("pivot", "Ry", child="rod")
    builder.terrain("hill", parent=parent, **{"elevation_map": "hill.tif", **options})
    return builder.build()


def terrain_of(scene: Scene) -> list[ScenePart]:
    return [part for part in scene.parts if part.path == "terrain:hill"]


def test_a_raster_stands_on_its_frame(tmp_path: Path) -> None:
    """The first row is at the back where z is up, at the front of SAE's; heights point away from gravity."""
    for sae, sign in ((False, 1.0), (True, -1.0)):
        (part,) = terrain_of(hill(tmp_path, scale=[2.0, 3.0], **({"coordinate_type": "sae"} if sae else {})))
        points = transformed(part.transform, part.mesh.vertices).reshape(2, 3, 3)
        assert points[..., 0] == pytest.approx(np.array([[8, 10, 12]] * 2), abs=SINGLE)
        assert points[..., 1] == pytest.approx(sign * np.array([[1.5] * 3, [-1.5] * 3]), abs=SINGLE)
        assert points[..., 2] == pytest.approx(-1.0 + sign * HEIGHTS, abs=SINGLE)
        up = part.mesh.normals * sign
        expected = np.array([-0.5, sign * 0.5 / 3, 1.0]) * [1, sign, 1]
        assert up == pytest.approx(np.tile(expected * [sign, 1, 1] / np.linalg.norm(expected), (6, 1)), abs=SINGLE)
        assert (part.kind, part.shadow, part.node, part.colour) == ("ground", False, 0, EARTH)


def test_a_raster_is_the_surface_of_a_contact(tmp_path: Path) -> None:
    """Through the vertices that are drawn, on the terrain's frame; a ball rests on it; holes are refused."""
    for options in ({}, {"coordinate_type": "sae"}):
        (part,) = terrain_of(hill(tmp_path, scale=[2.0, 3.0], **options))
        (terrain,) = model_of(scale=[2.0, 3.0], **options).terrain
        numbers = raster_surface(terrain, tmp_path.joinpath)
        n = {"polynomial": (), "size": None, **numbers}
        for x, y, z in part.mesh.vertices.astype(float):
            assert float(height(n, x, y).z) == pytest.approx(z, abs=SINGLE)
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("mound", T=(10.0, 0.0, -1.0))
    a = builder.assembly("a").body("ball", mass=1.0, inertia=(1e-3,) * 3).joint("fall", "Tz", child="ball")
    a.force("touch", "ball_on_terrain", frames=["ball", ("fixed", "mound")], radius=0.1, k=1e6, **numbers)
    assert builder.build().numbers()["a:touch.heights[1][2]"] == numbers["heights"][1][2]
    Image.fromarray(np.where(HEIGHTS == 1.5, np.nan, HEIGHTS).astype(np.float32)).save(tmp_path / "hill.tif")
    with pytest.raises(ModelError, match="terrain:hill: found a sample without a height"):
        raster_surface(terrain, tmp_path.joinpath)


def test_triangles_face_the_side_of_their_normals() -> None:
    rng = np.random.default_rng(0)
    for down in (False, True):
        mesh = height_field("rough", 0.1 * rng.normal(size=(7, 9)), (0.5, 0.25), down=down)
        a, b, c = (mesh.vertices[mesh.indices[:, k]].astype(float) for k in range(3))
        faces = np.cross(b - a, c - a)
        assert len(faces) == 2 * 6 * 8
        assert np.einsum("tk,tk->t", faces, mesh.normals[mesh.indices[:, 0]]).min() > 0
        assert (faces[:, 2] < 0).all() == down and (faces[:, 2] > 0).all() != down


def test_samples_without_a_height_are_holes_and_large_rasters_are_thinned() -> None:
    heights = np.zeros((4, 4))
    heights[1, 1] = np.nan
    holed = height_field("holed", heights, (1.0, 1.0))
    assert len(holed.indices) == 2 * 9 - 6 and np.isfinite(holed.vertices).all()
    rows, columns = np.mgrid[0:1000, 0:900]
    large = height_field("large", 0.001 * rows * columns, (1.0, 1.0))
    assert len(large.vertices) == SAMPLES**2
    x, y, z = (large.vertices[:, k].astype(float) for k in range(3))
    assert (x.min(), x.max(), y.min(), y.max()) == (-449.5, 449.5, -499.5, 499.5)
    assert z == pytest.approx(0.001 * (499.5 - y) * (x + 449.5), abs=0.1), "single precision of 900"


def test_a_picture_lies_the_right_way_up_and_as_often_as_told(tmp_path: Path) -> None:
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[:2, :, 0] = pixels[2:, :, 1] = 255  # upper half red, lower half green
    Image.fromarray(pixels).save(tmp_path / "map.png")
    (part,) = terrain_of(hill(tmp_path, diffuse_map="map.png", texture_scale=[2, 1]))
    assert part.colour == WHITE and part.mesh.uv is not None and part.mesh.texture is not None
    assert part.mesh.texture.pixels[0, 0].tolist() == [255, 0, 0, 255]
    assert part.mesh.uv.reshape(2, 3, 2)[..., 0].tolist() == [[0, 1, 2]] * 2
    assert part.mesh.uv.reshape(2, 3, 2)[..., 1].tolist() == [[1] * 3, [0] * 3]


def test_a_terrain_may_ride_on_a_body(tmp_path: Path) -> None:
    (part,) = terrain_of(hill(tmp_path, parent="rod"))
    assert part.node == 1


def test_a_switched_off_terrain_is_not_drawn_and_none_sets_the_scenes_size(tmp_path: Path) -> None:
    assert terrain_of(hill(tmp_path, active=False)) == []
    wide, none = hill(tmp_path, scale=[1e4, 1e4]), hill(tmp_path, active=False)
    assert (wide.size, wide.centre) == (none.size, none.centre), "the camera still sees the mechanism"


@pytest.mark.parametrize(
    ("options", "message", "drawn"),
    [
        ({"elevation_map": "none.tif"}, "none.tif: found no such file", 0),
        ({"elevation_map": 3}, "terrain:hill.elevation_map: found 3; allowed: the name of a picture file", 0),
        ({"elevation_map": "text.tif"}, "terrain:hill: found text.tif: cannot identify", 0),
        ({"elevation_map": "colour.png"}, "terrain:hill: found colour.png of 4 x 4 x 3 numbers", 0),
        ({"scale": [1.0, 0.0]}, "terrain:hill.scale: found .*; allowed: one or two numbers above 0", 0),
        ({"texture_scale": "x"}, "terrain:hill.texture_scale: found 'x'", 0),
        ({"diffuse_map": "none.png"}, "none.png: found no such file", 1),
        ({"specular_map": "none.png"}, "none.png: found no such file", 1),
        ({"normal_map": "text.tif"}, "terrain:hill.normal_map: found text.tif: cannot identify", 1),
        ({"normal_map": 7}, "terrain:hill.normal_map: found 7; allowed: the name of a picture file", 1),
        ({"normal_map": "grey.png"}, "grey.png of one number a pixel; allowed: a picture with red, green and blue", 1),
    ],
)
def test_what_cannot_be_read_is_a_warning(tmp_path: Path, options: dict[str, Any], message: str, drawn: int) -> None:
    (tmp_path / "text.tif").write_text("no picture", encoding="ascii")
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "colour.png")
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "grey.png")
    scene = hill(tmp_path, **options)
    (warning,) = scene.warnings
    assert re.search(message, warning)
    assert len(terrain_of(scene)) == drawn
    for part in terrain_of(scene):
        assert part.mesh.texture is part.mesh.normal_map is part.mesh.specular_map is None


def test_what_is_not_drawn_is_said(tmp_path: Path) -> None:
    """Bump and property maps and unknown interpolations are in no picture: the scene and `check` name them."""
    asked: dict[str, Any] = {"bump_map": "b.png", "property_map": "p.png", "interpolation_type": "quintic"}
    scene = hill(tmp_path, **asked)
    (warning,) = scene.warnings
    assert warning.startswith("terrain:hill: bump_map, property_map, interpolation_type 'quintic' (a bicubic surface")
    assert len(terrain_of(scene)) == 1 and warning in verdict(model_of(**asked))["notes"]
    drawn: dict[str, Any] = {"interpolation_type": "bilinear", "normal_map": "", "bump_map": None}
    assert hill(tmp_path, **drawn).warnings == ()
    for options in ({"interpolation_type": "bicubic", "normal_map": "n.png", "specular_map": "s.png"}, drawn):
        assert not any("terrain" in note for note in verdict(model_of(**options))["notes"])
    assert hill(tmp_path, active=False, **asked).warnings == ()


def test_a_normal_map_tilts_the_light(tmp_path: Path) -> None:
    """Lambert's cosine against the tilted normal, along both axes, of a terrain that looks up and of one of SAE; the
    left half of the map is straight."""
    Image.fromarray(np.zeros((3, 3), np.float32)).save(tmp_path / "flat.tif")
    to_light = np.array([math.sin(0.7), 0.3, math.cos(0.7)]) / math.hypot(1.0, 0.3)
    for along_x, along_y in ((0.4, 0.0), (-0.3, 0.2), (0.0, 0.5)):
        normal = np.array([along_x, along_y, math.sqrt(1 - along_x**2 - along_y**2)])
        pixels = np.tile(np.round(127.5 * (np.array([0.0, 0.0, 1.0]) + 1)).astype(np.uint8), (8, 8, 1))
        pixels[:, 4:] = np.round(127.5 * (normal + 1))
        Image.fromarray(pixels).save(tmp_path / "n.png")
        for sae in (False, True):
            sign = np.array([1.0, -1.0, -1.0]) if sae else np.ones(3)  # SAE's axes are turned by pi about x
            options: dict[str, Any] = {"coordinate_type": "sae"} if sae else {}
            scene = hill(tmp_path, elevation_map="flat.tif", normal_map="n.png", scale=[4.0, 4.0], **options)
            lit = lamp(-sign * to_light, diffuse=(1.4, 1.4, 1.4))
            left, right = halves(dataclasses.replace(scene, lights=(lit,)), "bottom" if sae else "top")
            expected = float(normal @ to_light) / to_light[2]
            assert right / left == pytest.approx(np.full(3, expected), rel=MAPPED), (along_x, along_y, sae)


def test_a_specular_map_shows_the_highlight_in_one_half(tmp_path: Path) -> None:
    """Phong's specular term with the reflected ray in the eye is Ks where the map is 1, and nothing where it is 0."""
    Image.fromarray(np.zeros((3, 3), np.float32)).save(tmp_path / "flat.tif")
    strengths = np.zeros((8, 8), np.uint8)
    strengths[:, 4:] = 255
    Image.fromarray(strengths).save(tmp_path / "s.png")
    scene = hill(tmp_path, elevation_map="flat.tif", specular_map="s.png", scale=[4.0, 4.0])
    lit = lamp(np.array([0.0, 0.0, -1.0]), diffuse=(0.5, 0.5, 0.5), specular=(0.3, 0.2, 0.1))
    left, right = halves(dataclasses.replace(scene, lights=(lit,)), "top")
    assert left == pytest.approx(0.5 * linear(np.array(EARTH))[:3], abs=MAPPED)
    assert right - left == pytest.approx(np.array([0.3, 0.2, 0.1]), abs=MAPPED)


def lamp(direction: np.ndarray, diffuse: Direction, specular: Direction = (0.0, 0.0, 0.0)) -> SceneLight:
    zero = (0.0, 0.0, 0.0)
    return SceneLight("lamp", "directional", 0, zero, as_tuple(direction), zero, diffuse, specular)


def halves(scene: Scene, view: str) -> tuple[np.ndarray, np.ndarray]:
    """Linear colours (3,) in the picture of a terrain of 8 m, left and right of its middle."""
    camera = eye(view, target=(10.0, 0.0, -1.0), distance=10.0, orthographic=True)
    image = shot(scene, Snapshot(np.stack([STILL, STILL])), camera)
    colours = []
    for x in (8.0, 12.0):
        column, row = (round(k) for k in camera.pixel(np.array([x, 0.5, -1.0]), (160, 120)))
        colours.append(linear(np.array([*(image[row, column] / 255.0), 1.0]))[:3])
    return colours[0], colours[1]


def test_maps_are_named_where_a_file_has_them_not(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 4, 3), 200, np.uint8)).save(tmp_path / "n.png")
    scene, time = hill(tmp_path, normal_map="n.png"), np.array([0.0, 0.1])
    track = np.tile(STILL, (2, len(scene.nodes), 1))
    remark = "normal and specular maps are not in the file: terrain:hill"
    for write, name in ((write_glb, "a.glb"), (write_html, "a.html")):
        assert remark in write(scene, time, {0: track}, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_a_terrain_is_seen_and_hidden_by_its_path(tmp_path: Path) -> None:
    scene = hill(tmp_path, scale=[0.5, 0.5])
    poses = np.stack([STILL, STILL])
    camera = eye("iso", target=(10.0, 0.0, 0.0), distance=6.0)
    shown = shot(scene, Snapshot(poses), camera)
    gone = shot(scene, Snapshot(poses, hidden=frozenset({"terrain:hill"})), camera)
    x, y = (round(k) for k in camera.pixel(transformed(matrices(STILL), np.array([10.0, 0.0, 0.25])), (160, 120)))
    assert (shown != gone).any(-1)[y - 2 : y + 3, x - 2 : x + 3].all() and (shown != gone).any(-1).mean() < 0.5

"""Levels of detail of terrain (S29): the surface, how far pictures are from it, no cracks, a limit of triangles."""

from __future__ import annotations

import dataclasses
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shiftjax.formats.builder import ModelBuilder
from shiftjax.height_fields import height
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Mesh, Snapshot
from shiftjax.viewer.scene.terrains.terrain import raster_surface, relief_of
from shiftjax.viewer.scene.terrains.tile_meshes import TerrainDetail
from shiftjax.viewer.scene.terrains.tile_tree import PIXELS, TRIANGLES, Tiles
from tests.scenes.lone import STILL
from tests.scenes.studio import PLAIN, gl, no_errors  # noqa: F401  fixtures of a module

SIZE = (640, 480)
SINGLE = 2e-6  # of heights of a few metres, in single precision
SAME = 1e-12  # of the same spline, calculated twice
SPACING = (0.5, 0.75)


def rough(rows: int, columns: int, size: float = 1.0) -> np.ndarray:
    """Heights of hills, with smaller ones upon them."""
    rng = np.random.default_rng(rows)
    waves = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.fftfreq(columns))
    waves[0, 0] = np.inf
    z = np.fft.ifft2(np.fft.fft2(rng.normal(size=(rows, columns))) * waves**-2.2).real
    return np.asarray(size * z / z.std())


def camera_at(rng: np.random.Generator, reach: float) -> Camera:
    """At a random place about a terrain, near or far."""
    target = (float(rng.uniform(-reach, reach)), float(rng.uniform(-reach, reach)), float(rng.uniform(-1, 1)))
    camera = Camera.of(target, 1.0, (0.0, 0.0, 1.0))
    return dataclasses.replace(
        camera,
        distance=float(reach * 10 ** rng.uniform(-0.7, 0.8)),
        azimuth=float(rng.uniform(-math.pi, math.pi)),
        elevation=float(rng.uniform(-0.2, 1.5)),
        orthographic=bool(rng.integers(2)),
    )


def drawn(detail: TerrainDetail, camera: Camera) -> tuple[Tiles, Mesh]:
    nearest = 1.0 if camera.orthographic else 0.01 * camera.distance
    tiles = detail.seen(clip_of(camera), SIZE, nearest)
    return tiles, detail.mesh("t", tiles)


def clip_of(camera: Camera) -> np.ndarray:
    return camera.projection(SIZE[0] / SIZE[1]) @ camera.view()


def ground(mesh: Mesh) -> np.ndarray:
    """The triangles (m, 3) that are no skirts."""
    corners = mesh.vertices[mesh.indices].astype(float)
    (x, y), (u, v) = ((corners[:, k] - corners[:, 0])[:, :2].T for k in (1, 2))
    area = np.abs(x * v - y * u)
    return np.asarray(mesh.indices[area > 0])


@pytest.mark.parametrize("sae", [False, True])
def test_the_surface_is_that_of_contacts(tmp_path: Path, *, sae: bool) -> None:
    """Heights and slopes are the bicubic spline's, and triangles face the way of their normals."""
    Image.fromarray(rough(9, 14).astype(np.float32)).save(tmp_path / "hill.tif")
    heights = np.asarray(Image.open(tmp_path / "hill.tif"), float)
    builder = ModelBuilder()
    options = {"coordinate_type": "sae"} if sae else {}
    builder.terrain("hill", parent=("fixed", "origin"), elevation_map="hill.tif", scale=list(SPACING), **options)
    n = {"polynomial": (), "size": None, **raster_surface(builder.build().terrain[0], tmp_path.joinpath)}
    relief, rng = relief_of(heights, SPACING, down=sae), np.random.default_rng(0)
    columns, rows = rng.uniform(0, 13, 50), rng.uniform(0, 8, 50)
    for x, y, *found in zip(*relief.places(columns, rows), *relief.at(columns, rows), strict=True):
        point = height(n, float(x), float(y))
        assert found == pytest.approx([point.z, point.x, point.y], abs=SAME)
    detail = TerrainDetail(relief, (2.0, 3.0), down=sae)
    _, mesh = drawn(detail, camera_at(rng, 3.0))
    a, b, c = (mesh.vertices[ground(mesh)[:, k]].astype(float) for k in range(3))
    up = np.cross(b - a, c - a)
    assert np.einsum("tk,tk->t", up, mesh.normals[ground(mesh)[:, 0]]).min() > 0
    assert (up[:, 2] < 0).all() == sae and mesh.uv is not None
    for k, end in ((0, 2.0), (1, 3.0)):
        assert (mesh.uv[:, k].min(), mesh.uv[:, k].max()) == (0.0, end)
    first_row = mesh.vertices[:, 1] == np.float32(relief.ys[0])
    assert (mesh.uv[first_row, 1] == 3.0).all(), "the picture's upper edge"


@pytest.mark.parametrize("curved", [True, False], ids=["bicubic", "bilinear"])
def test_pictures_are_as_near_to_the_surface_as_stated(*, curved: bool) -> None:
    """At random places of random cameras, in metres by the bound of the tile, in pixels by that of the picture."""
    rng, relief = np.random.default_rng(1), relief_of(rough(61, 90), SPACING, curved=curved)
    detail, limited = TerrainDetail(relief, (1.0, 1.0), down=False), 0
    for _ in range(25):
        camera = camera_at(rng, 20.0)
        tiles, mesh = drawn(detail, camera)
        assert len(mesh.indices) <= TRIANGLES
        limited += tiles.pixels > PIXELS
        corners = mesh.vertices[rng.permutation(ground(mesh))[:4000]].astype(float)
        shares = rng.dirichlet((0.7, 0.7, 0.7), len(corners))
        points = np.einsum("tk,tkx->tx", shares, corners)
        columns = np.interp(points[:, 0], relief.xs, np.arange(len(relief.xs)))
        rows = np.interp(-points[:, 1], -relief.ys, np.arange(len(relief.ys)))
        true = np.column_stack([points[:, :2], relief.at(columns, rows)[0]])
        assert np.abs(true - points)[:, 2].max() <= tiles.errors.max() + SINGLE
        flat = [np.column_stack([p, np.ones(len(p))]) @ clip_of(camera).T for p in (points, true)]
        seen = np.logical_and.reduce([(np.abs(p[:, :3]) < p[:, 3:]).all(1) for p in flat])
        one, other = (p[seen, :2] / p[seen, 3:] * 0.5 * np.array(SIZE) for p in flat)
        assert np.linalg.norm(one - other, axis=1).max(initial=0.0) <= tiles.pixels + 0.01
    assert limited < 12, "most pictures are within a pixel"


def test_few_triangles_where_many_are_wanted() -> None:
    """A mountain range before the eye keeps to the limit; one far away and a plane need little."""
    detail = TerrainDetail(relief_of(rough(300, 400, 20.0), (1.0, 1.0)), (1.0, 1.0), down=False)
    rng = np.random.default_rng(2)
    counts = [len(drawn(detail, camera_at(rng, 100.0))[1].indices) for _ in range(20)]
    assert 0.4 * TRIANGLES < max(counts) <= TRIANGLES
    far = dataclasses.replace(camera_at(rng, 1.0), distance=1e5)
    assert len(drawn(detail, far)[1].indices) < 0.05 * TRIANGLES
    plane = TerrainDetail(
        relief_of(np.fromfunction(lambda i, k: i + 2 * k, (300, 400)), (1.0, 1.0)), (1, 1), down=False
    )
    tiles, mesh = drawn(plane, camera_at(rng, 100.0))
    assert len(tiles.levels) == 1 and len(mesh.indices) <= 2 * 16 * 16


def test_no_crack_is_open() -> None:
    """Every edge of a triangle of the ground is shared, at the rim of the raster or has a wall below it; walls reach
    below all vertices of the other side."""
    rng, relief = np.random.default_rng(3), relief_of(rough(61, 90, 4.0), SPACING)
    detail, walls = TerrainDetail(relief, (1.0, 1.0), down=False), 0
    for _ in range(10):
        _, mesh = drawn(detail, camera_at(rng, 8.0))
        places = mesh.vertices.astype(float)
        sides = np.concatenate([ground(mesh)[:, [k, (k + 1) % 3]] for k in range(3)])
        named = np.sort(np.unique(places, axis=0, return_inverse=True)[1].ravel()[sides], axis=1)
        _, which, count = np.unique(named, axis=0, return_inverse=True, return_counts=True)
        assert count.max() <= 2
        skirts = {tuple(row) for row in mesh.indices.tolist()} - {tuple(row) for row in ground(mesh).tolist()}
        depth = hanging(skirts, places)
        lone = [tuple(side) for side in sides[count[which.ravel()] == 1].tolist()]
        rim = [side for side in lone if on_rim(places[list(side)], relief.xs, relief.ys)]
        inner = np.array([side for side in lone if side not in set(rim)], int).reshape(-1, 2)
        assert all(a in depth and b in depth for a, b in inner)
        walls += len(inner)
        for axis in (0, 1):
            check_walls(inner[places[inner[:, 0], axis] == places[inner[:, 1], axis]], places, depth, axis)
    assert walls > 1000


def hanging(skirts: set[tuple[int, ...]], places: np.ndarray) -> dict[int, float]:
    """Vertex of the ground -> how deep the wall below it hangs [m]."""
    rows = np.array(sorted(skirts)).reshape(-1, 3)
    depth: dict[int, float] = {}
    for j, k in itertools.permutations(range(3), 2):
        a, b = rows[:, j], rows[:, k]
        above = (places[a, :2] == places[b, :2]).all(1) & (places[a, 2] > places[b, 2])
        depth |= dict(zip(a[above].tolist(), (places[a, 2] - places[b, 2])[above].tolist(), strict=True))
    return depth


def on_rim(ends: np.ndarray, xs: np.ndarray, ys: np.ndarray) -> bool:
    limits = ((0, xs[0]), (0, xs[-1]), (1, ys[0]), (1, ys[-1]))
    return any((ends[:, axis] == np.float32(limit)).all() for axis, limit in limits)


def check_walls(sides: np.ndarray, places: np.ndarray, depth: dict[int, float], axis: int) -> None:
    """Both sides of a seam at one x (axis 0) or y: what is higher reaches down to what is lower."""
    other = 1 - axis
    for at in np.unique(places[sides[:, 0], axis]):
        here = sides[places[sides[:, 0], axis] == at]
        low, high = np.sort(places[here, other], axis=1).T
        for k in np.unique(here):
            over = here[(low < places[k, other]) & (places[k, other] < high)]
            for a, b in over:  # an edge of the other side that passes over or under this vertex
                t = (places[k, other] - places[a, other]) / (places[b, other] - places[a, other])
                gap = places[k, 2] - (1 - t) * places[a, 2] - t * places[b, 2]
                assert abs(gap) <= (depth[k] if gap > 0 else min(depth[a], depth[b])) + SINGLE


def test_holes_stay_holes_at_every_distance() -> None:
    heights = rough(80, 50)
    heights[20:30, 11:22] = np.nan
    detail, rng = TerrainDetail(relief_of(heights, SPACING), (1.0, 1.0), down=False), np.random.default_rng(4)
    for _ in range(10):
        _, mesh = drawn(detail, camera_at(rng, 10.0))
        middle = mesh.vertices[ground(mesh)].mean(1)
        k = middle[:, 0] / SPACING[0] + 24.5
        i = 39.5 - middle[:, 1] / SPACING[1]
        assert np.isfinite(mesh.vertices).all() and len(middle) > 100
        assert not ((k > 11) & (k < 21) & (i > 20) & (i < 29)).any()


def test_the_renderer_shows_the_surface_between_samples(tmp_path: Path) -> None:
    """What is under the cursor lies on the spline, of which the exported mesh has few points; coming nearer makes the
    mesh finer, standing still leaves it."""
    Image.fromarray((0.4 * rough(9, 9)).astype(np.float32)).save(tmp_path / "hill.tif")
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("a").body("rod").joint("pivot", "Ry", child="rod")
    builder.terrain("hill", parent=("fixed", "origin"), elevation_map="hill.tif", scale=[1.0, 1.0])
    model = builder.build()
    scene = scene_of(model, {"a:rod": STILL}, folder=tmp_path)
    n = {"polynomial": (), "size": None, **raster_surface(model.terrain[0], tmp_path.joinpath)}
    hidden = frozenset(part.path for part in scene.parts if part.path != "terrain:hill")
    snapshot = Snapshot(np.stack([STILL, STILL]), hidden)
    renderer = Renderer(scene, PLAIN, SIZE)
    camera = Camera.of((1.3, -0.6, 0.0), 2.0, (0.0, 0.0, 1.0))
    for distance in (4.0, 8.0):
        near = dataclasses.replace(camera, distance=distance)
        renderer.draw(snapshot, near)
        for x, y in ((320, 240), (250, 300), (400, 260), (333, 199)):
            seen = renderer.pick(x, y)
            assert seen.part is not None and seen.part.path == "terrain:hill" and seen.point is not None
            pixel = distance * 2 * math.tan(near.view_angle / 2) / SIZE[1]
            at = seen.point
            assert at[2] == pytest.approx(float(height(n, float(at[0]), float(at[1])).z), abs=2 * pixel)
    renderer.release()
    (part,) = [part for part in scene.parts if part.path == "terrain:hill"]
    detail = part.mesh.detail
    assert detail is not None
    clip = clip_of(camera)
    first = detail.refined("t", clip, SIZE, 0.01, None)
    assert first is not None and detail.refined("t", clip, SIZE, 0.01, first[0]) is None
    far = detail.refined("t", clip_of(dataclasses.replace(camera, distance=300.0)), SIZE, 0.01, first[0])
    assert far is not None and len(far[1].indices) < len(first[1].indices)

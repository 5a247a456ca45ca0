"""Terrains of a model: an elevation raster on its frame as a surface with levels of detail, and its pictures.

Where the file format is ambiguous: a sample is a height in m; `scale` is the distance between samples [m], columns
along x and rows along y, the middle at the frame's origin; "sae" coordinates have z down and y to the right, so heights
go along -z there; `texture_scale` is how often the pictures repeat along each side. Seen from above with x to the
right, the raster's first row is on top. Between samples it is bicubic, as contacts have it, unless the file says that
it is bilinear. A normal map has its normals as (colour * 2 - 1): red along x, green towards the picture's first row,
blue upwards; a specular map has factors of the lights' specular colours. Neither is converted from sRGB.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import Terrain
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.scene.affine import of_frame
from shiftjax.viewer.scene.attachments import BuildContext
from shiftjax.viewer.scene.scene import Colour, Mesh, ScenePart, Texture
from shiftjax.viewer.scene.terrains.relief import Relief
from shiftjax.viewer.scene.terrains.tile_meshes import TerrainDetail

if TYPE_CHECKING:
    from PIL.Image import Image

EARTH: Colour = (0.60, 0.62, 0.52, 1.0)
WHITE: Colour = (1.0, 1.0, 1.0, 1.0)  # does not change the colours of a texture
MAPS = ("diffuse_map", "normal_map", "specular_map")
RELIEF = 1025  # samples along each side of the surface that is drawn; rasters of surveys have thousands
SAMPLES = 400  # along each side of a mesh without levels of detail, of exported files: 320 000 triangles
FLAT = 1e-3  # of a terrain's side, by which such a mesh may be off between samples
PIXELS = 2048  # largest side of a texture


def terrain_parts(context: BuildContext, find: Callable[[str], Path], warnings: list[str]) -> Iterator[ScenePart]:
    """One part for every terrain that is switched on and can be read; what is not drawn of it is a warning. It receives
    shadows but casts none.

    As a caster it would enlarge the shadow maps and coarsen the shadows of bodies.
    """
    for terrain in context.model.terrain:
        node = context.nodes.get(terrain.parent.body)
        if node is None or terrain.options.get("active") is False:
            continue
        path = child("terrain", terrain.name)
        warnings += [note] if (note := terrain.undrawn()) else []
        try:
            heights = _heights(_file(terrain, "elevation_map", path, find), path)
            spacing, repeats = (_pair(terrain.options.get(key), key, path) for key in ("scale", "texture_scale"))
        except ModelError as error:
            warnings.append(str(error))
            continue
        colours, bent, strengths = (_map(terrain, key, path, find, warnings) for key in MAPS)
        down = terrain.options.get("coordinate_type") == "sae"
        relief = relief_of(heights, spacing, down=down, curved=not terrain.straight)
        mesh = _coarse(relief, heights, spacing, repeats, down=down)
        detail = TerrainDetail(relief, repeats, down=down)
        pictures = [b"" if item is None else item.pixels.tobytes() for item in (colours, bent, strengths)]
        content = b"".join([heights.tobytes(), repr((spacing, repeats, down, terrain.straight)).encode(), *pictures])
        mesh = replace(
            mesh,
            key=f"{path} {zlib.crc32(content)}",
            texture=colours,
            normal_map=bent,
            specular_map=strengths,
            detail=detail,
        )
        where = of_frame(context.frames[terrain.parent.body], terrain.parent.frame)
        yield ScenePart(mesh, node, where, EARTH if colours is None else WHITE, path, "ground", shadow=False)


def relief_of(heights: np.ndarray, spacing: tuple[float, float], *, down: bool = False, curved: bool = True) -> Relief:
    """The surface through a raster, about its middle; arguments as of `height_field`. Large ones are downsampled.

    Args:
        curved: whether it is bicubic, and not bilinear.
    """
    i, k = (evenly_spaced(n, RELIEF) for n in heights.shape)
    rows, columns = heights.shape
    x = (k - 0.5 * (columns - 1)) * spacing[0]
    y = (i - 0.5 * (rows - 1)) * spacing[1] * (1 if down else -1)
    return Relief.through(x, y, heights[np.ix_(i, k)] * (-1 if down else 1), curved=curved)


def _coarse(relief: Relief, heights: np.ndarray, spacing: tuple[float, float], repeats: tuple[float, float], *,
            down: bool) -> Mesh:  # fmt: skip
    """The mesh without levels of detail, of exported files: on the samples, and between few curved ones."""
    finer = 1
    if relief.bends is not None and 2 * max(heights.shape) <= SAMPLES:
        off = relief.bulges()[1].max() / max(np.ptp(relief.xs), np.ptp(relief.ys))
        while off > FLAT * finer**2 and 2 * finer * max(heights.shape) <= SAMPLES:
            finer *= 2
    if finer > 1:
        rows, columns = (np.arange(finer * (n - 1) + 1) / finer for n in heights.shape)
        heights = relief.at(*np.meshgrid(columns, rows))[0] * (-1 if down else 1)
    return height_field("", heights, (spacing[0] / finer, spacing[1] / finer), down=down, repeats=repeats)


def raster_surface(terrain: Terrain, find: Callable[[str], Path], *, samples: int = 20) -> dict[str, Any]:
    """The raster of a terrain as numbers of what touches it, in its frame: of a `ball_on_terrain` or a tyre.

    Args:
        find: the file of a name, as `model_shapes.finder` makes it. samples: at most so many are taken along each side.

    Returns:
        `xs` and `ys` [m], and `heights` [m], a row for each y.

    Raises:
        ModelError: a file that cannot be read, a sample without a height.
    """
    path = child("terrain", terrain.name)
    raster = _heights(_file(terrain, "elevation_map", path, find), path)
    spacing = _pair(terrain.options.get("scale"), "scale", path)
    rows, columns = (evenly_spaced(n, samples) for n in raster.shape)
    heights = raster[np.ix_(rows, columns)]
    if not np.isfinite(heights).all():
        raise ModelError(
            path, "a sample without a height", "a height at each sample", "Fill it, or take another raster."
        )
    xs = (columns - 0.5 * (raster.shape[1] - 1)) * spacing[0]
    ys = (rows - 0.5 * (raster.shape[0] - 1)) * spacing[1]
    if terrain.options.get("coordinate_type") == "sae":
        heights = -heights
    else:  # the first row lies at the largest y
        ys, heights = -ys[::-1], heights[::-1]
    return {"xs": xs.tolist(), "ys": ys.tolist(), "heights": heights.tolist()}


def height_field(key: str, heights: np.ndarray, spacing: tuple[float, float], *, down: bool = False,
                 repeats: tuple[float, float] = (1.0, 1.0)) -> Mesh:  # fmt: skip
    """A surface through samples (rows, columns) of height [m], about the middle of the raster.

    Large rasters are downsampled. Samples that are not finite are holes.

    Args:
        spacing: of samples along x and y [m].
        down: whether z points down, and the first row lies at the least y instead of the largest.
    """
    i, k = (evenly_spaced(n, SAMPLES) for n in heights.shape)
    rows, columns = heights.shape
    x = (k - 0.5 * (columns - 1)) * spacing[0]
    y = (i - 0.5 * (rows - 1)) * spacing[1] * (1 if down else -1)
    z = heights[np.ix_(i, k)] * (-1 if down else 1)
    whole = np.isfinite(z)
    along_y, along_x = (np.nan_to_num(slope) for slope in np.gradient(np.where(whole, z, np.nan), y, x))
    z = np.where(whole, z, 0.0)
    normals = np.stack([-along_x, -along_y, np.ones_like(z)], axis=-1) * (-1 if down else 1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    grid = np.arange(z.size).reshape(z.shape)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]  # counter-clockwise from above
    triangles = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    triangles = triangles[whole.reshape(-1)[triangles].all(axis=1)]
    vertices = np.stack([*np.meshgrid(x, y), z], axis=-1)
    u, v = np.meshgrid(k / (columns - 1) * repeats[0], (1 - i / (rows - 1)) * repeats[1])
    return Mesh(
        key,
        vertices.reshape(-1, 3).astype(np.float32),
        triangles.astype(np.uint32),
        normals.reshape(-1, 3).astype(np.float32),
        np.stack([u, v], axis=-1).reshape(-1, 2).astype(np.float32),
    )


def _map(terrain: Terrain, key: str, path: str, find: Callable[[str], Path], warnings: list[str]) -> Texture | None:
    """The picture of one of MAPS; where there is none, or none that can be read, which is a warning, None."""
    if terrain.options.get(key) in (None, ""):
        return None
    try:
        return _picture(_file(terrain, key, path, find), f"{path}.{key}", coloured=key == "normal_map")
    except ModelError as error:
        warnings.append(str(error))
        return None


def _file(terrain: Terrain, key: str, path: str, find: Callable[[str], Path]) -> Path:
    name = terrain.options.get(key)
    if not isinstance(name, str) or not name:
        raise ModelError(f"{path}.{key}", repr(name)[:80], "the name of a picture file", "Name one.")
    return find(name)


def _opened(file: Path, path: str) -> Image:
    from PIL import Image

    try:
        image = Image.open(file)
        image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError(path, f"{file.name}: {error}"[:200], "a picture such as TIFF or PNG", "Export anew.") from None
    return image


def _heights(file: Path, path: str) -> np.ndarray:
    """(rows, columns) [m] of a raster with one number a pixel."""
    heights = np.asarray(_opened(file, path), float)
    if heights.ndim != 2 or min(heights.shape) < 2:
        size = " x ".join(map(str, heights.shape))
        todo = "Export it as a TIFF of floats."
        raise ModelError(path, f"{file.name} of {size} numbers", "a raster with one height a pixel", todo)
    return heights


def _picture(file: Path, path: str, *, coloured: bool) -> Texture:
    """coloured: whether a picture of one number a pixel is refused."""
    image = _opened(file, path)
    if coloured and len(image.getbands()) < 3 and "P" not in image.mode:
        grey, allowed = f"{file.name} of one number a pixel", "a picture with red, green and blue"
        raise ModelError(path, grey, allowed, "Export the normals as colours, or leave the map out.")
    image = image.convert("RGBA")
    image.thumbnail((PIXELS, PIXELS))
    return Texture(np.asarray(image))


def _pair(value: Any, key: str, path: str) -> tuple[float, float]:
    """Two numbers above 0, or one for both; 1 where there is none."""
    given = (1.0,) if value is None else value if isinstance(value, tuple) else (value,)
    good = len(given) in (1, 2) and all(isinstance(a, (int, float)) and a > 0 for a in given)
    if not good:
        raise ModelError(f"{path}.{key}", repr(value)[:80], "one or two numbers above 0", "Correct it.")
    return float(given[0]), float(given[-1])

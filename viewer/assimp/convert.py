"""Assimp's records (ctypes) to pieces (NumPy), in the child process.

Bones are never touched: pyassimp's layout of them is wrong, and a mechanism has no skin.
"""

from __future__ import annotations

import ctypes
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from PIL import Image

from shiftjax.record import record
from shiftjax.viewer.assimp.pieces import MeshPiece
from shiftjax.viewer.scene.normals import unit, with_normals
from shiftjax.viewer.scene.scene import Colour, Mesh, Texture

WIDTHS = {1: 1, 2: 2, 4: 3}  # aiPrimitiveType -> vertices a face
KINDS = {1: "points", 2: "lines", 3: "triangles"}
FACE = np.dtype([("count", np.uint32), ("padding", np.uint32), ("indices", np.uint64)])
STRING, INTEGER = 3, 4  # aiPropertyTypeInfo; 1 and 2 are floats of 4 and 8 bytes
DIFFUSE, BASE = 1, 12  # aiTextureType
UNDRAWN = {2: "specular", 4: "emission", 5: "bump", 6: "normal", 9: "displacement", 13: "normal"}  # maps, alike
CHANNELS = 8  # of texture coordinates
TEXTURE_LIMIT = 8192  # pixels a side: software renderers take no more
GREY: Colour = (0.6, 0.6, 0.6, 1.0)  # of what has no material, Assimp's own default


class Unusable(Exception):
    """What was read cannot be drawn: the reason."""


@record
class Source:
    """Properties of a file for its conversion."""

    scene: Any  # aiScene
    content: Callable[[str], bytes | None]  # bytes of a file that the mesh file names
    absent: Callable[[str], str]  # why there are none
    frame: np.ndarray  # (4, 4) from the importer's coordinates to the file's [m]
    linear: bool = False  # whether colours are linear, as in glTF, and not sRGB
    facets: bool = False  # whether the format has at most normals of facets: computed ones make curved parts smooth
    bare: bool = False  # whether the format has no materials, and those found were added by the importer


def pieces_of(source: Source) -> tuple[MeshPiece, ...]:
    """Every mesh at every node of a file; the meshes' keys are their numbers in the file. Raises Unusable."""
    materials = _Materials(source)
    meshes: dict[int, tuple[Mesh, Colour, tuple[str, ...]]] = {}
    pieces = []
    for number, transform in _mesh_nodes(source.scene):
        if number not in meshes:
            meshes[number] = _mesh(source, materials, number)
        mesh, colour, notes = meshes[number]
        if len(mesh.indices):
            pieces.append(MeshPiece(mesh, colour, source.frame @ transform, notes))
    if not pieces:
        raise Unusable("a file without points, lines or triangles")
    if not all(np.isfinite(piece.transform).all() for piece in pieces):
        raise Unusable("a file with transforms that are not finite")
    return tuple(pieces)


def _mesh_nodes(scene: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Mesh numbers and the (4, 4) transforms of the nodes that hold them, in the file's order."""
    stack = [(scene.mRootNode, np.eye(4))]
    while stack:
        pointer, parent = stack.pop()
        if not pointer:
            continue
        node = pointer.contents
        matrix = np.frombuffer(node.mTransformation, np.float32).reshape(4, 4)
        transform = parent @ matrix.astype(float)
        for k in range(node.mNumMeshes):
            if node.mMeshes[k] >= scene.mNumMeshes:
                raise Unusable("a file whose nodes name meshes that are not there")
            yield node.mMeshes[k], transform
        stack.extend((node.mChildren[k], transform) for k in reversed(range(node.mNumChildren)))


def _mesh(source: Source, materials: _Materials, number: int) -> tuple[Mesh, Colour, tuple[str, ...]]:
    raw = source.scene.mMeshes[number].contents
    width = WIDTHS.get(raw.mPrimitiveTypes & 0xF)  # higher bits are hints
    if width is None:
        raise Unusable(f"a mesh of mixed faces (kinds {raw.mPrimitiveTypes})")
    count = raw.mNumVertices
    vertices = _floats(raw.mVertices, count, 3)
    indices, left_out = _indices(raw, width, count)
    if vertices is None or not np.isfinite(vertices).all():
        raise Unusable("a mesh with coordinates that are not finite")
    material = materials.of(raw.mMaterialIndex)
    notes = (
        (*material.notes, f"{left_out} faces that are no {KINDS[width]} are left out") if left_out else material.notes
    )
    uv = None
    if material.texture is not None:
        uv = _floats(raw.mTextureCoords[material.channel], count, 3)
        uv = None if uv is None or not np.isfinite(uv).all() else np.ascontiguousarray(uv[:, :2])
    normals = np.zeros((count, 3), np.float32)
    painted = _floats(raw.mColors[0], count, 4)
    if width == 3:
        given = None if source.facets else _floats(raw.mNormals, count, 3)
        if given is None:
            normals, old, indices = with_normals(vertices, indices)
            vertices = vertices[old]
            uv, painted = (None if x is None else x[old] for x in (uv, painted))
        else:
            normals = unit(np.nan_to_num(given, posinf=0.0, neginf=0.0).astype(float)).astype(np.float32)
    mesh = Mesh(str(number), vertices, indices, normals, uv, None if uv is None else material.texture)
    if painted is None or mesh.texture is not None or not len(indices):
        return mesh, material.colour, notes
    mesh, colour = _painted(mesh, _screen(np.nan_to_num(painted), source.linear))
    if source.linear:  # glTF: the material's colour is a factor
        colour = _clipped([a * b for a, b in zip(colour, material.colour, strict=True)])
    return mesh, colour, notes


def _floats(pointer: Any, count: int, width: int) -> np.ndarray | None:
    """(count, width) float32, a copy; None for a null pointer."""
    if not pointer or not count:
        return None
    values = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float))
    return np.ctypeslib.as_array(values, (count, width)).copy()


def _indices(raw: Any, width: int, count: int) -> tuple[np.ndarray, int]:
    """(m, width) uint32, and the number of faces of other widths (OBJ has triangles of two corners), left out.

    The indices of each face are in separate memory.
    """
    faces = np.frombuffer(ctypes.string_at(raw.mFaces, raw.mNumFaces * FACE.itemsize) if raw.mNumFaces else b"", FACE)
    whole = faces[faces["count"] == width]
    if not len(whole):
        return np.zeros((0, width), np.uint32), len(faces)
    data = b"".join(map(ctypes.string_at, whole["indices"].tolist(), itertools.repeat(4 * width)))
    indices = np.frombuffer(data, np.uint32).reshape(-1, width)
    if indices.max() >= count:
        raise Unusable("a mesh with indices of vertices that are not there")
    return indices, len(faces) - len(whole)


def _painted(mesh: Mesh, colours: np.ndarray) -> tuple[Mesh, Colour]:
    """A mesh with colours at its vertices (n, 4), sRGB: one colour, or a texture with one pixel for each face's."""
    faces = np.rint(colours[mesh.indices].mean(axis=1) * 255).astype(np.uint8)
    palette, chosen = np.unique(faces, axis=0, return_inverse=True)
    if len(palette) == 1:
        return mesh, _clipped(palette[0] / 255)
    columns = int(np.ceil(np.sqrt(len(palette))))
    rows = -(-len(palette) // columns)
    pixels = np.zeros((rows * columns, 4), np.uint8)
    pixels[: len(palette)] = palette
    row, column = np.divmod(chosen.reshape(-1), columns)
    centres = np.stack([(column + 0.5) / columns, 1 - (row + 0.5) / rows], axis=1).astype(np.float32)
    order = mesh.indices.reshape(-1)  # faces share no vertices any more
    width = mesh.indices.shape[1]
    split = Mesh(
        mesh.key,
        mesh.vertices[order],
        np.arange(len(order), dtype=np.uint32).reshape(-1, width),
        mesh.normals[order],
        np.repeat(centres, width, axis=0),
        Texture(pixels.reshape(rows, columns, 4)),
    )
    return split, (1.0, 1.0, 1.0, 1.0)


# -- materials -------------------------------------------------------------------------------------------------------


@record
class _Material:
    colour: Colour
    texture: Texture | None = None
    channel: int = 0  # of texture coordinates
    notes: tuple[str, ...] = ()


class _Materials:
    """Colours and textures of a file's materials, each read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._materials: dict[int, _Material] = {}
        self._textures: dict[tuple[str, bool], Texture | str] = {}

    def of(self, number: int) -> _Material:
        if number not in self._materials:
            scene = self._source.scene
            known = number < scene.mNumMaterials and not self._source.bare
            self._materials[number] = self._read(scene.mMaterials[number].contents) if known else _Material(GREY)
        return self._materials[number]

    def _read(self, material: Any) -> _Material:
        values = _properties(material)
        kind = next((kind for kind in (DIFFUSE, BASE) if ("$tex.file", kind) in values), None)
        given = values.get(("$clr.diffuse", 0)) or values.get(("$clr.base", 0))
        if not isinstance(given, list) or len(given) < 3 or not np.isfinite(given).all():
            given = list(GREY if kind is None else (1.0, 1.0, 1.0, 1.0))
        red, green, blue, alpha = [*given, 1.0][:4]
        opacity = values.get(("$mat.opacity", 0))
        if isinstance(opacity, list) and opacity and np.isfinite(opacity[0]):
            alpha = opacity[0]
        opaque = values.get(("$mat.gltf.alphaMode", 0)) == "OPAQUE"
        screen = _screen(np.array([red, green, blue, 1.0 if opaque else alpha]), self._source.linear)
        colour = _clipped(screen)
        maps = list(dict.fromkeys(word for key, word in UNDRAWN.items() if ("$tex.file", key) in values))
        notes = (f"{' and '.join(maps)} maps are not drawn",) if maps else ()
        if kind is None:
            return _Material(colour, notes=notes)
        file = values[("$tex.file", kind)]
        texture = self._texture(file, opaque) if isinstance(file, str) else "a texture without a name"
        if isinstance(texture, str):
            return _Material(colour, notes=(texture, *notes))
        channel = values.get(("$tex.uvwsrc", kind))
        number = int(channel[0]) if isinstance(channel, list) else 0
        return _Material(colour, texture, number if 0 <= number < CHANNELS else 0, notes)

    def _texture(self, name: str, opaque: bool) -> Texture | str:
        """The picture of that name, or why there is none."""
        if (name, opaque) not in self._textures:
            self._textures[name, opaque] = self._decoded(name, opaque)
        return self._textures[name, opaque]

    def _decoded(self, name: str, opaque: bool) -> Texture | str:
        embedded = _embedded(self._source.scene, name)
        if isinstance(embedded, np.ndarray):
            return Texture(embedded)
        data = embedded or self._source.content(name)
        if data is None:
            return f"texture {name}: {self._source.absent(name)}"
        try:
            with warnings.catch_warnings(), Image.open(io.BytesIO(data)) as image:
                warnings.simplefilter("error", Image.DecompressionBombWarning)  # ~90 million pixels
                picture = image.convert("RGBA")
        except Exception as error:  # Pillow may raise any exception on bad data
            return f"texture {name}: {error}"
        picture.thumbnail((TEXTURE_LIMIT, TEXTURE_LIMIT))
        pixels = np.array(picture)
        if opaque:
            pixels[..., 3] = 255
        return Texture(pixels)


def _embedded(scene: Any, name: str) -> bytes | np.ndarray | None:
    """A picture inside the file: its bytes (png, jpg), or its pixels (h, w, 4); None for a name of none."""
    for k in range(scene.mNumTextures):
        raw = scene.mTextures[k].contents
        file_name = _text(raw.mFilename).replace("\\", "/").rsplit("/", 1)[-1]
        if name != f"*{k}" and (not file_name or file_name != name.replace("\\", "/").rsplit("/", 1)[-1]):
            continue
        if raw.mHeight == 0:
            return ctypes.string_at(raw.pcData, raw.mWidth)
        data = ctypes.string_at(raw.pcData, 4 * raw.mWidth * raw.mHeight)
        texels = np.frombuffer(data, np.uint8).reshape(raw.mHeight, raw.mWidth, 4)
        return np.ascontiguousarray(texels[..., [2, 1, 0, 3]])  # stored blue first
    return None


def _properties(material: Any) -> dict[tuple[str, int], str | list[float] | list[int]]:
    """(key, kind of texture) -> value, of the first texture of each kind."""
    properties = {}
    for k in range(material.mNumProperties):
        raw = material.mProperties[k].contents
        if raw.mIndex:
            continue
        data = ctypes.string_at(raw.mData, raw.mDataLength)
        if raw.mType == STRING:
            length = int.from_bytes(data[:4], "little")
            value: Any = data[4 : 4 + length].decode(errors="replace")
        else:
            value = np.frombuffer(data, {1: "<f4", 2: "<f8", INTEGER: "<i4"}.get(raw.mType, "u1")).tolist()
        properties[_text(raw.mKey), raw.mSemantic] = value
    return properties


def _text(string: Any) -> str:
    return bytes(string.data).decode(errors="replace")


def _screen(colours: np.ndarray, linear: bool) -> np.ndarray:
    """(..., 4) sRGB and opacity in 0..1, from sRGB or linear light."""
    colours = np.clip(np.asarray(colours, float), 0.0, 1.0)
    if not linear:
        return colours
    light = colours[..., :3]
    curved = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.concatenate([curved, colours[..., 3:]], axis=-1)


def _clipped(values: Any) -> Colour:
    red, green, blue, opacity = (float(min(1.0, max(0.0, value))) for value in values)
    return red, green, blue, opacity

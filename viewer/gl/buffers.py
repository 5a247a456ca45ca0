"""Vertices, textures and instance rows on the graphics card."""

from __future__ import annotations

import ctypes

import numpy as np
from OpenGL import GL

from shiftjax.viewer.gl.part_instances import INSTANCE
from shiftjax.viewer.gl.program import ATTRIBUTES, NORMAL_UNIT, STRENGTH_UNIT, TEXTURE_UNIT
from shiftjax.viewer.scene.closed import bounds_solids
from shiftjax.viewer.scene.scene import Mesh, Texture

MODES = {"triangles": GL.GL_TRIANGLES, "lines": GL.GL_TRIANGLES, "points": GL.GL_POINTS}
PICTURES = (  # field of a mesh, define of the shaders, texture unit, format: colours are sRGB, numbers are not
    ("texture", "TEXTURED", TEXTURE_UNIT, GL.GL_SRGB8_ALPHA8),
    ("normal_map", "NORMAL_MAP", NORMAL_UNIT, GL.GL_RGBA8),
    ("specular_map", "SPECULAR_MAP", STRENGTH_UNIT, GL.GL_RGBA8),
)
LOCATION = {name: k for k, name in enumerate(ATTRIBUTES)}


class MeshBuffers:
    """Vertex and index buffers of a mesh, uploaded once, or whenever its level of detail changes.

    Attributes:
        pictures: texture unit and texture of each of its pictures; defines: of the shaders, which say which they are.
        bounds_solids: see `scene.closed`.
        made_of, made_for: of a mesh with levels of detail its tiles, and the numbers of the view that they are for.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.key, self.kind, self.bounds_solids = mesh.key, mesh.kind, bounds_solids(mesh)
        self.made_of: object = None
        self.made_for = np.zeros(0)
        self.vertices, self.indices = (int(b) for b in GL.glGenBuffers(2))
        self.upload(mesh)
        shown = [(*item, getattr(mesh, item[0])) for item in PICTURES if mesh.uv is not None]
        shown = [item for item in shown if item[-1] is not None]
        self.defines = tuple(define for _, define, *_ in shown)
        self.pictures = [(unit, _texture(picture, form)) for _, _, unit, form, picture in shown]

    def upload(self, mesh: Mesh) -> None:
        """The vertices and triangles of a mesh of this kind."""
        table, indices = _ribbons(mesh) if mesh.kind == "lines" else _table(mesh)
        self.count = indices.size
        _upload(GL.GL_ARRAY_BUFFER, self.vertices, table, GL.GL_STATIC_DRAW)
        # As vertices: an index buffer would stay bound to a vertex array, which keeps its name when it is deleted.
        _upload(GL.GL_ARRAY_BUFFER, self.indices, indices, GL.GL_STATIC_DRAW)

    def release(self) -> None:
        GL.glDeleteBuffers(2, [self.vertices, self.indices])
        for _, texture in self.pictures:
            GL.glDeleteTextures(1, [texture])


class Batch:
    """Many instances of one mesh, drawn with one call."""

    def __init__(self, mesh: MeshBuffers) -> None:
        self.mesh, self.count = mesh, 0
        self._rows = int(GL.glGenBuffers(1))
        self._array = int(GL.glGenVertexArrays(1))
        GL.glBindVertexArray(self._array)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, mesh.vertices)
        for name, numbers, start in (("position", 3, 0), ("normal", 3, 12), ("uv", 2, 24)):
            _attribute(name, numbers, 32, start, 0)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._rows)
        for k in range(3):
            _attribute(f"row{k}", 4, INSTANCE.itemsize, 16 * k, 1)
        _attribute("colour", 4, INSTANCE.itemsize, 48, 1)
        GL.glEnableVertexAttribArray(LOCATION["id"])
        GL.glVertexAttribIPointer(LOCATION["id"], 1, GL.GL_UNSIGNED_INT, INSTANCE.itemsize, ctypes.c_void_p(64))
        GL.glVertexAttribDivisor(LOCATION["id"], 1)
        GL.glBindBuffer(GL.GL_ELEMENT_ARRAY_BUFFER, mesh.indices)
        GL.glBindVertexArray(0)

    def upload(self, rows: np.ndarray) -> None:
        """rows: (n,) INSTANCE"""
        self.count = len(rows)
        if self.count:
            _upload(GL.GL_ARRAY_BUFFER, self._rows, rows, GL.GL_STREAM_DRAW)

    def draw(self, count: int | None = None) -> None:
        """The first `count` instances, or all."""
        for unit, texture in self.mesh.pictures:
            GL.glActiveTexture(unit)
            GL.glBindTexture(GL.GL_TEXTURE_2D, texture)
        GL.glBindVertexArray(self._array)
        number = self.count if count is None else count
        GL.glDrawElementsInstanced(MODES[self.mesh.kind], self.mesh.count, GL.GL_UNSIGNED_INT, None, number)

    def release(self) -> None:
        GL.glDeleteVertexArrays(1, [self._array])
        GL.glDeleteBuffers(1, [self._rows])


class GridBuffers:
    """A strip of triangles with four numbers at each vertex: the ground grid."""

    def __init__(self) -> None:
        self._vertices, self._array = int(GL.glGenBuffers(1)), int(GL.glGenVertexArrays(1))
        GL.glBindVertexArray(self._array)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._vertices)
        _attribute("position", 3, 28, 0, 0)
        _attribute("colour", 4, 28, 12, 0)
        GL.glBindVertexArray(0)

    def draw(self, points: np.ndarray, numbers: np.ndarray) -> None:
        """points: (n, 3) [m]; numbers: (n, 4)."""
        table = np.concatenate([points, numbers], axis=1, dtype=np.float32)
        _upload(GL.GL_ARRAY_BUFFER, self._vertices, table, GL.GL_STREAM_DRAW)
        GL.glBindVertexArray(self._array)
        GL.glDrawArrays(GL.GL_TRIANGLE_STRIP, 0, len(table))

    def release(self) -> None:
        GL.glDeleteVertexArrays(1, [self._array])
        GL.glDeleteBuffers(1, [self._vertices])


def _table(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """(n, 8) position, normal and texture coordinates of every vertex; the indices."""
    table = np.zeros((len(mesh.vertices), 8), np.float32)
    table[:, :3], table[:, 3:6] = mesh.vertices, mesh.normals
    if mesh.uv is not None:
        table[:, 6:] = mesh.uv
    return table, np.ascontiguousarray(mesh.indices, np.uint32)


def _ribbons(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Lines as rectangles, since OpenGL 3.3 core has none wider than a pixel: (4 m, 8) corners, each its own end, the
    other end and its side; (2 m, 3) triangles."""
    ends = mesh.vertices[mesh.indices]
    table = np.zeros((len(ends), 4, 8), np.float32)
    table[:, :2, :3] = table[:, 2:, 3:6] = ends[:, None, 0]
    table[:, 2:, :3] = table[:, :2, 3:6] = ends[:, None, 1]
    table[:, :, 6] = 1, -1, -1, 1  # sides of the line, looking along it from a corner's own end
    indices = 4 * np.arange(len(ends))[:, None] + np.array([0, 1, 2, 2, 1, 3])
    return table.reshape(-1, 8), indices.reshape(-1, 3).astype(np.uint32)


def _upload(target: int, buffer: int, table: np.ndarray, use: int) -> None:
    GL.glBindBuffer(target, buffer)
    GL.glBufferData(target, table.nbytes, np.ascontiguousarray(table).view(np.uint8), use)


def _attribute(name: str, numbers: int, stride: int, start: int, divisor: int) -> None:
    location = LOCATION[name]
    GL.glEnableVertexAttribArray(location)
    GL.glVertexAttribPointer(location, numbers, GL.GL_FLOAT, False, stride, ctypes.c_void_p(start))
    GL.glVertexAttribDivisor(location, divisor)


def _texture(texture: Texture, form: int) -> int:
    """Uploaded with its mipmaps; GL's first row is the lowest."""
    height, width = texture.pixels.shape[:2]
    handle = int(GL.glGenTextures(1))
    GL.glActiveTexture(TEXTURE_UNIT)
    GL.glBindTexture(GL.GL_TEXTURE_2D, handle)
    pixels = np.ascontiguousarray(texture.pixels[::-1], np.uint8)
    GL.glPixelStorei(GL.GL_UNPACK_ALIGNMENT, 1)
    GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, form, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, pixels)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MIN_FILTER, GL.GL_LINEAR_MIPMAP_LINEAR)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MAG_FILTER, GL.GL_LINEAR)
    GL.glGenerateMipmap(GL.GL_TEXTURE_2D)
    return handle

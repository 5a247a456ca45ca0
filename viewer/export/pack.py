"""Shared by the exports: packed bytes, the parts to write, linear colours and PNG images."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import numpy as np
from PIL import Image

from shiftjax.viewer.scene import palette
from shiftjax.viewer.scene.scene import GROUND, Colour, Mesh, Scene, ScenePart, SceneSpring, Texture
from shiftjax.viewer.scene.spring_meshes import colour_of, spring_mesh

LEFT_OUT = ("frame", "centre")  # kinds of parts that are not exported


class Pack:
    """Byte strings one after another, each beginning at a multiple of four."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self.size = 0

    def add(self, data: bytes | np.ndarray) -> tuple[int, int]:
        """Appends them; returns where they begin and how many bytes they are."""
        data = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
        offset = self.size
        self._chunks.append(data + bytes(-len(data) % 4))
        self.size += len(self._chunks[-1])
        return offset, len(data)

    def bytes(self) -> bytes:
        return b"".join(self._chunks)

    def block(self, data: dict[str, Any]) -> bytes:
        """Data with the arrays that it refers to: the length of its JSON in 32 bits, low byte first, the JSON, filled
        up with spaces to a multiple of four bytes, and the byte strings."""
        text = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        return b"".join([struct.pack("<I", len(text)), text, *self._chunks])


def written_parts(scene: Scene) -> tuple[ScenePart, ...]:
    """Parts with something to draw, without frames and centres of mass."""
    return tuple(p for p in scene.parts if p.kind not in LEFT_OUT and p.mesh.indices.size)


def linear(colour: Colour) -> list[float]:
    """Linear colour and opacity."""
    return palette.linear(np.array(colour)).tolist()


def png(texture: Texture) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(texture.pixels)).save(file, "PNG")
    return file.getvalue()


def unit_normals(mesh: Mesh) -> np.ndarray:
    """(n, 3) float32; +z where a vertex has none."""
    normals = np.asarray(mesh.normals, float)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(length > 0, normals / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0)).astype(np.float32)


def spring_part(spring: SceneSpring) -> ScenePart:
    """The mesh of a spring as a part of ground, of length and radius 1; see `spring_track` for where it is."""
    mesh = spring_mesh(spring.kind, spring.slenderness)
    return ScenePart(mesh, GROUND, np.eye(4), colour_of(spring), spring.path)


def baked(mesh: Mesh, transform: np.ndarray) -> Mesh:
    """The mesh in the coordinates of its node."""
    a, b, c = np.array(transform[:3, :3], float).T
    mirrored = np.dot(a, np.cross(b, c)) < 0
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], 1) * (-1 if mirrored else 1)
    vertices = mesh.vertices @ transform[:3, :3].T + transform[:3, 3]
    indices = mesh.indices[:, ::-1] if mirrored and mesh.kind == "triangles" else mesh.indices
    key = f"{mesh.key} {np.asarray(transform, float).tobytes().hex()}"
    normals = (mesh.normals @ cofactors.T).astype(np.float32)
    return Mesh(key, vertices.astype(np.float32), indices, normals, mesh.uv, mesh.texture)

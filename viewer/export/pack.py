"""What both exports share: packed bytes, the parts worth writing, colours and pictures as files want them."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from shiftjax.viewer.scene import Colour, Mesh, Part, Scene, Texture

LEFT_OUT = ("frame", "centre")  # kinds of parts that explain a model rather than show it


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


def written_parts(scene: Scene) -> tuple[Part, ...]:
    """Parts with something to draw, without frames and centres of mass."""
    return tuple(p for p in scene.parts if p.kind not in LEFT_OUT and p.mesh.indices.size)


def linear(colour: Colour) -> list[float]:
    """A colour on a screen (sRGB) as the light it stands for; opacity as it is."""
    return [*(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]), colour[3]]


def ghost_opacity(ghosts: int) -> float:
    """Of each of so many see-through members, so that all together stay readable."""
    return min(0.3, max(0.02, 3 / max(ghosts, 1)))


def png(texture: Texture) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(texture.pixels)).save(file, "PNG")
    return file.getvalue()


def unit_normals(mesh: Mesh) -> np.ndarray:
    """(n, 3) float32; +z where a vertex has none."""
    normals = np.asarray(mesh.normals, float)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(length > 0, normals / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0)).astype(np.float32)


def rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(..., 3) vectors turned by unit quaternions (..., 4), w first."""
    w, u = q[..., :1], q[..., 1:]
    across = 2 * np.cross(u, v)
    return v + w * across + np.cross(u, across)


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """(4,) unit, w first, of a (3, 3) rotation: the eigenvector of Bar-Itzhack (2000), good for every angle."""
    m = np.asarray(rotation, float)
    symmetric = np.zeros((4, 4))
    symmetric[0, 0] = np.trace(m)
    symmetric[0, 1:] = symmetric[1:, 0] = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    symmetric[1:, 1:] = m + m.T - np.trace(m) * np.eye(3)
    q = np.linalg.eigh(symmetric)[1][:, -1]
    return q if q[0] >= 0 else -q

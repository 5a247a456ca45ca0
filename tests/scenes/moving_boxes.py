"""A small scene in motion, built by hand: boxes to and fro, lines, points, a texture, lights of each type."""

import numpy as np
import numpy.typing as npt

from shiftjax.viewer.scene.camera import upright
from shiftjax.viewer.scene.scene import Mesh, Scene, SceneLight, ScenePart, Texture

RED, BLUE, GREEN = (0.85, 0.1, 0.1, 1.0), (0.1, 0.2, 0.9, 1.0), (0.1, 0.7, 0.2, 1.0)
TIMES = np.linspace(2.0, 3.0, 61)
UPS = [(0.0, 0.0, -1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, 0.8)]


def box(x: float, y: float, z: float, texture: Texture | None = None) -> Mesh:
    """Four vertices a side, outward normals."""
    vertices, normals, triangles = [], [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            n = side * np.eye(3)[axis]
            first = len(vertices)
            vertices += [n + side * a * u + b * v for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [n] * 4
            triangles += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    uv = np.tile(np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32), (6, 1)) if texture else None
    corners = np.array(vertices, np.float32) * np.array([x, y, z], np.float32) / 2
    key = f"box {x} {y} {z}{' pictured' if texture else ''}"
    return Mesh(key, corners, np.array(triangles, np.uint32), np.array(normals, np.float32), uv, texture)


def placed(x: float = 0.0, y: float = 0.0, z: float = 0.0, axes: npt.ArrayLike | None = None) -> np.ndarray:
    transform = np.eye(4)
    transform[:3, :3] = np.eye(3) if axes is None else axes
    transform[:3, 3] = x, y, z
    return transform


def checks() -> Texture:
    """Upper half red, lower half green."""
    pixels = np.zeros((4, 4, 4), np.uint8)
    pixels[:2, :, 0] = pixels[2:, :, 1] = pixels[..., 3] = 255
    return Texture(pixels)


def a_scene(up: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> Scene:
    """Ground, a red box, a blue box twice on another body, lines, points, a frame that is left out, three lights."""
    red, blue = box(0.4, 0.4, 0.4), box(0.2, 0.3, 0.5)
    three = np.eye(3, dtype=np.float32)
    lines = Mesh("lines", three, np.array([[0, 1], [1, 2]], np.uint32), np.zeros((3, 3), np.float32))
    points = Mesh("points", three, np.array([[0], [1], [2]], np.uint32), np.zeros((3, 3), np.float32))
    shear = [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]
    mirror = upright((0.3, 0.4, 0.5)) @ np.diag([1.0, -2.0, 0.5])
    parts = (
        ScenePart(box(2.0, 2.0, 0.05), 0, placed(z=-0.8), GREEN, "ground", "ground"),
        ScenePart(red, 1, np.eye(4), RED, "a"),
        ScenePart(blue, 2, placed(x=0.3, axes=mirror), BLUE, "b"),
        ScenePart(blue, 2, placed(y=0.3, axes=shear), (0.1, 0.2, 0.9, 0.5), "b"),
        ScenePart(box(0.1, 0.1, 0.1, checks()), 2, placed(z=0.4), (1.0, 1.0, 1.0, 1.0), "b"),
        ScenePart(lines, 1, np.eye(4), RED, "a"),
        ScenePart(points, 1, np.eye(4), BLUE, "a"),
        ScenePart(red, 1, np.eye(4), GREEN, "a/frame", "frame"),
        ScenePart(red, 1, np.eye(4), GREEN, "a/centre", "centre"),
    )
    x, y, z = (-float(u) for u in up)
    white = (0.8, 0.8, 0.8)
    dim = (0.3, 0.3, 0.3)
    lights = (
        SceneLight("sun", "directional", 0, (0.0, 0.0, 0.0), (x, y, z), dim, white, dim),
        SceneLight("bulb", "point", 1, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.4, 0.2, 0.0), dim),
        SceneLight("torch", "spot", 0, (1.0, 1.0, 2.0), (0.0, 0.6, -0.8), (0.0, 0.0, 0.0), dim, dim, 0.4),
    )
    return Scene(("fixed", "a", "b"), parts, lights, up, 1.2, (0.0, 0.0, 0.0))


def a_track(times: np.ndarray = TIMES, phase: float = 0.0) -> np.ndarray:
    """(n, 3, 7): a goes to and fro, b turns twice; each third quaternion has the other sign: the same pose."""
    s = (times - times[0] + phase)[:, None]
    track = np.zeros((len(times), 3, 7))
    track[:, :, 3] = 1.0
    track[:, 1, :1] = np.cos(2 * np.pi * s) * 0.7
    half = 2 * np.pi * s[:, 0]
    axis = np.array([0.0, 0.6, 0.8])
    track[:, 2, 3:] = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axis], 1)
    track[:, 2, 1] = 0.5
    track[::3, :, 3:] *= -1.0
    return track
